//! Entering an exception, returning from one, and turning faults into exceptions.
//!
//! The floating-point registers are stacked at entry, and that takes its time. The real processor only reserves the space, and
//! stacks them when the handler first uses the unit; but for the time, a program cannot tell the difference.

use super::cycles::{self, EXCEPTION_ENTRY, EXCEPTION_RETURN, TAIL_CHAIN};
use super::interrupts::{HARD_FAULT, NMI, SV_CALL, bit};
use super::trap::{Fault, Run, Trap};
use super::{Core, LR, SP, Sleep};
use crate::io::{Io, Width};

const BASIC_FRAME: u32 = 0x20;
const FP_FRAME: u32 = 0x68;
/// The offset of the first floating-point register in a frame.
const FP_OFFSET: u32 = 0x20;

/// `EXC_RETURN`, the link register of a handler: the bits that mark it, and the meaning of the others.
const RETURN_MARK: u32 = 0xFFFF_FFE1;
const RETURN_TO_THREAD: u32 = 1 << 3;
const RETURN_TO_PROCESS_STACK: u32 = 1 << 2;
const RETURN_BASIC_FRAME: u32 = 1 << 4;

/// In the stacked status register: four bytes were skipped to align the frame.
const PADDED: u32 = 1 << 9;
const THUMB: u32 = 1 << 24;

impl<I: Io + ?Sized> Core<'_, I> {
    /// Stacks the registers of the program and starts a handler.
    pub fn enter_exception(&mut self, number: u8) {
        let stacked = self.push_frame();
        self.leave_thread();
        match stacked {
            Ok(()) => self.start_handler(number),
            Err(fault) => {
                let address = self.cpu.state.pc;
                self.start_after_bad_frame(number, fault.while_stacking(), address);
            }
        }
    }

    /// A frame could not be stacked. The fault is handled first and the exception stays pending. On the way into a hard
    /// fault or an NMI, the fault is only recorded.
    fn start_after_bad_frame(&mut self, number: u8, fault: Fault, address: u32) {
        self.remember_fault(fault, address);
        let handler = self.note_fault(fault);
        if number == HARD_FAULT || number == NMI {
            self.start_handler(number);
            return;
        }
        self.cpu.state.interrupts.pending |= bit(number);
        match handler {
            Some(handler) => self.start_handler(handler),
            None => self.lock_up(address, fault.text().to_owned()),
        }
    }

    fn push_frame(&mut self) -> Result<(), Fault> {
        let psr = self.cpu.psr();
        let state = &self.cpu.state;
        let with_fp = state.has_fp_context;
        self.cpu.charge(EXCEPTION_ENTRY + if with_fp { cycles::FP_FRAME } else { 0 });
        let state = &self.cpu.state;
        let size = if with_fp { FP_FRAME } else { BASIC_FRAME };
        let aligns = with_fp || state.system.aligns_stack();
        let before = state.r[SP];
        let lowered = before.wrapping_sub(size);
        let frame = if aligns { lowered & !4 } else { lowered };
        let psr = psr | if frame == lowered { 0 } else { PADDED };
        let r = &state.r;
        let words = [r[0], r[1], r[2], r[3], r[12], r[LR], state.pc, psr];
        let return_value = RETURN_MARK
            | if state.exception == 0 { RETURN_TO_THREAD } else { 0 }
            | if state.uses_process_stack { RETURN_TO_PROCESS_STACK } else { 0 }
            | if with_fp { 0 } else { RETURN_BASIC_FRAME };
        self.cpu.set_sp(frame);
        self.cpu.state.r[LR] = return_value;
        let mut result = Ok(());
        for (index, word) in (0..).zip(words) {
            result = result.and(self.write_aligned(frame.wrapping_add(4 * index), word));
        }
        if with_fp {
            for index in 0..16 {
                let word = self.cpu.state.fpu.s[index as usize];
                result = result.and(self.write_aligned(frame.wrapping_add(FP_OFFSET + 4 * index), word));
            }
            let status = self.cpu.state.fpu.status;
            result = result.and(self.write_aligned(frame.wrapping_add(FP_OFFSET + 64), status));
        }
        result.map_err(as_fault)
    }

    /// Enters handler mode: main stack, no IT block, no floating-point state yet.
    fn leave_thread(&mut self) {
        self.cpu.use_process_stack(false);
        self.cpu.state.it = 0;
        self.cpu.state.has_fp_context = false;
    }

    /// Starts a handler once the frame is stacked and the link register is set.
    fn start_handler(&mut self, number: u8) {
        let state = &mut self.cpu.state;
        state.exception = number;
        state.interrupts.activate(number);
        state.reservation = None;
        state.event = true;
        let vector = state.system.vector_table.wrapping_add(4 * u32::from(number));
        self.cpu.counts.exceptions += 1;
        self.cpu.update_mpu();
        self.cpu.request_check();
        match self.memory.read(vector, Width::Word) {
            Some(handler) if handler & 1 == 1 => self.cpu.state.pc = handler & !1,
            Some(handler) => {
                self.cpu.state.pc = handler;
                self.raise_fault(Fault::InvalidState, handler);
            }
            None => {
                self.cpu.state.system.note_vector_fault();
                let what = format!("the vector of exception {number} lies at {vector:#010x}, where nothing is");
                if number == HARD_FAULT {
                    self.lock_up(vector, what);
                } else {
                    self.start_handler(HARD_FAULT);
                }
            }
        }
    }

    /// SVC, which becomes a hard fault if its priority does not allow it.
    pub fn call_supervisor(&mut self, address: u32) {
        if self.cpu.state.interrupts.can_enter(SV_CALL) {
            self.enter_exception(SV_CALL);
        } else if self.cpu.state.interrupts.execution_priority() > -1 {
            self.cpu.state.system.note_forced();
            self.cpu.counts.faults += 1;
            self.enter_exception(HARD_FAULT);
        } else {
            self.lock_up(address, "SVC in a hard fault".to_owned());
        }
    }

    /// Records a fault in the status registers and returns the exception that handles it; none can in a hard fault.
    fn note_fault(&mut self, fault: Fault) -> Option<u8> {
        let state = &mut self.cpu.state;
        state.system.note_fault(fault, state.fault_address);
        let number = fault.exception();
        if number != HARD_FAULT && state.interrupts.can_enter(number) {
            return Some(number);
        }
        if number != HARD_FAULT {
            state.system.note_forced();
        }
        (state.interrupts.execution_priority() > -1).then_some(HARD_FAULT)
    }

    /// A fault of the instruction at an address enters its exception or a hard fault, or locks the processor up.
    pub fn raise_fault(&mut self, fault: Fault, address: u32) {
        if let Some(number) = self.note_fault(fault) {
            self.remember_fault(fault, address);
            self.enter_exception(number);
        } else {
            let handled = self.cpu.last_fault.as_ref().map_or_else(String::new, |first| format!(" ({first})"));
            self.lock_up(address, format!("{}, while a fault was handled{handled}", fault.text()));
        }
    }

    /// Keeps a fault for [`Cpu::last_fault`](super::Cpu::last_fault).
    fn remember_fault(&mut self, fault: Fault, address: u32) {
        self.cpu.counts.faults += 1;
        let what = match fault {
            Fault::DataViolation | Fault::DataBusError | Fault::Unaligned => {
                format!("{} {:#010x}", fault.text(), self.cpu.state.fault_address)
            }
            _ => fault.text().to_owned(),
        };
        let trouble = self.trouble(address, what);
        self.cpu.last_fault = Some(Box::new(trouble));
    }

    fn lock_up(&mut self, address: u32, what: String) {
        let trouble = self.trouble(address, what);
        self.cpu.state.locked_up = Some(Box::new(trouble));
        self.cpu.request_check();
    }

    /// Jumps to an address from a register or from memory. In a handler, that may be the return.
    #[inline(always)]
    pub fn jump(&mut self, target: u32) -> Run {
        if target >= 0xF000_0000 && self.cpu.state.exception != 0 {
            return self.return_from_exception(target);
        }
        self.cpu.state.pc = target & !1;
        if target & 1 == 1 { Ok(()) } else { Err(Trap::Fault(Fault::InvalidState)) }
    }

    #[inline(never)]
    fn return_from_exception(&mut self, value: u32) -> Run {
        let number = self.cpu.state.exception;
        let state = &mut self.cpu.state;
        let others_active = state.interrupts.active & !bit(number) != 0;
        let to_thread = value & RETURN_TO_THREAD != 0;
        let fits = match value | RETURN_BASIC_FRAME {
            0xFFFF_FFF1 => others_active,
            0xFFFF_FFF9 | 0xFFFF_FFFD => !others_active || state.system.allows_early_thread(),
            _ => false,
        };
        let was_active = state.interrupts.active & bit(number) != 0;
        state.interrupts.active &= !bit(number);
        if number != NMI {
            state.interrupts.faultmask = false;
        }
        state.reservation = None;
        state.event = true;
        self.cpu.request_check();
        self.sample_interrupt_lines();
        if !fits || !was_active {
            self.chain_fault(value, Fault::InvalidReturn);
            return Ok(());
        }
        if let Some(next) = self.cpu.state.interrupts.preempting() {
            self.cpu.counts.tail_chained += 1;
            self.chain(value, next);
            return Ok(());
        }
        let is_thumb = match self.pop_frame(value) {
            Ok(is_thumb) => is_thumb,
            Err(fault) => {
                self.chain_fault(value, fault.while_unstacking());
                return Ok(());
            }
        };
        self.cpu.update_mpu();
        let returned_to = self.cpu.state.exception;
        if (returned_to == 0) != to_thread {
            self.raise_fault(Fault::InvalidReturn, self.cpu.state.pc);
            return Ok(());
        }
        if !is_thumb {
            return Err(Trap::Fault(Fault::InvalidState));
        }
        if returned_to == 0 && self.cpu.state.system.sleeps_on_exit() {
            self.cpu.state.sleep = Sleep::ForInterrupt;
        }
        Ok(())
    }

    /// Starts another handler instead of returning. The frame stays; that handler returns through it.
    fn chain(&mut self, return_value: u32, next: u8) {
        self.cpu.charge(TAIL_CHAIN);
        self.leave_thread();
        self.cpu.state.r[LR] = return_value;
        self.start_handler(next);
    }

    /// The return itself failed. The handler of that fault runs instead.
    fn chain_fault(&mut self, return_value: u32, fault: Fault) {
        self.remember_fault(fault, self.cpu.state.pc);
        match self.note_fault(fault) {
            Some(handler) => self.chain(return_value, handler),
            None => self.lock_up(self.cpu.state.pc, fault.text().to_owned()),
        }
    }

    /// Restores the registers of the program and says whether the Thumb bit is set.
    fn pop_frame(&mut self, return_value: u32) -> Result<bool, Fault> {
        self.cpu.use_process_stack(return_value & RETURN_TO_PROCESS_STACK != 0);
        let frame = self.cpu.state.r[SP];
        let with_fp = return_value & RETURN_BASIC_FRAME == 0;
        self.cpu.charge(EXCEPTION_RETURN + if with_fp { cycles::FP_FRAME } else { 0 });
        let mut words = [0; 8];
        for (index, word) in (0..).zip(&mut words) {
            *word = self.read_aligned(frame.wrapping_add(4 * index)).map_err(as_fault)?;
        }
        if with_fp {
            for index in 0..16 {
                let word = self.read_aligned(frame.wrapping_add(FP_OFFSET + 4 * index)).map_err(as_fault)?;
                self.cpu.state.fpu.s[index as usize] = word;
            }
            let status = self.read_aligned(frame.wrapping_add(FP_OFFSET + 64)).map_err(as_fault)?;
            self.cpu.state.fpu.status = status;
        }
        let [r0, r1, r2, r3, r12, lr, pc, psr] = words;
        let state = &mut self.cpu.state;
        state.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        (state.r[12], state.r[LR], state.pc) = (r12, lr, pc & !1);
        state.has_fp_context = with_fp;
        state.flags.set_nzcv(psr);
        state.flags.saturated = psr >> 27 & 1 == 1;
        state.flags.greater_equal = u8::try_from(psr >> 16 & 15).unwrap_or(0);
        state.it = u8::try_from(psr >> 8 & 0xFC | psr >> 25 & 3).unwrap_or(0);
        // There is no exception above 63. A frame that names one was overwritten, and the return is invalid.
        state.exception = u8::try_from(psr & 0x1FF).unwrap_or(u8::MAX);
        let size = if with_fp { FP_FRAME } else { BASIC_FRAME };
        let aligns = with_fp || state.system.aligns_stack();
        let padding = if aligns && psr & PADDED != 0 { 4 } else { 0 };
        self.cpu.set_sp(frame.wrapping_add(size + padding));
        Ok(psr & THUMB != 0)
    }
}

/// The fault behind a failed access to a frame. Frames lie in RAM, so anything that is not modelled is a bus error.
fn as_fault(trap: Trap) -> Fault {
    match trap {
        Trap::Fault(fault) => fault,
        _ => Fault::DataBusError,
    }
}
