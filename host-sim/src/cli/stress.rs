//! The `stress` command: thousands of random runs, each of which can be replayed from its number.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ideal::stress::hierarchy::stress;

use crate::cli::output;
use crate::note;

/// What is not finished after this long says how far it is, and again after as long.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// Arguments of `stress`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    target: Target,
}

/// What is put under stress.
#[derive(Debug, clap::Subcommand)]
enum Target {
    /// The leaders' hierarchy: after every fault, does each component end in the one right structure?
    Hierarchy(HierarchyArgs),
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.target {
        Target::Hierarchy(args) => stress_hierarchy(args),
    }
}

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
struct HierarchyArgs {
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

fn stress_hierarchy(args: &HierarchyArgs) -> anyhow::Result<ExitCode> {
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
