//! The hierarchy under stress on the ideal network.

mod picker;
mod plan;
mod play;
mod report;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use picker::Scheduler;
pub use plan::{Faults, Plan, radii_name};
pub use play::{End, Played, play};
pub use report::{Failure, FailureKind, Longest, Summary};

/// Plays runs `from..from + runs`, and calls `watch` with the summary after each.
pub fn stress(seed: u64, from: u64, runs: u64, mut watch: impl FnMut(&Summary)) -> Summary {
    let mut summary = Summary::new(seed, from);
    for run in from..from.saturating_add(runs) {
        let plan = Plan::draw(seed, run);
        // A defect in the core makes the network panic; catch that to report which run did it.
        match catch_unwind(AssertUnwindSafe(|| play(&plan))) {
            Ok(played) => summary.add(&plan, &played),
            Err(panic) => summary.add_panic(&plan, panic.as_ref()),
        }
        watch(&summary);
    }
    summary
}
