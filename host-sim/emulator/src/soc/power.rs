//! POWER: why the chip was reset, two bytes that survive a reset, the regulators, and the supply over USB.

use super::events::{NEVER, Refusal, Served};
use crate::io::CYCLES_PER_US;

/// Registers, by the names of the product specification.
mod register {
    pub const RESETREAS: u32 = 0x400;
    pub const RAMSTATUS: u32 = 0x428;
    pub const USBREGSTATUS: u32 = 0x438;
    pub const SYSTEMOFF: u32 = 0x500;
    pub const POFCON: u32 = 0x510;
    pub const GPREGRET: u32 = 0x51C;
    pub const GPREGRET2: u32 = 0x520;
    pub const DCDCEN: u32 = 0x578;
    pub const DCDCEN0: u32 = 0x580;
    pub const MAINREGSTATUS: u32 = 0x640;
    pub const RAM: u32 = 0x900;
    pub const RAM_END: u32 = RAM + 16 * super::RAM_BLOCKS;
}

/// Why the chip was reset, as RESETREAS has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetCause {
    Pin,
    Watchdog,
    Software,
    Lockup,
}

impl ResetCause {
    const fn bit(self) -> u32 {
        match self {
            Self::Pin => 1,
            Self::Watchdog => 1 << 1,
            Self::Software => 1 << 2,
            Self::Lockup => 1 << 3,
        }
    }
}

/// RAM has nine blocks, each with a power switch.
const RAM_BLOCKS: u32 = 9;

/// How long the regulator for USB takes to be ready. An assumption.
const USB_READY: u64 = 1_000 * CYCLES_PER_US;

const VBUSDETECT: u32 = 1 << 0;
const OUTPUTRDY: u32 = 1 << 1;

/// The supply over USB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum UsbSupply {
    #[default]
    Absent,
    Starting {
        until: u64,
    },
    Ready,
}

/// The events of POWER other than those of USB never fire: the supply is steady.
#[derive(Clone, Debug, Default)]
pub struct Power {
    usb: UsbSupply,
    reset_reasons: u32,
    retained: [u32; 2],
    brown_out: u32,
    dcdc: [u32; 2],
    ram: [u32; RAM_BLOCKS as usize],
}

impl Power {
    /// What survives a reset without loss of power.
    pub fn after_reset(&self, cause: ResetCause) -> Self {
        Self { reset_reasons: self.reset_reasons | cause.bit(), retained: self.retained, ..Self::default() }
    }

    /// Plugs USB in or out, and returns whether that is a change.
    pub fn set_usb(&mut self, now: u64, is_plugged: bool) -> bool {
        let was_plugged = self.usb != UsbSupply::Absent;
        if is_plugged != was_plugged {
            self.usb = if is_plugged { UsbSupply::Starting { until: now + USB_READY } } else { UsbSupply::Absent };
        }
        is_plugged != was_plugged
    }

    /// After a reset, USB is plugged in as it was.
    pub fn keep_usb(&mut self, is_plugged: bool) {
        self.usb = if is_plugged { UsbSupply::Ready } else { UsbSupply::Absent };
    }

    /// When the regulator for USB is ready.
    pub fn due(&self) -> u64 {
        if let UsbSupply::Starting { until } = self.usb { until } else { NEVER }
    }

    /// Whether the regulator for USB has become ready.
    pub fn usb_becomes_ready(&mut self, now: u64) -> bool {
        let is_ready = self.due() <= now;
        if is_ready {
            self.usb = UsbSupply::Ready;
        }
        is_ready
    }

    /// Whether the DC/DC converter of the main supply is on, which halves the current.
    pub fn dcdc(&self) -> bool {
        self.dcdc[0] & 1 != 0
    }

    pub fn register(&self, offset: u32) -> Served<u32> {
        Ok(match offset {
            register::RESETREAS => self.reset_reasons,
            // All blocks are on.
            register::RAMSTATUS => 0xF,
            register::USBREGSTATUS => match self.usb {
                UsbSupply::Absent => 0,
                UsbSupply::Starting { .. } => VBUSDETECT,
                UsbSupply::Ready => VBUSDETECT | OUTPUTRDY,
            },
            // The main supply has its normal voltage.
            register::MAINREGSTATUS => 0,
            register::POFCON => self.brown_out,
            register::GPREGRET => self.retained[0],
            register::GPREGRET2 => self.retained[1],
            register::DCDCEN => self.dcdc[0],
            register::DCDCEN0 => self.dcdc[1],
            register::RAM..register::RAM_END if offset & 0xC != 0xC => self.ram[(offset - register::RAM) as usize / 16],
            _ => return Err(Refusal::Unknown),
        })
    }

    pub fn set_register(&mut self, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::RESETREAS => self.reset_reasons &= !value,
            register::SYSTEMOFF => return Err(Refusal::Bad("System OFF is not modelled".into())),
            register::POFCON => self.brown_out = value,
            register::GPREGRET => self.retained[0] = value & 0xFF,
            register::GPREGRET2 => self.retained[1] = value & 0xFF,
            register::DCDCEN => self.dcdc[0] = value & 1,
            register::DCDCEN0 => self.dcdc[1] = value & 1,
            register::RAM..register::RAM_END => {
                let block = &mut self.ram[(offset - register::RAM) as usize / 16];
                match offset & 0xC {
                    0 => *block = value,
                    4 => *block |= value,
                    8 => *block &= !value,
                    _ => return Err(Refusal::Unknown),
                }
            }
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Power, ResetCause};

    #[test]
    fn reasons_add_up_until_they_are_cleared_and_retained_bytes_stay() {
        let mut power = Power::default();
        assert_eq!(power.register(0x400), Ok(0), "the power came on");
        power.set_register(0x51C, 0x1_57).unwrap();
        power.set_register(0x578, 1).unwrap();
        let mut power = power.after_reset(ResetCause::Watchdog).after_reset(ResetCause::Software);
        assert_eq!((power.register(0x400), power.register(0x51C)), (Ok(0b110), Ok(0x57)));
        assert!(!power.dcdc(), "regulators fall back");
        power.set_register(0x400, 0b010).unwrap();
        assert_eq!(power.register(0x400), Ok(0b100));
    }

    #[test]
    fn usb_is_found_and_a_moment_later_ready() {
        let mut power = Power::default();
        assert_eq!((power.register(0x438), power.due()), (Ok(0), u64::MAX));
        assert!(power.set_usb(100, true) && !power.set_usb(200, true));
        assert_eq!((power.register(0x438), power.due()), (Ok(1), 100 + 64_000));
        assert!(!power.usb_becomes_ready(64_000) && power.usb_becomes_ready(64_100));
        assert_eq!((power.register(0x438), power.due()), (Ok(3), u64::MAX));
        assert!(power.set_usb(70_000, false));
        assert_eq!(power.register(0x438), Ok(0));
    }

    #[test]
    fn no_system_off() {
        let mut power = Power::default();
        assert!(power.set_register(0x500, 1).is_err() && power.register(0x444).is_err());
    }
}
