//! The hierarchy under stress on the ideal network.

mod picker;
mod plan;
mod play;
mod report;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::{note, output};

pub use picker::Scheduler;
pub use plan::{Faults, Plan, radii_name};
pub use play::{End, Played, play};
pub use report::{Failure, FailureKind, Summary};

/// What is not finished after this long says how far it is, and again after as long.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// Arguments of `stress hierarchy`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Each run forms a network, lets things go wrong, waits until nothing is under way, and then checks
that every component has one leader, that every node has a head within the radius of each level that
is for it, and that the structure is the one its definition gives. What a run consists of depends on
the seed and its number alone; kinds of faults take turns, everything else is left to chance.

Exit code: 0 when every run ended as it must, 2 when one ended otherwise, 3 when one did not end.

Fields of --json: seed, from, runs, delivered, longest (run, steps), kinds (what was varied, and how
many runs had it), failures (run, kind, plan, what, last_events, replay).

Examples:
  ringleader stress hierarchy
  ringleader stress hierarchy --runs 10000 --seed 7
  ringleader stress hierarchy --seed 7 --from 4242 --runs 1")]
pub struct Args {
    /// How many runs
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// The seed of all runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first run
    #[arg(long, default_value_t = 0, value_name = "RUN")]
    from: u64,
    /// Print a JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut told = started;
    let summary = stress(args.seed, args.from, args.runs, |summary| {
        if told.elapsed() > PROGRESS_EVERY {
            told = Instant::now();
            note!("{} of {} runs, {} failures", summary.runs, args.runs, summary.failures.len());
        }
    });
    let text = if args.json { serde_json::to_string_pretty(&summary)? + "\n" } else { summary.to_string() };
    output::print(&text)?;
    Ok(ExitCode::from(summary.exit_code()))
}

/// Plays runs `from..from + runs`, and shows the summary to `watch` after each.
pub fn stress(seed: u64, from: u64, runs: u64, mut watch: impl FnMut(&Summary)) -> Summary {
    let mut summary = Summary::new(seed, from);
    for run in from..from.saturating_add(runs) {
        let plan = Plan::draw(seed, run);
        // A defect that the core reports makes the network panic; the run that did it must be told.
        match catch_unwind(AssertUnwindSafe(|| play(&plan))) {
            Ok(played) => summary.add(&plan, &played),
            Err(panic) => summary.add_panic(&plan, panic.as_ref()),
        }
        watch(&summary);
    }
    summary
}
