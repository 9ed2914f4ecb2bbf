//! Without the key an attacker can only jam: forged, replayed, truncated, flipped and random frames at running nodes.

use common::election::Algorithm;
use common::node::snapshot::Counters;
use common::rng::Rng;
use common::time::Duration;
use common::types::NodeId;

use crate::data::{collecting, measure};
use crate::ether::Ether;
use crate::insider::network;
use crate::mesh::{mesh, mesh_of, seconds};
use crate::rings::ring;

/// Frames thrown at nodes in one run.
const FRAMES: u32 = 1_000_000;

/// Bytes that no member has sent to this board now: made from frames that members did send.
fn hostile(rng: &mut Rng, heard: &[Vec<u8>]) -> Vec<u8> {
    let mut frame = heard[rng.below(u32::try_from(heard.len()).unwrap_or(1)) as usize].clone();
    let byte = |rng: &mut Rng| rng.next_u64().to_le_bytes()[0];
    let at = |rng: &mut Rng, frame: &[u8]| rng.below(u32::try_from(frame.len()).unwrap_or(1)) as usize;
    match rng.below(6) {
        // Replayed as it was.
        0 => {}
        // One to three bits flipped.
        1 => {
            let before = frame.clone();
            while frame == before {
                for _ in 0..=rng.below(3) {
                    let index = at(rng, &frame);
                    frame[index] ^= 1 << rng.below(8);
                }
            }
        }
        2 => frame.truncate(at(rng, &frame)),
        // With bytes behind it.
        3 => (0..=rng.below(8)).for_each(|_| frame.push(byte(rng))),
        // A true header, with a number to come, and random bytes behind it.
        4 if frame.len() > 14 => {
            frame[12] = byte(rng);
            frame[13] = frame[13].wrapping_add(1);
            frame[14..].iter_mut().for_each(|slot| *slot = byte(rng));
        }
        _ => {
            let length = rng.below(140);
            frame = (0..length).map(|_| byte(rng)).collect();
        }
    }
    frame
}

fn counters(ether: &Ether, board: usize) -> Counters {
    ether.boards[board].node.snapshot().counters
}

/// How many frames are thrown, over all algorithms; `RINGLEADER_HOSTILE=10000000` throws more.
fn frames() -> u32 {
    std::env::var("RINGLEADER_HOSTILE").ok().and_then(|text| text.parse().ok()).unwrap_or(FRAMES)
}

#[test]
fn a_million_hostile_frames_change_nothing() {
    let each = frames() / u32::try_from(Algorithm::ALL.len()).unwrap_or(1);
    for algorithm in Algorithm::ALL {
        stand(algorithm, each);
    }
}

/// Throws this many frames at five boards that run this algorithm.
fn stand(algorithm: Algorithm, frames: u32) {
    let seed = 11;
    let boards = 5;
    // With readings under way, so that every kind of frame is among those that are bent and thrown back.
    let mut ether = collecting(network(seed, algorithm), 1_000);
    // Everybody hears everybody, so whatever is repeated is known to be old.
    ether.cuts.clear();
    ether.heard = Some(Vec::new());
    measure(&mut ether, 30);
    let is_data = |frame: &&Vec<u8>| frame.len() > 18 && frame[9] & 3 == 3;
    let data: Vec<_> = ether.heard.iter().flatten().filter(is_data).cloned().collect();
    assert!(data.len() > 20);
    let mut rng = Rng::stream(seed, 99);
    let before: Vec<_> = (0..boards).map(|board| counters(&ether, board)).collect();
    let leader = ether.agreed(0..boards).expect("agreement");
    let mut thrown = 0;
    while thrown < frames {
        ether.run(seconds(1));
        // Old frames and frames of a moment ago.
        let heard = ether.heard.clone().expect("recorded");
        let recent = heard.len().saturating_sub(64);
        for round in 0..20_000_u32.min(frames - thrown) {
            let board = round as usize % boards;
            let from = match round % 16 {
                0..4 => &data,
                4..8 => &heard,
                _ => &heard[recent..],
            };
            let frame = hostile(&mut rng, from);
            let accepted = counters(&ether, board).accepted;
            ether.inject(board, &frame);
            assert_eq!(
                counters(&ether, board).accepted,
                accepted,
                "{algorithm:?}: {frame:?} was accepted, after {thrown}, seed {seed}"
            );
            thrown += 1;
        }
    }
    ether.run(seconds(5));
    assert_eq!(ether.agreed(0..boards), Some(leader), "{algorithm:?}, seed {seed}");
    for (board, before) in before.iter().enumerate() {
        let after = counters(&ether, board);
        let links = [before, &after].map(|counters| (counters.links_down, counters.links_up));
        assert_eq!(links[0], links[1], "{algorithm:?}, board {board}: {after:?}");
        assert_eq!(after.leader_changes, before.leader_changes, "{algorithm:?}, board {board}");
        let kinds = [after.forged, after.replayed, after.malformed, after.foreign];
        assert!(kinds.iter().all(|&count| count > frames / 200), "{algorithm:?}, board {board}: {kinds:?}");
    }
}

#[test]
fn every_frame_of_a_member_is_accepted_once() {
    let mut ether = mesh(3, 3, 0);
    ether.run(seconds(20));
    ether.heard = Some(Vec::new());
    let sum = |ether: &Ether, of: fn(&Counters) -> u32| (0..3).map(|board| of(&counters(ether, board))).sum::<u32>();
    let refused = |c: &Counters| c.foreign + c.malformed + c.forged + c.replayed + c.stale;
    let before = [sum(&ether, |c| c.accepted), sum(&ether, refused)];
    ether.run(seconds(60));
    let heard = ether.heard.take().expect("recorded");
    // Hellos are for everybody: each is accepted by the two others.
    let hellos = heard.iter().filter(|frame| frame.len() > 10 && frame[9] & 3 == 1).count();
    assert!(hellos > 100);
    assert!(sum(&ether, |c| c.accepted) - before[0] >= 2 * u32::try_from(hellos).unwrap_or(u32::MAX));
    assert_eq!(sum(&ether, refused), before[1]);
}

#[test]
fn replays_bring_no_link_up_or_down_whatever_has_happened_since() {
    for seed in 0..8 {
        let mut ether = mesh(seed, 3, 50);
        ether.heard = Some(Vec::new());
        ether.run(seconds(8));
        // Sessions come to an end in every way, so that there are frames of many.
        ether.part(true, |board| board == 0);
        ether.run(seconds(6));
        ether.part(false, |board| board == 0);
        ether.run(seconds(8));
        for board in 0..3 {
            ether.switch_off(board);
            ether.switch_on(board);
            ether.run(seconds(5));
        }
        let old = ether.heard.clone().expect("recorded");
        // Everything is thrown back at everybody, its own frames included, while links are up ...
        ether.loss = 0;
        ether.run(seconds(5));
        let links = |ether: &Ether| -> Vec<_> {
            (0..3).map(|board| (counters(ether, board).links_up, counters(ether, board).links_down)).collect()
        };
        let before = links(&ether);
        for frame in &old {
            (0..3).for_each(|board| ether.inject(board, frame));
        }
        assert_eq!(links(&ether), before, "seed {seed}");
        ether.run(seconds(5));
        assert_eq!(links(&ether), before, "seed {seed}");
        // ... and at a board that is alone and has just restarted, in the order in which it was sent.
        (0..3).for_each(|board| ether.switch_off(board));
        ether.switch_on(0);
        for frame in &old {
            ether.inject(0, frame);
            ether.run(common::time::Duration::from_millis(2));
        }
        assert_eq!(counters(&ether, 0).links_up, 0, "seed {seed}: a link to nobody");
        assert_eq!(ether.boards[0].node.leader(), Some(NodeId(1)), "seed {seed}");
    }
}

/// How long the others of eight boards take to replace their leader, which is switched off, while an outsider sends `noise`
/// each `every`; in milliseconds.
fn replaced_ms(mut ether: Ether, every: Option<Duration>, noise: Noise) -> u64 {
    ether.heard = Some(Vec::new());
    ether.run(seconds(20));
    let leader = ether.agreed(0..8).expect("agreement");
    let dead = usize::from(leader.0 - 1);
    ether.switch_off(dead);
    let recorded = ether.heard.take().expect("recorded");
    let killed = ether.now;
    let others = move || (0..8).filter(move |&board| board != dead);
    let is_replaced = move |ether: &Ether| ether.agreed(others()).is_some_and(|found| found != leader);
    let mut sent = 0;
    while ether.now < killed + seconds(60) {
        let step = every.unwrap_or(seconds(60));
        if ether.run_until(ether.now + step, is_replaced) {
            break;
        }
        let bytes = noise(&recorded, sent);
        others().for_each(|board| ether.inject(board, &bytes));
        sent += 1;
    }
    ether.now.since(killed).as_micros() / 1_000
}

/// What an outsider sends, of what it has recorded.
type Noise = fn(&[Vec<u8>], usize) -> Vec<u8>;

const BYTES: Noise = |_, at| vec![0x41, 0x88, at.to_le_bytes()[0]];
const REPEATED: Noise = |recorded, at| recorded[at % recorded.len()].clone();

/// Of one network, the time to replace a leader varies by a fifth for reasons of chance.
const NETWORKS: u64 = 24;

/// The bar: nothing that an outsider sends puts off an election by more than a tenth, whatever the algorithm.
fn is_not_put_off(network: fn(u64, Algorithm) -> Ether, noises: &[(u64, Noise)]) {
    let mut late = Vec::new();
    for algorithm in Algorithm::ALL {
        let sum = |every: Option<Duration>, noise: Noise| -> u64 {
            (0..NETWORKS).map(|seed| replaced_ms(network(seed, algorithm), every, noise)).sum()
        };
        let quiet = sum(None, BYTES);
        let took = noises.iter().map(|&(micros, noise)| sum(Some(Duration::from_micros(micros)), noise));
        let took: Vec<u64> = took.collect();
        println!("{algorithm:?}: {quiet} ms, and with noise {took:?}");
        if took.iter().any(|&took| took * 10 > quiet * 11) {
            late.push((algorithm, quiet, took));
        }
    }
    assert_eq!(late, [], "in ms over {NETWORKS} networks, and with each noise");
}

#[test]
fn an_election_waits_neither_for_noise_nor_for_what_is_repeated() {
    let room = |seed, algorithm: Algorithm| {
        let mut ether =
            if algorithm.needs_ring() { ring(seed, 8, 0, algorithm) } else { mesh_of(seed, 8, 0, algorithm) };
        ether.cuts.clear();
        ether
    };
    is_not_put_off(room, &[(1_300, BYTES), (1_300, REPEATED)]);
}

/// Where not everybody hears everybody, a recording is news to whoever has never heard its sender.
#[test]
fn an_election_does_not_wait_for_recordings_from_elsewhere() {
    let sparse = |seed, algorithm: Algorithm| {
        if algorithm.needs_ring() {
            return ring(seed, 8, 0, algorithm);
        }
        let mut ether = mesh_of(seed, 8, 0, algorithm);
        ether.cuts = ring(seed, 8, 0, Algorithm::Hs).cuts;
        ether
    };
    is_not_put_off(sparse, &[(1_300, REPEATED), (30_000, REPEATED)]);
}
