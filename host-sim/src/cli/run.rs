//! `ringleader run`: one run of a scenario, as text or JSON.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::units::secs;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::collected::Collected;
use sim::scenario::report::outcome::{Change, Followed, NodeUse, Outcome, Reign, Steadiness, Verdict};
use sim::scenario::report::recording::{Comparison, run_twice};
use sim::scenario::report::story::Story;
use sim::scenario::run::boards::NoBoards;
use sim::scenario::run::session::Session;

use super::files::{create, ensure_apart};
use super::pictures::{Pictures, Watched};
use super::scenario_file::{file_of, find, lasting_name};
use crate::cli::shell::quoted;
use crate::output::{self, counted};
use crate::{note, out, outln};

/// How many changes of leader the text shows; JSON has them all.
const REIGNS_SHOWN: usize = 30;

/// Named in reports, since another version may behave differently with the same seed.
pub const VERSION: &str = concat!("ringleader ", env!("CARGO_PKG_VERSION"));

const EXIT_CODES: &str = "\
Exit codes:
  0  everything held
  1  bad input, or a file that cannot be read or written
  2  safety: something happened that must never happen (including two runs of one seed that differ)
  3  liveness: no agreement in time";

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// A built-in scenario (see `ringleader scenarios`) or a .toml file
    pub scenario: String,
    /// The root seed [default: the scenario's own]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Write faults, power, frames, receptions and leaders to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also write positions, links, routes to the leader and energy to the trace, for `ringleader view`
    #[arg(long, requires = "trace")]
    pub detail: bool,
    /// Write every frame to this file, as pcapng for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub pictures: Pictures,
    /// Run twice and compare every event; a difference is reported and exits with 2
    #[arg(long)]
    pub check_determinism: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scenario = find(&args.scenario)?;
    let seed = args.seed.unwrap_or(scenario.seed);
    ensure_apart(
        &[("the scenario", file_of(&args.scenario))],
        &[&[("--trace", args.trace.as_deref()), ("--pcap", args.pcap.as_deref())], &args.pictures.files()[..]].concat(),
    )?;
    let (trace, pcap) = (create(args.trace.as_deref())?, create(args.pcap.as_deref())?);
    let canvases = args.pictures.open()?;
    let Watched { trace, detail, network } = args.pictures.watch(trace, args.detail);
    let recorders = Recorders { trace, pcap, detail };
    if scenario.has_boards() {
        note!(
            "note: `run` simulates boards like any other node; `ringleader board {}` emulates them with the real image",
            quoted(&args.scenario)
        );
    }
    output::progress(&format!("{} with seed {seed} ...", scenario.name));
    let (mut outcome, determinism) = if args.check_determinism {
        let (outcome, comparison) = run_twice(&scenario, seed, recorders)?;
        (outcome, Some(comparison))
    } else {
        (played(&scenario, seed, recorders)?, None)
    };
    if let Some(failure) = &mut outcome.failure {
        failure.set_replay(replay_command(&args.scenario, seed));
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&Printed { outcome: &outcome, determinism: determinism.as_ref() })?)?;
    } else {
        out!("{}", text(&outcome))?;
        outln!("{}", verdict_text(outcome.verdict))?;
    }
    if let Some(warning) = pieces(&scenario, &outcome) {
        note!("{warning}");
    }
    let network = network.map(|network| network.borrow().clone());
    args.pictures.draw(canvases, &Story::of(&outcome), network.as_ref())?;
    if let Some(comparison) = determinism.as_ref().filter(|comparison| comparison.same && !args.json) {
        outln!("{}", comparison.text())?;
    }
    if outcome.verdict != Verdict::Ok {
        note!("{}", failure_text(&outcome, &args.scenario).trim_end());
    }
    if let Some(comparison) = determinism.filter(|comparison| !comparison.same) {
        let again = replay_command(&args.scenario, seed);
        note!("{}\n  replay: {again} --check-determinism\n  version: {VERSION}", comparison.text());
        // A seed must always give the same run, so a difference is a safety violation.
        return Ok(ExitCode::from(Verdict::Safety.exit_code()));
    }
    Ok(ExitCode::from(outcome.verdict.exit_code()))
}

/// Plays a scenario and shows how far it is: a month takes minutes.
fn played(scenario: &Scenario, seed: u64, recorders: Recorders) -> std::io::Result<Outcome> {
    let mut boards = NoBoards;
    let mut session = Session::new(scenario, seed, recorders, &mut boards);
    let all = scenario.duration_us.max(1);
    let step = (all / 200).max(1_000_000);
    while session.advance(session.now_us() + step) {
        let percent = session.now_us().saturating_mul(100) / all;
        let (now, end) = (secs(session.now_us() / 1_000), secs(all / 1_000));
        output::progress(&format!("{} with seed {seed}: {now} of {end} ({percent} %)", scenario.name));
    }
    session.finish()
}

/// A network that was never connected elects a leader in each component, which is seldom what was meant.
fn pieces(scenario: &Scenario, outcome: &Outcome) -> Option<String> {
    let nodes = outcome.nodes.len();
    let is_meant = !scenario.faults.is_empty() && outcome.components < nodes;
    (outcome.components > 1 && !is_meant).then(|| {
        format!(
            "warning: the network is in {} that do not hear each other, and each has its own leader. Are the nodes too far \
             apart? `--map FILE` shows them",
            counted(outcome.components, "piece")
        )
    })
}

/// In one line; `board` ends with it too.
pub(super) fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "Verdict: everything held",
        Verdict::Safety => "Verdict: SAFETY violated",
        Verdict::Liveness => "Verdict: LIVENESS violated",
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Printed<'p> {
    #[serde(flatten)]
    outcome: &'p Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    determinism: Option<&'p Comparison>,
}

/// The command that repeats a run, from any directory and in any Unix shell.
pub fn replay_command(scenario: &str, seed: u64) -> String {
    format!("ringleader run {} --seed {seed}", quoted(&lasting_name(scenario)))
}

/// The report of a failed run; `scenario` is the name or file that it was started with.
pub fn failure_text(outcome: &Outcome, scenario: &str) -> String {
    failure_with(outcome, &replay_command(scenario, outcome.seed))
}

/// The report of a failed run that this command repeats.
pub fn failure_with(outcome: &Outcome, command: &str) -> String {
    let Some(failure) = &outcome.failure else { return String::new() };
    let kind = if outcome.verdict == Verdict::Safety { "SAFETY" } else { "LIVENESS" };
    let mut text = format!("{kind} VIOLATED at {} with seed {}: {}\n", secs(failure.at_ms), outcome.seed, failure.what);
    let nodes: Vec<String> = failure.nodes.iter().map(u16::to_string).collect();
    let _ = writeln!(text, "  nodes: {}", if nodes.is_empty() { "none".to_owned() } else { nodes.join(", ") });
    text.push_str("  last events:\n");
    for event in &failure.last_events {
        let _ = writeln!(text, "    {event}");
    }
    let _ = writeln!(text, "  replay: {command}\n  version: {VERSION}");
    text
}

/// The summary of a run as text.
pub fn text(outcome: &Outcome) -> String {
    let Outcome { scenario, seed, ran_ms, components, relapses, elections, searches, .. } = outcome;
    let mut text = format!(
        "{scenario}, seed {seed}: {} for {}, {} at the end\n\n",
        counted(outcome.nodes.len(), "node"),
        secs(*ran_ms),
        counted(*components, "component")
    );
    text.push_str("Leaders (followers of each)\n");
    for reign in outcome.reigns.iter().take(REIGNS_SHOWN) {
        let _ = writeln!(text, "  {:>9}  {}", secs(reign.at_ms), reign_text(reign));
    }
    if let Some(more) = outcome.reigns.len().checked_sub(REIGNS_SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {}; the last one:", counted(more, "more change"));
        if let Some(last) = outcome.reigns.last() {
            let _ = writeln!(text, "  {:>9}  {}", secs(last.at_ms), reign_text(last));
        }
    }
    text.push_str("\nChanges: time to detect, time to elect, total\n");
    for (index, change) in outcome.changes.iter().enumerate() {
        let _ = writeln!(text, "  {}", change_text(change, index == 0));
    }
    let _ = writeln!(text, "\nElections {elections}, searches {searches}, agreements lost without a change {relapses}");
    if let Some(commands) = &outcome.commands {
        let _ = writeln!(text, "{}", commands.text());
    }
    if let Some(fleet) = &outcome.fleet {
        let _ = writeln!(text, "{}", fleet.text());
    }
    text.push_str(&steadiness_text(&outcome.steadiness));
    let Outcome { sent, received, damaged, busy, refused, retries, .. } = outcome;
    let _ = writeln!(
        text,
        "Frames: {sent} sent ({retries} of them retries), {received} received, {damaged} damaged, {busy} not sent (channel busy), {refused} refused by nodes"
    );
    let (corrupted, malformed) =
        outcome.nodes.iter().fold((0, 0), |sum, node| (sum.0 + node.corrupted, sum.1 + node.malformed));
    if corrupted + malformed > 0 {
        let _ = writeln!(text, "Of those received, {corrupted} corrupted; {malformed} more with impossible lengths");
    }
    text.push_str(&battery_text(&outcome.nodes));
    if let Some(collected) = &outcome.collect {
        text.push_str(&collected_text(collected));
    }
    text
}

/// What became of readings, and what that cost.
pub fn collected_text(collected: &Collected) -> String {
    let Collected { stored, committed, declared, pending, destroyed, copies, frames, missed, not_taken, .. } =
        collected;
    let Collected { shown, copies_dropped, .. } = collected;
    let mut text = format!(
        "Readings: {stored} stored, {committed} in leaders' logs, {declared} declared lost, {pending} on their way"
    );
    if *destroyed > 0 {
        let _ = write!(text, ", {destroyed} in flash that was erased");
    }
    let _ = writeln!(text, "; {copies} in several logs");
    let ms = |ms: Option<u64>| ms.map_or("-".to_owned(), |ms| format!("{ms} ms"));
    let (all, quiet) = (&collected.latency_ms, &collected.quiet_latency_ms);
    let _ = writeln!(
        text,
        "  stored to logged: p50 {}, p99 {}; outside of elections p50 {}, p99 {}",
        ms(all.p50),
        ms(all.p99),
        ms(quiet.p50),
        ms(quiet.p99)
    );
    if shown + copies_dropped > 0 {
        let _ = writeln!(text, "  the reader was shown {}; {copies_dropped} dropped", counted(*shown, "block"));
    }
    let _ = writeln!(
        text,
        "  {frames} DATA frames ({missed} without an answer, {not_taken} not taken), {} of the time per node, {:.2} uAh sending",
        percent(collected.airtime_ppm),
        f64::from(u32::try_from(collected.tx_nah).unwrap_or(u32::MAX)) / 1_000.0
    );
    text
}

/// How often leaders changed, and how often without a reason.
fn steadiness_text(steadiness: &Steadiness) -> String {
    let Steadiness { leader_changes, spontaneous, quiet_node_ms, .. } = steadiness;
    let all =
        format!("{} ({:.1} per node and day)", counted(*leader_changes, "leader change"), steadiness.per_node_day());
    if *quiet_node_ms == 0 {
        return format!("Steadiness: {all}; there was no quiet time\n");
    }
    let rate = steadiness.spontaneous_per_node_day();
    let frames = steadiness.quiet_frames_per_minute();
    format!(
        "Steadiness: {all}, {spontaneous} of them while nothing changed ({rate:.1} per node and quiet day); {frames:.1} frames per node and quiet minute\n"
    )
}

/// Airtime and energy: the average, and the node with the most.
fn battery_text(nodes: &[NodeUse]) -> String {
    let mut text = String::new();
    let count = f64::from(u32::try_from(nodes.len().max(1)).unwrap_or(u32::MAX));
    if let Some(busiest) = nodes.iter().max_by_key(|node| node.airtime_ppm) {
        let mean = nodes.iter().map(|node| node.airtime_ppm).sum::<u64>() / nodes.len().max(1) as u64;
        let (mean, most) = (percent(mean), percent(busiest.airtime_ppm));
        let _ = writeln!(text, "Airtime per node: {mean} on average, at most {most} (node {})", busiest.id);
    }
    if let Some(hungriest) = nodes.iter().max_by(|a, b| a.charge_uah.total_cmp(&b.charge_uah)) {
        let mean = nodes.iter().map(|node| node.charge_uah).sum::<f64>() / count;
        let (most, current) = (hungriest.charge_uah, hungriest.mean_ua / 1_000.0);
        let _ = writeln!(
            text,
            "Energy per node: {mean:.1} uAh on average, at most {most:.1} uAh (node {}, {current:.2} mA while on), from typical nRF52840 currents; chips and boards differ by several per cent",
            hungriest.id
        );
        let share = |of: fn(&NodeUse) -> f64| nodes.iter().map(of).sum::<f64>() / count;
        let _ = writeln!(
            text,
            "  of that {:.2} uAh sending, {:.2} receiving, {:.2} idle, {:.2} computing, {:.2} asleep",
            share(|node| node.tx_uah),
            share(|node| node.rx_uah),
            share(|node| node.idle_uah),
            share(|node| node.cpu_uah),
            share(|node| node.sleep_uah)
        );
    }
    text
}

/// The leaders with the most followers, as many as fit on a line.
fn reign_text(reign: &Reign) -> String {
    let mut leaders = reign.leaders.clone();
    leaders.sort_unstable_by_key(|each| (std::cmp::Reverse(each.followers), each.leader));
    let each = |each: &Followed| format!("{} ({})", each.leader, each.followers);
    let shown: Vec<String> = leaders.iter().take(8).map(each).collect();
    let more = leaders.len().saturating_sub(8);
    let more = if more == 0 { String::new() } else { format!(" and {}", counted(more, "other")) };
    format!("{}{more}", shown.join(", "))
}

fn change_text(change: &Change, is_start: bool) -> String {
    let Change { at_ms, what, detected_after_ms, agreed_after_ms, .. } = change;
    let detected = detected_after_ms.map_or("no link changed".to_owned(), |ms| format!("detected in {ms} ms"));
    let agreed = match (agreed_after_ms, change.elected_after_ms()) {
        (None, _) => "no lasting agreement before the next change".to_owned(),
        (Some(0), _) => "agreement kept".to_owned(),
        (Some(all), Some(election)) => {
            // At the start there was no leader to be without.
            let wave = change.wave_ms().filter(|_| !is_start);
            let wave = wave.map(|wave| format!(" ({wave} ms without the old leader)")).unwrap_or_default();
            format!("elected in {election} ms{wave}, total {all} ms")
        }
        // No link was lost, so the leader was still there.
        (Some(all), None) => {
            let gap = change.wave_ms().filter(|_| !is_start);
            let gap = gap.map(|gap| format!("{gap} ms without an agreed leader, ")).unwrap_or_default();
            format!("{gap}total {all} ms")
        }
    };
    format!("{:>9}  {what}: {detected}, {agreed}", secs(*at_ms))
}

fn percent(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}
