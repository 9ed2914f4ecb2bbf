//! Succession: when the leader gives no sign of life, a successor takes over before anybody searches for it.
//!
//! With heights, a search asks everybody for another way to the leader, and ends only when it has crossed every link
//! both ways. But a node that lost its link to the leader in silence, and heard no objection, knows more than that the
//! way is gone. So it does not tell its election of that link yet. The leader's first successor elects itself at once,
//! the second a [`STEP`] later, and so on; everybody else waits longer. A node that adopts another leader meanwhile, or
//! hears of a younger sign of life, only tells its election of the broken link.
//!
//! ```text
//!              a later leader's Update, or an objection: the link is down, nothing more
//!            ┌──────────────────────────────────────────────────────────────────────► Following
//!   leader's │
//!   link ─► Held ──── until its turn has come: elects itself, the link is down ─────► Leader
//!   lost     │
//!            └──────── the same link is up again: both ends say again what they last said
//! ```
//!
//! Anybody may elect itself at any time. Two at once are two elections, and the first successor's wins, however late its Updates
//! come ([`Signal::Succeed`]): if the later one won, it would send a second wave across the network, into the first.

use super::Node;
use super::hold::Hold;
use crate::election::Election;
use crate::election::height_tuple::RefLevel;
use crate::link::SUCCESSORS;
use crate::notice::Reason;
use crate::protocol::{Protocol, Signal};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How much longer each successor waits than the one before it, whose election would have reached it by then.
const STEP: Duration = Duration::from_millis(60);

/// A random delay of up to this much, because two nodes may believe that they have the same rank.
const APART_US: u32 = 30_000;

/// How long everybody else waits, plus a random part of up to as much again, so that one elects itself before the next
/// would.
const GRACE: Duration = Duration::from_millis(300);

const GRACE_US: u32 = 300_000;

impl Node {
    /// Whether the election keeps what its peers last told, and so takes a fallen link for a slow one.
    pub(super) fn keeps_states(&self) -> bool {
        matches!(self.engine.protocol(), Election::Height(_) | Election::Hierarchy(_))
    }

    /// Lets what is told a neighbour make way where both follow one leader and neither searches for it.
    pub(super) fn relax(&mut self, now: Instant, peer: NodeId) {
        let (own, other) = match self.engine.protocol() {
            Election::Height(height) => (height.height(), height.neighbours().find(|other| other.id == peer)),
            Election::Hierarchy(hierarchy) => {
                (hierarchy.height(), hierarchy.neighbours().find(|other| other.id == peer))
            }
            _ => return,
        };
        let is_calm = |level: RefLevel| level == RefLevel::ZERO;
        if other.is_some_and(|other| other.leader == own.leader && is_calm(other.level) && is_calm(own.level)) {
            self.links.relax(now, peer);
        }
    }

    /// Whether a link that fell was the leader's, and nobody is known to have heard the leader lately.
    pub(super) fn is_lost_leader(&self, now: Instant, peer: NodeId, reason: Reason) -> bool {
        let is_silent = matches!(reason, Reason::Silent | Reason::Unacknowledged);
        // A node that goes by an heir has already lost the leader.
        let is_leader = self.leader == Some(peer) || self.heir.is_of(peer);
        is_silent && is_leader && !self.links.was_there(now, peer)
    }

    /// The seat of a leader that is lost.
    pub(super) fn seat(&mut self, now: Instant, leader: NodeId) -> Hold {
        let (from, wait, spread) = match self.links.turn() {
            Some((0, from)) => (from.max(now), Duration::ZERO, 0),
            Some((rank, from)) => (from.max(now), STEP.times(u32::from(rank)), APART_US),
            None => (now, GRACE, GRACE_US),
        };
        let spread = if spread == 0 { 0 } else { self.links.draw(spread) };
        let until = from + wait + Duration::from_micros(u64::from(spread));
        Hold { peer: leader, since: now, until, is_seat: true }
    }

    /// Announces that this node will stop leading. It leads on until another does; its successor learns of it from the
    /// next hellos.
    pub(super) fn step_down(&mut self, now: Instant) {
        if self.leader == Some(self.id()) {
            self.links.step_down(now);
        }
    }

    /// On a ring, a node with a link to a leader that steps down gives that link up as if the leader had long been
    /// silent: the ring closes over it while it is still there.
    pub(super) fn part(&mut self, now: Instant) {
        if self.ring.is_some()
            && self.links.left_at().is_some()
            && let Some(leader) = self.leader
        {
            self.links.part(now, leader);
        }
    }

    /// Takes over from a leader that steps down, where it is this node's turn.
    pub(super) fn take_over(&mut self, now: Instant) {
        let (Some(leader), Some(since)) = (self.leader, self.links.left_at()) else { return };
        if self.take_over_at() > now {
            return;
        }
        let is_vacant = self.engine.protocol().leader() == Some(leader) && !self.links.is_succeeded(since, leader);
        self.links.has_taken_over(is_vacant);
        if is_vacant {
            self.engine.handle_signal(now, Signal::Succeed(precedence(self.links.rank())));
        }
    }

    /// When this node takes over from a leader that steps down, unless another does before.
    pub(super) fn take_over_at(&self) -> Instant {
        match (self.links.left_at(), self.links.rank()) {
            (Some(since), Some(rank)) => since + STEP.times(u32::from(rank)),
            _ => Instant::NEVER,
        }
    }

    /// Succeeds a lost leader if it is this node's turn. Gives its link up if another node has succeeded, or the leader
    /// is back.
    pub(super) fn succeed(&mut self, now: Instant) {
        if self.ring.is_some() {
            self.condemn_leader(now);
            return;
        }
        let Hold { peer: leader, since, until, is_seat } = self.hold;
        let is_vacant = self.engine.protocol().leader() == Some(leader) && !self.links.was_there(since, leader);
        if !is_seat || (is_vacant && now < until) {
            return;
        }
        self.hold = Hold::NOBODY;
        // A node that knows nobody but a lost leader elects itself when it is told of the loss. Electing itself here as
        // well would be two elections, the first of which is over before anybody hears of it.
        if is_vacant && self.has_other(leader) {
            let rank = self.links.turn().map(|(rank, _)| rank);
            self.engine.handle_signal(now, Signal::Succeed(precedence(rank)));
        }
        self.engine.handle_link_down(now, leader);
    }
}

/// How much precedence a lost leader leaves to its successor of this rank, or to whoever is none.
fn precedence(rank: Option<u8>) -> u8 {
    rank.map_or(1, |rank| SUCCESSORS.saturating_sub(rank) + 1)
}

#[cfg(test)]
mod tests {
    use super::precedence;

    #[test]
    fn every_successor_has_precedence_over_the_next_and_all_over_everybody_else() {
        let order = [Some(0), Some(1), Some(2), None].map(precedence);
        assert!(order.windows(2).all(|pair| pair[0] > pair[1]) && order[3] > 0, "{order:?}");
    }
}
