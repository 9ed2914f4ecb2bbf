//! How fast the simulated air is.

use std::time::Instant as WallClock;

use serde::Serialize;
use sim::air::beacons::Beacons;
use sim::air::medium::{Fates, Medium, Rules};
use sim::air::propagation::Propagation;
use sim::air::timing::RadioTiming;

use super::machine::{peak_memory, processor_seconds};

/// Whose receivers are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Those of the rest of the project.
    Usual,
    /// Those of ns-3's lr-wpan module.
    Ns3,
}

impl Model {
    /// The noise floor in dBm. That of ns-3 is thermal noise of 290 K in the five bands of 1 MHz that it adds up, with a
    /// noise factor of 1 (its `lr-wpan-spectrum-value-helper.cc` of July 2026).
    pub const fn noise_dbm(self) -> f64 {
        match self {
            Self::Usual => -100.5,
            Self::Ns3 => -106.99,
        }
    }

    const fn rules(self) -> Rules {
        match self {
            Self::Usual => Rules::USUAL,
            Self::Ns3 => Rules::NS3,
        }
    }

    /// The workload is about the air, so nodes process frames in no time. The radio of ns-3 senses the channel without a
    /// ramp, and turns around in twelve symbols of 16 us.
    const fn timing(self) -> RadioTiming {
        let embassy = RadioTiming { processing_min_us: 0, processing_max_us: 0, ..RadioTiming::EMBASSY };
        match self {
            Self::Usual => embassy,
            Self::Ns3 => RadioTiming { rx_ramp_us: 0, tx_ramp_us: 192, disable_us: 192, ..embassy },
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub nodes: usize,
    pub seconds: u32,
    pub sent: u64,
    /// Frames received intact, over all receivers.
    pub received: u64,
    /// Whose receivers were simulated.
    pub model: Model,
    /// Pairs of a frame and a radio at which it was strong enough to be received; the next six add up to it, with `received`.
    pub in_range: u64,
    /// Of those: the radio was sending or sensing the channel.
    pub half_duplex: u64,
    /// The radio was receiving another frame and stayed with it.
    pub occupied: u64,
    /// Interference hid its preamble.
    pub buried: u64,
    /// A stronger frame took over.
    pub overtaken: u64,
    /// The radio began to sense or to send during reception, or the run ended.
    pub unfinished: u64,
    /// Frames that a receiver had locked on to and found damaged.
    pub damaged: u64,
    /// Events of the queue.
    pub events: u64,
    /// Seconds it took.
    pub wall_seconds: f64,
    /// Of those, to compute who reaches whom before the first frame.
    pub setup_seconds: f64,
    /// Processor time in seconds, if the system reports it; less than the wall time on a busy machine.
    pub cpu_seconds: Option<f64>,
    /// Signals that arrived at radios, for most of them only as interference.
    pub arrivals: u64,
    /// Nanoseconds of processor time (or else wall time) per frame received, after the setup.
    pub ns_per_reception: f64,
    /// The same per signal that arrived.
    pub ns_per_arrival: f64,
    /// Peak memory of the process so far in MiB, if the system reports it.
    pub peak_mib: Option<u64>,
}

/// Longer runs than this many seconds, an hour, are not measured.
pub const SECONDS_MAX: u32 = 3_600;

pub fn measure(nodes: usize, seconds: u32, spacing: f64, model: Model, noise_dbm: f64, seed: u64) -> Outcome {
    let propagation = Propagation { noise_dbm, ..Propagation::plain(seed) };
    let medium = Medium::with_rules(propagation, None, seed, model.rules());
    let mut beacons = Beacons::new(medium, model.timing(), nodes, spacing, seed);
    let start = (WallClock::now(), processor_seconds());
    beacons.set_up();
    let setup_seconds = start.0.elapsed().as_secs_f64();
    let set_up = processor_seconds();
    beacons.run(seconds);
    let wall_seconds = start.0.elapsed().as_secs_f64();
    let end = processor_seconds();
    let since = |from: Option<f64>| from.zip(end).map(|(from, end)| end - from);
    let cpu_seconds = since(start.1);
    let received = beacons.total(|usage| usage.received);
    let fates = beacons.fates();
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
    let per = |count: u64| since(set_up).unwrap_or(wall_seconds - setup_seconds) * 1e9 / count.max(1) as f64;
    let Fates { in_range, not_listening, occupied, buried, overtaken, damaged, intact, .. } = fates;
    Outcome {
        nodes,
        seconds,
        sent: beacons.total(|usage| usage.sent),
        received,
        model,
        in_range,
        half_duplex: not_listening,
        occupied,
        buried,
        overtaken,
        unfinished: in_range - not_listening - occupied - buried - overtaken - damaged - intact,
        damaged,
        events: beacons.events(),
        wall_seconds,
        setup_seconds,
        cpu_seconds,
        arrivals: fates.arrivals,
        ns_per_reception: per(received),
        ns_per_arrival: per(fates.arrivals),
        peak_mib: peak_memory().map(|bytes| bytes >> 20),
    }
}
