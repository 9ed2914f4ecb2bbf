//! GPIOTE: events from pins and tasks on pins.

use super::events::{Events, Peripheral, Refusal, Served, index};
use super::gpio::{Change, Pin};

const CHANNELS: u32 = 8;
const PORT: u32 = 31;
const MODE_EVENT: u32 = 1;
const MODE_TASK: u32 = 3;

/// Tasks, by the names of the product specification.
mod task {
    pub const OUT: u32 = 0x00;
    pub const SET: u32 = 0x30;
    pub const CLR: u32 = 0x60;
}

/// Registers, by the names of the product specification.
mod register {
    pub const CONFIG: u32 = 0x510;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Set,
    Clear,
    Toggle,
}

/// A pin and the level that a task sets it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinDemand {
    pub pin: Pin,
    pub high: bool,
}

#[derive(Clone, Debug)]
pub struct Gpiote {
    events: Events,
    config: [u32; CHANNELS as usize],
    /// The level that each channel in task mode drives.
    output: [bool; CHANNELS as usize],
    /// In order. The pins themselves belong to GPIO.
    demands: Vec<PinDemand>,
    levels: [u32; 2],
}

fn pin(config: u32) -> Pin {
    let [_, low, _, _] = config.to_le_bytes();
    Pin { port: low >> 5 & 1, number: low & 31 }
}

impl Gpiote {
    pub fn new() -> Self {
        let known = ((1 << CHANNELS) - 1) | (1 << PORT);
        Self {
            events: Events::new(known, 0),
            config: [0; CHANNELS as usize],
            output: [false; CHANNELS as usize],
            demands: Vec::new(),
            levels: [0; 2],
        }
    }

    /// Fires events for pins that have changed.
    pub fn observe(&mut self, change: Change) {
        for (channel, &config) in (0_u32..).zip(&self.config) {
            if config & 3 != MODE_EVENT {
                continue;
            }
            let Pin { port, number } = pin(config);
            let level = |levels: [u32; 2]| levels[usize::from(port)] >> number & 1 != 0;
            let (before, after) = (level(self.levels), level(change.levels));
            let polarity = config >> 16 & 3;
            if before != after && polarity >> u32::from(before) & 1 != 0 {
                self.events.fire(channel);
            }
        }
        self.levels = change.levels;
        if change.detected {
            self.events.fire(PORT);
        }
    }

    /// What tasks demanded since the last call.
    pub fn take_demands(&mut self) -> Vec<PinDemand> {
        std::mem::take(&mut self.demands)
    }

    fn drive(&mut self, channel: usize, action: Action) {
        let config = self.config[channel];
        if config & 3 != MODE_TASK {
            return;
        }
        let high = match action {
            Action::Set => true,
            Action::Clear => false,
            Action::Toggle => !self.output[channel],
        };
        self.output[channel] = high;
        self.demands.push(PinDemand { pin: pin(config), high });
    }
}

impl Peripheral for Gpiote {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        index(offset, register::CONFIG, CHANNELS).map(|channel| self.config[channel]).ok_or(Refusal::Unknown)
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        let channel = index(offset, register::CONFIG, CHANNELS).ok_or(Refusal::Unknown)?;
        self.config[channel] = value;
        if value & 3 == MODE_TASK {
            self.drive(channel, if value >> 20 & 1 != 0 { Action::Set } else { Action::Clear });
        }
        Ok(())
    }

    fn task(&mut self, _now: u64, offset: u32) -> Served<()> {
        let (channel, action) = if let Some(channel) = index(offset, task::OUT, CHANNELS) {
            let action = match self.config[channel] >> 16 & 3 {
                1 => Action::Set,
                2 => Action::Clear,
                3 => Action::Toggle,
                _ => return Ok(()),
            };
            (channel, action)
        } else if let Some(channel) = index(offset, task::SET, CHANNELS) {
            (channel, Action::Set)
        } else if let Some(channel) = index(offset, task::CLR, CHANNELS) {
            (channel, Action::Clear)
        } else {
            return Err(Refusal::Unknown);
        };
        self.drive(channel, action);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{read, write};
    use super::super::gpio::{Change, Pin};
    use super::Gpiote;

    fn pins(p0: u32, p1: u32) -> Change {
        Change { levels: [p0, p1], detected: false }
    }

    #[test]
    fn edges_fire_by_polarity() {
        for (polarity, rise, fall) in [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)] {
            let mut gpiote = Gpiote::new();
            write(&mut gpiote, 0, 0x510, polarity << 16 | 1 << 13 | 5 << 8 | 1).unwrap();
            gpiote.observe(pins(1 << 5, 0));
            assert_eq!(read(&gpiote, 0, 0x100), Ok(0), "the other port");
            gpiote.observe(pins(0, 1 << 5));
            assert_eq!(read(&gpiote, 0, 0x100), Ok(rise));
            write(&mut gpiote, 0, 0x100, 0).unwrap();
            gpiote.observe(pins(0, 0));
            assert_eq!(read(&gpiote, 0, 0x100), Ok(fall));
        }
    }

    #[test]
    fn detection_is_the_port_event() {
        let mut gpiote = Gpiote::new();
        gpiote.observe(Change { levels: [0, 0], detected: true });
        assert_eq!(read(&gpiote, 0, 0x17C), Ok(1));
    }

    #[test]
    fn tasks_set_clear_and_toggle_their_pin() {
        let mut gpiote = Gpiote::new();
        write(&mut gpiote, 0, 0x514, 1 << 20 | 3 << 16 | 13 << 8 | 3).unwrap();
        for offset in [0x04, 0x04, 0x64, 0x34] {
            write(&mut gpiote, 0, offset, 1).unwrap();
        }
        let levels: Vec<bool> = gpiote
            .take_demands()
            .into_iter()
            .map(|demand| {
                assert_eq!(demand.pin, Pin::p0(13));
                demand.high
            })
            .collect();
        assert_eq!(levels, [true, false, true, false, true]);
        write(&mut gpiote, 0, 0x00, 1).unwrap();
        assert!(gpiote.take_demands().is_empty(), "a channel without a pin");
    }
}
