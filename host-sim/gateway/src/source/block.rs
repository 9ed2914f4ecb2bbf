//! Turns entries of leaders' logs into readings. Everything that nodes collect comes this way, from boards or simulated
//! nodes.
//!
//! The block's store takes the place of a serial number, and a reading's number combines the number of its block with
//! its position there. So a block that comes from two leaders, or twice, is stored once.

use common::data::block::BlockBytes;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::{AGE_UNKNOWN, Key as BlockKey};
use common::quantity::Quantity;
use host_sim::field::quantity::{self, Description};
use host_sim::field::utc::Utc;

use super::Batch;
use crate::reading::{Gap, Key, Reading};

/// The most samples in a block: a sample's position is one byte.
pub const SAMPLES_MAX: u64 = 256;

/// When something happened, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    At(Utc),
    /// At this time or earlier.
    Before(Utc),
}

/// What an entry of a leader's log holds; `None` if it cannot be read.
pub fn logged(network: &str, entry: &[u8], when: When) -> Option<Batch> {
    let LogEntry { key, age, contents, .. } = LogEntry::read(entry)?;
    match contents {
        Contents::Block(bytes) => aged(network, key, bytes, age, when),
        // A gap of nothing is made up.
        Contents::Gap { end } if end <= key.number => None,
        Contents::Gap { end } => {
            let (node, device) = (key.origin.0, key.store);
            let gap = Gap { network: network.to_owned(), node, device, first: key.number, end };
            Some(Batch { gaps: vec![gap], ..Batch::default() })
        }
    }
}

/// The readings of a block whose first sample had this age then, in units of 10 ms.
pub fn aged(network: &str, key: BlockKey, block: &[u8], age: u32, when: When) -> Option<Batch> {
    let block = BlockBytes::read(block)?;
    let first = match when {
        When::At(then) if age != AGE_UNKNOWN => When::At(then.before_us(u64::from(age) * 10_000)),
        // Samples from before a reboot keep their distances, and none is younger than the entry.
        When::At(then) | When::Before(then) => When::Before(then.before_us(lasts_us(block))),
    };
    Some(stored(network, key, block, first))
}

/// The readings of a block whose first sample was taken at that time.
pub fn stored(network: &str, key: BlockKey, block: BlockBytes<'_>, first: When) -> Batch {
    let (first, is_known) = match first {
        When::At(first) => (first, true),
        When::Before(first) => (first, false),
    };
    let mut readings = Vec::new();
    for (taken, at) in block.samples().zip(0..) {
        let time = first.after_us((taken.clock_ms - block.clock_ms) * 1_000);
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
    readings.into()
}

/// From the first sample to the last.
fn lasts_us(block: BlockBytes<'_>) -> u64 {
    block.samples().last().map_or(0, |taken| (taken.clock_ms - block.clock_ms) * 1_000)
}

#[cfg(test)]
mod tests {
    use common::data::block::{Block, Sample, Taken};
    use common::data::log_entry::{Contents, ENTRY_MAX, LogEntry};
    use common::data::wire::{AGE_UNKNOWN, Key};
    use common::quantity::Quantity;
    use common::types::NodeId;
    use host_sim::field::utc::Utc;

    use super::{Batch, When, logged};

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
        let found =
            logged("garden", &entry(450, Contents::Block(block().bytes())), When::At(Utc(100_000_000))).unwrap();
        assert!(found.gaps.is_empty() && found.readings.len() == 3);
        let last = &found.readings[2];
        assert_eq!((last.key.node, last.key.device, last.key.epoch, last.key.seq), (5, 700, 2, 3 * 256 + 2));
        assert_eq!((last.quantity.as_str(), last.value, last.unit.as_str()), ("supply", 3.002, "V"));
        // The first was 4.5 s old, and this one was taken two seconds after it.
        assert_eq!((last.time, last.is_known), (Utc(97_500_000), true));
    }

    #[test]
    fn of_samples_from_before_a_reboot_only_the_latest_possible_time_is_known() {
        let found = logged("garden", &entry(AGE_UNKNOWN, Contents::Block(block().bytes())), When::At(Utc(100_000_000)));
        let times = |found: Batch| found.readings.iter().map(|one| (one.time.0, one.is_known)).collect::<Vec<_>>();
        let expected = [(98_000_000, false), (99_000_000, false), (100_000_000, false)];
        assert_eq!(times(found.unwrap()), expected);
        // The same holds where nobody knows when the leader logged it.
        let found = logged("garden", &entry(450, Contents::Block(block().bytes())), When::Before(Utc(100_000_000)));
        assert_eq!(times(found.unwrap()), expected);
    }

    #[test]
    fn gaps_are_kept_and_rubbish_is_not() {
        let found = logged("garden", &entry(0, Contents::Gap { end: 9 }), When::At(Utc(0))).unwrap();
        assert_eq!((found.gaps[0].first, found.gaps[0].end, found.gaps[0].device), (3, 9, 700));
        assert!(logged("garden", &entry(0, Contents::Gap { end: 0 }), When::At(Utc(0))).is_none());
        assert!(logged("garden", &[1, 2, 3], When::At(Utc(0))).is_none());
    }
}
