//! Reads a whole trace and sorts it by time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use common::types::NodeId;
use sim::air::trace::{Event, LineError, NodeNumber, Record, parse_line};

use crate::field::monitor::mac;
use crate::note;

/// A file with more nodes than this is taken to be wrong.
const NODES_MAX: usize = 10_000;

/// A hundred years in microseconds. A record that claims a later time is damaged.
const TIME_MAX_US: u64 = 100 * 366 * 24 * 3_600 * 1_000_000;

#[derive(Clone, Debug)]
pub struct Trace {
    /// In order of time.
    pub records: Vec<Record>,
    /// One more than the highest node number; not every number need be in use.
    pub nodes: usize,
    /// The numbers in use. If the trace introduces nodes with ids or power events, only those count, not bare senders.
    pub in_use: BTreeSet<NodeNumber>,
    /// Each node's first id.
    pub ids: BTreeMap<NodeNumber, NodeId>,
}

/// Reads a file. A last line that was cut off, as when a laptop loses power, is ignored with a note.
pub fn read(path: &Path) -> anyhow::Result<Trace> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let mut records = Vec::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        match parse_line(number, line.trim_end_matches(['\n', '\r'])) {
            Ok(record) => {
                check(&record).with_context(|| format!("{name}:{number}"))?;
                records.push(record);
            }
            Err(_) if !line.ends_with('\n') && number > 1 => {
                note!("{name}:{number}: the last line is incomplete; ignored");
            }
            Err(LineError { line, reason }) => bail!("{name}:{line}: {reason}"),
        }
    }
    ensure!(!records.is_empty(), "{name} is empty");
    Ok(in_order(records))
}

fn check(record: &Record) -> anyhow::Result<()> {
    ensure!(record.node.is_none_or(|node| node.0 < NODES_MAX), "a node's number must be below {NODES_MAX}");
    ensure!(record.time_us <= TIME_MAX_US, "the time is more than a hundred years; is it damaged?");
    Ok(())
}

/// Sorts records by time. A recording of several boards has them in the order in which their messages arrived.
pub fn in_order(mut records: Vec<Record>) -> Trace {
    records.sort_by_key(|record| record.time_us);
    let nodes = records.iter().filter_map(|record| record.node).max().map_or(0, |last| last.0 + 1);
    let mut ids = BTreeMap::new();
    // Id records take precedence; without any, the frames' source addresses serve.
    let is_said = records.iter().any(|record| matches!(record.event, Event::Id { .. }));
    for Record { node, event, .. } in &records {
        let id = match event {
            Event::Id { id } => Some(*id),
            Event::Frame { psdu } if !is_said => mac::sender(psdu),
            _ => None,
        };
        if let Some((node, id)) = node.zip(id) {
            ids.entry(node).or_insert(id);
        }
    }
    let introduces = |event: &Event| matches!(event, Event::Id { .. } | Event::PowerOn {} | Event::PowerOff {});
    let are_introduced = records.iter().any(|record| introduces(&record.event));
    let counts = |record: &&Record| !are_introduced || introduces(&record.event);
    let in_use = records.iter().filter(counts).filter_map(|record| record.node).collect();
    Trace { records, nodes, in_use, ids }
}
