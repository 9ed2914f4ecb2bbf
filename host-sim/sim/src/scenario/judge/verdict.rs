//! How a run ended, and why.

use std::collections::BTreeMap;

use super::agreement::Judge;
use super::observer::{Observer, Violation};
use crate::scenario::input::plan::Steady;
use crate::scenario::report::outcome::{Failure, Verdict};
use crate::scenario::run::drive::id_of;

impl Judge {
    /// The verdict: what never may happen comes first, then leaders that change too often, then agreements that come too late.
    pub(in crate::scenario) fn verdict(
        &self,
        observer: &Observer,
        steady: Option<Steady>,
    ) -> (Verdict, Option<Failure>) {
        let last_events = observer.last_events();
        if let Some(Violation { at_us, node, what }) = &observer.violation {
            let nodes = vec![id_of(*node).0];
            let failure =
                Failure { at_ms: at_us / 1_000, what: what.clone(), nodes, last_events, replay: None, version: None };
            return (Verdict::Safety, Some(failure));
        }
        if let Some((at_ms, node, what)) = steady.and_then(|steady| restless(observer, steady)) {
            let failure = Failure { at_ms, what, nodes: vec![node], last_events, replay: None, version: None };
            return (Verdict::Liveness, Some(failure));
        }
        match self.lateness.failure() {
            None => (Verdict::Ok, None),
            late => (Verdict::Liveness, late),
        }
    }
}

/// The first node to change its leader too often: when that was, who, and how often in all.
fn restless(observer: &Observer, Steady { from_us, changes_max }: Steady) -> Option<(u64, u16, String)> {
    let counts = |at_ms: u64| at_ms * 1_000 >= from_us;
    let mut changes: BTreeMap<u16, u64> = BTreeMap::new();
    let (at_ms, node) = observer.follows.iter().filter(|follow| counts(follow.at_ms)).find_map(|follow| {
        let count = changes.entry(follow.node).or_default();
        *count += 1;
        (*count > changes_max).then_some((follow.at_ms, follow.node))
    })?;
    let all = observer.follows.iter().filter(|follow| follow.node == node && counts(follow.at_ms)).count();
    let from_s = from_us / 1_000_000;
    Some((
        at_ms,
        node,
        format!("node {node} changed its leader {all} times after {from_s} s, not at most {changes_max} times"),
    ))
}
