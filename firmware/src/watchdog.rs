//! The watchdog resets a board that is stuck. It is reloaded only while radio, node, storage and thread all make progress.

use common::board::retained::{CrashRecord, LastRun};
use common::board::watchdog::{Part, Watchdog};
use embassy_nrf::pac::WDT;
use embassy_nrf::pac::wdt::vals::{Halt, Rr, Sleep};
use embassy_time::{Duration, Timer};

use crate::{clock, progress, retained};

const TIMEOUT_S: u32 = 8;

/// Starts the watchdog. Nothing can stop it afterwards, not even a software reset. It starts before everything else, so that
/// nothing can hang without leading to a reset.
pub fn start() {
    WDT.config().write(|w| {
        w.set_sleep(Sleep::Run);
        w.set_halt(Halt::Pause);
    });
    WDT.crv().write_value(TIMEOUT_S * 32_768 - 1);
    WDT.tasks_start().write_value(1);
    reload();
}

/// Reloads all channels: a watchdog that a bootloader has started may have more than one, and keeps them.
fn reload() {
    for channel in 0..8 {
        WDT.rr(channel).write(|w| w.set_rr(Rr::Reload));
    }
}

/// Reloads the watchdog once a second while all parts make progress, and records how long the board has run.
#[embassy_executor::task]
pub async fn keep() -> ! {
    let mut watchdog = Watchdog::new();
    loop {
        Timer::after(Duration::from_secs(1)).await;
        progress::tick(Part::Thread);
        if let Some(part) = watchdog.check(progress::counts()) {
            defmt::error!("{=str} makes no progress; leaving the board to the watchdog", part.name());
            retained::write_crash(CrashRecord::stuck(part));
            core::future::pending::<()>().await;
        }
        reload();
        retained::write(&LastRun { uptime_s: clock::uptime_s(), record_calls: false, crash: None });
    }
}
