//! When messages arrive, and how to run the network to its end.

use common::protocol::Protocol;
use common::rng::Rng;
use common::time::{Duration, Instant};

use super::{Channel, Net, ROUND};
use crate::index::NodeIndex;

#[derive(Clone, Debug)]
pub enum Delay {
    /// One round each.
    Round,
    /// A random number of rounds, in order.
    Random { rounds: u32, rng: Rng },
}

impl Delay {
    /// When a message sent `now` arrives, on a channel whose last message arrives at `after`.
    pub(super) fn due(&mut self, now: Instant, after: Instant) -> Instant {
        let rounds = match self {
            Self::Round => 1,
            Self::Random { rounds, rng } => 1 + rng.below(*rounds),
        };
        after.max(now + ROUND.times(rounds))
    }
}

/// What happens to a message that finds another one of its kind still waiting in its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// It waits behind it.
    Fifo,
    /// It replaces it if both only carry a state (see `Message::is_latest_value`), and is not counted again.
    Latest,
}

/// A run that did not end within its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

impl<P: Protocol, const PEERS: usize> Net<P, PEERS> {
    /// Moves time to the next arrival or deadline, delivers what arrives then (receivers in index order, the
    /// right-moving lane first), and fires the timers that are due. False if nothing is left to do.
    pub fn step_round(&mut self) -> bool {
        self.step_round_watched(|_, _| ())
    }

    /// As [`step_round`](Self::step_round), but calls `watch` after every input of the round with the network and
    /// the node that took it, since [`last_step`](Self::last_step) covers only the last input.
    pub fn step_round_watched(&mut self, mut watch: impl FnMut(&Self, NodeIndex)) -> bool {
        let Some(next) = self.next_event() else { return false };
        self.set_now(next);
        let due: Vec<Channel> = self
            .queues
            .iter()
            .filter(|(_, queue)| queue.front().is_some_and(|m| m.due <= next))
            .map(|(&c, _)| c)
            .collect();
        for channel in due {
            while self.queues.get(&channel).and_then(|queue| queue.front()).is_some_and(|m| m.due <= next) {
                self.deliver(channel);
                watch(self, channel.to);
            }
        }
        for node in self.nodes() {
            if self.nodes[node].engine.poll_timeout().is_some_and(|at| at <= next) {
                self.drive(node, |engine| engine.handle_timeout(next));
                watch(self, node);
            }
        }
        true
    }

    /// Runs to the end; returns the time from the start of the run until the last message arrived.
    pub fn run_rounds(&mut self, limit: u64) -> Result<Duration, Overrun> {
        let start = self.now;
        let mut last_arrival = start;
        for _ in 0..limit {
            let delivered = self.counts.delivered;
            if !self.step_round() {
                return Ok(last_arrival.since(start));
            }
            if self.counts.delivered > delivered {
                last_arrival = self.now;
            }
        }
        Err(Overrun)
    }

    /// Delivers one message of a random channel; false if no message is in flight.
    pub fn deliver_random(&mut self, rng: &mut Rng) -> bool {
        let count = u32::try_from(self.queues.len()).unwrap_or(u32::MAX);
        let Some(channel) = self.pending().nth(rng.below(count) as usize) else { return false };
        self.deliver(channel)
    }

    /// Delivers messages in random order until no message is in flight. Timers do not fire.
    pub fn run_random(&mut self, rng: &mut Rng, limit: u64) -> Result<u64, Overrun> {
        for delivered in 0..limit {
            if !self.deliver_random(rng) {
                return Ok(delivered);
            }
        }
        Err(Overrun)
    }

    fn next_event(&self) -> Option<Instant> {
        let arrivals = self.queues.values().filter_map(|queue| queue.front()).map(|message| message.due);
        let deadlines = self.nodes.iter().filter(|slot| slot.alive).filter_map(|slot| slot.engine.poll_timeout());
        // A deadline that passed while time was set by hand is due now.
        arrivals.chain(deadlines).min().map(|at| at.max(self.now))
    }
}
