//! The gateway's loop: read, store, confirm, pass on.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use host_sim::interrupt::Interrupt;
use host_sim::note;

use crate::outputs::text_file::TextFile;
use crate::source::{Batch, Source};
use crate::spool::Spool;

/// Readings of this long share a transaction, because a sync of the disk costs more than a hundred rows.
const GATHER: Duration = Duration::from_millis(100);

/// The most readings in one transaction.
const GATHER_MAX: usize = 5_000;

/// What a gateway did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub stored: usize,
    /// Those that had been stored before.
    pub known: usize,
}

/// Runs until it is interrupted, the source ends or the time is up. An error means that something could not be stored
/// or passed on; nothing is ever confirmed that is not stored.
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
        let batch = gather(source)?;
        if batch.is_empty() {
            // A source that waits for an answer may have sent nothing to store.
            source.committed(&batch)?;
            continue;
        }
        let stored = spool.store_all(&batch.readings, &batch.gaps);
        let stored = stored.with_context(|| {
            let name = database.display();
            format!("cannot store readings in {name}; nothing of it is told as committed, and boards keep theirs")
        })?;
        tally.stored += stored;
        tally.known += batch.readings.len() - stored;
        for gap in &batch.gaps {
            note!("node {} has overwritten blocks {} to {} before anybody had them", gap.node, gap.first, gap.end - 1);
        }
        source.stored(spool)?;
        source.committed(&batch)?;
        for file in &mut *files {
            file.deliver(spool)?;
        }
    }
    Ok(tally)
}

fn gather(source: &mut impl Source) -> anyhow::Result<Batch> {
    let deadline = Instant::now() + GATHER;
    let mut batch = Batch::default();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        batch.extend(source.read(left)?);
        if left.is_zero() || batch.readings.len() >= GATHER_MAX || source.is_waiting() || source.is_over() {
            return Ok(batch);
        }
    }
}
