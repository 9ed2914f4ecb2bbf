//! How orders spread: what is sent to whom, and what the receiver does with it.

use super::book::{Book, Order};
use super::links::{Peers, Slot};
use super::stamp::{Mandate, Stamp};
use super::wire::{Chunk, Message, Told};
use super::{Orders, Outgoing, REMIND, age, count, time_of};
use crate::causal_clock::is_near;
use crate::time::{Duration, Instant};

/// When a neighbour turns out to have another past, all neighbours are told this node's newest stamp within this time.
const REMIND_SOON: Duration = Duration::from_millis(1_000);

impl Orders {
    /// Whether this node's newest mandate is its own.
    pub(super) fn has_mandate(&self) -> bool {
        let Mandate { number, leader, epoch } = self.newest.mandate;
        number != 0 && leader == self.identity.id && Some(epoch) == self.identity.epoch
    }

    /// Takes a mandate that is later than any that this node has seen.
    pub(super) fn take_mandate(&mut self, now: Instant) {
        let Some(epoch) = self.identity.epoch else { return };
        let number = self.newest.mandate.next_number(self.standing.elected_at);
        self.adopt(now, Mandate { number, leader: self.identity.id, epoch });
        self.leading.begin();
    }

    /// A later mandate: from now on this node applies its orders. The first of them tells the neighbours; where there is none,
    /// they are told the newest stamp.
    fn adopt(&mut self, now: Instant, mandate: Mandate) {
        self.newest = Stamp { mandate, index: 0 };
        self.book.forget_later(mandate);
        self.revision = self.revision.wrapping_add(1);
        self.links.begin_anew();
        self.remind_at = now + REMIND;
    }

    /// Tells everybody this node's newest stamp, but those that told it.
    pub(super) fn announce(&mut self, known_to: Peers) {
        self.links.sync_due = self.links.all().without(known_to);
    }

    /// Whether a mandate can belong to the same past as this node's newest. Numbers are compared by how far one is ahead, which
    /// has an end: of three that go all around, each is later than another. So one that is too far away is refused, unless it
    /// comes from the neighbour on the way to the leader. Then it is this node that was told something else, and it starts
    /// over.
    pub(super) fn is_of_this_past(&mut self, now: Instant, slot: Slot, mandate: Mandate) -> bool {
        if mandate.is_none() {
            count(&mut self.counters.malformed);
            return false;
        }
        if self.newest.mandate.is_none() || is_near(mandate.number, self.newest.mandate.number) {
            return true;
        }
        let is_ahead = self.links.get_mut(slot).is_some_and(|peer| Some(peer.id) == self.standing.next_hop);
        if is_ahead {
            self.newest = Stamp::default();
            self.book = Book::new();
            return true;
        }
        count(&mut self.counters.fenced);
        // It may be the other that has to start over.
        self.remind_at = self.remind_at.min(now + REMIND_SOON);
        false
    }

    /// Somebody has applied more orders of the newest mandate than this node, which leads, has given or heard of. Whatever they
    /// were, under another mandate all count alike again.
    pub(super) fn supersede_newest(&mut self, now: Instant) {
        self.take_mandate(now);
        self.announce(Peers::NOBODY);
    }

    pub(super) fn on_sync(&mut self, now: Instant, slot: Slot, newest: Stamp, digest: u32) {
        let them = Peers::of(slot);
        if newest.mandate > self.newest.mandate {
            self.adopt(now, newest.mandate);
            self.announce(them);
        }
        let is_same = newest.mandate == self.newest.mandate;
        let theirs = if is_same { newest.index } else { 0 };
        let differs = digest != self.digest();
        let is_ahead = is_same && newest.index > self.newest.index;
        if is_ahead && self.standing.leads {
            self.supersede_newest(now);
            return;
        }
        let Some(peer) = self.links.get_mut(slot) else { return };
        peer.covered = theirs;
        if differs && (is_ahead || !peer.is_told) {
            self.links.sync_due = self.links.sync_due.with(them);
        }
        let mandate = self.newest.mandate;
        for order in self.book.iter_mut() {
            let has = !differs || order.stamp.mandate == mandate && order.stamp.index <= theirs;
            order.needs = if has { order.needs.without(them) } else { order.needs.with(them) };
        }
    }

    pub(super) fn on_run(&mut self, now: Instant, slot: Slot, mandate: Mandate, after: u16, upto: u16, chunk: &Chunk) {
        let them = Peers::of(slot);
        if mandate < self.newest.mandate {
            // A leader that is no longer one, or a neighbour that has not heard of the next. It is told, and what it sent
            // counts as what it is: something earlier.
            count(&mut self.counters.fenced);
            self.links.sync_due = self.links.sync_due.with(them);
            self.merge(now, them, mandate, chunk);
            return;
        }
        let is_later = mandate > self.newest.mandate;
        if is_later {
            self.adopt(now, mandate);
        }
        if after > self.newest.index {
            count(&mut self.counters.holes);
            self.links.sync_due = if is_later { self.links.all() } else { self.links.sync_due.with(them) };
            return;
        }
        if let Some(peer) = self.links.get_mut(slot) {
            peer.covered = peer.covered.max(upto);
        }
        for told in chunk {
            if told.index > self.newest.index {
                self.take(now, them, mandate, told);
            } else if let Some(order) = self.book.by_stamp(Stamp { mandate, index: told.index }) {
                order.needs = order.needs.without(them);
            }
        }
        if is_later && self.book.behind(mandate, 0).next().is_none() {
            // None of its orders tells the neighbours of it.
            self.announce(them);
        }
        if upto > self.newest.index {
            self.newest.index = upto;
            self.revision = self.revision.wrapping_add(1);
            self.leading.note_progress(now, self.identity.id, self.newest);
        }
    }

    pub(super) fn on_merge(&mut self, now: Instant, slot: Slot, mandate: Mandate, chunk: &Chunk) {
        let them = Peers::of(slot);
        if mandate >= self.newest.mandate || mandate.is_none() {
            // Its sender told a later mandate before; one of the two has forgotten that.
            count(&mut self.counters.holes);
            self.links.sync_due = self.links.sync_due.with(them);
        } else {
            self.merge(now, them, mandate, chunk);
        }
    }

    fn merge(&mut self, now: Instant, them: Peers, mandate: Mandate, chunk: &Chunk) {
        for told in chunk {
            if let Some(order) = self.book.by_stamp(Stamp { mandate, index: told.index }) {
                order.needs = order.needs.without(them);
            } else {
                self.take(now, them, mandate, told);
            }
        }
    }

    /// Takes in an order that these neighbours know.
    fn take(&mut self, now: Instant, known_to: Peers, mandate: Mandate, told: &Told) {
        let Told { index, command, key, .. } = *told;
        let needs = self.links.all().without(known_to);
        let order = Order { stamp: Stamp { mandate, index }, command, key, at: time_of(now, told.age), needs };
        self.apply(now, &order);
    }

    /// Applies an order, if nothing later has made it moot.
    pub(super) fn apply(&mut self, now: Instant, order: &Order) {
        if self.book.take(order.clone()) {
            self.revision = self.revision.wrapping_add(1);
            self.act(now, order);
            self.note_order(now, order);
        }
    }

    /// The next message to send. Orders of the newest mandate come before those of earlier mandates, since somebody waits for
    /// them, and stamps before orders, so that nobody takes an order for one of its own newest mandate that is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        self.identity.epoch?;
        let outgoing = self.poll_sync().or_else(|| self.poll_run(now)).or_else(|| self.poll_merge(now));
        outgoing.or_else(|| self.poll_relayed()).or_else(|| self.poll_report(now))
    }

    fn poll_sync(&mut self) -> Option<Outgoing> {
        let to = core::mem::take(&mut self.links.sync_due);
        if to.is_empty() {
            return None;
        }
        let slots = self.links.iter().map(|(slot, _)| slot).filter(|&slot| to.contains(slot));
        for slot in slots.collect::<heapless::Vec<_, { crate::limits::NEIGHBOURS_MAX }, u8>>() {
            self.links.get_mut(slot).into_iter().for_each(|peer| peer.is_told = true);
        }
        let bytes = Message::Sync { newest: self.newest, digest: self.digest() }.encode().ok()?;
        Some(Outgoing { bytes, to })
    }

    /// Orders of the newest mandate, for everybody who has come equally far.
    fn poll_run(&mut self, now: Instant) -> Option<Outgoing> {
        let mandate = self.newest.mandate;
        let needs = self.book.behind(mandate, 0).map(|order| order.needs).find(|needs| !needs.is_empty())?;
        let (_, first) = self.links.iter().find(|(slot, _)| needs.contains(*slot))?;
        let after = first.covered;
        let level = self.links.iter().filter(|(slot, peer)| needs.contains(*slot) && peer.covered == after);
        let to = level.fold(Peers::NOBODY, |set, (slot, _)| set.with(Peers::of(slot)));
        let mut chunk = Chunk::new();
        let mut upto = self.newest.index;
        for order in self.book.behind(mandate, after) {
            if chunk.push(told(now, order)).is_err() {
                upto = chunk.last().map_or(after, |told| told.index);
                break;
            }
        }
        for order in self.book.iter_mut().filter(|order| order.stamp.mandate == mandate && order.stamp.index <= upto) {
            order.needs = order.needs.without(to);
        }
        for (slot, _) in self.links.clone().iter().filter(|(slot, _)| to.contains(*slot)) {
            self.links.get_mut(slot).into_iter().for_each(|peer| peer.covered = upto);
        }
        // Whoever has covered them already needs none of them.
        if chunk.is_empty() {
            return None;
        }
        let bytes = Message::Run { mandate, after, upto, chunk }.encode().ok()?;
        Some(Outgoing { bytes, to })
    }

    /// Orders of earlier mandates.
    fn poll_merge(&mut self, now: Instant) -> Option<Outgoing> {
        let newest = self.newest.mandate;
        let first = self.book.iter().find(|order| order.stamp.mandate != newest && !order.needs.is_empty())?;
        let (mandate, to) = (first.stamp.mandate, first.needs);
        let mut chunk = Chunk::new();
        let same = self.book.iter_mut().filter(|order| order.stamp.mandate == mandate && order.needs == to);
        for order in same {
            if chunk.push(told(now, order)).is_ok() {
                order.needs = Peers::NOBODY;
            }
        }
        let bytes = Message::Merge { mandate, chunk }.encode().ok()?;
        Some(Outgoing { bytes, to })
    }
}

pub(super) fn told(now: Instant, order: &Order) -> Told {
    let Order { stamp, command, key, at, .. } = *order;
    Told { index: stamp.index, command, age: if at == Instant::ZERO { u8::MAX } else { age(now, at) }, key }
}
