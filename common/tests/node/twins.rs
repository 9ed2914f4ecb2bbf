//! Two boards with one id.

use common::config::{Config, IdSource, NetworkKey, Protection};
use common::notice::Notice;
use common::protocol::Signal;
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::seconds;

/// Three boards, of which the first two have one id.
fn twins(seed: u64, id_source: IdSource, are_hidden: bool) -> Ether {
    let config =
        |id| Config { id_source, ..Config::ad_hoc(NodeId(id), 7, Protection::Ascon(NetworkKey::new([9; 16]))) };
    let mut ether = Ether::new(seed, 0, [5, 5, 8].map(config));
    if are_hidden {
        ether.cut(0, 1);
    }
    ether
}

fn is_twin(notice: Notice) -> bool {
    notice == Notice::Twin(NodeId(5))
}

/// The twins start in every order: together, one after the other, and one of them with many boots behind it.
fn begin(ether: &mut Ether, seed: u64) {
    match seed % 3 {
        0 => ether.switch_on_all(),
        1 => {
            ether.switch_on(2);
            ether.switch_on(0);
            ether.run(seconds(5));
            ether.switch_on(1);
        }
        _ => {
            ether.boards[0].epoch = 5;
            ether.switch_on(2);
            ether.switch_on(0);
            ether.run(seconds(5));
            ether.switch_on(1);
        }
    }
}

#[test]
fn provisioned_twins_are_reported_by_both_and_keep_their_id() {
    for are_hidden in [false, true] {
        for seed in 0..12 {
            let mut ether = twins(seed, IdSource::Provisioned, are_hidden);
            begin(&mut ether, seed);
            ether.run(seconds(20));
            for board in 0..2 {
                assert!(
                    ether.count(board, |&notice| is_twin(notice)) > 0,
                    "board {board}, seed {seed}, hidden: {are_hidden}"
                );
                assert_eq!(ether.boards[board].node.id(), NodeId(5));
            }
            let heard = ether.count(2, |notice| *notice == Notice::TwinsHeard(NodeId(5)));
            assert!(heard > 0, "the third board, seed {seed}, hidden: {are_hidden}");
        }
    }
}

#[test]
fn twins_whose_id_came_from_the_chip_take_others_and_the_network_agrees() {
    for are_hidden in [false, true] {
        for seed in 0..12 {
            let mut ether = twins(seed, IdSource::Chip, are_hidden);
            begin(&mut ether, seed);
            ether.run(seconds(60));
            let ids = [0, 1].map(|board: usize| ether.boards[board].node.id());
            assert_ne!(ids[0], ids[1], "seed {seed}, hidden: {are_hidden}");
            for board in 0..2 {
                assert!(
                    ether.count(board, |&notice| is_twin(notice)) > 0,
                    "board {board}, seed {seed}, hidden: {are_hidden}"
                );
            }
            let leader = ether.agreed([0, 1, 2]);
            assert!(leader.is_some(), "seed {seed}, hidden: {are_hidden}: {:?}", ether.boards[2].node.snapshot());
        }
    }
}

/// A line of six boards, of which both ends have the id 7: no board hears both.
fn far_twins(seed: u64) -> Ether {
    let config = |id| Config::ad_hoc(NodeId(id), 7, Protection::Ascon(NetworkKey::new([9; 16])));
    let mut ether = Ether::new(seed, 0, [7, 2, 3, 4, 5, 7].map(config));
    for (a, b) in (0..6_usize).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| a - b > 1) {
        ether.cut(a, b);
    }
    ether.switch_on_all();
    ether
}

#[test]
fn twins_that_nobody_hears_both_of_do_not_fill_the_channel_and_are_told_of() {
    for seed in 0..6 {
        let mut ether = far_twins(seed);
        ether.run(seconds(20));
        let pressed = if seed % 2 == 0 { 0 } else { 5 };
        ether.signal(pressed, Signal::Elect);
        ether.run(seconds(20));
        ether.heard = Some(Vec::new());
        ether.run(seconds(60));
        let a_second = ether.heard.take().expect("recorded").len() / 60;
        assert!(a_second < 30, "seed {seed}: {a_second} frames a second");
        let told = [0, 5].map(|board| ether.count(board, |notice| *notice == Notice::Twin(NodeId(7))));
        assert!(told.iter().sum::<usize>() > 0, "seed {seed}: nobody was told");
    }
}
