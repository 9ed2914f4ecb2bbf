//! How a frame that ends reaches the stations that received it.

use super::{RawFrame, World};
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::{OnAir, Reception};
use crate::air::station::{Station, Watcher};

impl<S: Station> World<S> {
    /// Ends a frame and hands it to its receivers. A frame that broke off is damaged everywhere.
    pub(super) fn deliver(
        &mut self,
        from: RadioIndex,
        on: OnAir,
        frame: &RawFrame,
        whole: bool,
        watcher: &mut impl Watcher<S>,
    ) {
        let mut receptions = std::mem::take(&mut self.receptions);
        self.medium.end(self.now_us, on, |reception| receptions.push(reception));
        // Count all receptions before handling any: their loads from far memory can then overlap.
        for reception in &mut receptions {
            reception.intact &= whole && !self.disturbances.loses();
            // A port counts for itself: it may have found nothing.
            if let Some(node) = reception.to.node(self.radios.len())
                && !self.ports.has(node)
            {
                self.count(node, reception.intact, frame);
            }
        }
        for reception in receptions.drain(..) {
            let Some(node) = reception.to.node(self.radios.len()) else {
                if reception.intact && frame.has_good_length() {
                    self.intruders.overhear(reception.to, &frame.psdu);
                }
                continue;
            };
            watcher.reception(self.now_us, from, reception);
            if self.ports.has(node) {
                self.port_receives(node, reception, frame, watcher);
            } else {
                self.receive(node, reception, frame, watcher);
            }
        }
        self.receptions = receptions;
    }

    /// Counts a frame that has ended at a station. The driver looks at the length first.
    pub(super) fn count(&mut self, node: NodeIndex, is_intact: bool, frame: &RawFrame) {
        if frame.has_good_length() {
            self.radios.count_received(node, is_intact);
        } else {
            self.radios.usage_mut(node).malformed += 1;
        }
    }

    /// The frame as it reaches a station with wrong bits, if it does.
    pub(super) fn perhaps_corrupt(
        &mut self,
        node: NodeIndex,
        psdu: &[u8],
        watcher: &mut impl Watcher<S>,
    ) -> Option<Vec<u8>> {
        let corrupted = self.disturbances.corrupt(psdu)?;
        self.radios.usage_mut(node).corrupted += 1;
        watcher.corrupted(self.now_us, node, &corrupted);
        Some(corrupted)
    }

    fn receive(&mut self, node: NodeIndex, reception: Reception, frame: &RawFrame, watcher: &mut impl Watcher<S>) {
        let is_sound = reception.intact && frame.has_good_length();
        if !is_sound && !self.radios.mac(node).is_put_off() && frame.has_good_length() {
            // Neither the MAC nor the station makes anything of it.
            return;
        }
        let now = self.clocks[node].show(self.now_us);
        self.end_frame(node, now, is_sound, watcher);
        if !frame.has_good_length() {
            self.call_at(node, now, watcher, |station, now| station.handle_bad_length(now, frame.length));
            return;
        }
        if !is_sound {
            return;
        }
        if self.timing.processing_max_us > 0 {
            let deaf = self.timing.processing_us(&mut self.radios[node].rng);
            if deaf > 0 {
                self.be_deaf(node, deaf);
            }
        }
        if self.disturbances.corruption > 0.0
            && let Some(corrupted) = self.perhaps_corrupt(node, &frame.psdu, watcher)
        {
            self.call_at(node, now, watcher, |station, now| station.handle_frame(now, &corrupted, reception.rssi_dbm));
        } else {
            self.call_at(node, now, watcher, |station, now| station.handle_frame(now, &frame.psdu, reception.rssi_dbm));
        }
    }
}
