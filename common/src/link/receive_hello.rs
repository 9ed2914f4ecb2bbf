//! Receiving hellos: who is there, how well it hears this node, whom it has lost, and whether two boards have one id.

use super::body::{Hello, Name};
use super::digest::digest;
use super::frame::{FrameNumber, Header};
use super::life::AGE_HEIR;
use super::neighbour::Neighbour;
use super::pool::Slot;
use super::quality::Quality;
use super::session::Incarnation;
use super::table::Newcomer;
use super::{Above, Links, count};
use crate::limits::LINKS_ENOUGH;
use crate::notice::{Notice, Reason};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// A neighbour that leaves this node out of this many hellos in a row has no link to it.
const UNLISTED: u8 = 3;

/// A neighbour may hear a larger crowd, and be slower by so many doublings. One that is slower still is asked now and then
/// whether it is there; one that only says so would be missed late when it is gone.
const SLOWER_THERE: u8 = 1;

/// How long hellos tell of twins after both were heard.
const TWINS_TOLD: Duration = Duration::from_millis(30_000);

impl Links {
    /// A frame with this node's own id: its own frame replayed, or another board's.
    pub(super) fn on_own_id(&mut self, now: Instant, header: Header) {
        if header.device == self.twins.device() {
            count(&mut self.counters.replayed);
        } else {
            self.meet_twin(now);
        }
    }

    /// Another board has this node's id.
    pub fn meet_twin(&mut self, now: Instant) {
        self.notices.push(Notice::Twin(self.id()));
        if self.twins.find() {
            self.hellos.trickle.reset(now, &mut self.rng);
        }
    }

    /// Compares the serial number in a frame with the one that came lately under the same id.
    pub(super) fn note_device(&mut self, now: Instant, slot: Slot, device: u16) {
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

    pub(super) fn on_hello(
        &mut self,
        now: Instant,
        header: Header,
        slot: Option<Slot>,
        hello: &Hello,
        rssi_dbm: i8,
        leader: NodeId,
    ) {
        let is_brief = hello.is_brief();
        let admitted = slot.or_else(|| if is_brief { None } else { self.admit(now, header, hello, rssi_dbm, leader) });
        let Some(slot) = admitted else {
            count(&mut self.counters.refused);
            return;
        };
        let name = hello.names.iter().find(|name| name.id == self.id()).copied();
        if self.is_heir(slot, header, hello, leader) {
            self.life.heir = hello.leader;
        }
        self.note_hello(now, slot, header, hello, rssi_dbm, leader);
        self.hear_of_leader(now, slot, header.from, hello, leader);
        self.share_suspicion(now, hello);
        self.note_twin(now, slot, name);
        // On a ring nobody waits for a way before the election is told.
        if !is_brief
            && !self.hellos.is_on_ring()
            && let Some(neighbour) = self.table.touch(slot)
        {
            neighbour.insists = name.is_some_and(|name| name.willing && name.token != 0);
        }
        let i_want = self.table.is_wanted(now, slot, self.hellos.links_max());
        let is_alone = self.table.links() == 0;
        let (epoch, is_linked) =
            (header.epoch, self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up()));
        let token = self.tokens.next();
        let Some(neighbour) = self.table.touch(slot) else { return };
        let known = neighbour.session.echo();
        let turn = match name {
            Some(Name { token: theirs, echo, willing, .. }) if theirs != 0 => {
                neighbour.unlisted = 0;
                let theirs = Incarnation { epoch, token: theirs };
                neighbour.session.receive_hello(theirs, echo, willing, i_want, || token)
            }
            _ => {
                neighbour.unlisted = neighbour.unlisted.saturating_add(u8::from(!is_brief));
                neighbour.session.receive_epoch(epoch, || token)
            }
        };
        let (is_bad, unlisted) = (neighbour.quality.is_bad(), neighbour.unlisted);
        let is_other = neighbour.session.echo() != known;
        let is_missed = !is_linked && neighbour.dissents() && neighbour.quality.is_strong();
        let is_refused = hello.is_full && !is_linked && name.is_none_or(|name| !name.willing);
        if !is_brief {
            neighbour.refusals = if is_refused { neighbour.refusals.saturating_add(1) } else { 0 };
        }
        if is_alone && neighbour.is_refusing() && !neighbour.is_proven {
            // This node is about to be its guest.
            neighbour.challenge(now);
        }
        let is_new = !is_brief && !hello.is_full && i_want && (1..=UNLISTED).contains(&unlisted);
        if is_other {
            // An answer that is still to come would be one of the incarnation before.
            self.exchange.no_longer_asked(slot);
        }
        self.turned(now, slot, turn);
        // A leader is lost when it is silent, not when much of what it says is.
        if is_linked && is_bad && header.from != leader {
            self.take_down(now, slot, Reason::Quality);
        } else if is_linked && unlisted >= UNLISTED {
            self.take_down(now, slot, Reason::NoSession);
        }
        // A neighbour that has room and does not name this node has not heard it, so more hellos help, unless they have not
        // helped so far; one without room would not name it however often it heard it. More hellos also help two networks in
        // reach to become one.
        if is_missed || is_new {
            self.hellos.trickle.reset(now, &mut self.rng);
        }
        // A node without a link is only waiting to hear that it is wanted.
        if !is_linked && i_want && hello.links == 0 && name.is_some() {
            self.hurry(now);
        }
    }

    /// Compares what a linked neighbour has told its links with what this node has heard of it.
    pub(super) fn compare(&mut self, from: NodeId, hello: &Hello, above: &dyn Above) {
        let slot = self.table.find(from).filter(|_| self.table.is_linked(from));
        if let (Some(slot), Some(heard)) = (slot, above.heard(from))
            && let Some(neighbour) = self.table.touch(slot)
        {
            neighbour.compare(digest(heard, hello.number) == hello.digest);
        }
    }

    /// Notes what a hello tells, whether or not it names this node.
    fn note_hello(&mut self, now: Instant, slot: Slot, header: Header, hello: &Hello, rssi_dbm: i8, leader: NodeId) {
        let theirs = || hello.names.iter().take(usize::from(hello.links));
        let shared = self.table.linked().filter(|(_, neighbour)| theirs().any(|name| name.id == neighbour.id)).count();
        self.note_device(now, slot, header.device);
        let longest = self.hellos.trickle.longest_log2(self.crowd.slower() + SLOWER_THERE);
        let Some(neighbour) = self.table.touch(slot) else { return };
        let missed = if header.epoch == neighbour.last.epoch {
            neighbour.quality.note_hello(hello.number, rssi_dbm)
        } else {
            neighbour.quality.restart(hello.number, rssi_dbm);
            // The restart caused the breaks, not the link.
            neighbour.breaks = 0;
            0
        };
        neighbour.accept(now, header.number());
        neighbour.device = header.device;
        // Bounded: the loss of a node that announces a longer interval than any node has would be noticed only then.
        neighbour.interval_log2 = hello.interval_log2.min(longest);
        neighbour.leader = hello.leader;
        neighbour.is_alone = hello.links == 0;
        if !hello.is_brief() {
            neighbour.shared = u8::try_from(shared).unwrap_or(u8::MAX);
        }
        // Brief hellos come several times while an election passes.
        let more = u8::from(!hello.is_brief());
        neighbour.dissent = if hello.leader == leader { 0 } else { neighbour.dissent.saturating_add(more) };
        neighbour.calm(now);
        self.is_there(now, slot);
        self.counters.hellos_missed = self.counters.hellos_missed.saturating_add(u32::from(missed));
    }

    /// Whether a neighbour has proved that it is there. What others say of the leader or of whom they have lost may be a recording
    /// from elsewhere, which a node that never heard its sender does not know to be old.
    pub(super) fn is_present(&self, slot: Option<Slot>) -> bool {
        slot.and_then(|slot| self.table.get(slot)).is_some_and(|known| known.session.is_up() || known.is_proven)
    }

    /// Whether a hello says for the first time who leads in the leader's place. It is the heir's own, and the heir followed that
    /// leader until now, or the leader's. Whoever has no links or a new epoch has not succeeded anybody: it is alone, or begins. To
    /// a node without links, whatever it hears may be a recording.
    fn is_heir(&self, slot: Slot, header: Header, hello: &Hello, leader: NodeId) -> bool {
        let is_word = header.from == leader || (header.from == hello.leader && hello.age == AGE_HEIR);
        let did_follow = |before: &Neighbour| before.leader == leader && before.last.epoch == header.epoch;
        let is_new = ![leader, self.id(), NodeId(0)].contains(&hello.leader);
        is_word && is_new && hello.links > 0 && self.table.links() > 0 && self.table.get(slot).is_some_and(did_follow)
    }

    /// Takes what a hello tells of the leader: a sign of life, this node's rank, or that the sender misses it. Then this node
    /// objects where it knows better, or hands on what another objects. Where the sender has lost the leader, and nobody is known
    /// to have heard it lately, this node lets go of it as well, without asking it: so all do at about the same time.
    fn hear_of_leader(&mut self, now: Instant, slot: Slot, from: NodeId, hello: &Hello, leader: NodeId) {
        let is_present = self.is_present(Some(slot));
        if is_present && hello.leader == leader {
            self.life.vouch(now, hello.age);
        }
        // One that does not lead yet, though it has been elected, tells the age of another.
        if is_present && from == leader && hello.leader == from {
            self.life.note_leaving(now, hello.age);
        }
        if from == leader && !hello.is_brief() {
            let links = hello.names.iter().take(usize::from(hello.links));
            self.life.note_rank(links.map(|name| name.id).position(|id| id == self.id()));
        }
        self.watch();
        if self.life.take_objection(now) {
            self.hellos.beat.hand_on(now, &mut self.rng);
        }
        let slot = self.table.find(leader);
        // It was asked after because nobody was known to hear it.
        if let Some((slot, neighbour)) = slot.and_then(|slot| Some((slot, self.table.get(slot)?)))
            && neighbour.arq.is_probe
            && neighbour.suspect_at(self.patience) > now
            && self.life.was_there(now, leader)
        {
            self.is_there(now, slot);
        }
        let is_wrong = slot.and_then(|slot| self.table.get(slot)).is_some_and(|other| other.is_lost(now));
        if is_wrong && self.life.was_there(now, leader) {
            self.life.blind(now);
        }
        let missed = hello.names.iter().find(|name| name.id == leader && name.heard == 0);
        let Some(missed) = missed else { return };
        if leader == self.id() || self.life.was_there(now, leader) {
            self.hellos.beat.object(now, &mut self.rng);
            return;
        }
        self.life.doubt(now);
        if !missed.willing
            && let Some(slot) = slot
        {
            self.life.concur();
            self.take_down(now, slot, Reason::Silent);
        }
    }

    /// The sender has lost a neighbour that this node still has a link to: asks it now whether it is there, unless it was
    /// heard just now. So all neighbours of a node that is gone lose it at about the same time.
    fn share_suspicion(&mut self, now: Instant, hello: &Hello) {
        let slack = self.patience.slack();
        for name in hello.names.iter().filter(|name| !name.willing && name.heard == 0) {
            let Some(neighbour) = self.table.find(name.id).and_then(|slot| self.table.get_mut(slot)) else {
                continue;
            };
            let is_silent = now.since(neighbour.heard_at) > neighbour.interval() + slack;
            if neighbour.session.is_up() && is_silent {
                neighbour.suspect(now);
                neighbour.arq.is_doubted = true;
            }
        }
    }

    /// A neighbour's hello may say that two boards have this node's id. It is believed once the neighbour has proved that it is
    /// there: a board would otherwise take another id whenever somebody repeats what was true in an earlier boot.
    fn note_twin(&mut self, now: Instant, slot: Slot, name: Option<Name>) {
        if !name.is_some_and(|name| name.token == 0 && name.echo == 0) {
            return;
        }
        match self.table.get_mut(slot) {
            Some(neighbour) if neighbour.is_proven => self.meet_twin(now),
            Some(neighbour) => neighbour.challenge(now),
            None => {}
        }
    }

    /// Finds a slot for a newcomer.
    fn admit(&mut self, now: Instant, header: Header, hello: &Hello, rssi_dbm: i8, leader: NodeId) -> Option<Slot> {
        let quality = Quality::before(hello.number, rssi_dbm);
        let (dissents, is_strong) = (hello.leader != leader, quality.is_strong());
        let is_beside = self.table.is_preferred(header.from);
        let is_useful = is_strong && (dissents || is_beside || self.table.links() < LINKS_ENOUGH);
        let names_me = hello.names.iter().any(|name| name.id == self.id() && name.token != 0);
        // No neighbour makes way for a newcomer that this node has no use for.
        let newcomer = Newcomer { dissents, is_strong, names_me, is_beside };
        let weakest = || self.table.weakest(now, newcomer).filter(|_| is_useful);
        let slot = self.table.free().or_else(weakest)?;
        self.forget(slot);
        let session = self.new_session();
        let number = FrameNumber { counter: 0, ..header.number() };
        let mut neighbour = Neighbour::new(header.from, session, quality, number, now);
        neighbour.is_pinned = is_beside;
        self.table.put(slot, neighbour);
        if is_useful {
            self.hellos.trickle.reset(now, &mut self.rng);
        }
        Some(slot)
    }
}
