//! Who is reached by whom, and how strongly.
//!
//! An audience has two parts. The loud part may decode the frame. To the faint part, usually the larger one, it is nothing
//! but interference; what is kept about each of them is as small as it can be, since walking these lists is most of what a
//! frame costs.

use std::rc::Rc;

use common::rng::Rng;

use super::super::grid::Grid;
use super::super::memo::{Memo, Roll};
use super::super::power::Power;
use super::super::propagation::{Place, Propagation, normal};
use super::{Bursts, Tuning};

/// Signals this far below the noise do not count, not even as interference.
const NEGLIGIBLE_DB: f64 = 10.0;

/// A radio that is reached, and with which power.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loud {
    pub to: u32,
    /// The same power as receivers tell it; a logarithm for each reception would cost more than the rest of it.
    pub dbm: f32,
    pub power: Power,
}

const _: () = assert!(size_of::<Loud>() == 16);

/// As many radios that follow each other in number are dealt with at once where signals are faint.
pub(super) const LANES: usize = 4;

/// What a faint signal comes to at radios that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Which four: the number of the first radio divided by as many.
    pub four: u32,
    /// The power at each of them in its smallest units; nothing where nothing arrives.
    pub powers: [i32; LANES],
}

/// Radios to which the signal is interference, in ascending order. Where neighbours in space are neighbours in number, as on a
/// grid, most blocks are full, and a processor adds up the powers of one at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Faint {
    pub blocks: Vec<Block>,
    count: usize,
}

/// The most power of one signal: -90 dBm. What is stronger, where the noise is, is kept with the loud ones. Thousands of signals
/// at once add up to less than a word holds.
const FAINT_MAX: i32 = (1 << 20) - 1;

impl Faint {
    /// Notes a radio beyond all those before; false where the power is too much for it.
    fn push(&mut self, to: u32, power: Power) -> bool {
        let Some(units) = i32::try_from(power.units()).ok().filter(|units| *units <= FAINT_MAX) else { return false };
        let (four, lane) = (to / LANES as u32, to as usize % LANES);
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    fn leave_out(&mut self, radio: usize) {
        for block in self.blocks.iter_mut().filter(|block| block.four as usize == radio / LANES) {
            block.powers[radio % LANES] = 0;
        }
    }
}

/// Everybody that one emission reaches, in two parts, each in order of the radios.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    pub loud: Vec<Loud>,
    pub faint: Faint,
}

impl Reached {
    /// Fills the two parts anew with radios and the powers that arrive at them, in dBm and in units.
    fn fill(&mut self, arriving: impl Iterator<Item = (u32, f64, Power)>, lockable: Power) {
        self.loud.clear();
        self.faint.clear();
        for (to, dbm, power) in arriving {
            if power >= lockable || !self.faint.push(to, power) {
                #[expect(clippy::cast_possible_truncation, reason = "seven digits are far more than any radio tells")]
                self.loud.push(Loud { to, dbm: dbm as f32, power });
            }
        }
    }

    /// Leaves one radio out.
    pub fn leave_out(&mut self, radio: usize) {
        self.loud.retain(|loud| loud.to as usize != radio);
        self.faint.leave_out(radio);
    }
}

/// What makes one emission arrive otherwise than the last.
#[derive(Clone, Copy, Debug)]
struct Whims {
    to: u32,
    /// The mean power that arrives.
    mean_dbm: f64,
    /// When the present spell of this link ends, and whether it is a bad one.
    spell_end: u64,
    bad: bool,
}

/// All radios that one radio reaches, by index.
#[derive(Clone, Debug)]
pub(super) struct Audience {
    /// Shared with the emissions that go out to it.
    usual: Rc<Reached>,
    /// One for each of them; empty where every emission arrives the same.
    whims: Vec<Whims>,
}

/// What decides who reaches whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'m> {
    pub propagation: &'m Propagation,
    pub places: &'m [Place],
    pub tunings: &'m [Tuning],
    pub lockable: Power,
    pub bursts: Option<Bursts>,
}

impl Scene<'_> {
    /// Everybody's audience. Links that were there before keep their spells.
    pub fn audiences(&self, before: &[Audience]) -> Vec<Audience> {
        let noise = Power::from_dbm(self.propagation.noise_dbm);
        // Where receivers find frames far below the noise, those still count.
        let least = noise.min(self.lockable).dbm() - NEGLIGIBLE_DB;
        let strongest = self.tunings.iter().map(|tuning| tuning.tx_dbm).fold(f64::NEG_INFINITY, f64::max);
        let index = Grid::new(self.places, self.propagation.reach(strongest, least));
        let mut survey = Survey {
            least,
            index,
            gains: self.propagation.is_plain().then(Memo::default),
            powers: Memo::default(),
            near: Roll::new(self.places.len()),
            scratch: Reached::default(),
        };
        (0..self.places.len()).map(|from| self.audience(from, &mut survey, before.get(from))).collect()
    }

    fn audience(&self, from: usize, survey: &mut Survey, before: Option<&Audience>) -> Audience {
        let Tuning { tx_dbm, channel } = self.tunings[from];
        let Survey { least, index, gains, powers, near, scratch } = survey;
        let start = self.places[from];
        index.near(start, |to| {
            let end = self.places[to];
            let exact = || self.propagation.gain_db((from, start), (to, end));
            let gain_db = match gains {
                Some(gains) => gains.get(distance_squared(start, end), |_| exact()),
                None => exact(),
            };
            if to != from
                && self.tunings[to].channel == channel
                && let Some(gain_db) = gain_db
                && gain_db + tx_dbm >= *least
            {
                near.enter(to, gain_db + tx_dbm);
            }
        });
        let steady = self.propagation.jitter_db == 0.0 && self.bursts.is_none();
        if steady {
            let arriving = near.take().map(|(to, dbm)| (to, dbm, powers.get(dbm, Power::from_dbm)));
            scratch.fill(arriving, self.lockable);
            return Audience { usual: Rc::new(scratch.clone()), whims: Vec::new() };
        }
        let whims = |(to, mean_dbm): (u32, f64)| {
            let known = before.and_then(|audience| {
                let at = audience.whims.binary_search_by_key(&to, |whims| whims.to).ok()?;
                audience.whims.get(at)
            });
            // The first spell to begin is a good one.
            let fresh = Whims { to, mean_dbm, spell_end: 0, bad: true };
            known.map_or(fresh, |known| Whims { mean_dbm, ..*known })
        };
        Audience { usual: Rc::default(), whims: near.take().map(whims).collect() }
    }
}

/// What is needed to find out who reaches whom, and kept from one radio to the next.
#[derive(Debug)]
struct Survey {
    /// The weakest signal that counts, in dBm.
    least: f64,
    index: Grid,
    /// Gains by the square of the distance, where nothing else decides: on a grid there are few distances.
    gains: Option<Memo<Option<f64>>>,
    /// Powers by their decibels, of which there are then as few.
    powers: Memo<Power>,
    /// Who is near, with the power that arrives there in dBm.
    near: Roll,
    scratch: Reached,
}

fn distance_squared(start: Place, end: Place) -> f64 {
    let (dx, dy) = (start.0 - end.0, start.1 - end.1);
    dx * dx + dy * dy
}

impl Audience {
    /// Whom this one emission reaches: jitter and the links' spells included. A list that is of no use any more is
    /// filled anew where the usual one does not fit.
    pub fn arriving(
        &mut self,
        now: u64,
        jitter_db: f64,
        bursts: Option<Bursts>,
        lockable: Power,
        rng: &mut Rng,
        spare: &mut Vec<Rc<Reached>>,
    ) -> Rc<Reached> {
        if self.whims.is_empty() {
            return Rc::clone(&self.usual);
        }
        let arrive = |whims: &mut Whims| {
            let mut db = whims.mean_dbm + jitter_db * normal(rng).0;
            if let Some(bursts) = bursts {
                while whims.spell_end <= now {
                    whims.bad = !whims.bad;
                    let mean = if whims.bad { bursts.bad_us } else { bursts.good_us };
                    whims.spell_end += exponential(rng, mean);
                }
                if whims.bad {
                    db -= bursts.loss_db;
                }
            }
            (whims.to, db, Power::from_dbm(db))
        };
        let mut reached = spare.pop().unwrap_or_default();
        Rc::make_mut(&mut reached).fill(self.whims.iter_mut().map(arrive), lockable);
        reached
    }
}

/// A length with this mean, memoryless; at least one microsecond.
fn exponential(rng: &mut Rng, mean_us: u32) -> u64 {
    let length = -(1.0 - super::chance(rng)).ln() * f64::from(mean_us);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and far below 2^64")]
    let whole = length as u64;
    whole.max(1)
}

#[cfg(test)]
mod tests {
    use super::{Block, FAINT_MAX, Faint, Power};

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
}
