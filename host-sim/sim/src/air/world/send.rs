//! How a station's frames get on the air: after a back-off and a look at the channel, or at their time.

use common::time::Instant;

use super::{Event, Phase, Slot, World};
use crate::air::csma::Backoff;
use crate::air::station::{Access, Room, Sent, Station, Transmit, Watcher};
use crate::air::world::intruder::RawFrame;
use crate::air::{PSDU_MAX, airtime_us};

/// A station whose radio is busy asks again after one unit of the back-off.
const ASK_AGAIN_US: u64 = 320;

impl<S: Station> World<S> {
    /// Takes over the frames that a station wants to send, as far as there is room. Most of the time it wants none.
    #[inline]
    pub(super) fn take_frames(&mut self, node: usize, now: Instant) {
        loop {
            let room = self.desks[node].room;
            if !room.csma && !room.timed {
                return;
            }
            let wanted = self.stations[node].poll_transmit(now, room, &mut self.scratch);
            if !wanted.is_some_and(|transmit| self.take_frame(node, room, transmit)) {
                return;
            }
        }
    }

    /// Takes over one frame; whether to ask for another.
    #[inline(never)]
    fn take_frame(&mut self, node: usize, room: Room, transmit: Transmit) -> bool {
        let Transmit { length, access } = transmit;
        let length = length.min(PSDU_MAX);
        match access {
            Access::Csma if room.csma => {
                self.outgoing[node].csma = self.scratch[..length].into();
                self.back_off(node, Backoff::default());
            }
            Access::At(at) if room.timed => {
                // The transmitter is started so early that the first bit leaves in time. Too late is never.
                let first_bit = self.clocks[node].when(at);
                let Some(begins) = first_bit.checked_sub(self.timing.tx_ramp_us) else { return true };
                if begins < self.now_us {
                    self.records[node].usage.late += 1;
                    let now = self.clocks[node].show(self.now_us);
                    self.stations[node].handle_sent(now, Access::At(at), Sent::ChannelBusy);
                    return true;
                }
                self.set_timed(node, Some(at));
                self.outgoing[node].timed = self.scratch[..length].into();
                self.schedule(begins, node, Event::Ramp);
            }
            // Nothing says that it would not offer the same again.
            Access::Csma | Access::At(_) => {
                self.records[node].usage.refused += 1;
                return false;
            }
        }
        true
    }

    fn set_backoff(&mut self, node: usize, backoff: Option<Backoff>) {
        self.nodes[node].backoff = backoff;
        self.desks[node].room.csma = backoff.is_none();
    }

    fn set_timed(&mut self, node: usize, timed: Option<Instant>) {
        self.records[node].timed = timed;
        self.desks[node].room.timed = timed.is_none();
    }

    fn back_off(&mut self, node: usize, backoff: Backoff) {
        self.set_backoff(node, Some(backoff));
        let wait = backoff.wait_us(&mut self.nodes[node].rng);
        self.schedule(self.now_us + wait, node, Event::Look);
    }

    /// The back-off is over. A frame that is just being received is finished first, and so is whatever else the radio does.
    pub(super) fn look(&mut self, node: usize) {
        let state = &self.nodes[node];
        if state.phase == Phase::Deaf {
            self.schedule(state.ready_at.max(self.now_us + 1), node, Event::Look);
            return;
        }
        let is_quiet = self.clocks[node].show(self.now_us) < self.stations[node].quiet_until();
        if state.phase == Phase::Taken || is_quiet || self.medium.is_locked(node) {
            let chance = u64::from(self.nodes[node].rng.below(u32::try_from(ASK_AGAIN_US).unwrap_or(u32::MAX)));
            self.schedule(self.now_us + ASK_AGAIN_US / 2 + chance, node, Event::Look);
            return;
        }
        self.listen(node, false);
        self.nodes[node].phase = Phase::Taken;
        self.schedule(self.now_us + self.timing.rx_ramp_us, node, Event::LookBegins);
    }

    pub(super) fn look_begins(&mut self, node: usize) {
        self.medium.begin_cca(self.now_us, node);
        self.schedule(self.now_us + self.timing.cca_us, node, Event::LookDone);
    }

    pub(super) fn look_done(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        self.nodes[node].rx_us += self.timing.rx_ramp_us + self.timing.cca_us;
        if !self.medium.end_cca(self.now_us, node) {
            self.schedule(self.now_us + self.timing.tx_ramp_us, node, Event::Send);
            return;
        }
        self.nodes[node].phase = Phase::Free;
        self.listen(node, true);
        if let Some(next) = self.nodes[node].backoff.and_then(Backoff::busy) {
            self.back_off(node, next);
            return;
        }
        self.set_backoff(node, None);
        self.records[node].usage.busy += 1;
        self.call(node, watcher, |station, now| station.handle_sent(now, Access::Csma, Sent::ChannelBusy));
    }

    /// The time of a frame is near: the transmitter starts, whatever the radio was doing. Only a frame that is already
    /// going out is not broken off.
    pub(super) fn ramp(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        if self.on_air[node].is_some() {
            self.records[node].usage.late += 1;
            if let Some(at) = self.records[node].timed {
                self.set_timed(node, None);
                self.call(node, watcher, |station, now| {
                    station.handle_sent(now, Access::At(at), Sent::ChannelBusy);
                });
            }
            return;
        }
        if self.nodes[node].phase == Phase::Taken {
            // It was looking whether the channel is clear, and has to look again.
            self.medium.abort_cca(node);
            self.nodes[node].turn += 1;
            let backoff = self.nodes[node].backoff.unwrap_or_default();
            self.back_off(node, backoff);
        }
        self.listen(node, false);
        self.nodes[node].phase = Phase::Taken;
        self.schedule(self.now_us + self.timing.tx_ramp_us, node, Event::SendTimed);
    }

    pub(super) fn send(&mut self, node: usize, slot: Slot, watcher: &mut impl Watcher<S>) {
        let psdu = self.outgoing[node].get(slot);
        let airtime = airtime_us(psdu.len());
        watcher.frame(self.now_us, node, psdu);
        self.on_air[node] = Some((self.begin_frame(node), slot));
        let usage = &mut self.records[node].usage;
        usage.sent += 1;
        usage.tx_us += self.timing.tx_ramp_us + airtime;
        self.schedule(self.now_us + airtime, node, Event::SendDone);
    }

    pub(super) fn send_done(&mut self, node: usize, watcher: &mut impl Watcher<S>) {
        let Some((on, slot)) = self.on_air[node].take() else { return };
        let psdu = std::mem::take(self.outgoing[node].get_mut(slot));
        self.deliver(node, on, &RawFrame::honest(psdu), true, watcher);
        let turn_round = self.timing.disable_us + self.timing.rx_ramp_us;
        self.nodes[node].rx_us += turn_round;
        self.be_deaf(node, turn_round);
        let access = match slot {
            Slot::Csma => {
                self.set_backoff(node, None);
                Access::Csma
            }
            Slot::Timed => {
                let at = self.records[node].timed.unwrap_or(Instant::ZERO);
                self.set_timed(node, None);
                Access::At(at)
            }
        };
        self.call(node, watcher, |station, now| station.handle_sent(now, access, Sent::Done));
    }
}
