//! Whether the nodes of each component agree on a leader: what a run is judged by.

use std::collections::BTreeMap;

use common::types::NodeId;

use super::changes::Changes;
use super::checker::{Components, HOLD_US};
use super::lateness::Lateness;
use super::observer::Observer;
use crate::air::index::NodeIndex;
use crate::air::world::World;
use crate::scenario::report::outcome::{Change, Reign};
use crate::scenario::run::drive::{SLICE_US, id_of};
use crate::scenario::run::program::Program;

/// Who agrees with whom, since when, and whether that came in time.
pub(in crate::scenario) struct Judge {
    components: Components,
    /// Something has moved or begun to send since the components were found.
    is_stale: bool,
    /// Who spoils the agreement of each component.
    dissenters: Vec<Vec<NodeIndex>>,
    /// Since when there has been agreement everywhere.
    agreed_since: Option<u64>,
    relapses: u64,
    reigns: Vec<Reign>,
    changes: Changes,
    pub(super) lateness: Lateness,
}

impl Judge {
    /// Agreement must come within this time.
    pub fn new(within_us: u64) -> Self {
        Self {
            components: Components::default(),
            is_stale: true,
            dissenters: Vec::new(),
            agreed_since: None,
            relapses: 0,
            reigns: Vec::new(),
            changes: Changes::default(),
            lateness: Lateness::new(within_us),
        }
    }

    pub fn components(&self) -> &Components {
        &self.components
    }

    /// Whether the components have to be found anew before the next check.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Nodes have moved, or begun or ceased to take part.
    pub fn mark_stale(&mut self) {
        self.is_stale = true;
    }

    /// Agreements that were lost without a change.
    pub fn relapses(&self) -> u64 {
        self.relapses
    }

    pub fn changes(&self) -> Vec<Change> {
        self.changes.report()
    }

    pub fn into_reigns(self) -> Vec<Reign> {
        self.reigns
    }

    /// Something has changed, from which on agreement must be found anew; `found` are the components after it.
    pub fn begin_change(
        &mut self,
        now: u64,
        what: String,
        found: Components,
        world: &World<Program>,
        observer: &mut Observer,
    ) {
        self.changes.note_reactions(observer);
        observer.note(now, &what);
        let before = self.replace_components(found, observer);
        self.watch_links(&before, world, observer);
        self.changes.begin(now, what);
        self.agreed_since = None;
        self.lateness.begin_anew(now, self.components.usable.len());
    }

    /// A change that nobody planned: what was too late before it stays a failure.
    pub fn begin_unplanned_change(
        &mut self,
        now: u64,
        what: String,
        found: Components,
        world: &World<Program>,
        observer: &mut Observer,
    ) {
        let late = self.lateness.take_late();
        self.begin_change(now, what, found, world, observer);
        self.lateness.put_back(late);
    }

    /// The components may be others now, and nobody calls that a change: nodes that move and boards that begin to send are not
    /// told each time. Gives those before.
    pub fn set_components(&mut self, now: u64, found: Components, observer: &mut Observer) -> Components {
        let before = self.replace_components(found, observer);
        if before.usable != self.components.usable {
            self.lateness.restart(now, self.components.usable.len());
        }
        before
    }

    fn replace_components(&mut self, found: Components, observer: &mut Observer) -> Components {
        observer.leaders_changed = true;
        self.is_stale = false;
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
        if std::mem::take(&mut observer.leaders_changed) {
            self.dissenters = self.components.dissenters_by_component(|node| leader(world, node));
            let leaders = followers(world).into_iter().map(|(leader, count)| (id_of(leader).0, count)).collect();
            if self.reigns.last().is_none_or(|last| last.leaders != leaders) {
                self.reigns.push(Reign { at_ms: now / 1_000, leaders });
            }
        }
        let Some(changed_us) = self.changes.last_us() else { return };
        self.changes.note_reactions(observer);
        // Where the last node has just come to agree, that moment and not the end of the slice.
        let leader_us = observer.leader_us;
        let began = if leader_us + SLICE_US > now { leader_us.max(changed_us) } else { now };
        if self.dissenters.iter().all(Vec::is_empty) {
            let since = *self.agreed_since.get_or_insert(began);
            if now >= since + HOLD_US {
                self.changes.note_agreement(since);
            }
        } else if self.agreed_since.take().is_some() && self.changes.is_settled() {
            self.relapses += 1;
        }
        for (component, members) in self.components.usable.iter().enumerate() {
            let dissenters = self.dissenters.get(component).map_or(&[][..], Vec::as_slice);
            let agrees_since = dissenters.is_empty().then_some(began);
            self.lateness.assess(now, component, agrees_since, |overdue| {
                overdue.failure(members, dissenters, self.changes.last_what(), world, observer)
            });
        }
        self.lateness.note_settled();
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
