//! One scenario with many seeds, on as many threads as one likes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};

use sim::scenario::input::plan::Scenario;
use sim::scenario::report::sweep::Row;
use sim::scenario::run::drive;

/// More runs at the same time than this are a slip of the pen, and more threads than an operating system gives.
pub const JOBS_MAX: usize = 1_024;

/// Runs every seed; what comes of it does not depend on the number of jobs.
pub fn run_seeds<S>(scenario: &Scenario, seeds: S, jobs: usize, mut progress: impl FnMut(usize)) -> BTreeMap<u64, Row>
where
    S: IntoIterator<Item = u64, IntoIter: Send>,
{
    let seeds = Mutex::new(seeds.into_iter());
    // A worker that has panicked ends the program in any case.
    let next = || seeds.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, JOBS_MAX) {
            let (next, done) = (&next, done.clone());
            scope.spawn(move || {
                while let Some(seed) = next() {
                    // The other end lives until all workers are done.
                    let _ = done.send(Row::from(drive::run(scenario, seed)));
                }
            });
        }
        drop(done);
        let mut rows = BTreeMap::new();
        for row in results {
            rows.insert(row.seed, row);
            progress(rows.len());
        }
        rows
    })
}
