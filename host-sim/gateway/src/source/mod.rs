//! Where readings come from.

pub mod cable;
pub mod scenario;

use std::time::Duration;

use crate::reading::Reading;

pub trait Source {
    /// Waits no longer than this, and returns the readings that have arrived.
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Vec<Reading>>;

    /// These are on the disk: whoever has kept them may let go.
    fn committed(&mut self, readings: &[Reading]) -> anyhow::Result<()>;

    /// Whether nothing will come any more.
    fn is_over(&self) -> bool {
        false
    }
}
