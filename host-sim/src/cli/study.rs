//! `ringleader study`: measures height elections by size and diameter, with both kinds of clock.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ideal::graph::Kind;

use super::graph_kind::graph_kind;
use crate::lab::study::change::Change;
use crate::lab::study::{Request, Rules, figures, json, measure, report};
use crate::output;

const EXAMPLES: &str = "Examples:
  ringleader study                                     the whole study, in under half a minute
  ringleader study --graph grid --change leader-lost   one graph and one change
  ringleader study --sizes 16,128,500 --seeds 5        larger networks, fewer of them
  ringleader study --json > study.json                 every statistic, for other tools
  ringleader study --svg figures                       figures beside the tables";

const EXPLANATION: &str = "What is measured:
  Every run starts from a settled network with a random leader, changes it, and waits until no message is in flight.
  Each seed is run four times: with Lamport clocks and with perfect ones, in synchronous rounds and with deliveries in
  random order. Every run must end leader-oriented: nothing in transit, every node's view of its neighbours' heights
  correct, one leader in each component, and every downhill path ending at it. The first run that does not stops the
  study with the command that replays it.

  The study counts messages, rounds, elections, changes of leader, and unnecessary elections: those by a node whose
  leader was still in its component, unless the node was alone.";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXPLANATION}\n\n{EXAMPLES}"))]
pub struct Args {
    /// Runs per case; run k has the seed ROOT + k
    #[arg(long, value_name = "S", default_value_t = 50)]
    pub seeds: u32,
    /// Numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [8, 16, 32, 64, 100])]
    pub sizes: Vec<usize>,
    /// The kind of graph; may be repeated [default: line ring grid tree rgg]
    #[arg(long, value_name = "KIND", value_parser = graph_kind())]
    pub graph: Vec<Kind>,
    /// The change; may be repeated [default: all]
    #[arg(long, value_name = "CHANGE")]
    pub change: Vec<Change>,
    /// The seed of the first run
    #[arg(long, value_name = "ROOT", default_value_t = 1)]
    pub seed: u64,
    /// The rules the nodes follow
    #[arg(long, value_enum, default_value_t = Rules::Radio)]
    pub rules: Rules,
    /// Print a JSON array with one object per graph, change, size, clock and schedule
    #[arg(long)]
    pub json: bool,
    /// Draw figures into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

impl Args {
    pub fn request(&self) -> Request {
        let Self { seeds, sizes, graph, change, seed, rules, .. } = self.clone();
        Request { seeds, sizes, graph, change, seed, rules }
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let groups = measure(&args.request(), progress)?;
    output::print(&if args.json { json(&groups)? + "\n" } else { report::text(&args.request(), &groups) })?;
    if let Some(dir) = &args.svg {
        figures::draw(&groups, dir)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// On a terminal one line that is overwritten; elsewhere a line for every tenth of the work.
fn progress(what: &str, done: usize, all: usize) {
    let mut err = std::io::stderr().lock();
    let line = format!("study: {done} of {all}: {what}");
    // There is nowhere left to report a failure.
    let _closed = if err.is_terminal() {
        write!(err, "\r\x1b[K{line}{}", if done == all { "\n" } else { "" })
    } else if done == all || done.is_multiple_of(all.div_ceil(10)) {
        writeln!(err, "{line}")
    } else {
        Ok(())
    };
}
