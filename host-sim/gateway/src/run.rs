//! The gateway's loop: read, store, say so, hand on.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use host_sim::interrupt::Interrupt;

use crate::outputs::text_file::TextFile;
use crate::reading::Reading;
use crate::source::Source;
use crate::spool::Spool;

/// Readings of this long go into one transaction: a sync of the disk costs more than a hundred rows.
const GATHER: Duration = Duration::from_millis(100);

/// The most that go into one.
const GATHER_MAX: usize = 5_000;

/// What a gateway did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub stored: usize,
    /// Those that had been stored before.
    pub known: usize,
}

/// Runs until it is interrupted, the source is over or the time is up. An error means that something could not be stored
/// or handed on; nothing was said to be committed that is not.
pub fn run(
    source: &mut impl Source,
    database: &Path,
    spool: &mut Spool,
    files: &mut [TextFile],
    interrupt: &Interrupt,
    until: Option<Instant>,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for file in &mut *files {
        file.deliver(spool)?;
    }
    while !interrupt.is_set() && !source.is_over() && until.is_none_or(|until| Instant::now() < until) {
        let readings = gather(source)?;
        if readings.is_empty() {
            continue;
        }
        let stored = spool.store(&readings);
        let stored = stored.with_context(|| {
            let name = database.display();
            format!("cannot store readings in {name}; nothing of it is told as committed, and boards keep theirs")
        })?;
        tally.stored += stored;
        tally.known += readings.len() - stored;
        source.committed(&readings)?;
        for file in &mut *files {
            file.deliver(spool)?;
        }
    }
    Ok(tally)
}

fn gather(source: &mut impl Source) -> anyhow::Result<Vec<Reading>> {
    let deadline = Instant::now() + GATHER;
    let mut readings = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        readings.extend(source.read(left)?);
        if left.is_zero() || readings.len() >= GATHER_MAX || source.is_over() {
            return Ok(readings);
        }
    }
}
