//! An ideal air for tests: radios in reach of each other receive everything at once and equally loud, and frames that
//! overlap are lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::network::{BoardIndex, Ether};
use crate::phy::{Frame, Input, Output, SYNC, Stamped, Tuning};

const SIGNAL_DBM: i8 = -60;
const NOISE_DBM: i8 = -100;

#[derive(Clone, Debug, Default)]
struct Receiver {
    listening: Option<Tuning>,
    lock: Option<Lock>,
    assessment: Option<Assessment>,
    /// A measurement that is to be answered at once.
    measurement: Option<Tuning>,
}

/// The frame that a receiver has locked on to.
#[derive(Clone, Copy, Debug)]
struct Lock {
    frame: FrameNumber,
    /// Whether another frame has overlapped it.
    hit: bool,
}

#[derive(Clone, Copy, Debug)]
struct Assessment {
    until: u64,
    tuning: Tuning,
    /// Whether there was a frame.
    carrier: bool,
}

/// Frames are numbered from 1 in the order of their start.
type FrameNumber = u64;

#[derive(Clone, Debug)]
struct OnAir {
    from: BoardIndex,
    frame: Frame,
    tuning: Tuning,
    found_at: u64,
    found: bool,
    ends: u64,
    aborted: bool,
}

/// One direction between two radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Direction {
    from: BoardIndex,
    to: BoardIndex,
}

#[derive(Clone, Debug, Default)]
pub struct IdealAir {
    radios: BTreeMap<BoardIndex, Receiver>,
    on_air: BTreeMap<FrameNumber, OnAir>,
    cut: BTreeSet<Direction>,
    frames: u64,
    now: u64,
}

impl IdealAir {
    /// Puts two radios in or out of reach of each other. A receiver that has locked on to a frame still receives it.
    pub fn set_reach(&mut self, a: impl Into<BoardIndex>, b: impl Into<BoardIndex>, reach: bool) {
        let (a, b) = (a.into(), b.into());
        for direction in [Direction { from: a, to: b }, Direction { from: b, to: a }] {
            if reach {
                self.cut.remove(&direction);
            } else {
                self.cut.insert(direction);
            }
        }
    }

    /// The number of frames sent so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn hears(&self, to: BoardIndex, from: BoardIndex) -> bool {
        to != from && !self.cut.contains(&Direction { from, to })
    }

    fn is_loud(&self, radio: BoardIndex, tuning: Tuning) -> bool {
        self.on_air.values().any(|on| self.hears(radio, on.from) && on.tuning.mhz == tuning.mhz)
    }

    fn begin(&mut self, at: u64, from: BoardIndex, frame: Frame, tuning: Tuning, ends: u64) {
        self.frames += 1;
        let number = self.frames;
        let reached: Vec<BoardIndex> = self.radios.keys().copied().filter(|&radio| self.hears(radio, from)).collect();
        for radio in reached {
            let loud = self.is_loud(radio, tuning);
            let Some(receiver) = self.radios.get_mut(&radio) else { continue };
            if let Some(assessment) = &mut receiver.assessment {
                assessment.carrier |= assessment.tuning.mhz == tuning.mhz;
            }
            if receiver.listening.is_none_or(|listening| listening.mhz != tuning.mhz) {
                continue;
            }
            if let Some(lock) = &mut receiver.lock {
                lock.hit = true;
            } else if !loud && receiver.listening == Some(tuning) {
                receiver.lock = Some(Lock { frame: number, hit: false });
            }
        }
        let on = OnAir { from, frame, tuning, found_at: at + SYNC, found: false, ends, aborted: false };
        self.on_air.insert(number, on);
    }

    fn abort(&mut self, from: BoardIndex) {
        for on in self.on_air.values_mut().filter(|on| on.from == from) {
            on.aborted = true;
        }
    }

    fn advance_frames(&mut self, now: u64, deliver: &mut Vec<(BoardIndex, Input)>) {
        let mut over = Vec::new();
        for (&number, on) in &mut self.on_air {
            let finds = !on.found && on.found_at <= now;
            on.found |= finds;
            let ends = on.ends <= now;
            if ends {
                over.push(number);
            }
            for (&radio, receiver) in &mut self.radios {
                let Some(Lock { hit, .. }) = receiver.lock.filter(|lock| lock.frame == number) else { continue };
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
    fn tell(&mut self, radio: BoardIndex, said: Stamped) {
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
            Output::Assess { tuning, until } => receiver.assessment = Some(Assessment { until, tuning, carrier: loud }),
            Output::AssessAborted => receiver.assessment = None,
            Output::Measure { tuning } => receiver.measurement = Some(tuning),
        }
    }

    fn next_event(&self) -> u64 {
        let radios = self.radios.values().map(|receiver| {
            let assessed = receiver.assessment.map_or(u64::MAX, |assessment| assessment.until);
            if receiver.measurement.is_some() { self.now } else { assessed }
        });
        let frames = self.on_air.values().map(|on| if on.found { on.ends } else { on.found_at });
        radios.chain(frames).min().unwrap_or(u64::MAX)
    }

    fn advance(&mut self, now: u64, deliver: &mut Vec<(BoardIndex, Input)>) {
        self.now = now;
        let asked: Vec<(BoardIndex, Tuning)> = self
            .radios
            .iter_mut()
            .filter_map(|(&radio, receiver)| receiver.measurement.take().map(|tuning| (radio, tuning)))
            .collect();
        for (radio, tuning) in asked {
            let dbm = if self.is_loud(radio, tuning) { SIGNAL_DBM } else { NOISE_DBM };
            deliver.push((radio, Input::Measured { dbm }));
        }
        for (&radio, receiver) in &mut self.radios {
            if let Some(Assessment { carrier, .. }) = receiver.assessment.take_if(|assessment| assessment.until <= now)
            {
                let dbm = if carrier { SIGNAL_DBM } else { NOISE_DBM };
                deliver.push((radio, Input::Assessed { dbm, carrier }));
            }
        }
        self.advance_frames(now, deliver);
    }
}
