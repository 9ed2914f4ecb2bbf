//! SAADC: measures the supply, and voltages that are set for the analogue pins.
//!
//! Conversions are one-shot: START, SAMPLE, and the results are in RAM. The converter's own sampling clock, limits and
//! noise are not modelled.

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;

const STARTED: u32 = 0;
const END: u32 = 1;
const DONE: u32 = 2;
const RESULTDONE: u32 = 3;
const CALIBRATEDONE: u32 = 4;
const STOPPED: u32 = 5;
const CHANNELS: usize = 8;
const INPUT_VDD: u32 = 9;
const INPUTS: usize = 10;
const CONVERSION: u64 = 2 * CYCLES_PER_US;
const CALIBRATION: u64 = 250 * CYCLES_PER_US;

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
    pub const SAMPLE: u32 = 0x04;
    pub const STOP: u32 = 0x08;
    pub const CALIBRATEOFFSET: u32 = 0x0C;
}

/// Registers, by the names of the product specification.
mod register {
    pub const STATUS: u32 = 0x400;
    pub const ENABLE: u32 = 0x500;
    pub const CH: u32 = 0x510;
    pub const CH_END: u32 = CH + 8 * 16;
    pub const RESOLUTION: u32 = 0x5F0;
    pub const OVERSAMPLE: u32 = 0x5F4;
    pub const SAMPLERATE: u32 = 0x5F8;
    pub const RESULT_PTR: u32 = 0x62C;
    pub const RESULT_MAXCNT: u32 = 0x630;
    pub const RESULT_AMOUNT: u32 = 0x634;
    pub const POWER: u32 = 0xFFC;
}

#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    positive: u32,
    negative: u32,
    config: u32,
    limit: u32,
}

#[derive(Clone, Debug)]
pub struct Saadc {
    events: Events,
    enabled: u32,
    channels: [Channel; CHANNELS],
    resolution: u32,
    oversample: u32,
    pointer: u32,
    count: u32,
    /// Results of this run so far.
    amount: u32,
    started: bool,
    sample_at: u64,
    calibrated_at: u64,
    /// Millivolts at the inputs: 1 to 8 are the analogue pins, 9 is the supply.
    millivolts: [i32; INPUTS],
}

impl Saadc {
    pub fn new(supply_mv: i32) -> Self {
        let mut millivolts = [0; INPUTS];
        millivolts[INPUT_VDD as usize] = supply_mv;
        let known = 0b11_1111 | 0xFFFF << 6;
        Self {
            events: Events::new(known, 0),
            enabled: 0,
            channels: [Channel { config: 0x2_0000, limit: 0x7FFF_8000, ..Channel::default() }; CHANNELS],
            resolution: 1,
            oversample: 0,
            pointer: 0,
            count: 0,
            amount: 0,
            started: false,
            sample_at: NEVER,
            calibrated_at: NEVER,
            millivolts,
        }
    }

    /// After a reset: the voltages stay as they are.
    pub fn after_reset(&self) -> Self {
        Self { millivolts: self.millivolts, ..Self::new(0) }
    }

    pub fn set_supply(&mut self, millivolts: i32) {
        self.millivolts[INPUT_VDD as usize] = millivolts;
    }

    /// In millivolts.
    pub fn supply(&self) -> i32 {
        self.millivolts[INPUT_VDD as usize]
    }

    /// Sets the voltage at an analogue pin, 0 to 7.
    pub fn set_input(&mut self, input: usize, millivolts: i32) {
        self.millivolts[input % 8 + 1] = millivolts;
    }

    fn voltage(&self, input: u32) -> Result<i64, String> {
        match input {
            0 => Ok(0),
            1..=INPUT_VDD => Ok(i64::from(self.millivolts[input as usize])),
            _ => Err(format!("input {input} is not modelled")),
        }
    }

    fn convert(&self, channel: Channel) -> Result<i16, String> {
        let differential = channel.config >> 20 & 1 != 0;
        let negative = if differential { self.voltage(channel.negative)? } else { 0 };
        let difference = self.voltage(channel.positive)? - negative;
        // Gains 1/6, 1/5, 1/4, 1/3, 1/2, 1, 2 and 4, in sixtieths.
        let gain = [10, 12, 15, 20, 30, 60, 120, 240][(channel.config >> 8 & 7) as usize];
        let internal = channel.config >> 12 & 1 == 0;
        let reference = if internal { 600 } else { i64::from(self.supply()) / 4 };
        let bits = 8 + 2 * (self.resolution & 3) - u32::from(differential);
        let value = difference * gain * (1 << bits) / (60 * reference.max(1));
        let (low, high) = if differential { (-(1 << bits), (1 << bits) - 1) } else { (0, (1 << bits) - 1) };
        Ok(i16::try_from(value.clamp(low, high)).unwrap_or(i16::MAX))
    }

    fn in_use(&self) -> impl Iterator<Item = Channel> {
        self.channels.iter().copied().filter(|channel| channel.positive != 0)
    }

    fn sampling_time(&self) -> u64 {
        let acquisition = |channel: Channel| [3, 5, 10, 15, 20, 40, 40, 40][(channel.config >> 16 & 7) as usize];
        let once: u64 = self.in_use().map(|channel| acquisition(channel) * CYCLES_PER_US + CONVERSION).sum();
        once << self.oversample.min(8)
    }
}

impl Peripheral for Saadc {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        Ok(match offset {
            register::STATUS => u32::from(self.sample_at != NEVER),
            register::ENABLE => self.enabled,
            register::CH..register::CH_END => {
                let channel = self.channels[(offset - register::CH) as usize / 16];
                [channel.positive, channel.negative, channel.config, channel.limit][(offset >> 2 & 3) as usize]
            }
            register::RESOLUTION => self.resolution,
            register::OVERSAMPLE => self.oversample,
            register::SAMPLERATE => 0,
            register::RESULT_PTR => self.pointer,
            register::RESULT_MAXCNT => self.count,
            register::RESULT_AMOUNT => self.amount,
            register::POWER => 1,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::ENABLE => self.enabled = value & 1,
            register::CH..register::CH_END => {
                let channel = &mut self.channels[(offset - register::CH) as usize / 16];
                match offset >> 2 & 3 {
                    0 => channel.positive = value & 0x1F,
                    1 => channel.negative = value & 0x1F,
                    2 => channel.config = value,
                    _ => channel.limit = value,
                }
            }
            register::RESOLUTION => self.resolution = value & 3,
            register::OVERSAMPLE => self.oversample = value & 0xF,
            register::SAMPLERATE if value >> 12 & 1 != 0 => {
                return Err(Refusal::Bad("sampling by the converter's own clock is not modelled".into()));
            }
            register::RESULT_PTR => self.pointer = value,
            register::RESULT_MAXCNT => self.count = value & 0x7FFF,
            // A driver resets the peripheral by switching it off and on again.
            register::POWER if value & 1 == 0 => {
                let events = self.events.clone();
                *self = Self { events, ..self.after_reset() };
                self.events.reset();
            }
            register::SAMPLERATE | register::POWER => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        if self.enabled == 0 {
            return Ok(());
        }
        match offset {
            task::START => {
                (self.started, self.amount) = (true, 0);
                self.events.fire(STARTED);
            }
            task::SAMPLE if self.started => self.sample_at = now + self.sampling_time(),
            task::SAMPLE => {}
            task::STOP => {
                if std::mem::take(&mut self.started) {
                    self.events.fire(END);
                }
                self.sample_at = NEVER;
                self.events.fire(STOPPED);
            }
            task::CALIBRATEOFFSET => self.calibrated_at = now + CALIBRATION,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        self.sample_at.min(self.calibrated_at)
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        if self.calibrated_at <= now {
            self.calibrated_at = NEVER;
            self.events.fire(CALIBRATEDONE);
        }
        if self.sample_at > now {
            return Ok(());
        }
        self.sample_at = NEVER;
        let channels: Vec<Channel> = self.in_use().collect();
        for channel in channels {
            let value = self
                .convert(channel)
                .map_err(|what| BusError { address: 0x4000_7000, what: format!("SAADC: {what}") })?;
            if self.amount < self.count {
                memory.dma_write(self.pointer + 2 * self.amount, &value.to_le_bytes())?;
                self.amount += 1;
            }
            self.events.fire(DONE);
            self.events.fire(RESULTDONE);
        }
        if self.amount >= self.count && std::mem::take(&mut self.started) {
            self.events.fire(END);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Peripheral, read, write};
    use super::Saadc;
    use crate::io::Width;
    use crate::memory::{Memory, RAM_START};

    fn measured(setup: &[(u32, u32)]) -> (u32, Saadc) {
        let (mut saadc, mut memory) = (Saadc::new(3_000), Memory::new(4096, 64));
        let usual = [(0x500, 1), (0x5F0, 2), (0x510, 9), (0x518, 0), (0x62C, RAM_START + 8), (0x630, 1)];
        for &(offset, value) in usual.iter().chain(setup).chain(&[(0x000, 1), (0x004, 1)]) {
            write(&mut saadc, 0, offset, value).unwrap();
        }
        saadc.advance(saadc.due(), &mut memory).unwrap();
        (memory.read(RAM_START + 8, Width::Half).unwrap(), saadc)
    }

    #[test]
    fn the_supply_is_measured_in_steps_of_its_reference() {
        let (value, saadc) = measured(&[]);
        // 3.0 V with gain 1/6 against 0.6 V are 5/6 of 4096.
        assert_eq!(value, 3_413);
        assert_eq!([0x100, 0x104, 0x108, 0x634].map(|offset| read(&saadc, 0, offset).unwrap()), [1; 4]);
        assert_eq!(measured(&[(0x5F0, 0)]).0, 213, "eight bits");
        assert_eq!(measured(&[(0x518, 5 << 8)]).0, 4_095, "more than the range");
    }

    #[test]
    fn results_stay_in_ram_or_are_an_error() {
        let mut saadc = Saadc::new(3_000);
        let mut memory = Memory::new(4096, 64);
        for (offset, value) in [(0x500, 1), (0x510, 9), (0x62C, 0x100), (0x630, 1), (0x000, 1), (0x004, 1)] {
            write(&mut saadc, 0, offset, value).unwrap();
        }
        assert!(saadc.advance(saadc.due(), &mut memory).is_err());
        assert!(write(&mut saadc, 0, 0x5F8, 1 << 12 | 0x50).is_err());
    }

    #[test]
    fn stopping_and_calibrating() {
        let (_, mut saadc) = measured(&[]);
        write(&mut saadc, 0, 0x008, 1).unwrap();
        write(&mut saadc, 0, 0x00C, 1).unwrap();
        saadc.advance(saadc.due(), &mut Memory::new(4096, 64)).unwrap();
        assert_eq!((read(&saadc, 0, 0x114), read(&saadc, 0, 0x110)), (Ok(1), Ok(1)));
    }
}
