//! Restarting on request.

use common::board::retained::LastRun;
use common::protocol::Signal;
use cortex_m::peripheral::SCB;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal;
use embassy_time::{Duration, Timer};

use crate::{clock, node, retained};

static REQUESTED: signal::Signal<CriticalSectionRawMutex, bool> = signal::Signal::new();

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
    // Where this board leads, another is to lead before it falls silent.
    node::tell(node::Told::Signal(Signal::StepDown));
    Timer::after(FAREWELL).await;
    retained::write(&LastRun { uptime_s: clock::uptime_s(), record_calls, crash: None });
    SCB::sys_reset()
}
