//! What happens when the board cannot go on: it records where it was, and restarts.
#![expect(unsafe_code, reason = "the exception frame is read from the stack")]

use core::arch::global_asm;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use common::board::retained::CrashRecord;
use common::host_link::{CrashKind, Text};
use cortex_m::peripheral::SCB;

use crate::retained;

/// Leaves a record and resets the board.
pub fn restart(crash: CrashRecord) -> ! {
    retained::write_crash(crash);
    SCB::sys_reset()
}

/// Leaves a record, logs, and resets the board. The record comes first, because what crashed may be the log: then logging is
/// the second crash, which only resets.
fn log_and_restart(crash: CrashRecord, log: impl FnOnce()) -> ! {
    static IS_CRASHING: AtomicBool = AtomicBool::new(false);
    // One core, and nothing interrupts a crash but another one.
    if !IS_CRASHING.load(Ordering::Relaxed) {
        IS_CRASHING.store(true, Ordering::Relaxed);
        retained::write_crash(crash);
        log();
    }
    SCB::sys_reset()
}

/// Records where a panic came from, as addresses. The file and line of every possible panic, and the code to format
/// numbers, would take a seventh of the image. The ELF file, which the log needs anyway, turns addresses into lines.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    let sp = stack_pointer();
    let [pc, lr] = return_addresses(sp);
    let sp = u32::try_from(sp).unwrap_or(0);
    log_and_restart(CrashRecord { pc, lr, sp, ..CrashRecord::of(CrashKind::Panic) }, || {
        defmt::error!("panic: called from {=u32:#010x}, called from {=u32:#010x}", pc, lr);
    })
}

/// The nearest two return addresses on the stack. Without a frame pointer the stack cannot be walked, but a function that
/// panics has pushed its return address last.
fn return_addresses(sp: usize) -> [u32; 2] {
    let (code, code_end) = (&raw const __stext as u32, &raw const __etext as u32);
    let mut found = [0; 2];
    let mut results = found.iter_mut();
    let words = (&raw const _stack_start as usize).saturating_sub(sp) / size_of::<u32>();
    for index in 0..words.min(SCANNED_MAX) {
        let word = core::ptr::without_provenance::<u32>(sp).wrapping_add(index);
        // SAFETY: aligned, and between the stack pointer and the top of the stack.
        let word = unsafe { word.read_volatile() };
        // In Thumb code the lowest bit of a return address is set.
        if word & 1 == 1 && (code..code_end).contains(&word) {
            let Some(next) = results.next() else { break };
            *next = word & !1;
        }
    }
    found
}

fn stack_pointer() -> usize {
    cortex_m::register::msp::read() as usize & !3
}

/// Words of the stack that are searched.
const SCANNED_MAX: usize = 256;

/// Stack that an exception frame and the code in this file need.
const STACK_NEEDED: usize = 512;

// The processor has pushed an exception frame, unless the fault is a stack overflow: then there is no space for a frame, nor
// for a Rust function. So check the stack pointer first, and start from the top of the stack if it has overflowed; its
// contents are no longer needed.
global_asm!(
    ".section .HardFault.own, \"ax\"",
    ".global HardFault",
    ".type HardFault, %function",
    ".thumb_func",
    "HardFault:",
    "mrs r0, msp",
    "ldr r1, =_stack_end + {needed}",
    "cmp r0, r1",
    "bhs 1f",
    "ldr r1, =_stack_start",
    "msr msp, r1",
    "1:",
    "b {report}",
    ".size HardFault, . - HardFault",
    needed = const STACK_NEEDED,
    report = sym report_fault,
);

unsafe extern "C" {
    static _stack_start: u32;
    static _stack_end: u32;
    static __stext: u32;
    static __etext: u32;
}

/// What the processor pushes when it takes an exception.
#[repr(C)]
struct Frame {
    r0_to_r3_and_r12: [u32; 5],
    lr: u32,
    pc: u32,
    psr: u32,
}

/// Called by the assembly above with the stack pointer at the fault.
unsafe extern "C" fn report_fault(sp: usize) -> ! {
    let (bottom, top) = (&raw const _stack_end as usize, &raw const _stack_start as usize);
    let is_overflow = sp < bottom + STACK_NEEDED;
    let holds_frame = !is_overflow && sp.is_multiple_of(4) && sp + size_of::<Frame>() <= top;
    let (pc, lr) = if holds_frame {
        // SAFETY: the address is aligned and within the stack, where the processor has just put the frame.
        let frame = unsafe { core::ptr::read_volatile(core::ptr::without_provenance::<Frame>(sp)) };
        (frame.pc, frame.lr)
    } else {
        (0, 0)
    };
    // SAFETY: reading the register has no effect.
    let cfsr = unsafe { (*SCB::PTR).cfsr.read() };
    let kind = if is_overflow { CrashKind::StackOverflow } else { CrashKind::HardFault };
    let sp = u32::try_from(sp).unwrap_or(0);
    let message = Text::start_of("fault");
    log_and_restart(CrashRecord { pc, lr, sp, cfsr, message, ..CrashRecord::of(kind) }, || {
        defmt::error!(
            "{}: pc {=u32:#010x}, lr {=u32:#010x}, sp {=u32:#010x}, cfsr {=u32:#010x}",
            kind,
            pc,
            lr,
            sp,
            cfsr
        );
    })
}

/// The stack that was never used, in bytes: it still holds the pattern that the start-up code painted.
pub fn stack_left() -> usize {
    let (bottom, top) = (&raw const _stack_end, &raw const _stack_start);
    let words = (top as usize - bottom as usize) / size_of::<u32>();
    // SAFETY: within the stack. A word in use may change meanwhile, which a volatile read allows; the search ends at the
    // first word that was ever used.
    let is_painted = |&word: &usize| unsafe { bottom.add(word).read_volatile() } == cortex_m_rt::STACK_PAINT_VALUE;
    (0..words).take_while(is_painted).count() * size_of::<u32>()
}
