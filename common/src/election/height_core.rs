//! The rules of the height algorithm, without sending: a node's height, its links, and how both change.
//!
//! What travels along with a height is not kept here, so whatever is layered on top (see [`super::hierarchy`]) cannot influence
//! the election: no rule can read it.

use heapless::Vec;

use super::height_tuple::{Height, LeaderPair, RefLevel};
use crate::Full;
use crate::causal_clock::{ClockKind, is_near};
use crate::notice::Event;
use crate::time::Instant;
use crate::types::NodeId;

/// A leader that was elected longer ago than this elects itself again. Times start over, and an election that is half a
/// circle away would look like one to come.
const REIGN_MAX: u32 = 1 << 29;

/// What a claim adds to the node's `claims`, and how much of them is borne. A node that has restarted is told of its
/// former life once or twice; whoever is told again and again has a twin, and two that claim against each other fill the
/// channel. Each look takes one off, so a twin claims once in sixteen seconds.
const CLAIM: u8 = 16;
const CLAIMS_MAX: u8 = 3 * CLAIM;

/// A node has just begun until it has looked at itself this often, which takes as many seconds.
const YOUTH: u8 = 10;

/// Which rules a node follows where the published ones do more than a radio needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum HeightRules {
    /// As published (and corrected).
    Published,
    /// As published, and a node that is told of its own leadership in a former life, before it restarted, elects itself
    /// anew instead of adopting a distance from itself.
    Claiming,
    /// For radio: as claiming, and `ChannelDown` of a channel that never became a link changes nothing, which halves the
    /// elections of a network that is still forming.
    #[default]
    Radio,
}

/// How the height algorithm is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct HeightOptions {
    pub clock: ClockKind,
    pub rules: HeightRules,
}

/// A link as this node sees it. The printed sets: `N` are those with a height, `forming` those without. The height is
/// kept in its parts: an `Option` of the whole would hold the id a second time and cost a fifth more memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link {
    id: NodeId,
    /// None until the peer has been heard; the other parts mean nothing before.
    level: Option<RefLevel>,
    delta: i16,
    leader: LeaderPair,
}

impl Link {
    #[cfg_attr(target_os = "none", inline(never))]
    fn height(&self) -> Option<Height> {
        self.level.map(|level| Height { level, delta: self.delta, leader: self.leader, id: self.id })
    }
}

/// A node's height and links, with room for `N` of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeightCore<const N: usize> {
    options: HeightOptions,
    /// The causal time of the last event.
    time: u32,
    height: Height,
    /// Sorted by id.
    links: Vec<Link, N, u8>,
    /// How much this node has lately claimed leaderships under its own id that were not its own.
    claims: u8,
    /// How many more looks at itself this node has just begun for; 0 where it has taken over somebody's time.
    youth: u8,
}

impl<const N: usize> HeightCore<N> {
    /// A node with this height and no links.
    pub fn new(height: Height, options: HeightOptions) -> Self {
        Self { options, time: 0, height, links: Vec::new(), claims: 0, youth: YOUTH }
    }

    pub fn height(&self) -> Height {
        self.height
    }

    /// The causal time of this node's last event.
    pub fn time(&self) -> u32 {
        self.time
    }

    /// Sets that time, as an initial state has it.
    pub fn set_time(&mut self, time: u32) {
        self.time = time;
    }

    /// The heights of the neighbours, ascending by id: the printed `N`.
    pub fn neighbours(&self) -> impl Iterator<Item = Height> + '_ {
        self.links.iter().filter_map(Link::height)
    }

    /// The nodes whose channel is up, ascending, with the heights of those that have been heard.
    pub fn channels(&self) -> impl Iterator<Item = (NodeId, Option<Height>)> + '_ {
        self.links.iter().map(|link| (link.id, link.height()))
    }

    /// Where a node is among those whose channel is up, or where it would be.
    pub fn place(&self, id: NodeId) -> Result<usize, usize> {
        self.links.binary_search_by_key(&id, |link| link.id)
    }

    /// The nodes whose channel is up but that have not been heard, ascending: the printed `forming`.
    pub fn forming(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.links.iter().filter(|link| link.level.is_none()).map(|link| link.id)
    }

    /// What a channel's other end has told; none of it where it has not been heard.
    pub fn heard(&self, id: NodeId) -> Option<Option<Height>> {
        self.links.iter().find(|link| link.id == id).map(Link::height)
    }

    /// The lowest neighbour: where to send what is for the leader. None for the leader and for a node alone.
    pub fn next_hop(&self) -> Option<NodeId> {
        let lowest = self.neighbours().min()?;
        (self.height.leader.lid != self.height.id).then_some(lowest.id)
    }

    /// Every neighbour that is lower than this node, with how many hops it is from the leader as far as its height tells. None
    /// for the leader. What goes down from height to height goes in no circle.
    pub fn lower_neighbours(&self, each: &mut dyn FnMut(NodeId, u8)) {
        if self.height.leader.lid == self.height.id {
            return;
        }
        for lower in self.neighbours().filter(|other| *other < self.height && other.leader == self.height.leader) {
            each(lower.id, u8::try_from(lower.delta.max(0)).unwrap_or(u8::MAX));
        }
    }

    /// Moves the clock for an event at this node, which may be the receipt of a message sent at `heard`.
    pub fn tick(&mut self, now: Instant, heard: Option<u32>) {
        self.time = self.options.clock.advance(self.time, now, heard);
    }

    /// A channel came up. It is a link once the other end has been heard.
    pub fn link_up(&mut self, now: Instant, id: NodeId) -> Result<(), Full> {
        self.tick(now, None);
        self.insert(id)
    }

    /// Adds a link whose other end's height is known, as an initial state has them.
    pub fn insert_neighbour(&mut self, neighbour: Height) -> Result<(), Full> {
        self.insert(neighbour.id)?;
        self.learn(neighbour);
        Ok(())
    }

    /// A channel went down. Gives what the node did about it, if anything.
    pub fn link_down(&mut self, now: Instant, id: NodeId) -> Option<Event> {
        self.tick(now, None);
        let mut was_neighbour = false;
        if let Ok(at) = self.place(id) {
            was_neighbour = self.links.remove(at).level.is_some();
        }
        if let Some(event) = self.recover() {
            Some(event)
        } else if self.options.rules == HeightRules::Radio && !was_neighbour {
            None
        } else if self.neighbours().next().is_none() {
            Some(self.elect_self())
        } else {
            self.is_sink().then(|| self.start_search())
        }
    }

    /// A neighbour's height arrived, sent at `stamp`. Gives what the node did about it, if anything; a height is ignored
    /// where it comes from a node without a channel, tells of what is later than itself, or has a time that no message can
    /// have now. A node that has just begun takes the time of whoever it hears first. Nobody else does: of two that have nobody
    /// but each other, either would take the other's.
    pub fn receive(&mut self, now: Instant, stamp: u32, peer: Height) -> Option<Event> {
        let is_near = is_near(stamp, self.time);
        let is_first = self.youth > 0 && self.neighbours().next().is_none();
        if !peer.is_of_past(stamp) || !(is_near || is_first) {
            self.tick(now, None);
            return Some(if is_near { Event::Ignored(peer.id) } else { Event::OutOfTime(peer.id) });
        }
        if !is_near {
            // Its own election, which nobody took part in, is older than anybody else's.
            self.height = Height::elected(self.height.id, stamp.wrapping_sub(REIGN_MAX));
            self.time = stamp;
            self.youth = 0;
        }
        self.tick(now, Some(stamp));
        if !self.learn(peer) {
            return Some(Event::Ignored(peer.id));
        }
        if is_near && let Some(event) = self.recover() {
            return Some(event);
        }
        if peer.leader != self.height.leader {
            Some(self.react_to_other_leader(peer))
        } else if self.is_sink() {
            self.react_as_sink()
        } else {
            None
        }
    }

    /// Does what a node in this state must do, whatever brought it there. After every event it has been done, so only a memory
    /// that went wrong leaves anything to do.
    pub fn audit(&mut self, now: Instant) -> Option<Event> {
        self.claims = self.claims.saturating_sub(1);
        self.youth = self.youth.saturating_sub(1);
        let own = self.height;
        let is_lone = self.neighbours().next().is_none() && own.leader.lid != own.id;
        let better = self.neighbours().filter(|w| w.leader < own.leader).min_by_key(|w| w.leader);
        let is_sound = self.is_sound() && !is_lone && better.is_none() && !self.is_sink();
        if is_sound {
            return None;
        }
        self.tick(now, None);
        if is_lone {
            return Some(self.elect_self());
        }
        self.recover().or_else(|| better.map(|peer| self.react_to_other_leader(peer))).or_else(|| self.react_as_sink())
    }

    /// Elects this node where its own height cannot be: it is later than its own clock, or of an election so long ago that
    /// times have nearly started over.
    fn recover(&mut self) -> Option<Event> {
        (!self.is_sound()).then(|| self.elect_self())
    }

    fn is_sound(&self) -> bool {
        let Height { leader, id, .. } = self.height;
        let reign = self.time.wrapping_sub(leader.elected_at);
        let is_worn = leader.lid == id && reign > REIGN_MAX;
        self.height.is_of_past(self.time) && !is_worn
    }

    /// ELECTSELF.
    pub fn elect_self(&mut self) -> Event {
        self.height = Height::elected(self.height.id, self.time);
        Event::ElectedSelf
    }

    /// ELECTSELF in the place of the leader that this node follows. The time of the election is not the present but only a little
    /// later than that leader's own: whoever succeeds the same leader with less `precedence`, however much later, unseats nobody.
    pub fn succeed(&mut self, now: Instant, precedence: u8) -> Event {
        let elected_at = self.height.leader.elected_at.wrapping_add(u32::from(precedence));
        self.tick(now, Some(elected_at));
        self.height = Height::elected(self.height.id, elected_at);
        Event::ElectedSelf
    }

    /// Gives up a leadership that nobody takes part in: whoever leads others was elected later.
    pub fn step_down(&mut self) {
        if self.links.is_empty() {
            self.height = Height::elected(self.height.id, self.time.saturating_sub(REIGN_MAX / 2));
        }
    }

    fn insert(&mut self, id: NodeId) -> Result<(), Full> {
        let Err(at) = self.place(id) else { return Ok(()) };
        let forming = Link { id, level: None, delta: 0, leader: LeaderPair::default() };
        self.links.insert(at, forming).map_err(|_| Full)
    }

    /// Remembers a neighbour's height; false if there is no channel to it.
    fn learn(&mut self, height: Height) -> bool {
        let Some(link) = self.links.iter_mut().find(|link| link.id == height.id) else { return false };
        let Height { level, delta, leader, id } = height;
        *link = Link { id, level: Some(level), delta, leader };
        true
    }

    fn is_sink(&self) -> bool {
        let own = self.height;
        own.leader.lid != own.id && self.neighbours().all(|w| w.leader == own.leader && own < w)
    }

    /// STARTNEWREFLEVEL.
    fn start_search(&mut self) -> Event {
        self.height.level = RefLevel { tau: self.time, oid: self.height.id, reflected: false };
        self.height.delta = 0;
        Event::Searching
    }

    /// REFLECTREFLEVEL.
    fn reflect(&mut self, level: RefLevel) -> Event {
        self.height.level = RefLevel { reflected: true, ..level };
        self.height.delta = 0;
        Event::Reflected
    }

    /// PROPAGATELARGESTREFLEVEL.
    fn propagate(&mut self, largest: RefLevel) -> Event {
        let lowest = self.neighbours().filter(|w| w.level == largest).map(|w| w.delta).min();
        self.height.level = largest;
        self.height.delta = lowest.unwrap_or(0).saturating_sub(1);
        Event::Propagated
    }

    /// What a node without a way down does about it.
    fn react_as_sink(&mut self) -> Option<Event> {
        let largest = self.neighbours().map(|w| w.level).max()?;
        Some(if self.neighbours().any(|w| w.level != largest) {
            self.propagate(largest)
        } else if largest.tau != 0 && !largest.reflected {
            self.reflect(largest)
        } else if largest.tau != 0 && largest.oid == self.height.id {
            self.elect_self()
        } else {
            self.start_search()
        })
    }

    /// ADOPTLPIFPRIORITY. Where the peer's leader is the worse one, the caller answers.
    fn react_to_other_leader(&mut self, peer: Height) -> Event {
        let own = &mut self.height;
        let is_disputed = self.options.rules != HeightRules::Published && peer.leader.lid == own.id;
        if peer.leader >= own.leader {
            Event::Replied(peer.id)
        } else if is_disputed && self.claims < CLAIMS_MAX {
            self.claims += CLAIM;
            self.elect_self()
        } else {
            own.level = peer.level;
            own.delta = peer.delta.saturating_add(1);
            own.leader = peer.leader;
            if is_disputed { Event::Disputed(peer.id) } else { Event::Adopted(peer.id) }
        }
    }
}

#[cfg(test)]
mod tests;
