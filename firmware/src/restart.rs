//! Starting again because somebody wants it.

use common::board::retained::LastRun;
use cortex_m::peripheral::SCB;
use embassy_time::{Duration, Timer};

use crate::{clock, retained};

/// How long the last words have to leave the board.
const FAREWELL: Duration = Duration::from_millis(300);

/// Starts again, recording the node's calls from the start if that is wanted.
pub async fn on_purpose(record_calls: bool) -> ! {
    defmt::info!("restarting on request");
    Timer::after(FAREWELL).await;
    retained::write(&LastRun { uptime_s: clock::uptime_s(), record_calls, crash: None });
    SCB::sys_reset()
}
