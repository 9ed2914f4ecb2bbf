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
//! microsecond. Other modes, address matching, whitening, the bit counter and direction finding are not modelled;
//! configuring them is an error.

mod states;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::BusError;
use crate::memory::Memory;
use crate::phy::{Frame, Input, Output, Stamped, Tuning};
use crate::soc::map;

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
/// All events that are modelled, and those that drivers clear although they never fire in this mode: device match, bit
/// counter match, rate boost and header match.
const EVENTS: u32 = 0x0CFF_F4FF;

/// Tasks, by the names of the product specification.
mod task {
    pub const TXEN: u32 = 0x00;
    pub const RXEN: u32 = 0x04;
    pub const START: u32 = 0x08;
    pub const STOP: u32 = 0x0C;
    pub const DISABLE: u32 = 0x10;
    pub const RSSISTART: u32 = 0x14;
    pub const RSSISTOP: u32 = 0x18;
    pub const BCSTART: u32 = 0x1C;
    pub const BCSTOP: u32 = 0x20;
    pub const EDSTART: u32 = 0x24;
    pub const EDSTOP: u32 = 0x28;
    pub const CCASTART: u32 = 0x2C;
    pub const CCASTOP: u32 = 0x30;
}

/// A connection within the radio: if the bit of SHORTS is set, the event triggers the task.
struct Shortcut {
    bit: u32,
    event: u32,
    task: u32,
}

/// Those of the bit counter are left out.
const SHORTS: [Shortcut; 17] = [
    Shortcut { bit: 0, event: READY, task: task::START },
    Shortcut { bit: 1, event: END, task: task::DISABLE },
    Shortcut { bit: 2, event: DISABLED, task: task::TXEN },
    Shortcut { bit: 3, event: DISABLED, task: task::RXEN },
    Shortcut { bit: 4, event: ADDRESS, task: task::RSSISTART },
    Shortcut { bit: 5, event: END, task: task::START },
    Shortcut { bit: 8, event: DISABLED, task: task::RSSISTOP },
    Shortcut { bit: 11, event: RXREADY, task: task::CCASTART },
    Shortcut { bit: 12, event: CCAIDLE, task: task::TXEN },
    Shortcut { bit: 13, event: CCABUSY, task: task::DISABLE },
    Shortcut { bit: 15, event: READY, task: task::EDSTART },
    Shortcut { bit: 16, event: EDEND, task: task::DISABLE },
    Shortcut { bit: 17, event: CCAIDLE, task: task::STOP },
    Shortcut { bit: 18, event: TXREADY, task: task::START },
    Shortcut { bit: 19, event: RXREADY, task: task::START },
    Shortcut { bit: 20, event: PHYEND, task: task::DISABLE },
    Shortcut { bit: 21, event: PHYEND, task: task::START },
];

/// The power at which the energy scale begins.
const ENERGY_ZERO_DBM: i32 = -92;

/// Messages to the air that nobody has taken yet. A radio goes through far fewer states at one moment.
const OUTPUTS_MAX: usize = 64;

/// Registers, by the names of the product specification.
mod register {
    pub const CRCSTATUS: u32 = 0x400;
    pub const RXCRC: u32 = 0x40C;
    pub const PDUSTAT: u32 = 0x414;
    pub const PACKETPTR: u32 = 0x504;
    pub const FREQUENCY: u32 = 0x508;
    pub const TXPOWER: u32 = 0x50C;
    pub const MODE: u32 = 0x510;
    pub const PCNF0: u32 = 0x514;
    pub const PCNF1: u32 = 0x518;
    pub const CRCCNF: u32 = 0x534;
    pub const CRCPOLY: u32 = 0x538;
    pub const CRCINIT: u32 = 0x53C;
    pub const TIFS: u32 = 0x544;
    pub const RSSISAMPLE: u32 = 0x548;
    pub const STATE: u32 = 0x550;
    pub const MODECNF0: u32 = 0x650;
    pub const SFD: u32 = 0x660;
    pub const EDCNT: u32 = 0x664;
    pub const EDSAMPLE: u32 = 0x668;
    pub const CCACTRL: u32 = 0x66C;
    pub const POWER: u32 = 0xFFC;
}

/// The values are those of the STATE register.
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

/// What the channel is being assessed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assessment {
    ClearChannel,
    Energy,
}

#[derive(Clone, Debug)]
struct Reception {
    /// When the events of its start fire.
    start_at: u64,
    start_fired: bool,
    dbm: i8,
    end: Option<ReceptionEnd>,
}

#[derive(Clone, Debug)]
struct ReceptionEnd {
    /// When the events of the end fire.
    at: u64,
    frame: Frame,
    /// Whether every bit arrived as it was sent.
    intact: bool,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// When the events of its start fire: after preamble and delimiter.
    start_at: u64,
    start_fired: bool,
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

/// What the radio was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioUse {
    /// Cycles with the transmitter on, ramps included.
    pub transmitting: u64,
    /// Cycles with the receiver on, ramps included.
    pub receiving: u64,
    /// Frames sent completely.
    pub sent: u64,
    /// Frames received with a correct checksum.
    pub received: u64,
    /// Frames received with a wrong checksum.
    pub damaged: u64,
}

#[derive(Clone, Debug)]
pub struct Radio {
    events: Events,
    registers: Registers,
    /// Whether the 32 MHz crystal runs. CLOCK keeps it up to date.
    pub hfxo: bool,
    state: State,
    /// When `state` was last accounted for.
    since: u64,
    /// When the present ramp or disabling is over.
    ramp_at: u64,
    assessing: Option<Assessment>,
    /// Waiting for the air to answer RSSISTART.
    measuring: bool,
    reception: Option<Reception>,
    /// Set by START. The packet is fetched as soon as RAM can be accessed.
    fetch_at: u64,
    transmission: Option<Transmission>,
    /// Whether the air was last told that the radio listens.
    listening: bool,
    outputs: VecDeque<Stamped>,
    usage: RadioUse,
}

impl Radio {
    pub fn new() -> Self {
        let shorts = SHORTS.iter().fold(0, |mask, shortcut| mask | 1 << shortcut.bit);
        Self {
            events: Events::new(EVENTS, shorts),
            registers: Registers::after_reset(),
            hfxo: false,
            state: State::Disabled,
            since: 0,
            ramp_at: NEVER,
            assessing: None,
            measuring: false,
            reception: None,
            fetch_at: NEVER,
            transmission: None,
            listening: false,
            outputs: VecDeque::new(),
            usage: RadioUse::default(),
        }
    }

    /// Switches the radio off at once, as a reset does. The air is told, and the usage so far is kept.
    pub fn reset(&mut self, now: u64) {
        self.leave(now);
        self.account(now);
        let mut events = self.events.clone();
        events.reset();
        let outputs = std::mem::take(&mut self.outputs);
        *self = Self { events, outputs, usage: self.usage, since: now, hfxo: self.hfxo, ..Self::new() };
    }

    /// What it tells the air next.
    pub fn take_output(&mut self) -> Option<Stamped> {
        self.outputs.pop_front()
    }

    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    pub fn usage(&self, now: u64) -> RadioUse {
        let mut usage = self.usage;
        count_time(&mut usage, self.state, now.saturating_sub(self.since));
        usage
    }

    fn account(&mut self, now: u64) {
        count_time(&mut self.usage, self.state, now.saturating_sub(self.since));
        self.since = now;
    }

    fn tell_air(&mut self, at: u64, output: Output) {
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

    /// What is wrong with its configuration.
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

    /// Whether the channel counts as busy, by the rules of CCACTRL. The correlator only works if its count is not zero: a
    /// driver that writes the mode alone switches carrier sense off.
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
            register::CRCSTATUS => registers.crc_status,
            register::RXCRC => registers.received_crc,
            register::PDUSTAT => registers.length_status,
            register::PACKETPTR => registers.packet,
            register::FREQUENCY => registers.frequency,
            register::TXPOWER => registers.power,
            register::MODE => registers.mode,
            register::PCNF0 => registers.packet_config[0],
            register::PCNF1 => registers.packet_config[1],
            register::CRCCNF => registers.crc_config,
            register::CRCPOLY => registers.crc_polynomial,
            register::CRCINIT => registers.crc_start,
            register::TIFS => 0,
            register::RSSISAMPLE => registers.rssi,
            register::STATE => self.state as u32,
            register::MODECNF0 => registers.mode_config,
            register::SFD => registers.delimiter,
            register::EDCNT => registers.energy_count,
            register::EDSAMPLE => registers.energy,
            register::CCACTRL => registers.clear_channel,
            register::POWER => 1,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        let registers = &mut self.registers;
        match offset {
            register::PACKETPTR => registers.packet = value,
            register::FREQUENCY => registers.frequency = value,
            register::TXPOWER => registers.power = value,
            register::MODE => registers.mode = value,
            register::PCNF0 => registers.packet_config[0] = value,
            register::PCNF1 => registers.packet_config[1] = value,
            register::CRCCNF => registers.crc_config = value,
            register::CRCPOLY => registers.crc_polynomial = value,
            register::CRCINIT => registers.crc_start = value,
            register::TIFS if value != 0 => return Err(Refusal::Bad("inter-frame spacing is not modelled".into())),
            register::MODECNF0 => registers.mode_config = value,
            register::SFD => registers.delimiter = value & 0xFF,
            register::EDCNT => registers.energy_count = value & 0x1F_FFFF,
            register::CCACTRL => registers.clear_channel = value,
            // A driver resets the radio by switching it off and on again.
            register::POWER if value & 1 == 0 => self.reset(now),
            register::TIFS | register::POWER => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        self.perform(now, offset)
    }

    fn due(&self) -> u64 {
        let reception = self.reception.as_ref().map_or(NEVER, |reception| match &reception.end {
            _ if !reception.start_fired => reception.start_at,
            Some(end) => end.at,
            None => NEVER,
        });
        let transmission = self.transmission.map_or(NEVER, |transmission| {
            if transmission.start_fired { transmission.ends_at } else { transmission.start_at }
        });
        self.ramp_at.min(self.fetch_at).min(reception).min(transmission)
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        self.proceed(now, memory)
    }
}

impl Radio {
    pub fn handle_input(&mut self, now: u64, input: Input) -> Result<(), BusError> {
        self.apply_input(now, input).map_err(bus_error)
    }
}

fn bus_error(refusal: Refusal) -> BusError {
    let what = match refusal {
        Refusal::Unknown => "RADIO: a task that is not modelled".into(),
        Refusal::Bad(what) => format!("RADIO: {what}"),
    };
    BusError { address: map::page_address(map::page::RADIO), what }
}
