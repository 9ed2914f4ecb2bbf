//! Ad hoc networks find each other, elect, lose their leader and elect again.

use common::config::{Config, NetworkKey, Protection};
use common::election::Algorithm;
use common::time::Duration;
use common::types::NodeId;

use crate::ether::Ether;

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1_000)
}

pub fn mesh(seed: u64, nodes: u16, loss: u32) -> Ether {
    mesh_of(seed, nodes, loss, Algorithm::Height)
}

pub fn mesh_of(seed: u64, nodes: u16, loss: u32, algorithm: Algorithm) -> Ether {
    let key = || Protection::Ascon(NetworkKey::new([9; 16]));
    let radii = if algorithm == Algorithm::Hierarchy { [2, 0, 0] } else { [0; 3] };
    let config = |id| Config { algorithm, radii, ..Config::ad_hoc(NodeId(id), 7, key()) };
    let mut ether = Ether::new(seed, loss, (1..=nodes).map(config));
    ether.switch_on_all();
    ether
}

#[test]
fn two_boards_agree_and_part() {
    let mut ether = mesh(1, 2, 0);
    ether.run(seconds(3));
    let leader = ether.agreed([0, 1]);
    assert!(leader.is_some(), "{:?}", ether.boards[0].notices);
    ether.switch_off(1);
    ether.run(seconds(5));
    assert_eq!(ether.boards[0].node.leader(), Some(NodeId(1)));
    ether.switch_on(1);
    ether.run(seconds(6));
    assert!(ether.agreed([0, 1]).is_some());
}

#[test]
fn a_lost_leader_is_replaced_within_five_seconds_although_frames_are_lost() {
    let mut times = Vec::new();
    for seed in 0..20 {
        let mut ether = mesh(seed, 12, 200);
        ether.run(seconds(12));
        let leader = ether.agreed(0..12).unwrap_or_else(|| panic!("no agreement with seed {seed}"));
        let dead = usize::from(leader.0 - 1);
        ether.switch_off(dead);
        let killed = ether.now;
        let others = move || (0..12).filter(move |&board| board != dead);
        let is_replaced =
            ether.run_until(killed + seconds(8), |ether| ether.agreed(others()).is_some_and(|new| new != leader));
        assert!(is_replaced, "no new leader with seed {seed}");
        times.push(ether.now.since(killed).as_micros() / 1_000);
    }
    assert!(times.iter().all(|&time| time < 5_000), "{times:?}");
}

#[test]
fn links_hold_although_a_fifth_of_all_frames_is_lost() {
    let downs =
        |ether: &Ether| -> u32 { ether.boards.iter().map(|board| board.node.snapshot().counters.links_down).sum() };
    let mut broken = 0;
    for seed in 0..6 {
        let mut ether = mesh(seed, 16, 200);
        ether.run(seconds(10));
        let before = downs(&ether);
        ether.run(seconds(120));
        assert!(ether.agreed(0..16).is_some(), "seed {seed}");
        broken += downs(&ether) - before;
    }
    // Of 120 links, at both ends: chance takes a whole row of attempts now and then, but hardly ever.
    assert!(broken <= 4, "{broken} ends of links went down in twelve minutes");
}
