//! What arrives: hellos, messages, acknowledgements.

use super::body::{Entry, Hello, Name, Parcel, RelBytes};
use super::frame::{ACK_BYTES, Answered, Head, Kind, Refusal, Status, as_ack};
use super::neighbour::Neighbour;
use super::quality::Quality;
use super::sealed::Sealed;
use super::session::{Incarnation, Session, Turn};
use super::timeout::due_by;
use super::{Links, Reply, count};
use crate::config::{BROADCAST, IdSource};
use crate::limits::{BUNDLE_MAX, LINKS_ENOUGH};
use crate::mac::phy::airtime;
use crate::notice::{Notice, Reason};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The time between the end of a frame and the first answer to it. A board checks the frame's tag, acts on it and makes the
/// answer's tag in about 620 µs, by the instructions that its image takes; the rest is for slower memory.
pub const TURN_ROUND: Duration = Duration::from_micros(800);

/// The time that each answer has.
pub const ANSWER_SLOT: Duration = Duration::from_micros(1_000);

/// What getting on to the channel takes, about.
const ACCESS_TIME: Duration = Duration::from_micros(1_000);

/// An acknowledgement that rides along goes out within this time, at the latest.
const ACK_DELAY_MAX_US: u32 = 32_000;

/// And not before this, so that an answer of the election itself can take it along.
const ACK_DELAY_MIN_US: u32 = 8_000;

/// So many hellos in a row that do not name this node mean that there is no link.
const UNLISTED: u8 = 3;

/// How long twins are told of after both were heard.
const TWINS_TOLD: Duration = Duration::from_millis(30_000);

impl Links {
    /// A frame with a right checksum has arrived. What a linked neighbour tells of the ring in its hello is given to `told`.
    pub fn receive(
        &mut self,
        now: Instant,
        frame: &mut (impl Sealed + ?Sized),
        rssi_dbm: i8,
        told: &mut dyn FnMut(NodeId, &[u8]),
    ) {
        self.wait_for_others(now, frame.bytes().len());
        if let Some(ack) = as_ack(frame.bytes()) {
            self.on_ack(now, ack);
            return;
        }
        match self.open(frame) {
            Ok((head, body)) => {
                if head.to != self.id && head.to != BROADCAST {
                    // Somebody else is asked and answers right away.
                    self.quiet_until = self.quiet_until.max(now + TURN_ROUND + ANSWER_SLOT);
                }
                self.accept(now, head, body, rssi_dbm, told);
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Time in which others had the channel does not count as time without an acknowledgement. Where everybody sends at
    /// once, acknowledgements come late; sending again before they can come would only make them later.
    fn wait_for_others(&mut self, now: Instant, bytes: usize) {
        if self.pool.is_empty() {
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

    /// Decrypts a frame; its head and body.
    fn open<'f>(&self, frame: &'f mut (impl Sealed + ?Sized)) -> Result<(Head, &'f [u8]), Refusal> {
        let head = Head::read(frame.bytes())?;
        if head.pan != self.pan {
            return Err(Refusal::Foreign);
        }
        let key = self.keys.iter().flatten().find(|(key_id, _)| *key_id == head.key_id);
        let (_, keys) = key.ok_or(Refusal::Foreign)?;
        Ok((head, frame.open(keys, &head)?))
    }

    fn accept(&mut self, now: Instant, head: Head, body: &[u8], rssi_dbm: i8, told: &mut dyn FnMut(NodeId, &[u8])) {
        if head.from == self.id {
            self.on_own_id(now, head, body);
            return;
        }
        let slot = self.table.find(head.from);
        let last = slot.and_then(|slot| self.table.get(slot)).map(|neighbour| neighbour.last);
        if last.is_some_and(|last| (head.epoch, head.counter) <= last) {
            count(&mut self.counters.replayed);
            // Of two boards with one id, one has the lower numbers.
            if let (Some(slot), Kind::Hello, Some((hello, _))) = (slot, head.kind, Hello::split(body)) {
                self.note_device(now, slot, hello.device);
            }
            return;
        }
        if head.to != self.id && head.to != BROADCAST {
            return;
        }
        let due_of = due_by(self.timings);
        let before = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        let is_understood = match head.kind {
            // Only whoever is on a ring tells anything behind the names.
            Kind::Hello => match &Hello::split(body) {
                Some((hello, more)) if self.is_on_ring || more.is_empty() => {
                    self.on_hello(now, head, slot, hello, rssi_dbm);
                    if !more.is_empty() && self.table.is_linked(head.from) {
                        told(head.from, more);
                    }
                    true
                }
                _ => false,
            },
            Kind::Rel => {
                let to = (head.to == self.id).then_some(self.id);
                let rel = RelBytes::read(body, to);
                if let Some(rel) = rel {
                    self.on_rel(now, head, slot, rel, rssi_dbm);
                }
                rel.is_some()
            }
        };
        let after = slot.and_then(|slot| self.table.get(slot)).map(&due_of);
        if let (Some(before), Some(after)) = (before, after) {
            self.table.moved(before, after);
        }
        count(if is_understood { &mut self.counters.accepted } else { &mut self.counters.malformed });
    }

    /// A frame of this node's own id: its own, thrown back at it, or another board's.
    fn on_own_id(&mut self, now: Instant, head: Head, body: &[u8]) {
        let twin = match head.kind {
            Kind::Hello => Hello::split(body).is_some_and(|(hello, _)| hello.device != self.device),
            Kind::Rel => false,
        };
        if twin {
            self.on_twin(now);
        } else {
            count(&mut self.counters.replayed);
        }
    }

    fn on_twin(&mut self, now: Instant) {
        self.notices.push(Notice::Twin(self.id));
        if self.id_source == IdSource::Chip {
            self.has_twin = true;
            self.trickle.reset(now, &mut self.rng);
        }
    }

    /// Holds a hello's piece of a serial number against the one heard lately under the same id.
    fn note_device(&mut self, now: Instant, slot: usize, device: u16) {
        let Some(neighbour) = self.table.get(slot) else { return };
        let was_heard = now.since(neighbour.heard_at) < neighbour.interval().times(3);
        if neighbour.device != 0
            && neighbour.device != device
            && was_heard
            && let Some(neighbour) = self.table.get_mut(slot)
        {
            neighbour.shun_twins(now, TWINS_TOLD);
            self.notices.push(Notice::TwinsHeard(neighbour.id));
        }
    }

    fn on_hello(&mut self, now: Instant, head: Head, slot: Option<usize>, hello: &Hello, rssi_dbm: i8) {
        let Some(slot) = slot.or_else(|| self.admit(now, head, hello, rssi_dbm)) else {
            count(&mut self.counters.refused);
            return;
        };
        let name = hello.names.iter().find(|name| name.id == self.id).copied();
        if name.is_some_and(|name| self.is_of_twin(name)) {
            self.on_twin(now);
        }
        self.note_hello(now, slot, head, hello, rssi_dbm);
        let i_want = self.is_wanted(now, slot);
        let (epoch, is_linked) = (head.epoch, self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up()));
        // Tokens are scarce: a hello that takes no link down uses none.
        let token = self.next_token();
        let Some(neighbour) = self.table.hear(slot) else { return };
        let turn = match name {
            Some(Name { token: theirs, echo, willing, .. }) if theirs != 0 => {
                neighbour.unlisted = 0;
                let theirs = Incarnation { epoch, token: theirs };
                neighbour.session.hear_hello(theirs, echo, willing, i_want, || token)
            }
            _ => {
                neighbour.unlisted = neighbour.unlisted.saturating_add(1);
                neighbour.session.hear_epoch(epoch, || token)
            }
        };
        let (is_bad, unlisted) = (neighbour.quality.is_bad(), neighbour.unlisted);
        let is_missed = !is_linked && neighbour.dissents() && neighbour.quality.is_strong();
        if matches!(turn, Turn::Down(_)) {
            self.token = token;
        }
        self.turned(now, slot, turn);
        if is_linked && is_bad {
            self.take_down(now, slot, Reason::Quality);
        } else if is_linked && unlisted >= UNLISTED {
            self.take_down(now, slot, Reason::NoSession);
        }
        // A neighbour with room has not heard this node; one without would not name it however often it heard it.
        // And where two networks hear each other without having become one, the more is said the sooner they will.
        if is_missed || (name.is_none() && !hello.is_full) {
            self.trickle.reset(now, &mut self.rng);
        }
    }

    /// What a hello tells, whether or not it names this node.
    fn note_hello(&mut self, now: Instant, slot: usize, head: Head, hello: &Hello, rssi_dbm: i8) {
        let willing = |id: NodeId| hello.names.iter().filter(|name| name.willing && name.id == id).count();
        let linked: usize = self.table.linked().map(|(_, neighbour)| willing(neighbour.id)).sum();
        let own_leader = self.leader;
        self.note_device(now, slot, hello.device);
        let Some(neighbour) = self.table.hear(slot) else { return };
        let missed = if head.epoch == neighbour.last.0 {
            neighbour.quality.hear(hello.number, rssi_dbm)
        } else {
            neighbour.quality.restart(hello.number, rssi_dbm);
            // It was not the link that was at fault.
            neighbour.breaks = 0;
            0
        };
        neighbour.last = (head.epoch, head.counter);
        neighbour.device = hello.device;
        neighbour.heard_at = now;
        neighbour.interval_log2 = hello.interval_log2;
        neighbour.leader = hello.leader;
        neighbour.shared = u8::try_from(linked).unwrap_or(u8::MAX);
        neighbour.dissent = if hello.leader == own_leader { 0 } else { neighbour.dissent.saturating_add(1) };
        neighbour.calm(now);
        self.is_there(now, slot);
        self.share_suspicion(now, hello);
        self.counters.hellos_missed = self.counters.hellos_missed.saturating_add(u32::from(missed));
    }

    /// Somebody this node has a link to is named as lost: it is asked now whether it is there, unless it was heard just now.
    /// Whoever loses a neighbour says so at once in its hellos, so that all of them lose it at about the same time.
    fn share_suspicion(&mut self, now: Instant, hello: &Hello) {
        for name in hello.names.iter().filter(|name| !name.willing && name.heard == 0) {
            let Some(neighbour) = self.table.find(name.id).and_then(|slot| self.table.get_mut(slot)) else {
                continue;
            };
            let is_silent = now.since(neighbour.heard_at).as_micros() > neighbour.interval().as_micros() / 2;
            if neighbour.session.is_up() && is_silent {
                neighbour.suspect(now);
                neighbour.arq.is_doubted = true;
            }
        }
    }

    /// Whether a hello's words on this node are about another board with its id: it was said so, or an epoch is echoed
    /// that this board has not reached.
    fn is_of_twin(&self, name: Name) -> bool {
        let ahead = (name.echo >> 12).wrapping_sub(self.epoch.unwrap_or(0)) & 15;
        (name.token == 0 && name.echo == 0) || (name.echo != 0 && (1..8).contains(&ahead))
    }

    /// Finds a slot for a newcomer.
    fn admit(&mut self, now: Instant, head: Head, hello: &Hello, rssi_dbm: i8) -> Option<usize> {
        let dissents = hello.leader != self.leader;
        let quality = Quality::before(hello.number, rssi_dbm);
        let slot = self.table.free().or_else(|| self.table.weakest(now, dissents, quality.is_strong()))?;
        let session = Session::new(Incarnation { epoch: self.epoch.unwrap_or(0), token: self.fresh_token() });
        let neighbour = Neighbour::new(head.from, session, quality, (head.epoch, 0), now);
        self.table.put(slot, neighbour);
        self.trickle.reset(now, &mut self.rng);
        Some(slot)
    }

    /// Whether a link is wanted: the neighbour is heard well, did not break lately, and there is room, or it must be let
    /// in because its network has another leader.
    pub(super) fn is_wanted(&self, now: Instant, slot: usize) -> bool {
        let Some(neighbour) = self.table.get(slot) else { return false };
        if neighbour.session.is_up() {
            return true;
        }
        let must_enter = neighbour.is_pinned || neighbour.dissents();
        let links = self.table.links();
        let has_room = links < LINKS_ENOUGH || (must_enter && links < self.links_max());
        let is_heard = neighbour.quality.is_good() || (neighbour.dissents() && neighbour.quality.is_fair());
        is_heard && neighbour.held_until <= now && (has_room || (must_enter && self.table.redundant().is_some()))
    }

    fn on_rel(&mut self, now: Instant, head: Head, slot: Option<usize>, rel: RelBytes<'_>, rssi_dbm: i8) {
        if let Some(neighbour) = slot.and_then(|slot| self.table.hear(slot)) {
            neighbour.last = (head.epoch, head.counter);
            neighbour.heard_at = now;
            neighbour.quality.strengthen(rssi_dbm);
        }
        if let Some(slot) = slot {
            self.is_there(now, slot);
        }
        if rel.answer {
            let answers = u32::try_from(rel.entries().count()).unwrap_or(0);
            self.quiet_until = self.quiet_until.max(now + TURN_ROUND + ANSWER_SLOT.times(answers));
        }
        if let Some((turn, entry)) = rel.entries().enumerate().find(|(_, entry)| entry.id == self.id) {
            let status = slot.map_or(Status::NoSession, |slot| self.on_entry(now, head, slot, entry, rel));
            if rel.answer {
                let turn = u32::try_from(turn).unwrap_or(0);
                self.answer(now + TURN_ROUND + ANSWER_SLOT.times(turn), head, status);
            }
            if status == Status::NoSession {
                self.trickle.reset(now, &mut self.rng);
            }
        } else if let Some(entry) = rel.acks().find(|entry| entry.id == self.id)
            && let Some(slot) = slot
            && self.is_of_session(now, head, slot, entry.echo)
        {
            self.acknowledged(now, slot, entry.ack);
        }
    }

    /// Whether a frame belongs to the present session with its sender. It may bring the link up.
    fn is_of_session(&mut self, now: Instant, head: Head, slot: usize, echo: u16) -> bool {
        let i_want = self.is_wanted(now, slot);
        let Some(neighbour) = self.table.hear(slot) else { return false };
        let turn = neighbour.session.hear_rel(head.epoch, echo, i_want);
        if let Some(turn) = turn {
            self.turned(now, slot, turn);
        } else {
            count(&mut self.counters.stale);
        }
        // Making room may have taken the new link down again.
        turn.is_some() && self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up())
    }

    fn on_entry(&mut self, now: Instant, head: Head, slot: usize, entry: Entry, rel: RelBytes<'_>) -> Status {
        if !self.is_of_session(now, head, slot, entry.echo) {
            return Status::NoSession;
        }
        self.acknowledged(now, slot, entry.ack);
        let messages = rel.messages_len;
        if messages == 0 {
            return Status::Accepted;
        }
        if self.inbox.len() + usize::from(messages) > BUNDLE_MAX {
            return Status::NoRoom;
        }
        let delay = u64::from(ACK_DELAY_MIN_US + self.rng.below(ACK_DELAY_MAX_US - ACK_DELAY_MIN_US));
        let Some(neighbour) = self.table.hear(slot) else { return Status::NoSession };
        let known = neighbour.session.receive(entry.number, messages);
        for message in rel.messages().skip(usize::from(known)) {
            // There is room: it was looked for above. And no message of a frame is longer than a parcel.
            let parcel = Parcel::from_slice(message).unwrap_or_default();
            if self.inbox.push((head.from, parcel)).is_err() {
                return Status::NoRoom;
            }
        }
        neighbour.ack_due =
            if rel.answer { Instant::NEVER } else { neighbour.ack_due.min(now + Duration::from_micros(delay)) };
        Status::Accepted
    }

    fn answer(&mut self, at: Instant, head: Head, status: Status) {
        let Some((_, keys)) = self.keys.iter().flatten().find(|(key_id, _)| *key_id == head.key_id) else { return };
        let answered = Answered { sender: head.from, epoch: head.epoch, counter: head.counter };
        // Without an epoch a node is not to send; an answer carries no number of its own, but would tell that it is here.
        if self.epoch.is_some() {
            self.reply = Some(Reply { bytes: answered.acknowledge(keys, self.id, status), at });
        }
    }

    /// The neighbour expects the message of this number next.
    fn acknowledged(&mut self, now: Instant, slot: usize, expects: u8) {
        let Some(neighbour) = self.table.hear(slot) else { return };
        let outstanding = neighbour.arq.outstanding;
        let delivered = neighbour.session.acknowledge(expects, outstanding);
        if delivered > 0 {
            self.delivered(now, slot, delivered);
        }
    }

    /// A neighbour was heard: it need not be asked whether it is there.
    fn is_there(&mut self, now: Instant, slot: usize) {
        if self.table.get(slot).is_some_and(|neighbour| neighbour.arq.is_probe) {
            self.delivered(now, slot, 0);
        }
    }

    fn delivered(&mut self, now: Instant, slot: usize, messages: u8) {
        self.pool.delivered(slot, messages);
        let is_more = self.pool.count(slot) > 0;
        if let Some(neighbour) = self.table.get_mut(slot) {
            neighbour.settle();
            if is_more {
                neighbour.arq.due = now;
            }
        }
    }

    fn on_ack(&mut self, now: Instant, ack: [u8; ACK_BYTES]) {
        let Some(asked) = &self.asked else { return };
        let answered = asked.answered;
        let keys = self.keys.iter().flatten().next();
        let status = asked.to.iter().find_map(|slot| {
            let status = answered.status(&keys?.1, self.table.get(slot)?.id, ack)?;
            Some((slot, status))
        });
        let Some((slot, status)) = status else { return };
        count(&mut self.counters.accepted);
        if let Some(asked) = &mut self.asked {
            asked.to = asked.to.without(super::Slots::of(slot));
        }
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
