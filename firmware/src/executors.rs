//! Three executors: the radio driver preempts the node, and the node preempts everything else.
//!
//! The radio must empty its buffer and listen again while the node is still handling the last frame, and both must run while
//! the thread waits for flash or USB. So the first two run in software interrupts. The thread has a loop of its own, instead
//! of that of embassy, because it measures how long the processor sleeps.
#![expect(unsafe_code, reason = "executors are polled, and interrupts enabled")]

use core::arch::asm;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use embassy_executor::raw::Executor;
use embassy_executor::{SendSpawner, Spawner};
use embassy_nrf::interrupt;
use embassy_nrf::interrupt::{Interrupt, InterruptExt, Priority};
use static_cell::StaticCell;

use crate::stopwatch;

/// The context of the thread executor. The others have the number of their interrupt.
const THREAD: usize = usize::MAX;

static RADIO: AtomicPtr<Executor> = AtomicPtr::new(ptr::null_mut());
static NODE: AtomicPtr<Executor> = AtomicPtr::new(ptr::null_mut());
static THREAD_HAS_WORK: AtomicBool = AtomicBool::new(false);
static ASLEEP_US: AtomicU32 = AtomicU32::new(0);

/// How long the processor has slept since the boot, in microseconds; it wraps around.
pub fn asleep_us() -> u32 {
    ASLEEP_US.load(Ordering::Relaxed)
}

pub fn start_radio() -> SendSpawner {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    start(&EXECUTOR, &RADIO, Interrupt::EGU1_SWI1, Priority::P2)
}

pub fn start_node() -> SendSpawner {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    start(&EXECUTOR, &NODE, Interrupt::EGU0_SWI0, Priority::P3)
}

fn start(
    cell: &'static StaticCell<Executor>,
    slot: &AtomicPtr<Executor>,
    interrupt: Interrupt,
    priority: Priority,
) -> SendSpawner {
    let executor: &'static Executor =
        cell.init(Executor::new(ptr::without_provenance_mut(usize::from(interrupt.number()))));
    slot.store(ptr::from_ref(executor).cast_mut(), Ordering::Release);
    interrupt.set_priority(priority);
    // SAFETY: the executor that the handler polls is in its slot, and the handler shares nothing with a critical section.
    unsafe { interrupt.enable() };
    executor.spawner().make_send()
}

pub fn run_thread(init: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    let executor: &'static Executor = EXECUTOR.init(Executor::new(ptr::without_provenance_mut(THREAD)));
    init(executor.spawner());
    loop {
        // SAFETY: this is the only place that polls this executor, and the thread is not reentrant.
        unsafe { executor.poll() };
        sleep();
    }
}

/// Sleeps until an interrupt is pending, and measures how long. With interrupts masked, the processor wakes up before it
/// serves them, so their handlers count as time awake; and no work can arrive between the check and the sleep.
fn sleep() {
    critical_section::with(|_| {
        if THREAD_HAS_WORK.swap(false, Ordering::Acquire) {
            return;
        }
        let began = stopwatch::for_meters();
        quieten_fpu();
        cortex_m::asm::dsb();
        cortex_m::asm::wfi();
        let slept = stopwatch::for_meters().wrapping_sub(began);
        ASLEEP_US.store(ASLEEP_US.load(Ordering::Relaxed).wrapping_add(slept), Ordering::Relaxed);
    });
}

/// Clears the flags of the floating-point unit, such as that a result was rounded. They raise an interrupt that nobody handles,
/// and while that is pending the chip does not really sleep (erratum 87).
fn quieten_fpu() {
    // SAFETY: only clears flags that nothing reads, in the register of the thread.
    unsafe {
        asm!("vmrs {0}, fpscr", "bic {0}, {0}, #0x9f", "vmsr fpscr, {0}", out(reg) _, options(nomem, nostack, preserves_flags));
    }
    NVIC::unpend(Interrupt::FPU);
}

/// Embassy calls this when an executor has work.
#[unsafe(export_name = "__pender")]
fn wake(context: *mut ()) {
    #[derive(Clone, Copy)]
    struct Number(u16);
    // SAFETY: the number is that of an interrupt that `start` was given.
    unsafe impl InterruptNumber for Number {
        fn number(self) -> u16 {
            self.0
        }
    }
    match context.addr() {
        THREAD => THREAD_HAS_WORK.store(true, Ordering::Release),
        // Interrupt numbers fit 16 bits on all chips.
        number => NVIC::pend(Number(u16::try_from(number).unwrap_or(u16::MAX))),
    }
}

fn poll(slot: &AtomicPtr<Executor>) {
    // SAFETY: the pointer is null or was made from a reference that lives for ever.
    if let Some(executor) = unsafe { slot.load(Ordering::Acquire).as_ref() } {
        // SAFETY: each executor is polled by one interrupt only, which cannot interrupt itself.
        unsafe { executor.poll() };
    }
}

#[interrupt]
fn EGU1_SWI1() {
    poll(&RADIO);
}

#[interrupt]
fn EGU0_SWI0() {
    poll(&NODE);
}
