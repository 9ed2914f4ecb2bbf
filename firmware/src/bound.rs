//! A bound for every wait of the boot: whatever the board waits for before its tasks run, it waits for two seconds at most,
//! and then says what is missing.
//!
//! Several of these waits are loops inside a driver, which nothing can leave. So the processor's own timer counts, and its
//! interrupt ends the run. No crystal drives that timer.

use core::cell::Cell;

use common::board::retained::CrashRecord;
use common::host_link::{CrashKind, Text};
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::Mutex;

use crate::crash;

/// A slow crystal takes a quarter of a second, or half a second in the cold; the watchdog bites after eight.
const LIMIT_S: u32 = 2;

/// Between two interrupts of the timer, which counts 24 bits of the processor's 64 MHz: a quarter of a second.
const CYCLES: u32 = 16_000_000;
const PER_SECOND: u32 = 64_000_000 / CYCLES;

#[derive(Clone, Copy)]
struct Wait {
    /// What the board waits for, as the start of a sentence.
    what: &'static str,
    /// What a person can do about it.
    hint: &'static str,
    ticks: u32,
}

static WAIT: Mutex<Cell<Wait>> = Mutex::new(Cell::new(Wait { what: "the board", hint: "", ticks: 0 }));

/// Bounds one wait after another, as long as it lives.
pub struct Bound(SYST);

impl Bound {
    pub fn new(mut timer: SYST) -> Self {
        timer.set_clock_source(SystClkSource::Core);
        timer.set_reload(CYCLES - 1);
        timer.clear_current();
        timer.enable_interrupt();
        timer.enable_counter();
        Self(timer)
    }

    /// From now on, the board waits for this.
    pub fn wait_for(&mut self, what: &'static str, hint: &'static str) {
        critical_section::with(|cs| WAIT.borrow(cs).set(Wait { what, hint, ticks: 0 }));
        self.0.clear_current();
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.0.disable_counter();
        self.0.disable_interrupt();
    }
}

#[exception]
fn SysTick() {
    let Wait { what, hint, ticks } = critical_section::with(|cs| {
        let wait = WAIT.borrow(cs).get();
        WAIT.borrow(cs).set(Wait { ticks: wait.ticks + 1, ..wait });
        wait
    });
    if ticks + 1 >= LIMIT_S * PER_SECOND {
        defmt::error!("{=str} does not start: waited {=u32} s. {=str}", what, LIMIT_S, hint);
        crash::restart(CrashRecord { message: Text::start_of(what), ..CrashRecord::of(CrashKind::Stuck) });
    }
}
