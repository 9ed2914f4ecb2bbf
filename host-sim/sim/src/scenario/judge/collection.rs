//! Whether readings are collected as promised: each reading that its origin has stored is in the leaders' logs, taken together,
//! exactly once, or in a gap that its origin declared, once the origin has followed an agreed leader for a minute.
//!
//! Checked at every entry of every log: that its origin stored just these bytes, and that the same log does not have them yet.
//! Checked every second: that nothing is missing for too long. What its origin still holds is late and not lost: the channel
//! may be too full for it. Of boards it is not known what they hold. Two leaders may both have logged a reading, because the commit of
//! the first was lost with it; logs are put together by key, so that is a copy and not a second reading.
//!
//! Not covered: what was in a flash that was erased.

use std::collections::{BTreeMap, BTreeSet};

use common::data::block::BlockBytes;
use common::data::wire::Key;
use common::types::NodeId;

use crate::air::flash::FlashEvent;
use crate::air::index::NodeIndex;
use crate::fnv;
use crate::scenario::report::collected::Collected;

/// Readings must be logged once their origin has followed an agreed leader for this long.
pub const WITHIN_US: u64 = 60_000_000;

/// How a failure names a reading that is late and not lost.
pub const STILL_WAITS: &str = "still waits at its origin";

/// A stored block.
#[derive(Clone, Debug)]
struct Stored {
    at_us: u64,
    readings: u64,
    fingerprint: u64,
    /// Whose logs have it.
    logs: BTreeSet<NodeIndex>,
    is_declared: bool,
    is_destroyed: bool,
    /// Whether its origin is known to have it still.
    is_held: bool,
}

impl Stored {
    fn is_pending(&self) -> bool {
        self.logs.is_empty() && !self.is_declared && !self.is_destroyed
    }
}

/// A reading that should have been logged by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    pub at_us: u64,
    pub node: NodeIndex,
    pub what: String,
}

/// Checks all blocks of a run.
#[derive(Clone, Debug, Default)]
pub struct CollectionCheck {
    blocks: BTreeMap<Key, Stored>,
    /// Blocks in no log and no gap yet.
    pending: BTreeSet<Key>,
    /// Since when each node follows an agreed leader.
    connected: BTreeMap<NodeIndex, u64>,
    /// Nodes that do not tell what they hold.
    opaque: BTreeSet<NodeId>,
    /// The first reading that was late.
    late: Option<Late>,
    report: Collected,
}

impl CollectionCheck {
    /// Something happened in a node's flash; the error says what is wrong.
    pub fn note(&mut self, now_us: u64, node: NodeIndex, id: NodeId, event: FlashEvent) -> Result<(), String> {
        match event {
            FlashEvent::Stored { store, number, block } => {
                let key = Key { origin: id, store, number };
                let readings = BlockBytes::read(&block).map_or(0, |block| u64::from(block.samples_len));
                let stored = Stored {
                    at_us: now_us,
                    readings,
                    fingerprint: fingerprint(&block),
                    logs: BTreeSet::new(),
                    is_declared: false,
                    is_destroyed: false,
                    is_held: !self.opaque.contains(&id),
                };
                self.report.stored += readings;
                self.pending.insert(key);
                if self.blocks.insert(key, stored).is_some() {
                    return Err(format!("{} is the key of two blocks", name(key)));
                }
                Ok(())
            }
            FlashEvent::Logged { key, block } => self.log(now_us, node, key, &block),
            FlashEvent::GapLogged { key, end } => {
                let gap = self.blocks.range_mut(key..Key { number: end, ..key });
                gap.for_each(|(_, stored)| stored.is_declared = true);
                self.pending.retain(|&pending| !(key..Key { number: end, ..key }).contains(&pending));
                Ok(())
            }
            FlashEvent::Dropped { store, before } => {
                let key = |number| Key { origin: id, store, number };
                let dropped = self.blocks.range_mut(key(0)..key(before));
                dropped.for_each(|(_, stored)| stored.is_held = false);
                Ok(())
            }
            FlashEvent::Erased => {
                for (key, stored) in self.blocks.iter_mut().filter(|(key, _)| key.origin == id) {
                    if stored.is_pending() {
                        stored.is_destroyed = true;
                        self.pending.remove(key);
                    }
                    // What was logged stays committed, and may be logged here again.
                }
                self.blocks.values_mut().for_each(|stored| {
                    if stored.logs.len() > 1 {
                        stored.logs.remove(&node);
                    }
                });
                Ok(())
            }
        }
    }

    /// Whether the origin of a block is known to have stored it.
    pub fn knows(&self, key: Key) -> bool {
        self.blocks.contains_key(&key)
    }

    fn log(&mut self, now_us: u64, node: NodeIndex, key: Key, block: &[u8]) -> Result<(), String> {
        let Some(stored) = self.blocks.get_mut(&key).filter(|stored| stored.fingerprint == fingerprint(block)) else {
            return Err(format!("node {} has logged {}, which its origin never stored so", node.0 + 1, name(key)));
        };
        if !stored.logs.insert(node) {
            self.report.duplicates += stored.readings;
            return Err(format!("node {} has logged {} twice", node.0 + 1, name(key)));
        }
        if stored.logs.len() == 1 {
            self.pending.remove(&key);
            let latency_ms = (now_us - stored.at_us) / 1_000;
            self.report.latency_ms.add(latency_ms, stored.readings);
            let origin = NodeIndex(usize::from(key.origin.0).saturating_sub(1));
            if self.connected.get(&origin).is_some_and(|&since| since <= stored.at_us) {
                self.report.quiet_latency_ms.add(latency_ms, stored.readings);
            }
        }
        Ok(())
    }

    /// Which nodes follow an agreed leader now. The error tells of the first reading that is missing for too long, and of whose.
    pub fn assess(&mut self, now_us: u64, connected: &BTreeSet<NodeIndex>) -> Result<(), (NodeIndex, String)> {
        self.connected.retain(|node, _| connected.contains(node));
        for &node in connected {
            self.connected.entry(node).or_insert(now_us);
        }
        let is_due = |key: &&Key| {
            let stored_us = self.blocks.get(*key).map_or(now_us, |stored| stored.at_us);
            self.connected.get(&origin_of(**key)).is_some_and(|&since| now_us > since.max(stored_us) + WITHIN_US)
        };
        let is_held = |key: &Key| self.blocks.get(key).is_some_and(|stored| stored.is_held);
        let due: Vec<Key> = self.pending.iter().filter(is_due).copied().collect();
        let what = |key, what| {
            let stored_s = self.blocks.get(&key).map_or(0, |stored| stored.at_us / 1_000_000);
            format!("{}, stored at {stored_s} s, {what}", name(key))
        };
        if let Some(&late) = due.iter().find(|key| is_held(key)) {
            let what = what(late, STILL_WAITS) + ", which has followed an agreed leader for a minute";
            self.late.get_or_insert(Late { at_us: now_us, node: origin_of(late), what });
        }
        let lost: Vec<Key> = due.into_iter().filter(|key| !is_held(key)).collect();
        let Some(&first) = lost.first() else { return Ok(()) };
        let error = (origin_of(first), what(first, "is in no log and no declared gap"));
        self.report.lost +=
            lost.iter().filter_map(|key| self.blocks.get(key)).map(|stored| stored.readings).sum::<u64>();
        Err(error)
    }

    /// A node that does not tell what it holds.
    pub fn set_opaque(&mut self, id: NodeId) {
        self.opaque.insert(id);
    }

    /// The first reading that was late and not lost.
    pub fn late(&self) -> Option<&Late> {
        self.late.as_ref()
    }

    pub fn report(&self) -> Collected {
        let mut report = self.report.clone();
        for stored in self.blocks.values() {
            let share = if !stored.logs.is_empty() {
                report.copies += if stored.logs.len() > 1 { stored.readings } else { 0 };
                &mut report.committed
            } else if stored.is_declared {
                &mut report.declared
            } else if stored.is_destroyed {
                &mut report.destroyed
            } else {
                &mut report.pending
            };
            *share += stored.readings;
        }
        report.latency_ms.close();
        report.quiet_latency_ms.close();
        report
    }
}

fn fingerprint(block: &[u8]) -> u64 {
    fnv::extend(fnv::EMPTY, block.iter().copied())
}

fn origin_of(key: Key) -> NodeIndex {
    NodeIndex(usize::from(key.origin.0).saturating_sub(1))
}

fn name(Key { origin, store, number }: Key) -> String {
    format!("block {number} of node {origin} (store {store:04x})")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use common::data::block::{Block, Sample, Taken};
    use common::data::wire::Key;
    use common::types::NodeId;

    use super::{CollectionCheck, WITHIN_US};
    use crate::air::flash::FlashEvent;
    use crate::air::index::NodeIndex;

    const KEY: Key = Key { origin: NodeId(1), store: 5, number: 0 };

    fn block() -> Vec<u8> {
        let mut block = Block::new();
        for second in 0..3 {
            block.push(1, Taken { clock_ms: second * 1_000, sample: Sample { values: [Some(1); 8] } }).unwrap();
        }
        block.bytes().to_vec()
    }

    fn with_block() -> CollectionCheck {
        let mut check = CollectionCheck::default();
        let stored = FlashEvent::Stored { store: 5, number: 0, block: block() };
        check.note(1_000_000, NodeIndex(0), NodeId(1), stored).unwrap();
        check
    }

    fn logged(check: &mut CollectionCheck, node: usize, key: Key, block: Vec<u8>) -> Result<(), String> {
        check.note(2_000_000, NodeIndex(node), NodeId(9), FlashEvent::Logged { key, block })
    }

    #[test]
    fn a_reading_is_logged_once_in_each_log_and_counted_once() {
        let mut check = with_block();
        logged(&mut check, 3, KEY, block()).unwrap();
        logged(&mut check, 4, KEY, block()).unwrap();
        let report = check.report();
        assert_eq!((report.stored, report.committed, report.copies, report.pending), (3, 3, 3, 0));
        assert_eq!(report.latency_ms.p50, Some(1_008), "in steps of 16 ms");
        assert!(logged(&mut check, 3, KEY, block()).unwrap_err().contains("twice"));
        assert_eq!(check.report().duplicates, 3);
    }

    #[test]
    fn what_nobody_stored_is_no_reading() {
        let mut check = with_block();
        assert!(logged(&mut check, 3, KEY.with(1), block()).is_err());
        assert!(logged(&mut check, 3, KEY, vec![1, 2]).is_err(), "other bytes");
    }

    #[test]
    fn a_reading_that_its_origin_gave_up_is_lost_after_a_minute_with_a_leader_unless_it_was_declared() {
        let connected = BTreeSet::from([NodeIndex(0)]);
        let mut check = with_block();
        check.note(2_000_000, NodeIndex(0), NodeId(1), FlashEvent::Dropped { store: 5, before: 1 }).unwrap();
        check.assess(5_000_000, &connected).unwrap();
        check.assess(50_000_000, &BTreeSet::new()).unwrap();
        check.assess(60_000_000, &connected).unwrap();
        check.assess(60_000_000 + WITHIN_US, &connected).unwrap();
        let (node, what) = check.clone().assess(60_000_001 + WITHIN_US, &connected).unwrap_err();
        assert!(node == NodeIndex(0) && what.contains("block 0 of node 1"), "{what}");
        check.note(0, NodeIndex(3), NodeId(4), FlashEvent::GapLogged { key: KEY, end: 1 }).unwrap();
        check.assess(90_000_000 + WITHIN_US, &connected).unwrap();
        assert_eq!((check.report().declared, check.late()), (3, None));
    }

    #[test]
    fn a_reading_that_its_origin_still_holds_is_late_and_not_lost() {
        let connected = BTreeSet::from([NodeIndex(0)]);
        let mut check = with_block();
        check.note(2_000_000, NodeIndex(0), NodeId(1), FlashEvent::Dropped { store: 5, before: 0 }).unwrap();
        check.note(2_000_000, NodeIndex(1), NodeId(2), FlashEvent::Dropped { store: 5, before: 9 }).unwrap();
        check.assess(5_000_000, &connected).unwrap();
        check.assess(5_000_001 + WITHIN_US, &connected).unwrap();
        let late = check.late().unwrap();
        assert!(late.node == NodeIndex(0) && late.what.contains("block 0 of node 1"), "{late:?}");
        assert_eq!((check.report().lost, check.report().pending), (0, 3));
        let mut opaque = CollectionCheck::default();
        opaque.set_opaque(NodeId(1));
        let stored = FlashEvent::Stored { store: 5, number: 0, block: block() };
        opaque.note(1_000_000, NodeIndex(0), NodeId(1), stored).unwrap();
        opaque.assess(5_000_000, &connected).unwrap();
        assert!(opaque.assess(5_000_001 + WITHIN_US, &connected).is_err(), "nobody knows what a board holds");
    }
}
