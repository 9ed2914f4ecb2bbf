//! Restarting on request.

use common::board::retained::LastRun;
use cortex_m::peripheral::SCB;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Timer};

use crate::{clock, retained};

static REQUESTED: Signal<CriticalSectionRawMutex, bool> = Signal::new();

/// How long the last messages have to leave the board.
const FAREWELL: Duration = Duration::from_millis(300);

/// Requests a restart. With `record_calls`, the calls of the node are recorded from its start on.
pub fn request(record_calls: bool) {
    REQUESTED.signal(record_calls);
}

#[embassy_executor::task]
pub async fn run() -> ! {
    let record_calls = REQUESTED.wait().await;
    defmt::info!("restarting on request");
    Timer::after(FAREWELL).await;
    retained::write(&LastRun { uptime_s: clock::uptime_s(), record_calls, crash: None });
    SCB::sys_reset()
}
