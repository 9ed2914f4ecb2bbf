//! How a run ended, and why.

use std::collections::BTreeMap;

use super::agreement::{Judge, leader};
use super::observer::{Observer, Violation};
use crate::air::index::NodeIndex;
use crate::air::world::World;
use crate::scenario::input::plan::{Scenario, Steady};
use crate::scenario::report::outcome::{Failure, Follow, Verdict};
use crate::scenario::run::drive::id_of;
use crate::scenario::run::program::Program;

impl Judge {
    /// The verdict: what never may happen comes first, then leaders that change too often, agreements that come too late, and
    /// the wrong leader in the end.
    pub(in crate::scenario) fn verdict(
        &self,
        observer: &Observer,
        scenario: &Scenario,
        world: &World<Program>,
    ) -> (Verdict, Option<Failure>) {
        let last_events = observer.last_events();
        if let Some(Violation { at_us, node, what }) = &observer.violation {
            let nodes = vec![id_of(*node).0];
            let failure =
                Failure { at_ms: at_us / 1_000, what: what.clone(), nodes, last_events, replay: None, version: None };
            return (Verdict::Safety, Some(failure));
        }
        if let Some(failure) = scenario.steady.and_then(|steady| restless(observer, steady)) {
            return (Verdict::Liveness, Some(failure));
        }
        if let Some(late) = self.lateness.failure() {
            return (Verdict::Liveness, Some(late));
        }
        if let Some(late) = observer.collection.as_ref().and_then(|check| check.late()) {
            let (at_ms, what, nodes) = (late.at_us / 1_000, late.what.clone(), vec![id_of(late.node).0]);
            let failure = Failure { at_ms, what, nodes, last_events, replay: None, version: None };
            return (Verdict::Liveness, Some(failure));
        }
        if let Some((at_us, what)) = &observer.orders.failure {
            let (at_ms, what) = (at_us / 1_000, what.clone());
            let failure = Failure { at_ms, what, nodes: Vec::new(), last_events, replay: None, version: None };
            return (Verdict::Liveness, Some(failure));
        }
        let wrong = scenario.leader.filter(|&wanted| !self.leads(wanted, world));
        let failure = wrong.map(|wanted| {
            let what = match leader(world, wanted) {
                Some(other) if other != wanted => {
                    format!("node {} should lead, not node {}", id_of(wanted), id_of(other))
                }
                _ => format!("node {} should lead, and does not", id_of(wanted)),
            };
            let at_ms = world.now_us() / 1_000;
            Failure { at_ms, what, nodes: vec![id_of(wanted).0], last_events, replay: None, version: None }
        });
        (if failure.is_some() { Verdict::Liveness } else { Verdict::Ok }, failure)
    }
}

impl Judge {
    /// Whether a node leads all of its component.
    fn leads(&self, node: NodeIndex, world: &World<Program>) -> bool {
        let mine = self.components().usable.iter().find(|members| members.contains(&node));
        mine.is_some_and(|members| members.iter().all(|&member| leader(world, member) == Some(node)))
    }
}

/// The first node to change its leader too often.
fn restless(observer: &Observer, Steady { from_us, changes_max }: Steady) -> Option<Failure> {
    let counts = |at_ms: u64| at_ms * 1_000 >= from_us;
    let mut changes: BTreeMap<u16, u64> = BTreeMap::new();
    let counted = || observer.follows.iter().filter(|follow| counts(follow.at_ms));
    let &Follow { at_ms, node, .. } = counted().find(|follow| {
        let count = changes.entry(follow.node).or_default();
        *count += 1;
        *count > changes_max
    })?;
    let all = counted().filter(|follow| follow.node == node).count();
    let from_s = from_us / 1_000_000;
    let times = if all == 1 { "once".to_owned() } else { format!("{all} times") };
    let what = format!("node {node} changed its leader {times} after {from_s} s; at most {changes_max} allowed");
    Some(Failure { at_ms, what, nodes: vec![node], last_events: observer.last_events(), replay: None, version: None })
}
