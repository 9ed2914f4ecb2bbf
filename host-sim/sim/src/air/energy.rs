//! What a run costs a node's battery, computed from the currents that the maker of the nRF52840 publishes. This project
//! has not measured any of them.
//!
//! All figures are typical values at 3 V and 25 °C with the DC/DC converter on, from the nRF52840 Product
//! Specification, "Current consumption". For the whole chip it lists, with the crystal oscillator running:
//!
//! | state | current | symbol |
//! |---|---|---|
//! | sending at +8 dBm | 16.40 mA | `IRADIO_TX0` |
//! | sending at 0 dBm, 802.15.4 | 6.40 mA | `IRADIO_TX5` |
//! | sending at -40 dBm | 3.83 mA | `IRADIO_TX2` |
//! | receiving 802.15.4 | 6.53 mA | `IRADIO_RX2` |
//! | processor at 64 MHz from flash, cache on | 3.3 mA | `ICPU0` |
//! | idle: crystal on, a counter at 1 MHz, processor and radio not | 0.646 mA | `ITIMER2` |
//! | asleep, all RAM kept, real-time counter running | 3.16 µA | `ION_RAMON_RTC` |
//!
//! The document lists +8 and -40 dBm for Bluetooth only. At 0 dBm, where it lists both, the two modes draw the same.
//!
//! A node that neither sends nor listens is idle: the firmware never stops the crystal that its radio needs.
//! Nor does the firmware ever sleep, so nothing here sleeps unless the caller says so.
//!
//! Asleep without RAM the chip draws only 1.50 µA. But a node that forgets its state cannot take part in an election,
//! so this model uses 3.16 µA.
//!
//! For the transmit powers in between, the same document lists only the radio's share ("TX only run current"): 2.3,
//! 2.7, 2.8, 3.0, 3.3, 3.1, 4.8, 9.6 and 14.8 mA at -40, -20, -16, -12, -8, -4, 0, +4 and +8 dBm. (Yes, less at -4 than
//! at -8.) These nine values and the last two rows above come from transcriptions of the document that others have
//! published.
//!
//! # How far off this can be
//!
//! - Where both are listed, the whole chip draws 1.60, 1.60 and 1.53 mA more than the radio alone. [`TX_UA`] adds 1.60
//!   mA at the six powers where only the radio's share is listed. Together with the rounding of that share this is good
//!   to 0.12 mA, 3 % of the smallest of them.
//! - Between listed powers the current is interpolated over the decibels. All that is certain is that it lies between
//!   its neighbours if it rises steadily. Interpolating over milliwatts would give up to 0.6 mA less between 0 and +8
//!   dBm.
//! - Ramps count at the full current, and so do the 150 µs after each frame sent, in which the radio turns round to
//!   listen. That is too much by less than 3 µC (0.001 µAh) per frame.
//! - A running processor adds what it draws beyond an idle chip, 2.65 mA, even while the radio is on. For both together
//!   the document lists 8.6 mA (`IS1`), which is 2.07 mA more than receiving. The estimate is thus up to a quarter too
//!   high.
//! - The processor's running time is an estimate: a frame received or sent takes 20,000 instructions of the firmware
//!   ([`FRAME_CPU_US`]), of 1.7 cycles each. The emulator counted both, with the instruction cache on.
//! - The model ignores waking up, sensors, leakage of the board, the battery's own losses, temperature and the spread
//!   between chips.
//!
//! Differences between algorithms on this model are therefore more reliable than the absolute figures.

use serde::Serialize;

use super::timing::RadioTiming;
use super::world::Usage;

/// The whole chip's current while it receives.
pub const RX_UA: f64 = 6_530.0;

/// The whole chip's current while its processor runs and its radio is off.
pub const CPU_UA: f64 = 3_300.0;

/// The whole chip's current while its crystal runs, but neither its radio nor its processor.
pub const IDLE_UA: f64 = 646.0;

/// How long the firmware's processor takes for a frame: 20,000 instructions of 1.7 cycles, at 64 MHz.
pub const FRAME_CPU_US: u64 = 530;

/// The whole chip's current while it sleeps with its memory and its clock preserved.
pub const SLEEP_UA: f64 = 3.16;

/// What the whole chip draws while it sends at a power.
#[derive(Clone, Copy, Debug)]
pub struct TxCurrent {
    pub dbm: f64,
    pub ua: f64,
}

const fn listed(dbm: f64, ua: f64) -> TxCurrent {
    TxCurrent { dbm, ua }
}

/// The whole chip's current while it sends, by rising power.
pub const TX_UA: [TxCurrent; 9] = [
    listed(-40.0, 3_830.0),
    listed(-20.0, 4_300.0),
    listed(-16.0, 4_400.0),
    listed(-12.0, 4_600.0),
    listed(-8.0, 4_900.0),
    listed(-4.0, 4_700.0),
    listed(0.0, 6_400.0),
    listed(4.0, 11_200.0),
    listed(8.0, 16_400.0),
];

/// The current while sending at this power, interpolated between the listed ones. It stays constant beyond both ends,
/// because the radio has no such powers.
pub fn tx_ua(tx_dbm: f64) -> f64 {
    let above = TX_UA.partition_point(|listed| listed.dbm < tx_dbm).clamp(1, TX_UA.len() - 1);
    let (low, high) = (TX_UA[above - 1], TX_UA[above]);
    let share = ((tx_dbm - low.dbm) / (high.dbm - low.dbm)).clamp(0.0, 1.0);
    low.ua + (high.ua - low.ua) * share
}

/// What a node did while it was on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    pub usage: Usage,
    pub tx_dbm: f64,
    pub cpu_us: u64,
    pub sleep_us: u64,
    pub elapsed_us: u64,
}

impl Activity {
    /// The activity of a node that never sleeps, and whose processor runs only while it handles a frame. A received
    /// frame takes the timing's mean processing time, if that is longer than [`FRAME_CPU_US`].
    pub fn new(usage: Usage, tx_dbm: f64, timing: RadioTiming, elapsed_us: u64) -> Self {
        let twice_the_mean = u64::from(timing.processing_min_us) + u64::from(timing.processing_max_us);
        let cpu_us = usage.received * FRAME_CPU_US.max(twice_the_mean / 2) + usage.sent * FRAME_CPU_US;
        Self { usage, tx_dbm, cpu_us, sleep_us: 0, elapsed_us }
    }

    pub fn cost(&self) -> Energy {
        let Self { usage: Usage { tx_us, rx_us, .. }, tx_dbm, cpu_us, sleep_us, elapsed_us } = *self;
        let idle_us = elapsed_us.saturating_sub(tx_us + rx_us + sleep_us);
        let tx_uah = charge_uah(tx_us, tx_ua(tx_dbm));
        let rx_uah = charge_uah(rx_us, RX_UA);
        let idle_uah = charge_uah(idle_us, IDLE_UA);
        let cpu_uah = charge_uah(cpu_us, CPU_UA - IDLE_UA);
        let sleep_uah = charge_uah(sleep_us, SLEEP_UA);
        let charge_uah = tx_uah + rx_uah + idle_uah + cpu_uah + sleep_uah;
        let hours = hours(elapsed_us);
        let per_hour = |quantity: f64| if elapsed_us == 0 { 0.0 } else { quantity / hours };
        Energy {
            charge_uah,
            tx_uah,
            rx_uah,
            idle_uah,
            cpu_uah,
            sleep_uah,
            mean_ua: per_hour(charge_uah),
            airtime_share: per_hour(self::hours(tx_us)),
        }
    }
}

/// The charge a node took from its battery.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// The total.
    pub charge_uah: f64,
    pub tx_uah: f64,
    pub rx_uah: f64,
    pub idle_uah: f64,
    /// For computing, in addition to what the rest of the chip drew meanwhile.
    pub cpu_uah: f64,
    pub sleep_uah: f64,
    /// The constant current that would have drawn the same charge; zero if no time has passed.
    pub mean_ua: f64,
    /// The share of the time spent sending, ramps included.
    pub airtime_share: f64,
}

fn charge_uah(micros: u64, current_ua: f64) -> f64 {
    hours(micros) * current_ua
}

#[expect(clippy::cast_precision_loss, reason = "2^53 microseconds are 285 years")]
fn hours(micros: u64) -> f64 {
    micros as f64 / 3.6e9
}

#[cfg(test)]
mod tests {
    use super::{Activity, FRAME_CPU_US, RX_UA, TX_UA, TxCurrent, tx_ua};
    use crate::air::index::NodeIndex;
    use crate::air::talker::room;
    use crate::air::timing::RadioTiming;
    use crate::air::world::{Nobody, Usage};

    const HOUR_US: u64 = 3_600_000_000;

    fn close(got: f64, expected: f64) -> bool {
        (got - expected).abs() <= expected.abs() * 1e-9
    }

    fn activity(tx_us: u64, rx_us: u64, cpu_us: u64, elapsed_us: u64) -> Activity {
        let sleep_us = elapsed_us.saturating_sub(tx_us + rx_us + cpu_us);
        Activity { usage: Usage { tx_us, rx_us, ..Usage::default() }, tx_dbm: 0.0, cpu_us, sleep_us, elapsed_us }
    }

    #[test]
    fn an_hour_with_a_bit_of_everything() {
        // Computed by hand: 1 % sending, 10 % listening, 0.1 % computing, 88.9 % asleep.
        let cost = activity(36_000_000, 360_000_000, 3_600_000, HOUR_US).cost();
        assert!(close(cost.tx_uah, 64.0), "{cost:?}");
        assert!(close(cost.rx_uah, 653.0), "{cost:?}");
        assert!(close(cost.cpu_uah + cost.idle_uah, 3.3), "{cost:?}");
        assert!(close(cost.sleep_uah, 2.809_24), "{cost:?}");
        assert!(close(cost.charge_uah, 723.109_24), "{cost:?}");
        assert!(close(cost.mean_ua, 723.109_24), "over an hour both are the same number: {cost:?}");
        assert!(close(cost.airtime_share, 0.01), "{cost:?}");
    }

    #[test]
    fn means_do_not_depend_on_how_long_it_lasted() {
        // One frame of 640 us a second at +8 dBm: 16.4 mA · 0.00064 + 3.16 µA · 0.99936 = 10.496 + 3.157 977 6 µA.
        for seconds in [1, 60, 86_400] {
            let usage = Usage { tx_us: 640 * seconds, ..Usage::default() };
            let sleep_us = (1_000_000 - 640) * seconds;
            let activity = Activity { usage, tx_dbm: 8.0, cpu_us: 0, sleep_us, elapsed_us: 1_000_000 * seconds };
            assert!(close(activity.cost().mean_ua, 13.653_977_6), "{:?}", activity.cost());
        }
    }

    #[test]
    fn listening_costs_three_orders_of_magnitude_more_than_sleeping() {
        let listening = activity(0, HOUR_US, 0, HOUR_US).cost();
        let sleeping = activity(0, 0, 0, HOUR_US).cost();
        assert!(close(listening.charge_uah, 6_530.0) && close(sleeping.charge_uah, 3.16));
        let orders = (listening.mean_ua / sleeping.mean_ua).log10();
        assert!((3.0..4.0).contains(&orders), "10^{orders}");
    }

    #[test]
    fn a_radio_that_neither_sends_nor_listens_nor_sleeps_is_idle() {
        let idle = Activity { sleep_us: 0, ..activity(0, 0, 0, HOUR_US) }.cost();
        assert!(close(idle.charge_uah, 646.0) && close(idle.idle_uah, 646.0), "{idle:?}");
        // A quarter of the time each: sending, listening, idle, asleep. The processor runs for half of the time.
        let quarter = HOUR_US / 4;
        let mixed = Activity { sleep_us: quarter, ..activity(quarter, quarter, HOUR_US / 2, HOUR_US) }.cost();
        let sum = mixed.tx_uah + mixed.rx_uah + mixed.idle_uah + mixed.cpu_uah + mixed.sleep_uah;
        assert!(close(sum, mixed.charge_uah) && close(mixed.cpu_uah, 1_327.0) && close(mixed.idle_uah, 161.5));
    }

    #[test]
    fn no_time_costs_nothing_and_too_much_activity_is_still_counted() {
        let nothing = activity(0, 0, 0, 0).cost();
        assert!(nothing.charge_uah == 0.0 && nothing.mean_ua == 0.0 && nothing.airtime_share == 0.0);
        // A frame that was cut off by a power loss counts in full.
        let cut_off = activity(640, 500, 0, 1_000).cost();
        assert!(cut_off.sleep_uah == 0.0 && close(cut_off.charge_uah, (640.0 * 6_400.0 + 500.0 * RX_UA) / 3.6e9));
    }

    #[test]
    fn listed_powers_have_their_listed_currents() {
        for TxCurrent { dbm, ua } in TX_UA {
            assert!(close(tx_ua(dbm), ua), "{dbm} dBm");
        }
        assert!(TX_UA.windows(2).all(|pair| pair[0].dbm < pair[1].dbm));
        for (dbm, current) in [(-60.0, 3_830.0), (2.0, 8_800.0), (-30.0, 4_065.0), (-5.0, 4_750.0), (20.0, 16_400.0)] {
            assert!(close(tx_ua(dbm), current), "{dbm} dBm: {}", tx_ua(dbm));
        }
    }

    #[test]
    fn the_stated_errors_hold() {
        // At the powers where the whole chip is listed too, the radio's share differs by 1.60 mA to within 0.07.
        for (dbm, radio_ua) in [(-40.0, 2_300.0), (0.0, 4_800.0), (8.0, 14_800.0)] {
            assert!((tx_ua(dbm) - radio_ua - 1_600.0).abs() <= 70.0 + 1e-9, "{dbm} dBm");
        }
        let milliwatts = |dbm: f64| 10_f64.powf(dbm / 10.0);
        let mut largest = 0.0_f64;
        for step in 0..=800 {
            let dbm = f64::from(step) / 100.0;
            let (low, high) = if dbm < 4.0 { (0.0, 4.0) } else { (4.0, 8.0) };
            let share = (milliwatts(dbm) - milliwatts(low)) / (milliwatts(high) - milliwatts(low));
            let other = tx_ua(low) + (tx_ua(high) - tx_ua(low)) * share;
            assert!(other <= tx_ua(dbm) + 1e-6);
            largest = largest.max(tx_ua(dbm) - other);
        }
        assert!((500.0..=600.0).contains(&largest), "{largest} uA");
    }

    #[test]
    fn a_run_of_radios_that_never_sleep_costs_about_what_listening_costs() {
        let mut world = room(4, &mut Nobody);
        world.run_until(10_000_000, &mut Nobody);
        let usage = world.usage(NodeIndex(0));
        let slow = RadioTiming { processing_max_us: 1_900, ..RadioTiming::EMBASSY };
        let activity = Activity::new(usage, 0.0, slow, world.now_us());
        assert_eq!(
            activity.cpu_us,
            usage.received * 1_000 + usage.sent * FRAME_CPU_US,
            "half-way between 100 and 1,900 us, and 20,000 instructions"
        );
        let activity = Activity::new(usage, 0.0, RadioTiming::EMBASSY, world.now_us());
        let fast = Activity::new(usage, 0.0, RadioTiming::FIRMWARE, world.now_us());
        assert_eq!(
            fast.cpu_us,
            (usage.received + usage.sent) * FRAME_CPU_US,
            "nobody is deaf meanwhile, but it takes its time"
        );
        let cost = activity.cost();
        assert!(usage.sent == 10 && usage.received >= 29, "{usage:?}");
        // Ten frames of 640 us and ten ramps of 129 us in ten seconds.
        assert!(close(cost.airtime_share, 769e-6), "{cost:?}");
        assert!((RX_UA * 0.99..RX_UA).contains(&cost.mean_ua), "{cost:?}");
    }
}
