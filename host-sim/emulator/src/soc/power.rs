//! POWER: why the chip was reset, two bytes that survive it, the regulators, and a USB plug that is not there.

use super::events::{Refusal, Served};

/// Why the chip was reset, as RESETREAS has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetCause {
    /// The reset pin.
    Pin,
    /// The watchdog.
    Watchdog,
    /// The processor asked for it.
    Software,
    /// The processor locked up.
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

/// RAM is kept in nine blocks.
const RAM_BLOCKS: u32 = 9;

/// The registers of POWER. Its events never fire: the supply is steady and USB is absent.
#[derive(Clone, Debug, Default)]
pub struct Power {
    reset_reasons: u32,
    retained: [u32; 2],
    brown_out: u32,
    dcdc: [u32; 2],
    ram: [u32; RAM_BLOCKS as usize],
}

impl Power {
    /// What is left of it after a reset without loss of power.
    pub fn after_reset(&self, cause: ResetCause) -> Self {
        Self { reset_reasons: self.reset_reasons | cause.bit(), retained: self.retained, ..Self::default() }
    }

    /// Whether the DC/DC converter of the main supply is on, which halves the current.
    pub fn dcdc(&self) -> bool {
        self.dcdc[0] & 1 != 0
    }

    /// Reads a register.
    pub fn register(&self, offset: u32) -> Served<u32> {
        Ok(match offset {
            0x400 => self.reset_reasons,
            // RAMSTATUS: all on. USBREGSTATUS: no plug. MAINREGSTATUS: normal voltage.
            0x428 => 0xF,
            0x438 | 0x640 => 0,
            0x510 => self.brown_out,
            0x51C => self.retained[0],
            0x520 => self.retained[1],
            0x578 => self.dcdc[0],
            0x580 => self.dcdc[1],
            0x900..0x990 if offset & 0xC != 0xC => self.ram[(offset - 0x900) as usize / 16],
            _ => return Err(Refusal::Unknown),
        })
    }

    /// Writes a register.
    pub fn set_register(&mut self, offset: u32, value: u32) -> Served<()> {
        match offset {
            0x400 => self.reset_reasons &= !value,
            0x500 => return Err(Refusal::Bad("System OFF is not modelled".into())),
            0x510 => self.brown_out = value,
            0x51C => self.retained[0] = value & 0xFF,
            0x520 => self.retained[1] = value & 0xFF,
            0x578 => self.dcdc[0] = value & 1,
            0x580 => self.dcdc[1] = value & 1,
            0x900..0x990 => {
                let block = &mut self.ram[(offset - 0x900) as usize / 16];
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
    fn no_usb_and_no_system_off() {
        let mut power = Power::default();
        assert_eq!(power.register(0x438), Ok(0));
        assert!(power.set_register(0x500, 1).is_err() && power.register(0x444).is_err());
    }
}
