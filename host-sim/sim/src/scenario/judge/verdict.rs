//! How a run ended, and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Steady;
use crate::scenario::judge::liveness::Overdue;
use crate::scenario::judge::observer::Violation;
use crate::scenario::report::outcome::{Failure, Verdict};
use crate::scenario::run::drive::{Run, id_of};
use crate::scenario::run::faults::names;

/// As many nodes of a group are named.
const NAMED_MAX: usize = 12;

/// A dispute that went on for too long.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Late {
    /// Whose it is, while the components are what they were then.
    component: Option<usize>,
    /// Since when there was no agreement.
    since_us: u64,
    failure: Failure,
    /// When there was an agreement after all, if ever.
    settled_us: Option<u64>,
}

impl Late {
    /// Its component is no longer looked at.
    pub(in crate::scenario) fn forget_component(&mut self) {
        self.component = None;
    }
}

impl Run<'_> {
    /// Looks whether every component's agreement comes in time; `began` is when nodes that agree now came to do so.
    pub(in crate::scenario) fn assess_components(&mut self, now: u64, began: u64) {
        for component in 0..self.components.usable.len() {
            let agrees = self.dissenters.get(component).is_none_or(Vec::is_empty);
            if let Some(overdue) = self.liveness.assess(now, component, agrees.then_some(began))
                && self.late.is_none()
            {
                let (component, since_us) = (Some(component), overdue.since_us);
                self.late = Some(Late { component, since_us, failure: self.lateness(overdue), settled_us: None });
            }
        }
        if let Some(late) = &mut self.late {
            let settled_us = late.component.and_then(|component| self.liveness.settled_since(component));
            late.settled_us = late.settled_us.or(settled_us);
        }
    }

    /// What is wrong where agreement takes too long: at the moment at which it should have been there.
    fn lateness(&self, Overdue { component, since_us, was_lost }: Overdue) -> Failure {
        let members: &[NodeIndex] = self.components.usable.get(component).map_or(&[], Vec::as_slice);
        let within_ms = self.scenario.within_us / 1_000;
        let last_change = self.open.last().map_or("", |open| open.what.as_str());
        let whose = some_names(members);
        let what = if was_lost {
            format!(
                "{whose} lost their agreement at {} ms without a change and had none again within {within_ms} ms",
                since_us / 1_000
            )
        } else {
            format!("no agreement of {whose} within {within_ms} ms after the last change ({last_change})")
        };
        let mut camps: BTreeMap<Option<NodeIndex>, Vec<NodeIndex>> = BTreeMap::new();
        for &node in members {
            camps.entry(self.leader(node)).or_default().push(node);
        }
        let camps: Vec<String> = camps.iter().map(|(leader, nodes)| self.camp(*leader, nodes)).collect();
        let dissenters = self.dissenters.get(component).filter(|dissenters| !dissenters.is_empty());
        Failure {
            at_ms: (since_us + self.scenario.within_us) / 1_000,
            what: format!("{what}: {}", camps.join("; ")),
            nodes: dissenters.map_or(members, Vec::as_slice).iter().map(|&node| id_of(node).0).collect(),
            last_events: self.observer.last_events(),
            replay: None,
            version: None,
        }
    }

    /// Who follows this leader, and why that leader is none if it is none.
    fn camp(&self, leader: Option<NodeIndex>, nodes: &[NodeIndex]) -> String {
        let verb = if nodes.len() == 1 { "follows" } else { "follow" };
        let Some(leader) = leader else { return format!("{} {verb} nobody", some_names(nodes)) };
        let flaw = match self.leader(leader) {
            _ if !self.world.is_on(leader) => ", which is off",
            Some(other) if other != leader => ", which follows another",
            _ => "",
        };
        format!("{} {verb} {}{flaw}", some_names(nodes), id_of(leader))
    }

    /// The first node to change its leader too often: when that was, who, and how often in all.
    fn restless(&self) -> Option<(u64, u16, String)> {
        let Steady { from_us, changes_max } = self.scenario.steady?;
        let counts = |at_ms: u64| at_ms * 1_000 >= from_us;
        let mut changes: BTreeMap<u16, u64> = BTreeMap::new();
        let (at_ms, node) = self.observer.follows.iter().filter(|follow| counts(follow.at_ms)).find_map(|follow| {
            let count = changes.entry(follow.node).or_default();
            *count += 1;
            (*count > changes_max).then_some((follow.at_ms, follow.node))
        })?;
        let all = self.observer.follows.iter().filter(|follow| follow.node == node && counts(follow.at_ms)).count();
        let from_s = from_us / 1_000_000;
        Some((
            at_ms,
            node,
            format!("node {node} changed its leader {all} times after {from_s} s, not at most {changes_max} times"),
        ))
    }

    pub(in crate::scenario) fn judge(&self) -> (Verdict, Option<Failure>) {
        let last_events = self.observer.last_events();
        if let Some(Violation { at_us, node, what }) = &self.observer.violation {
            let nodes = vec![id_of(*node).0];
            let failure =
                Failure { at_ms: at_us / 1_000, what: what.clone(), nodes, last_events, replay: None, version: None };
            return (Verdict::Safety, Some(failure));
        }
        if let Some((at_ms, node, what)) = self.restless() {
            let failure = Failure { at_ms, what, nodes: vec![node], last_events, replay: None, version: None };
            return (Verdict::Liveness, Some(failure));
        }
        let Some(Late { since_us, failure, settled_us, .. }) = &self.late else { return (Verdict::Ok, None) };
        let mut failure = failure.clone();
        if let Some(took) = settled_us.and_then(|settled| settled.checked_sub(*since_us)) {
            let _ = write!(failure.what, "; they agreed after {} ms", took / 1_000);
        }
        (Verdict::Liveness, Some(failure))
    }
}

/// The names of nodes, unless there are too many.
fn some_names(nodes: &[NodeIndex]) -> String {
    let more = nodes.len().saturating_sub(NAMED_MAX);
    let named = names(&nodes[..nodes.len() - more]);
    if more > 0 { format!("{named} and {more} more") } else { named }
}
