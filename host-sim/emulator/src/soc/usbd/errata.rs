//! Three registers without a name, which the workarounds for errata 171 and 187 of USBD write. They lie behind a lock, and
//! have no effect here.

use super::super::events::{Refusal, Served};

pub const START: u32 = 0x4006_EC00;
pub const END: u32 = 0x4006_ED18;

const LOCK: u32 = 0x4006_EC00;
const ERRATUM_171: u32 = 0x4006_EC14;
const ERRATUM_187: u32 = 0x4006_ED14;

/// Written to the lock, it opens or closes it.
const KEY: u32 = 0x9375;

#[derive(Clone, Copy, Debug, Default)]
pub struct Errata {
    is_open: bool,
    erratum_171: u32,
    erratum_187: u32,
}

impl Errata {
    pub fn read(&self, address: u32) -> Served<u32> {
        Ok(match address {
            LOCK => u32::from(self.is_open),
            ERRATUM_171 => self.erratum_171,
            ERRATUM_187 => self.erratum_187,
            _ => return Err(Refusal::Unknown),
        })
    }

    pub fn write(&mut self, address: u32, value: u32) -> Served<()> {
        match address {
            LOCK if value == KEY => self.is_open = !self.is_open,
            LOCK => return Err(Refusal::Bad("this is not the key".into())),
            ERRATUM_171 | ERRATUM_187 if !self.is_open => return Err(Refusal::Bad("it is locked".into())),
            ERRATUM_171 => self.erratum_171 = value,
            ERRATUM_187 => self.erratum_187 = value,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ERRATUM_171, ERRATUM_187, Errata, KEY, LOCK};

    #[test]
    fn the_key_opens_and_closes_the_lock() {
        let mut errata = Errata::default();
        assert!(errata.write(ERRATUM_187, 3).is_err() && errata.write(LOCK, 1).is_err());
        errata.write(LOCK, KEY).unwrap();
        errata.write(ERRATUM_187, 3).unwrap();
        errata.write(ERRATUM_171, 0xC0).unwrap();
        assert_eq!(errata.read(LOCK), Ok(1));
        errata.write(LOCK, KEY).unwrap();
        assert_eq!([LOCK, ERRATUM_171, ERRATUM_187].map(|at| errata.read(at)), [Ok(0), Ok(0xC0), Ok(3)]);
        assert!(errata.read(LOCK + 4).is_err());
    }
}
