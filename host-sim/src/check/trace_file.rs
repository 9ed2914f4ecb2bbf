//! Reads a whole trace and puts it in order.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, ensure};
use common::types::NodeId;

use crate::air::trace::{Event, LineError, Record, parse_line};
use crate::monitor::mac;

/// More nodes than this are a mistake in the file.
const NODES_MAX: usize = 10_000;

/// A trace, ordered by time, with everybody's id.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What happened.
    pub records: Vec<Record>,
    /// How many nodes there are.
    pub nodes: usize,
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
    // What a node is said to be counts; where nothing is said, its own frames tell.
    for is_said in [true, false] {
        for Record { node, event, .. } in &records {
            let id = match event {
                Event::Id { id } if is_said => Some(*id),
                Event::Frame { psdu } if !is_said => mac::sender(psdu),
                _ => None,
            };
            if let Some((node, id)) = node.zip(id) {
                ids.entry(node).or_insert(id);
            }
        }
    }
    Trace { records, nodes, ids }
}
