//! Reads a whole trace and sorts it by time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, ensure};
use common::types::NodeId;
use sim::air::trace::{Event, LineError, Record, parse_line};

use crate::field::monitor::mac;

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
    pub in_use: BTreeSet<usize>,
    /// Each node's first id.
    pub ids: BTreeMap<usize, NodeId>,
}

pub fn read(path: &Path) -> anyhow::Result<Trace> {
    let name = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
    let mut records = Vec::new();
    for (line, number) in std::io::BufReader::new(file).lines().zip(1..) {
        let line = line.with_context(|| format!("cannot read {name}, line {number}"))?;
        let record = parse_line(number, &line)
            .map_err(|LineError { line, reason }| anyhow::anyhow!("{name}:{line}: {reason}"))?;
        ensure!(
            record.node.is_none_or(|node| node < NODES_MAX),
            "{name}:{number}: a node's number must be below {NODES_MAX}"
        );
        ensure!(
            record.time_us <= TIME_MAX_US,
            "{name}:{number}: the time is more than a hundred years; is it damaged?"
        );
        records.push(record);
    }
    ensure!(!records.is_empty(), "{name} is empty");
    Ok(in_order(records))
}

/// Sorts records by time. A recording of several boards has them in the order in which their messages arrived.
pub fn in_order(mut records: Vec<Record>) -> Trace {
    records.sort_by_key(|record| record.time_us);
    let nodes = records.iter().filter_map(|record| record.node).max().map_or(0, |last| last + 1);
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
