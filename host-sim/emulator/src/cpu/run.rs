//! The loop: check for everything that may interrupt the program, then execute instructions until another check is due.

use super::trap::{Fault, Run, Trap};
use super::{Core, LR, SP, Sleep, Stop, Trouble};
use crate::cpu::decode;
use crate::cpu::mpu::Wants;
use crate::cpu::op::Op;
use crate::io::{Io, Width};

impl<I: Io + ?Sized> Core<'_, I> {
    pub fn run(&mut self, until: u64) -> Stop {
        loop {
            if let Some(stop) = self.check(until) {
                return stop;
            }
            if let Some(stop) = self.execute_until_limit() {
                return stop;
            }
        }
    }

    /// Checks everything that may keep the next instruction from being executed, and enters an exception that is due.
    fn check(&mut self, until: u64) -> Option<Stop> {
        if let Some(changed) = self.memory.take_flash_changes() {
            self.cpu.code.forget(&changed);
        }
        if let Some(trouble) = &self.cpu.state.locked_up {
            return Some(Stop::LockedUp(trouble.clone()));
        }
        if self.cpu.state.system.reset_requested {
            return Some(Stop::SystemReset);
        }
        if self.io.wants_stop() {
            return Some(Stop::Io);
        }
        if self.cpu.now >= until {
            return Some(Stop::TimeReached);
        }
        self.sample_interrupt_lines();
        if let Some(number) = self.cpu.state.interrupts.preempting() {
            self.cpu.state.sleep = Sleep::Awake;
            self.enter_exception(number);
            // The frame may have hit a guard, and a more urgent exception may have come with it.
            return self.check(until);
        }
        if self.stays_asleep() {
            return Some(Stop::Sleeping);
        }
        let cpu = &mut *self.cpu;
        let tick = cpu.state.systick.next().map_or(u64::MAX, |at| at.saturating_add(cpu.slept));
        cpu.limit = until.min(tick.max(cpu.now + 1));
        None
    }

    /// Makes exceptions pending for interrupt lines and for the system timer.
    pub fn sample_interrupt_lines(&mut self) {
        let cpu = &mut *self.cpu;
        let lines = self.io.interrupt_lines() | cpu.state.fpu.interrupt_line();
        let mut fresh = cpu.state.interrupts.sample_lines(lines);
        if cpu.state.systick.advance(cpu.now - cpu.slept) {
            let tick = super::interrupts::bit(super::interrupts::SYS_TICK);
            fresh |= tick & !cpu.state.interrupts.pending;
            cpu.state.interrupts.pending |= tick;
        }
        if fresh != 0 && cpu.state.system.sends_event_on_pending() {
            cpu.state.event = true;
        }
    }

    fn stays_asleep(&mut self) -> bool {
        let state = &mut self.cpu.state;
        match state.sleep {
            Sleep::Awake => return false,
            Sleep::ForEvent if state.event => state.event = false,
            Sleep::ForInterrupt if state.interrupts.wakes() => {}
            Sleep::ForEvent | Sleep::ForInterrupt => return true,
        }
        state.sleep = Sleep::Awake;
        false
    }

    /// The hot loop of the whole emulator.
    fn execute_until_limit(&mut self) -> Option<Stop> {
        while self.cpu.now < self.cpu.limit {
            let address = self.cpu.state.pc;
            let it = self.cpu.state.it;
            let result = self.step(address);
            self.cpu.now += 1;
            if let Err(trap) = result {
                self.cpu.request_check();
                self.cpu.state.in_it = false;
                if let Some(stop) = self.take_trap(trap, address, it) {
                    return Some(stop);
                }
            }
        }
        None
    }

    #[inline(always)]
    fn step(&mut self, address: u32) -> Run {
        let slot = match self.cpu.code.known(address) {
            Some(slot) => slot,
            None => self.fetch(address)?,
        };
        self.cpu.state.pc = address.wrapping_add(u32::from(self.cpu.code.slots[slot].size));
        if self.cpu.state.it == 0 {
            return self.execute(slot);
        }
        self.step_in_it(slot)
    }

    /// Executes an instruction of an IT block, if its condition holds.
    #[inline(never)]
    fn step_in_it(&mut self, slot: usize) -> Run {
        let state = &mut self.cpu.state;
        let it = state.it;
        // The condition's lowest bit and the length shift out together.
        state.it = if it.is_multiple_of(8) { 0 } else { it & 0xE0 | it << 1 & 0x1F };
        // A breakpoint stops whether its condition holds or not.
        if !state.flags.holds(it >> 4) && self.cpu.code.slots[slot].op != Op::Breakpoint {
            return Ok(());
        }
        state.in_it = true;
        let result = self.execute(slot);
        self.cpu.state.in_it = false;
        result
    }

    /// Decodes the instruction at an address and returns its slot.
    #[inline(never)]
    fn fetch(&mut self, address: u32) -> Run<usize> {
        let half = |address| {
            let bits = self.memory.read(address, Width::Half)?;
            u16::try_from(bits).ok()
        };
        let mpu = &self.cpu.state.mpu;
        if mpu.checks(address) {
            let in_fault = self.cpu.state.interrupts.execution_priority() < 0;
            if !mpu.allows(address, Wants::Execute, self.cpu.is_privileged(), in_fault) {
                return Err(Trap::Fault(Fault::FetchViolation));
            }
        }
        let Some(first) = half(address) else { return Err(Trap::Fault(Fault::FetchBusError)) };
        let second = half(address.wrapping_add(2));
        if decode::is_wide(u32::from(first)) && second.is_none() {
            return Err(Trap::Fault(Fault::FetchBusError));
        }
        let second = second.unwrap_or(0);
        Ok(if self.memory.is_flash(address) {
            self.cpu.code.decode_flash(address, first, second)
        } else {
            self.cpu.code.decode_ram(address, first, second)
        })
    }

    /// Handles an instruction that did not complete.
    fn take_trap(&mut self, trap: Trap, address: u32, it: u8) -> Option<Stop> {
        let next = self.cpu.state.pc;
        if trap != Trap::SupervisorCall && trap != Trap::Fault(Fault::InvalidState) {
            // The instruction counts as not executed, except for a jump to an invalid address.
            self.cpu.state.pc = address;
            self.cpu.state.it = it;
        }
        match trap {
            Trap::Fault(fault) => self.raise_fault(fault, address),
            Trap::SupervisorCall => {
                self.cpu.state.pc = next;
                self.call_supervisor(address);
            }
            Trap::Breakpoint if self.cpu.breakpoints_fault => self.raise_fault(Fault::DebugEvent, address),
            Trap::Breakpoint => return Some(Stop::Breakpoint { pc: address }),
            Trap::Error => {
                let what = std::mem::take(&mut self.cpu.error);
                return Some(Stop::Error(Box::new(self.trouble(address, what))));
            }
        }
        None
    }

    /// Describes the current instruction.
    pub fn trouble(&mut self, address: u32, what: String) -> Trouble {
        let instruction = match self.fetch(address) {
            Ok(slot) => format!("{:?}", self.cpu.code.slots[slot].op),
            Err(_) => "no instruction".to_owned(),
        };
        let registers = &self.cpu.state.r;
        Trouble { pc: address, instruction, lr: registers[LR], sp: registers[SP], what }
    }
}
