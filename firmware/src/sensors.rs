//! What the board measures, and how fit that makes it to lead.

use core::sync::atomic::{AtomicI32, Ordering};

use common::board::history::History;
use common::board::load::{LoadMeter, Meters, NOTEWORTHY, PoolUse};
use common::board::rssi::ROOM_HUNDREDTHS;
use common::board::weibull_fit::failure_share;
use common::coefficient::{Coefficient, Share, Weights};
use common::data::block::Sample;
use common::host_link::{Quantity, ToHost, Warning};
use common::limits::POOL_MAX;
use common::protocol::Signal;
use embassy_futures::select::{Either, select};
use embassy_nrf::saadc::Saadc;
use embassy_nrf::temp::Temp;
use embassy_time::{Instant, Timer};

use crate::radio::COUNTERS;
use crate::{clock, collection, crash, executors, host, node, settings, stopwatch};

/// The radio checks once a second whether it has received anything. This many silent checks in a row are reported.
const SILENT_CHECKS_MAX: u32 = 600;

pub trait Sensor {
    /// Also determines the unit.
    const QUANTITY: Quantity;
    /// Returns `None` if the measurement failed.
    async fn read(&mut self) -> Option<i32>;
}

pub struct DieTemperature(pub Temp<'static>);

impl Sensor for DieTemperature {
    const QUANTITY: Quantity = Quantity::DieTemperature;

    async fn read(&mut self) -> Option<i32> {
        // From quarters to hundredths of a degree.
        Some(self.0.read().await.to_bits() * 25)
    }
}

/// The supply voltage.
pub struct Supply(pub Saadc<'static, 1>);

impl Sensor for Supply {
    const QUANTITY: Quantity = Quantity::Supply;

    async fn read(&mut self) -> Option<i32> {
        let mut sample = [0; 1];
        self.0.sample(&mut sample).await;
        // 12 bits, with a gain of 1/6 and a reference of 0.6 V.
        Some(i32::from(sample[0]) * 3_600 / 4_096)
    }
}

/// Measures once, for the host and for the sample that goes to the leader.
async fn measure<S: Sensor>(sensor: &mut S, sample: &mut Sample) -> Option<i32> {
    let value = sensor.read().await?;
    say(S::QUANTITY, value);
    keep(sample, S::QUANTITY, value);
    Some(value)
}

fn keep(sample: &mut Sample, quantity: Quantity, value: i32) {
    if let Some(slot) = quantity.series().and_then(|at| sample.values.get_mut(at)) {
        *slot = Some(value);
    }
}

/// Tells the host a measurement.
pub fn say(quantity: Quantity, value: i32) {
    host::say(ToHost::Reading { at_us: clock::now().as_micros(), quantity, value });
}

/// The last temperature measured, in hundredths of a degree.
static TEMPERATURE: AtomicI32 = AtomicI32::new(ROOM_HUNDREDTHS);

/// The temperature of the chip, in hundredths of a degree.
pub fn temperature() -> i32 {
    TEMPERATURE.load(Ordering::Relaxed)
}

#[embassy_executor::task]
pub async fn run(mut temperature: DieTemperature, mut supply: Supply, history: History) -> ! {
    let mut meter = LoadMeter::new(meters());
    let mut told = None;
    let mut measured = Instant::now();
    loop {
        // Another pace counts from the last measurement on.
        while let Either::Second(()) =
            select(Timer::at(measured + settings::sample()), settings::sampling_changed()).await
        {}
        measured = Instant::now();
        let mut sample = Sample::default();
        if let Some(hundredths) = measure(&mut temperature, &mut sample).await {
            TEMPERATURE.store(hundredths, Ordering::Relaxed);
        }
        if let Some(millivolts) = measure(&mut supply, &mut sample).await {
            node::tell(node::Told::Supply(u16::try_from(millivolts).unwrap_or(0)));
        }
        #[cfg(feature = "sensor-sht4x")]
        if let Some((temperature, humidity)) = crate::climate::air() {
            keep(&mut sample, Quantity::AirTemperature, temperature);
            keep(&mut sample, Quantity::Humidity, humidity);
        }
        collection::measured(sample).await;

        let pool_used = node::snapshot().map_or(0, |snapshot| u32::from(snapshot.counters.pool_high_water));
        let capacity = u32::try_from(POOL_MAX).unwrap_or(u32::MAX);
        let load = meter.read(meters(), PoolUse { high_water: pool_used, capacity });
        let failure = failure_share(&history.runs, clock::uptime_s());
        let coefficient = Weights::EQUAL.coefficient(load, failure);
        say(Quantity::CpuLoad, millionths(load.cpu));
        say(Quantity::Airtime, millionths(load.bandwidth));
        say(Quantity::StackLeft, i32::try_from(crash::stack_left()).unwrap_or(i32::MAX));
        say(Quantity::Unfitness, i32::from(coefficient.0));
        say(Quantity::LateAnswers, i32::try_from(COUNTERS.late.load(Ordering::Relaxed)).unwrap_or(i32::MAX));
        if told.is_none_or(|before: Coefficient| before.0.abs_diff(coefficient.0) >= NOTEWORTHY) {
            told = Some(coefficient);
            node::tell(node::Told::Signal(Signal::Fitness(coefficient)));
        }
        if let Some(snapshot) = node::snapshot() {
            host::say(ToHost::Snapshot { at_us: clock::now().as_micros(), snapshot });
        }
        watch_for_silence();
    }
}

fn watch_for_silence() {
    if COUNTERS.silent_checks.load(Ordering::Relaxed) >= SILENT_CHECKS_MAX {
        COUNTERS.silent_checks.store(0, Ordering::Relaxed);
        defmt::warn!("the radio has heard nothing for ten minutes");
        host::say(ToHost::Warning(Warning::RadioSilence));
    }
}

fn meters() -> Meters {
    let on_air_us = COUNTERS.on_air_us.load(Ordering::Relaxed);
    Meters { now_us: stopwatch::for_meters(), asleep_us: executors::asleep_us(), on_air_us }
}

fn millionths(share: Share) -> i32 {
    i32::from(share.get()) * 100
}
