//! Temperature and humidity of the air, from Sensirion's `SHT4x` on two wires.
//!
//! The sensor is optional, so nothing here may keep the board from its work. Every transfer has a bound. The bus is off
//! between measurements, which also lets go of wires that got stuck and of a sensor that was unplugged in the middle of a
//! byte. What the log says, it says when it changes.

use core::cell::Cell;

use common::board::climate::{humidity, temperature};
use common::host_link::Quantity;
use embassy_nrf::interrupt::{self, InterruptExt, Priority};
use embassy_nrf::peripherals::TWISPI0;
use embassy_nrf::twim::{self, Config, Frequency, Twim};
use embassy_nrf::{Peri, bind_interrupts};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Delay, Duration, Timer, with_timeout};
use sht4x::{Error, Precision, SensorData, Sht4xAsync};

use crate::boards::Wires;
use crate::sensors::say;
use crate::settings;

bind_interrupts!(struct Interrupts {
    TWISPI0 => twim::InterruptHandler<TWISPI0>;
});

/// How often a sensor that answers is asked, unless the board is to measure more often.
const EVERY: Duration = Duration::from_secs(5);

/// How often it is looked for otherwise.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The bound of a measurement, which takes about 10 ms.
const PATIENCE: Duration = Duration::from_millis(50);

/// What was measured last; none if the last measurement failed.
static AIR: Mutex<CriticalSectionRawMutex, Cell<Option<(i32, i32)>>> = Mutex::new(Cell::new(None));

/// Temperature and humidity of the air, at most [`EVERY`] old.
pub fn air() -> Option<(i32, i32)> {
    AIR.lock(Cell::get)
}

/// Why there is no measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// Nobody answers at the sensor's address.
    Absent,
    /// The checksum is wrong, or a byte was refused.
    Garbled,
    /// The bus does not move: a wire is held low.
    Stuck,
}

#[embassy_executor::task]
pub async fn run(mut bus: Peri<'static, TWISPI0>, mut wires: Wires) -> ! {
    let mut told = None;
    loop {
        let measured = measure(&mut bus, &mut wires).await;
        let outcome = measured.as_ref().map(|_| ()).map_err(|trouble| *trouble);
        if told != Some(outcome) {
            told = Some(outcome);
            tell(outcome);
        }
        let air = measured.ok().map(|data| (temperature(data.temperature), humidity(data.humidity)));
        AIR.lock(|cell| cell.set(air));
        if let Some((temperature, humidity)) = air {
            say(Quantity::AirTemperature, temperature);
            say(Quantity::Humidity, humidity);
        }
        Timer::after(if outcome.is_ok() { settings::sample().min(EVERY) } else { LOOK_EVERY }).await;
    }
}

async fn measure(bus: &mut Peri<'static, TWISPI0>, wires: &mut Wires) -> Result<SensorData, Trouble> {
    let mut config = Config::default();
    // Faster is out of the specification on these chips, says an erratum, and of no use here.
    config.frequency = Frequency::K100;
    // A sensor on a board of its own brings stronger ones. These keep wires without a sensor from floating.
    (config.sda_pullup, config.scl_pullup) = (true, true);
    interrupt::TWISPI0.set_priority(Priority::P6);
    // Commands are sent from RAM, so the driver needs no place to copy them to.
    let twim = Twim::new(bus.reborrow(), Interrupts, wires.data.reborrow(), wires.clock.reborrow(), config, &mut []);
    let mut sensor = Sht4xAsync::new(twim);
    let measured = with_timeout(PATIENCE, sensor.measure_raw(Precision::High, &mut Delay)).await;
    // The transfer of a stuck bus was dropped with its buffer, but not stopped. This switches the bus off before any other
    // task can use that memory.
    drop(sensor);
    match measured {
        Ok(Ok(data)) => Ok(data),
        Ok(Err(Error::I2c(twim::Error::AddressNack))) => Err(Trouble::Absent),
        Ok(Err(_)) => Err(Trouble::Garbled),
        Err(_) => Err(Trouble::Stuck),
    }
}

fn tell(outcome: Result<(), Trouble>) {
    match outcome {
        Ok(()) => defmt::info!("a sensor of temperature and humidity answers"),
        Err(Trouble::Absent) => defmt::info!("no sensor of temperature and humidity"),
        Err(Trouble::Garbled) => {
            defmt::warn!("the sensor of temperature and humidity cannot be understood; check its wires");
        }
        Err(Trouble::Stuck) => defmt::warn!("the sensor's bus is stuck: a wire is held low"),
    }
}
