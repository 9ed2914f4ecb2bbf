//! What strangers can do on the air: invalid lengths, endless noise, and replayed frames.

use common::config::Config;
use emulator::phy::{Frame, PSDU_MAX};

use super::bench::{Bench, MS, config, provisioned};

/// The channel of all boards here.
const CHANNEL: u8 = 15;

/// What leaves boards most of the channel. Without it they would be jammed for seconds and let go of each other, which another
/// test is about.
const PAUSE_MS: u64 = 20;

fn two() -> Bench {
    Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &config(2))])
}

fn resets(bench: &Bench) -> u32 {
    bench.network.boards().iter().map(|board| board.counts().watchdog_resets + board.counts().lockups).sum()
}

fn inject(bench: &mut Bench, frame: Frame) {
    let (now, airtime) = (bench.network.now(), frame.airtime());
    bench.network.ether_mut().inject(now, frame, CHANNEL);
    bench.run_ms(airtime.div_ceil(MS));
}

#[test]
fn impossible_lengths_do_nothing() {
    let mut bench = two();
    let leader = bench.elect(30);
    let before = bench.snapshot(0);
    for _ in 0..20 {
        for length in [0, 1, 2, 3, 126, 127, 128, 129, 200, 254, 255] {
            for bytes in [0, 1, usize::from(length).min(PSDU_MAX), PSDU_MAX] {
                inject(&mut bench, Frame { length, psdu: vec![length ^ 0x5A; bytes] });
                bench.run_ms(PAUSE_MS);
            }
        }
        // A sound checksum on nothing at all.
        inject(&mut bench, Frame::new(&[]));
        inject(&mut bench, Frame::new(&[0x41]));
    }
    assert_eq!(bench.elect(5), leader);
    let after = bench.snapshot(0);
    assert_eq!((after.counters.leader_changes, resets(&bench)), (before.counters.leader_changes, 0));
    assert!(after.counters.malformed > before.counters.malformed, "{:?}", after.counters);
}

#[test]
fn noise_without_end_is_outlived() {
    let mut bench = two();
    bench.elect(30);
    let (before, frames) = (bench.snapshot(0), bench.network.ether_mut().sent.len());
    // For half a minute the channel is never clear: one long frame follows another.
    let long = Frame::new(&[0x3C; PSDU_MAX - 2]);
    let end = bench.network.now() + 30_000 * MS;
    while bench.network.now() < end {
        let now = bench.network.now();
        bench.network.ether_mut().inject(now, long.clone(), CHANNEL);
        bench.network.run_until(now + long.airtime() + 64);
    }
    assert_eq!(resets(&bench), 0);
    let during = bench.network.ether_mut().sent.len() - frames;
    assert!(during < 20, "{during} frames were sent onto a busy channel");
    let after = bench.snapshot(0);
    assert!(after.counters.busy > before.counters.busy, "{:?}", after.counters);
    bench.elect(60);
}

#[test]
fn the_epoch_outlives_resets_and_old_frames_are_refused() {
    let mut bench = two();
    assert_eq!((0..2).map(|number| bench.hello(number).epoch).collect::<Vec<_>>(), [Some(1); 2]);
    bench.elect(30);
    bench.run_ms(5_000);
    let of_first = |bench: &mut Bench| -> Vec<Frame> {
        let sent = bench.network.ether_mut().sent.iter();
        sent.filter(|(from, ..)| *from == 0).map(|(_, frame, _)| frame.clone()).collect()
    };
    let old = of_first(&mut bench);
    assert!(old.len() > 5, "{} frames", old.len());

    bench.network.board(0).reset();
    assert_eq!(bench.hello(0).epoch, Some(2), "the pin");
    // A supply that breaks down at once makes a board wait; a plug that somebody pulls does not.
    bench.run_ms(3_000);
    bench.network.power_off(0);
    bench.run_ms(100);
    bench.network.power_on(0);
    assert_eq!(bench.hello(0).epoch, Some(3), "the power");
    bench.elect(60);

    // The second board knows the first one's present epoch.
    let before = bench.snapshot(1);
    for frame in old.iter().take(50) {
        inject(&mut bench, frame.clone());
    }
    let after = bench.snapshot(1);
    let refused = after.counters.replayed + after.counters.stale - before.counters.replayed - before.counters.stale;
    assert!(refused > 5, "{refused} of {} refused: {:?}", old.len(), after.counters);
    assert_eq!((after.leader, after.links_up), (before.leader, 1));

    // It restarts, knows nobody, and only receives what the first one once sent, so no link comes up.
    bench.network.power_off(0);
    bench.network.board(1).reset();
    assert_eq!(bench.hello(1).epoch, Some(2));
    bench.run_ms(3_000);
    for frame in of_first(&mut bench) {
        inject(&mut bench, frame);
        bench.run_ms(20);
    }
    let alone = bench.snapshot(1);
    assert_eq!((alone.links_up, alone.counters.links_up), (0, 0), "{:?}", alone.counters);
    assert!(alone.counters.accepted + alone.counters.replayed + alone.counters.stale > 0, "{:?}", alone.counters);
}

#[test]
fn another_channel_hears_nothing() {
    let far = Config { channel: 16, ..config(2) };
    let mut bench = Bench::new(vec![provisioned(1, &config(1)), provisioned(2, &far)]);
    bench.run_ms(10_000);
    assert_eq!((bench.snapshot(0).heard, bench.snapshot(1).heard), (0, 0));
}
