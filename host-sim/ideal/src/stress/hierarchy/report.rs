//! What many runs came to.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::plan::Plan;
use super::play::{End, Played};

/// How a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// It ended in something else than it must.
    Violation,
    /// It did not end.
    NoQuiescence,
    /// The core itself reported a defect.
    Panic,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The number of the run.
    pub run: u64,
    /// How it failed.
    pub kind: FailureKind,
    /// What the run was made of.
    pub plan: String,
    /// What is wrong.
    pub what: String,
    /// The last events, oldest first.
    pub last_events: Vec<String>,
    /// The command that plays it again.
    pub replay: String,
}

/// The longest run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Longest {
    /// Its number.
    pub run: u64,
    /// Its events.
    pub steps: u64,
}

/// What many runs came to.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The seed of all runs.
    pub seed: u64,
    /// The number of the first.
    pub from: u64,
    /// How many there were.
    pub runs: u64,
    /// Updates delivered in all of them.
    pub delivered: u64,
    /// The longest.
    pub longest: Longest,
    /// What was varied, and how many runs had it.
    pub kinds: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Those that failed.
    pub failures: Vec<Failure>,
}

impl Summary {
    pub(super) fn new(seed: u64, from: u64) -> Self {
        let (kinds, failures) = (BTreeMap::new(), Vec::new());
        Self { seed, from, runs: 0, delivered: 0, longest: Longest::default(), kinds, failures }
    }

    pub(super) fn add(&mut self, plan: &Plan, played: &Played) {
        self.count(plan);
        self.delivered += played.delivered;
        if played.steps > self.longest.steps {
            self.longest = Longest { run: plan.run, steps: played.steps };
        }
        let (kind, what) = match &played.end {
            End::WellFormed => return,
            End::Violation(what) => (FailureKind::Violation, what),
            End::Unquiet(what) => (FailureKind::NoQuiescence, what),
        };
        self.fail(plan, kind, what.clone(), played.trail.clone());
    }

    pub(super) fn add_panic(&mut self, plan: &Plan, panic: &(dyn Any + Send)) {
        self.count(plan);
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        self.fail(plan, FailureKind::Panic, text.unwrap_or("a panic without words").to_owned(), Vec::new());
    }

    /// 0 when all went well, 2 when a run ended otherwise than it must, 3 when one did not end.
    pub fn exit_code(&self) -> u8 {
        let is_other = |failure: &Failure| failure.kind != FailureKind::NoQuiescence;
        match (self.failures.is_empty(), self.failures.iter().any(is_other)) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 3,
        }
    }

    fn fail(&mut self, plan: &Plan, kind: FailureKind, what: String, last_events: Vec<String>) {
        let failure = Failure { run: plan.run, kind, plan: plan.to_string(), what, last_events, replay: plan.replay() };
        self.failures.push(failure);
    }

    fn count(&mut self, plan: &Plan) {
        self.runs += 1;
        let sizes = ["2 to 8", "9 to 20", "21 to 60"];
        let size = sizes[usize::from(plan.nodes > 8) + usize::from(plan.nodes > 20)];
        let losses = if plan.loss > 0 { format!("{}0 %", plan.loss) } else { "none".into() };
        for (what, which) in [
            ("faults", plan.faults.name().to_owned()),
            ("graph", plan.kind.name().to_owned()),
            ("nodes", size.to_owned()),
            ("levels", plan.levels()),
            ("scheduler", plan.scheduler.name().to_owned()),
            ("queueing", format!("{:?}", plan.queueing)),
            ("rules", format!("{:?}", plan.rules)),
            ("lost", losses),
        ] {
            *self.kinds.entry(what).or_default().entry(which).or_default() += 1;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, from, runs, delivered, longest, kinds, failures } = self;
        for failure in failures {
            writeln!(f, "FAILED {}\n  {}", failure.plan, failure.what)?;
            if !failure.last_events.is_empty() {
                writeln!(f, "  last events: {}", failure.last_events.join(", "))?;
            }
            writeln!(f, "  replay: {}\n", failure.replay)?;
        }
        writeln!(f, "{runs} runs from number {from} of seed {seed}: {} failed", failures.len())?;
        for (what, counts) in kinds {
            let list: Vec<String> = counts.iter().map(|(which, count)| format!("{which} {count}")).collect();
            writeln!(f, "  {what:<10} {}", list.join("; "))?;
        }
        writeln!(f, "  {delivered} Updates delivered; the longest run, {}, had {} events", longest.run, longest.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::{FailureKind, Summary};
    use crate::stress::hierarchy::{End, Plan, Played};

    fn played(end: End) -> Played {
        Played { end, steps: 3, delivered: 2, trail: vec!["down 1 2".into(), "deliver 1 3".into()] }
    }

    #[test]
    fn a_failure_is_told_with_everything_needed_to_replay_it() {
        let mut summary = Summary::new(5, 70);
        summary.add(&Plan::draw(5, 70), &played(End::WellFormed));
        assert_eq!(summary.exit_code(), 0);
        summary.add(&Plan::draw(5, 71), &played(End::Unquiet("not quiet".into())));
        assert_eq!(summary.exit_code(), 3);
        summary.add(&Plan::draw(5, 72), &played(End::Violation("condition (b) fails".into())));
        assert_eq!(summary.exit_code(), 2, "a wrong end is worse than none");
        let text = summary.to_string();
        for piece in [
            "condition (b) fails",
            "not quiet",
            "last events: down 1 2, deliver 1 3",
            "replay: ringleader stress hierarchy --seed 5 --from 72 --runs 1",
            "3 runs from number 70 of seed 5: 2 failed",
        ] {
            assert!(text.contains(piece), "{text}");
        }
    }

    #[test]
    fn a_panic_is_a_failure_with_its_words() {
        let mut summary = Summary::new(1, 0);
        summary.add_panic(&Plan::draw(1, 0), &"table full");
        assert_eq!((summary.failures[0].kind, summary.failures[0].what.as_str()), (FailureKind::Panic, "table full"));
        assert_eq!(summary.exit_code(), 2);
    }
}
