//! A node's orders: passes messages and events between them, the links and the election.

use heapless::Vec;

use super::{FOR_ORDERS, Node};
use crate::election::Election;
use crate::limits::{POOL_MAX, TABLE_MAX};
use crate::orders::{Action, Command, Orders, Outcome, Register, Standing, SubmitError};
use crate::protocol::{Protocol, Signal};
use crate::ring::RingKeeper;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// A full pool ends a link, and the election's messages go first; so orders leave half of it free.
const LEFT_FREE: usize = POOL_MAX / 2;

/// How long orders wait before they look again for room in the pool.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Node {
    /// Gives the network a command, for the leader to order. [`poll_outcome`](Self::poll_outcome) reports its
    /// [`Outcome`] with the number that this returns.
    pub fn submit(&mut self, now: Instant, command: Command) -> Result<u8, SubmitError> {
        self.finish();
        self.orders.set_standing(now, self.standing());
        let number = self.orders.submit(now, command);
        self.work(now);
        number
    }

    /// A neighbour has sent a message of the orders.
    pub(super) fn receive_orders(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        self.orders.set_standing(now, self.standing());
        self.orders.receive(now, from, bytes);
    }

    /// What became of a command that was submitted here, with its number.
    pub fn poll_outcome(&mut self) -> Option<(u8, Outcome)> {
        self.finish();
        self.orders.poll_outcome()
    }

    /// Something that the network has told this board to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.finish();
        if self.actions.is_empty() { None } else { Some(self.actions.remove(0)) }
    }

    /// The value of a register, as last ordered.
    pub fn register(&self, register: Register) -> u32 {
        self.orders.register(register)
    }

    /// Restores a piece of what the driver has kept of orders. To be called after boot and before
    /// [`handle_start`](Self::handle_start).
    pub fn handle_kept(&mut self, piece: &[u8]) {
        self.orders.recover(piece);
        self.keeping.settle(&self.orders);
    }

    /// Whether the driver is to write to flash what [`Orders::keep`] gives out, in place of what it has kept before. Drivers that
    /// keep orders ask after every call.
    pub fn poll_kept(&mut self, now: Instant) -> bool {
        self.keeping.is_due(now, &self.orders)
    }

    /// The orders, for checkers and displays.
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Tells the orders this node's standing, does what they say, and sends their messages.
    pub(super) fn carry_orders(&mut self, now: Instant) {
        if self.orders.is_idle() {
            self.orders_at = Instant::NEVER;
            return;
        }
        self.orders.set_standing(now, self.standing());
        if self.orders.poll_timeout() <= now {
            self.orders.timeout(now);
        }
        while let Some(action) = self.orders.poll_deed(now) {
            if action == Action::Elect {
                self.engine.handle_signal(now, Signal::Elect);
                self.collect(now);
            } else {
                // If there is no room, the driver has not collected the last deeds, which were the same or will restart
                // it.
                let _ = self.actions.push(action);
            }
        }
        while self.links.room() > LEFT_FREE
            && let Some(outgoing) = self.orders.poll_transmit(now)
        {
            let to: Vec<NodeId, TABLE_MAX, u8> =
                self.linked().filter(|&id| self.orders.is_for(&outgoing, id)).collect();
            self.send(now, &|id| to.contains(&id), FOR_ORDERS, &outgoing.bytes, false);
        }
        self.orders_at = if self.orders.has_words(now) { now + LOOK_AGAIN } else { Instant::NEVER };
    }

    /// When the orders need a call. Messages that wait for room are not due before the next try, or the node would be
    /// woken without end.
    pub(super) fn orders_due(&self) -> Option<Instant> {
        let due = if self.orders_at == Instant::NEVER { self.orders.poll_timeout() } else { self.orders_at };
        Some(due.min(self.keeping.at())).filter(|&due| due != Instant::NEVER)
    }

    /// Compares which links there are with what the orders believe.
    pub(super) fn audit_orders(&mut self, now: Instant) {
        let linked: Vec<NodeId, TABLE_MAX, u8> = self.linked().collect();
        self.orders.audit(now, &linked);
    }

    pub(super) fn linked(&self) -> impl Iterator<Item = NodeId> {
        self.links.table().linked().map(|(_, neighbour)| neighbour.id)
    }

    fn standing(&self) -> Standing {
        // A leader of a ring that elects again goes on, since all follow it until another has won: that may take its patience, and
        // its orders are fenced like any other's.
        let elected = self.engine.protocol().leader();
        let leads = self.leader == Some(self.id()) && elected.is_none_or(|elected| elected == self.id());
        let elected_at = match self.election() {
            Election::Height(node) => node.height().leader.elected_at,
            Election::Hierarchy(node) => node.height().leader.elected_at,
            _ => 0,
        };
        let population = self.ring.as_ref().map_or(0, RingKeeper::living);
        Standing { leads, elected_at, next_hop: self.next_hop().filter(|_| !leads), population }
    }
}
