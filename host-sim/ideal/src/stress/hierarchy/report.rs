//! The results of many runs.

use std::any::Any;
use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::Plan;
use super::play::{End, Played};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// It ended wrongly.
    Violation,
    NoQuiescence,
    /// The core itself reported a defect.
    Panic,
}

#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    pub run: u64,
    pub kind: FailureKind,
    /// The run in words.
    pub plan: String,
    pub what: String,
    /// The last events, oldest first.
    pub last_events: Vec<String>,
    /// The command that repeats it.
    pub replay: String,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Longest {
    pub run: u64,
    pub steps: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub seed: u64,
    /// The number of the first run.
    pub from: u64,
    pub runs: u64,
    /// Updates delivered in all of them.
    pub delivered: u64,
    pub longest: Longest,
    /// What was varied, and how many runs had it.
    pub kinds: BTreeMap<&'static str, BTreeMap<String, u64>>,
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
        self.fail(plan, FailureKind::Panic, text.unwrap_or("a panic without a message").to_owned(), Vec::new());
    }

    /// 0 if every run ended as it must, 2 if one ended wrongly, 3 if one did not end.
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

#[cfg(test)]
mod tests {
    use super::{FailureKind, Summary};
    use crate::stress::hierarchy::{End, Plan, Played};

    fn played(end: End) -> Played {
        Played { end, steps: 3, delivered: 2, trail: vec!["down 1 2".into(), "deliver 1 3".into()] }
    }

    #[test]
    fn the_worst_failure_decides_the_exit_code_and_each_can_be_replayed() {
        let mut summary = Summary::new(5, 70);
        summary.add(&Plan::draw(5, 70), &played(End::WellFormed));
        assert_eq!(summary.exit_code(), 0);
        summary.add(&Plan::draw(5, 71), &played(End::Unquiet("not quiet".into())));
        assert_eq!(summary.exit_code(), 3);
        summary.add(&Plan::draw(5, 72), &played(End::Violation("condition (b) fails".into())));
        assert_eq!(summary.exit_code(), 2, "a wrong end is worse than none");
        let failure = &summary.failures[1];
        assert_eq!((failure.run, failure.what.as_str()), (72, "condition (b) fails"));
        assert_eq!(failure.last_events, ["down 1 2", "deliver 1 3"]);
        assert_eq!(failure.replay, "ringleader stress hierarchy --seed 5 --from 72 --runs 1");
    }

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        let mut summary = Summary::new(1, 0);
        summary.add_panic(&Plan::draw(1, 0), &"table full");
        assert_eq!((summary.failures[0].kind, summary.failures[0].what.as_str()), (FailureKind::Panic, "table full"));
        assert_eq!(summary.exit_code(), 2);
    }
}
