//! The plan of one run, drawn from the seed and the number of the run.

use std::fmt;

use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::election::hierarchy::{HierarchyOptions, Radii};
use common::rng::Rng;
use common::types::NodeId;

use super::picker::Scheduler;
use crate::graph::{Graph, Kind};
use crate::net::Queueing;
use crate::shuffle::shuffled_ids;

/// What goes wrong in a run. The network forms in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Faults {
    /// Nothing: links come up in any order, each end at its own time.
    Forming,
    /// Links go down and up; both ends detect that at once.
    Links,
    /// Links go down and up, or flap; each end detects that at its own time, or only one does.
    OneSided,
    /// The network splits in two, and the parts may merge again.
    Partitions,
    /// Nodes lose their state and come back, or do not.
    Crashes,
    /// Nodes become more or less fit.
    Fitness,
    /// All of the above.
    Mixed,
    /// Links change and a share of all Updates is lost, but nodes resend from time to time.
    Loss,
    /// Records, and nodes' views of their neighbours' records, are corrupted; then every node sends once.
    Corruption,
}

impl Faults {
    /// Every kind, in the order in which runs take turns.
    pub const ALL: [Self; 9] = [
        Self::Forming,
        Self::Links,
        Self::OneSided,
        Self::Partitions,
        Self::Crashes,
        Self::Fitness,
        Self::Mixed,
        Self::Loss,
        Self::Corruption,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Forming => "forming only",
            Self::Links => "links up and down",
            Self::OneSided => "one-sided notice and flaps",
            Self::Partitions => "partitions and merges",
            Self::Crashes => "crashes with lost state",
            Self::Fitness => "fitness changes",
            Self::Mixed => "all of these",
            Self::Loss => "lost messages, resent",
            Self::Corruption => "corrupted records",
        }
    }
}

/// The radii to try. Normally they increase, but nothing depends on that.
const RADII: [&[u8]; 14] = [
    &[],
    &[1],
    &[2],
    &[3],
    &[5],
    &[15],
    &[1, 3],
    &[2, 5],
    &[3, 1],
    &[2, 15],
    &[1, 2, 4],
    &[1, 1, 1],
    &[2, 5, 15],
    &[4, 2, 3],
];

/// Beyond this radius a queue that keeps every Update may take millions of deliveries: see `docs/algorithms.md`.
const FIFO_RADIUS_MAX: u8 = 5;

/// Everything about a run that is decided before it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of all runs.
    pub seed: u64,
    pub run: u64,
    pub faults: Faults,
    pub kind: Kind,
    pub nodes: usize,
    pub radii: &'static [u8],
    /// Which channel delivers next.
    pub scheduler: Scheduler,
    /// Whether every Update is kept.
    pub queueing: Queueing,
    pub rules: HeightRules,
    /// The share of Updates that is lost, in tenths.
    pub loss: u32,
}

impl Plan {
    /// The plan of one run. Kinds of fault take turns; everything else is random.
    pub fn draw(seed: u64, run: u64) -> Self {
        let mut rng = Rng::stream(seed, run.wrapping_mul(2));
        let kinds = Faults::ALL.len() as u64;
        let turn = usize::try_from(run % kinds).unwrap_or(0);
        let faults = Faults::ALL[turn];
        let radii = *pick(&RADII, &mut rng);
        let keeps_all = rng.below(4) == 0 && radii.iter().all(|&radius| radius <= FIFO_RADIUS_MAX);
        Self {
            seed,
            run,
            faults,
            kind: *pick(&Kind::ALL, &mut rng),
            nodes: draw_size(&mut rng),
            radii,
            scheduler: *pick(&Scheduler::ALL, &mut rng),
            queueing: if keeps_all { Queueing::Fifo } else { Queueing::Latest },
            rules: *pick(&[HeightRules::Claiming, HeightRules::Radio], &mut rng),
            loss: if faults == Faults::Loss { *pick(&[1, 3, 5], &mut rng) } else { 0 },
        }
    }

    /// The randomness of the run itself.
    pub fn rng(&self) -> Rng {
        Rng::stream(self.seed, self.run.wrapping_mul(2).wrapping_add(1))
    }

    pub fn graph(&self) -> Graph {
        Graph::new(self.kind, self.nodes, self.seed ^ self.run)
    }

    /// How a node with this fitness is set up.
    pub fn options(&self, fitness: u8) -> HierarchyOptions {
        // A test checks that every entry of the list above is valid.
        let radii = Radii::new(self.radii).unwrap_or_default();
        HierarchyOptions { radii, fitness, clock: ClockKind::Lamport, rules: self.rules }
    }

    /// Ids and fitness bytes: all equally fit, a few classes, or any byte.
    pub fn draw_nodes(&self, rng: &mut Rng) -> Vec<(NodeId, u8)> {
        let classes = *pick(&[1, 4, 256], rng);
        let ids = shuffled_ids(u16::try_from(self.nodes).unwrap_or(u16::MAX), rng);
        ids.into_iter().map(|id| (id, u8::try_from(rng.below(classes)).unwrap_or(u8::MAX))).collect()
    }

    pub fn levels(&self) -> String {
        radii_name(self.radii)
    }

    /// The command that repeats this run.
    pub fn replay(&self) -> String {
        format!("ringleader stress hierarchy --seed {} --from {} --runs 1", self.seed, self.run)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "run {} of seed {}: {}, {} of {} nodes, {}, scheduler: {}, queueing {:?}, rules {:?}",
            self.run,
            self.seed,
            self.faults.name(),
            self.kind.name(),
            self.nodes,
            self.levels(),
            self.scheduler.name(),
            self.queueing,
            self.rules,
        )?;
        if self.loss > 0 {
            write!(f, ", {}0 % lost", self.loss)?;
        }
        Ok(())
    }
}

/// `K = (1, 3)`, or that there are no levels.
pub fn radii_name(radii: &[u8]) -> String {
    let list: Vec<String> = radii.iter().map(ToString::to_string).collect();
    match list.as_slice() {
        [] => "no levels".into(),
        [radius] => format!("K = {radius}"),
        _ => format!("K = ({})", list.join(", ")),
    }
}

/// A random one.
///
/// # Panics
/// When there are none.
pub(super) fn pick<'a, T>(things: &'a [T], rng: &mut Rng) -> &'a T {
    &things[rng.below(u32::try_from(things.len()).unwrap_or(u32::MAX)) as usize]
}

/// Mostly small: faults meet more often there, and failures are easier to read.
fn draw_size(rng: &mut Rng) -> usize {
    let (least, most) = match rng.below(10) {
        0..6 => (2, 8),
        6..9 => (9, 20),
        _ => (21, 60),
    };
    (least + rng.below(most - least + 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::{Plan, RADII, radii_name};
    use common::election::hierarchy::Radii;

    #[test]
    fn all_radii_are_valid() {
        for radii in RADII {
            assert!(Radii::new(radii).is_ok(), "{}", radii_name(radii));
        }
    }

    #[test]
    fn sizes_stay_in_bounds_and_reach_them() {
        let sizes: std::collections::BTreeSet<usize> = (0..5_000).map(|run| Plan::draw(3, run).nodes).collect();
        assert!(sizes.into_iter().eq(2..=60));
    }
}
