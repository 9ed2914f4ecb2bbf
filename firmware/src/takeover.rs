//! The first thing that runs: puts a chip that a bootloader has used into its state after a reset.
//!
//! Drivers expect that state. A USB peripheral that is already on never says again that it is ready; a timer that counts slowly
//! keeps its pace; the slow clock keeps the source that it was started from; and an interrupt that nobody here handles stops
//! the board.
#![expect(unsafe_code, reason = "interrupts are cleared and enabled")]

use cortex_m::peripheral::NVIC;
use embassy_nrf::pac;

/// How often the slow clock is polled until it has stopped. The watchdog, if it runs, does not let it stop.
const POLLS_MAX: u32 = 10_000;

pub fn run() {
    // SAFETY: nothing is enabled that was not; there is nobody to share the registers with yet.
    unsafe {
        let nvic = &*NVIC::PTR;
        for word in 0..2 {
            nvic.icer[word].write(u32::MAX);
            nvic.icpr[word].write(u32::MAX);
        }
    }
    if pac::USBD.enable().read().enable() {
        // The host sees the old device leave.
        pac::USBD.usbpullup().write(|w| w.set_connect(false));
        pac::USBD.intenclr().write(|w| w.0 = u32::MAX);
        pac::USBD.enable().write(|w| w.set_enable(false));
    }
    for rtc in [pac::RTC0, pac::RTC1, pac::RTC2] {
        rtc.tasks_stop().write_value(1);
        rtc.intenclr().write(|w| w.0 = u32::MAX);
        rtc.evtenclr().write(|w| w.0 = u32::MAX);
        rtc.prescaler().write(|w| w.set_prescaler(0));
    }
    let clock = pac::CLOCK;
    clock.intenclr().write(|w| w.0 = u32::MAX);
    if clock.lfclkstat().read().state() {
        clock.tasks_lfclkstop().write_value(1);
        let _is_stopped = (0..POLLS_MAX).any(|_| !clock.lfclkstat().read().state());
    }
    // SAFETY: no interrupt is enabled, and a bootloader may have masked them all.
    unsafe { cortex_m::interrupt::enable() };
}
