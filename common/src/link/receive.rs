//! Receiving: messages and acknowledgements. Hellos have a file of their own.

use super::body::{Entry, Hello, RelBytes};
use super::data::is_data;
use super::exchange::Reply;
use super::frame::{ACK_BYTES, Head, Kind, Refusal, Status, as_ack};
use super::pool::Slot;
use super::sealed::Sealed;
use super::timeout::due_by;
use super::{Above, Links, count};
use crate::config::BROADCAST;
use crate::mac::phy::airtime;
use crate::mac::{ANSWER_SLOT, TURN_ROUND};
use crate::notice::Reason;
use crate::time::{Duration, Instant};

/// Roughly how long a frame waits for the channel.
const ACCESS_TIME: Duration = Duration::from_micros(1_000);

/// An acknowledgement that nothing takes along goes out after this time, at the latest.
const ACK_DELAY_MAX_US: u32 = 32_000;

/// It does not go out before this time, so that an answer of the election itself can take it along.
const ACK_DELAY_MIN_US: u32 = 8_000;

impl Links {
    /// A frame with a right checksum has arrived.
    pub fn receive(&mut self, now: Instant, frame: &mut (impl Sealed + ?Sized), rssi_dbm: i8, above: &mut dyn Above) {
        // Hellos go before data, so however much of that is on the channel, they are not late because of it.
        if !is_data(frame.bytes()) {
            self.load.hear(now, airtime(frame.bytes().len()));
        }
        self.patience.slack_ms = self.load.slack_ms(now);
        self.wait_for_others(now, frame.bytes().len());
        if let Some(ack) = as_ack(frame.bytes()) {
            self.on_ack(now, ack);
            return;
        }
        match self.numbering.open(frame) {
            Ok((head, body)) => {
                if head.to != self.id() && head.to != BROADCAST {
                    // Somebody else is asked and answers right away.
                    self.exchange.keep_quiet(now + TURN_ROUND + ANSWER_SLOT);
                }
                self.accept(now, head, body, rssi_dbm, above);
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Time in which others have the channel does not count as time without an acknowledgement. When everybody sends at
    /// once, acknowledgements come late, and sending again before they can come makes them later.
    fn wait_for_others(&mut self, now: Instant, bytes: usize) {
        if self.exchange.pool.is_empty() {
            return;
        }
        let airtime = airtime(bytes);
        for (_, neighbour) in self.table.iter_mut() {
            let arq = &mut neighbour.arq;
            // An answer that was asked for comes at once or not at all.
            if arq.attempts > 0 && !arq.is_asked && arq.due > now && arq.due != Instant::NEVER {
                arq.due = arq.due + airtime + ACCESS_TIME;
            }
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        count(match refusal {
            Refusal::Foreign => &mut self.counters.foreign,
            Refusal::Malformed => &mut self.counters.malformed,
            Refusal::Forged => &mut self.counters.forged,
        });
    }

    fn accept(&mut self, now: Instant, head: Head, body: &[u8], rssi_dbm: i8, above: &mut dyn Above) {
        if head.from == self.id() {
            self.on_own_id(now, head, body);
            return;
        }
        self.crowd.hear(now, head.from);
        self.life.hear(now, head.from, above.leader());
        let slot = self.table.find(head.from);
        let known = slot.and_then(|slot| self.table.get(slot)).filter(|neighbour| !neighbour.may_be_another(now));
        if known.is_some_and(|neighbour| head.number() <= neighbour.last) {
            count(&mut self.counters.replayed);
            // It may be a twin: of two boards with one id, one has the lower numbers.
            if let (Some(slot), Kind::Hello, Some((hello, _))) = (slot, head.kind, Hello::split(body)) {
                self.note_device(now, slot, hello.device);
            }
            return;
        }
        if head.to != self.id() && head.to != BROADCAST {
            return;
        }
        let due_of = due_by(self.patience);
        let before = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        let is_understood = match head.kind {
            // Only nodes in ring mode put anything behind the names.
            Kind::Hello => match &Hello::split(body) {
                Some((hello, more)) if self.hellos.is_on_ring() || more.is_empty() => {
                    self.on_hello(now, head, slot, hello, rssi_dbm, above.leader());
                    self.compare(head.from, hello, above);
                    if !more.is_empty() && self.table.is_linked(head.from) {
                        above.receive_hello(head.from, more);
                    }
                    true
                }
                _ => false,
            },
            Kind::Rel => {
                let to = Some(self.id()).filter(|id| head.to == *id);
                let rel = RelBytes::read(body, to);
                if let Some(rel) = rel {
                    self.on_rel(now, head, slot, rel, rssi_dbm);
                }
                rel.is_some()
            }
            Kind::Data => head.to == self.id() && self.on_data(now, head, slot, body, rssi_dbm, above),
        };
        let after = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        if let (Some(before), Some(after)) = (before, after) {
            self.table.moved(before, after);
        }
        count(if is_understood { &mut self.counters.accepted } else { &mut self.counters.malformed });
    }

    fn on_rel(&mut self, now: Instant, head: Head, slot: Option<Slot>, rel: RelBytes<'_>, rssi_dbm: i8) {
        if let Some(neighbour) = slot.and_then(|slot| self.table.touch(slot)) {
            neighbour.last = head.number();
            neighbour.heard_at = now;
            neighbour.quality.strengthen(rssi_dbm);
        }
        if let Some(slot) = slot {
            self.is_there(now, slot);
        }
        if rel.answer {
            let answers = u32::try_from(rel.entries().count()).unwrap_or(0);
            self.exchange.keep_quiet(now + TURN_ROUND + ANSWER_SLOT.times(answers));
        }
        if let Some((turn, entry)) = rel.entries().enumerate().find(|(_, entry)| entry.id == self.id()) {
            let status = slot.map_or(Status::NoSession, |slot| self.on_entry(now, head, slot, entry, rel));
            if rel.answer {
                let turn = u32::try_from(turn).unwrap_or(0);
                self.answer(now + TURN_ROUND + ANSWER_SLOT.times(turn), head, status);
            }
            if status == Status::NoSession {
                self.hellos.trickle.reset(now, &mut self.rng);
            }
        } else if let Some(entry) = rel.acks().find(|entry| entry.id == self.id())
            && let Some(slot) = slot
            && self.is_of_session(now, head, slot, entry.echo)
        {
            self.acknowledged(now, slot, entry.ack);
        }
    }

    /// Whether a frame belongs to the present session with its sender. It may bring the link up.
    fn is_of_session(&mut self, now: Instant, head: Head, slot: Slot, echo: u16) -> bool {
        let i_want = self.table.is_wanted(now, slot, self.hellos.links_max());
        let Some(neighbour) = self.table.touch(slot) else { return false };
        let turn = neighbour.session.receive_rel(head.epoch, echo, i_want);
        if let Some(turn) = turn {
            self.turned(now, slot, turn);
        } else {
            count(&mut self.counters.stale);
        }
        // Making room may have taken the new link down again.
        turn.is_some() && self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up())
    }

    fn on_entry(&mut self, now: Instant, head: Head, slot: Slot, entry: Entry, rel: RelBytes<'_>) -> Status {
        if !self.is_of_session(now, head, slot, entry.echo) {
            return Status::NoSession;
        }
        self.acknowledged(now, slot, entry.ack);
        let messages = rel.messages_len;
        if messages == 0 {
            return Status::Accepted;
        }
        if usize::from(messages) > self.exchange.inbox_room() {
            return Status::NoRoom;
        }
        let delay = u64::from(ACK_DELAY_MIN_US + self.rng.below(ACK_DELAY_MAX_US - ACK_DELAY_MIN_US));
        let Some(neighbour) = self.table.touch(slot) else { return Status::NoSession };
        let known = neighbour.session.receive(entry.number, messages);
        for message in rel.messages().skip(usize::from(known)) {
            // The check above found room, and no message of a frame is longer than a parcel.
            if !self.exchange.deliver(head.from, message) {
                return Status::NoRoom;
            }
        }
        neighbour.ack_due =
            if rel.answer { Instant::NEVER } else { neighbour.ack_due.min(now + Duration::from_micros(delay)) };
        Status::Accepted
    }

    pub(super) fn answer(&mut self, at: Instant, head: Head, status: Status) {
        if let Some(bytes) = self.numbering.acknowledge(&head, status) {
            self.exchange.owe(Reply { bytes, at });
        }
    }

    /// The neighbour expects the message of this number next.
    fn acknowledged(&mut self, now: Instant, slot: Slot, expects: u8) {
        let Some(neighbour) = self.table.touch(slot) else { return };
        let outstanding = neighbour.arq.outstanding;
        if neighbour.session.is_ahead(expects, outstanding) {
            self.take_down(now, slot, Reason::AtOdds);
            return;
        }
        let delivered = neighbour.session.acknowledge(expects, outstanding);
        if delivered > 0 {
            self.delivered(now, slot, delivered);
        }
    }

    /// A frame came from a neighbour: it need not be asked any more whether it is there.
    pub(super) fn is_there(&mut self, now: Instant, slot: Slot) {
        if self.table.get(slot).is_some_and(|neighbour| neighbour.arq.is_probe) {
            self.delivered(now, slot, 0);
        }
    }

    fn delivered(&mut self, now: Instant, slot: Slot, messages: u8) {
        self.exchange.pool.delivered(slot, messages);
        let is_more = self.exchange.pool.count(slot) > 0;
        if let Some(neighbour) = self.table.get_mut(slot) {
            neighbour.settle();
            if is_more {
                neighbour.arq.due = now;
            }
        }
    }

    fn on_ack(&mut self, now: Instant, ack: [u8; ACK_BYTES]) {
        if self.on_data_ack(now, ack) {
            count(&mut self.counters.accepted);
            return;
        }
        let Some(asked) = self.exchange.asked() else { return };
        let status = asked.to.iter().find_map(|slot| {
            let status = self.numbering.status(asked.answered, self.table.get(slot)?.id, ack)?;
            Some((slot, status))
        });
        let Some((slot, status)) = status else { return };
        count(&mut self.counters.accepted);
        self.exchange.has_answered(slot);
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        neighbour.heard_at = now;
        match status {
            Status::Accepted => {
                let outstanding = neighbour.arq.outstanding;
                let expects = neighbour.session.oldest().wrapping_add(outstanding);
                let delivered = neighbour.session.acknowledge(expects, outstanding);
                self.delivered(now, slot, delivered);
            }
            // It will be sent again, as if there had been no answer.
            Status::NoRoom => {}
            Status::NoSession => self.take_down(now, slot, Reason::NoSession),
        }
    }
}
