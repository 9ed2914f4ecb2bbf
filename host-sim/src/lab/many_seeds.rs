//! Runs many seeds on several threads: of one scenario, or a stranger each.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};

use sim::scenario::input::plan::Scenario;
use sim::scenario::report::sweep::Row;
use sim::scenario::run::drive;

/// A request for more parallel runs than this is taken for a typo.
pub const JOBS_MAX: usize = 1_024;

/// Runs every seed of a scenario; the result does not depend on the number of jobs.
pub fn run_seeds<S>(scenario: &Scenario, seeds: S, jobs: usize, progress: impl FnMut(usize)) -> BTreeMap<u64, Row>
where
    S: IntoIterator<Item = u64, IntoIter: Send>,
{
    for_each_seed(seeds, jobs, |seed| Row::from(drive::run(scenario, seed)), progress)
}

/// Does the work of every seed; the result does not depend on the number of jobs.
pub fn for_each_seed<S, R: Send>(
    seeds: S,
    jobs: usize,
    work: impl Fn(u64) -> R + Sync,
    mut progress: impl FnMut(usize),
) -> BTreeMap<u64, R>
where
    S: IntoIterator<Item = u64, IntoIter: Send>,
{
    let seeds = Mutex::new(seeds.into_iter());
    // A worker that panicked ends the program anyway, so a poisoned lock says nothing new.
    let next = || seeds.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, JOBS_MAX) {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || {
                while let Some(seed) = next() {
                    // Cannot fail: the receiver outlives the workers.
                    let _ = done.send((seed, work(seed)));
                }
            });
        }
        drop(done);
        let mut rows = BTreeMap::new();
        for (seed, row) in results {
            rows.insert(seed, row);
            progress(rows.len());
        }
        rows
    })
}
