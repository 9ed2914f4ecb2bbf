//! Where readings come from.

pub mod block;
pub mod cable;
pub mod flood;
pub mod lead;
pub mod scenario;
pub mod simulated;

use std::time::Duration;

use crate::reading::{Gap, Reading};

/// What has arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub readings: Vec<Reading>,
    /// Of what nodes say they have lost.
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
    /// Waits no longer than this, and returns what has arrived.
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch>;

    /// This is on the disk: whoever has kept it may let go.
    fn committed(&mut self, batch: &Batch) -> anyhow::Result<()>;

    /// Whether nothing more comes before it is told what is committed.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whether nothing will come any more.
    fn is_over(&self) -> bool {
        false
    }
}
