//! Ring mode: who of a configured ring is alive, who stands beside whom, and how they reach each other.
//!
//! Model: links to some of the other members that go up and down, and deliver in order while up; nothing is assumed of
//! where boards stand, so ring neighbours need not hear each other. A [`RingKeeper`] finds a way to every member over
//! whatever links there are ([`routes`]); a member is alive while there is a way to it. Left and right are the nearest
//! living members in ring order: the dead are bypassed, those that return are spliced in, and an edge that no radio
//! bridges is carried by the members between, where need be the whole line back (the fold). Election messages travel in
//! numbered envelopes ([`edges`]) and keep their order while ways do not change.
//!
//! Ways are told of in hellos, which are sent anyway ([`tell`](RingKeeper::tell), [`hear_hello`](RingKeeper::hear_hello)):
//! what has changed first, then everybody in turn. Such a word may be lost, and is said again. Only election messages go over
//! the links.
//!
//! What keeps elections going:
//! - *Heartbeat.* Every member gives its own announcements a newer number each heartbeat. One that hears no newer number of
//!   the leader for [`SILENCE`] times [`Timings::leader_silence`] is told [`RingOutput::LeaderSilent`]. That is for a leader
//!   that has lost its voice; one that is gone is noticed by its neighbours long before.
//! - *Disturbance.* Where a message was or may have been lost on the way, somebody who knows is told
//!   [`RingOutput::Disturbed`], so that the election is begun again instead of waiting for the end of its patience.
//! - *Dispute.* Every hello names the leader that its sender follows. Neighbours that keep naming different ones are
//!   told [`RingOutput::Disputed`]. No algorithm should need it; it bounds what a defect or bad luck can do.
//!
//! # The driver contract
//!
//! Inputs are [`start`](RingKeeper::start), [`link_up`](RingKeeper::link_up), [`link_down`](RingKeeper::link_down),
//! [`receive`](RingKeeper::receive), [`set_leader`](RingKeeper::set_leader), [`send`](RingKeeper::send) (while
//! [`can_send`](RingKeeper::can_send)), [`timeout`](RingKeeper::timeout). After each of them the driver collects
//! [`poll_output`](RingKeeper::poll_output) until there is nothing more, then asks [`poll_timeout`](RingKeeper::poll_timeout)
//! and [`take_hurry`](RingKeeper::take_hurry): whether the next hello should come soon. Where the links have little room left
//! it says so with [`set_room`](RingKeeper::set_room): election messages are then held back.

pub mod edges;
mod receive;
pub mod routes;
#[cfg(test)]
mod tests;
mod timeout;
pub mod wire;

use heapless::Vec;

use self::edges::Edges;
use self::routes::Routes;
use self::timeout::Deadlines;
use self::wire::{Envelope, NOBODY, PAYLOAD_MAX};
use crate::config::Timings;
use crate::limits::MEMBERS_MAX;
use crate::link::body::Parcel;
use crate::members::{Members, RingOrder};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

/// Envelopes waiting for the driver's next poll. One input makes at most one; the rest is for those that a newcomer is
/// greeted with.
pub const ENVELOPES_MAX: usize = 4;

/// So many times the configured silence of a leader is borne, since its numbers come in hellos, hop by hop.
pub const SILENCE: u32 = 3;

/// A place that changes because a member was found is told this much later: they come in swarms, elections should not.
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
#[expect(clippy::struct_excessive_bools, reason = "each is due or not, independent of the others")]
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
    /// Of whom there is news for the neighbours, and of whom it was told once.
    news: Members,
    again: Members,
    /// Whose turn it is to be told of where there is no news.
    turn: u8,
    /// Whether the next hello should come soon.
    in_hurry: bool,
    /// Of whom a newer number is wanted, and the neighbour that spoke last of such a one.
    wanted: Members,
    helper: u8,
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
            silence: timings.leader_silence().times(SILENCE),
            routes: Routes::new(own),
            edges: Edges::new(),
            hold: [0; MEMBERS_MAX],
            linked: Members::default(),
            alive: Members::of(own),
            told: Members::of(own),
            news: Members::default(),
            again: Members::default(),
            turn: 0,
            in_hurry: false,
            wanted: Members::default(),
            helper: NOBODY,
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
        // Everybody is told of in turn, this node first.
        self.in_hurry = true;
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
        self.at.silence = if leader == self.own || leader == NOBODY { Instant::NEVER } else { now + self.silence };
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
        self.poll_signal()
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

    /// Writes what the next hello tells of the ring; how many bytes that took.
    pub fn tell(&mut self, now: Instant, room: &mut [u8]) -> usize {
        if now >= self.at.beat {
            self.at.beat = now + self.heartbeat;
            self.routes.set_own(self.own, self.routes.number(self.own).wrapping_add(1));
        }
        let size = self.order.ids().len();
        let first = Members::of(self.own).with(self.leader);
        let urgent = self.news.minus(first);
        let repeated = self.again.minus(first).minus(urgent);
        let turn = usize::from(self.turn);
        let in_turn = (0_u8..).take(size).skip(turn).chain((0_u8..).take(turn.min(size)));
        let others = in_turn.filter(|&member| ![first, urgent, repeated].iter().any(|set| set.contains(member)));
        let all = first.iter().chain(urgent.iter()).chain(repeated.iter()).chain(others);
        let mut told = Members::default();
        let mut last = self.turn;
        let entries =
            all.filter_map(|member| self.routes.entry(member)).take(wire::fitting(room.len())).inspect(|entry| {
                told = told.with(entry.position);
                last = entry.position;
            });
        let length = wire::tell(self.leader, entries, room);
        let is_last_in_turn = ![first, urgent, repeated].iter().any(|set| set.contains(last));
        if is_last_in_turn {
            self.turn = last.wrapping_add(1);
        }
        self.again = self.again.minus(told.minus(self.news));
        self.news
            .iter()
            .filter(|&member| told.contains(member))
            .for_each(|member| self.again = self.again.with(member));
        self.news = self.news.minus(told);
        // A hello may be lost: news are told twice in a hurry.
        self.in_hurry |= !self.again.is_empty();
        length
    }

    /// Whether the next hello should come soon; asked once each time.
    pub fn take_hurry(&mut self) -> bool {
        core::mem::take(&mut self.in_hurry)
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
            self.in_hurry = true;
        }
    }

    fn write(&mut self, now: Instant, to: u8, payload: &[u8]) -> Result<(), SendError> {
        let number = self.edges.stamp(to);
        self.post(now, Envelope { to, from: self.own, hops: self.hops_max(), number }, payload)
    }
}

fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}
