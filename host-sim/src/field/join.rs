//! Several recordings of one field test as one: laptops at different places, or one after the other.
//!
//! Each recording says when it began by its laptop's clock. That joins them where laptops set their clocks from the network;
//! where boards of two laptops heard the same frames, these say how far the clocks really were apart. A board is known by its
//! chip, whichever laptop it was at, and a frame by its sender, boot and number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, ensure};
use common::types::NodeId;
use sim::air::trace::{Event, NodeNumber, Record};

use super::check::trace_file::Trace;
use super::clocks::{Correction, corrections};
use super::utc::Utc;

/// The wall-clock time at which a recording began.
pub fn began(trace: &Trace) -> anyhow::Result<Utc> {
    let said = trace.records.iter().find_map(|record| match &record.event {
        Event::Recording { utc, .. } => Some(utc),
        _ => None,
    });
    let utc =
        said.context("does not say when it was recorded: only recordings of `ringleader monitor` can be joined")?;
    Utc::parse(utc).with_context(|| format!("{utc:?} is not a time"))
}

/// Recordings put side by side.
#[derive(Clone, Debug)]
pub struct Joined {
    /// In order of time, from the beginning of the first recording, with one number for each board.
    pub records: Vec<Record>,
    /// When the first began.
    pub began: Utc,
    /// What was wrong with each laptop's clock, as far as it is known.
    pub corrections: Vec<Option<Correction>>,
}

pub fn join(traces: &[Trace]) -> anyhow::Result<Joined> {
    let told = traces.iter().map(began).collect::<anyhow::Result<Vec<_>>>()?;
    let corrections = corrections(traces, &told);
    let starts: Vec<Utc> = told
        .iter()
        .zip(&corrections)
        .map(|(start, correction)| Utc(start.0 + correction.as_ref().map_or(0, |correction| correction.late_us)))
        .collect();
    let first = starts.iter().min().copied().context("there is nothing to join")?;
    let mut chips: BTreeMap<String, NodeNumber> = BTreeMap::new();
    let mut records = vec![beginning(traces, first)?];
    for (trace, start) in traces.iter().zip(&starts) {
        let later_us = u64::try_from(start.0 - first.0).unwrap_or(0);
        let mut numbers = BTreeMap::new();
        for record in &trace.records {
            if let (Event::Board { chip, .. }, Some(node)) = (&record.event, record.node) {
                let next = NodeNumber(chips.len());
                numbers.insert(node, *chips.entry(chip.clone()).or_insert(next));
            }
        }
        // One beginning is enough.
        for record in trace.records.iter().filter(|record| !matches!(record.event, Event::Recording { .. })) {
            let node = record.node.map(|node| numbers.get(&node).copied().context("a node that never said what it is"));
            let mut event = record.event.clone();
            if let Event::Received { from, .. } | Event::Damaged { from, .. } = &mut event {
                *from = *numbers.get(from).context("a sender that never said what it is")?;
            }
            records.push(Record { time_us: record.time_us + later_us, node: node.transpose()?, event });
        }
    }
    ensure!(records.len() > 1, "there is nothing to join");
    records.sort_by_key(|record| record.time_us);
    name_senders(&mut records);
    Ok(Joined { records, began: first, corrections })
}

/// The header of the whole.
fn beginning(traces: &[Trace], first: Utc) -> anyhow::Result<Record> {
    let said = traces.iter().flat_map(|trace| &trace.records).find_map(|record| match &record.event {
        Event::Recording { program, .. } => Some(program.clone()),
        _ => None,
    });
    let program = said.context("there is nothing to join")?;
    Ok(Record { time_us: 0, node: None, event: Event::Recording { utc: first.to_string(), program } })
}

/// What one laptop's boards heard of a node that another laptop watched is a frame of that node.
fn name_senders(records: &mut [Record]) {
    // Boards start with a hello, which may come after the first frame that others heard of them.
    let mut holders: BTreeMap<NodeId, NodeNumber> = BTreeMap::new();
    for record in &*records {
        if let (Event::Id { id }, Some(node)) = (&record.event, record.node) {
            holders.entry(*id).or_insert(node);
        }
    }
    for record in records {
        match record.event {
            Event::Id { id } => drop(record.node.map(|node| holders.insert(id, node))),
            Event::Heard { id, rssi_dbm, .. } => {
                if let Some(&from) = holders.get(&id) {
                    record.event = Event::Received { from, rssi_dbm };
                }
            }
            _ => {}
        }
    }
}

/// The readings of a recording as a table.
pub fn readings_csv(records: &[Record], began: Utc) -> String {
    let mut ids = BTreeMap::new();
    let mut text = String::from("time,seconds,node,quantity,value,unit\n");
    for Record { time_us, node, event } in records {
        match (event, node) {
            (Event::Id { id }, Some(node)) => drop(ids.insert(*node, id.0)),
            (Event::Reading { quantity, value, per_unit, unit }, Some(node)) => {
                let time = began.after_us(*time_us);
                #[expect(clippy::cast_precision_loss, reason = "boards count to 2^31")]
                let (value, seconds) = (*value as f64 / f64::from((*per_unit).max(1)), *time_us as f64 / 1e6);
                let id = ids.get(node).copied().unwrap_or(0);
                let _ = writeln!(text, "{time},{seconds:.3},{id},{quantity},{value},{unit}");
            }
            _ => {}
        }
    }
    text
}
