//! The readings of all nodes, as boards on cables report them: those in a leader's log, copies that a leader sends, and those that
//! a board has stored itself. Entries come from several logs and more than once; the newest block of each node counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use common::data::block::BlockBytes;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::Key;
use common::host_link::{Quantity, ToHost};
use common::types::NodeId;

use super::describe;
use crate::output::counted;

/// More nodes than a log has marks for. A board must not fill the memory with ids that it makes up.
const NODES_MAX: usize = 1_024;

/// What is known of a node's readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReadings {
    /// The newest value of each quantity.
    pub newest: BTreeMap<Quantity, i32>,
    /// Its newest block: its store and its number.
    block: (u16, u32),
    /// Blocks that its origin declared lost, by the last gap.
    pub lost: u32,
}

/// By node.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    nodes: BTreeMap<NodeId, NodeReadings>,
}

impl Gathered {
    pub fn nodes(&self) -> &BTreeMap<NodeId, NodeReadings> {
        &self.nodes
    }

    /// Takes note of what a board with this id says.
    pub fn hear(&mut self, speaker: NodeId, message: &ToHost) {
        match message {
            ToHost::Logged { entry, .. } | ToHost::Copied { entry } => {
                let Some(entry) = LogEntry::read(entry.as_slice()) else { return };
                match entry.contents {
                    Contents::Block(_) => {
                        let newest = entry.readings().map(|one| (one.quantity, one.value));
                        self.note(entry.key, newest);
                    }
                    Contents::Gap { end } => {
                        if let Some(node) = self.node(entry.key.origin) {
                            node.lost = end.saturating_sub(entry.key.number);
                        }
                    }
                }
            }
            ToHost::Stored { store, number, block } => {
                let key = Key { origin: speaker, store: *store, number: *number };
                let samples = BlockBytes::read(block.as_slice()).into_iter().flat_map(BlockBytes::samples);
                let values = samples.flat_map(|taken| Quantity::SERIES.into_iter().zip(taken.sample.values));
                self.note(key, values.filter_map(|(quantity, value)| Some((quantity, value?))));
            }
            _ => {}
        }
    }

    fn node(&mut self, id: NodeId) -> Option<&mut NodeReadings> {
        let has_room = self.nodes.len() < NODES_MAX || self.nodes.contains_key(&id);
        has_room.then(|| self.nodes.entry(id).or_default())
    }

    fn note(&mut self, key: Key, values: impl Iterator<Item = (Quantity, i32)>) {
        let Some(node) = self.node(key.origin) else { return };
        let is_older = node.block.0 == key.store && key.number < node.block.1;
        if !is_older {
            node.block = (key.store, key.number);
            node.newest.extend(values);
        }
    }

    /// A line for each node; empty if nothing was gathered yet.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (id, node) in &self.nodes {
            let values: Vec<String> = node.newest.iter().map(|(&one, &value)| describe::reading(one, value)).collect();
            let lost = if node.lost > 0 { format!("; lost {}", counted(node.lost, "block")) } else { String::new() };
            let _ = writeln!(text, "{id:>5}  block {}: {}{lost}", node.block.1, values.join(", "));
        }
        if text.is_empty() { text } else { format!("gathered from all nodes\n{text}") }
    }
}

#[cfg(test)]
mod tests {
    use common::data::block::{Block, Sample, Taken};
    use common::host_link::Bytes;

    use super::{Contents, Gathered, Key, LogEntry, NodeId, Quantity, ToHost};

    fn block(value: i32) -> Block {
        let mut block = Block::new();
        let mut sample = Sample::default();
        sample.values[0] = Some(value);
        block.push(1, Taken { clock_ms: 5, sample }).unwrap();
        block
    }

    fn logged(origin: u16, number: u32, contents: Contents<'_>) -> ToHost {
        let key = Key { origin: NodeId(origin), store: 9, number };
        let mut bytes = [0; common::data::log_entry::ENTRY_MAX];
        let entry = LogEntry { key, epoch: 1, clock_ms: 9_000, age: 3, contents };
        let length = entry.write(&mut bytes).unwrap();
        ToHost::Logged { position: number, entry: Bytes::new(&bytes[..length]).unwrap() }
    }

    #[test]
    fn one_board_tells_the_readings_of_all_and_the_newest_count() {
        let mut gathered = Gathered::default();
        assert_eq!(gathered.table(), "");
        for (origin, number, value) in [(3, 4, 2_150), (5, 1, 2_300), (3, 2, 1_000)] {
            gathered.hear(NodeId(1), &logged(origin, number, Contents::Block(block(value).bytes())));
        }
        gathered.hear(NodeId(1), &logged(5, 7, Contents::Gap { end: 9 }));
        let own = Bytes::new(block(2_000).bytes()).unwrap();
        gathered.hear(NodeId(1), &ToHost::Stored { store: 2, number: 0, block: own });
        let value = |id| gathered.nodes()[&NodeId(id)].newest[&Quantity::DieTemperature];
        assert_eq!((value(3), value(5), value(1)), (2_150, 2_300, 2_000));
        let table = gathered.table();
        assert!(table.contains("    3  block 4: temperature 21.5 °C\n"), "{table}");
        assert!(table.contains("    5  block 1: temperature 23.0 °C; lost 2 blocks\n"), "{table}");
    }
}
