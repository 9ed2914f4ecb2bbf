//! Ring mode: who of a configured ring is alive, who stands beside whom, and how they reach each other.
//!
//! Model: links to some of the other members that go up and down, and deliver in order while up. Nothing is assumed of where
//! boards stand, so ring neighbours need not hear each other. A [`RingKeeper`] finds a route to every member over whatever
//! links there are ([`routes`]); a member is alive while there is a route to it. Left and right are the nearest living
//! members in ring order: the dead are bypassed, those that return are spliced in, and an edge that no radio bridges is
//! carried by the members between, where need be the whole line back (the fold). Election messages travel in numbered
//! envelopes ([`edges`]) and keep their order while routes do not change.
//!
//! Routes are told of in hellos, which are sent anyway ([`tell`](RingKeeper::tell),
//! [`receive_hello`](RingKeeper::receive_hello)): those that have changed first, then all in turn. A hello may be lost, so
//! everything in it is said again. Only election messages go over the links.
//!
//! What keeps elections going:
//! - *Heartbeat.* Every member gives its own announcements a newer number each heartbeat. A node that hears no newer number of
//!   the leader for [`SILENCE`] times [`Timings::leader_silence`], and more on a large ring, reports
//!   [`RingOutput::LeaderSilent`]. That is for a leader that no longer announces itself; the neighbours of one that is
//!   gone notice long before.
//! - *Disturbance.* A node that knows that a message was or may have been lost reports [`RingOutput::Disturbed`], so that the
//!   election is begun again instead of waiting for the end of its patience.
//! - *Hearsay.* Every hello says how its sender's election ended, so a node that missed the end learns it
//!   ([`RingOutput::Outcome`]).
//! - *Dispute.* Every hello names the leader that its sender follows. Neighbours that keep naming different ones report
//!   [`RingOutput::Disputed`]. No algorithm should need it; it bounds what a defect or bad luck can do.
//!
//! # Who owns what
//!
//! The keeper itself only connects: `roster` owns who is alive and this node's place, [`routes`] the way to each member,
//! [`edges`] the numbers of envelopes, `news` what hellos tell, `hearsay` what
//! others say of their elections, `leader_watch` the doubts about the leader, `losses` the
//! waits for members and the envelopes in doubt, and `disturbance` when the election is begun again.
//!
//! # The driver contract
//!
//! Inputs are [`start`](RingKeeper::start), [`link_up`](RingKeeper::link_up), [`link_down`](RingKeeper::link_down),
//! [`receive`](RingKeeper::receive), [`receive_hello`](RingKeeper::receive_hello), [`set_leader`](RingKeeper::set_leader),
//! [`send`](RingKeeper::send) (while [`can_send`](RingKeeper::can_send)) and [`timeout`](RingKeeper::timeout). After each of
//! them the driver collects [`poll_transmit`](RingKeeper::poll_transmit) and [`poll_output`](RingKeeper::poll_output) until
//! there is nothing more, then asks [`poll_timeout`](RingKeeper::poll_timeout), and [`take_hurry`](RingKeeper::take_hurry)
//! whether the next hello should come soon. While the links have little room left the driver says so with
//! [`set_room`](RingKeeper::set_room), and the keeper takes no election messages. What it reports may wait for as long as the
//! election has no room for it: the keeper keeps sets of members, not lists of what happened.

mod audit;
mod disturbance;
pub mod edges;
#[cfg(test)]
mod healing_tests;
mod hearsay;
mod leader_watch;
mod losses;
mod news;
pub mod number;
mod receive;
mod roster;
pub mod routes;
#[cfg(test)]
mod tests;
mod timeout;
pub mod wire;

use heapless::Vec;

pub use self::disturbance::DISTURB_GAP;
use self::disturbance::Disturbance;
use self::edges::Edges;
use self::hearsay::Hearsay;
use self::leader_watch::LeaderWatch;
use self::losses::Losses;
use self::news::News;
use self::number::Number;
use self::roster::Roster;
use self::routes::{Routes, age_max};
use self::wire::{Envelope, HOPS_MAX, Lead, NOBODY, PAYLOAD_MAX};
use crate::config::Timings;
use crate::limits::MEMBERS_MAX;
use crate::link::body::Parcel;
use crate::members::{Members, Position, RingOrder};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Side};

/// Envelopes waiting for the driver's next poll: those that the election is to read, and one on its way out. One input makes at
/// most one, and the driver collects it at once.
pub const ENVELOPES_MAX: usize = READING_MAX + 1;

/// Envelopes that wait for the election. While it has words that the links have no room for, it reads nothing.
const READING_MAX: usize = 3;

/// A leader may be silent for this many times the configured time, since its numbers come in hellos, hop by hop.
pub const SILENCE: u32 = 3;

/// And so much longer for each member: the further the number has to come, the likelier somewhere on its way hellos were lost in
/// a row.
const SILENCE_MEMBER: Duration = Duration::from_millis(250);

/// How long the leader of a ring of this size may be silent, and two neighbours may follow different leaders.
fn silence(timings: Timings, ring_size: usize) -> Duration {
    timings.leader_silence().times(SILENCE) + SILENCE_MEMBER.times(u32::try_from(ring_size).unwrap_or(u32::MAX))
}

/// How long the number of a new leader may take to come round, for each member: as long as a hurried hello after another.
const ARRIVAL_MEMBER: Duration = Duration::from_millis(150);

fn arrival(ring_size: usize) -> Duration {
    ARRIVAL_MEMBER.times(u32::try_from(ring_size).unwrap_or(u32::MAX))
}

/// How long the keeper waits, after finding a member or losing a message, before it reports what follows from it: both come
/// in swarms, elections should not.
pub const SETTLE: Duration = Duration::from_millis(50);

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
    /// There is no route to this member now. When there is one again, the keeper reports a disturbance.
    NoRoute,
    /// It is longer than [`PAYLOAD_MAX`].
    TooLong,
}

/// What a [`RingKeeper`] reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingOutput {
    /// There is a route to this member: it is alive.
    MemberUp(NodeId),
    /// There was no route to this member for too long: it counts as gone.
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
    /// A member's election gave this leader, which is alive; this node's has not, or was an earlier one.
    Outcome(Outcome),
}

/// What went wrong since the start. Every count stops at its largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RingCounters {
    /// Messages that make no sense, or whose sender is not linked.
    pub malformed: u16,
    /// Envelopes dropped because there was no route.
    pub unroutable: u16,
    /// Envelopes dropped because they had been passed on too often.
    pub expired: u16,
    /// Envelopes dropped because the queue was full.
    pub full: u16,
    /// Envelopes dropped because a later one was faster, or the sender was not known yet.
    pub refused: u16,
    /// Gaps in the numbers of envelopes.
    pub gaps: u16,
    /// How often the election was begun again because of any of these.
    pub disturbed: u16,
}

/// An envelope for a neighbour, or what has arrived from a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Queued {
    To(Position, Parcel),
    From(Position, Parcel),
}

/// Ring mode of one node. See the module's page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingKeeper {
    roster: Roster,
    routes: Routes,
    edges: Edges,
    news: News,
    watch: LeaderWatch,
    hearsay: Hearsay,
    /// The last leader that this node has let go of, where no newer number of it has come since.
    left: Position,
    losses: Losses,
    disturbance: Disturbance,
    /// The driver is to begin the election again.
    is_disturbed: bool,
    linked: Members,
    /// Members that a neighbour said it has no route to, since their number was last newer here.
    lacked: Members,
    queue: Vec<Queued, ENVELOPES_MAX, u8>,
    has_room: bool,
    counters: RingCounters,
}

impl RingKeeper {
    /// A member of a ring that knows of nobody yet.
    pub fn new(id: NodeId, order: RingOrder, timings: Timings) -> Result<Self, NotAMember> {
        let size = order.ids().len();
        let own = order.position(id).filter(|_| size <= MEMBERS_MAX).ok_or(NotAMember)?;
        Ok(Self {
            roster: Roster::new(id, own, order),
            routes: Routes::new(own),
            edges: Edges::new(),
            news: News::new(timings.heartbeat_ms),
            watch: LeaderWatch::new(silence(timings, size), arrival(size)),
            hearsay: Hearsay::default(),
            left: NOBODY,
            losses: Losses::new(size),
            disturbance: Disturbance::new(size),
            is_disturbed: false,
            linked: Members::default(),
            lacked: Members::default(),
            queue: Vec::new(),
            has_room: true,
            counters: RingCounters::default(),
        })
    }

    /// Starts: the node is alone on its ring, and says so.
    pub fn start(&mut self, _now: Instant) {
        self.roster.start();
    }

    /// Counts from the beginning of this boot. To be called before the first hello, since numbers belong to their boot.
    pub fn set_epoch(&mut self, epoch: u16) {
        self.routes.set_own(self.roster.own(), Number::of_boot(epoch));
    }

    /// The link to a neighbour came up. The keeper ignores neighbours that are not on the ring.
    pub fn link_up(&mut self, now: Instant, peer: NodeId) {
        let Some(position) = self.roster.position_of_other(peer) else { return };
        if self.linked.contains(position) {
            self.link_down(now, peer);
        }
        self.linked = self.linked.with(position);
        if self.routes.link_up(position) {
            self.gain(now, position);
        }
        // All members are told of in turn, this node first.
        self.news.hurry();
    }

    /// The link to a neighbour went down: every route through it is gone.
    pub fn link_down(&mut self, now: Instant, peer: NodeId) {
        let Some(position) = self.roster.position(peer).filter(|&position| self.linked.contains(position)) else {
            return;
        };
        self.linked = self.linked.without(position);
        let had_envelopes = self.losses.link_down(position);
        let mut lost = Members::default();
        self.routes.forget(position, |member| lost = lost.with(member));
        for member in lost.iter() {
            self.lose(now, member);
            if had_envelopes {
                self.losses.miss(member);
            }
        }
        self.watch.link_down(position);
        // Whoever came this way needs a newer number to take a longer one.
        self.routes.set_own(self.roster.own(), self.routes.number(self.roster.own()).next());
        if !self.linked.is_empty() {
            self.news.hurry();
        }
    }

    /// The leader has fallen silent, its neighbours say so, and nobody has a younger sign of life: there is no point in waiting
    /// for another way to it.
    pub fn condemn(&mut self, now: Instant, leader: NodeId) {
        let alive = self.roster.position_of_other(leader).filter(|&leader| self.roster.is_alive(leader));
        // Another way that has come up since is told of by somebody who has not noticed.
        if let Some(leader) = alive.filter(|&leader| !self.linked.contains(leader)) {
            if self.routes.drop_way(leader) {
                self.tell_of(leader);
            }
            self.watch.condemn();
            self.losses.condemn(now, leader);
        }
    }

    /// Whether the keeper would take an election message now. Until then a driver leaves further ones where they are.
    pub fn can_send(&self) -> bool {
        self.has_room && !self.queue.is_full()
    }

    /// Whether the keeper would take a message from a neighbour now. Until then a driver leaves it with the links.
    pub fn can_receive(&self) -> bool {
        self.queue.iter().filter(|queued| matches!(queued, Queued::From(..))).count() < READING_MAX
    }

    /// Whether the links have room for more. While they have none, the keeper only passes on what others sent.
    pub fn set_room(&mut self, has_room: bool) {
        self.has_room = has_room;
    }

    /// The configured members in their order.
    pub fn order(&self) -> &RingOrder {
        self.roster.order()
    }

    /// How far apart hurried hellos come on this channel.
    pub fn set_pace(&mut self, pause: Duration) {
        self.losses.set_pace(pause);
        self.roster.set_pace(pause);
    }

    /// Sends an encoded election message to a living member. One that goes round the ring, from neighbour to neighbour, is for
    /// the member behind it where that one has just been lost.
    pub fn send(&mut self, now: Instant, to: NodeId, payload: &[u8], goes_round: bool) -> Result<(), SendError> {
        if payload.len() > PAYLOAD_MAX {
            return Err(SendError::TooLong);
        }
        if self.queue.is_full() {
            count(&mut self.counters.full);
            return Err(SendError::Full);
        }
        let living = self.roster.position_of_other(to).filter(|&position| self.roster.is_alive(position));
        let RingPlace { left, right } = self.roster.place();
        let side = if to == right { Some(Side::Right) } else { Some(Side::Left).filter(|_| to == left) };
        self.write(now, living.ok_or(SendError::NoRoute)?, side.filter(|_| goes_round), payload)
    }

    /// Tells the keeper which leader this node follows, itself included.
    pub fn set_leader(&mut self, now: Instant, leader: Option<NodeId>) {
        let leader = leader.and_then(|leader| self.roster.position(leader)).unwrap_or(NOBODY);
        if leader != self.watch.watched() {
            self.watch.watch(now, leader, self.routes.number(leader), self.roster.own());
            self.timeout(now);
        }
    }

    /// Tells the keeper how far this node's election is. A new leader gives itself a newer number, which goes from hello to hello
    /// right behind the election: those that have lost their way to it need one, and those that have missed its announcement
    /// learn of it.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        let own = self.roster.own();
        let before = self.hearsay.leader().filter(|&before| Some(before) != outcome.leader);
        if let Some(before) = before.and_then(|before| self.roster.position(before)) {
            self.left = before;
        }
        if self.hearsay.set(outcome) && outcome.leader == self.roster.id_at(own) && !self.linked.is_empty() {
            self.routes.set_own(own, self.routes.number(own).next());
            self.news.hurry();
        }
    }

    /// The next envelope to send, and the linked neighbour that it is for.
    pub fn poll_transmit(&mut self) -> Option<(NodeId, Parcel)> {
        let first = self.queue.iter().position(|queued| matches!(queued, Queued::To(..)))?;
        match self.queue.remove(first) {
            Queued::To(next, parcel) => self.roster.id_at(next).map(|next| (next, parcel)),
            Queued::From(..) => None,
        }
    }

    /// The next thing to do or to know, once there is nothing to [send](Self::poll_transmit).
    pub fn poll_output(&mut self, now: Instant) -> Option<RingOutput> {
        if let Some(gone) = self.roster.take_gone() {
            return self.roster.id_at(gone).map(RingOutput::MemberDown);
        }
        if let Some(new) = self.roster.take_new() {
            // An empty envelope asks the member to say again what was refused. Where that cannot be sent either, the member
            // counts as missed.
            if self.losses.take_refused(new) && self.write(now, new, None, &[]).is_err() {
                self.losses.miss(new);
            }
            return self.roster.id_at(new).map(RingOutput::MemberUp);
        }
        if let Some(place) = self.roster.take_place() {
            self.disturbance.note(now);
            return Some(RingOutput::Place(place));
        }
        if let Some(first) = self.queue.iter().position(|queued| matches!(queued, Queued::From(..)))
            && let Queued::From(from, parcel) = self.queue.remove(first)
        {
            return self.roster.id_at(from).map(|from| RingOutput::Deliver(from, parcel));
        }
        self.poll_signal()
    }

    fn poll_signal(&mut self) -> Option<RingOutput> {
        if let Some(leader) = self.watch.take_silent() {
            // Nobody led for as long as a leader may be silent: whatever the election waits for does not come.
            return Some(self.roster.id_at(leader).map_or(RingOutput::Disturbed, RingOutput::LeaderSilent));
        }
        if let Some(disputant) = self.watch.take_disputed().and_then(|disputant| self.roster.id_at(disputant)) {
            return Some(RingOutput::Disputed(disputant));
        }
        // Before an election knows its neighbours, it can do nothing with that.
        if !self.roster.is_alone()
            && let Some(heard) = self.hearsay.take()
        {
            return Some(RingOutput::Outcome(heard));
        }
        core::mem::take(&mut self.is_disturbed).then_some(RingOutput::Disturbed)
    }

    /// Writes what the next hello tells of the ring; returns how many bytes that took.
    pub fn tell(&mut self, now: Instant, room: &mut [u8]) -> usize {
        let own = self.roster.own();
        self.audit(now);
        if self.news.take_beat(now) {
            self.routes.set_own(own, self.routes.number(own).next());
            let mut lost = Members::default();
            self.routes.grow_old(own, age_max(self.roster.size()), |member| lost = lost.with(member));
            lost.iter().for_each(|member| self.lose(now, member));
        }
        let leader = self.hearsay.leader().and_then(|leader| self.roster.position(leader));
        let leader = leader.filter(|&leader| self.roster.is_alive(leader)).unwrap_or(NOBODY);
        let lead = Lead { leader, election: self.hearsay.number() };
        self.news.tell(own, lead, self.roster.size(), &self.routes, room)
    }

    /// Whether the next hello should come soon; asked once each time.
    pub fn take_hurry(&mut self) -> bool {
        self.news.take_hurry()
    }

    /// This node's neighbours on the ring, as last reported.
    pub fn place(&self) -> RingPlace {
        self.roster.place()
    }

    /// Whether a node is on the ring, alive or not.
    pub fn is_member(&self, id: NodeId) -> bool {
        self.roster.position(id).is_some()
    }

    /// Whether a member counts as alive; this node does.
    pub fn is_alive(&self, member: NodeId) -> bool {
        self.roster.position(member).is_some_and(|position| self.roster.is_alive(position))
    }

    /// How many members count as alive, this one included.
    pub fn living(&self) -> u8 {
        u8::try_from(self.roster.living()).unwrap_or(u8::MAX)
    }

    /// The neighbour on the way to a member.
    pub fn next_hop(&self, member: NodeId) -> Option<NodeId> {
        self.routes.next(self.roster.position(member)?).and_then(|next| self.roster.id_at(next))
    }

    /// The member whose silence would be reported: the leader as last told, itself included.
    pub fn watched(&self) -> Option<NodeId> {
        self.roster.id_at(self.watch.watched())
    }

    pub fn counters(&self) -> RingCounters {
        self.counters
    }

    /// Lets the neighbours know soon how this node now stands to a member.
    fn tell_of(&mut self, member: Position) {
        if !self.linked.is_empty() {
            self.news.add(member);
            self.news.hurry();
        }
    }

    fn write(&mut self, now: Instant, to: Position, side: Option<Side>, payload: &[u8]) -> Result<(), SendError> {
        let number = self.edges.stamp(to);
        self.post(now, Envelope { to, from: self.roster.own(), hops: HOPS_MAX, side, number }, payload)
    }
}

#[cfg_attr(target_os = "none", inline(never))]
fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}

/// Whether a deadline has passed; if so it is cleared.
fn take_due(deadline: &mut Instant, now: Instant) -> bool {
    let is_due = *deadline <= now;
    if is_due {
        *deadline = Instant::NEVER;
    }
    is_due
}
