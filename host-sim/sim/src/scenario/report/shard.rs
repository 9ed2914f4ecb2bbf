//! The seeds of a sweep, and how they are divided into shards.

use serde::{Deserialize, Serialize};

/// A sweep keeps every seed's results in memory, so more seeds than this are too many for one machine.
pub const SEEDS_MAX: u64 = 1_000_000;

/// A half-open range of seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenSeeds")]
pub struct Seeds {
    pub from: u64,
    /// Exclusive.
    pub to: u64,
}

/// One of several parts of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenShard")]
pub struct Shard {
    /// Counted from 1.
    pub part: u64,
    pub parts: u64,
}

/// Seeds as stored in a file. People may have edited the file, so the values must be checked.
#[derive(Deserialize)]
struct WrittenSeeds {
    from: u64,
    to: u64,
}

impl TryFrom<WrittenSeeds> for Seeds {
    type Error = String;

    fn try_from(WrittenSeeds { from, to }: WrittenSeeds) -> Result<Self, String> {
        if from < to { Ok(Self { from, to }) } else { Err(format!("there are no seeds in {from}..{to}")) }
    }
}

/// A shard as stored in a file, unchecked.
#[derive(Deserialize)]
struct WrittenShard {
    part: u64,
    parts: u64,
}

impl TryFrom<WrittenShard> for Shard {
    type Error = String;

    fn try_from(WrittenShard { part, parts }: WrittenShard) -> Result<Self, String> {
        let is_one = (1..=parts).contains(&part);
        if is_one { Ok(Self { part, parts }) } else { Err(format!("there is no shard {part}/{parts}")) }
    }
}

impl Shard {
    pub const WHOLE: Self = Self { part: 1, parts: 1 };

    /// Whether a seed belongs to this shard.
    pub fn has(self, seeds: Seeds, seed: u64) -> bool {
        (seeds.from..seeds.to).contains(&seed) && (seed - seeds.from) % self.parts.max(1) == self.part - 1
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

impl Seeds {
    /// How many seeds a shard has.
    pub fn count(self, shard: Shard) -> u64 {
        let Some(first) = self.from.checked_add(shard.part - 1).filter(|first| *first < self.to) else { return 0 };
        (self.to - first).div_ceil(shard.parts)
    }

    /// The seeds of a shard in ascending order: every n-th, for n parts. The iterator computes them one by one, so they
    /// are never all in memory.
    pub fn of(self, shard: Shard) -> impl Iterator<Item = u64> + Send {
        let first = self.from.checked_add(shard.part - 1).filter(|first| *first < self.to);
        std::iter::successors(first, move |seed| seed.checked_add(shard.parts).filter(|next| *next < self.to))
    }
}

/// Reads seeds from the command line.
pub fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let ends = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    match ends {
        Some((from, to)) if from < to => Ok(Seeds { from, to }),
        Some(_) => Err("there are no seeds in it; the first must be below the last".to_owned()),
        None => Err("write two whole numbers, such as 0..100".to_owned()),
    }
}

/// Reads a shard from the command line.
pub fn parse_shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match parts {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok(Shard { part, parts }),
        _ => Err("write which part of how many, such as 1/4".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Seeds, Shard, parse_seeds, parse_shard};

    #[test]
    fn arguments_are_checked() {
        assert_eq!(parse_seeds("3..9"), Ok(Seeds { from: 3, to: 9 }));
        assert!(parse_seeds("9..3").is_err() && parse_seeds("x").is_err());
        assert_eq!(parse_shard("2/4"), Ok(Shard { part: 2, parts: 4 }));
        assert!(parse_shard("0/4").is_err() && parse_shard("5/4").is_err() && parse_shard("1/0").is_err());
    }

    #[test]
    fn shards_share_the_seeds_out() {
        let seeds = Seeds { from: 3, to: 10 };
        let of = |part| seeds.of(Shard { part, parts: 3 }).collect::<Vec<_>>();
        assert_eq!((of(1), of(2), of(3)), (vec![3, 6, 9], vec![4, 7], vec![5, 8]));
        for part in 1..=3 {
            let shard = Shard { part, parts: 3 };
            assert_eq!(seeds.count(shard), of(part).len() as u64);
            assert!((0..20).all(|seed| shard.has(seeds, seed) == of(part).contains(&seed)));
        }
        assert_eq!(seeds.count(Shard { part: 9, parts: 9 }), 0);
    }

    #[test]
    fn the_greatest_ranges_are_no_lists() {
        let all = Seeds { from: 0, to: u64::MAX };
        assert_eq!(all.count(Shard::WHOLE), u64::MAX);
        assert_eq!(all.of(Shard::WHOLE).take(2).collect::<Vec<_>>(), [0, 1]);
        let few = Shard { part: 1, parts: u64::MAX / 2 };
        assert_eq!((all.count(few), all.of(few).count()), (3, 3));
        let late = Seeds { from: u64::MAX - 2, to: u64::MAX };
        assert_eq!(late.of(Shard { part: 2, parts: 9 }).collect::<Vec<_>>(), [u64::MAX - 1]);
        assert_eq!(late.of(Shard { part: 9, parts: 9 }).count(), 0);
    }
}
