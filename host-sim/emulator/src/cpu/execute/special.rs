//! MRS, MSR and CPS: the special registers and the masks.

use super::super::op::Reg;
use super::super::trap::{Run, Trap};
use super::{Core, Cpu, SP};
use crate::io::Io;

const MSP: u8 = 8;
const PSP: u8 = 9;
const PRIMASK: u8 = 16;
const BASEPRI: u8 = 17;
const BASEPRI_MAX: u8 = 18;
const FAULTMASK: u8 = 19;
const CONTROL: u8 = 20;

const APPLICATION_FLAGS: u32 = 0xF80F_0000;
const EXCEPTION_NUMBER: u32 = 0x1FF;

impl<I: Io + ?Sized> Core<'_, I> {
    fn unknown_special(&mut self, which: u8) -> Run {
        self.cpu.error = format!("special register {which} does not exist");
        Err(Trap::Error)
    }

    pub(super) fn read_special(&mut self, rd: Reg, which: u8) -> Run {
        let privileged = self.cpu.is_privileged();
        let psr = self.cpu.psr();
        let state = &self.cpu.state;
        let (used, other) = (state.r[SP], state.other_sp);
        let value = match which {
            0 | 2 => psr & APPLICATION_FLAGS,
            1 | 3 => psr & (APPLICATION_FLAGS | EXCEPTION_NUMBER),
            5 | 7 => psr & EXCEPTION_NUMBER,
            6 => 0,
            CONTROL => {
                u32::from(state.unprivileged)
                    | u32::from(state.uses_process_stack) << 1
                    | u32::from(state.has_fp_context) << 2
            }
            // Without privilege the others read as zero.
            MSP | PSP | PRIMASK..=FAULTMASK if !privileged => 0,
            MSP => {
                if state.uses_process_stack {
                    other
                } else {
                    used
                }
            }
            PSP => {
                if state.uses_process_stack {
                    used
                } else {
                    other
                }
            }
            PRIMASK => u32::from(state.interrupts.primask),
            BASEPRI | BASEPRI_MAX => u32::from(state.interrupts.basepri),
            FAULTMASK => u32::from(state.interrupts.faultmask),
            _ => return self.unknown_special(which),
        };
        self.cpu.set(rd, value);
        Ok(())
    }

    pub(super) fn write_special(&mut self, rn: Reg, which: u8, mask: u8) -> Run {
        let value = self.cpu.get(rn);
        let privileged = self.cpu.is_privileged();
        let [low, ..] = value.to_le_bytes();
        let state = &mut self.cpu.state;
        match which {
            0..=3 => {
                if mask & 0b10 != 0 {
                    state.flags.set_nzcv(value);
                    state.flags.saturated = value >> 27 & 1 == 1;
                }
                if mask & 0b01 != 0 {
                    state.flags.greater_equal = u8::try_from(value >> 16 & 15).unwrap_or(0);
                }
            }
            // The exception number can only be read.
            5..=7 => {}
            MSP | PSP | PRIMASK..=CONTROL if !privileged => {}
            MSP | PSP => {
                if (which == PSP) == state.uses_process_stack {
                    self.cpu.set_sp(value);
                } else {
                    state.other_sp = value & !3;
                }
            }
            PRIMASK => state.interrupts.primask = low & 1 == 1,
            BASEPRI => state.interrupts.set_basepri(low),
            BASEPRI_MAX => {
                let before = state.interrupts.basepri;
                state.interrupts.set_basepri(low);
                let after = state.interrupts.basepri;
                // It can only be made stricter.
                if after == 0 || before != 0 && after >= before {
                    state.interrupts.basepri = before;
                }
            }
            FAULTMASK => {
                if state.interrupts.execution_priority() > -1 {
                    state.interrupts.faultmask = low & 1 == 1;
                } else if low & 1 == 0 {
                    state.interrupts.faultmask = false;
                }
            }
            CONTROL => self.cpu.write_control(value),
            _ => return self.unknown_special(which),
        }
        self.cpu.request_check();
        Ok(())
    }
}

impl Cpu {
    fn write_control(&mut self, value: u32) {
        self.state.unprivileged = value & 1 == 1;
        if self.state.exception == 0 {
            self.use_process_stack(value & 2 != 0);
        }
        self.state.has_fp_context = value & 4 != 0;
        self.update_mpu();
    }

    pub(super) fn change_state(&mut self, disable: bool, primask: bool, faultmask: bool) {
        if !self.is_privileged() {
            return;
        }
        let interrupts = &mut self.state.interrupts;
        if primask {
            interrupts.primask = disable;
        }
        if faultmask && (!disable || interrupts.execution_priority() > -1) {
            interrupts.faultmask = disable;
        }
        self.request_check();
    }
}
