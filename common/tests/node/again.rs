//! A PC at any board gets blocks again, from the stores of those that made them.

use std::collections::BTreeMap;

use common::data::again::{Given, What};
use common::data::wire::{AGAIN_TURN, AGE_UNKNOWN, ANSWER_MAX, Again, Key};
use common::names::Algorithm;
use common::time::Duration;
use common::types::NodeId;

use crate::data::{collecting, flash, measure};
use crate::ether::Ether;
use crate::mesh::{mesh, seconds};
use crate::rings::ring;

/// What came of the blocks that a board asked for: each with its age, or nothing where it is gone.
#[derive(Debug, Default)]
struct Got {
    blocks: BTreeMap<u32, (u32, Vec<u8>)>,
    gone: BTreeMap<u32, u32>,
}

/// Asks through one board for these blocks of another until all are there, each question anew with what is missing.
fn ask(ether: &mut Ether, asker: usize, origin: usize, numbers: std::ops::Range<u32>) -> Got {
    let mut got = Got::default();
    let store = flash(ether, origin).name;
    let id = ether.boards[origin].node.id();
    for question in 0..40 {
        let missing = |number: &u32| !got.blocks.contains_key(number) && !got.gone.contains_key(number);
        let Some(first) = numbers.clone().find(missing) else { return got };
        let bits = (0..16).filter(|bit| numbers.contains(&(first + bit)) && missing(&(first + bit)));
        let bits = bits.fold(0, |bits, bit| bits | 1 << bit);
        let known = Again { first: Key { origin: id, store, number: first }, bits }.known();
        ether.call(asker, |node, now| node.ask(now, question, AGAIN_TURN, known));
        for _ in 0..20 {
            ether.run(Duration::from_millis(100));
            let mut buf = [0; ANSWER_MAX];
            while let Some((from, of, length)) = ether.call(asker, |node, _| node.poll_answer(&mut buf)) {
                assert_eq!(from, id);
                let Given { which, what } = Given::read(&buf[..length]).expect("it makes sense");
                let number = first + u32::from(which);
                match what {
                    _ if of != question => {}
                    What::Block { age, block } => {
                        let before = got.blocks.insert(number, (age, block.to_vec()));
                        assert_eq!(before, None, "{number} came twice");
                    }
                    What::Gone { oldest } => drop(got.gone.insert(number, oldest)),
                }
            }
        }
    }
    panic!("not all came: {:?} of {numbers:?}", got.blocks.keys());
}

#[test]
fn blocks_come_again_although_the_leader_that_had_them_is_gone() {
    for seed in 0..4 {
        let mut ether = collecting(mesh(seed, 8, 200), 1_000);
        measure(&mut ether, 40);
        let leader = usize::from(ether.agreed(0..8).expect("agreement").0) - 1;
        ether.switch_off(leader);
        measure(&mut ether, 20);
        let asker = (leader + 3) % 8;
        for origin in (0..8).filter(|&origin| origin != leader) {
            let all = flash(&ether, origin).blocks.clone();
            assert!(all.len() > 15, "{}", all.len());
            let next = flash(&ether, origin).next;
            let got = ask(&mut ether, asker, origin, 0..next);
            assert!(got.gone.is_empty());
            let is_same = got.blocks.iter().all(|(number, (age, block))| *age != AGE_UNKNOWN && all[number] == *block);
            assert!(is_same, "of {origin}, seed {seed}");
        }
        // Nobody is left without a leader over it, and what is measured meanwhile is committed.
        measure(&mut ether, 10);
        ether.run(seconds(20));
        for board in (0..8).filter(|&board| board != leader) {
            assert!(ether.boards[board].node.data().custody().is_empty(), "board {board}, seed {seed}");
        }
    }
}

#[test]
fn an_origin_tells_what_it_no_longer_has() {
    let mut ether = collecting(ring(5, 6, 100, Algorithm::Hs), 8);
    measure(&mut ether, 60);
    // Nothing is left that could push out more.
    ether.run(seconds(5));
    let (next, oldest) = (flash(&ether, 2).next, flash(&ether, 2).blocks.keys().next().copied());
    let got = ask(&mut ether, 5, 2, 0..next);
    assert_eq!(got.blocks.len() + got.gone.len(), usize::try_from(next).expect("few"));
    assert!(got.gone.values().all(|&gone| Some(gone) == oldest), "{oldest:?}: {:?}", got.gone);
    // A store of another name has nothing to do with it.
    let key = Key { origin: NodeId(3), store: 9_999, number: 0 };
    ether.call(5, |node, now| node.ask(now, 200, AGAIN_TURN, Again { first: key, bits: 1 }.known()));
    ether.run(seconds(5));
    assert_eq!(ether.call(5, |node, _| node.poll_answer(&mut [0; ANSWER_MAX])), None);
}

#[test]
fn a_board_gives_its_own_blocks_and_a_restart_leaves_their_age_open() {
    let mut ether = collecting(mesh(3, 3, 0), 1_000);
    measure(&mut ether, 20);
    let old = flash(&ether, 1).next;
    ether.switch_off(1);
    ether.switch_on(1);
    measure(&mut ether, 20);
    let next = flash(&ether, 1).next;
    let got = ask(&mut ether, 1, 1, 0..next);
    assert_eq!(got.blocks.len(), usize::try_from(next).expect("few"));
    for (number, (age, _)) in got.blocks {
        assert_eq!(age == AGE_UNKNOWN, number < old, "block {number}, {old} before the restart");
    }
}
