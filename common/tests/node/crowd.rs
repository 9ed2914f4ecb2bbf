//! A room full of nodes that all hear each other: what a node sends must not grow with how many it hears.

use common::limits::NEIGHBOURS_MAX;
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};

/// Hellos, messages and acknowledgements of all boards so far, for each board.
fn sent_each(ether: &Ether) -> u32 {
    let sent: u32 = ether.boards.iter().map(|board| board.node.snapshot().counters.sent).sum();
    sent / u32::try_from(ether.boards.len()).expect("few")
}

/// Frames a board sends in a quiet minute, in a room with this many.
fn quiet_minute(nodes: u16) -> u32 {
    let mut ether = mesh(1, nodes, 50);
    ether.run(seconds(60));
    let leader = ether.agreed(0..usize::from(nodes));
    assert!(leader.is_some(), "{nodes} boards do not agree after a minute");
    let before = sent_each(&ether);
    ether.run(seconds(60));
    assert_eq!(ether.agreed(0..usize::from(nodes)), leader, "{nodes} boards");
    sent_each(&ether) - before
}

#[test]
fn the_more_are_heard_the_less_often_a_node_says_hello() {
    let few = quiet_minute(12);
    let many = quiet_minute(90);
    // The leader's brief hellos are 469 a minute, 39 for each of twelve.
    assert!((89..149).contains(&few), "a hello a second, the leader's, and questions where one was lost: {few}");
    assert!(many * 2 < few, "{many} frames a minute among 90, {few} among 12");
}

#[test]
fn a_node_that_wakes_in_a_quiet_crowd_joins_it_and_unseats_nobody() {
    let mut ether = mesh(2, 60, 50);
    ether.switch_off(59);
    ether.run(seconds(60));
    let leader = ether.agreed(0..59).expect("an agreement");
    ether.switch_on(59);
    let until = ether.now + seconds(8);
    assert!(ether.run_until(until, |ether| ether.agreed(0..60) == Some(leader)));
    assert_ne!(leader, NodeId(60));
}

/// A hub and stations that hear nobody but the hub.
fn star(seed: u64, stations: u16) -> Ether {
    let mut ether = mesh(seed, stations + 1, 50);
    for a in 1..=usize::from(stations) {
        (1..a).for_each(|b| ether.cut(a, b));
    }
    ether
}

#[test]
fn stations_for_which_a_hub_has_no_room_follow_its_leader_as_guests() {
    for (seed, stations) in [(1, 17), (2, 26)] {
        let mut ether = star(seed, stations);
        let all = || 0..=usize::from(stations);
        let until = ether.now + seconds(20);
        assert!(ether.run_until(until, |ether| ether.agreed(all()).is_some()), "seed {seed}, {stations} stations");
        let guests = all().filter(|&board| ether.boards[board].node.links().table().links() == 0).count();
        assert_eq!(guests, usize::from(stations).saturating_sub(NEIGHBOURS_MAX), "seed {seed}");
        let leader = ether.agreed(all());
        ether.run(seconds(60));
        assert_eq!(ether.agreed(all()), leader, "seed {seed}: and it stays so");
        // Without the hub there is nothing to be a guest of.
        ether.switch_off(0);
        ether.run(seconds(15));
        for board in 1..=usize::from(stations) {
            let node = &ether.boards[board].node;
            assert_eq!(node.leader(), Some(node.id()), "seed {seed}");
        }
        ether.switch_on(0);
        let until = ether.now + seconds(20);
        assert!(ether.run_until(until, |ether| ether.agreed(all()).is_some()), "seed {seed}: the hub is back");
    }
}
