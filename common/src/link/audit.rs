//! Repairs state that cannot be right, whether a memory error or a defect made it so.
//!
//! Everything that the links know either follows from frames that keep coming, or is checked here: ends of links that
//! belong to another boot, times that lie further ahead than possible, frames that wait for what will not come, and
//! messages for nobody. So any state of the links heals within a few hellos.

use super::Links;
use super::pool::{Slot, Slots};
use crate::limits::TABLE_MAX;
use crate::notice::{Notice, Reason};
use crate::time::{Duration, Instant};

/// No deadline of a frame lies further ahead: the longest gap between two attempts, in the largest crowd, and as much again.
const FRAME_AHEAD_MAX: Duration = Duration::from_millis(8_000);

/// The longest wait for an answer.
const QUIET_AHEAD_MAX: Duration = Duration::from_millis(100);

impl Links {
    pub fn audit(&mut self, now: Instant) {
        // The driver may have failed to store the epoch that it was asked for, and a node without one is mute.
        if self.epoch().is_none() {
            self.notices.push(Notice::EpochNeeded);
        }
        self.hellos.trickle.audit(now, &mut self.rng);
        self.hellos.beat.audit(now);
        self.life.audit(now);
        self.crowd.audit(now);
        self.watch();
        self.exchange.audit(now + QUIET_AHEAD_MAX);
        self.data_from = self.data_from.min(now + QUIET_AHEAD_MAX);
        for slot in 0..TABLE_MAX {
            self.audit_slot(now, Slot(slot));
        }
        self.exchange.pool.keep(self.table.linked_slots());
    }

    fn audit_slot(&mut self, now: Instant, slot: Slot) {
        let epoch = self.epoch();
        let Some(neighbour) = self.table.touch(slot) else { return };
        let is_of_other_boot = epoch.is_some_and(|epoch| neighbour.session.mine().epoch != epoch);
        let outstanding = usize::from(neighbour.arq.outstanding);
        let base = Duration::from_millis(u64::from(self.patience.hold_down_ms));
        let is_changed = neighbour.audit(now, now + FRAME_AHEAD_MAX, base);
        let is_up = neighbour.session.is_up();
        let waiting = self.exchange.pool.count(slot);
        if is_of_other_boot {
            self.take_down(now, slot, Reason::AtOdds);
            let session = self.new_session();
            self.table.get_mut(slot).into_iter().for_each(|neighbour| neighbour.session = session.clone());
        } else if is_up && outstanding > waiting {
            // It waits for the acknowledgement of messages that do not exist.
            self.take_down(now, slot, Reason::AtOdds);
        } else if is_up {
            let is_awaited = self.exchange.is_under_way(Slots::of(slot));
            let Some(neighbour) = self.table.touch(slot) else { return };
            let is_stuck = neighbour.arq.due == Instant::NEVER && (neighbour.arq.is_busy() || waiting > 0);
            if is_stuck && !is_awaited {
                neighbour.arq.due = now;
            }
            if is_changed || (is_stuck && !is_awaited) {
                // The next deadline has to be worked out again.
                self.table.get_mut(slot);
            }
        } else {
            let is_awaited = self.exchange.is_under_way(Slots::of(slot));
            let Some(neighbour) = self.table.touch(slot) else { return };
            let is_stuck = neighbour.arq.due == Instant::NEVER && neighbour.arq.is_busy() && !is_awaited;
            if is_stuck {
                neighbour.settle();
            }
            if is_stuck || is_changed {
                self.table.get_mut(slot);
            }
        }
    }
}
