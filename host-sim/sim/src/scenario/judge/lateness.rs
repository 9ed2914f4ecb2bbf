//! Agreements that did not come in time: which was the first, and what was wrong then.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::agreement::leader;
use super::components::ComponentIndex;
use super::liveness::{Liveness, Overdue};
use super::observer::Observer;
use crate::air::index::NodeIndex;
use crate::air::world::World;
use crate::scenario::report::outcome::Failure;
use crate::scenario::run::drive::id_of;
use crate::scenario::run::faults::names;
use crate::scenario::run::program::Program;

/// The most nodes of a group that are named.
const NAMED_MAX: usize = 12;

/// A dispute that went on for too long.
#[derive(Clone, Debug)]
pub(super) struct Late {
    /// Whose it is, while the components are what they were then.
    component: Option<ComponentIndex>,
    /// Since when there was no agreement.
    since_us: u64,
    failure: Failure,
    /// When there was an agreement after all, if there was one.
    settled_us: Option<u64>,
}

/// Every component's time to agree, and the first that took too long.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    liveness: Liveness,
    within_us: u64,
    late: Option<Late>,
}

impl Lateness {
    pub fn new(within_us: u64) -> Self {
        Self { liveness: Liveness::new(within_us), within_us, late: None }
    }

    /// From now on every component that did not exist before in this form has the full time to agree; `kept` says which
    /// ones the others were. What was too late before stays too late.
    pub fn restart(&mut self, now: u64, kept: &[Option<ComponentIndex>]) {
        self.liveness.restart(now, kept);
        if let Some(late) = &mut self.late {
            // If it is another component now, it is unknown when this one settled.
            let now_at = |before| kept.iter().position(|kept| *kept == Some(before)).map(ComponentIndex);
            late.component = late.component.and_then(now_at);
        }
    }

    /// Whether a component has an agreement that lasts.
    pub fn is_settled(&self, component: ComponentIndex) -> bool {
        self.liveness.settled_since(component).is_some()
    }

    /// Faint links hold this component.
    pub fn hold(&mut self, component: ComponentIndex) {
        self.liveness.hold(component);
    }

    /// Assesses a component whose nodes have agreed since then, or do not agree. Describes the first one that takes too
    /// long.
    pub fn assess(
        &mut self,
        now: u64,
        component: ComponentIndex,
        agrees_since: Option<u64>,
        describe: impl FnOnce(Dispute) -> Failure,
    ) {
        if let Some(overdue) = self.liveness.assess(now, component, agrees_since)
            && self.late.is_none()
        {
            let failure = describe(Dispute { overdue, within_us: self.within_us });
            let since_us = overdue.since_us;
            self.late = Some(Late { component: Some(component), since_us, failure, settled_us: None });
        }
    }

    /// Notes when what was too late has been settled after all.
    pub fn note_settled(&mut self) {
        if let Some(late) = &mut self.late {
            let settled_us = late.component.and_then(|component| self.liveness.settled_since(component));
            late.settled_us = late.settled_us.or(settled_us);
        }
    }

    /// What was too late, with the time that it took in the end.
    pub fn failure(&self) -> Option<Failure> {
        let Late { since_us, failure, settled_us, .. } = self.late.as_ref()?;
        let mut failure = failure.clone();
        if let Some(took) = settled_us.and_then(|settled| settled.checked_sub(*since_us)) {
            let _ = write!(failure.what, "; they agreed after {} ms", took / 1_000);
        }
        Some(failure)
    }
}

/// A dispute that is overdue, with the bound that it has broken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispute {
    overdue: Overdue,
    within_us: u64,
}

impl Dispute {
    /// What is wrong among these nodes, at the moment at which they should have agreed.
    pub fn failure(
        self,
        members: &[NodeIndex],
        dissenters: &[NodeIndex],
        last_change: &str,
        world: &World<Program>,
        observer: &Observer,
    ) -> Failure {
        let Self { overdue: Overdue { since_us, was_lost, .. }, within_us } = self;
        let (whose, within_ms) = (some_names(members), within_us / 1_000);
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
            camps.entry(leader(world, node)).or_default().push(node);
        }
        let camps: Vec<String> = camps.iter().map(|(leader, nodes)| camp(world, *leader, nodes)).collect();
        let blamed = if dissenters.is_empty() { members } else { dissenters };
        Failure {
            at_ms: (since_us + within_us) / 1_000,
            what: format!("{what}: {}", camps.join("; ")),
            nodes: blamed.iter().map(|&node| id_of(node).0).collect(),
            last_events: observer.last_events(),
            replay: None,
            version: None,
        }
    }
}

/// Who follows this leader, and why that leader is none if it is none.
fn camp(world: &World<Program>, followed: Option<NodeIndex>, nodes: &[NodeIndex]) -> String {
    let verb = if nodes.len() == 1 { "follows" } else { "follow" };
    let Some(followed) = followed else { return format!("{} {verb} nobody", some_names(nodes)) };
    let flaw = match leader(world, followed) {
        _ if !world.is_on(followed) => ", which is off",
        Some(other) if other != followed => ", which follows another",
        _ => "",
    };
    format!("{} {verb} {}{flaw}", some_names(nodes), id_of(followed))
}

/// The names of nodes, unless there are too many.
fn some_names(nodes: &[NodeIndex]) -> String {
    let more = nodes.len().saturating_sub(NAMED_MAX);
    let named = names(&nodes[..nodes.len() - more]);
    if more > 0 { format!("{named} and {more} more") } else { named }
}
