//! What a node knows: the last order for each register and the last few actions, sorted by stamp.
//!
//! An order replaces an earlier one for the same register and never a later one, however it arrived. So two nodes that
//! have told each other everything know the same, in whatever order they told it.

use heapless::Vec;

use super::command::{Command, Key, REGISTERS_MAX, Register};
use super::links::Peers;
use super::stamp::{Mandate, Stamp};
use crate::bits::fold;
use crate::limits::ACTIONS_MAX;
use crate::short_list::retain;
use crate::time::Instant;

/// The orders that a node remembers.
pub const BOOK_MAX: usize = REGISTERS_MAX + ACTIONS_MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    pub stamp: Stamp,
    pub command: Command,
    pub key: Key,
    /// When it was ordered, by this node's clock; zero if it is too old to tell.
    pub at: Instant,
    /// Neighbours that are still to be told.
    pub needs: Peers,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Book {
    /// Ascending.
    orders: Vec<Order, BOOK_MAX, u8>,
}

impl Book {
    pub const fn new() -> Self {
        Self { orders: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// Ascending by stamp.
    pub fn iter(&self) -> impl Iterator<Item = &Order> {
        self.orders.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Order> {
        self.orders.iter_mut()
    }

    /// The order that a register's value comes from.
    pub fn of_register(&self, wanted: Register) -> Option<&Order> {
        self.orders.iter().find(|order| matches!(order.command, Command::Set { register, .. } if register == wanted))
    }

    pub fn by_key(&self, key: Key) -> Option<&Order> {
        self.orders.iter().find(|order| order.key == key)
    }

    pub fn by_stamp(&mut self, stamp: Stamp) -> Option<&mut Order> {
        self.orders.iter_mut().find(|order| order.stamp == stamp)
    }

    /// The orders of a mandate behind this index, ascending.
    pub fn behind(&self, mandate: Mandate, after: u16) -> impl Iterator<Item = &Order> {
        self.orders.iter().filter(move |order| order.stamp.mandate == mandate && order.stamp.index > after)
    }

    /// Takes an order in; false if it is known, or a later one has made it moot.
    pub fn take(&mut self, order: Order) -> bool {
        let moot = match order.command {
            Command::Set { register, .. } => {
                let is_same =
                    |known: &Order| matches!(known.command, Command::Set { register: other, .. } if other == register);
                self.orders.iter().position(is_same)
            }
            Command::Act { .. } => {
                let is_action = |known: &&Order| matches!(known.command, Command::Act { .. });
                if self.orders.iter().any(|known| known.stamp == order.stamp) {
                    return false;
                }
                let is_full = self.orders.iter().filter(is_action).count() >= ACTIONS_MAX;
                is_full.then(|| self.orders.iter().position(|known| is_action(&known))).flatten()
            }
        };
        if let Some(at) = moot {
            if self.orders.get(at).is_some_and(|known| known.stamp >= order.stamp) {
                return false;
            }
            self.orders.remove(at);
        }
        let at = self.orders.iter().position(|known| known.stamp > order.stamp).unwrap_or(self.orders.len());
        // There is room: a slot for each register and each action, and the one that it replaces is gone.
        self.orders.insert(at, order).is_ok()
    }

    /// There is a newer mandate. What is not earlier cannot have been said by anybody who knew of it: it is of another past.
    pub fn forget_later(&mut self, newest: Mandate) {
        retain(&mut self.orders, |order| order.stamp.mandate <= newest);
    }

    /// A number that stands for everything that is known, and the newest stamp.
    pub fn digest(&self, newest: Stamp) -> u32 {
        let stamp = |stamp: Stamp| {
            let Stamp { mandate: Mandate { number, leader, epoch }, index } = stamp;
            [number, u32::from(leader.0) << 16 | u32::from(epoch), u32::from(index)]
        };
        if newest.mandate.is_none() && self.is_empty() {
            return 0;
        }
        fold(stamp(newest).into_iter().chain(self.orders.iter().flat_map(|order| stamp(order.stamp))))
    }
}
