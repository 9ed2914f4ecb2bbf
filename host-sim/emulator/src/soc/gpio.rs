//! P0 and P1: the pins, as the processor and the board around it see them.
//!
//! The chip drives a pin, or the board does, or a resistor pulls it. Otherwise the pin floats and reads low.

use super::chip::Chip;
use super::events::{Refusal, Served};

/// Registers, by the names of the product specification.
mod register {
    pub const OUT: u32 = 0x504;
    pub const OUTSET: u32 = 0x508;
    pub const OUTCLR: u32 = 0x50C;
    pub const IN: u32 = 0x510;
    pub const DIR: u32 = 0x514;
    pub const DIRSET: u32 = 0x518;
    pub const DIRCLR: u32 = 0x51C;
    pub const LATCH: u32 = 0x520;
    pub const DETECTMODE: u32 = 0x524;
    pub const PIN_CNF: u32 = 0x700;
    pub const PIN_CNF_END: u32 = PIN_CNF + 32 * 4;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// 0 or 1.
    pub port: u8,
    /// 0 to 31.
    pub number: u8,
}

impl Pin {
    pub const fn p0(number: u8) -> Self {
        Self { port: 0, number }
    }

    pub const fn p1(number: u8) -> Self {
        Self { port: 1, number }
    }
}

/// `PIN_CNF` after reset: an input without a buffer.
const DISCONNECTED: u32 = 1 << 1;

#[derive(Clone, Debug)]
struct Port {
    /// A mask of the pins that the chip has.
    exist: u32,
    out: u32,
    latch: u32,
    latched_detect: bool,
    config: [u32; 32],
    /// The pins that the board drives.
    driven: u32,
    /// The levels to which the board drives them.
    level: u32,
    /// The last state of the DETECT signal to GPIOTE.
    detect: bool,
}

#[derive(Clone, Debug)]
pub struct Gpio {
    ports: [Port; 2],
}

/// What GPIOTE has to know about the pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The levels of both ports.
    pub levels: [u32; 2],
    /// Whether the DETECT signal of a port has risen.
    pub detected: bool,
}

impl Port {
    fn new(pins: u32) -> Self {
        let exist = u32::MAX >> (32 - pins);
        Self {
            exist,
            out: 0,
            latch: 0,
            latched_detect: false,
            config: [DISCONNECTED; 32],
            driven: 0,
            level: 0,
            detect: false,
        }
    }

    fn directions(&self) -> u32 {
        self.config.iter().enumerate().fold(0, |mask, (n, config)| mask | (config & 1) << n)
    }

    fn set_directions(&mut self, directions: u32) {
        for (n, config) in self.config.iter_mut().enumerate() {
            *config = *config & !1 | directions >> n & 1;
        }
    }

    /// Whether the pin is high, as measured from outside.
    fn is_high(&self, pin: usize) -> bool {
        let (config, bit) = (self.config[pin], 1 << pin);
        let high = self.out & bit != 0;
        let drive = config >> 8 & 7;
        // Open-drain modes leave the pin alone when it should be high, open-source modes when it should be low.
        let leaves_alone = if high { drive >= 6 } else { drive == 4 || drive == 5 };
        if config & 1 != 0 && !leaves_alone {
            return high;
        }
        if self.driven & bit != 0 {
            return self.level & bit != 0;
        }
        config >> 2 & 3 == 3
    }

    fn levels(&self) -> u32 {
        let pins = (0..32).filter(|&pin| self.exist >> pin & 1 != 0 && self.is_high(pin));
        pins.fold(0, |mask, pin| mask | 1 << pin)
    }

    /// The levels as the chip reads them: a pin without an input buffer reads low.
    fn inputs(&self) -> u32 {
        let seen = self.config.iter().enumerate().fold(0, |mask, (n, config)| mask | (!config >> 1 & 1) << n);
        self.levels() & seen
    }

    /// The pins at the level that their SENSE field waits for.
    fn sensed(&self) -> u32 {
        let inputs = self.inputs();
        let senses = self.config.iter().enumerate();
        senses.fold(0, |mask, (n, config)| {
            let high = inputs >> n & 1 != 0;
            let matches = match config >> 16 & 3 {
                2 => high,
                3 => !high,
                _ => false,
            };
            mask | u32::from(matches) << n
        })
    }

    /// Updates DETECT, and says whether it rose.
    fn detect(&mut self) -> bool {
        let sensed = self.sensed();
        self.latch |= sensed;
        let detect = if self.latched_detect { self.latch != 0 } else { sensed != 0 };
        detect && !std::mem::replace(&mut self.detect, detect)
    }

    fn register(&self, offset: u32) -> Served<u32> {
        Ok(match offset {
            register::OUT | register::OUTSET | register::OUTCLR => self.out,
            register::IN => self.inputs(),
            register::DIR | register::DIRSET | register::DIRCLR => self.directions(),
            register::LATCH => self.latch,
            register::DETECTMODE => u32::from(self.latched_detect),
            register::PIN_CNF..register::PIN_CNF_END => self.config[(offset - register::PIN_CNF) as usize / 4],
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::OUT => self.out = value,
            register::OUTSET => self.out |= value,
            register::OUTCLR => self.out &= !value,
            register::DIR => self.set_directions(value),
            register::DIRSET => self.set_directions(self.directions() | value),
            register::DIRCLR => self.set_directions(self.directions() & !value),
            register::LATCH => {
                self.latch &= !value;
                // A pin that is still latched makes a new edge.
                self.detect &= !self.latched_detect;
            }
            register::DETECTMODE => self.latched_detect = value & 1 != 0,
            register::PIN_CNF..register::PIN_CNF_END => {
                let pin = (offset - register::PIN_CNF) / 4;
                if self.exist >> pin & 1 == 0 {
                    return Err(Refusal::Bad(format!("this chip has no pin {pin} in that port")));
                }
                self.config[pin as usize] = value & 0x3_070F;
            }
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }
}

impl Gpio {
    pub fn new(chip: Chip) -> Self {
        Self { ports: [Port::new(32), Port::new(chip.port1_pins())] }
    }

    /// After a reset, the board still drives the pins that it drove.
    pub fn after_reset(&self, chip: Chip) -> Self {
        let mut fresh = Self::new(chip);
        for (port, old) in fresh.ports.iter_mut().zip(&self.ports) {
            (port.driven, port.level) = (old.driven, old.level);
        }
        fresh
    }

    /// Drives a pin from outside, or releases it.
    pub fn drive(&mut self, pin: Pin, level: Option<bool>) {
        let (port, bit) = (&mut self.ports[usize::from(pin.port & 1)], 1 << (pin.number & 31));
        port.driven = if level.is_some() { port.driven | bit } else { port.driven & !bit };
        port.level = if level == Some(true) { port.level | bit } else { port.level & !bit };
    }

    pub fn is_high(&self, pin: Pin) -> bool {
        self.ports[usize::from(pin.port & 1)].is_high(usize::from(pin.number & 31))
    }

    /// The level to which the board drives a pin, if it does.
    pub fn driven(&self, pin: Pin) -> Option<bool> {
        let (port, bit) = (&self.ports[usize::from(pin.port & 1)], 1 << (pin.number & 31));
        (port.driven & bit != 0).then_some(port.level & bit != 0)
    }

    /// Whether the chip drives a pin.
    pub fn is_output(&self, pin: Pin) -> bool {
        self.ports[usize::from(pin.port & 1)].config[usize::from(pin.number & 31)] & 1 != 0
    }

    /// Sets a pin for GPIOTE, and makes it an output.
    pub fn set_output(&mut self, pin: Pin, high: bool) {
        let (port, number) = (&mut self.ports[usize::from(pin.port & 1)], usize::from(pin.number & 31));
        port.config[number] |= 1;
        port.out = port.out & !(1 << number) | u32::from(high) << number;
    }

    /// The levels now, and whether DETECT rose since the last call.
    pub fn take_change(&mut self) -> Change {
        let [first, second] = &mut self.ports;
        let detected = first.detect() | second.detect();
        Change { levels: [first.inputs(), second.inputs()], detected }
    }

    /// Reads a register of the page that both ports share.
    pub fn read(&self, offset: u32) -> Served<u32> {
        let PortRegister { port, offset } = locate(offset);
        self.ports[port].register(offset)
    }

    /// Writes a register of the page that both ports share.
    pub fn write(&mut self, offset: u32, value: u32) -> Served<()> {
        let PortRegister { port, offset } = locate(offset);
        self.ports[port].set_register(offset, value)
    }
}

/// Where P1 repeats the registers of P0.
const P1_OFFSET: u32 = 0x300;
const P1_START: u32 = 0x800;

/// A port, and a register of it as P0 has them.
struct PortRegister {
    port: usize,
    offset: u32,
}

fn locate(offset: u32) -> PortRegister {
    if offset < P1_START {
        PortRegister { port: 0, offset }
    } else {
        PortRegister { port: 1, offset: offset - P1_OFFSET }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gpio, Pin};
    use crate::soc::chip::Chip;

    const PULL_UP: u32 = 3 << 2;
    const SENSE_LOW: u32 = 3 << 16;

    #[test]
    fn outputs_inputs_and_resistors() {
        let mut gpio = Gpio::new(Chip::Nrf52840);
        gpio.write(0x700 + 4 * 13, 1).unwrap();
        gpio.write(0x508, 1 << 13).unwrap();
        assert!(gpio.is_high(Pin::p0(13)) && gpio.is_output(Pin::p0(13)));
        assert_eq!(gpio.read(0x504), Ok(1 << 13));
        gpio.write(0x700 + 4 * 11, PULL_UP).unwrap();
        assert_eq!(gpio.read(0x510), Ok(1 << 11 | 1 << 13));
        gpio.drive(Pin::p0(11), Some(false));
        assert_eq!(gpio.read(0x510), Ok(1 << 13));
        gpio.write(0x700 + 4 * 11, PULL_UP | 2).unwrap();
        gpio.drive(Pin::p0(11), None);
        assert_eq!(gpio.read(0x510), Ok(1 << 13), "without its buffer an input reads low");
    }

    #[test]
    fn the_second_port_has_what_the_chip_has() {
        let mut gpio = Gpio::new(Chip::Nrf52833);
        gpio.write(0xA00 + 4 * 9, 1).unwrap();
        gpio.write(0x808, 1 << 9).unwrap();
        assert!(gpio.is_high(Pin::p1(9)) && !gpio.is_high(Pin::p0(9)));
        assert!(gpio.write(0xA00 + 4 * 10, 1).is_err());
        assert!(Gpio::new(Chip::Nrf52840).write(0xA00 + 4 * 15, 1).is_ok());
    }

    #[test]
    fn an_open_drain_leaves_high_to_others() {
        let mut gpio = Gpio::new(Chip::Nrf52840);
        gpio.write(0x700, 1 | PULL_UP | 6 << 8).unwrap();
        assert!(!gpio.is_high(Pin::p0(0)));
        gpio.write(0x508, 1).unwrap();
        assert!(gpio.is_high(Pin::p0(0)));
        gpio.drive(Pin::p0(0), Some(false));
        assert!(!gpio.is_high(Pin::p0(0)));
    }

    #[test]
    fn detect_rises_once_and_again_when_something_stays_latched() {
        let mut gpio = Gpio::new(Chip::Nrf52840);
        gpio.write(0x524, 1).unwrap();
        for pin in [11, 12] {
            gpio.write(0x700 + 4 * pin, PULL_UP | SENSE_LOW).unwrap();
        }
        assert!(!gpio.take_change().detected);
        gpio.drive(Pin::p0(11), Some(false));
        assert!(gpio.take_change().detected);
        gpio.drive(Pin::p0(12), Some(false));
        assert!(!gpio.take_change().detected, "it is high already");
        gpio.drive(Pin::p0(11), None);
        gpio.write(0x520, 1 << 11).unwrap();
        assert_eq!(gpio.read(0x520), Ok(1 << 12));
        assert!(gpio.take_change().detected, "the other pin is still latched");
        gpio.drive(Pin::p0(12), None);
        gpio.write(0x520, u32::MAX).unwrap();
        assert!(!gpio.take_change().detected);
    }
}
