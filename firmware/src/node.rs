//! Drives one node of the core with the board's clock.
//!
//! There is no radio yet, so there are no links: the node is alone on its ring and elects itself. What the driver does
//! with the core is otherwise what it will do with one.

use core::future::pending;

use common::coefficient::Coefficient;
use common::election::height::HeightOptions;
use common::election::hierarchy::Radii;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::engine::Engine;
use common::limits::MESSAGE_MAX;
use common::members::RingOrder;
use common::notice::Notice;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace};
use cortex_m::peripheral::SCB;
use embassy_time::{TICK_HZ, Timer};

/// One hop is a frame of 4 ms on the air, its acknowledgement and some backing off before each.
pub const TIMING: Timing = Timing {
    hop: Duration::from_millis(20),
    answer: Duration::from_millis(100),
    patience: Duration::from_millis(10_000),
};

/// A local leader within two hops of everybody, where the hierarchy is chosen.
const RADII: [u8; 1] = [2];

const MICROS_PER_SECOND: u64 = 1_000_000;

/// A node that is alone on its ring.
pub fn alone(id: NodeId, seed: u64, algorithm: Algorithm) -> Engine<Election> {
    let order = defmt::unwrap!(RingOrder::new(&[id]));
    let place = RingPlace { left: id, right: id };
    Engine::new(id, seed, Election::new(id, config(algorithm, order, place)))
}

/// How a node of this image is set up.
pub fn config(algorithm: Algorithm, order: RingOrder, place: RingPlace) -> ElectionConfig {
    let (coefficient, height) = (Coefficient::default(), HeightOptions::default());
    ElectionConfig {
        algorithm,
        order,
        place,
        coefficient,
        height,
        radii: defmt::unwrap!(Radii::new(&RADII)),
        timing: TIMING,
    }
}

/// Runs the node for ever.
#[embassy_executor::task]
pub async fn run(mut engine: Engine<Election>) -> ! {
    engine.handle_start(now());
    loop {
        drain(&mut engine);
        match engine.poll_timeout() {
            Some(deadline) => Timer::at(tick_at_or_after(deadline)).await,
            // Without a radio nothing else can happen to the node.
            None => pending().await,
        }
        engine.handle_timeout(now());
    }
}

/// Collects everything the node has to say.
fn drain(engine: &mut Engine<Election>) {
    let mut buf = [0; MESSAGE_MAX];
    while let Some(transmit) = engine.poll_transmit(&mut buf) {
        defmt::warn!("no radio: {} bytes for node {} are lost", transmit.bytes.len(), transmit.to);
    }
    while let Some(notice) = engine.poll_notice() {
        match notice {
            Notice::Fault(fault) => {
                // The state of the core and what it sent no longer agree.
                defmt::error!("defect: {}; restarting", fault);
                SCB::sys_reset();
            }
            Notice::Leader(leader) => defmt::info!("leader {}", leader),
            other => defmt::info!("{}", other),
        }
    }
}

fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

/// The first tick of the board's clock that is not before `deadline`. One that was rounded down would wake the node
/// too early, again and again until the deadline has really come.
const fn tick_at_or_after(deadline: Instant) -> embassy_time::Instant {
    // In two parts, since the product of a whole deadline and the rate would overflow within eighteen years.
    let (seconds, micros) = (deadline.as_micros() / MICROS_PER_SECOND, deadline.as_micros() % MICROS_PER_SECOND);
    let ticks = seconds.saturating_mul(TICK_HZ).saturating_add((micros * TICK_HZ).div_ceil(MICROS_PER_SECOND));
    embassy_time::Instant::from_ticks(ticks)
}

const _: () = {
    assert!(tick_at_or_after(Instant::from_micros(0)).as_ticks() == 0);
    assert!(tick_at_or_after(Instant::from_micros(1)).as_ticks() == 1);
    assert!(tick_at_or_after(Instant::from_micros(31)).as_ticks() == 2);
    assert!(tick_at_or_after(Instant::from_millis(1_000)).as_ticks() == TICK_HZ);
    assert!(tick_at_or_after(Instant::from_micros(1_000_001)).as_ticks() == TICK_HZ + 1);
    assert!(tick_at_or_after(Instant::from_micros(u64::MAX)).as_ticks() > u64::MAX / MICROS_PER_SECOND);
};
