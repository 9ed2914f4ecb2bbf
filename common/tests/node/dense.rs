//! More nodes in range than a table holds: the links that are kept must still connect everybody.

use common::limits::{LINKS_ENOUGH, NEIGHBOURS_MAX};
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};

fn is_one_network(ether: &Ether) -> bool {
    let all: Vec<_> = (0..ether.boards.len()).collect();
    ether.agreed(all.iter().copied()).is_some() && ether.is_connected(&all)
}

fn describe(ether: &Ether) -> String {
    let line = |board: &crate::ether::Board| {
        let snapshot = board.node.snapshot();
        format!("{} follows {:?} with {} links", snapshot.id, snapshot.leader, snapshot.links_up)
    };
    ether.boards.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[test]
fn everybody_agrees_where_more_are_in_range_than_a_table_holds() {
    for (seed, nodes) in [(0, 30), (1, 30), (2, 40), (3, 40), (4, 60), (5, 60)] {
        let mut ether = mesh(seed, nodes, 50);
        let until = ether.now + seconds(90);
        assert!(ether.run_until(until, is_one_network), "seed {seed}, {nodes} nodes: {}", describe(&ether));
        // And it stays so.
        let leader = ether.agreed(0..usize::from(nodes));
        ether.run(seconds(60));
        assert!(is_one_network(&ether), "seed {seed}, {nodes} nodes: {}", describe(&ether));
        assert_eq!(ether.agreed(0..usize::from(nodes)), leader, "seed {seed}, {nodes} nodes");
        let most = ether.boards.iter().map(|board| board.node.links().table().links()).max();
        assert!(most <= Some(NEIGHBOURS_MAX), "seed {seed}: {most:?}");
    }
}

#[test]
fn two_networks_that_have_links_enough_become_one_when_they_meet() {
    for seed in 0..4 {
        let mut ether = mesh(seed, 40, 20);
        let is_left = |board: usize| board < 20;
        ether.part(true, is_left);
        ether.run(seconds(40));
        let leaders = [ether.agreed(0..20), ether.agreed(20..40)];
        assert!(leaders.iter().all(Option::is_some) && leaders[0] != leaders[1], "seed {seed}: {}", describe(&ether));
        let has_enough = |board: &crate::ether::Board| board.node.links().table().links() >= LINKS_ENOUGH;
        assert!(
            ether.boards.iter().filter(|board| has_enough(board)).count() >= 30,
            "seed {seed}: {}",
            describe(&ether)
        );
        ether.part(false, is_left);
        let until = ether.now + seconds(60);
        assert!(ether.run_until(until, is_one_network), "seed {seed}: {}", describe(&ether));
    }
}

#[test]
fn a_board_that_arrives_late_is_let_in_although_every_table_is_full() {
    for seed in 0..4 {
        let mut ether = mesh(seed, 31, 20);
        ether.switch_off(30);
        ether.run(seconds(40));
        ether.switch_on(30);
        let until = ether.now + seconds(30);
        assert!(ether.run_until(until, is_one_network), "seed {seed}: {}", describe(&ether));
        assert_ne!(ether.boards[30].node.leader(), Some(NodeId(31)), "seed {seed}");
    }
}
