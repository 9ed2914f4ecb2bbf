//! Several recordings of one field test as one: laptops at different places, or one after the other.
//!
//! Each recording says when it began by its laptop's clock, which is what joins them: laptops that set their clocks from
//! the network agree to some tens of milliseconds. A board is known by its chip, whichever laptop it was at.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, ensure};
use sim::air::trace::{Event, NodeNumber, Record};

use super::check::trace_file::Trace;
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

/// All records in order of time, from the beginning of the first recording, with one number for each board.
pub fn join(traces: &[Trace]) -> anyhow::Result<Vec<Record>> {
    let starts = traces.iter().map(began).collect::<anyhow::Result<Vec<_>>>()?;
    let first = starts.iter().min().copied().context("there is nothing to join")?;
    let mut chips: BTreeMap<String, NodeNumber> = BTreeMap::new();
    let (mut joined, mut has_begun) = (Vec::new(), false);
    for (trace, start) in traces.iter().zip(&starts) {
        let later_us = u64::try_from(start.0 - first.0).unwrap_or(0);
        let mut numbers = BTreeMap::new();
        for record in &trace.records {
            if let (Event::Board { chip, .. }, Some(node)) = (&record.event, record.node) {
                let next = NodeNumber(chips.len());
                numbers.insert(node, *chips.entry(chip.clone()).or_insert(next));
            }
        }
        for record in &trace.records {
            // One beginning is enough: the first.
            if matches!(record.event, Event::Recording { .. })
                && (*start != first || std::mem::replace(&mut has_begun, true))
            {
                continue;
            }
            let node = record.node.map(|node| numbers.get(&node).copied().context("a node that never said what it is"));
            let mut event = record.event.clone();
            if let Event::Received { from, .. } | Event::Damaged { from, .. } = &mut event {
                *from = *numbers.get(from).context("a sender that never said what it is")?;
            }
            joined.push(Record { time_us: record.time_us + later_us, node: node.transpose()?, event });
        }
    }
    ensure!(!joined.is_empty(), "there is nothing to join");
    joined.sort_by_key(|record| record.time_us);
    Ok(joined)
}

/// The readings of a recording as a table.
pub fn readings_csv(records: &[Record], began: Option<Utc>) -> String {
    let mut ids = BTreeMap::new();
    let mut text = String::from("time,seconds,node,quantity,value,unit\n");
    for Record { time_us, node, event } in records {
        match (event, node) {
            (Event::Id { id }, Some(node)) => drop(ids.insert(*node, id.0)),
            (Event::Reading { quantity, value, per_unit, unit }, Some(node)) => {
                let time = began.map(|began| began.after_us(*time_us).to_string()).unwrap_or_default();
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
