//! Sending: acknowledgements, frames with messages, hellos. A frame is composed only when the driver asks for it, so that it
//! carries the latest.

use heapless::Vec;

use super::body::{AckEntry, Entry, Hello, Parcel, Rel};
use super::digest::digest;
use super::exchange::{Flight, InFlight};
use super::frame::{ACK_BYTES, Answered, HEADER_BYTES, Header, Kind, tag_of};
use super::pool::{PoolIndex, Slot, Slots};
use super::security::TAG_BYTES;
use super::timeout::due_by;
use super::watched::DOUBT_ATTEMPTS;
use super::{Above, LAZY, LAZY_ATTEMPTS, Links, count};
use crate::config::BROADCAST;
use crate::limits::{BUNDLE_MAX, NAMED_MAX};
use crate::mac::phy::FRAME_MAX;
use crate::mac::{ANSWER_SLOT, Access, Sent, TURN_ROUND, Transmit};
use crate::notice::Notice;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The most bytes of a frame's body.
const BODY_MAX: usize = FRAME_MAX - HEADER_BYTES - TAG_BYTES;

/// How long a node waits for the frames of others to acknowledge a frame that asked for no answer.
const IMPLICIT_WAIT: Duration = Duration::from_millis(45);

/// How long after the last answer slot a node still waits: for the end of that answer, and for clocks that differ.
const ANSWER_WAIT: Duration = Duration::from_micros(700);

/// A hello that has waited this long goes before messages.
const HELLO_PATIENCE: Duration = Duration::from_millis(50);

/// After a channel that was never clear, the links wait for half this time and up to as much again before they offer the
/// frame anew.
const BUSY_REST_US: u32 = 4_000;

/// Challenges that are due within this time go out together.
const CHALLENGES_GATHER: Duration = Duration::from_millis(16);

/// Neighbours that one frame challenges. Their answers keep the channel for a millisecond each.
const CHALLENGED_MAX: usize = 8;

/// The messages that one frame carries.
type Bundle = Vec<PoolIndex, BUNDLE_MAX, u8>;

impl Links {
    /// Writes the acknowledgement that is owed to `buf`.
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn poll_answer(&mut self, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        let reply = self.exchange.take_reply()?;
        *buf.first_chunk_mut::<ACK_BYTES>()? = reply.bytes;
        count(&mut self.counters.sent);
        Some(Transmit { length: ACK_BYTES, access: Access::At(reply.at) })
    }

    /// Writes the next frame other than an [answer](Self::poll_answer) to `buf`.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        above: &mut dyn Above,
    ) -> Option<Transmit> {
        self.wait_for_others();
        if self.exchange.is_in_flight() || self.epoch().is_none() || now < self.quiet_until() {
            return None;
        }
        let due = self.table.keep_due(due_by(self.patience));
        let hellos = &self.hellos;
        let is_due = now >= due.transmit || hellos.trickle.is_due(now) || hellos.beat.is_due(now);
        let length = is_due.then(|| self.transmit_due(now, buf, above)).flatten();
        let length = length.or_else(|| self.transmit_data(now, buf, above))?;
        count(&mut self.counters.sent);
        Some(Transmit { length, access: Access::Csma })
    }

    fn transmit_due(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX], above: &mut dyn Above) -> Option<usize> {
        // Messages are more urgent than hellos, but where they never end a hello must still get through.
        let overdue = self.transmit_hello(now - HELLO_PATIENCE, now, buf, above);
        // A leader's silence costs more than a message that comes a little later.
        let leads = self.hellos.beat.leads();
        overdue
            .or_else(|| leads.then(|| self.transmit_brief(now, buf, above)).flatten())
            .or_else(|| self.transmit_challenge(now, buf))
            .or_else(|| self.transmit_rel(now, buf))
            .or_else(|| self.transmit_brief(now, buf, above))
            .or_else(|| self.transmit_hello(now, now, buf, above))
    }

    /// The header of the next frame; none once the epoch's numbers are used up.
    pub(super) fn next_header(&mut self, to: NodeId, kind: Kind) -> Option<Header> {
        let had_epoch = self.epoch().is_some();
        let header = self.numbering.next_header(to, kind);
        if had_epoch && header.is_none() {
            self.notices.push(Notice::EpochNeeded);
        }
        header
    }

    /// Writes a hello where one was `due` by that time.
    fn transmit_hello(
        &mut self,
        due: Instant,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        above: &mut dyn Above,
    ) -> Option<usize> {
        if !self.hellos.trickle.is_due(due) {
            return None;
        }
        self.transmit_full(now, buf, above)
    }

    fn transmit_full(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX], above: &mut dyn Above) -> Option<usize> {
        let word = self.hellos.beat.word();
        self.hellos.trickle.sent(now);
        self.hellos.beat.sent(now, &mut self.rng);
        let slower = if self.is_only_leader(above.leader()) { 0 } else { self.crowd.slower() };
        self.hellos.trickle.slow(slower);
        let composed = self.hellos.compose(now, &self.table, self.patience, above.leader());
        self.write_hello(now, composed, word, buf, above)
    }

    /// Writes a brief hello where one is due, or a whole one where there is nothing to leave out.
    fn transmit_brief(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX], above: &mut dyn Above) -> Option<usize> {
        if !self.hellos.beat.is_due(now) {
            return None;
        }
        let word = self.hellos.beat.word();
        let Some(composed) = self.hellos.compose_brief(now, &self.table, self.patience, above.leader()) else {
            return self.transmit_full(now, buf, above);
        };
        self.hellos.beat.sent(now, &mut self.rng);
        self.write_hello(now, composed, word, buf, above)
    }

    fn write_hello(
        &mut self,
        now: Instant,
        composed: Hello,
        word: Option<u8>,
        buf: &mut [u8; FRAME_MAX],
        above: &mut dyn Above,
    ) -> Option<usize> {
        let header = self.next_header(BROADCAST, Kind::Hello)?;
        self.life.follow(now, above.leader());
        let age = word.unwrap_or_else(|| self.life.age(now, self.id()));
        let digest = above.told().map_or(0, |told| digest(told, composed.number));
        let hello = Hello { digest, age, ..composed };
        let mut length = hello.write(buf.get_mut(HEADER_BYTES..)?).ok()?;
        if self.hellos.is_on_ring() && !hello.is_brief() {
            length += above.tell(buf.get_mut(HEADER_BYTES + length..FRAME_MAX - TAG_BYTES)?);
        }
        let length = self.numbering.seal(header, buf, length)?;
        self.exchange.launch(InFlight::Hello { is_brief: hello.is_brief() });
        Some(length)
    }

    /// Whether this node leads and everybody it knows follows it. Such a node is awaited by all, and there is one in a
    /// network, so it does not say hello less often in a crowd.
    fn is_only_leader(&self, leader: NodeId) -> bool {
        leader == self.id() && self.table.links() > 0 && self.table.iter().all(|(_, other)| other.leader == leader)
    }

    /// Challenges neighbours that are to prove that they are there: all whose turn it is or would be soon, in one frame. They
    /// answer one after the other, which takes the channel for a third of the time that a frame for each would.
    fn transmit_challenge(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
        self.table.iter().find(|(_, neighbour)| neighbour.is_challenged(now))?;
        let (mut entries, mut to, mut spared) =
            (Vec::<Entry, NAMED_MAX, u8>::new(), Slots::default(), Slots::default());
        let soon = now + CHALLENGES_GATHER;
        for (slot, neighbour) in self.table.iter().filter(|(_, neighbour)| neighbour.is_challenged(soon)) {
            let session = &neighbour.session;
            if session.has_met() && !self.table.is_wanted(now, slot, self.hellos.links_max()) {
                // Others were quicker, and this node has links enough.
                spared = spared.with(Slots::of(slot));
            } else if entries.len() < CHALLENGED_MAX {
                let (echo, number, ack) = (session.echo(), session.oldest(), session.expected());
                entries.push(Entry { id: neighbour.id, echo, number, ack }).ok()?;
                to = to.with(Slots::of(slot));
            }
        }
        for slot in spared.iter() {
            self.table.get_mut(slot)?.settle();
        }
        for slot in to.iter() {
            self.table.get_mut(slot)?.arq.due = Instant::NEVER;
        }
        let id = match entries.as_slice() {
            [] => return None,
            [one] => one.id,
            _ => BROADCAST,
        };
        let rel = Rel { answer: true, challenge: Some(self.rng.next_u32()), entries, ..Rel::default() };
        self.launch(&rel, id, to, buf)
    }

    fn transmit_rel(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
        let (rel, to, flight_to) = self.rel(now)?;
        self.launch(&rel, to, flight_to, buf)
    }

    fn launch(&mut self, rel: &Rel, to: NodeId, flight_to: Slots, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
        let is_for_all = to == BROADCAST;
        let header = self.next_header(to, Kind::Rel)?;
        let length = rel.write(is_for_all, buf.get_mut(HEADER_BYTES..)?).ok()?;
        let length = self.numbering.seal(header, buf, length)?;
        let Header { from: sender, device, epoch, counter, .. } = header;
        let answered = Answered { sender, device, epoch, counter, tag: tag_of(buf.get(..length)?)? };
        let answers = if rel.answer { u8::try_from(rel.entries.len()).unwrap_or(0) } else { 0 };
        self.exchange.launch(InFlight::Rel(Flight { answered, to: flight_to, answers }));
        Some(length)
    }

    /// The frame that is due: messages for everybody who is to get the same ones, and every acknowledgement that is owed.
    fn rel(&mut self, now: Instant) -> Option<(Rel, NodeId, Slots)> {
        let (mut rel, mut to) = (Rel::default(), Slots::default());
        if let Some(leading) = self.most_urgent(now) {
            let is_retry = self.table.get(leading)?.arq.attempts > 0;
            let bundle = self.bundle(leading)?;
            for &at in &bundle {
                rel.messages.push(self.message(leading, at)?).ok()?;
            }
            to = self.listeners(now, leading, &bundle, is_retry, BODY_MAX - rel.length(true));
            // The answer of a single neighbour costs less than the frame that would bring the acknowledgement later, and the
            // next message need not wait for that frame.
            rel.answer = is_retry || to == Slots::of(leading);
            self.enlist(to, &bundle, &mut rel);
            // A frame without messages only asks whether the neighbour is there; it repeats nothing.
            if is_retry && !bundle.is_empty() {
                count(&mut self.counters.retries);
            }
        }
        let is_urgent = !to.is_empty() || self.table.linked().any(|(_, neighbour)| neighbour.ack_due <= now);
        if !is_urgent {
            return None;
        }
        self.add_acks(to, &mut rel);
        let alone = (rel.entries.len() + rel.acks.len() == 1).then(|| {
            let entry = rel.entries.first().map(|entry| entry.id);
            entry.or_else(|| rel.acks.first().map(|entry| entry.id))
        });
        Some((rel, alone.flatten().unwrap_or(BROADCAST), to))
    }

    /// The neighbour whose frame is due and whose first message is the oldest.
    fn most_urgent(&self, now: Instant) -> Option<Slot> {
        let due = self.table.linked().filter(|(_, neighbour)| {
            neighbour.arq.due <= now && neighbour.arq.attempts < neighbour.attempts_max(self.patience)
        });
        // Of neighbours with the same message, prefers one that gets it for the first time: that frame can serve them all.
        due.min_by_key(|(slot, neighbour)| {
            let first = self.exchange.pool.queue(*slot).next().map_or(PoolIndex::END, |(at, _)| at);
            (first, neighbour.arq.attempts > 0)
        })
        .map(|(slot, _)| slot)
    }

    /// The messages of a neighbour's next frame: those that are not acknowledged yet, and as many more as fit. A frame that
    /// only asks whether the neighbour is there has none.
    fn bundle(&self, slot: Slot) -> Option<Bundle> {
        let mut room = BODY_MAX - super::body::REL_BYTES - 6;
        let mut bundle = Bundle::new();
        for (at, message) in self.exchange.pool.queue(slot).take(BUNDLE_MAX) {
            let Some(left) = room.checked_sub(1 + message.len()) else { break };
            room = left;
            bundle.push(at).ok()?;
        }
        Some(bundle)
    }

    fn message(&self, slot: Slot, at: PoolIndex) -> Option<Parcel> {
        self.exchange.pool.queue(slot).find(|&(other, _)| other == at).map(|(_, message)| message.clone())
    }

    /// Everybody who is due and whose next messages are the same ones. A frame without messages is for one neighbour alone.
    fn listeners(&self, now: Instant, leading: Slot, bundle: &Bundle, is_retry: bool, room: usize) -> Slots {
        let mut to = Slots::of(leading);
        if bundle.is_empty() {
            return to;
        }
        let mut more = (room / 6).min(NAMED_MAX).saturating_sub(1);
        for (slot, neighbour) in self.table.linked().filter(|&(slot, _)| slot != leading) {
            let is_due =
                neighbour.arq.due <= now && (!is_retry || neighbour.arq.attempts > 0) && !neighbour.arq.is_probe;
            let outstanding = usize::from(neighbour.arq.outstanding);
            let is_same = outstanding <= bundle.len();
            let mut next = self.exchange.pool.queue(slot).map(|(at, _)| at);
            if more > 0 && is_due && is_same && bundle.iter().all(|&at| next.next() == Some(at)) {
                to = to.with(Slots::of(slot));
                more -= 1;
            }
        }
        to
    }

    fn enlist(&mut self, to: Slots, bundle: &Bundle, rel: &mut Rel) {
        let messages = u8::try_from(bundle.len()).unwrap_or(0);
        for slot in to.iter() {
            let Some(neighbour) = self.table.get_mut(slot) else { continue };
            let session = &neighbour.session;
            let (echo, number, ack) = (session.echo(), session.oldest(), session.expected());
            let entry = Entry { id: neighbour.id, echo, number, ack };
            // There is room: the neighbours were counted.
            if rel.entries.push(entry).is_ok() {
                neighbour.arq.outstanding = messages;
                neighbour.arq.is_asked = rel.answer;
                // Once the frame carries messages, hearing from the neighbour is not enough: it must acknowledge them.
                neighbour.arq.is_probe &= messages == 0;
                neighbour.arq.due = Instant::NEVER;
                neighbour.ack_due = Instant::NEVER;
            }
        }
    }

    fn add_acks(&mut self, named: Slots, rel: &mut Rel) {
        for (slot, neighbour) in self.table.iter_mut() {
            if neighbour.ack_due == Instant::NEVER || named.contains(slot) || !neighbour.session.is_up() {
                continue;
            }
            let ack = AckEntry { id: neighbour.id, echo: neighbour.session.echo(), ack: neighbour.session.expected() };
            if rel.length(true) + 5 <= BODY_MAX && rel.acks.push(ack).is_ok() {
                neighbour.ack_due = Instant::NEVER;
            }
        }
    }

    /// The driver is done with the frame that it was given last.
    pub fn sent(&mut self, now: Instant, sent: Sent) {
        self.wait_for_others();
        let flight = match (self.exchange.land(), sent) {
            (Some(InFlight::Rel(flight)), Sent::Done) => flight,
            (Some(InFlight::Rel(flight)), Sent::ChannelBusy) => {
                count(&mut self.counters.busy);
                self.rest(now, flight.to);
                return;
            }
            (Some(InFlight::Data(flight)), sent) => {
                self.data_sent(now, flight, sent);
                return;
            }
            (Some(InFlight::Hello { is_brief }), Sent::ChannelBusy) => {
                count(&mut self.counters.busy);
                self.hellos.take_back();
                let rest = Duration::from_micros(u64::from(BUSY_REST_US / 2 + self.rng.below(BUSY_REST_US)));
                if is_brief {
                    self.hellos.beat.again(now + rest);
                } else {
                    self.hellos.trickle.again(now + rest);
                }
                return;
            }
            (Some(InFlight::Hello { .. }), Sent::Done) => {
                self.twins.hello_sent();
                return;
            }
            (None, _) => return,
        };
        let answers = ANSWER_SLOT.times(u32::from(flight.answers));
        let wait = if flight.answers > 0 { TURN_ROUND + answers + ANSWER_WAIT } else { IMPLICIT_WAIT };
        if flight.answers > 0 {
            self.exchange.await_answers(now + TURN_ROUND + answers + ANSWER_WAIT);
        }
        // One draw for all, so that those that do not acknowledge are sent the frame again together.
        let chance = self.rng.below(1_024);
        let slower = u32::from(self.crowd.slower());
        let patience = self.patience;
        for slot in flight.to.iter() {
            let Some(neighbour) = self.table.get_mut(slot) else { continue };
            if neighbour.arq.is_busy() {
                // Half of the gap and up to as much again. Messages come in waves that reach everybody, so a crowd takes
                // longer to get through; a question whether a neighbour is there is one frame at any time.
                let crowded = if neighbour.arq.is_probe { 0 } else { slower };
                let gap = (neighbour.gap(now, patience).as_micros() << crowded) * (512 + u64::from(chance)) / 1_024;
                let can_wait = neighbour.arq.is_lazy && neighbour.arq.attempts < LAZY_ATTEMPTS;
                let lazy = if can_wait { LAZY } else { Duration::ZERO };
                neighbour.arq.sent(now + wait.max(lazy) + Duration::from_micros(gap));
                if neighbour.is_to_be_asked_for(patience) {
                    self.hellos.beat.ask(now);
                    if neighbour.arq.attempts == DOUBT_ATTEMPTS {
                        self.life.ask(now);
                    }
                }
            }
        }
        self.exchange.ask(flight);
    }

    /// The channel was never clear. That counts as a delay and not as an attempt.
    fn rest(&mut self, now: Instant, slots: Slots) {
        for slot in slots.iter() {
            let rest = Duration::from_micros(u64::from(BUSY_REST_US / 2 + self.rng.below(BUSY_REST_US)));
            if let Some(neighbour) = self.table.get_mut(slot)
                && neighbour.arq.is_busy()
            {
                neighbour.arq.due = now + rest;
            }
        }
    }
}
