//! What the height algorithm costs, measured on the ideal network.
//!
//! Tbarka (2019) leaves three questions open in the last chapter: the time and message complexity of the algorithm, when
//! it elects a leader unnecessarily, and how perfect clocks compare with logical ones. The study answers them by running
//! the core on many graphs and counting. [`runner::Outcome`] defines what counts as unnecessary.

pub mod change;
pub mod figures;
mod markdown;
pub mod report;
pub mod runner;
pub mod scene;
pub mod stats;

use anyhow::{Context, anyhow, ensure};
use clap::ValueEnum;
use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::rng::Rng;

use change::{Change, Schedule};
use ideal::graph::Kind;
use runner::Setting;
use scene::Scene;
use stats::{Case, Cell, Group, Sample};

/// What each random stream decides.
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

#[derive(Clone, Debug)]
pub struct Request {
    pub seeds: u32,
    pub sizes: Vec<usize>,
    /// Empty for the default five kinds.
    pub graph: Vec<Kind>,
    /// Empty for all changes.
    pub change: Vec<Change>,
    pub seed: u64,
    pub rules: Rules,
}

/// The statistics as `--json` prints them.
pub fn json(groups: &[Group]) -> anyhow::Result<String> {
    let cells: Vec<Cell> = groups.iter().map(Group::cell).collect();
    serde_json::to_string_pretty(&cells).context("cannot write the statistics as JSON")
}

/// Runs everything that is asked for; `progress` gets what comes next, how much is done, and the total.
pub fn measure(request: &Request, progress: impl Fn(&str, usize, usize)) -> anyhow::Result<Vec<Group>> {
    ensure!(request.seeds > 0, "--seeds must be at least 1");
    ensure!(!request.sizes.is_empty(), "--sizes needs at least one number");
    for size in &request.sizes {
        ensure!((SIZE_MIN..=SIZE_MAX).contains(size), "--sizes must be from {SIZE_MIN} to {SIZE_MAX}, not {size}");
    }
    let kinds = request.kinds();
    let steps = kinds.len() * request.sizes.len();
    let mut groups = Vec::new();
    for (kind_index, &kind) in kinds.iter().enumerate() {
        for (size_index, &nodes) in request.sizes.iter().enumerate() {
            progress(&format!("{} of {nodes}", kind.name()), kind_index * request.sizes.len() + size_index, steps);
            for change in request.changes() {
                groups.extend(measure_change(request, kind, nodes, change)?);
            }
        }
    }
    progress("done", steps, steps);
    Ok(groups)
}

impl Request {
    fn kinds(&self) -> Vec<Kind> {
        let all = vec![Kind::Line, Kind::Ring, Kind::Grid, Kind::Tree, Kind::Rgg];
        if self.graph.is_empty() { all } else { self.graph.clone() }
    }

    fn changes(&self) -> Vec<Change> {
        if self.change.is_empty() { Change::ALL.to_vec() } else { self.change.clone() }
    }
}

fn measure_change(request: &Request, kind: Kind, nodes: usize, change: Change) -> anyhow::Result<Vec<Group>> {
    let settings = CLOCKS.iter().flat_map(|&clock| Schedule::ALL.map(|schedule| (clock, schedule)));
    let case = |(clock, schedule)| Case { graph: kind, change, nodes, clock, schedule };
    let mut groups: Vec<Group> = settings.map(|setting| Group { case: case(setting), samples: Vec::new() }).collect();
    for seed in (request.seed..=u64::MAX).take(request.seeds as usize) {
        let scene = Scene::random(kind, nodes, seed)?;
        let links = scene.graph.edges().count();
        let plans = Schedule::ALL.map(|schedule| change.plan(&scene, schedule, seed));
        let after = plans[0].outcome(&scene.graph);
        let (diameter, parts) = (after.diameter(), after.components().len());
        for (index, Group { case, samples }) in groups.iter_mut().enumerate() {
            let plan = &plans[index % plans.len()];
            let rules = match request.rules {
                Rules::Published => HeightRules::Published,
                Rules::Radio => HeightRules::Radio,
            };
            let rng = Rng::stream(seed, stream::DELIVERIES);
            let setting = Setting { clock: case.clock, rules, schedule: case.schedule, rng };
            let outcome =
                runner::run(&scene, plan, setting).map_err(|failure| broken(request, case, seed, &failure))?;
            samples.push(Sample { links, diameter, parts, outcome });
        }
    }
    Ok(groups)
}

fn broken(request: &Request, case: &Case, seed: u64, failure: &runner::Failure) -> anyhow::Error {
    let (graph, change) = (case.graph.short_name(), option_name(&case.change));
    let (nodes, rules) = (case.nodes, option_name(&request.rules));
    anyhow!(
        "{} of {nodes}, {}, {:?} clock, {}: {failure}\nreplay with: ringleader study --graph {graph} --sizes {nodes} \
         --change {change} --seed {seed} --seeds 1 --rules {rules}",
        case.graph.name(),
        case.change.name(),
        case.clock,
        case.schedule.name(),
    )
}

/// A value in the spelling of the command line.
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
    use common::causal_clock::ClockKind;
    use ideal::graph::Kind;

    use super::change::{Change, Schedule};
    use super::runner::Failure;
    use super::stats::Case;
    use super::{Request, Rules, broken};

    #[test]
    fn a_broken_run_names_its_replay() {
        let (graph, change, rules) = (Vec::new(), Vec::new(), Rules::Published);
        let request = Request { seeds: 9, sizes: vec![31], graph, change, seed: 1, rules };
        let (clock, schedule) = (ClockKind::Perfect, Schedule::Random);
        let case = Case { graph: Kind::Rgg, change: Change::LastWay, nodes: 31, clock, schedule };
        let text = broken(&request, &case, 17, &Failure::Endless).to_string();
        let replay = "--graph rgg --sizes 31 --change last-way --seed 17 --seeds 1 --rules published";
        assert!(text.ends_with(&format!("replay with: ringleader study {replay}")), "{text}");
    }
}
