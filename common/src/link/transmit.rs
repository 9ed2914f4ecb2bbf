//! What goes out: acknowledgements, frames with messages, hellos. A frame is put together when the driver asks for it.

use heapless::Vec;

use super::body::{AckEntry, Entry, Hello, Name, Parcel, Rel};
use super::frame::{ACK_BYTES, Answered, COUNTER_MAX, HEAD_BYTES, Head, Kind};
use super::pool::Slots;
use super::receive::{ANSWER_SLOT, TURN_ROUND};
use super::security::TAG_BYTES;
use super::timeout::due_by;
use super::{Flight, InFlight, Links, count};
use crate::config::BROADCAST;
use crate::limits::{BUNDLE_MAX, HELLO_NAMES_MAX, LINKS_ENOUGH, NAMED_MAX, RING_NAMES_MAX};
use crate::mac::phy::FRAME_MAX;
use crate::mac::{Access, Sent, Transmit};
use crate::notice::Notice;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// What a body may take.
const BODY_MAX: usize = FRAME_MAX - HEAD_BYTES - TAG_BYTES;

/// How long a frame that asks for no answer waits for the others' own frames to acknowledge it.
const IMPLICIT_WAIT: Duration = Duration::from_millis(45);

/// The end of the last answer's slot, and a little for clocks.
const ANSWER_WAIT: Duration = Duration::from_micros(700);

/// A hello that has waited for so long goes before messages.
const HELLO_PATIENCE: Duration = Duration::from_millis(50);

/// Of a channel that was never clear the radio rests so long.
const BUSY_REST_US: u32 = 4_000;

/// The messages that one frame carries, by their indices in the pool.
type Bundle = Vec<usize, BUNDLE_MAX, u8>;

impl Links {
    /// The acknowledgement that is owed, written to `buf`.
    pub fn poll_answer(&mut self, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        let reply = self.reply.take()?;
        *buf.first_chunk_mut::<ACK_BYTES>()? = reply.bytes;
        count(&mut self.counters.sent);
        Some(Transmit { length: ACK_BYTES, access: Access::At(reply.at) })
    }

    /// The next frame to send other than an [answer](Self::poll_answer), written to `buf`.
    ///
    /// A hello has room behind its names for what ring mode tells, which `tell` writes; it returns how many bytes.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        tell: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Option<Transmit> {
        if self.in_flight.is_some() || self.epoch.is_none() || now < self.quiet_until {
            return None;
        }
        let due = self.table.keep_due(due_by(self.timings));
        if now < due.transmit && !self.trickle.is_due(now) {
            return None;
        }
        self.transmit_due(now, buf, tell)
    }

    fn transmit_due(
        &mut self,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        tell: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Option<Transmit> {
        // Messages are in more of a hurry than hellos, but where they never end a hello must still get through.
        let overdue = self.transmit_hello(now - HELLO_PATIENCE, now, buf, tell);
        let length =
            overdue.or_else(|| self.transmit_rel(now, buf)).or_else(|| self.transmit_hello(now, now, buf, tell))?;
        count(&mut self.counters.sent);
        Some(Transmit { length, access: Access::Csma })
    }

    /// The head of the next frame; none once the epoch's numbers are used up.
    fn next_head(&mut self, to: NodeId, kind: Kind) -> Option<Head> {
        let epoch = self.epoch?;
        if self.counter >= COUNTER_MAX {
            self.epoch = None;
            self.notices.push(Notice::EpochNeeded);
            return None;
        }
        self.counter += 1;
        let key_id = self.keys.first().and_then(Option::as_ref).map_or(0, |(key_id, _)| *key_id);
        Some(Head { pan: self.pan, to, from: self.id, key_id, kind, epoch, counter: self.counter })
    }

    fn seal(&self, head: Head, buf: &mut [u8], length: usize) -> Option<usize> {
        let (_, keys) = self.keys.first()?.as_ref()?;
        head.seal(keys, buf, length)
    }

    /// A hello, where one was due at a time.
    fn transmit_hello(
        &mut self,
        due: Instant,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        tell: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Option<usize> {
        if !self.trickle.is_due(due) {
            return None;
        }
        self.trickle.sent(now);
        let head = self.next_head(BROADCAST, Kind::Hello)?;
        let hello = self.hello(now);
        let mut length = hello.write(buf.get_mut(HEAD_BYTES..)?).ok()?;
        if self.is_on_ring {
            length += tell(buf.get_mut(HEAD_BYTES + length..FRAME_MAX - TAG_BYTES)?);
        }
        let length = self.seal(head, buf, length)?;
        self.in_flight = Some(InFlight::Hello);
        Some(length)
    }

    /// Links are named first; those that are not linked take turns where not all fit.
    fn hello(&mut self, now: Instant) -> Hello {
        self.hello_number = self.hello_number.wrapping_add(1);
        self.first_name = self.first_name.wrapping_add(1);
        let mut names = Vec::<Name, HELLO_NAMES_MAX, u8>::new();
        let links = self.table.links();
        // Where links alone fill the hello, one of them gives its place to a newcomer that must be let in: a link may be
        // left out once, a newcomer that is never named never gets one.
        let names_max = if self.is_on_ring { RING_NAMES_MAX } else { HELLO_NAMES_MAX };
        let is_crowded = links >= names_max;
        // Whoever has links enough names no others but those that it must let in or that it has to say something about: hellos
        // are most of what is on the air, and each is opened by everybody in reach.
        let is_content = links >= LINKS_ENOUGH;
        let others = || {
            let unlinked = self.table.iter().filter(|(_, neighbour)| !neighbour.session.is_up());
            unlinked.filter(|&(slot, neighbour)| {
                let is_news = neighbour.is_lost(now) || neighbour.has_twin(now) || neighbour.dissents();
                let is_news = is_news && !is_crowded;
                !is_content || is_news || self.is_wanted(now, slot)
            })
        };
        let count = others().count();
        let left_out = (is_crowded && count > 0).then(|| usize::from(self.first_name) % links);
        let linked = self.table.linked().enumerate().filter(|&(at, _)| Some(at) != left_out).map(|(_, named)| named);
        let turn = usize::from(self.first_name) % count.max(1);
        for (slot, neighbour) in linked.chain(others().skip(turn)).chain(others().take(turn)) {
            let is_twin = neighbour.has_twin(now);
            let name = Name {
                id: neighbour.id,
                token: if is_twin { 0 } else { neighbour.session.mine().token },
                willing: self.is_wanted(now, slot),
                heard: neighbour.quality.eighths(),
                echo: if is_twin { 0 } else { neighbour.session.echo() },
            };
            if names.len() == names_max || names.push(name).is_err() {
                break;
            }
        }
        Hello {
            number: self.hello_number,
            interval_log2: self.trickle.next_interval_log2(),
            is_full: links + count > names_max || is_content,
            leader: self.leader,
            device: self.device,
            names,
        }
    }

    fn transmit_rel(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
        let (rel, to, flight_to) = self.rel(now)?;
        let is_for_all = to == BROADCAST;
        let head = self.next_head(to, Kind::Rel)?;
        let length = rel.write(is_for_all, buf.get_mut(HEAD_BYTES..)?).ok()?;
        let length = self.seal(head, buf, length)?;
        let answered = Answered { sender: self.id, epoch: head.epoch, counter: head.counter };
        let answers = if rel.answer { u8::try_from(rel.entries.len()).unwrap_or(0) } else { 0 };
        self.in_flight = Some(InFlight::Rel(Flight { answered, to: flight_to, answers }));
        // An answer to an earlier frame that comes only now must not be taken for one to these messages.
        self.asked = None;
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
            // Where one alone is asked its answer costs less than the frame that would bring the acknowledgement later, and
            // the next message need not wait for that.
            rel.answer = is_retry || to == Slots::of(leading);
            self.enlist(to, &bundle, &mut rel);
            // A question without messages is none that was sent before.
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
    fn most_urgent(&self, now: Instant) -> Option<usize> {
        let usual = self.timings.attempts;
        let due = self.table.linked().filter(|(_, neighbour)| {
            neighbour.arq.due <= now && neighbour.arq.attempts < neighbour.attempts_max(usual)
        });
        // Of those with the same message, one who is to get it for the first time: such a frame takes the others along.
        due.min_by_key(|(slot, neighbour)| {
            let first = self.pool.queue(*slot).next().map_or(usize::MAX, |(at, _)| at);
            (first, neighbour.arq.attempts > 0)
        })
        .map(|(slot, _)| slot)
    }

    /// The messages of a neighbour's next frame: those that are outstanding, and as many behind them as fit. A question has
    /// none.
    fn bundle(&self, slot: usize) -> Option<Bundle> {
        let mut room = BODY_MAX - super::body::REL_BYTES - 6;
        let mut bundle = Bundle::new();
        for (at, message) in self.pool.queue(slot).take(BUNDLE_MAX) {
            let Some(left) = room.checked_sub(1 + message.len()) else { break };
            room = left;
            bundle.push(at).ok()?;
        }
        Some(bundle)
    }

    fn message(&self, slot: usize, at: usize) -> Option<Parcel> {
        self.pool.queue(slot).find(|&(other, _)| other == at).map(|(_, message)| message.clone())
    }

    /// Everybody else who is due and whose next messages are the same ones. A question is for one alone.
    fn listeners(&self, now: Instant, leading: usize, bundle: &Bundle, is_retry: bool, room: usize) -> Slots {
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
            let mut next = self.pool.queue(slot).map(|(at, _)| at);
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
            // There is room: they were counted.
            if rel.entries.push(entry).is_ok() {
                neighbour.arq.outstanding = messages;
                neighbour.arq.is_asked = rel.answer;
                // A question that takes messages along is none any more: only an acknowledgement settles it.
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

    /// The frame given out last is through.
    pub fn sent(&mut self, now: Instant, sent: Sent) {
        let flight = match (self.in_flight.take(), sent) {
            (Some(InFlight::Rel(flight)), Sent::Done) => flight,
            (Some(InFlight::Rel(flight)), Sent::ChannelBusy) => {
                count(&mut self.counters.busy);
                self.rest(now, flight.to);
                return;
            }
            (Some(InFlight::Hello), Sent::ChannelBusy) => {
                count(&mut self.counters.busy);
                return;
            }
            (Some(InFlight::Hello), Sent::Done) => {
                // The twin has been shown this board's serial number, so that it knows as well.
                self.must_rename |= self.has_twin;
                return;
            }
            (None, _) => return,
        };
        let answers = ANSWER_SLOT.times(u32::from(flight.answers));
        let wait = if flight.answers > 0 { TURN_ROUND + answers + ANSWER_WAIT } else { IMPLICIT_WAIT };
        if flight.answers > 0 {
            self.quiet_until = now + TURN_ROUND + answers + ANSWER_WAIT;
        }
        // One chance for all: those that are missing are written to together.
        let chance = self.rng.below(1_024);
        for slot in flight.to.iter() {
            let Some(neighbour) = self.table.get_mut(slot) else { continue };
            if neighbour.arq.is_busy() {
                neighbour.arq.attempts = neighbour.arq.attempts.saturating_add(1);
                // Half of the gap and up to as much again.
                let gap = neighbour.arq.gap().as_micros() * (512 + u64::from(chance)) / 1_024;
                neighbour.arq.due = now + wait + Duration::from_micros(gap);
            }
        }
        self.asked = Some(flight);
    }

    /// The channel was never clear: that is no attempt, only a delay.
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
