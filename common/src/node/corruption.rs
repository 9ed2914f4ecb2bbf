//! Corrupts a node's memory, for tests of how a network heals.
//!
//! Any bit of a memory may flip, and any part of it may be overwritten. Here election, ring, links, deadlines, and what
//! passes through orders and collection are each set back, independently, to a state of another time, so that nothing
//! fits together any more. The election is also told things that nobody ever said. Only configuration, keys, the
//! numbers of frames, what is in flash, and the book of orders stay intact: no neighbour could restore those.

use super::Node;
use crate::election::ElectionMsg;
use crate::limits::MESSAGE_MAX;
use crate::names::Algorithm;
use crate::rng::Rng;
use crate::time::Instant;

/// Times as heights may have them after years.
const TIME_MAX: u32 = 1 << 24;

/// The most messages that nobody sent.
const LIES_MAX: u32 = 8;

impl Node {
    /// Corrupts the memory with what the node itself knew at another time, and with lies.
    pub fn corrupt(&mut self, now: Instant, rng: &mut Rng, other: Self) {
        // Names every field, so that whoever adds one has to decide whether it heals.
        let Self {
            links,
            engine,
            ring,
            data,
            leader,
            hold,
            heir,
            odds_until,
            audit_at,
            orders,
            orders_at,
            keeping,
            boot: _,
            wanted: _,
            is_open: _,
            notices: _,
            leader_changes: _,
            unfinished: _,
            actions: _,
            about: _,
        } = other;
        let parts = 1 + rng.below(31);
        if parts & 1 != 0 {
            self.engine = engine;
        }
        if parts & 2 != 0 {
            self.ring = ring;
        }
        if parts & 4 != 0 {
            self.links.take_memory_of(links);
        }
        if parts & 8 != 0 {
            (self.leader, self.hold, self.heir) = (leader, hold, heir);
            (self.odds_until, self.audit_at) = (odds_until, audit_at);
        }
        if parts & 16 != 0 {
            self.data.take_memory_of(data);
            self.orders.take_memory_of(orders);
            (self.orders_at, self.keeping) = (orders_at, keeping);
        }
        for _ in 0..rng.below(LIES_MAX + 1) {
            self.believe(now, rng);
            self.handle_timeout(now);
        }
        self.handle_timeout(now);
    }

    /// Takes random bytes for a message of one of the peers. Most are refused; the others say anything.
    fn believe(&mut self, now: Instant, rng: &mut Rng) {
        let peers = self.engine.peers();
        let lot = rng.below(u32::try_from(peers.len()).unwrap_or(u32::MAX)) as usize;
        let Some(from) = peers.get(lot).copied() else { return };
        let mut bytes = [0; MESSAGE_MAX];
        for byte in &mut bytes {
            // Small numbers are the likelier ones to mean something.
            let wide = if rng.below(2) == 0 { 4 } else { 256 };
            *byte = u8::try_from(rng.below(wide)).unwrap_or(0);
        }
        // The first byte says whose message it is, and those of other algorithms are dropped.
        bytes[0] = match self.wanted.algorithm {
            Algorithm::Hs => 0,
            Algorithm::Height => 1,
            Algorithm::Hierarchy => 2,
            Algorithm::Frlle => 3,
            Algorithm::Bully => 4,
            Algorithm::Ring => 5,
            _ => 6,
        };
        if let Ok((mut msg, _)) = postcard::take_from_bytes::<ElectionMsg>(&bytes) {
            bound_times(&mut msg);
            self.engine.handle_decoded(now, from, msg);
        }
    }
}

/// A clock at its end cannot advance, and random bytes would put most clocks there. That is a limit and not a state to
/// heal from.
fn bound_times(msg: &mut ElectionMsg) {
    let (stamp, level, leader) = match msg {
        ElectionMsg::Height(update) => (&mut update.stamp, &mut update.level, &mut update.leader),
        ElectionMsg::Hierarchy(update) => (&mut update.stamp, &mut update.level, &mut update.leader),
        _ => return,
    };
    for time in [stamp, &mut level.tau, &mut leader.elected_at] {
        *time %= TIME_MAX;
    }
}
