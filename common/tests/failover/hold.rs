//! The last link of a node, or its last way to the leader, falls and comes back: who unseats whom.
//!
//! What fails here if it is broken (each was):
//!
//! - the fall of a last link is told at once (`Node::hold`): somebody elects itself;
//! - so is that of the last way (`Node::is_last_way`), or signs of life that others tell of do not count: the same;
//! - a link that broke is held down at the one end or the other although it was the last way (`Table::seeks`,
//!   `Neighbour::insists`): it is not back in time, and then the same.

use crate::explore::{Aim, Seen, explore};
use crate::is_deep;
use crate::shapes::{CHAIN, LINE, Shape, ms};
use crate::world::{Deed, World};

/// Explores a link that fails for each of these lengths, in milliseconds, with this many choices at frames.
fn fails(
    shape: Shape,
    deed: Deed,
    join: Deed,
    lengths: impl Iterator<Item = u64>,
    twists: u8,
    is_seated: bool,
) -> Seen {
    let mut seen = Seen::default();
    let start = shape.led(1);
    let made = start.ledger.made();
    for length in lengths {
        let judge = |world: &World, _: bool| {
            let is_right = !is_seated || world.ledger.made() == made;
            if is_right { Ok(()) } else { Err(format!("somebody elected itself after {length} ms")) }
        };
        let aim =
            Aim { choices: ms(length.min(1_500)), calm: ms(3_000), agreed_within: ms(length + 5_000), judge: &judge };
        seen.add(&explore(&start, &[(0, deed), (length, join)], twists, aim));
    }
    println!("{}, {deed:?}, {twists} frames: {seen:?}", shape.name);
    seen
}

#[test]
fn a_node_whose_last_link_fails_for_three_seconds_unseats_nobody() {
    for (shape, one, other) in [(LINE, 1, 2), (CHAIN, 2, 3)] {
        let (cut, join) = (Deed::Cut(one, other), Deed::Join(one, other));
        fails(shape, cut, join, (50..=3_000).step_by(50), 0, true);
        fails(shape, cut, join, (500..=3_000).step_by(if is_deep() { 100 } else { 500 }), 1, true);
    }
}

#[test]
fn a_node_that_was_alone_for_longer_follows_again_and_unseats_nobody() {
    for (shape, one, other) in [(LINE, 1, 2), (CHAIN, 2, 3)] {
        let start = shape.led(1);
        let judge = |world: &World, is_end: bool| {
            let is_seated = !is_end || world.boards[0].node.leader() == Some(world.id(0));
            if is_seated { Ok(()) } else { Err("the leader is unseated".to_owned()) }
        };
        let (mut seen, cut) = (Seen::default(), (0, Deed::Cut(one, other)));
        for length in (4_000..=12_000).step_by(100) {
            let aim = Aim { choices: ms(0), calm: ms(1_000), agreed_within: ms(length + 5_000), judge: &judge };
            seen.add(&explore(&start, &[cut, (length, Deed::Join(one, other))], 0, aim));
        }
        println!("{}, alone for longer: {seen:?}", shape.name);
    }
}

#[test]
fn two_whose_last_way_fails_for_a_second_unseat_nobody() {
    let (cut, join) = (Deed::Cut(1, 2), Deed::Join(1, 2));
    fails(CHAIN, cut, join, (50..=1_000).step_by(50), 0, true);
    fails(CHAIN, cut, join, (200..=1_000).step_by(if is_deep() { 50 } else { 200 }), 1, true);
}

#[test]
fn two_that_hear_of_the_leader_and_have_no_way_to_it_wait_for_one() {
    let (mute, join) = (Deed::Mute(2, 1), Deed::Join(1, 2));
    fails(CHAIN, mute, join, (200..=8_000).step_by(200), 0, true);
    fails(CHAIN, mute, join, (2_000..=8_000).step_by(if is_deep() { 500 } else { 3_000 }), 1, true);
}

/// Each time their link breaks it would be held down for longer, for 2, 4, 8 and 16 s, and the last time they would elect one of
/// themselves before that is over.
#[test]
fn two_whose_last_way_breaks_again_and_again_are_let_in_at_once() {
    let mut world = CHAIN.led(1);
    let made = world.ledger.made();
    let is_linked = |world: &World| {
        let is_up = |one: usize, other: usize| world.boards[one].node.links().table().is_linked(world.id(other));
        is_up(1, 2) && is_up(2, 1)
    };
    for time in 0..4 {
        world.befall(Deed::Mute(2, 1));
        let is_broken = (0..150).any(|_| {
            world.run(ms(100));
            !is_linked(&world)
        });
        assert!(is_broken, "time {time}");
        world.befall(Deed::Join(1, 2));
        world.run(ms(1_000));
        assert!(is_linked(&world), "time {time}");
        world.run(ms(5_000));
    }
    assert_eq!(world.ledger.made(), made, "somebody elected itself");
}

#[test]
fn however_long_a_link_fails_all_agree_again() {
    for (shape, one, other) in [(LINE, 0, 1), (LINE, 1, 2), (CHAIN, 0, 1), (CHAIN, 1, 2), (CHAIN, 2, 3)] {
        let (cut, join) = (Deed::Cut(one, other), Deed::Join(one, other));
        fails(shape, cut, join, (100..=8_000).step_by(100), 0, false);
        fails(shape, cut, join, (400..=6_000).step_by(if is_deep() { 200 } else { 1_400 }), 1, false);
    }
}
