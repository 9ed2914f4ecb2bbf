//! An ideal air, for tests: who is in reach hears everything at once and equally loud, and frames that overlap are lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::network::Ether;
use crate::phy::{Frame, Input, Output, SYNC, Stamped, Tuning};

/// How loud everybody is.
const SIGNAL_DBM: i8 = -60;
/// How loud nobody is.
const NOISE_DBM: i8 = -100;

/// What a radio is at.
#[derive(Clone, Debug, Default)]
struct Receiver {
    listening: Option<Tuning>,
    /// The frame it has locked on to, and whether that has been hit.
    lock: Option<(u64, bool)>,
    /// A look at the channel: until when, on what, and whether it found a frame.
    look: Option<(u64, Tuning, bool)>,
    /// A question to be answered at once.
    measures: Option<Tuning>,
}

#[derive(Clone, Debug)]
struct OnAir {
    from: usize,
    frame: Frame,
    tuning: Tuning,
    found_at: u64,
    found: bool,
    ends: u64,
    aborted: bool,
}

/// The air.
#[derive(Clone, Debug, Default)]
pub struct IdealAir {
    radios: BTreeMap<usize, Receiver>,
    on_air: BTreeMap<u64, OnAir>,
    cut: BTreeSet<(usize, usize)>,
    frames: u64,
    now: u64,
}

impl IdealAir {
    /// Puts two radios out of each other's reach, or back into it. Frames on the air are not affected.
    pub fn set_reach(&mut self, a: usize, b: usize, reach: bool) {
        for pair in [(a, b), (b, a)] {
            if reach {
                self.cut.remove(&pair);
            } else {
                self.cut.insert(pair);
            }
        }
    }

    /// Frames sent so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn hears(&self, to: usize, from: usize) -> bool {
        to != from && !self.cut.contains(&(from, to))
    }

    fn is_loud(&self, radio: usize, tuning: Tuning) -> bool {
        self.on_air.values().any(|on| self.hears(radio, on.from) && on.tuning.mhz == tuning.mhz)
    }

    fn begin(&mut self, at: u64, from: usize, frame: Frame, tuning: Tuning, ends: u64) {
        self.frames += 1;
        let number = self.frames;
        let reached: Vec<usize> = self.radios.keys().copied().filter(|&radio| self.hears(radio, from)).collect();
        for radio in reached {
            let loud = self.is_loud(radio, tuning);
            let Some(receiver) = self.radios.get_mut(&radio) else { continue };
            if let Some((_, looked_at, found)) = &mut receiver.look {
                *found |= looked_at.mhz == tuning.mhz;
            }
            if receiver.listening.is_none_or(|listening| listening.mhz != tuning.mhz) {
                continue;
            }
            if let Some((_, hit)) = &mut receiver.lock {
                *hit = true;
            } else if !loud && receiver.listening == Some(tuning) {
                receiver.lock = Some((number, false));
            }
        }
        let on = OnAir { from, frame, tuning, found_at: at + SYNC, found: false, ends, aborted: false };
        self.on_air.insert(number, on);
    }

    fn abort(&mut self, from: usize) {
        for on in self.on_air.values_mut().filter(|on| on.from == from) {
            on.aborted = true;
        }
    }

    fn advance_frames(&mut self, now: u64, deliver: &mut Vec<(usize, Input)>) {
        let mut over = Vec::new();
        for (&number, on) in &mut self.on_air {
            let finds = !on.found && on.found_at <= now;
            on.found |= finds;
            let ends = on.ends <= now;
            if ends {
                over.push(number);
            }
            for (&radio, receiver) in &mut self.radios {
                let Some((_, hit)) = receiver.lock.filter(|(locked, _)| *locked == number) else { continue };
                if finds {
                    deliver.push((radio, Input::FrameFound { dbm: SIGNAL_DBM }));
                }
                if ends {
                    receiver.lock = None;
                    let (frame, intact) = (on.frame.clone(), !hit && !on.aborted);
                    deliver.push((radio, Input::FrameEnds { frame, intact, dbm: SIGNAL_DBM }));
                }
            }
        }
        for number in over {
            self.on_air.remove(&number);
        }
    }
}

impl Ether for IdealAir {
    fn tell(&mut self, radio: usize, said: Stamped) {
        self.now = said.at;
        let loud = match said.output {
            Output::Assess { tuning, .. } => self.is_loud(radio, tuning),
            _ => false,
        };
        let receiver = self.radios.entry(radio).or_default();
        match said.output {
            Output::Listening { tuning } => receiver.listening = Some(tuning),
            Output::Deaf => (receiver.listening, receiver.lock) = (None, None),
            Output::TransmitBegins { frame, tuning, ends, .. } => self.begin(said.at, radio, frame, tuning, ends),
            Output::TransmitAborted => self.abort(radio),
            Output::Assess { tuning, until } => receiver.look = Some((until, tuning, loud)),
            Output::AssessAborted => receiver.look = None,
            Output::Measure { tuning } => receiver.measures = Some(tuning),
        }
    }

    fn next_event(&self) -> u64 {
        let radios = self.radios.values().map(|receiver| {
            let look = receiver.look.map_or(u64::MAX, |(until, ..)| until);
            if receiver.measures.is_some() { self.now } else { look }
        });
        let frames = self.on_air.values().map(|on| if on.found { on.ends } else { on.found_at });
        radios.chain(frames).min().unwrap_or(u64::MAX)
    }

    fn advance(&mut self, now: u64, deliver: &mut Vec<(usize, Input)>) {
        self.now = now;
        let asked: Vec<(usize, Tuning)> = self
            .radios
            .iter_mut()
            .filter_map(|(&radio, receiver)| receiver.measures.take().map(|tuning| (radio, tuning)))
            .collect();
        for (radio, tuning) in asked {
            let dbm = if self.is_loud(radio, tuning) { SIGNAL_DBM } else { NOISE_DBM };
            deliver.push((radio, Input::Measured { dbm }));
        }
        for (&radio, receiver) in &mut self.radios {
            if let Some((_, _, carrier)) = receiver.look.take_if(|(until, ..)| *until <= now) {
                let dbm = if carrier { SIGNAL_DBM } else { NOISE_DBM };
                deliver.push((radio, Input::Assessed { dbm, carrier }));
            }
        }
        self.advance_frames(now, deliver);
    }
}
