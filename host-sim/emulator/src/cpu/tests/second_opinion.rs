//! Random instructions on random registers, held against another emulator: armagnac.
//!
//! It has no floating-point unit and little of the DSP extension, and it gives up or crashes now and then. Whatever it does
//! not execute is left out; where it and the manual disagree, [`is_known_to_differ`] says so.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use armagnac::core::{Config, Emulator, Processor, RunOptions};
use armagnac::registers::RegisterIndex;

use super::super::Cycles;
use super::super::decode::decode;
use super::super::op::{Dsp, Lanes, Op, Shift};
use super::{Board, MAIN};
use crate::cpu::{Cpu, Stop};
use crate::memory::{Memory, RAM_START};

const CASES: u32 = 20_000;
/// The other emulator is slow, so two threads take turns.
const TURNS: u32 = 2;
const RAM_BYTES: u32 = 0x800;

/// `SplitMix64`, of which the highest bits are the best.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        u32::try_from(mixed >> 32).expect("thirty-two bits")
    }

    fn half(&mut self) -> u16 {
        u16::try_from(self.next() >> 16).expect("sixteen bits")
    }
}

/// What an instruction starts from and what it leaves.
#[derive(Clone, PartialEq, Eq)]
struct Outcome {
    /// The first fifteen registers and the program counter.
    registers: [u32; 16],
    /// N, Z, C, V and Q.
    flags: u32,
    ram: Vec<u8>,
}

/// The registers and flags; a wrong byte in memory is seldom all that is wrong.
impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x?}, flags {:08x}", self.registers, self.flags)
    }
}

/// Half of the registers hold numbers, the others addresses in the middle of RAM, so that loads and stores succeed.
fn beginning(random: &mut Random) -> Outcome {
    let mut registers = [0; 16];
    for register in &mut registers {
        *register = match random.next() % 8 {
            0 => random.next() % 70,
            1 => 0x8000_0000_u32.wrapping_sub(random.next() % 3),
            2 | 3 => random.next(),
            _ => RAM_START + RAM_BYTES / 2 + random.next() % 64 * 4,
        };
    }
    registers[13] = RAM_START + RAM_BYTES / 2;
    registers[15] = MAIN;
    let ram = (0..RAM_BYTES).map(|_| random.next().to_le_bytes()[3]).collect();
    Outcome { registers, flags: random.next() & 0xF800_0000, ram }
}

/// An instruction that both may know: not for a coprocessor, not one that stops or waits.
fn instruction(random: &mut Random) -> (u16, u16) {
    loop {
        let (first, second) = (random.half(), random.half());
        let (first, second) = match random.next() % 5 {
            0 => (first % 0xE800, second),
            1 | 2 => (0xE800 + first % 0x1800, second),
            3 => (0xF000 | first & 0x7FF, second & 0x7FFF),
            // Data processing on registers, whose second halfword begins with ones, and multiplications.
            _ if second & 1 == 0 => (0xFA00 | first & 0xFF, 0xF000 | second),
            _ => (0xFB00 | first & 0xFF, second & if first & 0x90 == 0x90 { 0xFFFF } else { 0xFF3F }),
        };
        let decoded = decode(MAIN, first, second);
        let excluded = matches!(
            decoded.op,
            Op::Unknown { .. }
                | Op::Fp(_)
                | Op::NoCoprocessor
                | Op::Undefined
                | Op::Breakpoint
                | Op::SupervisorCall
                | Op::WaitForEvent
                | Op::WaitForInterrupt
                | Op::SendEvent
                | Op::ChangeState { .. }
                | Op::ReadSpecial { .. }
                | Op::WriteSpecial { .. }
                | Op::IfThen { .. }
                // It crashes on multiples of 32.
                | Op::ShiftByReg { shift: Shift::Ror, .. }
        );
        if !excluded {
            return (first, second);
        }
    }
}

fn code((first, second): (u16, u16)) -> Vec<u8> {
    [first, second, 0xBF00, 0xBF00].iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Executes one instruction here; nothing if it is a fault.
fn ours(before: &Outcome, halves: (u16, u16)) -> Option<Outcome> {
    let mut memory = Memory::new(0x400, RAM_BYTES as usize);
    assert!(memory.load_flash(MAIN, &code(halves)));
    memory.dma_write(RAM_START, &before.ram).expect("it fits");
    let mut cpu = Cpu::new(Cycles::Ideal);
    cpu.reset(&memory);
    cpu.state.r[..15].copy_from_slice(&before.registers[..15]);
    cpu.state.pc = before.registers[15];
    cpu.state.flags.set_nzcv(before.flags);
    cpu.state.flags.saturated = before.flags >> 27 & 1 == 1;
    let stop = cpu.run(&mut memory, &mut Board::default(), 1);
    if stop != Stop::TimeReached || cpu.counts().faults != 0 {
        return None;
    }
    let mut registers = cpu.state.r;
    registers[13] &= !3;
    registers[15] = cpu.state.pc;
    Some(Outcome { registers, flags: cpu.state.flags.apsr() & 0xF800_0000, ram: memory.ram().to_vec() })
}

/// Executes one instruction there; nothing if it fails or crashes.
fn theirs(before: &Outcome, halves: (u16, u16)) -> Option<Outcome> {
    let execute = || {
        let mut processor = Processor::new(Config::v7em());
        let mut flash = vec![0xFF; 0x400];
        let code = code(halves);
        flash[MAIN as usize..MAIN as usize + code.len()].copy_from_slice(&code);
        processor.map(0, &flash).ok()?;
        processor.map(RAM_START, &before.ram).ok()?;
        for (index, &value) in (0..15).zip(&before.registers[..15]) {
            processor.set(RegisterIndex::new_main(index), value);
        }
        processor.set_pc(before.registers[15]);
        processor.registers.psr.set_apsr(before.flags);
        processor.registers.psr.set_t(true);
        processor.run(RunOptions::new().gas(1)).ok()?;
        if processor.registers.psr.exception_number() != 0 {
            return None;
        }
        let mut registers = [0; 16];
        for (index, register) in (0..15).zip(&mut registers) {
            *register = processor.registers[RegisterIndex::new_main(index)];
        }
        registers[13] &= !3;
        registers[15] = processor.pc();
        let flags = processor.registers.psr.apsr() & 0xF800_0000;
        let ram = processor.read_bytes_iface(RAM_START, RAM_BYTES).ok()?;
        Some(Outcome { registers, flags, ram })
    };
    catch_unwind(AssertUnwindSafe(execute)).ok().flatten()
}

/// Where the manual leaves a result open, or the other emulator does not follow it.
fn is_known_to_differ(op: Op) -> bool {
    match op {
        // The flags are cleared there. The manual has these instructions change the GE flags alone.
        Op::Dsp(Dsp::Parallel { lanes: Lanes::Modulo, .. }) => true,
        // A base that is stored, but not first, is stored as an unknown value.
        Op::StoreMultiple { rn, list, writeback: true, .. } => {
            let below = (1 << rn) - 1;
            list >> rn & 1 == 1 && list & below != 0
        }
        _ => false,
    }
}

/// Compares every case whose turn it is, and counts them by kind of instruction.
fn compare(turn: u32) -> BTreeMap<String, u32> {
    let mut random = Random(0x1234_5678);
    let mut kinds = BTreeMap::<String, u32>::new();
    for case in 0..CASES {
        let before = beginning(&mut random);
        let halves = instruction(&mut random);
        let op = decode(MAIN, halves.0, halves.1).op;
        if case % TURNS != turn || is_known_to_differ(op) {
            continue;
        }
        let (Some(mine), Some(other)) = (ours(&before, halves), theirs(&before, halves)) else { continue };
        assert!(mine == other, "case {case}, {op:?}, {halves:04x?}, from\n{before:?}:\n{mine:?}, but there\n{other:?}");
        let text = format!("{op:?}");
        *kinds.entry(text.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    kinds
}

#[test]
fn another_emulator_agrees_on_integer_instructions() {
    let mut kinds = BTreeMap::<String, u32>::new();
    thread::scope(|scope| {
        let turns: Vec<_> = (0..TURNS).map(|turn| scope.spawn(move || compare(turn))).collect();
        for (kind, count) in turns.into_iter().flat_map(|turn| turn.join().unwrap_or_else(|panic| resume_unwind(panic)))
        {
            *kinds.entry(kind).or_default() += count;
        }
    });
    let compared: u32 = kinds.values().sum();
    assert!(compared > CASES / 2 && kinds.len() >= 38, "{compared} of {CASES}: {kinds:?}");
}
