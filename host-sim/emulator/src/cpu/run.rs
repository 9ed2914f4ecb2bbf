//! The loop: check for everything that may interrupt the program, then execute instructions until another check is due.

use super::fetch::Source;
use super::trap::{Fault, Run, Trap};
use super::{Core, Cycles, LR, SP, Sleep, Stop, Trouble};
use crate::cpu::decode;
use crate::cpu::mpu::Wants;
use crate::cpu::op::{Decoded, Op};
use crate::io::{Io, Width};

/// [`Source`] as a constant: the loop exists three times, and none decides anew where every instruction comes from.
const IDEAL: u8 = Source::Ideal as u8;
const CACHE: u8 = Source::Cache as u8;
const FLASH: u8 = Source::Flash as u8;

impl<I: Io + ?Sized> Core<'_, I> {
    pub fn run(&mut self, until: u64) -> Stop {
        loop {
            if let Some(stop) = self.check(until) {
                return stop;
            }
            let stop = match self.cpu.fetch.source {
                Source::Ideal => self.execute_until_limit::<IDEAL>(),
                Source::Cache => self.execute_until_limit::<CACHE>(),
                Source::Flash => self.execute_until_limit::<FLASH>(),
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
    }

    /// Checks everything that may keep the next instruction from being executed, and enters an exception that is due.
    fn check(&mut self, until: u64) -> Option<Stop> {
        if let Some(changed) = self.memory.take_flash_changes() {
            self.cpu.code.forget(&changed);
            self.cpu.fetch.forget();
        }
        self.cpu.fetch.set_source(match self.cpu.cycles {
            Cycles::Ideal => Source::Ideal,
            Cycles::Cached if self.io.caches_instructions() => Source::Cache,
            Cycles::Cached | Cycles::Uncached => Source::Flash,
        });
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
        if cpu.state.systick.advance(cpu.awake()) {
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
    fn execute_until_limit<const SOURCE: u8>(&mut self) -> Option<Stop> {
        while self.cpu.now < self.cpu.limit {
            let address = self.cpu.state.pc;
            let it = self.cpu.state.it;
            let result = self.step::<SOURCE>(address);
            self.cpu.instructions += 1;
            if let Err(trap) = result {
                self.cpu.now += 1;
                self.cpu.request_check();
                self.cpu.state.in_it = false;
                if let Some(stop) = self.take_trap(trap, address, it) {
                    return Some(stop);
                }
            }
        }
        None
    }

    /// Executes the instruction at an address and lets its time pass. One that traps has not taken any yet.
    #[inline(always)]
    fn step<const SOURCE: u8>(&mut self, address: u32) -> Run {
        let slot = match self.cpu.code.known(address) {
            Some(slot) => slot,
            None => self.fetch(address)?,
        };
        let Decoded { size, cost, .. } = self.cpu.code.slots[slot];
        let next = address.wrapping_add(u32::from(size));
        self.cpu.state.pc = next;
        if SOURCE == CACHE {
            self.cpu.now += self.cpu.fetch.wait_for_cache(address, size);
        }
        let mut cycles = cost.cycles;
        if self.cpu.state.it == 0 {
            self.execute(slot)?;
        } else if !self.step_in_it(slot)? {
            cycles = 1;
        }
        if SOURCE == IDEAL {
            self.cpu.now += 1;
            return Ok(());
        }
        let branches = self.cpu.state.pc != next;
        self.cpu.now += u64::from(cycles) + if branches { u64::from(cost.refill) } else { 0 };
        if SOURCE == FLASH {
            self.cpu.now += self.cpu.fetch.wait_for_flash(address, size, cycles, branches);
        }
        Ok(())
    }

    /// Executes an instruction of an IT block, if its condition holds, and says whether it did.
    #[inline(never)]
    fn step_in_it(&mut self, slot: usize) -> Run<bool> {
        let state = &mut self.cpu.state;
        let it = state.it;
        // The condition's lowest bit and the length shift out together.
        state.it = if it.is_multiple_of(8) { 0 } else { it & 0xE0 | it << 1 & 0x1F };
        // A breakpoint stops whether its condition holds or not.
        if !state.flags.holds(it >> 4) && self.cpu.code.slots[slot].op != Op::Breakpoint {
            return Ok(false);
        }
        state.in_it = true;
        let result = self.execute(slot);
        self.cpu.state.in_it = false;
        result.map(|()| true)
    }

    /// Decodes the instruction at an address and returns its slot.
    #[inline(never)]
    fn fetch(&mut self, address: u32) -> Run<usize> {
        let memory = &*self.memory;
        let half = |address| {
            let bits = memory.read(address, Width::Half)?;
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
        let half = |address| half(address).unwrap_or(0);
        Ok(if memory.is_flash(address) {
            self.cpu.code.decode_flash(address, half)
        } else {
            self.cpu.code.decode_ram(address, half)
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
