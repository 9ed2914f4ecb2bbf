//! Tests of the processor as a whole, with small programs in machine code.

mod exceptions;
mod faults;
mod programs;
mod second_opinion;
mod timing;

use super::interrupts::bit;
use super::{Cpu, Cycles, Stop};
use crate::io::{BusError, Io, Width};
use crate::memory::{Memory, RAM_START};

const MAIN: u32 = 0x200;
/// Handlers follow each other at this distance, in the order of their numbers.
const HANDLERS: u32 = 0x400;
const HANDLER_ROOM: u32 = 0x40;
const STACK_TOP: u32 = RAM_START + 0x1000;
/// Where programs write what they have to tell, through register 8.
const LOG: u32 = RAM_START + 0x1800;
/// A peripheral whose only register is the interrupt lines.
const LINES: u32 = 0x4000_0000;

const NOP: u16 = 0xBF00;
const WFE: u16 = 0xBF20;
const WFI: u16 = 0xBF30;
const SEV: u16 = 0xBF40;
const SVC: u16 = 0xDF00;
const UDF: u16 = 0xDE00;
const BKPT: u16 = 0xBE00;
const CPSID: u16 = 0xB672;
const CPSIE: u16 = 0xB662;
const RETURN: u16 = 0x4770;
const FOREVER: u16 = 0xE7FE;

/// MOVS of a low register.
fn set(rd: u16, value: u16) -> u16 {
    0x2000 | rd << 8 | value
}

/// MOVW and MOVT.
fn constant(rd: u16, value: u32) -> [u16; 4] {
    let part = |first: u16, half: u32| {
        let half = u16::try_from(half & 0xFFFF).expect("sixteen bits");
        [first | half >> 12 | (half >> 11 & 1) << 10, (half >> 8 & 7) << 12 | rd << 8 | half & 0xFF]
    };
    let ([a, b], [c, d]) = (part(0xF240, value), part(0xF2C0, value >> 16));
    [a, b, c, d]
}

/// STR of low registers, without an offset.
fn store(rt: u16, rn: u16) -> u16 {
    0x6000 | rn << 3 | rt
}

/// LDR of low registers, without an offset.
fn load(rt: u16, rn: u16) -> u16 {
    0x6800 | rn << 3 | rt
}

/// Appends a register to the log: STR of a word through r8, which moves on.
fn log(rt: u16) -> [u16; 2] {
    [0xF848, rt << 12 | 0x0B04]
}

/// Appends a number to the log. Spoils r0.
fn say(number: u16) -> Vec<u16> {
    [&[set(0, number)][..], &log(0)].concat()
}

/// Sets the interrupt lines. Spoils r0 and r1.
fn lines(value: u16) -> Vec<u16> {
    [&constant(1, LINES)[..], &[set(0, value), store(0, 1)]].concat()
}

/// Writes a system register. Spoils r0 and r1.
fn poke(address: u32, value: u32) -> Vec<u16> {
    [&constant(1, address)[..], &constant(0, value), &[store(0, 1)]].concat()
}

#[derive(Default)]
struct Board {
    lines: u64,
    writes: Vec<(u32, u32)>,
    /// Whether the cache for instructions is on.
    cache: bool,
}

impl Io for Board {
    fn read(&mut self, _: u64, address: u32, _: Width) -> Result<u32, BusError> {
        if address == LINES {
            return u32::try_from(self.lines).map_err(|_| BusError { address, what: "too many lines".to_owned() });
        }
        Err(BusError { address, what: "TEST, register is not modelled".to_owned() })
    }

    fn write(&mut self, _: u64, address: u32, _: Width, value: u32) -> Result<(), BusError> {
        self.writes.push((address, value));
        if address == LINES {
            self.lines = u64::from(value);
        }
        Ok(())
    }

    fn interrupt_lines(&self) -> u64 {
        self.lines
    }

    fn wants_stop(&self) -> bool {
        false
    }

    fn caches_instructions(&self) -> bool {
        self.cache
    }
}

/// A processor with a program: `main`, and handlers by exception number. Exceptions without a handler log 99 and stop.
struct Machine {
    cpu: Cpu,
    memory: Memory,
    board: Board,
}

impl Machine {
    /// One whose instructions take a cycle each, so that a test can say after how many of them something happens.
    fn new(main: &[u16], handlers: &[(u8, &[u16])]) -> Self {
        Self::with(Cycles::Ideal, main, handlers)
    }

    fn with(cycles: Cycles, main: &[u16], handlers: &[(u8, &[u16])]) -> Self {
        let mut memory = Memory::new(0x4000, 0x2000);
        let mut put = |address, code: &[u16]| {
            let bytes: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
            assert!(memory.load_flash(address, &bytes), "the program fits");
        };
        let half_words = |word: u32| [word, word >> 16].map(|half| u16::try_from(half & 0xFFFF).expect("sixteen bits"));
        put(0, &half_words(STACK_TOP));
        put(4, &half_words(MAIN | 1));
        put(MAIN, &[main, &[BKPT]].concat());
        for number in 2..64_u8 {
            let address = HANDLERS + u32::from(number) * HANDLER_ROOM;
            put(4 * u32::from(number), &half_words(address | 1));
            let code = handlers.iter().find(|(known, _)| *known == number).map(|(_, code)| code.to_vec());
            let code = code.unwrap_or_else(|| [say(99), vec![BKPT]].concat());
            assert!(code.len() * 2 <= HANDLER_ROOM as usize, "the handler of {number} fits");
            put(address, &code);
        }
        let mut cpu = Cpu::new(cycles);
        cpu.reset(&memory);
        cpu.state.r[8] = LOG;
        Self { cpu, memory, board: Board::default() }
    }

    /// Enables an interrupt by the number of its line.
    fn enable(mut self, line: u8, priority: u8) -> Self {
        self.cpu.state.interrupts.enabled |= bit(16 + line);
        self.cpu.state.interrupts.set_priority(16 + line, priority);
        self
    }

    /// Runs for at most this many cycles.
    fn run(&mut self, cycles: u64) -> Stop {
        let until = self.cpu.now() + cycles;
        self.cpu.run(&mut self.memory, &mut self.board, until)
    }

    fn run_to_breakpoint(&mut self) {
        let stop = self.run(10_000);
        assert!(matches!(stop, Stop::Breakpoint { .. }), "{stop:?}");
    }

    fn word(&self, address: u32) -> u32 {
        self.memory.read(address, Width::Word).expect("an address in memory")
    }

    /// What the program logged.
    fn log(&self) -> Vec<u32> {
        (LOG..self.cpu.state.r[8]).step_by(4).map(|address| self.word(address)).collect()
    }

    /// A system register, as the program would read it.
    fn system(&mut self, address: u32) -> u32 {
        let read = super::Core { cpu: &mut self.cpu, memory: &mut self.memory, io: &mut self.board }
            .read_system(address, Width::Word);
        read.expect("a register that is modelled")
    }
}
