//! `ringleader run`: one run of a scenario, for people or machines.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::ensure;

use super::catalogue::find;
use super::drive;
use super::outcome::{Change, Outcome, Reign, Verdict};

/// As many changes of leaders are shown; JSON has them all.
const REIGNS_SHOWN: usize = 30;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `ringleader scenarios`) or a file that ends in .toml
    pub scenario: String,
    /// The root seed, instead of the scenario's own
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Run twice and compare every frame
    #[arg(long)]
    pub check_determinism: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scenario = find(&args.scenario)?;
    let seed = args.seed.unwrap_or(scenario.seed);
    eprint!("{} with seed {seed} ...\r", scenario.name);
    let outcome = drive::run(&scenario, seed);
    if args.check_determinism {
        let again = drive::run(&scenario, seed);
        ensure!(again == outcome, "two runs with seed {seed} differ: {} and {}", outcome.digest, again.digest);
    }
    eprint!("{:60}\r", "");
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcome)?);
    } else {
        print!("{}", text(&outcome));
        if args.check_determinism {
            println!("Two runs were the same, frame by frame ({}).", outcome.digest);
        }
    }
    if outcome.verdict != Verdict::Ok {
        eprint!("{}", failure_text(&outcome, &args.scenario));
    }
    Ok(ExitCode::from(outcome.verdict.exit_code()))
}

/// The command that runs the same again.
pub fn replay_command(scenario: &str, seed: u64) -> String {
    format!("ringleader run {scenario} --seed {seed}")
}

/// What is said about a failed run; `scenario` is the name or file that it was started with.
pub fn failure_text(outcome: &Outcome, scenario: &str) -> String {
    let Some(failure) = &outcome.failure else { return String::new() };
    let kind = if outcome.verdict == Verdict::Safety { "SAFETY" } else { "LIVENESS" };
    let mut text = format!("{kind} VIOLATED at {} with seed {}: {}\n", secs(failure.at_ms), outcome.seed, failure.what);
    let nodes: Vec<String> = failure.nodes.iter().map(u16::to_string).collect();
    let _ = writeln!(text, "  nodes: {}", if nodes.is_empty() { "none".to_owned() } else { nodes.join(", ") });
    text.push_str("  last events:\n");
    for event in &failure.last_events {
        let _ = writeln!(text, "    {event}");
    }
    let _ = writeln!(text, "  replay: {}", replay_command(scenario, outcome.seed));
    text
}

/// The summary for people.
fn text(outcome: &Outcome) -> String {
    let Outcome { scenario, seed, ran_ms, components, relapses, elections, searches, .. } = outcome;
    let mut text = format!(
        "{scenario}, seed {seed}: {} nodes for {}, {components} component{} at the end\n\n",
        outcome.nodes.len(),
        secs(*ran_ms),
        if *components == 1 { "" } else { "s" }
    );
    text.push_str("Leaders (and how many follow each)\n");
    for reign in outcome.reigns.iter().take(REIGNS_SHOWN) {
        let _ = writeln!(text, "  {:>9}  {}", secs(reign.at_ms), reign_text(reign));
    }
    if let Some(more) = outcome.reigns.len().checked_sub(REIGNS_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} changes more; the last one:");
        if let Some(last) = outcome.reigns.last() {
            let _ = writeln!(text, "  {:>9}  {}", secs(last.at_ms), reign_text(last));
        }
    }
    text.push_str("\nChanges: noticed after, then agreed after, in all\n");
    for change in &outcome.changes {
        let _ = writeln!(text, "  {}", change_text(change));
    }
    let _ = writeln!(text, "\nElections {elections}, searches {searches}, agreements lost without a change {relapses}");
    let Outcome { sent, received, damaged, busy, .. } = outcome;
    let _ =
        writeln!(text, "Frames: {sent} sent, {received} received, {damaged} damaged, {busy} not sent (channel busy)");
    let busiest = outcome.nodes.iter().max_by_key(|node| node.airtime_ppm);
    let total: u64 = outcome.nodes.iter().map(|node| node.airtime_ppm).sum();
    if let Some(node) = busiest {
        let mean = total / outcome.nodes.len().max(1) as u64;
        let _ = writeln!(
            text,
            "Airtime per node: {} on average, at most {} (node {})",
            percent(mean),
            percent(node.airtime_ppm),
            node.id
        );
    }
    text
}

/// The leaders, those with most followers first, as far as they fit a line.
fn reign_text(reign: &Reign) -> String {
    let mut leaders = reign.leaders.clone();
    leaders.sort_unstable_by_key(|&(id, count)| (std::cmp::Reverse(count), id));
    let shown: Vec<String> = leaders.iter().take(8).map(|(id, count)| format!("{id} ({count})")).collect();
    let more = leaders.len().saturating_sub(8);
    format!("{}{}", shown.join(", "), if more > 0 { format!(" and {more} others") } else { String::new() })
}

fn change_text(change: &Change) -> String {
    let Change { at_ms, what, detected_after_ms, agreed_after_ms } = change;
    let detected = detected_after_ms.map_or("not noticed".to_owned(), |ms| format!("noticed {ms} ms"));
    let agreed = match (agreed_after_ms, change.elected_after_ms()) {
        (None, _) => "no lasting agreement before the next".to_owned(),
        (Some(0), _) => "agreement went on".to_owned(),
        (Some(all), Some(election)) => format!("elected {election} ms, in all {all} ms"),
        (Some(all), None) => format!("in all {all} ms"),
    };
    format!("{:>9}  {what}: {detected}, {agreed}", secs(*at_ms))
}

fn secs(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}
