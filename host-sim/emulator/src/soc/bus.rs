//! The bus: which register an address is, and who serves it.

use super::events::{self, Refusal, Served};
use super::map::{self, PAGES, offset_of, page, page_address, page_of};
use super::usbd::{self, errata};
use super::{Soc, info, rtc, timer};
use crate::io::{BusError, Io, Width};

/// The task that starts the transmitter.
pub(super) const RADIO_TXEN: u32 = page_address(page::RADIO);

impl Soc {
    fn write_page(&mut self, now: u64, address: u32, value: u32) -> Result<(), BusError> {
        let (page, offset) = (page_of(address), offset_of(address));
        let refuse = |refusal| explain(address, refusal);
        match page {
            page::NVMC => {
                self.nvmc.write(now, offset, value, self.chip.flash_kib() * 1024).map_err(refuse)?;
                self.set_due(page::NVMC, self.nvmc.due());
                self.stop |= self.nvmc.halts_until().is_some();
                Ok(())
            }
            page::PPI => {
                self.ppi.write(offset, value).map_err(refuse)?;
                for page in 0..PAGES {
                    if let Some(peripheral) = self.peripheral(page) {
                        peripheral.catch_up(now);
                    }
                }
                self.wire();
                Ok(())
            }
            page::RTC0 | page::RTC1 | page::RTC2 if offset == rtc::TASK_START && !self.clock.lfclk_runs() => {
                Err(refuse(Refusal::Bad("started while the low-frequency clock does not run".into())))
            }
            page::USBD if offset == usbd::USBPULLUP && value & 1 != 0 && !self.clock.hfxo_runs() => {
                Err(refuse(Refusal::Bad("pulled up without the 32 MHz crystal, which USB needs".into())))
            }
            _ => {
                if timer::compare_event(page, offset).is_some_and(|event| self.ppi.connects(event, RADIO_TXEN)) {
                    // The processor stops here, so that its count of instructions is right.
                    (self.send_timed, self.stop) = (true, true);
                }
                let peripheral = self.peripheral(page).ok_or_else(|| refuse(Refusal::Unknown))?;
                events::write(peripheral, now, offset, value).map_err(refuse)?;
                self.propagate(now, page, 0)
            }
        }
    }

    fn read_page(&mut self, now: u64, address: u32) -> Served<u32> {
        let (page, offset) = (page_of(address), offset_of(address));
        match page {
            page::NVMC => self.nvmc.read(offset),
            page::PPI => self.ppi.read(offset),
            _ => events::read(self.peripheral(page).ok_or(Refusal::Unknown)?, now, offset),
        }
    }
}

pub(super) fn explain(address: u32, refusal: Refusal) -> BusError {
    let name = map::name(address);
    let what = match refusal {
        Refusal::Unknown => format!("{name}, register {:#05X} is not modelled", offset_of(address)),
        Refusal::Bad(what) => format!("{name}, register {:#05X}: {what}", offset_of(address)),
    };
    BusError { address, what }
}

impl Io for Soc {
    fn read(&mut self, now: u64, address: u32, width: Width) -> Result<u32, BusError> {
        let served = match address {
            // FICR and UICR are memory and may be read in parts.
            map::FICR..map::UICR_END => {
                let (word, bits) = (offset_of(address) & !3, 8 * (address & 3));
                let whole =
                    if address < map::UICR { info::ficr(self.chip, self.identity, word) } else { self.uicr.read(word) };
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
            map::PERIPHERALS..map::PERIPHERALS_END => self.read_page(now, address),
            map::GPIO..map::GPIO_END => self.gpio.read(offset_of(address)),
            errata::START..errata::END => self.usb_errata.read(address),
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
            map::PERIPHERALS..map::PERIPHERALS_END => self.write_page(now, address, value),
            map::GPIO..map::GPIO_END => {
                self.gpio.write(offset_of(address), value).map_err(refuse)?;
                self.observe_pins(now, 0)
            }
            errata::START..errata::END => self.usb_errata.write(address, value).map_err(refuse),
            map::FICR..map::UICR => Err(refuse(Refusal::Bad("FICR cannot be written".into()))),
            map::UICR..map::UICR_END => {
                self.uicr.read(offset_of(address)).map_err(refuse)?;
                self.store(now, address, value)
            }
            _ if address < self.chip.flash_kib() * 1024 => self.store(now, address, value),
            _ => Err(refuse(Refusal::Unknown)),
        }
    }

    fn interrupt_lines(&self) -> u64 {
        self.interrupt_lines
    }

    fn wants_stop(&self) -> bool {
        self.stop
    }

    fn caches_instructions(&self) -> bool {
        self.nvmc.caches_instructions()
    }
}

impl Soc {
    fn store(&mut self, now: u64, address: u32, value: u32) -> Result<(), BusError> {
        self.nvmc.store(now, address, value).map_err(|refusal| match refusal {
            Refusal::Bad(what) => BusError { address, what },
            Refusal::Unknown => explain(address, Refusal::Unknown),
        })?;
        self.set_due(page::NVMC, self.nvmc.due());
        // The processor is halted until the word is written, and the next instruction must see it.
        self.stop = true;
        Ok(())
    }
}
