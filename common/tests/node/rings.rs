//! Whole nodes on a configured ring: they elect, lose members, fold into a line and close again.

use common::config::{Config, NetworkKey, Protection};
use common::election::Algorithm;
use common::members::RingOrder;
use common::orders::{Command, Outcome, Register};
use common::protocol::{Protocol, Signal};
use common::time::Duration;
use common::types::NodeId;

use crate::ether::Ether;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1_000)
}

/// A ring in which everybody hears the two next on either side.
pub fn ring(seed: u64, nodes: u16, loss: u32, algorithm: Algorithm) -> Ether {
    let ids: Vec<NodeId> = (1..=nodes).map(NodeId).collect();
    let Ok(order) = RingOrder::new(&ids) else { panic!("a ring") };
    let key = || Protection::Ascon(NetworkKey::new([9; 16]));
    let config = |id| Config::on_ring(NodeId(id), 7, key(), algorithm, order.clone());
    let mut ether = Ether::new(seed, loss, (1..=nodes).map(config));
    let nodes = usize::from(nodes);
    for a in 0..nodes {
        for b in a + 1..nodes {
            if (b - a).min(nodes - (b - a)) > 2 {
                ether.cut(a, b);
            }
        }
    }
    ether.switch_on_all();
    ether
}

/// A ring whose members stand in a line, and hear those beside them only.
fn line(seed: u64, nodes: u16, algorithm: Algorithm) -> Ether {
    let mut ether = ring(seed, nodes, 0, algorithm);
    let nodes = usize::from(nodes);
    let pairs = (0..nodes).flat_map(|b| (0..b).map(move |a| (a, b)));
    pairs.filter(|(a, b)| b - a > 1).for_each(|(a, b)| ether.cut(a, b));
    ether
}

/// The election alone knows who won. What the ring watches may never be anybody else, at any moment.
#[test]
fn a_ring_watches_whom_the_election_follows() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.needs_ring()) {
        let mut ether = ring(8, 5, 10, algorithm);
        let differs = |ether: &Ether| {
            let mut nodes = ether.boards.iter().filter(|board| board.is_on).map(|board| &board.node);
            nodes.any(|node| node.watched() != node.election().leader())
        };
        assert!(!ether.run_until(ether.now + seconds(10), differs), "{algorithm:?}");
        let leader = ether.agreed(0..5).expect("five agree");
        ether.switch_off(usize::from(leader.0) - 1);
        assert!(!ether.run_until(ether.now + seconds(10), differs), "{algorithm:?}, without its leader");
        let left: Vec<usize> = (0..5).filter(|&board| ether.boards[board].is_on).collect();
        assert!(ether.agreed(left).is_some_and(|next| next != leader), "{algorithm:?}");
    }
}

#[test]
fn bully_settles_in_a_room_of_many() {
    for nodes in [9, 12, 16, 24] {
        let mut ether = ring(5, nodes, 0, Algorithm::Bully);
        ether.cuts.clear();
        let all = usize::from(nodes);
        let is_settled = ether.run_until(ether.now + seconds(30), |ether| ether.agreed(0..all) == Some(NodeId(nodes)));
        assert!(is_settled, "{nodes} members");
        ether.run(seconds(5));
        assert_eq!(ether.agreed(0..all), Some(NodeId(nodes)), "{nodes} members, later");
    }
}

#[test]
fn neighbours_that_restart_together_are_back_at_once_however_long_they_were_up() {
    for algorithm in [Algorithm::Hs, Algorithm::Lcr, Algorithm::Bully, Algorithm::Ring] {
        let mut ether = line(6, 4, algorithm);
        ether.run(seconds(120));
        assert_eq!(ether.agreed(0..4), Some(NodeId(4)), "{algorithm:?}");
        for board in [2, 3] {
            ether.switch_off(board);
        }
        ether.run(seconds(10));
        assert_eq!(ether.agreed(0..2), Some(NodeId(2)), "{algorithm:?}");
        for board in [2, 3] {
            ether.switch_on(board);
        }
        let back = ether.now;
        assert!(ether.run_until(back + seconds(15), |ether| ether.agreed(0..4) == Some(NodeId(4))), "{algorithm:?}");
    }
}

#[test]
fn a_board_with_erased_flash_is_back_at_once_with_a_neighbour_that_restarted() {
    for algorithm in [Algorithm::Hs, Algorithm::Lcr] {
        let mut ether = line(7, 4, algorithm);
        // Boots before: its epoch is far ahead of the one it has after its flash was erased.
        ether.switch_off(3);
        ether.boards[3].epoch = 40;
        ether.switch_on(3);
        ether.run(seconds(60));
        for board in [2, 3] {
            ether.switch_off(board);
        }
        ether.run(seconds(30));
        ether.boards[3].epoch = 1;
        for board in [2, 3] {
            ether.switch_on(board);
        }
        let back = ether.now;
        assert!(ether.run_until(back + seconds(20), |ether| ether.agreed(0..4) == Some(NodeId(4))), "{algorithm:?}");
    }
}

#[test]
fn every_ring_algorithm_elects_the_largest_and_replaces_it() {
    for algorithm in [Algorithm::Hs, Algorithm::Lcr, Algorithm::Bully, Algorithm::Ring, Algorithm::ModifiedBully] {
        let mut ether = ring(3, 8, 100, algorithm);
        ether.run(seconds(15));
        assert_eq!(ether.agreed(0..8), Some(NodeId(8)), "{algorithm:?}");
        ether.switch_off(7);
        let killed = ether.now;
        let is_replaced = ether.run_until(killed + seconds(10), |ether| ether.agreed(0..7) == Some(NodeId(7)));
        assert!(is_replaced, "{algorithm:?}");
        ether.switch_on(7);
        let back = ether.now;
        let has_returned = ether.run_until(back + seconds(15), |ether| ether.agreed(0..8) == Some(NodeId(8)));
        assert!(has_returned, "{algorithm:?}");
    }
}

#[test]
fn a_living_leader_is_followed_while_the_ring_elects_again() {
    for algorithm in [Algorithm::Hs, Algorithm::Lcr, Algorithm::Ring] {
        let mut ether = ring(4, 8, 0, algorithm);
        ether.run(seconds(15));
        assert_eq!(ether.agreed(0..8), Some(NodeId(8)), "{algorithm:?}");
        let changes =
            |ether: &Ether| ether.boards.iter().map(|board| board.node.snapshot().counters.leader_changes).sum::<u32>();
        let before = changes(&ether);
        // Somebody in the middle asks for an election, and a member that does not lead goes.
        let now = ether.now;
        ether.boards[3].node.handle_signal(now, Signal::Elect);
        let is_undecided = |ether: &Ether| ether.boards.iter().any(|board| board.node.election().leader().is_none());
        assert!(ether.run_until(now + seconds(2), is_undecided), "{algorithm:?}: there was an election");
        ether.run(seconds(2));
        ether.switch_off(1);
        ether.run(seconds(8));
        assert_eq!((ether.agreed(2..8), changes(&ether)), (Some(NodeId(8)), before), "{algorithm:?}");
    }
}

#[test]
fn a_leader_that_elects_again_goes_on_giving_orders() {
    for algorithm in [Algorithm::Hs, Algorithm::Lcr, Algorithm::Ring] {
        let mut ether = ring(4, 8, 0, algorithm);
        ether.run(seconds(15));
        assert_eq!(ether.agreed(0..8), Some(NodeId(8)), "{algorithm:?}");
        ether.signal(7, Signal::Elect);
        let is_undecided = |ether: &Ether| ether.boards[7].node.election().leader().is_none();
        assert!(ether.run_until(ether.now + seconds(2), is_undecided), "{algorithm:?}: it elects");
        // Its neighbours hear nothing more, so this may take long.
        ether.part(true, |board| board == 7);
        let off = Command::Set { register: Register::LIGHTS, value: 0 };
        let number = ether.call(7, |node, now| node.submit(now, off)).expect("it takes a command");
        assert!(is_undecided(&ether) && ether.agreed(0..8) == Some(NodeId(8)), "{algorithm:?}");
        assert_eq!(ether.boards[7].node.poll_outcome(), Some((number, Outcome::Ordered)), "{algorithm:?}");
        // The order reaches all, and holds whoever wins.
        ether.part(false, |board| board == 7);
        (0..8).for_each(|a| (a + 1..8).filter(|b| (3..=5).contains(&(b - a))).for_each(|b| ether.cut(a, b)));
        let is_obeyed = |ether: &Ether| ether.boards.iter().all(|board| board.node.register(Register::LIGHTS) == 0);
        assert!(ether.run_until(ether.now + seconds(3), is_obeyed), "{algorithm:?}");
        ether.run(seconds(10));
        assert!(is_obeyed(&ether), "{algorithm:?}");
    }
}
