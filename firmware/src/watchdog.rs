//! The watchdog: resets a board that is stuck. It is fed only while radio, node, storage and thread all make progress.

use common::board::retained::{CrashRecord, LastRun};
use common::board::watchdog::{Part, Watchdog};
use embassy_nrf::pac::WDT;
use embassy_nrf::pac::wdt::vals::{Halt, Rr, Sleep};
use embassy_time::{Duration, Timer};

use crate::{clock, progress, retained, rtt};

/// Seconds without food until it bites.
const BITES_AFTER_S: u32 = 8;

/// Starts it. Once it runs it cannot be stopped, and a reset by software does not stop it either. It is on before the clocks,
/// so that a crystal that does not start is not waited for in vain.
pub fn start() {
    WDT.config().write(|w| {
        w.set_sleep(Sleep::Run);
        w.set_halt(Halt::Pause);
    });
    WDT.crv().write_value(BITES_AFTER_S * 32_768 - 1);
    WDT.tasks_start().write_value(1);
    feed();
}

/// Feeds it.
pub fn feed() {
    WDT.rr(0).write(|w| w.set_rr(Rr::Reload));
}

/// Feeds it once a second for as long as everybody makes progress, and keeps the record of how long the board has run.
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
        feed();
        retained::write(&LastRun { uptime_s: clock::uptime_s(), record_calls: false, crash: None });
        match rtt::take_lost_log_frames() {
            0 => {}
            lost => defmt::warn!("{=u32} log messages were lost here", lost),
        }
    }
}
