//! Entries of leaders' logs as readings: the way of everything that nodes collect, whoever hands it over.
//!
//! The store that a block comes from stands where a board on a cable has a piece of its serial number, and a reading's number
//! is that of its block and its place there. So the same block from two leaders, or sent again, is stored once.

use common::data::block::BlockBytes;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::AGE_UNKNOWN;
use common::quantity::Quantity;
use host_sim::field::quantity::{self, Description};
use host_sim::field::utc::Utc;

use super::Batch;
use crate::reading::{Gap, Key, Reading};

/// A block has at most so many samples: their number in it is a byte.
const SAMPLES_MAX: u64 = 256;

/// What an entry of a leader's log holds; none where it cannot be read. It was logged at this time.
pub fn batch(network: &str, entry: &[u8], logged: Utc) -> Option<Batch> {
    let LogEntry { key, age, contents, .. } = LogEntry::read(entry)?;
    let block = match contents {
        Contents::Block(bytes) => BlockBytes::read(bytes)?,
        Contents::Gap { end } => {
            let gap =
                Gap { network: network.to_owned(), node: key.origin.0, device: key.store, first: key.number, end };
            return Some(Batch { gaps: vec![gap], ..Batch::default() });
        }
    };
    let last_ms = block.samples().last().map_or(block.clock_ms, |taken| taken.clock_ms);
    let is_known = age != AGE_UNKNOWN;
    // Samples from before a reboot are as far from each other as they were, and none is younger than the entry.
    let age_us = if is_known { u64::from(age) * 10_000 } else { (last_ms - block.clock_ms) * 1_000 };
    let mut readings = Vec::new();
    for (taken, at) in block.samples().zip(0..) {
        let time = logged.before_us(age_us).after_us((taken.clock_ms - block.clock_ms) * 1_000);
        for (quantity, value) in Quantity::SERIES.into_iter().zip(taken.sample.values) {
            let Some(value) = value else { continue };
            let Description { name, unit, per_unit } = quantity::describe(quantity);
            let key = Key {
                network: network.to_owned(),
                node: key.origin.0,
                device: key.store,
                epoch: block.epoch,
                seq: u64::from(key.number) * SAMPLES_MAX + at,
            };
            let value = f64::from(value) / f64::from(per_unit);
            readings.push(Reading { key, quantity: name, value, unit: unit.to_owned(), time, is_known });
        }
    }
    Some(Batch { readings, gaps: Vec::new() })
}

#[cfg(test)]
mod tests {
    use common::data::block::{Block, Sample, Taken};
    use common::data::log_entry::{Contents, ENTRY_MAX, LogEntry};
    use common::data::wire::{AGE_UNKNOWN, Key};
    use common::quantity::Quantity;
    use common::types::NodeId;
    use host_sim::field::utc::Utc;

    use super::batch;

    fn entry(age: u32, contents: Contents<'_>) -> Vec<u8> {
        let key = Key { origin: NodeId(5), store: 700, number: 3 };
        let mut buf = [0; ENTRY_MAX];
        let length = LogEntry { key, epoch: 9, clock_ms: 88_000, age, contents }.write(&mut buf).unwrap();
        buf[..length].to_vec()
    }

    fn block() -> Block {
        let mut block = Block::new();
        for second in 0..3 {
            let mut sample = Sample::default();
            sample.values[Quantity::Supply.series().unwrap()] = Some(3_000 + i32::try_from(second).unwrap());
            block.push(2, Taken { clock_ms: 40_000 + second * 1_000, sample }).unwrap();
        }
        block
    }

    #[test]
    fn samples_have_their_own_times_and_keys() {
        let logged = Utc(100_000_000);
        let found = batch("garden", &entry(450, Contents::Block(block().bytes())), logged).unwrap();
        assert!(found.gaps.is_empty() && found.readings.len() == 3);
        let last = &found.readings[2];
        assert_eq!((last.key.node, last.key.device, last.key.epoch, last.key.seq), (5, 700, 2, 3 * 256 + 2));
        assert_eq!((last.quantity.as_str(), last.value, last.unit.as_str()), ("supply", 3.002, "V"));
        // The first was 4.5 s old, and this one was taken two seconds after it.
        assert_eq!((last.time, last.is_known), (Utc(97_500_000), true));
    }

    #[test]
    fn of_samples_from_before_a_reboot_only_the_latest_possible_time_is_known() {
        let found = batch("garden", &entry(AGE_UNKNOWN, Contents::Block(block().bytes())), Utc(100_000_000)).unwrap();
        let times: Vec<_> = found.readings.iter().map(|reading| (reading.time.0, reading.is_known)).collect();
        assert_eq!(times, [(98_000_000, false), (99_000_000, false), (100_000_000, false)]);
    }

    #[test]
    fn gaps_are_kept_and_rubbish_is_not() {
        let found = batch("garden", &entry(0, Contents::Gap { end: 9 }), Utc(0)).unwrap();
        assert_eq!((found.gaps[0].first, found.gaps[0].end, found.gaps[0].device), (3, 9, 700));
        assert!(batch("garden", &[1, 2, 3], Utc(0)).is_none());
    }
}
