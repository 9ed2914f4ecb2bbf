//! Links that go up and down, and everything that follows from it: what is forgotten, held down, counted, told to the others
//! and to the layer above.

use super::neighbour::{BREAKS_MAX, News};
use super::pool::Slot;
use super::session::Turn;
use super::{LinkEvent, Links, count};
use crate::notice::Reason;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

impl Links {
    /// The next link that went down or came up.
    pub fn poll_turn(&mut self) -> Option<LinkEvent> {
        let turned = self.table.has_turned.then(|| self.find_turn()).flatten();
        self.table.has_turned &= turned.is_some();
        turned
    }

    fn find_turn(&mut self) -> Option<LinkEvent> {
        let fallen = self.table.iter_mut().find_map(|(_, neighbour)| Some((neighbour.id, neighbour.news.down.take()?)));
        if let Some((id, reason)) = fallen {
            return Some(LinkEvent::Down(id, reason));
        }
        let (_, neighbour) = self.table.iter_mut().find(|(_, neighbour)| neighbour.news.up)?;
        neighbour.news.up = false;
        Some(LinkEvent::Up(neighbour.id))
    }

    pub fn end(&mut self, now: Instant, peer: NodeId, reason: Reason) {
        if let Some(slot) = self.table.find(peer) {
            self.take_down(now, slot, reason);
        }
    }

    pub(super) fn begin_anew(&mut self, now: Instant, reason: Reason) {
        for slot in self.table.linked_slots().iter() {
            self.take_down(now, slot, reason);
        }
        for slot in Slot::all() {
            if self.table.get(slot).is_some() {
                let session = self.new_session();
                self.table.get_mut(slot).into_iter().for_each(|neighbour| neighbour.session = session.clone());
            }
        }
        self.hellos.trickle.start(now, &mut self.rng);
    }

    /// Takes a link down with everything that follows from it.
    pub(super) fn take_down(&mut self, now: Instant, slot: Slot, reason: Reason) {
        if self.table.get(slot).is_some_and(|neighbour| neighbour.session.is_up()) {
            let token = self.tokens.next();
            self.table.get_mut(slot).into_iter().for_each(|neighbour| neighbour.session.down(token));
            self.fell(now, slot, reason);
        }
    }

    /// A session has gone down: forgets what was to be sent over it, and lets the next hello tell the others soon.
    fn fell(&mut self, now: Instant, slot: Slot, reason: Reason) {
        let base = Duration::from_millis(u64::from(self.patience.hold_down_ms));
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        neighbour.quieten();
        // The layer above never learned that this link was up, so it need not learn that it is down.
        match core::mem::take(&mut neighbour.news) {
            News { up: true, down } => neighbour.news.down = down,
            News { up: false, down } => neighbour.news.down = down.or(Some(reason)),
        }
        if matches!(
            reason,
            Reason::Unacknowledged | Reason::Silent | Reason::Quality | Reason::Overrun | Reason::MadeRoom
        ) {
            neighbour.hold(now, base);
        }
        if matches!(reason, Reason::Unacknowledged | Reason::Silent) {
            neighbour.quality.lose();
        }
        // The other end has given the link up and holds it down; this end becomes as patient as that one.
        if matches!(reason, Reason::NewIncarnation | Reason::NoSession) {
            neighbour.breaks = neighbour.breaks.saturating_add(1).min(BREAKS_MAX);
        }
        let id = neighbour.id;
        self.table.note_link(slot);
        self.exchange.forget(slot, id);
        count(&mut self.counters.links_down);
        self.hellos.trickle.reset(now, &mut self.rng);
        if id == self.patience.watch.of && matches!(reason, Reason::Unacknowledged | Reason::Silent) {
            self.hellos.beat.ask(now);
        }
    }

    pub(super) fn turned(&mut self, now: Instant, slot: Slot, turn: Turn) {
        match turn {
            Turn::Stays => {}
            Turn::Met => self.met(now, slot),
            Turn::Down(reason) => self.fell(now, slot, reason),
            Turn::Up => {
                if let Some(neighbour) = self.table.get_mut(slot) {
                    neighbour.news.up = true;
                    neighbour.unlisted = 0;
                    neighbour.quality.begin();
                }
                self.table.note_link(slot);
                count(&mut self.counters.links_up);
                self.make_room(now, slot);
                self.hellos.trickle.reset(now, &mut self.rng);
            }
        }
    }

    /// Where a hello cannot name all links any more, takes down the one that can best be spared.
    fn make_room(&mut self, now: Instant, newest: Slot) {
        if self.table.links() <= self.hellos.links_max() {
            return;
        }
        let victim = self.table.redundant().filter(|&slot| slot != newest).unwrap_or(newest);
        self.take_down(now, victim, Reason::MadeRoom);
    }
}
