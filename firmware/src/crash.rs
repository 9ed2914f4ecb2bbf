//! What happens when the board cannot go on: it writes down where it was, and starts again.
#![expect(unsafe_code, reason = "the processor's last words are read from its stack")]

use core::arch::global_asm;
use core::panic::PanicInfo;

use common::board::retained::CrashRecord;
use common::host_link::{CrashKind, Text};
use cortex_m::peripheral::SCB;

use crate::{retained, rtt};

/// Resets the board after leaving a record.
pub fn restart(crash: CrashRecord) -> ! {
    retained::write_crash(crash);
    SCB::sys_reset()
}

/// Records where a panic came from, as addresses: the file and line of every place that might ever panic, and the means to
/// put numbers into text, would be a seventh of the image. The ELF file, which the log needs anyway, turns addresses into
/// lines.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    let sp = stack_pointer();
    let [pc, lr] = return_addresses(sp);
    rtt::abandon_log_frame();
    defmt::error!("panic: called from {=u32:#010x}, called from {=u32:#010x}", pc, lr);
    let sp = u32::try_from(sp).unwrap_or(0);
    restart(CrashRecord { pc, lr, sp, ..CrashRecord::of(CrashKind::Panic) })
}

/// The nearest two addresses on the stack that a call can return to. Without a frame pointer the stack cannot be walked, but
/// what a function that panics has pushed last is where it was called from.
fn return_addresses(sp: usize) -> [u32; 2] {
    let (code, code_end) = (&raw const __stext as u32, &raw const __etext as u32);
    let mut found = [0; 2];
    let mut places = found.iter_mut();
    let words = (&raw const _stack_start as usize).saturating_sub(sp) / size_of::<u32>();
    for place in 0..words.min(SCANNED_MAX) {
        let word = core::ptr::without_provenance::<u32>(sp).wrapping_add(place);
        // SAFETY: aligned, and between the stack pointer and the stack's beginning.
        let word = unsafe { word.read_volatile() };
        // In Thumb code the lowest bit of a return address is set.
        if word & 1 == 1 && (code..code_end).contains(&word) {
            let Some(next) = places.next() else { break };
            *next = word & !1;
        }
    }
    found
}

fn stack_pointer() -> usize {
    cortex_m::register::msp::read() as usize & !3
}

/// Words of the stack that are looked at.
const SCANNED_MAX: usize = 256;

/// Room that a frame of the processor and this file's code need on the stack.
const ROOM: usize = 512;

// The processor comes here with its account of the fault on the stack, unless the stack itself is the fault: then there is
// no room left for it, nor for a Rust function. So the first thing is a look at the stack pointer, and a fresh stack where it
// is beyond the end; what was on the old one is of no use any more.
global_asm!(
    ".section .HardFault.own, \"ax\"",
    ".global HardFault",
    ".type HardFault, %function",
    ".thumb_func",
    "HardFault:",
    "mrs r0, msp",
    "ldr r1, =_stack_end + {room}",
    "cmp r0, r1",
    "bhs 1f",
    "ldr r1, =_stack_start",
    "msr msp, r1",
    "1:",
    "b {report}",
    ".size HardFault, . - HardFault",
    room = const ROOM,
    report = sym report_fault,
);

unsafe extern "C" {
    static _stack_start: u32;
    static _stack_end: u32;
    static __stext: u32;
    static __etext: u32;
}

/// What the processor puts on the stack when it takes an exception.
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
    let is_overflow = sp < bottom + ROOM;
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
    rtt::abandon_log_frame();
    defmt::error!("{}: pc {=u32:#010x}, lr {=u32:#010x}, sp {=usize:#010x}, cfsr {=u32:#010x}", kind, pc, lr, sp, cfsr);
    let sp = u32::try_from(sp).unwrap_or(0);
    let message = Text::start_of("fault");
    restart(CrashRecord { pc, lr, sp, cfsr, message, ..CrashRecord::of(kind) })
}

/// The least stack that was ever left, in bytes: what still has the paint of the start-up code.
pub fn stack_left() -> usize {
    let (bottom, top) = (&raw const _stack_end, &raw const _stack_start);
    let words = (top as usize - bottom as usize) / size_of::<u32>();
    // SAFETY: within the stack's room. A word that is being used may change meanwhile, which a volatile read allows; the
    // search ends at the first that was ever used.
    let is_painted = |&word: &usize| unsafe { bottom.add(word).read_volatile() } == cortex_m_rt::STACK_PAINT_VALUE;
    (0..words).take_while(is_painted).count() * size_of::<u32>()
}
