use std::collections::BTreeMap;

use super::{Bursts, Medium, Reception, Tuning, weighed_bits};
use crate::air::airtime_us;
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::oqpsk::packet_error_rate;
use crate::air::propagation::{Point, Propagation, Spreading};

const NOISE_DBM: f64 = -100.0;

/// Radios with the given losses between them. All send at 0 dBm on channel 15, and all listen.
fn medium(radios: usize, losses: &[((usize, usize), f64)], seed: u64) -> Medium {
    let spreading =
        Spreading::Table(losses.iter().map(|&((from, to), db)| ((NodeIndex(from), NodeIndex(to)), db)).collect());
    let propagation = Propagation { spreading, noise_dbm: NOISE_DBM, ..Propagation::plain(seed) };
    let mut medium = Medium::new(propagation, None, seed);
    for _ in 0..radios {
        medium.add(Point::ORIGIN, Tuning { channel: 15, tx_dbm: 0.0 });
    }
    (0..radios).for_each(|radio| medium.listen(RadioIndex(radio), true));
    medium
}

/// Sends frames given as (start, sender, bytes). Returns the frames that radio `at` locked on to: the sender, and
/// whether the frame was intact.
fn heard(medium: &mut Medium, at: usize, frames: &[(u64, usize, usize)]) -> Vec<(usize, bool)> {
    let mut moments: Vec<(u64, bool, usize)> = frames
        .iter()
        .enumerate()
        .flat_map(|(index, &(start, _, psdu))| [(start, true, index), (start + airtime_us(psdu), false, index)])
        .collect();
    moments.sort_unstable();
    let mut on_air = BTreeMap::new();
    let mut found = Vec::new();
    for (time, begins, index) in moments {
        let from = RadioIndex(frames[index].1);
        if begins {
            medium.listen(from, false);
            on_air.insert(index, medium.begin_frame(time, from));
        } else {
            medium.end(time, on_air[&index], |Reception { to, intact, .. }| {
                if to == RadioIndex(at) {
                    found.push((from.0, intact));
                }
            });
            medium.listen(from, true);
        }
    }
    found
}

#[test]
fn losses_follow_the_closed_formula_at_ten_points() {
    let psdu = 40;
    let bits = u32::try_from(weighed_bits(psdu)).unwrap();
    for point in 0..10 {
        // From almost total loss to almost none.
        let snr_db = -0.9 + 0.25 * f64::from(point);
        let mut medium = medium(2, &[((0, 1), 100.0 - snr_db)], 11);
        let rounds = 60_000_u64;
        let received =
            (0..rounds).filter(|round| heard(&mut medium, 1, &[(round * 10_000, 0, psdu)]) == [(0, true)]).count();
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let measured = 1.0 - received as f64 / rounds as f64;
        let formula = packet_error_rate(10_f64.powf(snr_db / 10.0), bits);
        assert!((measured - formula).abs() < 0.01, "{snr_db} dB: measured {measured}, formula {formula}");
    }
}

#[test]
fn a_signal_too_weak_to_find_is_not_even_damaged() {
    let mut medium = medium(2, &[((0, 1), 102.0)], 1);
    assert_eq!(heard(&mut medium, 1, &[(0, 0, 20)]), []);
}

#[test]
fn two_equal_frames_that_overlap_are_both_lost() {
    let mut medium = medium(3, &[((0, 2), 60.0), ((1, 2), 60.0)], 1);
    assert_eq!(heard(&mut medium, 2, &[(0, 0, 40), (300, 1, 40)]), [(0, false)]);
    assert_eq!(heard(&mut medium, 2, &[(100_000, 0, 40), (100_000, 1, 40)]), [(0, false)]);
}

#[test]
fn a_frame_six_decibels_stronger_survives_if_it_is_there_during_the_preamble() {
    let losses = [((0, 2), 60.0), ((1, 2), 66.0)];
    let mut first = medium(3, &losses, 1);
    assert_eq!(heard(&mut first, 2, &[(0, 0, 40), (300, 1, 40)]), [(0, true)], "the strong one first");
    assert_eq!(
        heard(&mut first, 2, &[(90_000, 1, 40), (90_100, 0, 40)]),
        [(0, true)],
        "within the weak one's preamble"
    );
    assert_eq!(heard(&mut first, 2, &[(180_000, 1, 40), (180_400, 0, 40)]), [(1, false)], "too late: both are lost");
}

#[test]
fn a_short_collision_only_counts_while_it_lasts() {
    // The powers are almost equal, but the second frame overlaps only the very last bits of the first.
    let mut medium = medium(3, &[((0, 2), 60.0), ((1, 2), 61.5)], 3);
    let lost = |medium: &mut Medium, overlap_us: u64| {
        let end = airtime_us(100);
        (0..400_u64)
            .filter(|round| {
                let start = round * 1_000_000;
                heard(medium, 2, &[(start, 0, 100), (start + end - overlap_us, 1, 100)]).first() != Some(&(0, true))
            })
            .count()
    };
    let (little, much) = (lost(&mut medium, 8), lost(&mut medium, 3_000));
    assert!(little < much, "{little} lost with two bits hit, {much} with nearly all");
}

#[test]
fn a_sender_hears_nothing() {
    let both = [((0, 1), 60.0), ((1, 0), 60.0)];
    let mut medium = medium(2, &both, 1);
    assert_eq!(heard(&mut medium, 1, &[(0, 0, 40), (50, 1, 40)]), []);
}

#[test]
fn other_channels_are_other_worlds() {
    let mut medium = medium(3, &[((0, 2), 60.0), ((1, 2), 60.0)], 1);
    medium.retune(RadioIndex(1), Tuning { channel: 20, tx_dbm: 0.0 });
    assert_eq!(heard(&mut medium, 2, &[(0, 0, 40), (300, 1, 40)]), [(0, true)]);
    medium.retune(RadioIndex(2), Tuning { channel: 20, tx_dbm: 0.0 });
    assert_eq!(heard(&mut medium, 2, &[(90_000, 0, 40), (90_300, 1, 40)]), [(1, true)]);
}

#[test]
fn a_receiver_that_is_turned_off_loses_its_frame() {
    let mut medium = medium(2, &[((0, 1), 60.0)], 1);
    let on = medium.begin_frame(0, RadioIndex(0));
    assert!(medium.is_locked(RadioIndex(1)));
    medium.listen(RadioIndex(1), false);
    medium.listen(RadioIndex(1), true);
    medium.end(1_000, on, |reception| panic!("{reception:?}"));
}

#[test]
fn assessment_finds_energy_and_carriers() {
    let mut medium = medium(3, &[((0, 1), 90.0), ((2, 1), 70.0)], 1);
    let assess = |medium: &mut Medium, start: u64| {
        medium.begin_cca(start, RadioIndex(1));
        medium.end_cca(start + 128, RadioIndex(1))
    };
    assert!(!assess(&mut medium, 0), "nothing but noise");
    let weak = medium.begin_frame(1_000, RadioIndex(0));
    assert!(assess(&mut medium, 1_200), "far below the energy threshold, but a carrier");
    medium.end(3_000, weak, |_| ());
    let noise = medium.begin_noise(4_000, RadioIndex(2));
    assert!(assess(&mut medium, 4_500), "no carrier, but energy");
    medium.end(5_000, noise, |_| ());
    // A burst that fills a small part of the window does not lift the mean to the threshold.
    medium.begin_cca(6_000, RadioIndex(1));
    let blip = medium.begin_noise(6_010, RadioIndex(2));
    medium.end(6_020, blip, |_| ());
    assert!(!medium.end_cca(6_128, RadioIndex(1)), "-70 dBm for 10 of 128 us is -81 dBm");
}

#[test]
fn noise_is_no_carrier_and_hides_none() {
    // Radio 2 would be loud enough to decode if it sent a frame.
    let mut medium = medium(3, &[((0, 1), 90.0), ((2, 1), 85.0)], 1);
    let carrier = |medium: &mut Medium, start: u64| {
        medium.begin_cca(start, RadioIndex(1));
        medium.take_cca(start + 128, RadioIndex(1)).unwrap().carrier
    };
    let noise = medium.begin_noise(0, RadioIndex(2));
    assert!(!carrier(&mut medium, 100));
    let frame = medium.begin_frame(1_000, RadioIndex(0));
    assert!(carrier(&mut medium, 1_200), "a frame beside the noise");
    medium.end(3_000, frame, |_| ());
    assert!(!carrier(&mut medium, 3_100));
    medium.end(4_000, noise, |_| ());
    let frame = medium.begin_frame(5_000, RadioIndex(0));
    assert!(carrier(&mut medium, 5_200), "a frame after the noise");
    medium.retune(RadioIndex(1), Tuning { channel: 15, tx_dbm: 4.0 });
    assert!(!carrier(&mut medium, 5_400), "of a frame that it has tuned away from a radio finds nothing");
    medium.end(7_000, frame, |_| ());
    assert!(!carrier(&mut medium, 7_100));
}

#[test]
fn a_frame_across_the_end_of_the_short_time_is_weighed_like_any_other() {
    // Receivers keep the low 32 bits of the time. At -0.4 dB some frames are lost and others are not.
    let turn = 1_u64 << 32;
    let mut fates = [0, 0];
    for round in 0..400 {
        let mut medium = medium(2, &[((0, 1), 100.4)], round);
        for (fate, start) in fates.iter_mut().zip([turn - 1_000, turn + 5_000]) {
            *fate += heard(&mut medium, 1, &[(start, 0, 60)]).iter().filter(|&&heard| heard == (0, true)).count();
        }
    }
    assert!(fates.iter().all(|intact| (60..340).contains(intact)), "{fates:?}");
    assert!(fates[0].abs_diff(fates[1]) < 80, "{fates:?}");
    // A stronger frame takes over only during the preamble.
    let losses = [((0, 2), 60.0), ((1, 2), 66.0)];
    let start = turn - 50;
    assert_eq!(heard(&mut medium(3, &losses, 1), 2, &[(start, 1, 40), (start + 100, 0, 40)]), [(0, true)]);
    assert_eq!(heard(&mut medium(3, &losses, 1), 2, &[(start, 1, 40), (start + 400, 0, 40)]), [(1, false)]);
}

#[test]
fn what_comes_and_goes_leaves_nothing_behind() {
    let mut medium = medium(4, &[((0, 3), 60.0), ((1, 3), 95.0), ((2, 3), 40.0)], 1);
    let quiet = medium.power_at(RadioIndex(3));
    heard(&mut medium, 3, &[(0, 0, 40), (100, 1, 90), (200, 2, 10)]);
    assert_eq!(medium.power_at(RadioIndex(3)), quiet);
}

#[test]
fn fades_take_their_share_of_the_time() {
    let spreading = Spreading::Table([((NodeIndex(0), NodeIndex(1)), 80.0)].into());
    let propagation = Propagation { spreading, noise_dbm: NOISE_DBM, ..Propagation::plain(5) };
    let bursts = Bursts { good_us: 2_000_000, bad_us: 150_000, loss_db: 40.0 };
    let mut medium = Medium::new(propagation, Some(bursts), 5);
    for _ in 0..2 {
        medium.add(Point::ORIGIN, Tuning { channel: 15, tx_dbm: 0.0 });
    }
    medium.listen(RadioIndex(1), true);
    let frames = 20_000_u64;
    let got = (0..frames).filter(|n| heard(&mut medium, 1, &[(n * 200_000, 0, 20)]) == [(0, true)]).count();
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = 1.0 - got as f64 / frames as f64;
    assert!((share - 150.0 / 2_150.0).abs() < 0.015, "{share} of the frames fell into fades");
}
