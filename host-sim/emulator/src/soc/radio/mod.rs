//! RADIO in its IEEE 802.15.4 mode: registers, shortcuts and the port to the air. The states are in `states`.
//!
//! ```text
//!                    RXEN                          START
//!   DISABLED ───────────────► RXRU ──► RXIDLE ◄──────────► RX   (a frame, or an assessment)
//!      ▲  │                              │ ▲  end of frame, STOP
//!      │  │ TXEN                    TXEN │ │ RXEN            START
//!      │  └─────────────────► TXRU ◄─────┘ └── TXIDLE ◄──────────► TX
//!      └── RXDISABLE, TXDISABLE ◄── DISABLE in any of them
//! ```
//!
//! Source: the product specification of the nRF52840; times from a published model of the nRF52833's radio, to the
//! microsecond. Other modes, address matching, whitening, the bit counter and direction finding are not modelled: setting
//! them up is an error.

mod states;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::phy::{Frame, Input, Output, Stamped, Tuning};

const READY: u32 = 0;
const ADDRESS: u32 = 1;
const PAYLOAD: u32 = 2;
const END: u32 = 3;
const DISABLED: u32 = 4;
const RSSIEND: u32 = 7;
const CRCOK: u32 = 12;
const CRCERROR: u32 = 13;
const FRAMESTART: u32 = 14;
const EDEND: u32 = 15;
const EDSTOPPED: u32 = 16;
const CCAIDLE: u32 = 17;
const CCABUSY: u32 = 18;
const CCASTOPPED: u32 = 19;
const TXREADY: u32 = 21;
const RXREADY: u32 = 22;
const SYNC_FOUND: u32 = 26;
const PHYEND: u32 = 27;
/// All that are modelled, and those that never happen in this mode but are cleared by drivers: device and bit counter
/// matches, the rate boost, and the match of a header.
const EVENTS: u32 = 0x0CFF_F4FF;

/// Tasks, by offset.
mod task {
    pub const TXEN: u32 = 0x00;
    pub const RXEN: u32 = 0x04;
    pub const START: u32 = 0x08;
    pub const STOP: u32 = 0x0C;
    pub const DISABLE: u32 = 0x10;
    pub const RSSISTART: u32 = 0x14;
    pub const RSSISTOP: u32 = 0x18;
    pub const EDSTART: u32 = 0x24;
    pub const EDSTOP: u32 = 0x28;
    pub const CCASTART: u32 = 0x2C;
    pub const CCASTOP: u32 = 0x30;
}

/// Shortcuts: bit, event, task. Those to the bit counter are left out.
const SHORTS: [(u32, u32, u32); 17] = [
    (0, READY, task::START),
    (1, END, task::DISABLE),
    (2, DISABLED, task::TXEN),
    (3, DISABLED, task::RXEN),
    (4, ADDRESS, task::RSSISTART),
    (5, END, task::START),
    (8, DISABLED, task::RSSISTOP),
    (11, RXREADY, task::CCASTART),
    (12, CCAIDLE, task::TXEN),
    (13, CCABUSY, task::DISABLE),
    (15, READY, task::EDSTART),
    (16, EDEND, task::DISABLE),
    (17, CCAIDLE, task::STOP),
    (18, TXREADY, task::START),
    (19, RXREADY, task::START),
    (20, PHYEND, task::DISABLE),
    (21, PHYEND, task::START),
];

/// Where the scale of energy begins in dBm.
const ENERGY_ZERO_DBM: i32 = -92;

/// Messages to the air that nobody took are bounded by the states that a radio can go through at one moment.
const OUTPUTS_MAX: usize = 64;

/// What the radio is at, with the number that its STATE register shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Disabled = 0,
    RxRampUp = 1,
    RxIdle = 2,
    Rx = 3,
    RxDisable = 4,
    TxRampUp = 9,
    TxIdle = 10,
    Tx = 11,
    TxDisable = 12,
}

/// A look at the channel that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    ClearChannel,
    Energy,
}

/// A frame that is being received.
#[derive(Clone, Debug)]
struct Reception {
    /// When its beginning shows.
    found_at: u64,
    shown: bool,
    dbm: i8,
    /// How it ended and when that shows.
    end: Option<(u64, Frame, bool)>,
}

/// A frame that is being sent.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    started_at: u64,
    shown: bool,
    ends_at: u64,
}

#[derive(Clone, Copy, Debug)]
struct Registers {
    packet: u32,
    frequency: u32,
    power: u32,
    mode: u32,
    packet_config: [u32; 2],
    crc_config: u32,
    crc_polynomial: u32,
    crc_start: u32,
    mode_config: u32,
    delimiter: u32,
    energy_count: u32,
    clear_channel: u32,
    crc_status: u32,
    received_crc: u32,
    length_status: u32,
    rssi: u32,
    energy: u32,
}

impl Registers {
    fn after_reset() -> Self {
        Self {
            packet: 0,
            frequency: 2,
            power: 0,
            mode: 0,
            packet_config: [0; 2],
            crc_config: 0,
            crc_polynomial: 0,
            crc_start: 0,
            mode_config: 0x200,
            delimiter: 0xA7,
            energy_count: 0,
            clear_channel: 0x052D_0000,
            crc_status: 0,
            received_crc: 0,
            length_status: 0,
            rssi: 127,
            energy: 0,
        }
    }
}

/// How long the radio was on, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioUse {
    /// With the transmitter on, ramps included.
    pub transmitting: u64,
    /// With the receiver on, ramps included.
    pub receiving: u64,
    /// Frames sent to their end.
    pub sent: u64,
    /// Frames received with a checksum that fits.
    pub received: u64,
    /// Frames received with one that does not.
    pub damaged: u64,
}

/// The radio.
#[derive(Clone, Debug)]
pub struct Radio {
    events: Events,
    registers: Registers,
    /// Whether the crystal runs, which the clock says.
    pub hfxo: bool,
    state: State,
    since: u64,
    /// When the present ramp or disabling is over.
    ramp_at: u64,
    look: Option<Look>,
    measuring: bool,
    reception: Option<Reception>,
    /// Set by START; the packet is fetched as soon as there is access to RAM.
    fetch_at: u64,
    transmission: Option<Transmission>,
    /// What the air was told last.
    listening: bool,
    outputs: VecDeque<Stamped>,
    usage: RadioUse,
}

impl Radio {
    /// A radio that is off.
    pub fn new() -> Self {
        let shorts = SHORTS.iter().fold(0, |mask, (bit, ..)| mask | 1 << bit);
        Self {
            events: Events::new(EVENTS, shorts),
            registers: Registers::after_reset(),
            hfxo: false,
            state: State::Disabled,
            since: 0,
            ramp_at: NEVER,
            look: None,
            measuring: false,
            reception: None,
            fetch_at: NEVER,
            transmission: None,
            listening: false,
            outputs: VecDeque::new(),
            usage: RadioUse::default(),
        }
    }

    /// Switches it off at once, as a reset does: the air hears of it, what it did so far is kept.
    pub fn reset(&mut self, now: u64) {
        self.leave(now);
        self.account(now);
        let mut events = self.events.clone();
        events.reset();
        let outputs = std::mem::take(&mut self.outputs);
        *self = Self { events, outputs, usage: self.usage, since: now, hfxo: self.hfxo, ..Self::new() };
    }

    /// What it says to the air next.
    pub fn take_output(&mut self) -> Option<Stamped> {
        self.outputs.pop_front()
    }

    /// Whether it has something to say.
    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// What it was used for until now.
    pub fn usage(&self, now: u64) -> RadioUse {
        let mut usage = self.usage;
        count_time(&mut usage, self.state, now.saturating_sub(self.since));
        usage
    }

    fn account(&mut self, now: u64) {
        count_time(&mut self.usage, self.state, now.saturating_sub(self.since));
        self.since = now;
    }

    fn say(&mut self, at: u64, output: Output) {
        if self.outputs.len() < OUTPUTS_MAX {
            self.outputs.push_back(Stamped { at, output });
        }
    }

    fn tuning(&self) -> Tuning {
        let [step, _, _, _] = self.registers.frequency.to_le_bytes();
        let base = if self.registers.frequency >> 8 & 1 == 0 { 2400 } else { 2360 };
        let [delimiter, _, _, _] = self.registers.delimiter.to_le_bytes();
        Tuning { mhz: base + u16::from(step & 0x7F), delimiter }
    }

    /// What is wrong with how it is set up.
    fn complaint(&self) -> Option<&'static str> {
        let registers = &self.registers;
        let [low, high] = registers.packet_config;
        [
            (registers.mode != 15, "only the IEEE 802.15.4 mode (MODE 15) is modelled"),
            (!self.hfxo, "the radio is switched on while the 32 MHz crystal does not run"),
            // Eight bits of length, no other fields, a long preamble, and a length that counts the checksum.
            (low & 0x07FF_FFFF != 0x0600_0008, "PCNF0 is not that of an IEEE 802.15.4 frame"),
            (high & 0xFFFF_FF00 != 0, "PCNF1 is not that of an IEEE 802.15.4 frame"),
            (registers.crc_config != 0x202, "CRCCNF is not that of an IEEE 802.15.4 frame"),
            (registers.crc_polynomial & 0xFFFF != 0x1021, "CRCPOLY is not that of an IEEE 802.15.4 frame"),
            (registers.crc_start != 0, "CRCINIT is not that of an IEEE 802.15.4 frame"),
        ]
        .into_iter()
        .find_map(|(wrong, what)| wrong.then_some(what))
    }

    /// Whether a look at the channel found it busy, by the rules of CCACTRL. The correlator only works with a count
    /// other than zero: a driver that writes the mode alone switches carrier sense off.
    fn is_busy(&self, dbm: i8, carrier: bool) -> bool {
        let [mode, threshold, _, count] = self.registers.clear_channel.to_le_bytes();
        let loud = i32::from(dbm) - ENERGY_ZERO_DBM >= i32::from(threshold);
        let carrier = carrier && count != 0;
        match mode & 7 {
            0 | 4 => loud,
            1 => carrier,
            2 => carrier && loud,
            _ => carrier || loud,
        }
    }
}

fn count_time(usage: &mut RadioUse, state: State, cycles: u64) {
    match state {
        State::Disabled => {}
        State::RxRampUp | State::RxIdle | State::Rx | State::RxDisable => usage.receiving += cycles,
        State::TxRampUp | State::TxIdle | State::Tx | State::TxDisable => usage.transmitting += cycles,
    }
}

/// Power on the scale of EDSAMPLE, CCAEDTHRES and the quality byte.
fn energy(dbm: i8) -> u8 {
    u8::try_from((i32::from(dbm) - ENERGY_ZERO_DBM).clamp(0, 63)).unwrap_or(0)
}

impl Peripheral for Radio {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        let registers = &self.registers;
        Ok(match offset {
            0x400 => registers.crc_status,
            0x40C => registers.received_crc,
            0x414 => registers.length_status,
            0x504 => registers.packet,
            0x508 => registers.frequency,
            0x50C => registers.power,
            0x510 => registers.mode,
            0x514 => registers.packet_config[0],
            0x518 => registers.packet_config[1],
            0x534 => registers.crc_config,
            0x538 => registers.crc_polynomial,
            0x53C => registers.crc_start,
            0x544 => 0,
            0x548 => registers.rssi,
            0x550 => self.state as u32,
            0x650 => registers.mode_config,
            0x660 => registers.delimiter,
            0x664 => registers.energy_count,
            0x668 => registers.energy,
            0x66C => registers.clear_channel,
            0xFFC => 1,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        let registers = &mut self.registers;
        match offset {
            0x504 => registers.packet = value,
            0x508 => registers.frequency = value,
            0x50C => registers.power = value,
            0x510 => registers.mode = value,
            0x514 => registers.packet_config[0] = value,
            0x518 => registers.packet_config[1] = value,
            0x534 => registers.crc_config = value,
            0x538 => registers.crc_polynomial = value,
            0x53C => registers.crc_start = value,
            0x544 if value != 0 => return Err(Refusal::Bad("inter-frame spacing is not modelled".into())),
            0x650 => registers.mode_config = value,
            0x660 => registers.delimiter = value & 0xFF,
            0x664 => registers.energy_count = value & 0x1F_FFFF,
            0x66C => registers.clear_channel = value,
            // Power: off and on again is how a driver resets it.
            0xFFC if value & 1 == 0 => self.reset(now),
            0x544 | 0xFFC => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        self.perform(now, offset)
    }

    fn due(&self) -> u64 {
        let reception = self.reception.as_ref().map_or(NEVER, |reception| match &reception.end {
            _ if !reception.shown => reception.found_at,
            Some((at, ..)) => *at,
            None => NEVER,
        });
        let transmission = self.transmission.map_or(NEVER, |transmission| {
            if transmission.shown { transmission.ends_at } else { transmission.started_at }
        });
        self.ramp_at.min(self.fetch_at).min(reception).min(transmission)
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        self.proceed(now, memory)
    }
}

impl Radio {
    /// The air tells it something.
    pub fn hear(&mut self, now: u64, input: Input) -> Result<(), BusError> {
        self.listen_to(now, input).map_err(bus_error)
    }
}

fn bus_error(refusal: Refusal) -> BusError {
    let what = match refusal {
        Refusal::Unknown => "RADIO: a task that is not modelled".into(),
        Refusal::Bad(what) => format!("RADIO: {what}"),
    };
    BusError { address: 0x4000_1000, what }
}

const _: () = assert!(CYCLES_PER_US == 64);
