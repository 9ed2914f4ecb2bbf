//! Networks that part and meet, boards that crash, links that are bad.

use common::notice::{Notice, Reason};
use common::time::Duration;
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};

/// Runs until boards agree on one of themselves.
fn agree(ether: &mut Ether, boards: &[usize], within: u64, seed: u64, what: &str) {
    let until = ether.now + seconds(within);
    let is_agreed = ether.run_until(until, |ether| {
        let leader = ether.agreed(boards.iter().copied());
        leader.is_some_and(|leader| boards.iter().any(|&board| ether.boards[board].node.id() == leader))
    });
    assert!(is_agreed, "{what}: no agreement within {within} s with seed {seed}");
}

#[test]
fn a_network_that_parts_has_two_leaders_and_one_again_when_it_meets() {
    for seed in 0..10 {
        let mut ether = mesh(seed, 8, 100);
        ether.run(seconds(10));
        let (left, right): (Vec<_>, Vec<_>) = (0..8).partition(|board| board % 2 == 0);
        for _ in 0..2 {
            ether.part(true, |board| board % 2 == 0);
            ether.run(seconds(5));
            agree(&mut ether, &left, 10, seed, "left");
            agree(&mut ether, &right, 10, seed, "right");
            ether.part(false, |board| board % 2 == 0);
            ether.run(seconds(5));
            agree(&mut ether, &(0..8).collect::<Vec<_>>(), 15, seed, "together");
        }
    }
}

#[test]
fn a_board_whose_flash_was_erased_is_soon_a_neighbour_again() {
    for seed in 0..10 {
        let mut ether = mesh(seed, 2, 0);
        // Links that have broken are remembered for longer than others.
        for _ in 0..4 {
            ether.run(seconds(6));
            ether.switch_off(1);
            ether.run(seconds(4));
            ether.switch_on(1);
        }
        ether.run(seconds(6));
        ether.switch_off(1);
        ether.run(seconds(2));
        ether.boards[1].epoch = 1;
        ether.switch_on(1);
        agree(&mut ether, &[0, 1], 10, seed, "after the erasure");
    }
}

#[test]
fn boards_that_crash_and_restart_all_the_time_agree_once_they_are_left_alone() {
    for seed in 0..10_u32 {
        let mut ether = mesh(u64::from(seed), 8, 100);
        for round in 0..30_u32 {
            let board = ((seed * 7 + round * 3) % 8) as usize;
            ether.switch_off(board);
            ether.run(seconds(1));
            ether.switch_on(board);
            ether.run(seconds(u64::from(round) % 3));
        }
        agree(&mut ether, &(0..8).collect::<Vec<_>>(), 20, u64::from(seed), "after the crashes");
    }
}

#[test]
fn a_board_that_restarts_before_anybody_noticed_gets_its_links_back() {
    for seed in 0..20 {
        let mut ether = mesh(seed, 3, 0);
        ether.run(seconds(6));
        ether.switch_off(1);
        ether.switch_on(1);
        let until = ether.now + seconds(4);
        let is_back =
            ether.run_until(until, |ether| ether.boards.iter().all(|board| board.node.snapshot().links_up == 2));
        assert!(is_back, "seed {seed}");
        let noticed = |notice: &Notice| *notice == Notice::LinkDown(NodeId(2), Reason::NewIncarnation);
        assert_eq!((ether.count(0, noticed), ether.count(2, noticed)), (1, 1), "seed {seed}");
        agree(&mut ether, &[0, 1, 2], 4, seed, "after the restart");
    }
}

#[test]
fn nodes_hidden_from_each_other_agree_over_those_between_them() {
    for seed in 0..6 {
        // A line of six, where every second board is hidden from the one before, and frames collide.
        let mut ether = mesh(seed, 6, 20);
        ether.collides = true;
        for (a, b) in (0..6_usize).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|&(a, b)| a - b > 1) {
            ether.cut(a, b);
        }
        agree(&mut ether, &(0..6).collect::<Vec<_>>(), 30, seed, "a line");
        ether.switch_off(0);
        ether.run(seconds(3));
        agree(&mut ether, &[1, 2, 3, 4, 5], 20, seed, "a shorter line");
    }
}

#[test]
fn a_link_that_works_one_way_only_never_comes_up() {
    for seed in 0..10 {
        let mut ether = mesh(seed, 2, 0);
        ether.cuts.insert((0, 1));
        ether.run(seconds(60));
        for board in 0..2 {
            assert_eq!(ether.count(board, |notice| matches!(notice, Notice::LinkUp(_))), 0, "seed {seed}");
        }
        ether.join(0, 1);
        ether.run(seconds(5));
        assert!(ether.agreed([0, 1]).is_some(), "seed {seed}");
        ether.cuts.insert((1, 0));
        ether.run(seconds(10));
        assert!(ether.boards.iter().all(|board| board.node.snapshot().links_up == 0), "seed {seed}");
    }
}

#[test]
fn a_link_that_flaps_is_held_down_for_longer_and_longer() {
    let mut ether = mesh(3, 2, 0);
    for second in 0..240 {
        // Five seconds there, five away.
        if second / 5 % 2 == 1 {
            ether.cut(0, 1);
        } else {
            ether.join(0, 1);
        }
        ether.run(seconds(1));
    }
    let ups = ether.count(0, |notice| matches!(notice, Notice::LinkUp(_)));
    assert!((2..=24).contains(&ups), "{ups} times up");
    ether.join(0, 1);
    ether.run(seconds(70));
    assert_eq!(ether.boards[0].node.snapshot().links_up, 1, "in the end it comes back");
}

#[test]
fn a_link_that_is_too_weak_is_not_taken_and_changes_no_leader() {
    for seed in 0..10 {
        let mut ether = mesh(seed, 3, 0);
        // The third board is heard by the second alone, faintly.
        ether.cut(0, 2);
        ether.strengths.extend([((1, 2), -91), ((2, 1), -91)]);
        ether.run(seconds(60));
        assert_eq!(ether.boards[2].node.snapshot().links_up, 0, "seed {seed}");
        let changes = ether.boards[1].node.snapshot().counters.leader_changes;
        ether.run(seconds(120));
        assert_eq!(ether.boards[1].node.snapshot().counters.leader_changes, changes, "seed {seed}");
    }
}

#[test]
fn a_lossy_weak_link_does_not_change_leaders_all_the_time() {
    for seed in 0..6 {
        let mut ether = mesh(seed, 4, 0);
        ether.run(seconds(10));
        // Board 4 is at the edge: it comes and goes.
        ether.strengths.extend((0..3).flat_map(|board| [((board, 3), -96), ((3, board), -96)]));
        ether.loss = 450;
        ether.run(seconds(60));
        ether.loss = 300;
        let changes = |ether: &Ether| ether.boards[0].node.snapshot().counters.leader_changes;
        let before = changes(&ether);
        ether.run(seconds(120));
        assert!(changes(&ether) - before <= 8, "{} changes with seed {seed}", changes(&ether) - before);
    }
}

/// Links that are dead for half a second every three seconds: a search, which every link must carry there and back, takes
/// ten to thirty seconds. Who lost the leader in silence does not wait for it.
#[test]
fn a_dead_leader_is_replaced_soon_although_links_fail_for_a_moment_all_the_time() {
    for seed in 0..4 {
        let mut ether = mesh(seed, 16, 100);
        // A grid of four by four.
        for (a, b) in (0..16_usize).flat_map(|a| (0..a).map(move |b| (a, b))) {
            if (a % 4).abs_diff(b % 4) + (a / 4).abs_diff(b / 4) > 2 {
                ether.cut(a, b);
            }
        }
        let fixed = ether.cuts.clone();
        let flap = |ether: &mut Ether, quarters: u64, is_done: &dyn Fn(&Ether) -> bool| {
            for quarter in 0..quarters {
                ether.cuts.clone_from(&fixed);
                let pairs = (0..16_usize).flat_map(|a| (0..a).map(move |b| (a, b)));
                let is_dead = |&(a, b): &(usize, usize)| (quarter / 2 + a as u64 * 5 + b as u64 * 3).is_multiple_of(6);
                pairs.filter(is_dead).for_each(|(a, b)| ether.cut(a, b));
                let until = ether.now + Duration::from_millis(250);
                if ether.run_until(until, is_done) {
                    return true;
                }
            }
            false
        };
        let never = |_: &Ether| false;
        flap(&mut ether, 80, &never);
        let leader = ether.agreed(0..16).expect("an agreement");
        let dead = usize::from(leader.0) - 1;
        ether.switch_off(dead);
        let alive = move || (0..16).filter(move |&board| board != dead);
        let is_replaced = move |ether: &Ether| ether.agreed(alive()).is_some_and(|found| found != leader);
        assert!(flap(&mut ether, 28, &is_replaced), "seed {seed}: not within seven seconds");
    }
}
