//! The host link through the debug probe. Sending needs no task. Received bytes must be polled for, because a probe writes to
//! memory without waking anybody.

use embassy_time::{Duration, Timer};

use super::line::CommandDecoder;
use crate::rtt;

const POLL_EVERY: Duration = Duration::from_millis(100);

#[embassy_executor::task]
pub async fn run() -> ! {
    let mut commands = CommandDecoder::new();
    loop {
        while let Some(byte) = rtt::receive() {
            commands.accept(&[byte]);
        }
        Timer::after(POLL_EVERY).await;
    }
}
