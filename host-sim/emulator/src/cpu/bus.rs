//! Routes an access to flash, RAM, the processor's own registers, or the peripherals.

use super::Core;
use super::cycles::{FLASH_DATA, UNALIGNED};
use super::mpu::Wants;
use super::trap::{Fault, Run, Trap};
use crate::io::{BusError, Io, Width};
use crate::memory::RAM_START;

const fn is_aligned(address: u32, width: Width) -> bool {
    match width {
        Width::Byte => true,
        Width::Half => address.is_multiple_of(2),
        Width::Word => address.is_multiple_of(4),
    }
}

const fn bytes(width: Width) -> u32 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}

/// What lies at an address outside flash and RAM.
enum Target {
    /// The processor's own registers.
    System,
    Peripheral,
    /// The bus answers with an error, which is a fault of the program.
    Nothing,
}

fn target(address: u32) -> Target {
    match address {
        0xE000_0000..=0xE00F_FFFF => Target::System,
        // FICR and UICR, the peripherals, and undocumented registers that errata workarounds use.
        0x1000_0000..=0x1000_1FFF | 0x4000_0000..=0x5FFF_FFFF | 0xF000_0000..=0xF000_0FFF => Target::Peripheral,
        _ => Target::Nothing,
    }
}

impl<I: Io + ?Sized> Core<'_, I> {
    #[inline(always)]
    pub fn read(&mut self, address: u32, width: Width) -> Run<u32> {
        if is_aligned(address, width)
            && !self.cpu.state.mpu.checks(address)
            && let Some(value) = self.memory.read(address, width)
        {
            if address < RAM_START {
                self.cpu.charge(FLASH_DATA);
            }
            return Ok(value);
        }
        self.read_elsewhere(address, width)
    }

    #[inline(always)]
    pub fn write(&mut self, address: u32, width: Width, value: u32) -> Run {
        if is_aligned(address, width)
            && !self.cpu.state.mpu.checks(address)
            && self.memory.write_ram(address, width, value)
        {
            return Ok(());
        }
        self.write_elsewhere(address, width, value)
    }

    /// For accesses that must be aligned: pairs, lists, exclusives and floating-point registers.
    #[inline(always)]
    pub fn read_aligned(&mut self, address: u32) -> Run<u32> {
        if address.is_multiple_of(4) { self.read(address, Width::Word) } else { self.fault(Fault::Unaligned, address) }
    }

    #[inline(always)]
    pub fn write_aligned(&mut self, address: u32, value: u32) -> Run {
        if address.is_multiple_of(4) {
            self.write(address, Width::Word, value)
        } else {
            self.fault(Fault::Unaligned, address)
        }
    }

    pub fn fault<T>(&mut self, fault: Fault, address: u32) -> Run<T> {
        self.cpu.state.fault_address = address;
        Err(Trap::Fault(fault))
    }

    /// Ends the run: the access is not modelled.
    pub fn bus_error<T>(&mut self, error: &BusError) -> Run<T> {
        self.cpu.error = error.to_string();
        Err(Trap::Error)
    }

    fn charge_unaligned(&mut self, aligned: bool) {
        if !aligned {
            self.cpu.charge(UNALIGNED);
        }
    }

    fn check_mpu(&mut self, address: u32, width: Width, wants: Wants) -> Run {
        let state = &self.cpu.state;
        let last = address.wrapping_add(bytes(width) - 1);
        if !state.mpu.checks(address) && !state.mpu.checks(last) {
            return Ok(());
        }
        let (privileged, in_fault) = (self.cpu.is_privileged(), state.interrupts.execution_priority() < 0);
        let allows = |address| state.mpu.allows(address, wants, privileged, in_fault);
        if allows(address) && allows(last) { Ok(()) } else { self.fault(Fault::DataViolation, address) }
    }

    #[inline(never)]
    fn read_elsewhere(&mut self, address: u32, width: Width) -> Run<u32> {
        self.check_mpu(address, width, Wants::Read)?;
        let aligned = is_aligned(address, width);
        if !aligned && self.cpu.state.system.traps_unaligned() {
            return self.fault(Fault::Unaligned, address);
        }
        self.charge_unaligned(aligned);
        if let Some(value) = self.memory.read(address, width) {
            return Ok(value);
        }
        match target(address) {
            Target::Nothing => self.fault(Fault::DataBusError, address),
            _ if !aligned => self.fault(Fault::Unaligned, address),
            Target::System => self.read_system(address, width),
            Target::Peripheral => {
                // The access may change the interrupt lines.
                self.cpu.request_check();
                self.io.read(self.cpu.now, address, width).or_else(|error| self.bus_error(&error))
            }
        }
    }

    #[inline(never)]
    fn write_elsewhere(&mut self, address: u32, width: Width, value: u32) -> Run {
        self.check_mpu(address, width, Wants::Write)?;
        let aligned = is_aligned(address, width);
        if !aligned && self.cpu.state.system.traps_unaligned() {
            return self.fault(Fault::Unaligned, address);
        }
        self.charge_unaligned(aligned);
        if self.memory.write_ram(address, width, value) {
            return Ok(());
        }
        let value = match width {
            Width::Byte => value & 0xFF,
            Width::Half => value & 0xFFFF,
            Width::Word => value,
        };
        let is_flash = self.memory.is_flash(address);
        match target(address) {
            Target::Nothing if !is_flash => self.fault(Fault::DataBusError, address),
            _ if !aligned => self.fault(Fault::Unaligned, address),
            Target::System => self.write_system(address, width, value),
            Target::Peripheral | Target::Nothing => {
                self.cpu.request_check();
                if let Err(error) = self.io.write(self.cpu.now, address, width, value) {
                    return self.bus_error(&error);
                }
                // The flash controller carries out a store to flash before the next instruction.
                Ok(())
            }
        }
    }
}
