//! The self-test as a program: an image for a board, or a command that prints what the image must compute.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod board {
    use core::arch::{asm, global_asm};
    use core::panic::PanicInfo;

    // The stack, the entry, and what must happen before any floating-point instruction: switching the unit on.
    global_asm!(
        ".section .vectors, \"ax\"",
        ".word stack_top",
        ".word start",
        ".thumb_func",
        ".global start",
        "start:",
        "ldr r0, =0xE000ED88",
        "mov r1, #0x00F00000",
        "str r1, [r0]",
        "dsb",
        "isb",
        "ldr r0, =0x00C0FFEE",
        "bl selftest_main",
        ".ltorg",
    );

    /// Computes everything and stops at a breakpoint with the place of the results in r0 and their number in r1.
    #[unsafe(no_mangle)]
    extern "C" fn selftest_main(seed: u32) -> ! {
        let digests = selftest::digests(seed);
        loop {
            // SAFETY: a breakpoint changes nothing.
            unsafe { asm!("bkpt", in("r0") digests.as_ptr(), in("r1") digests.len()) }
        }
    }

    #[panic_handler]
    fn panic(_: &PanicInfo) -> ! {
        loop {
            // SAFETY: the instruction is undefined on purpose; the run ends.
            unsafe { asm!("udf #0") }
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    for ((name, _), digest) in selftest::PARTS.iter().zip(selftest::digests(0x00C0_FFEE)) {
        println!("{digest:08x}  {name}");
    }
}
