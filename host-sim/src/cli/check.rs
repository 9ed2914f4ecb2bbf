//! `ringleader check`: who led when in a trace, how long elections took, and whether all nodes agreed in time.
//!
//! Traces of the simulator and recordings of boards are checked alike.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use serde::Serialize;
use sim::air::trace::{Event, NodeNumber};
use sim::scenario::input::units::secs;
use sim::scenario::report::outcome::{Follow, Reign, Verdict};
use sim::scenario::report::spread::Spread;
use sim::scenario::report::story::Story;

use super::files::ensure_apart;
use super::pictures::Pictures;
use crate::field::check::history::{self, Disagreement, History};
use crate::field::check::trace_file::{self, Trace};
use crate::output::{self, counted};
use crate::view::network::Network;
use crate::{out, outln};

/// How many changes of leader the text shows; JSON has them all.
const REIGNS_SHOWN: usize = 30;

const DETAILS: &str = "\
Reads traces of `ringleader monitor --record` or of the simulator. Shows who led when, how long there
was no agreement and after what, and whether agreement always came within --within of the last change.
Several traces are compared in a table, such as a field test and its simulation.

Exit codes:
  0  agreement always came in time
  1  a trace cannot be read
  3  agreement took too long";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// Traces, one JSON object per line
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// How long agreement may take after the last change, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    within: u64,
    #[command(flatten)]
    pictures: Pictures,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Checked {
    file: String,
    #[serde(flatten)]
    history: History,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Args { traces, pictures, .. } = args;
    let wants_pictures = pictures.timeline || pictures.svg.is_some() || pictures.map.is_some();
    ensure!(traces.len() == 1 || !wants_pictures, "pictures show one trace at a time, and {} were given", traces.len());
    ensure_apart(&[("the trace", traces.first().map(PathBuf::as_path))], &pictures.files())?;
    let canvases = pictures.open()?;
    let mut told = None;
    let mut all = Vec::new();
    for path in traces {
        output::progress(&format!("reading {} ...", path.display()));
        let trace = trace_file::read(path)?;
        let history = history::play(&trace, args.within.saturating_mul(1_000_000));
        if wants_pictures {
            told = Some((story(&path.display().to_string(), &trace), Network::at(&trace.records, pictures.at_us())));
        }
        all.push(Checked { file: path.display().to_string(), history });
    }
    output::clear_progress();
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        for one in &all {
            out!("{}", text(&one.file, &one.history, args.within))?;
        }
        if all.len() > 1 {
            out!("{}", comparison(&all))?;
        }
    }
    if let Some((story, network)) = &told {
        pictures.draw(canvases, story, Some(network))?;
    }
    let is_late = all.iter().any(|one| one.history.verdict != Verdict::Ok);
    let verdict = if is_late { Verdict::Liveness } else { Verdict::Ok };
    Ok(ExitCode::from(verdict.exit_code()))
}

/// Who followed whom by a trace, and what it says has changed.
pub(super) fn story(title: &str, trace: &Trace) -> Story {
    let id =
        |node: NodeNumber| trace.ids.get(&node).map_or_else(|| u16::try_from(node.0).unwrap_or(u16::MAX), |id| id.0);
    let (mut follows, mut changes) = (Vec::new(), Vec::new());
    for record in &trace.records {
        let at_ms = record.time_us / 1_000;
        let followed = match record.event {
            Event::Leader { leader } => Some(leader.map(|leader| leader.0)),
            Event::PowerOff {} | Event::Unseen {} => Some(None),
            _ => None,
        };
        if let (Some(leader), Some(node)) = (followed, record.node) {
            follows.push(Follow { at_ms, node: id(node), leader });
        }
        match (&record.event, record.node) {
            (Event::Note { text }, None) if record.time_us > 0 => changes.push((at_ms, output::printable(text))),
            (Event::PowerOff {}, Some(node)) => changes.push((at_ms, format!("node {} off", id(node)))),
            (Event::Unseen {}, Some(node)) => changes.push((at_ms, format!("node {} out of sight", id(node)))),
            _ => {}
        }
    }
    let lasts_ms = trace.records.last().map_or(0, |record| record.time_us / 1_000);
    Story {
        title: title.to_owned(),
        lasts_ms,
        nodes: trace.in_use.iter().map(|&node| id(node)).collect(),
        follows,
        changes,
    }
}

fn text(file: &str, history: &History, within: u64) -> String {
    let mut text = format!(
        "{file}: {}, {} ({}), {}\n",
        secs(history.length_ms),
        counted(history.nodes.len(), "node"),
        history.nodes.join(", "),
        counted(history.frames, "frame")
    );
    if history.lost > 0 {
        let lost = counted(history.lost, "message");
        let _ = writeln!(text, "CAUTION: boards lost {lost} before they could be recorded");
    }
    let source = match (history.links_told, history.links_inferred) {
        (false, _) => "inferred from frames".to_owned(),
        (true, 0) => "as the nodes reported them".to_owned(),
        (true, count) => format!("as the nodes reported them, and {count} from before, inferred from frames"),
    };
    let _ = writeln!(text, "Links: {source}");
    text.push_str("Leaders (followers):\n");
    for reign in history.reigns.iter().take(REIGNS_SHOWN) {
        let _ = writeln!(text, "{:>12}  {}", secs(reign.at_ms), reign_text(reign));
    }
    if history.reigns.len() > REIGNS_SHOWN {
        let more = counted(history.reigns.len() - REIGNS_SHOWN, "more change");
        let _ = writeln!(text, "{:>12}  and {more}", "");
    }
    text.push_str("Periods without agreement:\n");
    for one in &history.disagreements {
        let _ = writeln!(text, "{:>12}  {}", secs(one.from_ms), disagreement_text(one));
    }
    if history.disagreements.is_empty() {
        text.push_str("              none\n");
    }
    let open = history.disagreements.last().is_some_and(|last| last.lasted_ms.is_none());
    let _ = writeln!(
        text,
        "{}",
        match (history.verdict, open) {
            (Verdict::Ok, false) => format!("OK: agreement came within {within} s of every change and lasted"),
            (Verdict::Ok, true) =>
                format!("UNDECIDED: the trace ends without agreement, less than {within} s after the last change"),
            _ => format!("LIVENESS VIOLATED: agreement took longer than {within} s after the last change"),
        }
    );
    text
}

fn reign_text(reign: &Reign) -> String {
    let shown: Vec<String> = reign.leaders.iter().map(|each| format!("{} ({})", each.leader, each.followers)).collect();
    if shown.is_empty() { "nobody".into() } else { shown.join(", ") }
}

fn disagreement_text(one: &Disagreement) -> String {
    let lasted = one.lasted_ms.map_or("until the end".to_owned(), |ms| format!("for {}", secs(ms)));
    let first = one.nodes.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if one.nodes.len() > 8 { " and others" } else { "" };
    let noun = if one.nodes.len() == 1 { "node" } else { "nodes" };
    format!("{lasted} after {} ({noun} {first}{more}); {} after the last change", one.after, secs(one.settled_ms))
}

/// The traces side by side: the first agreement, and those after it.
fn comparison(all: &[Checked]) -> String {
    let mut text = format!(
        "\n{:<32} {:>5} {:>10} {:>12} {:>11} {:>11} {:>11}\n",
        "trace", "nodes", "length", "first agreed", "elections", "median", "longest"
    );
    for Checked { file, history } in all {
        let (first, later) = match history.disagreements.split_first() {
            Some((first, later)) => (first.lasted_ms.map(|ms| first.from_ms + ms), later),
            None => (Some(0), &[][..]),
        };
        let times: Vec<u64> = later.iter().filter_map(|one| one.lasted_ms).collect();
        let (count, spread) = (times.len(), Spread::of(times));
        let or_dash = |ms: Option<u64>| ms.map_or("-".to_owned(), secs);
        let _ = writeln!(
            text,
            "{file:<32} {:>5} {:>10} {:>12} {:>11} {:>11} {:>11}",
            history.nodes.len(),
            secs(history.length_ms),
            or_dash(first),
            count,
            or_dash(spread.as_ref().map(|spread| spread.p50)),
            or_dash(spread.as_ref().map(|spread| spread.max))
        );
    }
    text
}
