//! The `study` command: what the height algorithm costs, measured on the ideal network.
//!
//! Seed 001 leaves three questions open in its last chapter: the time and message complexity of the algorithm, when it
//! elects a leader unnecessarily, and how perfect clocks compare with logical ones. Each is answered here by running
//! the core on many graphs and counting. What counts as unnecessary stands at [`runner::Outcome`].

pub mod change;
mod figures;
pub mod fit;
mod markdown;
mod report;
pub mod runner;
pub mod scene;
pub mod stats;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, ensure};
use clap::ValueEnum;
use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::rng::Rng;

use change::{Change, Schedule};
use runner::Setting;
use scene::Scene;
use stats::{Case, Cell, Group, Sample};

use crate::graph::Kind;
use crate::output;

/// What each stream of chance decides.
mod stream {
    pub const IDS: u64 = 0x51D;
    pub const LEADER: u64 = 0x1EAD;
    pub const LINKS: u64 = 0x11A2;
    pub const MOMENTS: u64 = 0x303E;
    pub const DELIVERIES: u64 = 0xDE11;
}

const CLOCKS: [ClockKind; 2] = [ClockKind::Lamport, ClockKind::Perfect];
const SIZE_MIN: usize = 4;
const SIZE_MAX: usize = 1000;

/// Which rules the nodes follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rules {
    /// The algorithm as published, with its misprints corrected
    Published,
    /// What the boards run: a channel that never became a link goes down without an election
    Radio,
}

const EXAMPLES: &str = "Examples:
  ringleader study                                     the whole study, in under half a minute
  ringleader study --graph grid --change leader-lost   one question
  ringleader study --sizes 16,128,500 --seeds 5        larger networks, fewer of them
  ringleader study --json > study.json                 every statistic, for other tools
  ringleader study --svg figures                       figures beside the tables";

const EXPLANATION: &str = "What is measured:
  Every run starts from a settled network with a random leader, changes it, and waits until nothing is in flight. It
  runs four times with the same seed: with Lamport clocks and with perfect ones, in synchronous rounds and with
  deliveries in random order. Every run must end leader-oriented: nothing in transit, every view of a neighbour's
  height right, one leader in each component, and every way down ending at it. A run that does not stops the study
  with the command that replays it.

  Counted are messages, rounds, elections, changes of leader, and the elections that were unnecessary: those by a
  node whose leader was still in its component, unless the node was alone.";

/// Arguments of `study`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXPLANATION}\n\n{EXAMPLES}"))]
pub struct Args {
    /// Runs of each case; run k has the seed ROOT + k
    #[arg(long, value_name = "S", default_value_t = 50)]
    pub seeds: u32,
    /// Numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [8, 16, 32, 64, 100])]
    pub sizes: Vec<usize>,
    /// Kinds of graph; may be given several times [default: line ring grid tree rgg]
    #[arg(long, value_name = "KIND")]
    pub graph: Vec<Kind>,
    /// Changes; may be given several times [default: all]
    #[arg(long, value_name = "CHANGE")]
    pub change: Vec<Change>,
    /// The seed of the first run
    #[arg(long, value_name = "ROOT", default_value_t = 1)]
    pub seed: u64,
    /// The rules the nodes follow
    #[arg(long, value_enum, default_value_t = Rules::Radio)]
    pub rules: Rules,
    /// Print a JSON array with one object for each graph, change, size, clock and schedule
    #[arg(long)]
    pub json: bool,
    /// Draw figures into this directory
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let groups = measure(args, progress)?;
    output::print(&if args.json { json(&groups)? + "\n" } else { report::text(args, &groups) })?;
    if let Some(dir) = &args.svg {
        figures::draw(&groups, dir)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The statistics as `--json` prints them.
pub fn json(groups: &[Group]) -> anyhow::Result<String> {
    let cells: Vec<Cell> = groups.iter().map(Group::cell).collect();
    serde_json::to_string_pretty(&cells).context("the statistics cannot be written as JSON")
}

/// Makes every run that is asked for, and tells `progress` what comes next, how much is done, and of how much.
pub fn measure(args: &Args, progress: impl Fn(&str, usize, usize)) -> anyhow::Result<Vec<Group>> {
    ensure!(args.seeds > 0, "--seeds must be at least 1");
    ensure!(!args.sizes.is_empty(), "--sizes needs at least one number");
    for size in &args.sizes {
        ensure!((SIZE_MIN..=SIZE_MAX).contains(size), "--sizes must be from {SIZE_MIN} to {SIZE_MAX}, not {size}");
    }
    let kinds = args.kinds();
    let steps = kinds.len() * args.sizes.len();
    let mut groups = Vec::new();
    for (kind_index, &kind) in kinds.iter().enumerate() {
        for (size_index, &nodes) in args.sizes.iter().enumerate() {
            progress(&format!("{} of {nodes}", kind.name()), kind_index * args.sizes.len() + size_index, steps);
            for change in args.changes() {
                groups.extend(measure_change(args, kind, nodes, change)?);
            }
        }
    }
    progress("done", steps, steps);
    Ok(groups)
}

impl Args {
    fn kinds(&self) -> Vec<Kind> {
        let all = vec![Kind::Line, Kind::Ring, Kind::Grid, Kind::Tree, Kind::Rgg];
        if self.graph.is_empty() { all } else { self.graph.clone() }
    }

    fn changes(&self) -> Vec<Change> {
        if self.change.is_empty() { Change::ALL.to_vec() } else { self.change.clone() }
    }
}

fn measure_change(args: &Args, kind: Kind, nodes: usize, change: Change) -> anyhow::Result<Vec<Group>> {
    let settings = CLOCKS.iter().flat_map(|&clock| Schedule::ALL.map(|schedule| (clock, schedule)));
    let case = |(clock, schedule)| Case { graph: kind, change, nodes, clock, schedule };
    let mut groups: Vec<Group> = settings.map(|setting| Group { case: case(setting), samples: Vec::new() }).collect();
    for seed in (args.seed..=u64::MAX).take(args.seeds as usize) {
        let scene = Scene::random(kind, nodes, seed)?;
        let links = scene.graph.edges().count();
        let plans = Schedule::ALL.map(|schedule| change.plan(&scene, schedule, seed));
        let after = plans[0].outcome(&scene.graph);
        let (diameter, parts) = (after.diameter(), after.components().len());
        for (index, Group { case, samples }) in groups.iter_mut().enumerate() {
            let plan = &plans[index % plans.len()];
            let rules = match args.rules {
                Rules::Published => HeightRules::Published,
                Rules::Radio => HeightRules::Radio,
            };
            let rng = Rng::stream(seed, stream::DELIVERIES);
            let setting = Setting { clock: case.clock, rules, schedule: case.schedule, rng };
            let outcome = runner::run(&scene, plan, setting).map_err(|failure| broken(args, case, seed, &failure))?;
            samples.push(Sample { links, diameter, parts, outcome });
        }
    }
    Ok(groups)
}

fn broken(args: &Args, case: &Case, seed: u64, failure: &runner::Failure) -> anyhow::Error {
    let (graph, change) = (option_name(&case.graph), option_name(&case.change));
    let (nodes, rules) = (case.nodes, option_name(&args.rules));
    anyhow!(
        "{} of {nodes}, {}, {:?} clock, {}: {failure}\nreplay with: ringleader study --graph {graph} --sizes {nodes} \
         --change {change} --seed {seed} --seeds 1 --rules {rules}",
        case.graph.name(),
        case.change.name(),
        case.clock,
        case.schedule.name(),
    )
}

/// One line that is written over on a terminal; elsewhere a line for every tenth of the work.
fn progress(what: &str, done: usize, all: usize) {
    let mut err = std::io::stderr().lock();
    let line = format!("study: {done} of {all}: {what}");
    // Whoever closed standard error does not want to know.
    let _closed = if err.is_terminal() {
        write!(err, "\r\x1b[K{line}{}", if done == all { "\n" } else { "" })
    } else if done == all || done.is_multiple_of(all.div_ceil(10)) {
        writeln!(err, "{line}")
    } else {
        Ok(())
    };
}

/// A value as the command line spells it.
fn option_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 of anything")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use common::causal_clock::ClockKind;

    use super::change::{Change, Schedule};
    use super::runner::Failure;
    use super::stats::Case;
    use super::{Args, broken};
    use crate::graph::Kind;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_broken_run_names_its_replay() {
        let cli = Cli::parse_from(["study", "--seeds", "9", "--rules", "published"]);
        let (clock, schedule) = (ClockKind::Perfect, Schedule::Random);
        let case = Case { graph: Kind::Rgg, change: Change::LastWay, nodes: 31, clock, schedule };
        let text = broken(&cli.args, &case, 17, &Failure::Endless).to_string();
        let replay = "--graph rgg --sizes 31 --change last-way --seed 17 --seeds 1 --rules published";
        assert!(text.ends_with(&format!("replay with: ringleader study {replay}")), "{text}");
    }
}
