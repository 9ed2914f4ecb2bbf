//! How well a board hears each neighbour, from the frames that it reports.
//!
//! Frames are numbered, and their numbers are not encrypted: a gap is frames that were missed. So it is known what was
//! expected without a word from the sender. Strength is that of the frames that arrived.

use std::collections::BTreeMap;

use common::types::NodeId;
use sim::air::trace::Event;

use super::mac::{self, Header};

/// How often to tell of a neighbour that is heard as before.
const PERIOD_US: u64 = 10_000_000;

/// A change is told sooner, but not of fewer frames than this.
const FRAMES_LEAST: u32 = 8;

/// The least change of the mean that is told at once.
const CHANGE_DB: i32 = 3;

/// A larger gap than any silence that leaves a neighbour known: the numbers are another boot's.
const GAP_MAX: u32 = 4_096;

/// A board whose clock stands still is told of after so many frames, so that nothing overflows.
const FRAMES_MOST: u32 = 1 << 20;

/// More neighbours than a board can hear; ids that somebody makes up must not fill the memory.
const NEIGHBOURS_MAX: usize = 256;

const NUMBERS: u32 = 1 << 24;

/// What one board hears.
#[derive(Clone, Debug, Default)]
pub struct Hearing(BTreeMap<NodeId, Neighbour>);

#[derive(Clone, Debug)]
struct Neighbour {
    epoch: u16,
    number: u32,
    since_us: u64,
    heard: u32,
    expected: u32,
    sum_dbm: i32,
    least_dbm: i16,
    /// What was told last.
    told: Option<Told>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    mean_dbm: i16,
    eighths: u32,
}

impl Hearing {
    /// Takes a frame that arrived; returns what there is to tell about its sender.
    pub fn frame(&mut self, time_us: u64, psdu: &[u8], rssi_dbm: i8) -> Option<Event> {
        let Header { from, epoch, number } = mac::header(psdu)?;
        if self.0.len() >= NEIGHBOURS_MAX && !self.0.contains_key(&from) {
            return None;
        }
        let fresh = |told| Neighbour {
            epoch,
            number,
            since_us: time_us,
            heard: 0,
            expected: 0,
            sum_dbm: 0,
            least_dbm: i16::MAX,
            told,
        };
        let neighbour = self.0.entry(from).or_insert_with(|| fresh(None));
        let gap = number.wrapping_sub(neighbour.number) % NUMBERS;
        if neighbour.epoch != epoch || gap >= GAP_MAX {
            *neighbour = fresh(neighbour.told);
        }
        // The first of a boot shows nothing about those before it.
        neighbour.expected += if neighbour.number == number { 1 } else { gap };
        neighbour.number = number;
        neighbour.heard += 1;
        neighbour.sum_dbm += i32::from(rssi_dbm);
        neighbour.least_dbm = neighbour.least_dbm.min(rssi_dbm.into());
        if !neighbour.is_news(time_us) {
            return None;
        }
        let (mean_dbm, eighths) = (neighbour.mean_dbm(), neighbour.eighths());
        let Neighbour { heard, expected, least_dbm, .. } = *neighbour;
        *neighbour = fresh(Some(Told { mean_dbm, eighths }));
        Some(Event::Neighbour { peer: from, heard, expected, mean_dbm, least_dbm })
    }
}

impl Neighbour {
    fn mean_dbm(&self) -> i16 {
        let count = i32::try_from(self.heard.max(1)).unwrap_or(1);
        // To the nearest, also below zero.
        i16::try_from((2 * self.sum_dbm - count).div_euclid(2 * count) + 1).unwrap_or(i16::MIN)
    }

    fn eighths(&self) -> u32 {
        (self.heard * 8 + self.expected / 2) / self.expected.max(1)
    }

    fn is_news(&self, time_us: u64) -> bool {
        let is_due = time_us.saturating_sub(self.since_us) >= PERIOD_US || self.expected >= FRAMES_MOST;
        let has_changed = self.told.is_some_and(|told| {
            i32::from(self.mean_dbm()).abs_diff(told.mean_dbm.into()) >= CHANGE_DB.unsigned_abs()
                || self.eighths() != told.eighths
        });
        is_due || self.heard >= FRAMES_LEAST && has_changed
    }
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;
    use sim::air::trace::Event;

    use super::Hearing;

    fn frame(number: u32, epoch: u16) -> Vec<u8> {
        let [low, middle, high, _] = number.to_le_bytes();
        let [first, second] = epoch.to_le_bytes();
        vec![0x41, 0x88, low, 7, 0, 0xFF, 0xFF, 9, 0, 0x21, first, second, middle, high]
    }

    #[test]
    fn gaps_in_the_numbers_are_losses() {
        let mut hearing = Hearing::default();
        let mut told = Vec::new();
        // Every fourth is missed, across the end of the numbers' range.
        for step in (0..=101_u32).filter(|step| step % 4 != 2) {
            let number = (step + (1 << 24) - 50) % (1 << 24);
            told.extend(hearing.frame(
                u64::from(step) * 100_000,
                &frame(number, 3),
                if step % 2 == 0 { -70 } else { -74 },
            ));
        }
        let [Event::Neighbour { peer, heard, expected, least_dbm, mean_dbm }] = told[..] else { panic!("{told:?}") };
        assert_eq!((peer, heard, expected, least_dbm), (NodeId(9), 76, 101, -74));
        assert!((-74..=-70).contains(&mean_dbm), "{mean_dbm}");
    }

    #[test]
    fn a_change_is_told_before_its_time() {
        let mut hearing = Hearing::default();
        let all: Vec<Event> = (0..230_u32)
            .filter_map(|number| {
                hearing.frame(u64::from(number) * 100_000, &frame(number, 3), if number < 150 { -60 } else { -70 })
            })
            .collect();
        let means: Vec<i16> =
            all.iter().map(|event| if let Event::Neighbour { mean_dbm, .. } = event { *mean_dbm } else { 0 }).collect();
        assert_eq!((means[0], *means.last().unwrap()), (-60, -70), "{means:?}");
        assert!(means.len() >= 3, "{means:?}");
    }

    #[test]
    fn a_board_whose_clock_stands_still_is_still_told_of() {
        let mut hearing = Hearing::default();
        let told = (0..600).filter_map(|at| hearing.frame(7, &frame(at * 4_000 % (1 << 24), 3), -60)).count();
        assert_eq!(told, 2);
    }

    #[test]
    fn another_boot_is_no_loss() {
        let mut hearing = Hearing::default();
        hearing.frame(0, &frame(5_000, 3), -60);
        hearing.frame(5_000_000, &frame(0, 4), -60);
        let told = hearing.frame(16_000_000, &frame(1, 4), -60);
        assert!(matches!(told, Some(Event::Neighbour { heard: 2, expected: 2, .. })), "{told:?}");
    }
}
