//! Commands in one order: what any node submits, the leader numbers, and everybody applies.
//!
//! Model: links that come up and go down, and deliver in order while up; an election that tells each node whether it leads and
//! which neighbour is next on the way to the leader; clocks that run about alike. A node that restarts knows what its board has
//! [kept], or nothing.
//!
//! - *State* (`book`): the last order for each of sixteen registers, and the last eight actions, each with its stamp.
//! - *Stamp* (`stamp`): mandate and index. A leader takes a mandate later than any it has seen, at its election and before its
//!   next order after it has seen a later one, and counts its orders under it from 1 on.
//! - *Newest stamp*: the latest mandate that a node has seen, and up to which index it has applied its orders. Within a
//!   mandate, orders are applied by ascending index; those that a later one for the same register has superseded may be
//!   left out. It only rises: an order of an earlier mandate cannot change a register that a later one has set
//!   (fencing).
//! - *Flood* ([`flood`](self)): news goes to every neighbour that is not known to have it. Neighbours whose link comes
//!   up tell each other their newest stamps and a digest; if these differ, each tells the other what it may lack. So
//!   parts of a network that ordered on their own agree after a merge: register by register the later stamp stands.
//! - *Submission* (`submitting`): a command travels to the leader hop by hop, is sent again until it is ordered or
//!   expires, and always ends with an [`Outcome`].
//! - *Reports* (`leading`): nodes tell the leader how far they have come, so that it can say how many have applied an order.
//!
//! An action is carried out only by nodes that were running when it was ordered, and only within a minute. So a node
//! that hears of an order to restart after its restart does not restart again.
//!
//! Nothing is sent in a network that was never given a command.
//!
//! # The driver contract
//!
//! Inputs are `start`, `set_identity`, `set_standing`, `link_up`, `link_down`, `receive`, `submit` and `timeout`. After each of
//! them the driver collects `poll_transmit` while the links have room, `poll_deed` and `poll_outcome`, and asks `poll_timeout`.

mod book;
mod command;
mod flood;
pub mod kept;
mod leading;
mod links;
mod stamp;
mod submitting;
mod wire;

#[cfg(test)]
mod tests;

use core::hash::{Hash, Hasher};

use heapless::Vec;

pub use self::book::{BOOK_MAX, Book, Order};
pub use self::command::{Action, Command, Description, Key, Outcome, REGISTERS, REGISTERS_MAX, Register, RegisterUnit};
use self::leading::Leading;
use self::links::{Links, Peers};
pub use self::stamp::{Mandate, Stamp};
use self::submitting::Submitting;
pub use self::wire::{Bytes, Chunk, Message, ORDERS_MESSAGE_MAX, Row, Status, Submit, Told, Verdict};
use crate::Full;
use crate::limits::DEEDS_MAX;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The unit in which ages travel.
const AGE_UNIT_US: u64 = 250_000;

/// An action that was ordered longer ago is not carried out any more, and a command of this age is not ordered.
const AGE_MAX: u8 = 240;

/// A board that restarts at once would not pass the order on.
const RESTART_AFTER: Duration = Duration::from_millis(2_000);

/// Every node tells its neighbours this often how far it has come, in case a memory has gone wrong.
const REMIND: Duration = Duration::from_millis(30_000);

/// What the election says of this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Standing {
    pub leads: bool,
    /// When it was elected, where elections have times; 0 if they have none.
    pub elected_at: u32,
    /// The neighbour on the way to the leader.
    pub next_hop: Option<NodeId>,
    /// How many nodes are known to be there by other means, this one included; 0 if that is not known.
    pub population: u8,
}

/// What has not gone as it should since the start. Every count stops at its largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OrderCounters {
    /// Messages that make no sense, or whose sender is not linked.
    pub malformed: u16,
    /// Orders of an earlier mandate than this node's newest.
    pub fenced: u16,
    /// Orders that did not follow on the newest stamp.
    pub holes: u16,
    /// Commands, results and reports dropped for want of room or way; their origins send again.
    pub dropped: u16,
}

/// Who a node is to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    id: NodeId,
    /// None while the node must not send.
    epoch: Option<u16>,
    device: u8,
}

/// An action that this node is to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Deed {
    action: Action,
    at: Instant,
}

/// A message, and whom it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub bytes: Bytes,
    to: Peers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    identity: Identity,
    since: Instant,
    standing: Standing,
    newest: Stamp,
    book: Book,
    links: Links,
    leading: Leading,
    submitting: Submitting,
    deeds: Vec<Deed, DEEDS_MAX, u8>,
    remind_at: Instant,
    /// Rises with everything that changes the newest stamp or the book.
    revision: u32,
    counters: OrderCounters,
}

impl Orders {
    #[inline(never)]
    pub fn new(id: NodeId, epoch: Option<u16>, device: u16) -> Self {
        let [low, high] = device.to_le_bytes();
        Self {
            identity: Identity { id, epoch, device: low ^ high },
            since: Instant::ZERO,
            standing: Standing::default(),
            newest: Stamp::default(),
            book: Book::new(),
            links: Links::new(),
            leading: Leading::new(),
            submitting: Submitting::new(),
            deeds: Vec::new(),
            remind_at: Instant::NEVER,
            revision: 0,
            counters: OrderCounters::default(),
        }
    }

    pub fn start(&mut self, now: Instant) {
        self.since = now;
        if !self.newest.mandate.is_none() {
            self.remind_at = now + REMIND;
        }
    }

    /// The node has another id, or another epoch.
    pub fn set_identity(&mut self, id: NodeId, epoch: Option<u16>) {
        (self.identity.id, self.identity.epoch) = (id, epoch);
    }

    /// What the election says has changed, or may have.
    pub fn set_standing(&mut self, now: Instant, standing: Standing) {
        let before = core::mem::replace(&mut self.standing, standing);
        if before.next_hop != standing.next_hop {
            self.leading.report_again(now, self.newest);
        }
        if standing.leads && !self.newest.mandate.is_none() && !before.leads {
            self.take_mandate(now);
            self.announce(Peers::NOBODY);
        }
    }

    pub fn link_up(&mut self, now: Instant, peer: NodeId) {
        let Ok(slot) = self.links.add(peer) else { return };
        self.forget_needs(slot);
        if !self.newest.mandate.is_none() {
            self.links.sync_due = self.links.sync_due.with(Peers::of(slot));
            self.leading.report_again(now, self.newest);
        }
    }

    pub fn link_down(&mut self, peer: NodeId) {
        if let Some(slot) = self.links.find(peer) {
            self.forget_needs(slot);
            self.links.remove(slot);
        }
    }

    /// The links as they are, where something has been forgotten on the way.
    pub fn audit(&mut self, now: Instant, linked: &[NodeId]) {
        if !self.newest.mandate.is_none() {
            self.remind_at = self.remind_at.min(now + REMIND);
        }
        let stray = |orders: &Self| orders.links.iter().map(|(_, peer)| peer.id).find(|id| !linked.contains(id));
        while let Some(gone) = stray(self) {
            self.link_down(gone);
        }
        for &peer in linked {
            if self.links.find(peer).is_none() {
                self.link_up(now, peer);
            }
        }
    }

    /// Takes over what another life or an earlier time knew of the links and of the election. What was ordered stays: a leader that
    /// forgets what it has numbered would number anew.
    #[cfg(feature = "corruption")]
    pub(crate) fn take_memory_of(&mut self, other: Self) {
        // Every field is named, so that nobody adds one without asking whether it heals.
        let Self {
            standing,
            links,
            remind_at,
            identity: _,
            since: _,
            newest: _,
            book: _,
            leading: _,
            submitting: _,
            deeds: _,
            revision: _,
            counters: _,
        } = other;
        (self.standing, self.links, self.remind_at) = (standing, links, remind_at);
    }

    fn forget_needs(&mut self, slot: links::Slot) {
        self.book.iter_mut().for_each(|order| order.needs = order.needs.without(Peers::of(slot)));
    }

    /// Gives the network a command, and a number by which its [`Outcome`] is told. A value that is out of range is refused at once.
    pub fn submit(&mut self, now: Instant, command: Command) -> Result<u8, SubmitError> {
        if !command.is_allowed() {
            return Err(SubmitError::NotAllowed);
        }
        let number = self.submitting.add(now, command).map_err(|Full| SubmitError::Full)?;
        self.timeout(now);
        Ok(number)
    }

    /// A message from a neighbour.
    pub fn receive(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        let (Some(message), Some(slot)) = (Message::decode(bytes), self.links.find(from)) else {
            count(&mut self.counters.malformed);
            return;
        };
        match message {
            Message::Sync { newest, digest } => {
                if self.is_of_this_past(now, slot, newest.mandate) {
                    self.on_sync(now, slot, newest, digest);
                }
            }
            Message::Run { mandate, after, upto, chunk } => {
                if self.is_of_this_past(now, slot, mandate) {
                    self.on_run(now, slot, mandate, after, upto, &chunk);
                }
            }
            // What is earlier may be from long before.
            Message::Merge { mandate, chunk } => self.on_merge(now, slot, mandate, &chunk),
            Message::Submit(submit) => self.on_submit(now, from, submit),
            Message::Result(verdict) => self.on_result(now, verdict),
            Message::Report { number, rows } => self.on_report(now, number, &rows),
        }
    }

    pub fn timeout(&mut self, now: Instant) {
        if self.remind_at <= now {
            self.remind_at = now + REMIND;
            self.links.sync_due = self.links.all();
        }
        self.tend_submissions(now);
    }

    /// When [`timeout`](Self::timeout) is next wanted; never if nothing is waited for.
    pub fn poll_timeout(&self) -> Instant {
        let deed = self.deeds.iter().map(|deed| deed.at).min().unwrap_or(Instant::NEVER);
        self.remind_at.min(self.submitting.due()).min(self.leading.report_at()).min(deed)
    }

    /// Something that this node itself is to do now.
    pub fn poll_deed(&mut self, now: Instant) -> Option<Action> {
        let at = self.deeds.iter().position(|deed| deed.at <= now)?;
        Some(self.deeds.remove(at).action)
    }

    /// What became of a submission, with its number.
    pub fn poll_outcome(&mut self) -> Option<(u8, Outcome)> {
        self.submitting.poll()
    }

    pub fn register(&self, register: Register) -> u32 {
        self.ordered(register).unwrap_or(register.usual())
    }

    /// The value of a register; none if nobody has ordered one.
    pub fn ordered(&self, register: Register) -> Option<u32> {
        match self.book.of_register(register)?.command {
            Command::Set { value, .. } => Some(value),
            Command::Act { .. } => None,
        }
    }

    /// The latest mandate that this node has seen, and how far it has applied its orders.
    pub fn newest(&self) -> Stamp {
        self.newest
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// A number that stands for everything that this node knows; 0 if that is nothing.
    pub fn digest(&self) -> u32 {
        self.book.digest(self.newest)
    }

    /// Another number whenever the newest stamp or the book has changed: a cheap way to see that there is nothing new.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    pub fn counters(&self) -> OrderCounters {
        self.counters
    }

    /// Whether nobody has ordered or submitted anything, so far as this node knows.
    pub fn is_idle(&self) -> bool {
        self.newest.mandate.is_none() && self.submitting.is_empty() && self.leading.is_idle()
    }

    /// Whether there is something to send.
    pub fn has_words(&self, now: Instant) -> bool {
        let is_owed = |order: &Order| !order.needs.is_empty();
        !self.links.sync_due.is_empty() || self.book.iter().any(is_owed) || self.leading.has_words(now)
    }

    /// Whether a message is for this neighbour.
    pub fn is_for(&self, outgoing: &Outgoing, peer: NodeId) -> bool {
        self.links.is_among(outgoing.to, peer)
    }

    /// How a command of this node with this number is known to everybody.
    pub fn key(&self, number: u8) -> Key {
        let Identity { id, epoch, device } = self.identity;
        Key { origin: id, device, epoch: epoch.unwrap_or(0), number }
    }

    /// Carries out an action that concerns this node, if it ran when that was ordered.
    fn act(&mut self, now: Instant, order: &Order) {
        let Command::Act { action, target } = order.command else { return };
        let leader = order.stamp.mandate.leader;
        let wanted = if action == Action::Elect && target == NodeId(0) { leader } else { target };
        let is_meant = wanted == NodeId(0) || wanted == self.identity.id;
        if is_meant && order.at > self.since {
            let at = if action == Action::Restart { now + RESTART_AFTER } else { now };
            if self.deeds.push(Deed { action, at }).is_err() {
                count(&mut self.counters.dropped);
            }
        }
    }
}

/// Everything that decides what happens next. Counts are for onlookers.
impl Hash for Orders {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { identity, since, standing, newest, book, links, leading, submitting, deeds, remind_at, .. } = self;
        (identity, since, standing, newest, book, links).hash(state);
        (leading, submitting, deeds, remind_at).hash(state);
    }
}

/// Why a command was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SubmitError {
    /// The value is out of its register's range.
    NotAllowed,
    /// Too many commands of this node have no outcome yet.
    Full,
}

#[cfg_attr(target_os = "none", inline(never))]
fn count(counter: &mut u16) {
    *counter = counter.saturating_add(1);
}

/// How old something is, rounded up, in the unit that travels.
fn age(now: Instant, at: Instant) -> u8 {
    u8::try_from(now.since(at).as_micros().div_ceil(AGE_UNIT_US)).unwrap_or(u8::MAX)
}

/// When something of this age was ordered, by this node's clock; zero if it is too old to tell.
fn time_of(now: Instant, age: u8) -> Instant {
    if age > AGE_MAX { Instant::ZERO } else { now - Duration::from_micros(u64::from(age) * AGE_UNIT_US) }
}
