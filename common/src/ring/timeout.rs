//! What a keeper does because time has passed.

use super::{DISTURB_GAP, RingKeeper, SETTLE, count};
use crate::members::Members;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

/// The pace at which waiting is counted.
const TICK: Duration = Duration::from_millis(50);

/// How long a member without a way is waited for: time for a hello in which somebody has one.
const HOLD_BASE_MS: usize = 150;
const HOLD_MEMBER_MS: usize = 12;

/// And so many times as long where somebody says that it has one: time for a newer number to come that way.
const HOLD_WANTED: u8 = 2;

/// So many ticks after a member was given up it is said once more that there is no way to it.
const TOLD_AGAIN_TICKS: u8 = 4;

/// Envelopes given to a neighbour count as possibly lost, when its link goes down, for one to two times this many ticks.
/// That is longer than a link tries.
const CARRIED_TICKS: u8 = 24;

/// When things are to happen; [`Instant::NEVER`] where they are not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Deadlines {
    /// Waiting is counted.
    pub tick: Instant,
    /// A changed place is told.
    pub settle: Instant,
    /// A disturbance is told, and when the last one was.
    pub disturb: Instant,
    pub disturbed: Instant,
    /// The next hello after that has a newer number.
    pub beat: Instant,
    /// The leader was silent for too long.
    pub silence: Instant,
    /// A dispute has lasted too long.
    pub dispute: Instant,
    /// Ticks to the next change of generation of the carried envelopes.
    pub generation: u8,
}

impl Deadlines {
    pub const NONE: Self = Self {
        tick: Instant::NEVER,
        settle: Instant::NEVER,
        disturb: Instant::NEVER,
        disturbed: Instant::ZERO,
        beat: Instant::ZERO,
        silence: Instant::NEVER,
        dispute: Instant::NEVER,
        generation: CARRIED_TICKS,
    };
}

/// Whether a deadline has passed; if so it is cleared.
fn take(deadline: &mut Instant, now: Instant) -> bool {
    let is_due = *deadline <= now;
    if is_due {
        *deadline = Instant::NEVER;
    }
    is_due
}

impl RingKeeper {
    /// How long a member without a way is waited for before it counts as gone.
    pub fn hold_time(&self) -> Duration {
        TICK.times(u32::from(self.hold_ticks()))
    }

    fn hold_ticks(&self) -> u8 {
        let millis = HOLD_BASE_MS + HOLD_MEMBER_MS * self.order.ids().len();
        u8::try_from(millis.div_ceil(50)).unwrap_or(u8::MAX)
    }

    /// When [`timeout`](Self::timeout) or the next poll is wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let Deadlines { tick, settle, disturb, silence, dispute, .. } = self.at;
        [tick, settle, disturb, silence, dispute].into_iter().min().filter(|&at| at != Instant::NEVER)
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) asked for has come. Spurious calls are harmless.
    pub fn timeout(&mut self, now: Instant) {
        if take(&mut self.at.tick, now) {
            self.tick(now);
        }
        if take(&mut self.at.settle, now) {
            let place = self.find_place();
            self.due.place |= place != self.place;
            self.place = place;
        }
        if take(&mut self.at.disturb, now) {
            self.at.disturbed = now;
            count(&mut self.counters.disturbed);
            self.due.disturbed = true;
            self.told = self.told.minus(core::mem::take(&mut self.lapsed));
        }
        if take(&mut self.at.silence, now) {
            self.due.silent = true;
            self.at.silence = now + self.silence;
        }
        if take(&mut self.at.dispute, now) {
            self.due.disputed = true;
            self.at.dispute = now + self.silence;
        }
    }

    fn tick(&mut self, now: Instant) {
        self.at.generation = self.at.generation.saturating_sub(1);
        if self.at.generation == 0 {
            self.at.generation = CARRIED_TICKS;
            let [lately, _] = self.carried;
            self.carried = [Members::default(), lately];
        }
        let mut is_waiting = false;
        let mut expired = Members::default();
        for (hold, position) in self.hold.iter_mut().zip(0_u8..).filter(|(hold, _)| **hold > 0) {
            *hold -= 1;
            is_waiting |= *hold > 0;
            if *hold == 0 {
                expired = expired.with(position);
            }
        }
        expired.iter().for_each(|member| self.give_up(now, member));
        if is_waiting || self.carried.iter().any(|carried| !carried.is_empty()) {
            self.arm_tick(now);
        }
    }

    /// A member was without a way for too long.
    fn give_up(&mut self, now: Instant, member: u8) {
        if self.wanted.contains(member) {
            // Somebody had a way, and no newer number came with it. Saying once more that there is none here makes those
            // speak that have one; a little later, since an election may be about to pass.
            self.wanted = self.wanted.without(member);
            self.news = self.news.with(member);
            self.set_hold(member, TOLD_AGAIN_TICKS);
            self.arm_tick(now);
        } else if self.news.contains(member) {
            self.in_hurry = true;
        }
        if self.alive.contains(member) && self.routes.next(member).is_none() {
            self.alive = self.alive.without(member);
            self.edges.reset(member);
            // At once, since an election may follow: whoever else is to go has been waited for as long.
            self.at.settle = now;
        }
    }

    /// An election has come to this node. Whatever it would pass on to a neighbour on the ring to which there is no way now
    /// were lost, and with it the election; so such a one is waited for no longer.
    pub(super) fn bypass(&mut self, now: Instant) {
        let is_lost = |keeper: &Self, id: NodeId| {
            keeper.order.position(id).filter(|&side| side != keeper.own && keeper.routes.next(side).is_none())
        };
        let mut place = self.find_place();
        while let Some(lost) = is_lost(self, place.left).or_else(|| is_lost(self, place.right)) {
            self.set_hold(lost, 0);
            self.give_up(now, lost);
            place = self.find_place();
        }
        if place != self.place {
            self.place = place;
            self.due.place = true;
        }
    }

    pub(super) fn arm_tick(&mut self, now: Instant) {
        self.at.tick = self.at.tick.min(now + TICK);
    }

    pub(super) fn set_hold(&mut self, member: u8, ticks: u8) {
        if let Some(hold) = self.hold.get_mut(usize::from(member)) {
            *hold = ticks;
        }
    }

    /// Starts waiting for a member.
    pub(super) fn hold_on(&mut self, now: Instant, member: u8) {
        let is_wanted = self.wanted.contains(member);
        let ticks = self.hold_ticks().saturating_mul(if is_wanted { HOLD_WANTED } else { 1 });
        self.set_hold(member, ticks);
        self.arm_tick(now);
    }

    /// Somebody has come or gone; the place is looked at when things have settled.
    pub(super) fn shift(&mut self, now: Instant) {
        self.at.settle = self.at.settle.min(now + SETTLE);
    }

    /// Something was lost: the election is to begin again, soon and not too often.
    pub(super) fn disturb(&mut self, now: Instant) {
        if self.at.disturb == Instant::NEVER {
            self.at.disturb = (now + SETTLE).max(self.at.disturbed + DISTURB_GAP);
        }
    }

    /// The nearest living members on both sides.
    fn find_place(&self) -> RingPlace {
        let ids = self.order.ids();
        let living = |position: usize| -> Option<NodeId> {
            let alive = u8::try_from(position).is_ok_and(|position| self.alive.contains(position));
            ids.get(position).copied().filter(|_| alive)
        };
        let own = usize::from(self.own);
        let right = (own + 1..ids.len()).chain(0..own).find_map(living).unwrap_or(self.id);
        let left = (own + 1..ids.len()).chain(0..own).rev().find_map(living).unwrap_or(self.id);
        RingPlace { left, right }
    }
}
