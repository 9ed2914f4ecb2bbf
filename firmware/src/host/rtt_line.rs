//! The host link through the debug probe. Going out it needs no task; coming in it has to be looked for, since a probe
//! writes to memory and wakes nobody.

use embassy_time::{Duration, Timer};

use super::line::Ear;
use crate::rtt;

/// How often the board looks whether a probe has written something.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Listens for ever.
#[embassy_executor::task]
pub async fn run() -> ! {
    let mut ear = Ear::new();
    loop {
        while let Some(byte) = rtt::receive() {
            ear.hear(&[byte]);
        }
        Timer::after(LOOK_EVERY).await;
    }
}
