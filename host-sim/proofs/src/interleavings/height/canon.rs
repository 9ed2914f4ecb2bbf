//! When two networks of heights behave alike: a fingerprint that omits what can no longer matter.
//!
//! Times are only ever compared with each other and with zero, and new ones are larger than the clock they are read
//! from. So with Lamport clocks, of which the lowest is at `base`:
//! - a search or an election at or before `base` can be given any time that keeps its order among its kind;
//! - everything later, clocks included, can be shifted by the same amount;
//! - a stamp that its receiver's clock will have passed before it arrives does nothing.
//!
//! With perfect clocks every event is later than all before it: only the order of past times counts, clocks and stamps
//! do not.

use std::hash::Hasher;

use common::causal_clock::ClockKind;
use common::election::height_tuple::Height;
use ideal::index::Direction;

use super::space::{NODES, Network};
use crate::support::fold::Fold;

/// Times of one kind that precede everything still to come: ascending, each once.
type Past = heapless::Vec<u32, 64>;

struct Canon {
    taus: Past,
    elections: Past,
    base: u32,
    shift: u32,
}

/// A fingerprint of 64 bits. Networks with equal fingerprints have the same future, barring collisions.
pub fn fingerprint(net: &Network, clock: ClockKind) -> u64 {
    let canon = Canon::of(net, clock);
    let mut hash = Fold::default();
    let mut clocks = [0; NODES];
    for (node, clock_slot) in net.nodes().zip(&mut clocks) {
        let state = net.node(node);
        if clock == ClockKind::Lamport {
            *clock_slot = state.time();
            hash.add(u64::from(state.time() - canon.shift));
        }
        canon.height(state.height(), &mut hash);
        state.neighbours().for_each(|height| canon.height(height, &mut hash));
        state.forming().for_each(|id| hash.add(u64::from(id.0) << 48));
        hash.add(u64::MAX);
    }
    net.up_directions().for_each(|direction| hash.add(number(direction)));
    hash.add(u64::MAX);
    let mut last = None;
    let mut passed = 0;
    for (on, msg) in net.under_way() {
        if last.replace(on) != Some(on) {
            hash.add(number(on.direction()) | 1 << 63);
            passed = clocks[on.to];
        }
        if clock == ClockKind::Lamport {
            hash.add(if msg.stamp <= passed { 0 } else { u64::from(msg.stamp - canon.shift) });
            passed = passed.max(msg.stamp) + 1;
        }
        canon.height(Height { level: msg.level, delta: msg.delta, leader: msg.leader, id: net.id(on.from) }, &mut hash);
    }
    hash.finish()
}

/// A number for each direction of this few nodes.
fn number(Direction { from, to }: Direction) -> u64 {
    (from.0 * NODES + to.0) as u64
}

impl Canon {
    fn of(net: &Network, clock: ClockKind) -> Self {
        let base = match clock {
            ClockKind::Lamport => net.nodes().map(|node| net.node(node).time()).min().unwrap_or(0),
            ClockKind::Perfect => u32::MAX,
        };
        let mut canon = Self { taus: Past::new(), elections: Past::new(), base, shift: 0 };
        for node in net.nodes() {
            canon.note(net.node(node).height());
            net.node(node).neighbours().for_each(|height| canon.note(height));
        }
        for (_, msg) in net.under_way() {
            canon.note(Height { level: msg.level, leader: msg.leader, ..Height::default() });
        }
        let kept = u32::try_from(canon.taus.len().max(canon.elections.len())).expect("few times");
        canon.shift = base.saturating_sub(kept);
        canon
    }

    fn note(&mut self, height: Height) {
        if height.level.tau > 0 && height.level.tau <= self.base {
            remember(&mut self.taus, height.level.tau);
        }
        if height.leader.elected_at <= self.base {
            remember(&mut self.elections, height.leader.elected_at);
        }
    }

    fn height(&self, height: Height, hash: &mut Fold) {
        let Height { level, delta, leader, id } = height;
        // Zero means no search, and stays distinct from the first one.
        let tau = if level.tau == 0 { 0 } else { self.time(level.tau, &self.taus) + 1 };
        let elected = self.time(leader.elected_at, &self.elections);
        let search = u64::from(level.oid.0) << 1 | u64::from(level.reflected);
        hash.add(u64::from(tau) << 32 | search);
        hash.add(u64::from(elected) << 32 | u64::from(leader.lid.0) << 16 | u64::from(delta.cast_unsigned()));
        hash.add(u64::from(id.0));
    }

    fn time(&self, time: u32, past: &Past) -> u32 {
        match past.binary_search(&time) {
            Ok(rank) => u32::try_from(rank).expect("few times"),
            Err(_) => time - self.shift,
        }
    }
}

fn remember(past: &mut Past, time: u32) {
    if let Err(at) = past.binary_search(&time) {
        past.insert(at, time).expect("few times in a small network");
    }
}
