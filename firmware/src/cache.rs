//! The cache for instructions in flash, which is off after every reset. Without it the processor waits for flash more than half
//! of the time, and acknowledgements miss theirs.

use embassy_nrf::pac::NVMC;

pub fn enable() {
    NVMC.icachecnf().write(|w| w.set_cacheen(true));
}
