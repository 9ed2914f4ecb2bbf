//! The addresses of the processor's own registers.
//!
//! A register that is not listed ends the run with an error, as everywhere in the emulator. The trace units are the
//! exception: they answer as if nobody listened, since a program cannot depend on more.

use super::{CCR_ALIGNS_STACK, FPCCR_AUTOMATIC, FPCCR_LAZY, SCR_EVENT_ON_PENDING, SCR_SLEEP_ON_EXIT};
use crate::cpu::Core;
use crate::cpu::interrupts::{FIRST_INTERRUPT, INTERRUPTS, MEM_MANAGE, NMI, PEND_SV, SYS_TICK, USAGE_FAULT, bit};
use crate::cpu::trap::{Fault, Run};
use crate::io::{BusError, Io, Width};

/// The identification of a Cortex-M4 r0p1.
const CPUID: u32 = 0x410F_C241;

/// What the processor can do, from register 0xD40 on.
const FEATURES: [u32; 13] = [
    0x0000_0030,
    0x0000_0200,
    0x0010_0000,
    0x0000_0000,
    0x0010_0030,
    0x0000_0000,
    0x0100_0000,
    0x0000_0000,
    0x0114_1110,
    0x0211_2000,
    0x2123_2231,
    0x0111_1131,
    0x0131_0102,
];

/// A bit of a register, if there is one.
type Bit = Option<u32>;

/// In SHCSR: an exception, and the places of its bits for active, pending and enabled.
const HANDLER_BITS: [(u8, Bit, Bit, Bit); 6] = [
    (4, Some(0), Some(13), Some(16)),
    (5, Some(1), Some(14), Some(17)),
    (6, Some(3), Some(12), Some(18)),
    (11, Some(7), Some(15), None),
    (14, Some(10), None, None),
    (15, Some(11), None, None),
];

fn name(address: u32) -> &'static str {
    match address >> 12 & 0xFF {
        0x00 => "ITM",
        0x01 => "DWT",
        0x02 => "FPB",
        0x0E => "the system control space",
        0x40 => "TPIU",
        0x41 => "ETM",
        _ => "the private peripheral bus",
    }
}

impl<I: Io + ?Sized> Core<'_, I> {
    fn unknown_register<T>(&mut self, address: u32, why: &str) -> Run<T> {
        let what = format!("{}, register {:#05x} {why}", name(address), address & 0xFFF);
        self.bus_error(&BusError { address, what })
    }

    pub fn read_system(&mut self, address: u32, width: Width) -> Run<u32> {
        if !self.cpu.is_privileged() {
            return self.fault(Fault::DataBusError, address);
        }
        let word = self.read_system_word(address & !3)?;
        let shifted = word >> (8 * (address & 3));
        Ok(match width {
            Width::Byte => shifted & 0xFF,
            Width::Half => shifted & 0xFFFF,
            Width::Word => shifted,
        })
    }

    fn read_system_word(&mut self, address: u32) -> Run<u32> {
        let awake = self.cpu.awake();
        let state = &mut self.cpu.state;
        let system = &state.system;
        Ok(match address {
            // A stimulus port is always ready, and forgets.
            0xE000_0000..=0xE000_007F => 1,
            // One cycle counter, no comparators.
            0xE000_1000 => system.trace_control,
            0xE000_1004 => system.cycles(awake),
            0xE000_E004 => INTERRUPTS.div_ceil(32) - 1,
            0xE000_E008 => system.auxiliary_control,
            0xE000_E010..=0xE000_E01C => {
                state.systick.advance(awake);
                state.systick.read(address & 0xFF, awake)
            }
            0xE000_E100..=0xE000_E4EF => self.read_nvic(address & 0xFFF),
            0xE000_ED00..=0xE000_ED3F => return self.read_control(address),
            0xE000_ED40..=0xE000_ED73 => FEATURES[(address as usize & 0xFF) / 4 - 0x10],
            0xE000_ED88 => system.coprocessors,
            0xE000_ED90..=0xE000_EDB8 => state.mpu.read(address & 0xFFF),
            // The rest of the trace units, the lock of the debug unit, and a debugger that is not attached.
            0xE000_0080..=0xE000_0FFF
            | 0xE000_1FB0
            | 0xE000_1FB4
            | 0xE000_2000..=0xE000_2FFF
            | 0xE000_EDF0
            | 0xE000_EDF4
            | 0xE000_EDF8
            | 0xE004_0000..=0xE004_1FFF => 0,
            0xE000_EDFC => system.debug_control,
            0xE000_EF34 => system.fp_context_control,
            0xE000_EF38 => system.fp_context_address,
            0xE000_EF3C => system.fp_default_status,
            0xE000_EF40 => 0x1011_0021,
            0xE000_EF44 => 0x1100_0011,
            _ => return self.unknown_register(address, "is not modelled"),
        })
    }

    fn read_nvic(&self, register: u32) -> u32 {
        let interrupts = &self.cpu.state.interrupts;
        let set = match register & 0xF80 {
            0x100 | 0x180 => interrupts.enabled,
            0x200 | 0x280 => interrupts.pending,
            0x300 => interrupts.active,
            _ => {
                let first = register - 0x400;
                let priorities = [0, 1, 2, 3].map(|place| {
                    let number = first + place;
                    if number < INTERRUPTS { interrupts.priority(exception_number(number)) } else { 0 }
                });
                return u32::from_le_bytes(priorities);
            }
        };
        word_of(set >> FIRST_INTERRUPT, register & 0x7F)
    }

    fn read_control(&mut self, address: u32) -> Run<u32> {
        let state = &self.cpu.state;
        let (system, interrupts) = (&state.system, &state.interrupts);
        Ok(match address & 0xFFF {
            0xD00 => CPUID,
            0xD04 => self.read_interrupt_state(),
            0xD08 => system.vector_table,
            0xD0C => 0xFA05_0000 | u32::from(interrupts.group) << 8,
            0xD10 => system.sleep_control,
            0xD14 => system.configuration,
            0xD18 | 0xD1C | 0xD20 => {
                let first = (address & 0xFF) - 0x18 + 4;
                u32::from_le_bytes([0, 1, 2, 3].map(|place| interrupts.priority(small(first + place))))
            }
            0xD24 => self.read_handler_state(),
            0xD28 => system.fault_status,
            0xD2C => system.hard_fault_status,
            0xD30 => system.debug_fault_status,
            0xD34 => system.memory_fault_address,
            0xD38 => system.bus_fault_address,
            0xD3C => 0,
            _ => return self.unknown_register(address, "is not modelled"),
        })
    }

    fn read_interrupt_state(&self) -> u32 {
        let state = &self.cpu.state;
        let interrupts = &state.interrupts;
        let pending = |number| u32::from(interrupts.pending & bit(number) != 0);
        let alone = interrupts.active & !bit(state.exception) == 0;
        u32::from(state.exception)
            | u32::from(alone) << 11
            | u32::from(interrupts.shown_pending()) << 12
            | u32::from(interrupts.pending >> FIRST_INTERRUPT != 0) << 22
            | pending(SYS_TICK) << 26
            | pending(PEND_SV) << 28
            | pending(NMI) << 31
    }

    fn read_handler_state(&self) -> u32 {
        let interrupts = &self.cpu.state.interrupts;
        let show = |set: u64, number, place: Option<u32>| match place {
            Some(place) if set & bit(number) != 0 => 1 << place,
            _ => 0,
        };
        HANDLER_BITS.iter().fold(0, |shown, &(number, active, pending, enabled)| {
            shown
                | show(interrupts.active, number, active)
                | show(interrupts.pending, number, pending)
                | show(interrupts.enabled, number, enabled)
        })
    }

    pub fn write_system(&mut self, address: u32, width: Width, value: u32) -> Run {
        if !self.cpu.is_privileged() {
            return self.fault(Fault::DataBusError, address);
        }
        self.cpu.request_check();
        let count = match width {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        };
        let priority_bytes = value.to_le_bytes().into_iter().take(count).zip(address & 0xFFF..);
        match address {
            0xE000_E400..=0xE000_E4EF => {
                for (byte, register) in priority_bytes {
                    let number = register - 0x400;
                    if number < INTERRUPTS {
                        self.cpu.state.interrupts.set_priority(exception_number(number), byte);
                    }
                }
                Ok(())
            }
            0xE000_ED18..=0xE000_ED23 => {
                for (byte, register) in priority_bytes {
                    self.cpu.state.interrupts.set_priority(small(register - 0xD18 + 4), byte);
                }
                Ok(())
            }
            0xE000_ED28..=0xE000_ED2B => {
                self.cpu.state.system.fault_status &= !(value << (8 * (address & 3)));
                Ok(())
            }
            0xE000_0000..=0xE000_0FFF | 0xE000_2000..=0xE000_2FFF | 0xE004_0000..=0xE004_1FFF => Ok(()),
            _ if width != Width::Word => self.unknown_register(address, "can only be written as a word"),
            _ => self.write_system_word(address, value),
        }
    }

    fn write_system_word(&mut self, address: u32, value: u32) -> Run {
        let awake = self.cpu.awake();
        let state = &mut self.cpu.state;
        let system = &mut state.system;
        match address {
            0xE000_1000 => system.set_trace_control(value, awake),
            0xE000_1004 => system.set_cycles(value, awake),
            0xE000_E008 => system.auxiliary_control = value,
            // The lock of the debug unit, and requests of a debugger.
            0xE000_1FB0 | 0xE000_EDF0 | 0xE000_EDF4 | 0xE000_EDF8 => {}
            0xE000_E010..=0xE000_E01C => {
                state.systick.advance(awake);
                state.systick.write(address & 0xFF, value, awake);
            }
            0xE000_E100..=0xE000_E3FF => self.write_nvic(address & 0xFFF, value),
            0xE000_ED00..=0xE000_ED3F => return self.write_control(address, value),
            0xE000_ED88 => system.coprocessors = value & 0x00F0_0000,
            0xE000_ED90..=0xE000_EDB8 => {
                state.mpu.write(address & 0xFFF, value);
                self.cpu.update_mpu();
                // What was decoded may no longer be executed.
                self.cpu.code.forget(&self.cpu.state.mpu.checked());
            }
            0xE000_EDFC => system.debug_control = value & 0x0100_0000,
            0xE000_EF00 => state.interrupts.pending |= interrupt_bit(value & 0x1FF),
            0xE000_EF34 => system.fp_context_control = value & (FPCCR_AUTOMATIC | FPCCR_LAZY),
            0xE000_EF38 => system.fp_context_address = value & !7,
            0xE000_EF3C => system.fp_default_status = value & 0x07C0_0000,
            _ => return self.unknown_register(address, "is not modelled"),
        }
        Ok(())
    }

    fn write_nvic(&mut self, register: u32, value: u32) {
        let place = 8 * (register & 0x7F);
        let set = u64::from(value).checked_shl(place).unwrap_or(0) << FIRST_INTERRUPT;
        let interrupts = &mut self.cpu.state.interrupts;
        match register & 0xF80 {
            0x100 => interrupts.enabled |= set,
            0x180 => interrupts.enabled &= !set,
            0x200 => interrupts.pending |= set,
            0x280 => interrupts.pending &= !set,
            // Which interrupts are active can only be read.
            _ => {}
        }
    }

    fn write_control(&mut self, address: u32, value: u32) -> Run {
        let state = &mut self.cpu.state;
        let (system, interrupts) = (&mut state.system, &mut state.interrupts);
        match address & 0xFFF {
            0xD04 => {
                let mut request = |place: u32, number, set: bool| {
                    if value >> place & 1 == 1 {
                        let others = interrupts.pending & !bit(number);
                        interrupts.pending = others | if set { bit(number) } else { 0 };
                    }
                };
                request(31, NMI, true);
                request(28, PEND_SV, true);
                request(27, PEND_SV, false);
                request(26, SYS_TICK, true);
                request(25, SYS_TICK, false);
            }
            0xD08 => system.vector_table = value & !0x7F,
            0xD0C if value >> 16 == 0x05FA => {
                interrupts.group = small(value >> 8 & 7);
                system.reset_requested |= value & 1 << 2 != 0;
            }
            // Two that can only be read, and one whose key is missing.
            0xD00 | 0xD3C | 0xD0C => {}
            0xD10 => system.sleep_control = value & (SCR_SLEEP_ON_EXIT | SCR_EVENT_ON_PENDING | 1 << 2),
            0xD14 => system.configuration = value & (0x11B | CCR_ALIGNS_STACK),
            0xD24 => {
                for number in MEM_MANAGE..=USAGE_FAULT {
                    let enable = value >> (16 + u32::from(number - MEM_MANAGE)) & 1 == 1;
                    let others = interrupts.enabled & !bit(number);
                    interrupts.enabled = others | if enable { bit(number) } else { 0 };
                }
            }
            0xD2C => system.hard_fault_status &= !value,
            0xD30 => system.debug_fault_status &= !value,
            0xD34 => system.memory_fault_address = value,
            0xD38 => system.bus_fault_address = value,
            _ => return self.unknown_register(address, "is not modelled"),
        }
        Ok(())
    }
}

/// One of the two words of a set of interrupts; `place` is the distance of its register from the first one.
fn word_of(set: u64, place: u32) -> u32 {
    let word = set.checked_shr(8 * place).unwrap_or(0) & u64::from(u32::MAX);
    u32::try_from(word).unwrap_or(0)
}

fn exception_number(interrupt: u32) -> u8 {
    small(FIRST_INTERRUPT + interrupt)
}

fn interrupt_bit(interrupt: u32) -> u64 {
    if interrupt < INTERRUPTS { bit(exception_number(interrupt)) } else { 0 }
}

/// A number that is known to be small.
#[expect(clippy::cast_possible_truncation, reason = "only called with numbers below 256")]
const fn small(number: u32) -> u8 {
    number as u8
}
