//! What the world keeps about the radio of each station, apart by how often it is needed.

use std::ops::{Index, IndexMut};

use common::mac::Mac;
use common::rng::Rng;

use crate::air::index::{NodeIndex, PerNode};
use crate::air::medium::OnAir;
use crate::air::station::{Room, Usage};

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
struct Outgoing {
    frame: Vec<u8>,
    answer: Vec<u8>,
    on_air: Option<(OnAir, Slot)>,
}

impl Outgoing {
    fn get(&self, slot: Slot) -> &[u8] {
        match slot {
            Slot::Frame => &self.frame,
            Slot::Answer => &self.answer,
        }
    }

    fn get_mut(&mut self, slot: Slot) -> &mut Vec<u8> {
        match slot {
            Slot::Frame => &mut self.frame,
            Slot::Answer => &mut self.answer,
        }
    }
}

pub(super) const NEVER: u64 = u64::MAX;

/// What every frame that a station receives touches, the station and perhaps its clock aside. All else is kept elsewhere, so
/// that a reception among very many nodes waits for little memory.
#[derive(Clone, Debug)]
struct Hot {
    mac: Mac,
    /// Frames received intact, and damaged; the rest of its usage is counted with the radio.
    received: u32,
    damaged: u32,
}

const _: () = assert!(size_of::<Hot>() == 48);

/// The radio of a station, as every event of it needs it: one line of a cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Radio {
    /// When the station's deadline is in the world's time, while an event for it is on the agenda.
    pub wake_at: u64,
    /// When the MAC's turn is, likewise.
    pub turn_at: u64,
    /// Until when it is deaf.
    pub ready_at: u64,
    /// Since when it listens, or never, and how long it had its receiver on before that.
    listening_since: u64,
    pub rx_us: u64,
    pub rng: Rng,
    pub life: u32,
    pub round: u32,
    pub phase: Phase,
    pub on: bool,
}

const _: () = assert!(size_of::<Radio>() == 64);

/// What is noted about the radio of a station and rarely asked for.
#[derive(Clone, Debug, Default)]
struct Record {
    /// Without what is counted where it is at hand: frames received and damaged, and how long the receiver was on.
    usage: Usage,
    on_since: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Radios {
    hot: PerNode<Hot>,
    states: PerNode<Radio>,
    records: PerNode<Record>,
    outgoing: PerNode<Outgoing>,
}

impl Index<NodeIndex> for Radios {
    type Output = Radio;

    #[inline]
    fn index(&self, node: NodeIndex) -> &Radio {
        &self.states[node]
    }
}

impl IndexMut<NodeIndex> for Radios {
    #[inline]
    fn index_mut(&mut self, node: NodeIndex) -> &mut Radio {
        &mut self.states[node]
    }
}

impl Radios {
    #[inline]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Adds a radio that is off.
    pub fn add(&mut self, rng: Rng) {
        self.hot.push(Hot { mac: Mac::new(0), received: 0, damaged: 0 });
        self.states.push(Radio {
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
        });
        self.records.push(Record::default());
        self.outgoing.push(Outgoing::default());
    }

    #[inline]
    pub fn mac(&self, node: NodeIndex) -> &Mac {
        &self.hot[node].mac
    }

    #[inline]
    pub fn mac_mut(&mut self, node: NodeIndex) -> &mut Mac {
        &mut self.hot[node].mac
    }

    /// For which frames the MAC has room.
    #[inline]
    pub fn room(&self, node: NodeIndex) -> Room {
        let mac = self.mac(node);
        Room { csma: mac.has_room(), timed: mac.has_room_for_answer() }
    }

    /// Power comes on: the MAC starts over, with randomness of its own.
    pub fn begin_life(&mut self, node: NodeIndex, now_us: u64) {
        let radio = &mut self.states[node];
        radio.on = true;
        self.hot[node].mac = Mac::new(radio.rng.next_u64());
        self.records[node].on_since = now_us;
    }

    /// Power is cut. Events of this life that are still on the agenda are void.
    pub fn end_life(&mut self, node: NodeIndex, now_us: u64) {
        let (radio, record) = (&mut self.states[node], &mut self.records[node]);
        record.usage.on_us += if radio.on { now_us - record.on_since } else { 0 };
        radio.on = false;
        radio.phase = Phase::Free;
        radio.life += 1;
        radio.wake_at = NEVER;
        radio.turn_at = NEVER;
    }

    pub fn listen(&mut self, node: NodeIndex, now_us: u64, listening: bool) {
        let Radio { listening_since: since, rx_us, .. } = &mut self.states[node];
        if listening {
            *since = now_us.min(*since);
        } else {
            *rx_us += now_us.saturating_sub(*since);
            *since = NEVER;
        }
    }

    /// Counts a frame that ended at the receiver.
    #[inline]
    pub fn count_received(&mut self, node: NodeIndex, is_intact: bool) {
        // No branch: nobody can foresee which frames are damaged.
        let hot = &mut self.hot[node];
        hot.received += u32::from(is_intact);
        hot.damaged += u32::from(!is_intact);
    }

    /// What the radio has done until now.
    pub fn usage(&self, node: NodeIndex, now_us: u64) -> Usage {
        let (radio, record, hot) = (&self.states[node], &self.records[node], &self.hot[node]);
        let mut usage = Usage {
            received: u64::from(hot.received),
            damaged: u64::from(hot.damaged),
            // Never is later than any time.
            rx_us: radio.rx_us + now_us.saturating_sub(radio.listening_since),
            ..record.usage
        };
        usage.on_us += if radio.on { now_us - record.on_since } else { 0 };
        usage
    }

    /// To count in whatever is not counted elsewhere: frames received and damaged, and the time of the receiver.
    pub fn usage_mut(&mut self, node: NodeIndex) -> &mut Usage {
        &mut self.records[node].usage
    }

    /// Keeps a frame until it is sent.
    pub fn store(&mut self, node: NodeIndex, slot: Slot, psdu: Vec<u8>) {
        *self.outgoing[node].get_mut(slot) = psdu;
    }

    pub fn stored(&self, node: NodeIndex, slot: Slot) -> &[u8] {
        self.outgoing[node].get(slot)
    }

    /// A stored frame is on the air.
    pub fn begin_sending(&mut self, node: NodeIndex, on: OnAir, slot: Slot) {
        self.outgoing[node].on_air = Some((on, slot));
    }

    /// The frame that is on the air, if any, is taken off it.
    pub fn end_sending(&mut self, node: NodeIndex) -> Option<(OnAir, Slot, Vec<u8>)> {
        let outgoing = &mut self.outgoing[node];
        let (on, slot) = outgoing.on_air.take()?;
        Some((on, slot, std::mem::take(outgoing.get_mut(slot))))
    }
}
