//! What a keeper does with a message from a linked neighbour.

use super::edges::Arrival;
use super::routes::{Verdict, is_newer};
use super::wire::{self, Entry, Envelope, Message, NO_WAY, NOBODY};
use super::{Queued, RingKeeper, SendError, count};
use crate::link::body::Parcel;
use crate::time::Instant;
use crate::types::NodeId;

impl RingKeeper {
    /// One message from a linked neighbour has arrived.
    pub fn receive(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        let sender = self.order.position(from).filter(|&position| self.linked.contains(position));
        let (Some(_), Some(Message::Envelope(envelope, payload))) = (sender, Message::decode(bytes)) else {
            count(&mut self.counters.malformed);
            return;
        };
        self.carry(now, envelope, payload);
    }

    /// A linked neighbour's hello told this of the ring.
    pub fn hear_hello(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        let sender = self.order.position(from).filter(|&position| self.linked.contains(position));
        // A neighbour that is not on the ring, or whose link is only just coming up.
        let Some(from) = sender else { return };
        let Some((leader, entries)) = wire::told(bytes) else {
            count(&mut self.counters.malformed);
            return;
        };
        entries.iter().for_each(|entry| self.hear(now, from, entry));
        self.compare_leaders(now, from, leader);
    }

    fn hear(&mut self, now: Instant, from: u8, entry: Entry) {
        let Entry { position, number, .. } = entry;
        if position == self.own {
            // What this node said before it restarted is still remembered: it goes on from there.
            if is_newer(number, self.routes.number(position)) {
                self.routes.set_own(position, number.wrapping_add(1));
                self.tell_of(position);
            }
            return;
        }
        if self.id_at(position).is_none() {
            count(&mut self.counters.malformed);
            return;
        }
        if position == self.leader && is_newer(number, self.leader_number) {
            self.leader_number = number;
            self.at.silence = now + self.silence;
        }
        match self.routes.hear(from, entry) {
            Verdict::Nothing if self.helper == from && self.wanted.contains(position) => {
                self.want_no_longer(now, position);
            }
            Verdict::Nothing | Verdict::Newer => {}
            Verdict::Gained => self.gain(now, position),
            Verdict::Helps if entry.hops != NO_WAY => self.news = self.news.with(position),
            Verdict::Nearer | Verdict::Helps => self.tell_of(position),
            Verdict::Lost => self.lose(now, position),
            Verdict::Wanted => self.want(now, from, position),
        }
    }

    fn gain(&mut self, now: Instant, member: u8) {
        self.tell_of(member);
        self.wanted = self.wanted.without(member);
        self.set_hold(member, 0);
        if self.missed.contains(member) {
            self.missed = self.missed.without(member);
            self.disturb(now);
        }
        if !self.alive.contains(member) {
            self.alive = self.alive.with(member);
            self.shift(now);
        }
    }

    /// There is no way to a member any more; it is waited for.
    pub(super) fn lose(&mut self, now: Instant, member: u8) {
        self.tell_of(member);
        self.hold_on(now, member);
    }

    fn want(&mut self, now: Instant, helper: u8, member: u8) {
        self.helper = helper;
        if !self.wanted.contains(member) {
            self.wanted = self.wanted.with(member);
            self.hold_on(now, member);
        }
    }

    /// Whoever said to have a way has none any more.
    fn want_no_longer(&mut self, now: Instant, member: u8) {
        self.wanted = self.wanted.without(member);
        self.hold_on(now, member);
    }

    /// An envelope is for this node, or to be passed on.
    fn carry(&mut self, now: Instant, envelope: Envelope, payload: &[u8]) {
        let Envelope { to, from, hops, number } = envelope;
        if self.id_at(to).is_none() || self.id_at(from).is_none() {
            count(&mut self.counters.malformed);
        } else if to != self.own {
            if let Some(hops) = hops.checked_sub(1) {
                // What could not be posted is counted there, and told when there is a way again.
                self.post(now, Envelope { hops, ..envelope }, payload).unwrap_or(());
            } else {
                count(&mut self.counters.expired);
                self.disturb(now);
            }
        } else if !self.alive.contains(from) {
            // An answer could not be sent. Once there is a way, the sender is asked to say it again.
            count(&mut self.counters.refused);
            self.unmet = self.unmet.with(from);
        } else {
            self.bypass(now);
            match self.edges.arrive(from, number) {
                Arrival::InOrder => {}
                Arrival::Gap => {
                    count(&mut self.counters.gaps);
                    self.disturb(now);
                }
                Arrival::Late => {
                    count(&mut self.counters.refused);
                    self.disturb(now);
                    return;
                }
            }
            self.deliver(now, from, payload);
        }
    }

    fn deliver(&mut self, now: Instant, from: u8, payload: &[u8]) {
        if payload.is_empty() {
            self.disturb(now);
            return;
        }
        let queued = Parcel::from_slice(payload).map(|parcel| self.queue.push(Queued::From(from, parcel)));
        if !matches!(queued, Ok(Ok(()))) {
            count(&mut self.counters.full);
            self.disturb(now);
        }
    }

    /// Gives an envelope to the next neighbour on its way.
    pub(super) fn post(&mut self, now: Instant, envelope: Envelope, payload: &[u8]) -> Result<(), SendError> {
        let Some(next) = self.routes.next(envelope.to) else {
            count(&mut self.counters.unroutable);
            self.missed = self.missed.with(envelope.to);
            return Err(SendError::NoRoute);
        };
        let parcel = wire::envelope(envelope, payload).map_err(|_| SendError::TooLong)?;
        if self.queue.push(Queued::To(next, parcel)).is_err() {
            count(&mut self.counters.full);
            self.disturb(now);
            return Err(SendError::Full);
        }
        let [lately, before] = self.carried;
        self.carried = [lately.with(next), before];
        self.arm_tick(now);
        Ok(())
    }

    /// A neighbour's word on whom it follows.
    fn compare_leaders(&mut self, now: Instant, from: u8, leader: Option<u8>) {
        let differs = self.leader != NOBODY && leader.is_some_and(|leader| leader != self.leader);
        if differs && self.disputant == NOBODY {
            self.disputant = from;
            self.at.dispute = now + self.silence;
        } else if !differs && self.disputant == from {
            self.settle_dispute();
        }
    }

    pub(super) fn settle_dispute(&mut self) {
        self.disputant = NOBODY;
        self.at.dispute = Instant::NEVER;
    }
}
