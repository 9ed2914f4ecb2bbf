//! Where readings come from.

pub mod block;
pub mod cable;
pub mod catch_up;
pub mod flood;
pub mod lead;
pub mod scenario;
pub mod simulated;

use std::time::Duration;

use crate::reading::{Gap, Reading};
use crate::spool::Spool;

/// What has arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub readings: Vec<Reading>,
    /// What nodes report as lost.
    pub gaps: Vec<Gap>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.readings.is_empty() && self.gaps.is_empty()
    }

    pub fn extend(&mut self, other: Self) {
        self.readings.extend(other.readings);
        self.gaps.extend(other.gaps);
    }
}

impl From<Vec<Reading>> for Batch {
    fn from(readings: Vec<Reading>) -> Self {
        Self { readings, gaps: Vec::new() }
    }
}

pub trait Source {
    /// Waits for at most this long and returns what has arrived.
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch>;

    /// Everything that was read so far is in the database: what else is it to have?
    fn stored(&mut self, _: &Spool) -> anyhow::Result<()> {
        Ok(())
    }

    /// These readings are on the disk, so boards need not keep them any longer.
    fn committed(&mut self, batch: &Batch) -> anyhow::Result<()>;

    /// Whether it sends nothing more until it hears what is committed.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whether it has ended for good.
    fn is_over(&self) -> bool {
        false
    }
}
