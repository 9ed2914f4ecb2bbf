//! How a station's frames get on the air: the world as a driver of the core's MAC, as a board's radio task is another.
//!
//! The MAC decides; here is what a radio then does, and how long that takes.

use common::mac::phy::{FRAME_MAX, fcs};
use common::mac::{Decision, HEARD_HOLD, MacEvent};
use common::time::{Duration, Instant};

use super::{Event, NEVER, Phase, Slot, World};
use crate::air::airtime_us;
use crate::air::index::NodeIndex;
use crate::air::station::{Access, Room, Station, Transmit, Watcher};
use crate::air::world::intruder::RawFrame;

impl<S: Station> World<S> {
    /// Takes over the frames that a station wants to send, as far as there is room. Most of the time it wants none.
    #[inline]
    pub(super) fn take_frames(&mut self, node: NodeIndex, now: Instant, watcher: &mut impl Watcher<S>) {
        loop {
            let room = self.radios.room(node);
            if !room.csma && !room.timed {
                return;
            }
            let wanted = self.stations[node].poll_transmit(now, room, &mut self.scratch);
            if !wanted.is_some_and(|transmit| self.take_frame(node, now, room, transmit, watcher)) {
                return;
            }
        }
    }

    /// Takes over one frame; whether to ask for another.
    #[inline(never)]
    fn take_frame(
        &mut self,
        node: NodeIndex,
        now: Instant,
        room: Room,
        transmit: Transmit,
        watcher: &mut impl Watcher<S>,
    ) -> bool {
        let frame = &self.scratch[..transmit.length.min(FRAME_MAX)];
        let psdu = [frame, &fcs(frame).to_le_bytes()].concat();
        match transmit.access {
            Access::Csma if room.csma => {
                self.radios.store(node, Slot::Frame, psdu);
                self.tell_mac(node, now, MacEvent::Send, watcher);
            }
            Access::At(at) if room.timed => {
                self.radios.store(node, Slot::Answer, psdu);
                self.tell_mac(node, now, MacEvent::Answer { at }, watcher);
            }
            // It might offer the same frame again and again.
            Access::Csma | Access::At(_) => {
                self.radios.usage_mut(node).refused += 1;
                return false;
            }
        }
        true
    }

    /// Tells a station's MAC what happened, and the station if its frame is through.
    fn tell_mac(&mut self, node: NodeIndex, now: Instant, event: MacEvent, watcher: &mut impl Watcher<S>) -> Decision {
        let mac = self.radios.mac_mut(node);
        let decision = mac.handle(now, event);
        watcher.mac(node, now, event, decision, mac.poll_timeout());
        self.set_turn(node);
        if let Decision::Through(sent) = decision {
            self.call_at(node, now, watcher, |station, now| station.handle_sent(now, sent));
        } else if event == MacEvent::Answered || decision == Decision::Late {
            // There is room for another.
            self.take_frames(node, now, watcher);
        }
        decision
    }

    /// A frame has ended at a station's receiver.
    #[inline]
    pub(super) fn end_frame(&mut self, node: NodeIndex, now: Instant, is_sound: bool, watcher: &mut impl Watcher<S>) {
        let mac = self.radios.mac_mut(node);
        let is_given_back = mac.frame_end(now, is_sound);
        watcher.mac(node, now, MacEvent::FrameEnd { is_sound }, Decision::Wait, mac.poll_timeout());
        if is_given_back {
            self.set_turn(node);
        }
    }

    /// The MAC may want its turn at another time than before.
    pub(super) fn set_turn(&mut self, node: NodeIndex) {
        let turn = self.radios.mac(node).poll_timeout();
        let turn_at = turn.map_or(NEVER, |turn| self.clocks[node].when(turn).max(self.now_us));
        if turn_at != self.radios[node].turn_at {
            self.radios[node].turn_at = turn_at;
            if turn_at != NEVER {
                self.schedule(turn_at, node, Event::Turn);
            }
        }
    }

    pub(super) fn take_turn(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        self.radios[node].turn_at = NEVER;
        let now = self.clocks[node].show(self.now_us);
        let event =
            MacEvent::Turn { is_receiving: self.medium.is_locked(node.radio()), judged: self.judged(node, now) };
        match self.tell_mac(node, now, event, watcher) {
            Decision::Attempt => self.assess(node),
            Decision::SendAt(at) => self.send_answer_at(node, now, at, watcher),
            Decision::Late => self.radios.usage_mut(node).late += 1,
            Decision::Wait | Decision::Through(_) | Decision::Full => {}
        }
    }

    /// Until when others answer each other, once the station has had time to judge what it heard last. A station is told at once
    /// of a frame for which a board's node has to be woken first.
    fn judged(&self, node: NodeIndex, now: Instant) -> Option<Instant> {
        let heard = self.radios.mac(node).heard_until() - HEARD_HOLD;
        (now >= heard + Duration::from_micros(self.timing.judging_us)).then(|| self.stations[node].quiet_until())
    }

    fn assess(&mut self, node: NodeIndex) {
        self.listen(node, false);
        self.radios[node].phase = Phase::Taken;
        self.schedule(self.now_us + self.timing.rx_ramp_us, node, Event::AssessmentBegins);
    }

    pub(super) fn assessment_begins(&mut self, node: NodeIndex) {
        self.medium.begin_cca(self.now_us, node.radio());
        self.schedule(self.now_us + self.timing.cca_us, node, Event::AssessmentDone);
    }

    pub(super) fn assessment_done(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        self.radios[node].rx_us += self.timing.rx_ramp_us + self.timing.cca_us;
        if !self.medium.end_cca(self.now_us, node.radio()) {
            self.schedule(self.now_us + self.timing.tx_ramp_us, node, Event::Send);
            return;
        }
        self.radios[node].phase = Phase::Free;
        self.listen(node, true);
        let now = self.clocks[node].show(self.now_us);
        let decision = self.tell_mac(node, now, MacEvent::Attempted { was_clear: false }, watcher);
        if matches!(decision, Decision::Through(_)) {
            self.radios.usage_mut(node).busy += 1;
            watcher.busy(self.now_us, node);
        }
    }

    /// The receiver goes off, and the transmitter starts so early that the first bit leaves in time.
    fn send_answer_at(&mut self, node: NodeIndex, now: Instant, at: Instant, watcher: &mut impl Watcher<S>) {
        let first_bit = self.clocks[node].when(at);
        if first_bit < self.now_us + self.timing.tx_ramp_us {
            self.radios.usage_mut(node).late += 1;
            self.tell_mac(node, now, MacEvent::Answered, watcher);
            return;
        }
        self.listen(node, false);
        self.radios[node].phase = Phase::Taken;
        self.schedule(first_bit, node, Event::SendAnswer);
    }

    pub(super) fn send(&mut self, node: NodeIndex, slot: Slot, watcher: &mut impl Watcher<S>) {
        let psdu = self.radios.stored(node, slot);
        let airtime = airtime_us(psdu.len());
        watcher.frame(self.now_us, node.radio(), psdu);
        let on = self.begin_frame(node.radio());
        self.radios.begin_sending(node, on, slot);
        let usage = self.radios.usage_mut(node);
        usage.sent += 1;
        usage.tx_us += self.timing.tx_ramp_us + airtime;
        self.schedule(self.now_us + airtime, node, Event::SendDone);
    }

    pub(super) fn send_done(&mut self, node: NodeIndex, watcher: &mut impl Watcher<S>) {
        let Some((on, slot, psdu)) = self.radios.end_sending(node) else { return };
        self.deliver(node.radio(), on, &RawFrame::honest(psdu), true, watcher);
        let turn_round = self.timing.disable_us + self.timing.rx_ramp_us;
        self.radios[node].rx_us += turn_round;
        self.be_deaf(node, turn_round);
        let event = match slot {
            Slot::Frame => MacEvent::Attempted { was_clear: true },
            Slot::Answer => MacEvent::Answered,
        };
        let now = self.clocks[node].show(self.now_us);
        self.tell_mac(node, now, event, watcher);
    }
}
