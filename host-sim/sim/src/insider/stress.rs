//! Networks in which one member sends one lying frame and is gone: do the others recover?
//!
//! A run is an ordinary scenario, drawn from a seed and its number, so that everything replays. Algorithms take turns. The lie
//! comes at any time from half a second on, in a third of the runs just after the leader has died, and the liar is any member or
//! the leader. Half of the networks are given commands, before the lie and after it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use common::names::Algorithm;
use common::rng::Rng;
use serde::Serialize;

use crate::scenario::input::plan::Scenario;
use crate::scenario::input::read::read;
use crate::scenario::report::outcome::Verdict;
use crate::scenario::run::drive;

/// How long a network may take to recover from a lie.
pub const HEALED_MS: u64 = 30_000;

/// An agreement must last this long, and a run ends this long after the last moment at which one may come.
const HOLD_MS: u64 = 4_000;

/// A run of the stress.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub seed: u64,
    pub run: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub algorithm: &'static str,
    pub verdict: Verdict,
    /// How long the others took to agree on one of themselves after the liar was gone.
    pub healed_ms: Option<u64>,
    pub failure: Option<String>,
}

/// The runs of one algorithm.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    pub runs: u64,
    pub failed: u64,
    /// Times to heal, in ascending order.
    #[serde(skip)]
    healed_ms: Vec<u64>,
    pub p50_ms: u64,
    pub p99_ms: u64,
    pub max_ms: u64,
}

impl Case {
    fn algorithm(self) -> Algorithm {
        let count = Algorithm::ALL.len() as u64;
        Algorithm::ALL[usize::try_from(self.run % count).unwrap_or(0)]
    }

    /// The scenario's text.
    pub fn text(self) -> String {
        let Self { seed, run } = self;
        let mut rng = Rng::stream(seed ^ 0x004C_6965, run);
        let nodes = 3 + rng.below(5);
        let lie_ms = 500 + u64::from(rng.below(12_000));
        let end_ms = lie_ms + HEALED_MS + HOLD_MS;
        let mut text = format!(
            "name = \"lie-{run}\"\nsummary = \"one of {nodes} nodes lies once and is gone\"\nseed = {}\nduration_ms = {end_ms}\n\n",
            seed.wrapping_mul(0x9E37_79B9).wrapping_add(run) & 0xFFFF_FFFF
        );
        let spacing = [3, 12, 25][rng.below(3) as usize];
        let columns = [nodes, nodes.div_ceil(2)][rng.below(2) as usize];
        let positions: Vec<String> =
            (0..nodes).map(|node| format!("[{}, {}]", node % columns * spacing, node / columns * spacing)).collect();
        let _ = writeln!(text, "[topology]\npositions = [{}]\n\n[radio]\nmodel = \"plain\"", positions.join(", "));
        if rng.below(3) == 0 {
            text.push_str("loss_percent = 10\n");
        }
        let _ = writeln!(text, "\n[protocol]\nkind = \"{}\"", self.algorithm().name());
        if rng.below(3) == 0 {
            let at_ms = lie_ms.saturating_sub(u64::from(rng.below(4_000)));
            let _ = writeln!(text, "\n[[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat_ms = {at_ms}");
        }
        let who = if rng.below(3) == 0 { "leader" } else { "random" };
        let _ = writeln!(text, "\n[[fault]]\nkind = \"lie\"\nwho = \"{who}\"\nat_ms = {lie_ms}");
        if rng.below(2) == 0 {
            for (at_ms, value) in [(lie_ms / 2, 1), (lie_ms + 12_000, 2)] {
                let node = 1 + rng.below(nodes);
                let _ = writeln!(text, "\n[[command]]\nat_ms = {at_ms}\nnode = {node}\nset = \"user0={value}\"");
            }
        }
        let _ = writeln!(text, "\n[expect]\nagreement_within_ms = {HEALED_MS}");
        text
    }

    /// Its scenario.
    ///
    /// # Panics
    ///
    /// Where the reader refuses it, which is a bug of the generator.
    pub fn scenario(self) -> Scenario {
        let text = self.text();
        read(&format!("lie {}", self.run), &text).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
    }

    pub fn examine(self) -> Row {
        let scenario = self.scenario();
        let outcome = drive::run(&scenario, scenario.seed);
        Row {
            algorithm: self.algorithm().name(),
            verdict: outcome.verdict,
            healed_ms: outcome.changes.last().and_then(|change| change.agreed_after_ms),
            failure: outcome.failure.map(|failure| failure.line()),
        }
    }
}

impl Tally {
    fn add(&mut self, row: &Row) {
        self.runs += 1;
        self.failed += u64::from(row.verdict != Verdict::Ok);
        self.healed_ms.extend(row.healed_ms);
    }

    fn close(&mut self) {
        self.healed_ms.sort_unstable();
        let count = self.healed_ms.len();
        let at = |percent: usize| self.healed_ms.get((count * percent / 100).min(count.saturating_sub(1))).copied();
        (self.p50_ms, self.p99_ms, self.max_ms) = (at(50).unwrap_or(0), at(99).unwrap_or(0), at(100).unwrap_or(0));
    }
}

/// What became of each algorithm, and of all together under an empty name.
pub fn tally<'r>(rows: impl IntoIterator<Item = &'r Row>) -> BTreeMap<&'static str, Tally> {
    let mut tallies: BTreeMap<&'static str, Tally> = BTreeMap::new();
    for row in rows {
        tallies.entry(row.algorithm).or_default().add(row);
        tallies.entry("").or_default().add(row);
    }
    tallies.values_mut().for_each(Tally::close);
    tallies
}
