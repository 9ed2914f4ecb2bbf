//! Receiving: messages and acknowledgements. Hellos have a file of their own.

use super::body::{Entry, Hello, RelBytes};
use super::exchange::Reply;
use super::frame::{ACK_BYTES, Header, Kind, Refusal, Status, as_ack, tag_of};
use super::pool::Slot;
use super::sealed::Sealed;
use super::security::TAG_BYTES;
use super::session::Turn;
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

/// How a frame was heard.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    airtime: Duration,
    pub rssi_dbm: i8,
    /// The tag of the frame.
    pub tag: [u8; TAG_BYTES],
}

/// How long the last frame and the answers to it take the channel from this node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// The end of the frame; never, where it is counted already.
    since: Instant,
    frame: Duration,
    answers: Duration,
}

impl Others {
    pub const NONE: Self = Self { since: Instant::NEVER, frame: Duration::ZERO, answers: Duration::ZERO };
}

/// What a frame has to do with the sessions of this node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belongs {
    Nowhere,
    /// To a session whose other end has not proved yet that it is there.
    Met,
    Up,
}

impl Links {
    /// A frame with a right checksum has arrived.
    pub fn receive(&mut self, now: Instant, frame: &mut (impl Sealed + ?Sized), rssi_dbm: i8, above: &mut dyn Above) {
        self.wait_for_others();
        let (airtime, tag) = (airtime(frame.bytes().len()), tag_of(frame.bytes()).unwrap_or_default());
        if let Some(ack) = as_ack(frame.bytes()) {
            self.on_ack(now, ack);
            return;
        }
        match self.numbering.open(frame) {
            Ok((header, body)) => self.accept(now, header, body, Arrival { airtime, rssi_dbm, tag }, above),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Time in which others have the channel does not count as time without an acknowledgement. When everybody sends at
    /// once, acknowledgements come late, and sending again before they can come makes them later. Answers to others count by the
    /// frames that ask for them: whose they are nobody else can tell.
    ///
    /// What the last frame takes from this node is counted only here, before anything else is sent or times out: going through
    /// all neighbours takes time that the answer to that frame does not have.
    pub(super) fn wait_for_others(&mut self) {
        let Others { since, frame, answers } = core::mem::replace(&mut self.others, Others::NONE);
        if since == Instant::NEVER || self.exchange.pool.is_empty() {
            return;
        }
        for (_, neighbour) in self.table.iter_mut() {
            neighbour.arq.postpone(since, frame + ACCESS_TIME);
            if !answers.is_zero() {
                neighbour.arq.postpone(since, answers + ACCESS_TIME);
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

    /// Takes a frame of a member. Whatever a frame does merely by being there, it does behind the check of its number: an
    /// outsider can send what it has recorded as often as it likes, and noise all the time.
    fn accept(&mut self, now: Instant, header: Header, body: &[u8], arrival: Arrival, above: &mut dyn Above) {
        let Arrival { airtime, rssi_dbm, .. } = arrival;
        if header.from == self.id() {
            self.on_own_id(now, header);
            return;
        }
        let slot = self.table.find(header.from);
        let known = slot.and_then(|slot| self.table.get(slot)).filter(|neighbour| !neighbour.may_be_another(now));
        if known.is_some_and(|neighbour| header.number() <= neighbour.last) {
            count(&mut self.counters.replayed);
            // The sender may be a twin: of two boards with one id, one has the lower numbers.
            if let Some(slot) = slot {
                self.note_device(now, slot, header.device);
                self.answer_twin(now, slot, header, body, arrival);
            }
            return;
        }
        if slot.is_none() && self.forgotten.refuses(header.from, header.number()) {
            count(&mut self.counters.replayed);
            return;
        }
        self.crowd.hear(now, header.from);
        self.life.follow(now, above.leader());
        if self.is_present(slot) {
            self.life.hear(now, header.from);
        }
        self.watch();
        // Hellos precede DATA, so no amount of DATA on the channel makes them late.
        if header.kind != Kind::Data {
            self.hear_load(now, slot, airtime);
        }
        self.patience.slack_ms = self.load.slack_ms(now);
        self.others = Others { since: now, frame: airtime, answers: Duration::ZERO };
        if header.to != self.id() && header.to != BROADCAST {
            // Somebody else is asked and answers right away.
            self.exchange.keep_quiet(now + TURN_ROUND + ANSWER_SLOT);
            self.others.answers = ANSWER_SLOT;
            return;
        }
        let due_of = due_by(self.patience);
        let before = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        let is_understood = match header.kind {
            // Only nodes in ring mode put anything behind the names.
            Kind::Hello => match &Hello::split(body) {
                Some((hello, more)) if self.hellos.is_on_ring() || more.is_empty() => {
                    self.on_hello(now, header, slot, hello, rssi_dbm, above.leader());
                    if !hello.is_brief() {
                        self.compare(header.from, hello, above);
                    }
                    if !more.is_empty() {
                        above.receive_hello(header.from, more);
                    }
                    true
                }
                _ => false,
            },
            Kind::Rel => {
                let to = Some(self.id()).filter(|id| header.to == *id);
                let rel = RelBytes::read(body, to);
                if let Some(rel) = rel {
                    self.on_rel(now, header, slot, rel, arrival);
                }
                rel.is_some()
            }
            Kind::Data => header.to == self.id() && self.on_data(now, header, slot, body, arrival, above),
        };
        let after = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        if let (Some(before), Some(after)) = (before, after) {
            self.table.moved(before, after);
        }
        count(if is_understood { &mut self.counters.accepted } else { &mut self.counters.malformed });
    }

    /// Whoever plays recordings of boards that this node has never heard makes the channel look busy, and silence would be put up
    /// with for longer. So where there are links, only those count that have proved to be here; but in a crowd most have not
    /// been asked.
    fn hear_load(&mut self, now: Instant, slot: Option<Slot>, airtime: Duration) {
        if self.is_present(slot) || self.crowd.slower() > 0 || self.table.linked_slots().is_empty() {
            self.load.hear(now, airtime);
        }
    }

    /// A frame has too low a number, perhaps because it comes from a twin, which is to learn that from this node. It believes a
    /// neighbour that has answered its challenge.
    fn answer_twin(&mut self, now: Instant, slot: Slot, header: Header, body: &[u8], arrival: Arrival) {
        let is_twin = self.table.get(slot).is_some_and(|neighbour| neighbour.device != header.device);
        let to = Some(self.id()).filter(|id| header.to == *id);
        let is_for_me = header.kind == Kind::Rel && (to.is_some() || header.to == BROADCAST);
        let rel = is_for_me.then(|| RelBytes::read(body, to)).flatten().filter(|rel| rel.challenge.is_some());
        let turn = rel.and_then(|rel| rel.entries().position(|entry| entry.id == self.id()));
        if let Some(turn) = turn.filter(|_| is_twin) {
            let turn = u32::try_from(turn).unwrap_or(0);
            self.answer(now + TURN_ROUND + ANSWER_SLOT.times(turn), header, arrival.tag, Status::NoSession);
        }
    }

    fn on_rel(&mut self, now: Instant, header: Header, slot: Option<Slot>, rel: RelBytes<'_>, arrival: Arrival) {
        if let Some(neighbour) = slot.and_then(|slot| self.table.touch(slot)) {
            neighbour.accept(now, header.number());
            neighbour.quality.strengthen(arrival.rssi_dbm);
        }
        if let Some(slot) = slot {
            self.is_there(now, slot);
        }
        if rel.answer {
            let answers = u32::try_from(rel.entries().count()).unwrap_or(0);
            self.exchange.keep_quiet(now + TURN_ROUND + ANSWER_SLOT.times(answers));
            self.others.answers = ANSWER_SLOT.times(answers);
        }
        if let Some((turn, entry)) = rel.entries().enumerate().find(|(_, entry)| entry.id == self.id()) {
            let status = slot.map_or(Status::NoSession, |slot| self.on_entry(now, header, slot, entry, rel));
            if rel.answer {
                let turn = u32::try_from(turn).unwrap_or(0);
                self.answer(now + TURN_ROUND + ANSWER_SLOT.times(turn), header, arrival.tag, status);
            }
            if status == Status::NoSession {
                self.hellos.trickle.reset(now, &mut self.rng);
            }
        } else if let Some(entry) = rel.acks().find(|entry| entry.id == self.id())
            && let Some(slot) = slot
            && self.belongs(now, header, slot, entry.echo) == Belongs::Up
        {
            self.acknowledged(now, slot, entry.ack);
        }
    }

    /// Whether a frame belongs to the present session with its sender.
    fn belongs(&mut self, now: Instant, header: Header, slot: Slot, echo: u16) -> Belongs {
        let i_want = self.table.is_wanted(now, slot, self.hellos.links_max());
        let Some(neighbour) = self.table.touch(slot) else { return Belongs::Nowhere };
        let Some(turn) = neighbour.session.receive_rel(header.epoch, echo, i_want) else {
            count(&mut self.counters.stale);
            return Belongs::Nowhere;
        };
        self.turned(now, slot, turn);
        if turn == Turn::Met { Belongs::Met } else { Belongs::Up }
    }

    fn on_entry(&mut self, now: Instant, header: Header, slot: Slot, entry: Entry, rel: RelBytes<'_>) -> Status {
        let messages = rel.messages_len;
        match self.belongs(now, header, slot, entry.echo) {
            Belongs::Nowhere => return Status::NoSession,
            Belongs::Met => return Status::NoRoom,
            Belongs::Up => {}
        }
        self.acknowledged(now, slot, entry.ack);
        // If the ends did not count alike, the link is down, and these messages no longer belong to any session.
        if !self.table.linked_slots().contains(slot) {
            return Status::NoSession;
        }
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
            if !self.exchange.deliver(header.from, message) {
                return Status::NoRoom;
            }
        }
        neighbour.ack_due =
            if rel.answer { Instant::NEVER } else { neighbour.ack_due.min(now + Duration::from_micros(delay)) };
        Status::Accepted
    }

    pub(super) fn answer(&mut self, at: Instant, header: Header, tag: [u8; TAG_BYTES], status: Status) {
        if let Some(bytes) = self.numbering.acknowledge(&header, tag, status) {
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
        if self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up() && neighbour.arq.is_probe) {
            self.delivered(now, slot, 0);
        }
    }

    fn delivered(&mut self, now: Instant, slot: Slot, messages: u8) {
        if self.table.get(slot).is_some_and(|neighbour| neighbour.is_all_but_lost(self.patience)) {
            self.life.blind(now);
        }
        self.exchange.pool.delivered(slot, messages);
        let is_more = self.exchange.pool.count(slot) > 0;
        if let Some(neighbour) = self.table.get_mut(slot) {
            // A frame that repeats these may carry more, and have arrived: what is left of it was sent as well.
            let left = neighbour.arq.outstanding.saturating_sub(messages);
            neighbour.settle();
            neighbour.arq.outstanding = left;
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
        let i_want = self.table.is_wanted(now, slot, self.hellos.links_max());
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        neighbour.heard_at = now;
        if !neighbour.session.is_up() {
            // Whatever the acknowledgement says, its sender is there.
            neighbour.is_proven = true;
            neighbour.settle();
            if status != Status::NoSession {
                let turn = neighbour.session.receive_answer(status == Status::Accepted, i_want);
                self.turned(now, slot, turn);
            }
            return;
        }
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
