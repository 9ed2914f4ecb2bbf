//! The image of a board: one node, with the radio, clock, flash, lights and host links of the board.
//!
//! The logic is in `common`, where it is tested on a PC; here is the wiring. Tasks run at three priorities (see
//! [`executors`]): the radio driver, below it the node, and below both a thread for everything that may wait.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod boards;
mod boot;
mod bound;
mod cache;
#[cfg(feature = "sensor-sht4x")]
mod climate;
mod clock;
mod collection;
mod copying;
mod crash;
mod crystal;
mod executors;
mod flash;
mod host;
mod identity;
#[cfg(feature = "journal")]
mod journal;
mod node;
mod progress;
mod radio;
mod record;
mod restart;
mod retained;
mod sensors;
mod settings;
mod status;
mod stopwatch;
mod storage;
mod takeover;
mod watchdog;

use common::board::button::Wish;
use common::board::reset;
use common::host_link::ResetReason;
use cortex_m_rt::entry;
// The log, for a debug probe; nothing calls it by name.
use defmt_rtt as _;
use embassy_nrf::saadc::{self, ChannelConfig, Saadc, VddInput};
use embassy_nrf::temp::{self, Temp};
use embassy_nrf::{bind_interrupts, pac, rng};
use heapless::String;
use static_cell::StaticCell;

use crate::boards::{Pins, board};
use crate::bound::Bound;
use crate::sensors::{DieTemperature, Supply};
use crate::status::Lights;

bind_interrupts!(struct Interrupts {
    SAADC => saadc::InterruptHandler;
    TEMP => temp::InterruptHandler;
});

#[entry]
fn main() -> ! {
    takeover::run();
    cache::enable();
    let last_run = retained::take();
    watchdog::start();
    // The processor's peripherals are taken here and nowhere else.
    let mut bound = Bound::new(defmt::unwrap!(cortex_m::Peripherals::take()).SYST);
    let p = crystal::start(&mut bound);
    stopwatch::start();
    let reset = take_reset_reason();
    defmt::info!(
        "Ringleader {=str} on {}, build {}, chip {=u64:016x}, started by {}",
        env!("CARGO_PKG_VERSION"),
        board::BOARD,
        identity::build(),
        identity::chip(),
        reset
    );

    let mut seed = [0; 8];
    let mut noise = rng::Rng::new_blocking(p.RNG);
    noise.set_bias_correction(true);
    bound.wait_for("the random number generator", "The chip is damaged.");
    noise.blocking_fill_bytes(&mut seed);
    drop(bound);
    let supply = Saadc::new(p.SAADC, Interrupts, saadc::Config::default(), [ChannelConfig::single_ended(VddInput)]);
    let parts = boot::Parts {
        flash: p.NVMC,
        last_run,
        reset,
        seed: u64::from_le_bytes(seed),
        sensors: (DieTemperature(Temp::new(p.TEMP, Interrupts)), Supply(supply)),
        radio: executors::start_radio(),
        node: executors::start_node(),
    };

    let pins = board::pins!(p);
    let Pins { status, fault, common, lit, button, second_button, serial, .. } = pins;
    let first = if second_button.is_some() { Wish::Elect } else { Wish::Identify };
    let wires = (p.PPI_CH2, p.PPI_CH3, p.PPI_GROUP0);
    let uart = host::uart::Parts { uarte: p.UARTE0, timer: p.TIMER1, wires };
    executors::run_thread(|spawner| {
        spawner.spawn(defmt::unwrap!(watchdog::keep()));
        spawner.spawn(defmt::unwrap!(status::show(Lights::new(status, fault, common, lit))));
        spawner.spawn(defmt::unwrap!(status::watch(button, first, second_button.is_none())));
        if let Some(pin) = second_button {
            spawner.spawn(defmt::unwrap!(status::watch(pin, Wish::Identify, false)));
        }
        spawner.spawn(defmt::unwrap!(restart::run()));
        spawner.spawn(defmt::unwrap!(host::send()));
        if let Some(pins) = serial {
            spawner.spawn(defmt::unwrap!(host::uart::run(uart, pins)));
        }
        if board::HAS_USB {
            spawner.spawn(defmt::unwrap!(host::usb::run(p.USBD, serial_number())));
        }
        #[cfg(feature = "sensor-sht4x")]
        spawner.spawn(defmt::unwrap!(climate::run(p.TWISPI0, pins.wires)));
        spawner.spawn(defmt::unwrap!(boot::run(spawner, parts)));
    })
}

/// Why the board started. The register accumulates reasons, so it is cleared for the next start.
fn take_reset_reason() -> ResetReason {
    let reasons = pac::POWER.resetreas().read();
    pac::POWER.resetreas().write_value(reasons);
    reset::reason(reasons.0)
}

/// The number of the chip in hexadecimal, as a PC shows it for a USB device.
fn serial_number() -> &'static str {
    const DIGITS: &str = "0123456789abcdef";
    static TEXT: StaticCell<String<16>> = StaticCell::new();
    let text = TEXT.init(String::new());
    for byte in identity::chip().to_be_bytes() {
        for nibble in [usize::from(byte >> 4), usize::from(byte & 0xF)] {
            // All sixteen digits fit.
            let _ = text.push_str(DIGITS.get(nibble..=nibble).unwrap_or_default());
        }
    }
    text
}
