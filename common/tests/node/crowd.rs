//! A room full of nodes that all hear each other: what a node sends must not grow with how many it hears.

use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};

/// Hellos, messages and acknowledgements of all boards so far, for each board.
fn sent_each(ether: &Ether) -> u32 {
    let sent: u32 = ether.boards.iter().map(|board| board.node.snapshot().counters.sent).sum();
    sent / u32::try_from(ether.boards.len()).expect("few")
}

/// Frames a board sends in a quiet minute, in a room with so many.
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
    assert!((50..110).contains(&few), "a hello a second, and questions where one was lost: {few}");
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
