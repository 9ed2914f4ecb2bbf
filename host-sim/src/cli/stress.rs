//! `ringleader stress`: thousands of random runs, each of which can be replayed by its number.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ideal::stress::hierarchy::stress;
use serde::Serialize;
use sim::insider::stress::{Case, Tally, tally};
use sim::scenario::report::outcome::Verdict;

use super::sweep::bar;
use crate::lab::many_seeds::{JOBS_MAX, for_each_seed};
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
    /// Lying members: whatever one authentic frame says, the others agree on one of themselves within 30 seconds
    Lies(LiesArgs),
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.target {
        Target::Hierarchy(args) => stress_hierarchy(args),
        Target::Lies(args) => stress_lies(args),
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

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Each run is a network of 3 to 7 nodes, with one of the ten algorithms in turn. At any time from half a
second on, one member sends one frame with the right key and any contents: an election message, a hello,
an order, readings, numbers of a session, or bytes. Then it loses its power for good. The others must
follow one of themselves within 30 seconds, and know the same orders.

Exit codes, by the worst run:
  0  every network recovered from its lie
  2  something happened that must never happen
  3  a network did not agree in time

Fields of --json: seed, from, runs, algorithms (runs, failed, p50_ms, p99_ms, max_ms; all together under
the empty name), failures (run, algorithm, what, replay).

Examples:
  ringleader stress lies --runs 100000
  ringleader stress lies --seed 7 --from 4242 --runs 1
  ringleader stress lies --seed 7 --show 4242 > lie.toml    the scenario of one run, for `ringleader run lie.toml`")]
struct LiesArgs {
    /// The number of runs
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// The seed of all runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first run
    #[arg(long, default_value_t = 0, value_name = "RUN")]
    from: u64,
    /// Parallel runs [default: the number of processors]
    #[arg(long)]
    jobs: Option<usize>,
    /// Print the scenario of one run instead of running anything
    #[arg(long, value_name = "RUN", conflicts_with_all = ["runs", "from", "jobs", "json"])]
    show: Option<u64>,
    /// Print a JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct LieFailure {
    run: u64,
    algorithm: &'static str,
    what: String,
    replay: String,
}

fn stress_lies(args: &LiesArgs) -> anyhow::Result<ExitCode> {
    let LiesArgs { runs, seed, from, jobs, show, json } = *args;
    if let Some(run) = show {
        output::print(&Case { seed, run }.text())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(jobs) = jobs {
        ensure!((1..=JOBS_MAX).contains(&jobs), "--jobs must be from 1 to {JOBS_MAX}");
    }
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let count = usize::try_from(runs).unwrap_or(usize::MAX);
    let numbers = from..from.saturating_add(runs);
    let examine = |run| Case { seed, run }.examine();
    let rows = for_each_seed(numbers, jobs, examine, |done| output::progress(&bar(done, count)));
    let tallies = tally(rows.values());
    let failures: Vec<LieFailure> = rows
        .iter()
        .filter(|(_, row)| row.verdict != Verdict::Ok)
        .map(|(&run, row)| LieFailure {
            run,
            algorithm: row.algorithm,
            what: row.failure.clone().unwrap_or_default(),
            replay: format!("ringleader stress lies --seed {seed} --from {run} --runs 1"),
        })
        .collect();
    let code = rows.values().map(|row| row.verdict.exit_code()).max_by_key(|&code| (code == 2, code)).unwrap_or(0);
    if json {
        let whole = serde_json::json!({
            "seed": seed, "from": from, "runs": runs, "algorithms": tallies, "failures": failures,
        });
        output::print(&(serde_json::to_string_pretty(&whole)? + "\n"))?;
    } else {
        output::print(&lies_text(&tallies, &failures))?;
    }
    Ok(ExitCode::from(code))
}

/// Every failure with its replay command, then how long the others took.
fn lies_text(tallies: &BTreeMap<&'static str, Tally>, failures: &[LieFailure]) -> String {
    let mut text = String::new();
    for LieFailure { run, algorithm, what, replay } in failures {
        let _ = writeln!(text, "FAILED run {run}, {algorithm}: {what}\n  replay: {replay}\n");
    }
    let _ =
        writeln!(text, "{:<16}{:>8}{:>8}{:>10}{:>10}{:>10}", "algorithm", "runs", "failed", "p50 s", "p99 s", "max s");
    let seconds = |ms: u64| format!("{}.{:02}", ms / 1_000, ms % 1_000 / 10);
    for (name, Tally { runs, failed, p50_ms, p99_ms, max_ms, .. }) in
        tallies.iter().filter(|(name, _)| !name.is_empty())
    {
        let times = [p50_ms, p99_ms, max_ms].map(|&ms| format!("{:>10}", seconds(ms))).concat();
        let _ = writeln!(text, "{name:<16}{runs:>8}{failed:>8}{times}");
    }
    if let Some(Tally { runs, failed, max_ms, .. }) = tallies.get("") {
        let all = counted(*runs, "lie");
        let _ = writeln!(text, "{all}: {failed} did not recover; the slowest took {} s", seconds(*max_ms));
    }
    text
}
