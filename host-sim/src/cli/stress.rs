//! `ringleader stress`: thousands of random runs, each of which can be replayed by its number.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ideal::stress::hierarchy::stress;

use crate::lab::stress_report;
use crate::note;
use crate::output::{self, counted};

const PROGRESS_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    target: Target,
}

#[derive(Debug, clap::Subcommand)]
enum Target {
    /// The hierarchy of leaders: after every fault, each component must end in the one correct structure
    Hierarchy(HierarchyArgs),
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.target {
        Target::Hierarchy(args) => stress_hierarchy(args),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Each run forms a network, injects faults, waits until no message is in flight, and then checks that
every component has one leader, that every node has a head within the radius of each level it belongs
to, and that the structure is the one its definition gives. A run depends only on the seed and its
number; kinds of fault take turns, everything else is random.

Exit codes:
  0  every run ended as it must
  2  a run ended wrongly
  3  a run did not end

Fields of --json: seed, from, runs, delivered, longest (run, steps), kinds (what was varied, and how
many runs had it), failures (run, kind, plan, what, last_events, replay).

Examples:
  ringleader stress hierarchy
  ringleader stress hierarchy --runs 10000 --seed 7
  ringleader stress hierarchy --seed 7 --from 4242 --runs 1")]
struct HierarchyArgs {
    /// The number of runs
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
            let failures = counted(summary.failures.len(), "failure");
            note!("{} of {}, {failures}", summary.runs, counted(args.runs, "run"));
        }
    });
    let text = if args.json { serde_json::to_string_pretty(&summary)? + "\n" } else { stress_report::text(&summary) };
    output::print(&text)?;
    Ok(ExitCode::from(summary.exit_code()))
}
