//! A radio that is not a station: it overhears frames, and sends whatever it is told to.

use std::collections::VecDeque;

use common::mac::phy::{FCS_BYTES, PSDU_MAX};

use super::World;
use crate::air::airtime_us;
use crate::air::index::RadioIndex;
use crate::air::medium::{OnAir, Tuning};
use crate::air::propagation::Point;
use crate::air::station::{Station, Watcher};

/// An intruder remembers this many of the last frames that it has heard.
const HEARD_MAX: usize = 64;

/// The bits of a length byte that the radio heeds: enough for the longest frame.
const LENGTH_MASK: u8 = 0x7F;
const _: () = assert!(LENGTH_MASK as usize == PSDU_MAX);

/// A frame as the physical layer has it: its length byte may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame {
    pub length: u8,
    /// As many bytes as its lower seven bits say; missing ones are zero.
    pub psdu: Vec<u8>,
}

impl RawFrame {
    /// A frame whose length byte is right.
    pub fn honest(psdu: Vec<u8>) -> Self {
        Self { length: u8::try_from(psdu.len()).unwrap_or(LENGTH_MASK).min(LENGTH_MASK), psdu }
    }

    /// Whether a driver would hand it on: there is room for a checksum, and no bit beyond the length.
    pub fn has_good_length(&self) -> bool {
        (FCS_BYTES..=PSDU_MAX).contains(&usize::from(self.length))
    }

    fn fitted(mut self) -> Self {
        self.psdu.resize(usize::from(self.length & LENGTH_MASK), 0);
        self
    }
}

#[derive(Clone, Debug)]
struct Intruder {
    radio: RadioIndex,
    /// Whether it listens whenever it does not send.
    is_about: bool,
    heard: VecDeque<Vec<u8>>,
    on_air: Option<(OnAir, RawFrame)>,
}

/// The few intruders of a world, found by their radios.
#[derive(Clone, Debug, Default)]
pub(super) struct Intruders(Vec<Intruder>);

impl Intruders {
    fn add(&mut self, radio: RadioIndex) {
        self.0.push(Intruder { radio, is_about: false, heard: VecDeque::new(), on_air: None });
    }

    fn get(&self, radio: RadioIndex) -> Option<&Intruder> {
        self.0.iter().find(|intruder| intruder.radio == radio)
    }

    fn get_mut(&mut self, radio: RadioIndex) -> Option<&mut Intruder> {
        self.0.iter_mut().find(|intruder| intruder.radio == radio)
    }

    /// An intruder overhears a frame, and forgets the oldest one for it.
    pub fn overhear(&mut self, radio: RadioIndex, psdu: &[u8]) {
        let Some(Intruder { heard, .. }) = self.get_mut(radio) else { return };
        if heard.len() == HEARD_MAX {
            heard.pop_front();
        }
        heard.push_back(psdu.to_vec());
    }
}

impl<S: Station> World<S> {
    /// Adds an intruder that does not listen yet. Stations must all have been added before.
    pub fn add_intruder(&mut self, position: Point, tuning: Tuning) -> RadioIndex {
        let radio = self.medium.add(position, tuning);
        self.intruders.add(radio);
        radio
    }

    /// An intruder comes, and listens whenever it does not send, or goes; a frame that it is sending still ends.
    pub fn set_intruder_about(&mut self, radio: RadioIndex, is_about: bool) {
        let Some(intruder) = self.intruders.get_mut(radio) else { return };
        intruder.is_about = is_about;
        self.medium.listen(radio, is_about && intruder.on_air.is_none());
    }

    /// The frames that an intruder has overheard lately, the oldest first.
    pub fn overheard(&self, radio: RadioIndex) -> impl ExactSizeIterator<Item = &[u8]> {
        let (old, new) = self.intruders.get(radio).map(|intruder| intruder.heard.as_slices()).unwrap_or_default();
        let count = old.len() + new.len();
        (0..count).map(move |at| old.get(at).unwrap_or_else(|| &new[at - old.len()]).as_slice())
    }

    /// Has an intruder send a frame now, without looking whether the channel is clear. False if it is still sending.
    pub fn inject(&mut self, radio: RadioIndex, frame: RawFrame, watcher: &mut impl Watcher<S>) -> bool {
        if self.intruders.get(radio).is_none_or(|intruder| intruder.on_air.is_some()) {
            return false;
        }
        let frame = frame.fitted();
        watcher.frame(self.now_us, radio, &frame.psdu);
        self.medium.listen(radio, false);
        let on = self.begin_frame(radio);
        self.schedule_intruder(self.now_us + airtime_us(frame.psdu.len()), radio);
        if let Some(intruder) = self.intruders.get_mut(radio) {
            intruder.on_air = Some((on, frame));
        }
        true
    }

    /// An intruder's frame ends.
    pub(super) fn injected(&mut self, radio: RadioIndex, watcher: &mut impl Watcher<S>) {
        let Some(intruder) = self.intruders.get_mut(radio) else { return };
        let is_about = intruder.is_about;
        if let Some((on, frame)) = intruder.on_air.take() {
            self.deliver(radio, on, &frame, true, watcher);
        }
        self.medium.listen(radio, is_about);
    }
}
