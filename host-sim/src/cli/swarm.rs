//! `ringleader swarm`: networks that nothing was tuned to.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use sim::scenario::report::outcome::Failure;
use sim::scenario::report::shard::{SEEDS_MAX, Seeds, Shard, parse_seeds, parse_shard};
use sim::swarm::draw::draw;
use sim::swarm::finding::{Fate, Row, examine};
use sim::swarm::shrink::{TRIES_MAX, shrink};
use sim::swarm::tally::{Class, Tally};

use super::sweep::bar;
use crate::interrupt::Interrupt;
use crate::lab::many_seeds::{JOBS_MAX, for_each_seed};
use crate::output::{self, counted};
use crate::{note, out, outln};

/// How many failing seeds the text shows; JSON has them all.
const FAILURES_SHOWN: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Each seed is a whole stranger: where up to 300 nodes stand, what the air is like, which algorithm runs,
and everything that happens to the network. Features (walls, loss, bursts, joint power losses, attackers, ...)
are switched on and off as a whole, so that extremes meet. What must hold follows from the world:

  safety     what `ringleader run` checks after every step of every node
  agreement  after every change that is left alone, within
             (10 s + 0.5 s x hops across + 0.03 s x audible nodes + 0.25 s x ring members) / (1 - loss)^2
  unsteady   in a calm world, nobody changes its leader while nothing changes
  airtime    no node sends for more than 5 % of the run
  frames     at most 100 / (1 - loss)^2 frames per node and minute while nothing changes, and a brief hello of each leader every 128 ms
  readings   a reading waits for at most a minute where its node follows an agreed leader

Where physics or a documented limit forbids agreement (a full channel, a hub with more neighbours than its table holds),
the row says so, counts as degraded, and only safety and airtime are asked for. docs/swarm.md has the details.

Exit codes, by the worst run:
  0  everything held
  1  bad input, or a file that cannot be read or written
  2  safety: something happened that must never happen
  3  something else did not hold

Fields of --json: version, seeds, shard, classes (name, runs, fates, worst_ms, worst_percent, airtime_ppm),
failed, rows (seed, fate, algorithm, nodes, features, components, audible, diameter, loss, forbids, bound_ms,
worst_ms, spontaneous, airtime_ppm, quiet_frames, failure).

Examples:
  ringleader swarm --seeds 0..200                 200 strangers on all cores
  ringleader swarm --seeds 0..20000 --shard 1/4 --json
  ringleader swarm --show 17 > stranger.toml      the scenario of one seed, for `ringleader run stranger.toml`
  ringleader swarm --seeds 17..18 --shrink        run one seed; if it fails, make it small and write it down")]
pub struct Args {
    /// The seeds as a half-open range: 0..100 runs seeds 0 to 99
    #[arg(long, value_parser = parse_seeds, required_unless_present = "show")]
    pub seeds: Option<Seeds>,
    /// Print the scenario of one seed instead of running anything
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "jobs", "shard", "json", "shrink"])]
    pub show: Option<u64>,
    /// Parallel runs [default: the number of processors]
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Run only this part of the seeds: 1/4 is the first of four
    #[arg(long, value_parser = parse_shard)]
    pub shard: Option<Shard>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Shrink the first seed that fails, and write the result to stranger-SEED.toml in this directory
    #[arg(long)]
    pub shrink: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(seed) = args.show {
        return show(seed);
    }
    if let Some(jobs) = args.jobs {
        ensure!((1..=JOBS_MAX).contains(&jobs), "--jobs must be from 1 to {JOBS_MAX}");
    }
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let seeds = args.seeds.context("--seeds is missing")?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let count = seeds.count(shard);
    ensure!(count > 0, "no seeds are left for shard {shard}; there are fewer seeds than shards");
    ensure!(count <= SEEDS_MAX, "{count} seeds are too many: at most {SEEDS_MAX}; split them with --shard");
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let work = |seed| {
        let (stranger, world) = draw(seed);
        examine(&stranger, &world)
    };
    let interrupt = Interrupt::listen();
    let wanted = seeds.of(shard).take_while(|_| !interrupt.is_set());
    let mut rows = for_each_seed(wanted, jobs.min(count), work, |done| output::progress(&bar(done, count)));
    if rows.len() < count {
        note!("interrupted: {} of {} are done, and only they count", rows.len(), counted(count, "seed"));
    }
    for row in rows.values_mut() {
        let replay = replay_command(row.seed);
        if let Some(failure) = &mut row.failure {
            failure.set_replay(replay);
        }
    }
    let tally = Tally::new(seeds, shard, rows);
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&tally)?)?;
    } else {
        out!("{}", text(&tally))?;
    }
    if args.shrink
        && let Some(row) = tally.rows.iter().find(|row| row.fate.is_failure())
    {
        write_small(row)?;
    }
    Ok(ExitCode::from(tally.worst().exit_code()))
}

fn show(seed: u64) -> anyhow::Result<ExitCode> {
    let (stranger, world) = draw(seed);
    if let Some(why) = world.forbids() {
        outln!("# Agreement cannot be asked for: {why}.")?;
    }
    outln!(
        "# {} heard at most, {} across, {} without a usable path between them, {:.0} % lost.",
        counted(world.audible, "node"),
        counted(world.diameter, "hop"),
        counted(world.components, "part"),
        world.loss * 100.0
    )?;
    out!("{}", stranger.text())?;
    Ok(ExitCode::SUCCESS)
}

fn replay_command(seed: u64) -> String {
    format!("ringleader swarm --seeds {seed}..{}", seed.saturating_add(1))
}

/// Shrinks a failing seed and writes what is left of it.
fn write_small(row: &Row) -> anyhow::Result<()> {
    let path = PathBuf::from(format!("stranger-{}.toml", row.seed));
    ensure!(!path.exists(), "{} already exists; move it out of the way to shrink seed {}", path.display(), row.seed);
    let (small, found) = shrink(&draw(row.seed).0, row, |tries| {
        output::progress(&format!("shrinking seed {}: {tries} of at most {TRIES_MAX} runs", row.seed));
    });
    let why = found.failure.as_ref().map(Failure::line).unwrap_or_default();
    let text = format!("# {}: {why}\n{}", found.fate.name(), small.text());
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    note!(
        "seed {} shrunk from {} to {}, {}: {}",
        row.seed,
        counted(row.nodes, "node"),
        counted(found.nodes, "node"),
        counted(small.events.len(), "blow"),
        path.display()
    );
    Ok(())
}

fn text(tally: &Tally) -> String {
    let all = tally.classes.first();
    let count = |fate| all.map_or(0, |all| all.count(fate));
    let fates: Vec<String> = Fate::ALL
        .into_iter()
        .filter(|&fate| fate == Fate::Held || count(fate) > 0)
        .map(|fate| format!("{} {}", count(fate), fate.name()))
        .collect();
    let mut text = format!("{}: {}\n\n", counted(tally.rows.len(), "stranger"), fates.join(", "));
    let _ = writeln!(
        text,
        "  {:<20} {:>6} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>8} {:>8}",
        "class",
        "runs",
        "failed",
        "safety",
        "agree",
        "steady",
        "airt.",
        "frames",
        "reads",
        "worst, ms",
        "of bound",
        "airtime"
    );
    for class in &tally.classes {
        let _ = writeln!(text, "  {}", class_text(class));
    }
    let failed: Vec<&Row> = tally.rows.iter().filter(|row| row.fate.is_failure()).collect();
    if !failed.is_empty() {
        text.push('\n');
    }
    for row in failed.iter().take(FAILURES_SHOWN) {
        let failure = row.failure.as_ref().map(Failure::line).unwrap_or_default();
        let _ = writeln!(
            text,
            "  seed {} ({}, {}, {}): {}",
            row.seed,
            counted(row.nodes, "node"),
            row.algorithm,
            row.fate.name(),
            shortened(&failure)
        );
        let _ = writeln!(text, "    replay: {}", replay_command(row.seed));
    }
    if failed.len() > FAILURES_SHOWN {
        let _ = writeln!(text, "  and {}", counted(failed.len() - FAILURES_SHOWN, "more failing seed"));
    }
    text
}

fn class_text(class: &Class) -> String {
    let Class { name, runs, worst_ms, worst_percent, airtime_ppm, .. } = class;
    let [safety, agreement, unsteady, airtime, frames, readings] =
        [Fate::Safety, Fate::Agreement, Fate::Unsteady, Fate::Airtime, Fate::Frames, Fate::Readings]
            .map(|fate| class.count(fate));
    let failures = class.failures();
    format!(
        "{name:<20} {runs:>6} {failures:>7} {safety:>6} {agreement:>6} {unsteady:>6} {airtime:>6} {frames:>6} {readings:>6} {worst_ms:>9} {worst_percent:>6} % {:>6}.{} %",
        airtime_ppm / 10_000,
        airtime_ppm % 10_000 / 1_000
    )
}

/// The part of a line that says what happened.
fn shortened(line: &str) -> String {
    const MOST: usize = 160;
    if line.chars().count() <= MOST { line.to_owned() } else { line.chars().take(MOST).collect::<String>() + " ..." }
}
