//! Merges the shards of a sweep.

use std::collections::BTreeMap;

use super::shard::{Seeds, Shard};
use super::sweep::{Origin, Row, Sweep};

/// Returns from a function with the reason why the shards do not fit.
macro_rules! refuse {
    ($($why:tt)*) => { return Err(Unfit(format!($($why)*))) };
}

/// The most gaps that a message lists.
const GAPS_SHOWN: usize = 5;

/// Why shards cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(String);

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// Merges shards of one scenario that were run by one version. Seeds may be missing only if `partial` is set.
pub fn join(shards: Vec<Sweep>, partial: bool) -> Result<Sweep, Unfit> {
    let Some(first) = shards.first().map(|shard| shard.origin.clone()) else { refuse!("there is nothing to merge") };
    let origins: Vec<Origin> = shards.iter().map(|shard| shard.origin.clone()).collect();
    let mut rows = BTreeMap::new();
    for Sweep { origin, rows: more, .. } in shards {
        if origin.fingerprint != first.fingerprint {
            refuse!(
                "shards of different scenarios do not go together: {} ({}) and {} ({})",
                first.scenario,
                first.fingerprint,
                origin.scenario,
                origin.fingerprint
            );
        }
        if origin.version != first.version {
            refuse!(
                "shards of different versions do not go together: {} and {}; run all of them with one",
                first.version,
                origin.version
            );
        }
        for row in more {
            if !origin.shard.has(origin.seeds, row.seed) {
                refuse!(
                    "seed {} does not belong to shard {} of {}..{}: the file was changed",
                    row.seed,
                    origin.shard,
                    origin.seeds.from,
                    origin.seeds.to
                );
            }
            if let Some(twice) = rows.insert(row.seed, row) {
                refuse!("seed {} is in two of the files; give each shard once", twice.seed);
            }
        }
    }
    // `sweep` refuses to run zero seeds, because an empty sweep proves nothing.
    if rows.is_empty() {
        refuse!("there are no seeds in any of the files: they were changed");
    }
    let ends = |seeds: Seeds, other: &Origin| Seeds {
        from: seeds.from.min(other.seeds.from),
        to: seeds.to.max(other.seeds.to),
    };
    let seeds = origins.iter().fold(first.seeds, ends);
    let missing = missing(&origins, seeds, &rows);
    if let Some(missing) = missing.filter(|_| !partial) {
        refuse!(
            "the sweep of seeds {}..{} is not complete: {missing}; --partial joins what there is",
            seeds.from,
            seeds.to
        );
    }
    Ok(Sweep::new(Origin { seeds, shard: Shard::WHOLE, ..first }, rows))
}

/// Names what the whole sweep lacks; `None` if it is complete.
fn missing(origins: &[Origin], seeds: Seeds, rows: &BTreeMap<u64, Row>) -> Option<String> {
    if rows.len() as u64 == seeds.to - seeds.from {
        return None;
    }
    let parts = origins.first()?.shard.parts;
    // If the inputs are complete shards of one sweep, name the missing shards rather than their seeds.
    let of_one_sweep = origins.iter().all(|origin| origin.seeds == seeds && origin.shard.parts == parts);
    // An edited file may claim more seeds than an integer can count.
    let expected = origins.iter().fold(0, |sum: u64, origin| sum.saturating_add(seeds.count(origin.shard)));
    if of_one_sweep && expected == rows.len() as u64 {
        let absent = (1..=parts).filter(|part| origins.iter().all(|origin| origin.shard.part != *part));
        return Some(listed("shard", absent.map(|part| Shard { part, parts }.to_string())));
    }
    let mut gaps = Vec::new();
    let mut next = seeds.from;
    for &seed in rows.keys().chain([&seeds.to]) {
        if next < seed {
            gaps.push(if next + 1 == seed { next.to_string() } else { format!("{next}..{seed}") });
        }
        next = seed.saturating_add(1);
    }
    Some(listed("seed", gaps.into_iter()))
}

/// Lists what is missing, up to a readable length.
fn listed(what: &str, mut names: impl Iterator<Item = String>) -> String {
    let shown: Vec<String> = names.by_ref().take(GAPS_SHOWN).collect();
    let more = if names.next().is_some() { " and more" } else { "" };
    let is_one = shown.len() == 1 && !shown[0].contains("..");
    format!(
        "{what}{} {}{more} {} missing",
        if is_one { "" } else { "s" },
        shown.join(", "),
        if is_one { "is" } else { "are" }
    )
}

#[cfg(test)]
mod tests {
    use super::join;
    use crate::scenario::report::shard::{Seeds, Shard};
    use crate::scenario::report::sweep::tests::part;
    use crate::scenario::report::sweep::{Origin, Sweep};

    const SEEDS: Seeds = Seeds { from: 1, to: 9 };

    fn shard(part_of: u64, parts: u64) -> Sweep {
        part("a", SEEDS, Shard { part: part_of, parts })
    }

    #[test]
    fn shards_join_to_the_whole() {
        let whole = shard(1, 1);
        assert_eq!(join(vec![shard(1, 2), shard(2, 2)], false).unwrap(), whole);
        assert_eq!(join(vec![shard(3, 3), shard(1, 3), shard(2, 3)], false).unwrap(), whole);
        let halves = [(1, 5), (5, 9)].map(|(from, to)| part("a", Seeds { from, to }, Shard::WHOLE));
        assert_eq!(join(halves.to_vec(), false).unwrap(), whole, "ranges that follow each other");
        let elsewhere =
            Sweep { origin: Origin { scenario: "/other/path".to_owned(), ..shard(2, 2).origin }, ..shard(2, 2) };
        assert_eq!(join(vec![shard(1, 2), elsewhere], false).unwrap(), whole, "a path is only a name");
    }

    #[test]
    fn shards_that_do_not_fit_are_refused() {
        let error = |parts| join(parts, true).unwrap_err().to_string();
        assert!(
            error(vec![shard(1, 2), part("b", SEEDS, Shard { part: 2, parts: 2 })]).contains("different scenarios")
        );
        assert!(error(vec![shard(1, 2), shard(1, 3)]).contains("seed 1 is in two"));
        assert!(error(Vec::new()).contains("nothing"));
        assert!(error(vec![Sweep { rows: Vec::new(), ..shard(1, 2) }]).contains("no seeds in any"));
        let newer = Sweep { origin: Origin { version: "9.9.9".to_owned(), ..shard(2, 2).origin }, ..shard(2, 2) };
        assert!(error(vec![shard(1, 2), newer]).contains("different versions"));
        let changed = Sweep { origin: shard(1, 2).origin, ..shard(2, 2) };
        assert!(error(vec![changed]).contains("seed 2 does not belong to shard 1/2"));
    }

    #[test]
    fn what_is_missing_is_told_and_allowed_only_on_demand() {
        let error = |parts| join(parts, false).unwrap_err().to_string();
        assert!(error(vec![shard(1, 3), shard(3, 3)]).contains("seeds 1..9 is not complete: shard 2/3 is missing"));
        assert!(error(vec![shard(2, 3)]).contains("shards 1/3, 3/3 are missing"));
        let ends = [(1, 3), (6, 9)].map(|(from, to)| part("a", Seeds { from, to }, Shard::WHOLE));
        assert!(error(ends.to_vec()).contains("seeds 3..6 are missing"), "{}", error(ends.to_vec()));
        assert_eq!(join(vec![shard(1, 3), shard(3, 3)], true).unwrap().rows.len(), 5);
        let truncated = Sweep { rows: shard(1, 2).rows.into_iter().skip(1).collect(), ..shard(1, 2) };
        assert!(error(vec![truncated, shard(2, 2)]).contains("seed 1 is missing"));
        let all = Seeds { from: 0, to: u64::MAX };
        let claims = [1, 2].map(|seed| {
            let of_one = part("a", Seeds { from: seed, to: seed + 1 }, Shard::WHOLE);
            Sweep { origin: Origin { seeds: all, ..of_one.origin.clone() }, ..of_one }
        });
        assert!(error(claims.to_vec()).contains("seeds 0, 3..18446744073709551615 are missing"));
    }
}
