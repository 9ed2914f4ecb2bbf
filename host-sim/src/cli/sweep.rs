//! `ringleader sweep`: runs one scenario with many seeds.

use std::process::ExitCode;

use anyhow::ensure;
use sim::scenario::report::outcome::{Failure, Verdict};
use sim::scenario::report::shard::{SEEDS_MAX, Seeds, Shard, parse_seeds, parse_shard};
use sim::scenario::report::spread::Spread;
use sim::scenario::report::sweep::{Origin, Row, Sweep};

use super::run::{collected_text, replay_command};
use super::scenario_file::{find, lasting_name};
use crate::interrupt::{EXIT_CODE, Interrupt};
use crate::lab::many_seeds::{JOBS_MAX, run_seeds};
use crate::output::{self, counted};
use crate::{note, out, outln};

/// How many failing seeds the text shows; JSON has them all.
const FAILURES_SHOWN: usize = 20;

/// The width of the progress bar in columns.
const BAR: usize = 40;

const EXIT_CODES: &str = "\
Exit codes, by the worst run:
  0  everything held
  1  bad input, or a file that cannot be read or written
  2  safety: something happened that must never happen
  3  liveness: no agreement in time";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// A built-in scenario (see `ringleader scenarios`) or a .toml file
    pub scenario: String,
    /// The seeds as a half-open range: 0..100 runs seeds 0 to 99
    #[arg(long, value_parser = parse_seeds)]
    pub seeds: Seeds,
    /// Parallel runs [default: the number of processors]
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Run only this part of the seeds: 1/4 is the first of four
    #[arg(long, value_parser = parse_shard)]
    pub shard: Option<Shard>,
    /// Print JSON instead of text, for `ringleader merge`
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scenario = find(&args.scenario)?;
    if let Some(jobs) = args.jobs {
        ensure!((1..=JOBS_MAX).contains(&jobs), "--jobs must be from 1 to {JOBS_MAX}");
    }
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (seeds, shard) = (args.seeds, args.shard.unwrap_or(Shard::WHOLE));
    let count = seeds.count(shard);
    ensure!(count > 0, "no seeds are left for shard {shard}; there are fewer seeds than shards");
    ensure!(
        count <= SEEDS_MAX,
        "{count} seeds are too many: one sweep takes at most {SEEDS_MAX}; split them with --shard, such as --shard 1/{}",
        (seeds.to - seeds.from).div_ceil(SEEDS_MAX)
    );
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let interrupt = Interrupt::listen();
    // Runs that have begun are finished, and what is done so far is reported.
    let wanted = seeds.of(shard).take_while(|_| !interrupt.is_set());
    let rows = run_seeds(&scenario, wanted, jobs.min(count), |done| output::progress(&bar(done, count)));
    let done = rows.len();
    ensure!(done > 0, "interrupted before the first run was over");
    let sweep = Sweep::new(Origin::new(lasting_name(&args.scenario), &scenario, seeds, shard), rows);
    let code = report(sweep, args.json)?;
    if done < count {
        note!("interrupted: {done} of {} are done, and only they count above", counted(count, "seed"));
        return Ok(if code == ExitCode::SUCCESS { ExitCode::from(EXIT_CODE) } else { code });
    }
    Ok(code)
}

/// Prints a sweep, whole or joined from shards, and returns the exit code of its worst run.
pub(super) fn report(mut sweep: Sweep, json: bool) -> anyhow::Result<ExitCode> {
    sweep.set_replays(replay_command);
    print(&sweep, json)?;
    Ok(ExitCode::from(sweep.worst().exit_code()))
}

fn print(sweep: &Sweep, json: bool) -> anyhow::Result<()> {
    if json {
        outln!("{}", serde_json::to_string_pretty(sweep)?)?;
        return Ok(());
    }
    let count = |verdict| sweep.rows.iter().filter(|row| row.verdict == verdict).count();
    let (ok, safety, liveness) = (count(Verdict::Ok), count(Verdict::Safety), count(Verdict::Liveness));
    let (Origin { scenario, seeds, shard, .. }, done) = (&sweep.origin, sweep.rows.len() as u64);
    let all = seeds.count(*shard);
    let done = if done < all { format!("{done} of {}", counted(all, "seed")) } else { counted(done, "seed") };
    outln!("{scenario}: {done}, {ok} ok, {safety} safety, {liveness} liveness")?;
    outln!("                         count     p50     p90     p99     max")?;
    let spreads = [
        ("start, ms", &sweep.started_ms),
        ("time to detect, ms", &sweep.detected_ms),
        ("time to elect, ms", &sweep.elected_ms),
        ("  wave alone, ms", &sweep.wave_ms),
        ("change, total, ms", &sweep.agreed_ms),
        ("leader changes", &sweep.leader_changes),
        ("  spontaneous", &sweep.spontaneous),
        ("frames sent", &sweep.sent),
        ("airtime, ppm", &sweep.airtime_ppm),
        ("energy, nAh/node", &sweep.charge_nah),
        ("link changes", &sweep.link_changes),
    ];
    for (name, spread) in spreads {
        if let Some(Spread { count, p50, p90, p99, max }) = spread {
            outln!("  {name:<20} {count:>7} {p50:>7} {p90:>7} {p99:>7} {max:>7}")?;
        }
    }
    if let Some(collected) = &sweep.collect {
        out!("{}", collected_text(collected))?;
    }
    if let Some(commands) = &sweep.commands {
        outln!("  {}", commands.text())?;
    }
    if let Some(fleet) = &sweep.fleet {
        outln!("  {}", fleet.text())?;
    }
    let failed: Vec<&Row> = sweep.rows.iter().filter(|row| row.verdict != Verdict::Ok).collect();
    for row in failed.iter().take(FAILURES_SHOWN) {
        let failure = row.failure.as_ref().map(Failure::line).unwrap_or_default();
        outln!("  seed {}: {failure}", row.seed)?;
        outln!("    replay: {}", replay_command(&sweep.origin.scenario, row.seed))?;
    }
    if failed.len() > FAILURES_SHOWN {
        outln!("  and {}", counted(failed.len() - FAILURES_SHOWN, "more failing seed"))?;
    }
    Ok(())
}

pub(super) fn bar(done: usize, all: usize) -> String {
    let full = BAR * done / all.max(1);
    format!("[{}{}] {done} of {}", "#".repeat(full), " ".repeat(BAR - full), counted(all, "seed"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bar_fills_up() {
        assert_eq!(super::bar(0, 8), format!("[{}] 0 of 8 seeds", " ".repeat(40)));
        assert_eq!(super::bar(4, 8), format!("[{}{}] 4 of 8 seeds", "#".repeat(20), " ".repeat(20)));
        assert_eq!(super::bar(8, 8), format!("[{}] 8 of 8 seeds", "#".repeat(40)));
    }
}
