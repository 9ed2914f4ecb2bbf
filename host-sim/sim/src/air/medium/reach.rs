//! Who reaches whom, and how strongly.
//!
//! A reach has two parts. Radios in the loud part may decode the frame. To those in the faint part, usually the larger
//! one, it is only interference. Walking these lists is most of what a frame costs, so a faint entry is as small as
//! possible. For the same reason radios share one list if they have the same neighbours, counted from their own number.
//! On a grid they do, except near the edges, so the list of the next sender is often still in the cache.

use std::collections::BTreeMap;
use std::rc::Rc;

use common::rng::Rng;

use super::super::grid::Grid;
use super::super::index::{PerRadio, RadioIndex};
use super::super::memo::{Memo, Roll};
use super::super::power::Power;
use super::super::propagation::{Point, Propagation, normal};
use super::{Bursts, Tuning};
use crate::maths;

/// Signals this far below the noise do not count, not even as interference.
const NEGLIGIBLE_DB: f64 = 10.0;

/// A radio that is reached, and the power that arrives there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loud {
    /// Counted from the list's [`Base`].
    pub to: u32,
    /// The same power as receivers report it. Computing a logarithm for each reception would cost more than the rest of
    /// it.
    pub dbm: f32,
    pub power: Power,
}

const _: () = assert!(size_of::<Loud>() == 16);

/// How many consecutive radios are processed at once where signals are faint.
pub(super) const LANES: usize = 1 << LANE_BITS;
const LANE_BITS: u32 = 2;

/// The power of a faint signal at consecutive radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Which four radios: the number of the first, divided by four and counted from the list's [`Base`].
    pub four: u32,
    /// The power at each of them in the smallest units; zero if nothing arrives.
    pub powers: [i32; LANES],
}

/// The radios for which the signal is only interference, in ascending order. If neighbours in space are neighbours in
/// number, as on a grid, most blocks are full. A processor then adds up a whole block at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Faint {
    pub blocks: Vec<Block>,
    count: usize,
}

/// The greatest power of one faint signal: -90 dBm. In strong noise an undecodable signal may exceed it, and then
/// counts as loud. The limit lets thousands of simultaneous signals add up within one word.
const FAINT_MAX: i32 = (1 << 20) - 1;

impl Faint {
    /// Appends a radio, whose number must exceed all before it. Returns false if the power is too great to be faint.
    fn push(&mut self, to: u32, power: Power) -> bool {
        let Some(units) = i32::try_from(power.units()).ok().filter(|units| *units <= FAINT_MAX) else { return false };
        // Numbers below the base have wrapped around. The base is a multiple of four, and so is the point of wrapping.
        let (four, lane) = (Base::four_of(to), to as usize % LANES);
        match self.blocks.last_mut() {
            Some(block) if block.four == four => block.powers[lane] = units,
            _ => {
                let mut powers = [0; LANES];
                powers[lane] = units;
                self.blocks.push(Block { four, powers });
            }
        }
        self.count += 1;
        true
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.count = 0;
    }

    pub fn len(&self) -> usize {
        self.count
    }

    fn leave_out(&mut self, radio: u32) {
        for block in self.blocks.iter_mut().filter(|block| block.four == Base::four_of(radio)) {
            block.powers[radio as usize % LANES] = 0;
        }
    }
}

/// What the numbers of a list are counted from; a multiple of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Base {
    four: u32,
}

impl Base {
    /// The base for a radio's list, which other radios may share.
    fn of(radio: RadioIndex) -> Self {
        Self { four: u32::try_from(radio.0 / LANES).unwrap_or(u32::MAX) }
    }

    /// Which four a number of a list belongs to. Numbers below the base are negative, although the type is unsigned.
    fn four_of(to: u32) -> u32 {
        (to.cast_signed() >> LANE_BITS).cast_unsigned()
    }

    /// The four radios that a block of a list describes.
    pub fn four(self, block: &Block) -> usize {
        self.four.wrapping_add(block.four) as usize
    }

    /// The radio that a number of a list stands for.
    pub fn radio(self, to: u32) -> RadioIndex {
        RadioIndex((self.four << LANE_BITS).wrapping_add(to) as usize)
    }

    /// The number of a radio within a list.
    fn number(self, radio: RadioIndex) -> u32 {
        u32::try_from(radio.0).unwrap_or(u32::MAX).wrapping_sub(self.four << LANE_BITS)
    }
}

/// Everybody that one emission reaches, in two parts, each in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reached {
    pub loud: Vec<Loud>,
    /// How many of the loud radios could decode a frame.
    pub decodable: usize,
    pub faint: Faint,
}

impl Reached {
    /// Refills both parts with radios and what arrives at them.
    fn fill(&mut self, arriving: impl Iterator<Item = (u32, Arrival)>, lockable: Power) {
        self.loud.clear();
        self.faint.clear();
        for (to, Arrival { dbm, power }) in arriving {
            if power >= lockable || !self.faint.push(to, power) {
                #[expect(clippy::cast_possible_truncation, reason = "seven digits are far more than any radio tells")]
                self.loud.push(Loud { to, dbm: dbm as f32, power });
            }
        }
        self.decodable = self.loud.iter().filter(|loud| loud.power >= lockable).count();
    }

    pub fn leave_out(&mut self, base: Base, radio: RadioIndex, lockable: Power) {
        let number = base.number(radio);
        self.loud.retain(|loud| loud.to != number);
        self.decodable = self.loud.iter().filter(|loud| loud.power >= lockable).count();
        self.faint.leave_out(number);
    }

    /// A hash: most lists that differ have different digests.
    fn digest(&self) -> u64 {
        let mix = |digest: u64, word: u64| (digest ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let loud = self.loud.iter().fold(0, |digest, loud| mix(mix(digest, u64::from(loud.to)), loud.power.units()));
        self.faint.blocks.iter().fold(loud, |digest, Block { four, powers }| {
            let powers = powers.iter().fold(0, |sum: u64, power| sum << 16 ^ u64::from(power.cast_unsigned()));
            mix(digest, powers ^ u64::from(*four) << 32)
        })
    }
}

/// The varying state of one link, which makes emissions arrive differently.
#[derive(Clone, Copy, Debug)]
struct Fading {
    to: u32,
    mean_dbm: f64,
    /// When the link's present state ends, and whether that state is a fade.
    state_ends: u64,
    is_faded: bool,
}

/// All radios that one radio reaches, by index.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    /// Shared with this radio's emissions, and with radios that have the same neighbours.
    usual: Rc<Reached>,
    base: Base,
    /// One entry for each radio reached; empty if every emission arrives the same.
    fading: Vec<Fading>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'m> {
    pub propagation: &'m Propagation,
    pub positions: &'m PerRadio<Point>,
    pub tunings: &'m PerRadio<Tuning>,
    /// Whether each radio ever listens.
    pub hearing: &'m PerRadio<bool>,
    pub lockable: Power,
    pub bursts: Option<Bursts>,
}

impl Scene<'_> {
    /// Computes every radio's reach. Existing links keep their fades.
    pub fn reaches(&self, before: &PerRadio<Reach>) -> PerRadio<Reach> {
        let noise = Power::from_dbm(self.propagation.noise_dbm);
        // Receivers may find frames far below the noise. Those must still count.
        let least = noise.min(self.lockable).dbm() - NEGLIGIBLE_DB;
        let strongest = self.tunings.as_slice().iter().map(|tuning| tuning.tx_dbm).fold(f64::NEG_INFINITY, f64::max);
        let alike = self.tunings.as_slice().windows(2).all(|pair| pair[0] == pair[1]);
        let steady = self.propagation.jitter_db == 0.0 && self.bursts.is_none();
        let mut survey = Survey {
            least,
            steady,
            index: Grid::new(self.positions.as_slice(), self.propagation.reach(strongest, least)),
            known_arrivals: (alike && self.propagation.is_plain()).then(Memo::default),
            near: Roll::new(self.positions.len()),
            scratch: Reached::default(),
            known: BTreeMap::new(),
        };
        let radios = (0..self.positions.len()).map(RadioIndex);
        radios.map(|from| self.reach(from, &mut survey, before.get(from))).collect::<Vec<_>>().into()
    }

    /// The power of one radio at another; in units only if it never varies.
    fn arrival(&self, from: RadioIndex, to: RadioIndex, steady: bool) -> Arrival {
        if self.tunings[to].channel != self.tunings[from].channel {
            return Arrival::NOTHING;
        }
        let gain_db = self.propagation.gain_db((from, self.positions[from]), (to, self.positions[to]));
        gain_db.map_or(Arrival::NOTHING, |gain_db| {
            let dbm = gain_db + self.tunings[from].tx_dbm;
            Arrival { dbm, power: if steady { Power::from_dbm(dbm) } else { Power::NONE } }
        })
    }

    fn reach(&self, from: RadioIndex, survey: &mut Survey, before: Option<&Reach>) -> Reach {
        let Survey { least, steady, index, known_arrivals, near, scratch, known } = survey;
        // The index is for the strongest of all, who must not change how far the others are heard.
        let reach = self.propagation.reach(self.tunings[from].tx_dbm, *least).unwrap_or(f64::INFINITY);
        index.near(self.positions[from], |to, distance_squared| {
            if to == from || !self.hearing[to] || distance_squared > reach * reach {
                return;
            }
            let arrival = match known_arrivals {
                Some(known) => known.get(distance_squared, |_| self.arrival(from, to, *steady)),
                None => self.arrival(from, to, *steady),
            };
            if arrival.dbm >= *least {
                near.enter(to, arrival);
            }
        });
        if *steady {
            let base = Base::of(from);
            scratch.fill(near.take().map(|(to, arrival)| (base.number(to), arrival)), self.lockable);
            let alike = known.entry(scratch.digest()).or_insert_with(|| Rc::new(scratch.clone()));
            let usual = if **alike == *scratch { Rc::clone(alike) } else { Rc::new(scratch.clone()) };
            return Reach { usual, base, fading: Vec::new() };
        }
        let base = Base::default();
        let fading = |(to, Arrival { dbm: mean_dbm, .. }): (RadioIndex, Arrival)| {
            let to = base.number(to);
            let known = before.and_then(|reach| {
                let at = reach.fading.binary_search_by_key(&to, |fading| fading.to).ok()?;
                reach.fading.get(at)
            });
            // Marked as faded and already over, so that the first real state is a good one.
            let fresh = Fading { to, mean_dbm, state_ends: 0, is_faded: true };
            known.map_or(fresh, |known| Fading { mean_dbm, ..*known })
        };
        Reach { usual: Rc::default(), base, fading: near.take().map(fading).collect() }
    }
}

/// One radio's power at another.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    dbm: f64,
    /// The same in units.
    power: Power,
}

impl Arrival {
    /// No signal at all.
    const NOTHING: Self = Self { dbm: f64::NEG_INFINITY, power: Power::NONE };
}

/// Working data for finding out who reaches whom, reused from one radio to the next.
#[derive(Debug)]
struct Survey {
    /// The weakest signal that counts, in dBm.
    least: f64,
    /// Whether every emission arrives the same.
    steady: bool,
    index: Grid,
    /// Arriving power by squared distance, if nothing else matters. A grid has few distinct distances.
    known_arrivals: Option<Memo<Arrival>>,
    /// The radios nearby, and the power that arrives there.
    near: Roll<Arrival>,
    scratch: Reached,
    /// The lists so far, by digest.
    known: BTreeMap<u64, Rc<Reached>>,
}

impl Reach {
    /// When the fade of the link to a radio ends, if the link is in one.
    pub fn fade_end(&self, to: RadioIndex) -> Option<u64> {
        let at = self.fading.binary_search_by_key(&to.0, |fading| fading.to as usize).ok()?;
        self.fading.get(at).filter(|fading| fading.is_faded).map(|fading| fading.state_ends)
    }

    /// Whom this particular emission reaches, with jitter and the links' fades. Refills a discarded list if the usual
    /// one does not apply.
    pub fn arriving(
        &mut self,
        now: u64,
        jitter_db: f64,
        bursts: Option<Bursts>,
        lockable: Power,
        rng: &mut Rng,
        spare: &mut Vec<Rc<Reached>>,
    ) -> (Base, Rc<Reached>) {
        if self.fading.is_empty() {
            return (self.base, Rc::clone(&self.usual));
        }
        let arrive = |fading: &mut Fading| {
            let mut db = fading.mean_dbm + jitter_db * normal(rng)[0];
            if let Some(bursts) = bursts {
                while fading.state_ends <= now {
                    fading.is_faded = !fading.is_faded;
                    let mean = if fading.is_faded { bursts.bad_us } else { bursts.good_us };
                    fading.state_ends += exponential(rng, mean);
                }
                if fading.is_faded {
                    db -= bursts.loss_db;
                }
            }
            (fading.to, Arrival { dbm: db, power: Power::from_dbm(db) })
        };
        let mut reached = spare.pop().unwrap_or_default();
        Rc::make_mut(&mut reached).fill(self.fading.iter_mut().map(arrive), lockable);
        (self.base, reached)
    }
}

/// A memoryless random duration with this mean; at least one microsecond.
fn exponential(rng: &mut Rng, mean_us: u32) -> u64 {
    let length = -maths::ln(1.0 - super::chance(rng)) * f64::from(mean_us);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and far below 2^64")]
    let whole = length as u64;
    whole.max(1)
}

#[cfg(test)]
mod tests {
    use super::{Base, Block, FAINT_MAX, Faint, Power, RadioIndex};

    #[test]
    fn what_was_noted_comes_out_again() {
        let noted = [(0, 7), (1, FAINT_MAX), (3, 9), (4, 1), (90_001, 70_800)];
        let mut faint = Faint::default();
        assert!(noted.iter().all(|&(to, units)| faint.push(to, Power::from_units(units.cast_unsigned()))));
        assert!(!faint.push(90_002, Power::from_units(FAINT_MAX.cast_unsigned() + 1)), "too strong");
        let block = |four, powers| Block { four, powers };
        assert_eq!(
            faint.blocks,
            [block(0, [7, FAINT_MAX, 0, 9]), block(1, [1, 0, 0, 0]), block(22_500, [0, 70_800, 0, 0])]
        );
        assert_eq!(faint.len(), noted.len());
        faint.leave_out(3);
        assert_eq!(faint.blocks[0], block(0, [7, FAINT_MAX, 0, 0]));
        faint.clear();
        assert_eq!(faint.blocks.len() + faint.len(), 0);
    }

    #[test]
    fn numbers_below_the_base_come_back() {
        for radio in [0, 1, 4, 6, 90_003] {
            let base = Base::of(RadioIndex(radio));
            for other in [0, 1, 2, 3, 4, 5, 8, 89_999, 100_000] {
                let number = base.number(RadioIndex(other));
                assert_eq!(base.radio(number), RadioIndex(other));
                let mut faint = Faint::default();
                faint.push(number, Power::from_units(5));
                let block = faint.blocks[0];
                assert_eq!(base.four(&block), other / 4);
                assert_eq!(block.powers[other % 4], 5);
            }
        }
    }
}
