//! What a keeper does with a hello or an envelope from a linked neighbour.

use super::edges::{Arrival, UNNUMBERED};
use super::routes::Verdict;
use super::wire::{self, ASKED, Entry, Envelope, Message, NO_WAY, NOBODY};
use super::{Queued, RingKeeper, SendError, count};
use crate::link::body::Parcel;
use crate::members::Position;
use crate::time::Instant;
use crate::types::NodeId;

impl RingKeeper {
    /// A message from a linked neighbour has arrived.
    pub fn receive(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        let sender = self.roster.position(from).filter(|&position| self.linked.contains(position));
        let (Some(_), Some(Message::Envelope(envelope, payload))) = (sender, Message::decode(bytes)) else {
            count(&mut self.counters.malformed);
            return;
        };
        self.carry(now, envelope, payload);
    }

    /// A neighbour's hello told this of the ring. Routes are accepted only over links; how an election ended is worth
    /// knowing from anybody. But whoever is heard without a link may be of a part that is cut off, so a node that reaches its own
    /// leader takes from there only another that it reaches as well. An algorithm that does not number its elections cannot tell an
    /// old outcome: there it counts only over a link, and of a leader that this node has let go of only once that one has given a
    /// sign of life.
    pub fn receive_hello(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        let Some(from) = self.roster.position(from) else { return };
        let Some((lead, entries)) = wire::told(bytes) else {
            count(&mut self.counters.malformed);
            return;
        };
        let leader = Some(lead.leader).filter(|&leader| leader != NOBODY);
        let is_linked = self.linked.contains(from);
        if is_linked {
            entries.iter().for_each(|entry| self.receive_entry(now, from, entry));
            self.watch.compare(now, from, leader);
        }
        let is_numbered = lead.election != 0;
        let is_reached = |leader| self.routes.next(leader).is_some();
        let is_led = self.hearsay.leader().and_then(|own| self.roster.position(own)).is_some_and(is_reached);
        let is_there = |&leader: &Position| {
            let may_follow =
                if is_numbered { is_linked || !is_led || is_reached(leader) } else { is_linked && leader != self.left };
            self.roster.is_alive(leader) && may_follow
        };
        let alive = leader.filter(is_there).and_then(|leader| self.roster.id_at(leader));
        self.hearsay.hear(lead.election, alive);
    }

    fn receive_entry(&mut self, now: Instant, from: Position, entry: Entry) {
        let Entry { position, number, .. } = entry;
        if position == self.roster.own() {
            // Others remember a number from before this node restarted: this node continues from there.
            if number.is_newer_than(self.routes.number(position)) {
                self.routes.set_own(position, number.next());
                self.tell_of(position);
            }
            return;
        }
        if self.roster.id_at(position).is_none() {
            count(&mut self.counters.malformed);
            return;
        }
        if position == self.left && number.is_newer_than(self.routes.number(position)) {
            self.left = NOBODY;
        }
        self.ask_for_newer(entry);
        // Its own word is another matter.
        if entry.hops == ASKED || self.losses.is_condemned(position) && from != position {
            return;
        }
        match self.routes.update(from, entry) {
            Verdict::Nothing => self.losses.want_no_longer(now, from, position),
            Verdict::Newer => self.tell_of_newer(position),
            Verdict::Gained => self.gain(now, position),
            // A shorter way is worth telling, but nobody waits for it.
            Verdict::Helps if entry.hops != NO_WAY => self.news.add(position),
            Verdict::Nearer => {
                self.news.add(position);
                self.tell_of_newer(position);
            }
            Verdict::Helps => {
                // If this number does not help, the next one will.
                self.lacked = self.lacked.with(position);
                self.tell_of(position);
            }
            Verdict::Lost => self.lose(now, position),
            Verdict::Wanted => self.losses.want(now, from, position),
        }
        let has_way = self.routes.next(position).is_some();
        if self.watch.note_number(now, position, number, has_way) {
            self.tell_of(position);
        }
    }

    /// There is a newer number of a member. A neighbour without a route to it may be waiting for just that.
    fn tell_of_newer(&mut self, member: Position) {
        if self.lacked.contains(member) {
            self.lacked = self.lacked.without(member);
            self.tell_of(member);
        }
    }

    /// A node without a route remembers a newer number of a member than this node's route has: one from before the
    /// member restarted or its numbers wrapped around, or a wrong one. A node with such a memory takes no route until
    /// the member has gone beyond that number. So the member is asked to do so, from node to node along those that have
    /// a route.
    fn ask_for_newer(&mut self, entry: Entry) {
        let Entry { position, number, hops } = entry;
        let has_route = self.routes.next(position).is_some();
        if matches!(hops, NO_WAY | ASKED) && has_route && number.is_newer_than(self.routes.number(position)) {
            self.news.ask(Entry { hops: ASKED, ..entry });
        }
    }

    pub(super) fn gain(&mut self, now: Instant, member: Position) {
        self.tell_of(member);
        if self.losses.find(member) {
            self.disturbance.disturb(now);
        }
        let disturbance = &self.disturbance;
        self.roster.add(now, member, |from| disturbance.next(from));
    }

    /// There is no route to a member any more. The keeper waits for another one.
    pub(super) fn lose(&mut self, now: Instant, member: Position) {
        self.tell_of(member);
        self.losses.wait_for(now, member);
    }

    /// Delivers an envelope that is for this node; passes any other one on.
    fn carry(&mut self, now: Instant, envelope: Envelope, payload: &[u8]) {
        let Envelope { to, from, hops, number, .. } = envelope;
        if self.roster.id_at(to).is_none() || self.roster.id_at(from).is_none() {
            count(&mut self.counters.malformed);
        } else if to != self.roster.own() {
            if let Some(hops) = hops.checked_sub(1) {
                // Posting counts what it cannot post, and a disturbance follows when there is a route again.
                self.post(now, Envelope { hops, ..envelope }, payload).unwrap_or(());
            } else {
                count(&mut self.counters.expired);
                self.disturbance.disturb(now);
            }
        } else {
            self.take_in(now, from, number, payload);
        }
    }

    /// An envelope is for this node.
    fn take_in(&mut self, now: Instant, from: Position, number: u8, payload: &[u8]) {
        if !self.roster.is_alive(from) {
            // This node cannot answer. Once there is a route, it asks the sender to repeat the message.
            count(&mut self.counters.refused);
            self.losses.refuse(from);
            return;
        }
        match self.edges.arrive(from, number) {
            Arrival::InOrder => {}
            Arrival::Gap => {
                count(&mut self.counters.gaps);
                self.disturbance.disturb(now);
            }
            Arrival::Late => {
                count(&mut self.counters.refused);
                self.disturbance.disturb(now);
                return;
            }
        }
        self.deliver(now, from, payload);
    }

    fn deliver(&mut self, now: Instant, from: Position, payload: &[u8]) {
        if payload.is_empty() {
            self.disturbance.disturb(now);
            return;
        }
        let parcel = Parcel::from_slice(payload).ok().filter(|_| self.can_receive());
        let is_queued = parcel.is_some_and(|parcel| self.queue.push(Queued::From(from, parcel)).is_ok());
        if !is_queued {
            count(&mut self.counters.full);
            self.disturbance.disturb(now);
        }
    }

    /// Gives an envelope to the next neighbour on its way.
    pub(super) fn post(&mut self, now: Instant, envelope: Envelope, payload: &[u8]) -> Result<(), SendError> {
        let Some(envelope) = self.address(envelope) else {
            count(&mut self.counters.unroutable);
            self.losses.miss(envelope.to);
            return Err(SendError::NoRoute);
        };
        if envelope.to == self.roster.own() {
            self.take_in(now, envelope.from, envelope.number, payload);
            return Ok(());
        }
        let Some(next) = self.routes.next(envelope.to) else { return Err(SendError::NoRoute) };
        let parcel = wire::envelope(envelope, payload).map_err(|_| SendError::TooLong)?;
        if self.queue.push(Queued::To(next, parcel)).is_err() {
            count(&mut self.counters.full);
            self.disturbance.disturb(now);
            return Err(SendError::Full);
        }
        self.losses.carry(now, next);
        Ok(())
    }
    /// The envelope with a receiver that it can be delivered to. If there is no route to its receiver, and it is for
    /// whichever member stands on that side of the sender, it goes to the first member behind the receiver that has a
    /// route, or to this node.
    fn address(&self, envelope: Envelope) -> Option<Envelope> {
        let is_reached = |position: Position| position == self.roster.own() || self.routes.next(position).is_some();
        if is_reached(envelope.to) {
            return Some(envelope);
        }
        let side = envelope.side?;
        let behind = self.roster.beyond(envelope.to, side).take_while(|&member| member != envelope.from);
        let to = behind.into_iter().find(|&member| is_reached(member))?;
        Some(Envelope { to, number: UNNUMBERED, ..envelope })
    }
}
