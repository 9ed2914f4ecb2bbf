//! Ring mode: who of a configured ring is alive, who stands beside whom, and how they reach each other.
//!
//! Model: links to some of the other members that go up and down, and deliver in order while up; nothing is assumed of
//! where boards stand, so ring neighbours need not hear each other. A [`RingKeeper`] finds a way to every member over
//! whatever links there are ([`routes`]); a member is alive while there is a way to it. Left and right are the nearest
//! living members in ring order: the dead are bypassed, those that return are spliced in, and an edge that no radio
//! bridges is carried by the members between, where need be the whole line back (the fold). Election messages travel in
//! numbered envelopes ([`edges`]) and keep their order while ways do not change.
//!
//! What keeps elections going:
//! - *Heartbeat.* Whoever leads issues a new number of its own each heartbeat, which spreads like any other news. A
//!   member that hears no newer one for [`Timings::leader_silence`] is told [`RingOutput::LeaderSilent`].
//! - *Disturbance.* Where a message was or may have been lost on the way, somebody who knows is told
//!   [`RingOutput::Disturbed`], so that the election is begun again instead of waiting for the end of its patience.
//! - *Dispute.* Every update names the leader that its sender follows. Neighbours that keep naming different ones are
//!   told [`RingOutput::Disputed`]. No algorithm should need it; it bounds what a defect or bad luck can do.
//!
//! # The driver contract
//!
//! Inputs are [`start`](RingKeeper::start), [`link_up`](RingKeeper::link_up), [`link_down`](RingKeeper::link_down),
//! [`receive`](RingKeeper::receive), [`set_leader`](RingKeeper::set_leader), [`send`](RingKeeper::send) (while
//! [`can_send`](RingKeeper::can_send)), [`timeout`](RingKeeper::timeout). After each of them the driver collects
//! [`poll_output`](RingKeeper::poll_output) until there is nothing more, then asks [`poll_timeout`](RingKeeper::poll_timeout).
//! Where the links have little room left it says so with [`set_room`](RingKeeper::set_room): news are then held back, and
//! are fewer the longer they wait, since only the newest word on each member is sent.

pub mod edges;
mod hear;
pub mod routes;
#[cfg(test)]
mod tests;
mod upkeep;
pub mod wire;

use heapless::Vec;

use self::edges::Edges;
use self::routes::Routes;
use self::upkeep::Deadlines;
use self::wire::{Entry, Envelope, NOBODY, PAYLOAD_MAX};
use crate::config::Timings;
use crate::limits::MEMBERS_MAX;
use crate::link::body::Parcel;
use crate::members::{Members, RingOrder};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

/// Envelopes waiting for the driver's next poll. One input makes at most one; the rest is for those that a newcomer is
/// greeted with.
pub const ENVELOPES_MAX: usize = 4;

/// Between two messages of news, so that a node does not fill its links with what will soon be old.
pub const NEWS_GAP: Duration = Duration::from_millis(15);

/// Between two rounds of asking for newer numbers.
pub const ASK_GAP: Duration = Duration::from_millis(100);

/// After a change of members the new place is told this much later: changes come in swarms, elections should not.
pub const SETTLE: Duration = Duration::from_millis(50);

/// Disturbances are told at most this often.
pub const DISTURB_GAP: Duration = Duration::from_millis(250);

/// A ring that this node is not on, or that has more than [`MEMBERS_MAX`] members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NotAMember;

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SendError {
    /// Too many are waiting; see [`RingKeeper::can_send`].
    Full,
    /// There is no way to this member now. When there is one again, the loss is told as a disturbance.
    NoRoute,
    /// It is longer than [`PAYLOAD_MAX`].
    TooLong,
}

/// What a [`RingKeeper`] wants or tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingOutput {
    /// Send this to all linked neighbours.
    SendAll(Parcel),
    /// Send this to one linked neighbour.
    SendTo(NodeId, Parcel),
    /// There is a way to this member: it is alive.
    MemberUp(NodeId),
    /// There was no way to this member for too long: it counts as gone.
    MemberDown(NodeId),
    /// This node's neighbours on the ring are now these.
    Place(RingPlace),
    /// An election message from a member.
    Deliver(NodeId, Parcel),
    /// The leader was not heard for too long.
    LeaderSilent(NodeId),
    /// Something was or may have been lost: the election should be begun again.
    Disturbed,
    /// This linked neighbour has followed another leader for too long: the election should be begun again.
    Disputed(NodeId),
}

/// What went wrong since the start. Every count stops at its largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RingCounters {
    /// Messages that are none, or came from nobody linked.
    pub malformed: u16,
    /// Envelopes dropped because there was no way on.
    pub unroutable: u16,
    /// Envelopes dropped because they had been passed on too often.
    pub expired: u16,
    /// Envelopes dropped because the queue was full.
    pub full: u16,
    /// Envelopes dropped because a later one was faster, or the sender was not known yet.
    pub refused: u16,
    /// Gaps in the numbers of envelopes.
    pub gaps: u16,
    /// Times that the election was begun again because of any of these.
    pub disturbed: u16,
}

/// An envelope on its way on, or one that has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Queued {
    To(u8, Parcel),
    From(u8, Parcel),
}

/// Things to tell that are told once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Due {
    place: bool,
    silent: bool,
    disturbed: bool,
    disputed: bool,
}

/// Ring mode of one node. See the module's page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingKeeper {
    id: NodeId,
    own: u8,
    order: RingOrder,
    heartbeat: Duration,
    silence: Duration,
    routes: Routes,
    edges: Edges,
    /// How many ticks more a member without a way is waited for, or asked for.
    hold: [u8; MEMBERS_MAX],
    linked: Members,
    alive: Members,
    /// Those of which the driver was told that they are alive.
    told: Members,
    /// Of whom there is news for the neighbours.
    news: Members,
    /// Of whom a newer number is wanted.
    wanted: Members,
    /// For whom a request was passed on in this tick.
    asked: Members,
    /// To whom something could not be sent, or may have been lost.
    missed: Members,
    /// Who wrote before this node knew of it.
    unmet: Members,
    /// Whom the driver is to be told of anew.
    lapsed: Members,
    /// To which neighbours envelopes were given lately, and shortly before.
    carried: [Members; 2],
    queue: Vec<Queued, ENVELOPES_MAX, u8>,
    has_room: bool,
    leader: u8,
    /// The newest number heard of the leader.
    leader_number: u16,
    /// The neighbour that follows another leader.
    disputant: u8,
    place: RingPlace,
    due: Due,
    at: Deadlines,
    counters: RingCounters,
}

impl RingKeeper {
    /// A member of a ring that knows of nobody yet.
    pub fn new(id: NodeId, order: RingOrder, timings: Timings) -> Result<Self, NotAMember> {
        let own = order.position(id).filter(|_| order.ids().len() <= MEMBERS_MAX).ok_or(NotAMember)?;
        Ok(Self {
            id,
            own,
            order,
            heartbeat: Duration::from_millis(u64::from(timings.heartbeat_ms)),
            silence: timings.leader_silence(),
            routes: Routes::new(own),
            edges: Edges::new(),
            hold: [0; MEMBERS_MAX],
            linked: Members::default(),
            alive: Members::of(own),
            told: Members::of(own),
            news: Members::default(),
            wanted: Members::default(),
            asked: Members::default(),
            missed: Members::default(),
            unmet: Members::default(),
            lapsed: Members::default(),
            carried: [Members::default(); 2],
            queue: Vec::new(),
            has_room: true,
            leader: NOBODY,
            leader_number: 0,
            disputant: NOBODY,
            place: RingPlace { left: id, right: id },
            due: Due::default(),
            at: Deadlines::NONE,
            counters: RingCounters::default(),
        })
    }

    /// Starts: the node is alone on its ring, and says so.
    pub fn start(&mut self, _now: Instant) {
        self.due.place = true;
    }

    /// The link to a neighbour came up. Neighbours that are not on the ring are of no use and ignored.
    pub fn link_up(&mut self, now: Instant, peer: NodeId) {
        let Some(position) = self.order.position(peer).filter(|&position| position != self.own) else { return };
        if self.linked.contains(position) {
            self.link_down(now, peer);
        }
        self.linked = self.linked.with(position);
        let known = (0_u8..).take(self.order.ids().len()).filter(|&member| self.routes.entry(member).is_some());
        self.news = known.fold(Members::default(), Members::with);
    }

    /// The link to a neighbour went down: every way through it is gone.
    pub fn link_down(&mut self, now: Instant, peer: NodeId) {
        let Some(position) = self.order.position(peer).filter(|&position| self.linked.contains(position)) else {
            return;
        };
        self.linked = self.linked.without(position);
        let had_envelopes = self.carried.iter().any(|carried| carried.contains(position));
        self.carried = self.carried.map(|carried| carried.without(position));
        let mut lost = Members::default();
        self.routes.forget(position, |member| lost = lost.with(member));
        for member in lost.iter() {
            self.lose(now, member);
            if had_envelopes {
                self.missed = self.missed.with(member);
            }
        }
        if self.disputant == position {
            self.settle_dispute();
        }
    }

    /// Whether an election message would be taken now. A driver leaves further ones where they are until then.
    pub fn can_send(&self) -> bool {
        self.has_room && !self.queue.is_full()
    }

    /// Whether the links have room for more. While they have not, nothing is sent but what was passed on to this node.
    pub fn set_room(&mut self, has_room: bool) {
        self.has_room = has_room;
    }

    /// The driver has dropped what it was to send to a member, as an engine does whose queue was full: the member is told of
    /// anew with the next disturbance, which leaves the links time to get rid of something.
    pub fn renew(&mut self, now: Instant, member: NodeId) {
        if let Some(position) = self.order.position(member).filter(|&position| position != self.own) {
            self.lapsed = self.lapsed.with(position);
            count(&mut self.counters.full);
            self.disturb(now);
        }
    }

    /// Sends an encoded election message to a living member.
    pub fn send(&mut self, now: Instant, to: NodeId, payload: &[u8]) -> Result<(), SendError> {
        if payload.len() > PAYLOAD_MAX {
            return Err(SendError::TooLong);
        }
        if self.queue.is_full() {
            count(&mut self.counters.full);
            return Err(SendError::Full);
        }
        let alive = |&position: &u8| self.alive.contains(position) && position != self.own;
        let to = self.order.position(to).filter(alive).ok_or(SendError::NoRoute)?;
        self.write(now, to, payload)
    }

    /// Tells which leader this node follows, itself included.
    pub fn set_leader(&mut self, now: Instant, leader: Option<NodeId>) {
        let leader = leader.and_then(|leader| self.order.position(leader)).unwrap_or(NOBODY);
        if leader == self.leader {
            return;
        }
        self.leader = leader;
        self.leader_number = self.routes.number(leader);
        self.settle_dispute();
        self.at.beat = if leader == self.own { now } else { Instant::NEVER };
        self.at.silence = if leader == self.own || leader == NOBODY { Instant::NEVER } else { now + self.silence };
        self.tell_of(self.own);
        self.timeout(now);
    }

    /// The next thing to do or to know.
    pub fn poll_output(&mut self, now: Instant) -> Option<RingOutput> {
        if let Some(gone) = self.told.minus(self.alive).iter().next() {
            self.told = self.told.without(gone);
            return self.id_at(gone).map(RingOutput::MemberDown);
        }
        if let Some(new) = self.alive.minus(self.told).iter().next() {
            self.told = self.told.with(new);
            if self.unmet.contains(new) {
                self.unmet = self.unmet.without(new);
                // Told to say it again. Where that cannot be sent either, it is in the books as missed.
                if self.write(now, new, &[]).is_err() {
                    self.missed = self.missed.with(new);
                }
            }
            return self.id_at(new).map(RingOutput::MemberUp);
        }
        if core::mem::take(&mut self.due.place) {
            return Some(RingOutput::Place(self.place));
        }
        if !self.queue.is_empty() {
            return match self.queue.remove(0) {
                Queued::To(next, parcel) => self.id_at(next).map(|next| RingOutput::SendTo(next, parcel)),
                Queued::From(from, parcel) => self.id_at(from).map(|from| RingOutput::Deliver(from, parcel)),
            };
        }
        self.poll_signal().or_else(|| self.poll_news(now))
    }

    fn poll_signal(&mut self) -> Option<RingOutput> {
        // Whoever is silent or disputes may have been forgotten since; then there is nothing to tell.
        if core::mem::take(&mut self.due.silent)
            && let Some(leader) = self.id_at(self.leader)
        {
            return Some(RingOutput::LeaderSilent(leader));
        }
        if core::mem::take(&mut self.due.disputed)
            && let Some(disputant) = self.id_at(self.disputant)
        {
            return Some(RingOutput::Disputed(disputant));
        }
        core::mem::take(&mut self.due.disturbed).then_some(RingOutput::Disturbed)
    }

    /// A message of news, or one that asks, where it is time for one.
    fn poll_news(&mut self, now: Instant) -> Option<RingOutput> {
        if !self.has_room || self.linked.is_empty() || now < self.at.news {
            return None;
        }
        let parcel = if !self.news.is_empty() {
            let told = self.news.iter().take(wire::ENTRIES_MAX).fold(Members::default(), Members::with);
            self.news = self.news.minus(told);
            let leader = Some(self.leader).filter(|&leader| leader != NOBODY);
            wire::update(leader, told.iter().filter_map(|member| self.routes.entry(member)))
        } else if !self.wanted.is_empty() && now >= self.at.ask {
            self.at.ask = now + ASK_GAP;
            let hops = self.hops_max();
            wire::request(self.wanted.iter().map(|position| {
                let number = self.routes.number(position).wrapping_add(1);
                Entry { position, number, hops }
            }))
        } else {
            return None;
        };
        self.at.news = now + NEWS_GAP;
        parcel.ok().map(RingOutput::SendAll)
    }

    /// The place last told.
    pub fn place(&self) -> RingPlace {
        self.place
    }

    /// Whether a member counts as alive; this node does.
    pub fn is_alive(&self, member: NodeId) -> bool {
        self.order.position(member).is_some_and(|position| self.alive.contains(position))
    }

    /// The neighbour on the way to a member.
    pub fn next_hop(&self, member: NodeId) -> Option<NodeId> {
        self.routes.next(self.order.position(member)?).and_then(|next| self.id_at(next))
    }

    /// What went wrong since the start.
    pub fn counters(&self) -> RingCounters {
        self.counters
    }

    fn id_at(&self, position: u8) -> Option<NodeId> {
        self.order.ids().get(usize::from(position)).copied()
    }

    /// No way is longer than there are members.
    fn hops_max(&self) -> u8 {
        u8::try_from(self.order.ids().len()).unwrap_or(u8::MAX)
    }

    /// The neighbours are to hear how this node now stands to a member.
    fn tell_of(&mut self, member: u8) {
        if !self.linked.is_empty() {
            self.news = self.news.with(member);
        }
    }

    fn write(&mut self, now: Instant, to: u8, payload: &[u8]) -> Result<(), SendError> {
        let number = self.edges.stamp(to);
        self.post(now, Envelope { to, from: self.own, hops: self.hops_max(), number }, payload)
    }
}

/// Counts one more.
fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}
