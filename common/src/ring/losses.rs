//! What this node has lost, or may have lost: members without a route, and envelopes that may not have arrived.
//!
//! Owns how long to wait for a member before it counts as gone. A broken link often leaves another way, which the next hellos
//! bring; an election for every broken link would be worse than the short wait. It also owns the suspicion of lost
//! envelopes: a link that goes down may take along what it was given lately, and nobody else knows.

use super::audit::bound_by;
use super::take_due;
use super::wire::NOBODY;
use crate::limits::MEMBERS_MAX;
use crate::members::{Members, Position};
use crate::time::{Duration, Instant};

/// Waits are counted in ticks of this length.
const TICK_MS: usize = 50;
const TICK: Duration = Duration::from_millis(TICK_MS as u64);

/// How long to wait for a member without a route: time for a hello from somebody who has one. Larger rings have longer ways.
const WAIT_BASE_MS: usize = 150;
const WAIT_MEMBER_MS: usize = 12;

/// The time between hurried hellos that the wait assumes, and how many hellos a longer one adds to the wait.
const PAUSE_USUAL: Duration = Duration::from_millis(150);
const PACE_HELLOS: u64 = 2;

/// The wait is this many times as long where a neighbour says that it has a route: time for a newer number to come that
/// way.
const WANTED_FACTOR: u8 = 2;

/// The wait is in any case this many times as long. Nobody needs to know at once that a member is gone, since messages
/// pass it anyway; but everybody pays for a member that is given up and found again.
const DETOUR_FACTOR: u8 = 4;

/// How long to wait for a condemned leader, so that others can say that they have a way to it.
const CONDEMNED_TICKS: u8 = 1;

/// This many ticks after giving up a member, the node says once more that it has no route to it.
const TELL_AGAIN_TICKS: u8 = 4;

/// When a link goes down, the envelopes of the last one to two times this many ticks count as possibly lost. A link does not
/// try for longer than that.
const CARRIED_TICKS: u8 = 24;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Losses {
    /// When waits are next counted down.
    tick_at: Instant,
    /// For how many ticks each member is still waited for; 0 if it is not.
    waits: [u8; MEMBERS_MAX],
    /// Members without a route to which a neighbour has one that needs a newer number.
    wanted: Members,
    /// Members to which something could not be sent, or may have been lost on its way.
    missed: Members,
    /// Members whose envelope was refused because this node did not know them yet.
    unmet: Members,
    /// The neighbours that were given envelopes in this generation and in the one before.
    carried: [Members; 2],
    /// Ticks to the next generation.
    generation_ticks: u8,
    /// The usual wait on a quiet channel, and what a busy one adds to it.
    wait_ticks: u8,
    pace_ticks: u8,
    /// The neighbour that spoke last of a wanted member.
    helper: Position,
    /// A leader that is waited for hardly at all, and whether it was given up: others that have not noticed go on telling of ways to
    /// it for a while.
    condemned: Position,
    is_condemned_gone: bool,
}

impl Losses {
    pub fn new(ring_size: usize) -> Self {
        let wait_ticks = (WAIT_BASE_MS + WAIT_MEMBER_MS * ring_size).div_ceil(TICK_MS);
        Self {
            tick_at: Instant::NEVER,
            waits: [0; MEMBERS_MAX],
            wanted: Members::default(),
            missed: Members::default(),
            unmet: Members::default(),
            carried: [Members::default(); 2],
            generation_ticks: CARRIED_TICKS,
            wait_ticks: u8::try_from(wait_ticks).unwrap_or(u8::MAX),
            pace_ticks: 0,
            helper: NOBODY,
            condemned: NOBODY,
            is_condemned_gone: false,
        }
    }

    /// The usual wait for a member without a route.
    pub fn wait_time(&self) -> Duration {
        TICK.times(u32::from(self.wait_ticks()))
    }

    fn wait_ticks(&self) -> u8 {
        self.wait_ticks.saturating_add(self.pace_ticks)
    }

    /// Hurried hellos come this far apart, so a neighbour that knows a detour takes that much longer to tell of it.
    pub fn set_pace(&mut self, pause: Duration) {
        let more = pause.as_micros().saturating_sub(PAUSE_USUAL.as_micros()) * PACE_HELLOS / TICK.as_micros();
        self.pace_ticks = u8::try_from(more).unwrap_or(u8::MAX);
    }

    /// Starts to wait for a member.
    pub fn wait_for(&mut self, now: Instant, member: Position) {
        let wanted = if self.wanted.contains(member) { WANTED_FACTOR } else { 1 };
        self.set_wait(member, self.wait_ticks().saturating_mul(wanted).saturating_mul(DETOUR_FACTOR));
        self.arm_tick(now);
    }

    /// The wait for a member is over, but there is a reason to wait a little more.
    pub fn wait_on(&mut self, now: Instant, member: Position) {
        self.set_wait(member, self.wait_ticks());
        self.arm_tick(now);
    }

    /// A leader gives no sign of life: gives it up soon, whatever neighbours that have not noticed say.
    pub fn condemn(&mut self, now: Instant, leader: Position) {
        (self.condemned, self.is_condemned_gone) = (leader, false);
        self.wanted = self.wanted.without(leader);
        self.set_wait(leader, CONDEMNED_TICKS);
        self.arm_tick(now);
    }

    /// Whether what others tell of ways to a member is from before it was condemned, for all that is known.
    pub fn is_condemned(&self, member: Position) -> bool {
        self.condemned == member
    }

    /// A neighbour has a route to a member, but only a newer number makes it safe to take: waits longer for that.
    pub fn want(&mut self, now: Instant, helper: Position, member: Position) {
        self.helper = helper;
        if !self.wanted.contains(member) && !self.is_condemned(member) {
            self.wanted = self.wanted.with(member);
            self.wait_for(now, member);
        }
    }

    /// A neighbour has no route to a member. If it was the one that had, the longer wait is pointless.
    pub fn want_no_longer(&mut self, now: Instant, neighbour: Position, member: Position) {
        if self.helper == neighbour && self.wanted.contains(member) {
            self.wanted = self.wanted.without(member);
            self.wait_for(now, member);
        }
    }

    /// There is a route to a member again. True where something for it may have been lost meanwhile.
    pub fn find(&mut self, member: Position) -> bool {
        self.wanted = self.wanted.without(member);
        self.stop_waiting(member);
        if self.condemned == member {
            self.condemned = NOBODY;
        }
        let is_missed = self.missed.contains(member);
        self.missed = self.missed.without(member);
        is_missed
    }

    pub fn stop_waiting(&mut self, member: Position) {
        self.set_wait(member, 0);
    }

    /// The wait for a member is over. Returns true if a neighbour had a route and no newer number came with it: saying
    /// once more that there is no route here makes neighbours speak that have one. That is done a little later, because
    /// an election may be about to pass.
    pub fn give_up(&mut self, now: Instant, member: Position) -> bool {
        if self.is_condemned(member) {
            let ticks = if self.is_condemned_gone { 0 } else { self.wait_ticks() };
            self.condemned = if self.is_condemned_gone { NOBODY } else { member };
            self.is_condemned_gone = true;
            self.set_wait(member, ticks);
            self.arm_tick(now);
        }
        let was_wanted = self.wanted.contains(member);
        if was_wanted {
            self.wanted = self.wanted.without(member);
            self.set_wait(member, TELL_AGAIN_TICKS);
            self.arm_tick(now);
        }
        was_wanted
    }

    /// Something for a member could not be sent, or may have been lost.
    pub fn miss(&mut self, member: Position) {
        self.missed = self.missed.with(member);
    }

    /// A member wrote to this node before this node knew a route to it, and was refused.
    pub fn refuse(&mut self, member: Position) {
        self.unmet = self.unmet.with(member);
    }

    /// Whether a member was refused; asked once, when there is a route to it.
    pub fn take_refused(&mut self, member: Position) -> bool {
        let is_refused = self.unmet.contains(member);
        self.unmet = self.unmet.without(member);
        is_refused
    }

    /// An envelope was given to a neighbour.
    pub fn carry(&mut self, now: Instant, neighbour: Position) {
        let [lately, before] = self.carried;
        self.carried = [lately.with(neighbour), before];
        self.arm_tick(now);
    }

    /// The link to a neighbour went down. True where envelopes may have gone down with it.
    pub fn link_down(&mut self, neighbour: Position) -> bool {
        let had_envelopes = self.carried.iter().any(|carried| carried.contains(neighbour));
        self.carried = self.carried.map(|carried| carried.without(neighbour));
        had_envelopes
    }

    pub fn is_waiting(&self, member: Position) -> bool {
        self.waits.get(member.index()).is_some_and(|&wait| wait > 0)
    }

    /// See [`RingKeeper::audit`](super::RingKeeper).
    pub fn audit(&mut self, now: Instant) {
        bound_by(&mut self.tick_at, now, TICK);
        if !self.is_waiting(self.condemned) {
            self.condemned = NOBODY;
        }
        self.generation_ticks = self.generation_ticks.min(CARRIED_TICKS);
        if self.waits.iter().any(|&wait| wait > 0) || self.carried.iter().any(|carried| !carried.is_empty()) {
            self.arm_tick(now);
        }
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, tick_at: Instant, member: Position, wait: u8, any: Members) {
        (self.tick_at, self.generation_ticks, self.helper, self.pace_ticks) = (tick_at, wait, member, wait);
        (self.wanted, self.missed, self.unmet, self.carried) = (any, any, any, [any; 2]);
        self.set_wait(member, wait);
    }

    pub fn poll_timeout(&self) -> Instant {
        self.tick_at
    }

    /// Counts the waits where a tick is due; returns the members whose wait is over.
    pub fn timeout(&mut self, now: Instant) -> Members {
        let mut over = Members::default();
        if !take_due(&mut self.tick_at, now) {
            return over;
        }
        self.generation_ticks = self.generation_ticks.saturating_sub(1);
        if self.generation_ticks == 0 {
            self.generation_ticks = CARRIED_TICKS;
            let [lately, _] = self.carried;
            self.carried = [Members::default(), lately];
        }
        let mut is_waiting = false;
        for (wait, position) in self.waits.iter_mut().zip(Position::all()).filter(|(wait, _)| **wait > 0) {
            *wait -= 1;
            is_waiting |= *wait > 0;
            if *wait == 0 {
                over = over.with(position);
            }
        }
        if is_waiting || self.carried.iter().any(|carried| !carried.is_empty()) {
            self.arm_tick(now);
        }
        over
    }

    fn arm_tick(&mut self, now: Instant) {
        self.tick_at = self.tick_at.min(now + TICK);
    }

    fn set_wait(&mut self, member: Position, ticks: u8) {
        if let Some(wait) = self.waits.get_mut(member.index()) {
            *wait = ticks;
        }
    }
}
