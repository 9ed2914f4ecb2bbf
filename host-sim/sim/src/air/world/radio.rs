//! What the world keeps about the radio of each station, apart by how often it is needed.

use common::mac::Mac;
use common::rng::Rng;

use crate::air::station::{Room, Usage};

/// What a radio is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Listening, or off.
    Free,
    /// Dealing with a frame, or turning round after one, and deaf until then.
    Deaf,
    /// Assessing the channel, sending, or about to send at a set time.
    Taken,
}

/// Which of a station's two waiting frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Frame,
    Answer,
}

/// The frames of a station that wait or are on the air.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing {
    pub frame: Vec<u8>,
    pub answer: Vec<u8>,
}

impl Outgoing {
    pub fn get(&self, slot: Slot) -> &[u8] {
        match slot {
            Slot::Frame => &self.frame,
            Slot::Answer => &self.answer,
        }
    }

    pub fn get_mut(&mut self, slot: Slot) -> &mut Vec<u8> {
        match slot {
            Slot::Frame => &mut self.frame,
            Slot::Answer => &mut self.answer,
        }
    }
}

/// No time at all.
pub(super) const NEVER: u64 = u64::MAX;

/// What every frame that a station receives touches, the station and perhaps its clock aside. All else is kept elsewhere, so
/// that a reception among very many nodes waits for little memory.
#[derive(Clone, Debug)]
pub(super) struct Hot {
    pub mac: Mac,
    /// Frames received intact, and damaged; the rest of its usage is counted with the radio.
    pub received: u32,
    pub damaged: u32,
}

const _: () = assert!(size_of::<Hot>() == 48);

impl Hot {
    pub const fn new() -> Self {
        Self { mac: Mac::new(0), received: 0, damaged: 0 }
    }

    /// For which frames the MAC has room.
    pub fn room(&self) -> Room {
        Room { csma: self.mac.has_room(), timed: self.mac.has_room_for_answer() }
    }
}

/// The radio of a station, as every event of it needs it: one line of a cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    /// When the station's deadline is in the world's time, while an event for it is on the agenda.
    pub wake_at: u64,
    /// When the MAC's turn is, likewise.
    pub turn_at: u64,
    /// Until when it is deaf.
    pub ready_at: u64,
    /// Since when it listens, or never, and how long it had its receiver on before that.
    pub listening_since: u64,
    pub rx_us: u64,
    pub rng: Rng,
    pub life: u32,
    pub round: u32,
    pub phase: Phase,
    pub on: bool,
}

const _: () = assert!(size_of::<Node>() == 64);

impl Node {
    /// One that is off.
    pub fn new(rng: Rng) -> Self {
        Self {
            wake_at: NEVER,
            turn_at: NEVER,
            ready_at: 0,
            listening_since: NEVER,
            rx_us: 0,
            rng,
            life: 0,
            round: 0,
            phase: Phase::Free,
            on: false,
        }
    }
}

/// What is noted about the radio of a station and rarely asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Without what is counted where it is at hand: frames received and damaged, and how long the receiver was on.
    pub usage: Usage,
    pub on_since: u64,
}
