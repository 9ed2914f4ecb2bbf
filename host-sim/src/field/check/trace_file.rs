//! Reads a whole trace and puts it in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, ensure};
use common::types::NodeId;
use sim::air::trace::{Event, LineError, Record, parse_line};

use crate::field::monitor::mac;

/// More nodes than this are a mistake in the file.
const NODES_MAX: usize = 10_000;

/// A trace, ordered by time, with everybody's id.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What happened.
    pub records: Vec<Record>,
    /// All nodes have smaller numbers than this; not every one of them need be in use.
    pub nodes: usize,
    /// The numbers of the nodes. Whoever only sends is none where others are said to be on or to have ids.
    pub in_use: BTreeSet<usize>,
    /// The id that each node had first.
    pub ids: BTreeMap<usize, NodeId>,
}

/// Reads a trace.
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
            "{name}:{number}: there are at most {NODES_MAX} nodes"
        );
        records.push(record);
    }
    ensure!(!records.is_empty(), "{name} is empty");
    Ok(in_order(records))
}

/// Puts records in order. Boards on different cables are told of in the order in which their messages arrived.
pub fn in_order(mut records: Vec<Record>) -> Trace {
    records.sort_by_key(|record| record.time_us);
    let nodes = records.iter().filter_map(|record| record.node).max().map_or(0, |last| last + 1);
    let mut ids = BTreeMap::new();
    // What a node is said to be counts; where nothing is said of any, their own frames tell.
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
