//! Whether the nodes of each component agree on a leader: what a run is judged by.

use std::collections::{BTreeMap, BTreeSet};

use common::types::NodeId;

use super::changes::Changes;
use super::checker::HOLD_US;
use super::components::{ComponentIndex, Components, Standing};
use super::lateness::Lateness;
use super::observer::Observer;
use super::steadiness::{Done, Watch};
use crate::air::index::NodeIndex;
use crate::air::world::World;
use crate::scenario::report::outcome::{Change, Followed, Reign, Steadiness};
use crate::scenario::run::drive::{SLICE_US, id_of};
use crate::scenario::run::program::Program;

/// Who agrees with whom, since when, and whether that came in time.
pub(in crate::scenario) struct Judge {
    components: Components,
    /// Whether something has moved or begun to send since the components were found.
    is_stale: bool,
    /// How each component stands; nothing if they are new.
    standings: Vec<Standing>,
    /// The components that the last change made, with the leader whom their first node followed until then.
    made: Vec<Option<NodeIndex>>,
    /// Since when there has been agreement everywhere.
    agreed_since: Option<u64>,
    relapses: u64,
    reigns: Vec<Reign>,
    changes: Changes,
    pub(super) lateness: Lateness,
    steadiness: Watch,
}

impl Judge {
    /// Agreement must come within this time.
    pub fn new(within_us: u64) -> Self {
        Self {
            components: Components::default(),
            is_stale: true,
            standings: Vec::new(),
            made: Vec::new(),
            agreed_since: None,
            relapses: 0,
            reigns: Vec::new(),
            changes: Changes::default(),
            lateness: Lateness::new(within_us),
            steadiness: Watch::new(within_us),
        }
    }

    pub fn components(&self) -> &Components {
        &self.components
    }

    /// Whether the components have to be found again before the next check.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Nodes have moved, or begun or ceased to take part.
    pub fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// The nodes with a link that follow a leader on whom their whole component has agreed for a while.
    pub fn followers_of_agreed(&self, world: &World<Program>) -> BTreeSet<NodeIndex> {
        let settled = self
            .components
            .usable
            .iter()
            .enumerate()
            .filter(|(at, members)| members.len() > 1 && self.lateness.is_settled(ComponentIndex(*at)));
        let members = settled.flat_map(|(_, members)| members.iter().copied());
        members.filter(|&node| !world.station(node).links().is_empty()).collect()
    }

    /// Agreements that were lost without a change.
    pub fn relapses(&self) -> u64 {
        self.relapses
    }

    /// How often leaders have changed, by the end of the run.
    pub fn steadiness(&self, observer: &Observer) -> Steadiness {
        self.steadiness.report(observer.leader_changes)
    }

    pub fn changes(&self) -> Vec<Change> {
        self.changes.report()
    }

    pub fn into_reigns(self) -> Vec<Reign> {
        self.reigns
    }

    /// Something has changed, so agreement must be found again; `found` are the components after it.
    pub fn begin_change(
        &mut self,
        now: u64,
        what: String,
        found: Components,
        world: &World<Program>,
        observer: &mut Observer,
    ) {
        self.pass(now, world, observer);
        self.changes.note_reactions(observer);
        observer.note(now, &what);
        let before = self.replace_components(found, observer);
        self.watch_links(&before, world, observer);
        self.changes.begin(now, what);
        self.steadiness.note_change(now);
        self.agreed_since = None;
        let mut kept = self.kept(&before);
        self.made = vec![None; kept.len()];
        for (component, members) in self.components.usable.iter().enumerate() {
            if kept[component].is_none() {
                self.made[component] = members.first().and_then(|&first| leader(world, first));
            }
        }
        if before.links == self.components.links && before.usable == self.components.usable {
            // What changed was not a link, so it may concern any node.
            kept.fill(None);
        }
        self.lateness.restart(now, &kept);
    }

    /// The components may have changed without that counting as a change: nodes that move and boards that begin to send are not
    /// reported each time. Returns the components before.
    pub fn set_components(&mut self, now: u64, found: Components, observer: &mut Observer) -> Components {
        let before = self.replace_components(found, observer);
        if before.usable != self.components.usable {
            let kept = self.kept(&before);
            self.made = vec![None; kept.len()];
            self.lateness.restart(now, &kept);
        }
        before
    }

    /// For each component, which one it was before: the same nodes, and the same usable links between them.
    fn kept(&self, before: &Components) -> Vec<Option<ComponentIndex>> {
        let touched: BTreeSet<NodeIndex> =
            before.links.symmetric_difference(&self.components.links).flat_map(|&(a, b)| [a, b]).collect();
        let is_same = |members: &Vec<NodeIndex>| {
            let at = before.usable.iter().position(|old| old == members)?;
            members.iter().all(|node| !touched.contains(node)).then_some(ComponentIndex(at))
        };
        self.components.usable.iter().map(is_same).collect()
    }

    /// Counts the time up to now, and the leaders that have changed in it.
    fn pass(&mut self, now: u64, world: &World<Program>, observer: &Observer) {
        let on = NodeIndex::first(world.len()).filter(|&node| world.is_on(node)).count();
        let done = Done { changes: observer.leader_changes, frames: observer.frames };
        self.steadiness.pass(now, on, done, self.changes.is_settled());
    }

    fn replace_components(&mut self, found: Components, observer: &mut Observer) -> Components {
        observer.leaders_changed = true;
        self.is_stale = false;
        self.standings.clear();
        std::mem::replace(&mut self.components, found)
    }

    /// Watches the ends of every link that was made or broken since: how they see it now.
    pub fn watch_links(&self, before: &Components, world: &World<Program>, observer: &mut Observer) {
        let mut concerned: BTreeMap<NodeIndex, Vec<(NodeId, bool)>> = BTreeMap::new();
        for &(a, b) in before.links.symmetric_difference(&self.components.links) {
            for (end, other) in [(a, b), (b, a)] {
                let is_linked = world.station(end).is_linked(id_of(other));
                concerned.entry(end).or_default().push((id_of(other), is_linked));
            }
        }
        observer.watch(concerned);
    }

    /// Finds out whether there is agreement, if that may have changed, and whether it comes in time.
    pub fn check_agreement(&mut self, now: u64, world: &World<Program>, observer: &mut Observer) {
        self.pass(now, world, observer);
        let have_changed = std::mem::take(&mut observer.leaders_changed);
        if have_changed {
            let followed = |(leader, followers)| Followed { leader: id_of(leader).0, followers };
            let leaders = followers(world).into_iter().map(followed).collect();
            if self.reigns.last().is_none_or(|last| last.leaders != leaders) {
                self.reigns.push(Reign { at_ms: now / 1_000, leaders });
            }
        }
        // Faint links come and go without any leader being changed.
        let has_lost = (have_changed || self.standings.iter().any(|standing| *standing != Standing::Agreed))
            && self.find_standings(world);
        let Some(changed_us) = self.changes.last_us() else { return };
        self.changes.note_reactions(observer);
        // If the last node has just come to agree, its moment counts and not the end of the slice.
        let leader_us = observer.leader_us;
        let began = if leader_us + SLICE_US > now { leader_us.max(changed_us) } else { now };
        if self.is_agreed(world) {
            // An agreement on another leader is a new one, however soon it came.
            self.agreed_since = self.agreed_since.filter(|&since| leader_us <= since || self.changes.is_settled());
            let since = *self.agreed_since.get_or_insert(began);
            if now >= since + HOLD_US {
                self.changes.note_agreement(since);
            }
        } else if self.agreed_since.take().is_some() && self.changes.is_settled() && has_lost {
            self.relapses += 1;
        }
        for (at, (members, standing)) in self.components.usable.iter().zip(&self.standings).enumerate() {
            let component = ComponentIndex(at);
            let agrees_since = match standing {
                Standing::Held => {
                    self.lateness.hold(component);
                    continue;
                }
                Standing::Agreed => Some(began),
                Standing::Disputed(_) => None,
            };
            self.lateness.assess(now, component, agrees_since, |overdue| {
                overdue.failure(members, standing.dissenters(), self.changes.last_what(), world, observer)
            });
        }
        self.lateness.note_settled();
    }

    /// Assesses all components; returns whether one of them has lost an agreement.
    fn find_standings(&mut self, world: &World<Program>) -> bool {
        let is_linked = |a, b| world.station(a).is_linked(id_of(b)) && world.station(b).is_linked(id_of(a));
        let goes_by = |a, b| world.station(a).goes_by(id_of(b));
        let is_held = |a, b| is_linked(a, b) || goes_by(a, b) || goes_by(b, a);
        let found = self.components.standings(|node| leader(world, node), is_held);
        let was_agreed = |at: usize| self.standings.get(at) == Some(&Standing::Agreed);
        let has_lost = found.iter().enumerate().any(|(at, now)| was_agreed(at) && !now.dissenters().is_empty());
        self.standings = found;
        has_lost
    }

    /// Whether all agree that have to. A component is not settled yet if the last change has made it and only faint
    /// links still join it to its former leader.
    fn is_agreed(&self, world: &World<Program>) -> bool {
        let is_settled = |(at, standing): (usize, &Standing)| match standing {
            Standing::Agreed => true,
            Standing::Disputed(_) => false,
            Standing::Held => {
                let first = self.components.usable[at].first();
                let now = first.and_then(|&first| leader(world, first));
                self.made.get(at).is_none_or(|before| before.is_none() || *before != now)
            }
        };
        self.standings.iter().enumerate().all(is_settled)
    }
}

/// Whom a node that is on follows. A leader that is no node of the scenario is nobody.
pub(in crate::scenario) fn leader(world: &World<Program>, node: NodeIndex) -> Option<NodeIndex> {
    let leader = world.station(node).leader().filter(|_| world.is_on(node))?;
    usize::from(leader.0).checked_sub(1).filter(|&leader| leader < world.len()).map(NodeIndex)
}

/// Each leader that is followed, and by how many.
pub(in crate::scenario) fn followers(world: &World<Program>) -> BTreeMap<NodeIndex, usize> {
    let mut followers = BTreeMap::new();
    for node in NodeIndex::first(world.len()).filter(|&node| world.is_on(node)) {
        if let Some(leader) = leader(world, node) {
            *followers.entry(leader).or_insert(0) += 1;
        }
    }
    followers
}
