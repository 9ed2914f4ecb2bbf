//! Which channel delivers next: five adversarial schedules.

use std::collections::BTreeMap;

use common::protocol::Protocol;
use common::rng::Rng;

use crate::index::NodeIndex;
use crate::net::{Channel, Net};

/// The order in which channels deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheduler {
    /// Any channel, equally likely.
    Uniform,
    /// One link, both ways, for up to twenty deliveries, then another.
    Burst,
    /// The channel that was written to last: a consequence overtakes everything older.
    NewestFirst,
    /// The channel that has waited longest.
    OldestFirst,
    /// All channels once, receivers in turn, then all again.
    Rounds,
}

impl Scheduler {
    pub const ALL: [Self; 5] = [Self::Uniform, Self::Burst, Self::NewestFirst, Self::OldestFirst, Self::Rounds];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Burst => "bursts",
            Self::NewestFirst => "newest first",
            Self::OldestFirst => "oldest first",
            Self::Rounds => "rounds",
        }
    }
}

const BURST_MAX: u32 = 20;

/// When something happened to a channel, in inputs of the network.
#[derive(Clone, Copy, Debug)]
struct Times {
    last_written: u64,
    held_since: u64,
}

/// One link that delivers several times in a row.
#[derive(Clone, Copy, Debug)]
struct Burst {
    channel: Channel,
    left: u32,
}

/// A scheduler at work.
#[derive(Clone, Debug)]
pub(super) struct Picker {
    scheduler: Scheduler,
    /// In the order of the network's channels, since walking both in step is faster than searching for each.
    written: BTreeMap<Channel, Times>,
    inputs: u64,
    burst: Option<Burst>,
    /// What is left of the present round, last one first.
    round: Vec<Channel>,
}

impl Picker {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, written: BTreeMap::new(), inputs: 0, burst: None, round: Vec::new() }
    }

    /// Records what the last input made a node send.
    pub(super) fn watch<P: Protocol, const PEERS: usize>(&mut self, net: &Net<P, PEERS>, node: NodeIndex) {
        if !matches!(self.scheduler, Scheduler::NewestFirst | Scheduler::OldestFirst) {
            return;
        }
        self.inputs += 1;
        let mut held = net.pending().peekable();
        self.written.retain(|&channel, _| {
            while held.next_if(|&before| before < channel).is_some() {}
            held.peek() == Some(&channel)
        });
        for (peer, _) in &net.last_step().sends {
            if let Some(to) = net.index_of(*peer) {
                let fresh = Times { last_written: 0, held_since: self.inputs };
                self.written.entry(Channel { to, lane: 0, from: node }).or_insert(fresh).last_written = self.inputs;
            }
        }
    }

    /// The next channel to deliver from; none if no message is in flight.
    pub(super) fn next<P: Protocol, const PEERS: usize>(
        &mut self,
        net: &Net<P, PEERS>,
        rng: &mut Rng,
    ) -> Option<Channel> {
        match self.scheduler {
            Scheduler::Uniform => any(net, rng),
            Scheduler::Burst => self.next_of_burst(net, rng),
            Scheduler::NewestFirst => self
                .timed(net)
                .max_by_key(|(_, times)| times.map(|times| times.last_written))
                .map(|(channel, _)| channel),
            Scheduler::OldestFirst => {
                self.timed(net).min_by_key(|(_, times)| times.map(|times| times.held_since)).map(|(channel, _)| channel)
            }
            Scheduler::Rounds => self.next_of_round(net),
        }
    }

    /// The channels that hold something, with their times.
    fn timed<P: Protocol, const PEERS: usize>(
        &self,
        net: &Net<P, PEERS>,
    ) -> impl Iterator<Item = (Channel, Option<Times>)> {
        let mut written = self.written.iter().peekable();
        net.pending().map(move |channel| {
            while written.next_if(|&(&before, _)| before < channel).is_some() {}
            (channel, written.next_if(|&(&at, _)| at == channel).map(|(_, &times)| times))
        })
    }

    fn next_of_burst<P: Protocol, const PEERS: usize>(
        &mut self,
        net: &Net<P, PEERS>,
        rng: &mut Rng,
    ) -> Option<Channel> {
        if let Some(Burst { channel, left }) = self.burst.filter(|burst| burst.left > 0) {
            let back = Channel { to: channel.from, lane: channel.lane, from: channel.to };
            self.burst = Some(Burst { channel, left: left - 1 });
            if let Some(next) = [channel, back].into_iter().find(|&channel| net.holds(channel)) {
                return Some(next);
            }
        }
        let channel = any(net, rng)?;
        self.burst = Some(Burst { channel, left: rng.below(BURST_MAX) });
        Some(channel)
    }

    fn next_of_round<P: Protocol, const PEERS: usize>(&mut self, net: &Net<P, PEERS>) -> Option<Channel> {
        loop {
            match self.round.pop() {
                Some(channel) if net.holds(channel) => return Some(channel),
                Some(_) => {}
                None => {
                    self.round = net.pending().collect();
                    self.round.reverse();
                    if self.round.is_empty() {
                        return None;
                    }
                }
            }
        }
    }
}

fn any<P: Protocol, const PEERS: usize>(net: &Net<P, PEERS>, rng: &mut Rng) -> Option<Channel> {
    let count = u32::try_from(net.pending().count()).unwrap_or(u32::MAX);
    net.pending().nth(rng.below(count) as usize)
}
