//! The bus: which register an address is, and who serves it.

use super::events::{self, Refusal, Served};
use super::{BASE, NVMC, PAGES, PPI, RADIO, Soc, chip, info, nvmc};
use crate::io::{BusError, Io, Width};

/// The task that starts the transmitter.
const RADIO_TXEN: u32 = BASE + 0x1000 * RADIO as u32;

impl Soc {
    fn write_page(&mut self, now: u64, address: u32, value: u32) -> Result<(), BusError> {
        let (page, offset) = ((address - BASE) as usize >> 12, address & 0xFFF);
        let refuse = |refusal| explain(address, refusal);
        match page {
            NVMC => {
                self.nvmc.write(now, offset, value, self.chip.flash_kib() * 1024).map_err(refuse)?;
                self.set_due(NVMC, self.nvmc.due());
                self.stop |= self.nvmc.halts_until().is_some();
                Ok(())
            }
            PPI => {
                if self.ppi.switches_on(offset, value, RADIO_TXEN) {
                    // The processor stops here, so that whoever counts its instructions knows how many there were.
                    (self.send_armed, self.stop) = (true, true);
                }
                self.ppi.write(offset, value).map_err(refuse)?;
                for page in 0..PAGES {
                    if let Some(peripheral) = self.peripheral(page) {
                        peripheral.catch_up(now);
                    }
                }
                self.wire();
                Ok(())
            }
            11 | 17 | 36 if offset == 0 && !self.clock.lfclk_runs() => {
                Err(refuse(Refusal::Bad("started while the low-frequency clock does not run".into())))
            }
            _ => {
                let peripheral = self.peripheral(page).ok_or_else(|| refuse(Refusal::Unknown))?;
                events::write(peripheral, now, offset, value).map_err(refuse)?;
                self.settle(now, page, 0)
            }
        }
    }

    fn read_page(&mut self, now: u64, address: u32) -> Served<u32> {
        let (page, offset) = ((address - BASE) as usize >> 12, address & 0xFFF);
        match page {
            NVMC => self.nvmc.read(offset),
            PPI => self.ppi.read(offset),
            _ => events::read(self.peripheral(page).ok_or(Refusal::Unknown)?, now, offset),
        }
    }
}

pub(super) fn explain(address: u32, refusal: Refusal) -> BusError {
    let name = chip::name(address);
    let what = match refusal {
        Refusal::Unknown => format!("{name}, register {:#05X} is not modelled", address & 0xFFF),
        Refusal::Bad(what) => format!("{name}, register {:#05X}: {what}", address & 0xFFF),
    };
    BusError { address, what }
}

impl Io for Soc {
    fn read(&mut self, now: u64, address: u32, width: Width) -> Result<u32, BusError> {
        let served = match address {
            // These two are memory and may be read in parts.
            0x1000_0000..0x1000_2000 => {
                let (word, bits) = (address & 0xFFC, 8 * (address & 3));
                let whole = if address < nvmc::UICR {
                    info::ficr(self.chip, self.identity, word)
                } else {
                    self.uicr.read(word)
                };
                let mask = match width {
                    Width::Byte => 0xFF,
                    Width::Half => 0xFFFF,
                    Width::Word => u32::MAX,
                };
                return whole.map(|whole| whole >> bits & mask).map_err(|refusal| explain(address, refusal));
            }
            _ if width != Width::Word || !address.is_multiple_of(4) => {
                Err(Refusal::Bad("registers are read in whole words".into()))
            }
            BASE..0x4003_0000 => self.read_page(now, address),
            0x5000_0000..0x5000_1000 => self.gpio.read(address & 0xFFF),
            _ => Err(Refusal::Unknown),
        };
        served.map_err(|refusal| explain(address, refusal))
    }

    fn write(&mut self, now: u64, address: u32, width: Width, value: u32) -> Result<(), BusError> {
        let refuse = |refusal| explain(address, refusal);
        if width != Width::Word || !address.is_multiple_of(4) {
            return Err(refuse(Refusal::Bad("only whole words can be written here".into())));
        }
        match address {
            BASE..0x4003_0000 => self.write_page(now, address, value),
            0x5000_0000..0x5000_1000 => {
                self.gpio.write(address & 0xFFF, value).map_err(refuse)?;
                self.observe_pins(now, 0)
            }
            0x1000_0000..nvmc::UICR => Err(refuse(Refusal::Bad("FICR cannot be written".into()))),
            nvmc::UICR..0x1000_2000 => {
                self.uicr.read(address & 0xFFF).map_err(refuse)?;
                self.store(now, address, value)
            }
            _ if address < self.chip.flash_kib() * 1024 => self.store(now, address, value),
            _ => Err(refuse(Refusal::Unknown)),
        }
    }

    fn lines(&self) -> u64 {
        self.lines
    }

    fn wants_stop(&self) -> bool {
        self.stop
    }
}

impl Soc {
    fn store(&mut self, now: u64, address: u32, value: u32) -> Result<(), BusError> {
        self.nvmc.store(now, address, value).map_err(|refusal| match refusal {
            Refusal::Bad(what) => BusError { address, what },
            Refusal::Unknown => explain(address, Refusal::Unknown),
        })?;
        self.set_due(NVMC, self.nvmc.due());
        // The next instruction must see the word, and the processor stands still until it is written.
        self.stop = true;
        Ok(())
    }
}
