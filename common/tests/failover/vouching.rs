//! Some do not hear the leader, and it is there: whether it goes on leading.
//!
//! What fails here if it is broken (each was):
//!
//! - signs of life that others tell of do not count (`Life::vouch`): somebody elects itself;
//! - nobody objects (`Beat::object`): the same;
//! - everybody is asked once (`Neighbour::is_to_be_asked_for`): the same, where that one hello is lost;
//! - nobody hands an objection on (`Life::take_objection`): the same, where one of two that ask misses it;
//! - who knows that the leader is there, and asks only for its own link, takes its turn later (`Life::ask`): the same. This is how
//!   the core was; a successor whose link had failed unseated a leader that two others had vouched for just before;
//! - whoever elects itself although there was a sign of life since (`Node::succeed`): the same.

use common::time::Duration;

use crate::explore::{Aim, Seen, explore};
use crate::is_deep;
use crate::shapes::{ALL, DIAMOND, FOUR, HELLOS, PAW, Shape, TRIANGLE, ms};
use crate::world::{Deed, Twist, World};

/// In which way the leader and another do not hear each other.
const WAYS: [fn(usize) -> Deed; 3] =
    [|other| Deed::Cut(0, other), |other| Deed::Mute(0, other), |other| Deed::Mute(other, 0)];

/// What befalls those of the leader's neighbours that are in this set, from now on.
fn unheard(shape: Shape, set: usize, way: fn(usize) -> Deed) -> Vec<(u64, Deed)> {
    let chosen = shape.successors().enumerate().filter(|(at, _)| set >> at & 1 == 1);
    chosen.map(|(_, other)| (0, way(other))).collect()
}

/// The sets of the leader's neighbours that leave out one at least.
fn sets(shape: Shape) -> impl Iterator<Item = usize> {
    1..(1 << shape.successors().count()) - 1
}

fn nobody_elects_itself(start: &World) -> impl Fn(&World, bool) -> Result<(), String> {
    let made = start.ledger.made();
    move |world, _| if world.ledger.made() > made { Err("somebody elected itself".to_owned()) } else { Ok(()) }
}

#[test]
fn a_leader_that_one_neighbour_hears_is_unseated_by_none_of_the_others() {
    for shape in [TRIANGLE, FOUR, DIAMOND, PAW] {
        let mut seen = Seen::default();
        for start in shape.moments(1, HELLOS) {
            let judge = nobody_elects_itself(&start);
            let aim = Aim { choices: Duration::ZERO, calm: ms(5_000), agreed_within: Duration::ZERO, judge: &judge };
            for (set, way) in sets(shape).flat_map(|set| WAYS.map(|way| (set, way))) {
                seen.add(&explore(&start, &unheard(shape, set, way), 0, aim));
            }
        }
        println!("{}, some do not hear it: {seen:?}", shape.name);
    }
}

/// The one that does not hear it asks everybody, more than once: any one question or answer may be lost, at one board or at all.
#[test]
fn where_two_hear_a_leader_any_one_frame_may_be_lost() {
    let start = FOUR.led(1);
    let is_seated = nobody_elects_itself(&start);
    let mut seen = Seen::default();
    for (hidden, way) in [1, 2, 3].into_iter().flat_map(|hidden| WAYS.map(|way| (hidden, way))) {
        let judge = |world: &World, is_end: bool| match world.chosen.last() {
            Some((_, _, Twist::Late(_))) => Ok(()),
            _ => is_seated(world, is_end),
        };
        let aim = Aim { choices: ms(700), calm: ms(1_000), agreed_within: ms(1_500), judge: &judge };
        seen.add(&explore(&start, &[(0, way(hidden))], 1, aim));
    }
    println!("one question or answer lost: {seen:?}");
}

/// Two do not hear the leader and ask everybody. One of them may miss any frame of the third, which objects; the other tells it.
#[test]
fn an_objection_that_one_misses_is_handed_on_by_another() {
    let start = FOUR.led(1);
    let is_seated = nobody_elects_itself(&start);
    let mut seen = Seen::default();
    for (hears, way) in [1, 2, 3].into_iter().flat_map(|hears| WAYS.map(|way| (hears, way))) {
        let deeds: Vec<_> = (1..4).filter(|&other| other != hears).map(|other| (0, way(other))).collect();
        let judge = |world: &World, is_end: bool| match world.chosen.last() {
            Some((_, from, twist)) if *from != hears || !matches!(twist, Twist::LostAt(_)) => Ok(()),
            _ => is_seated(world, is_end),
        };
        let aim = Aim { choices: ms(700), calm: ms(1_000), agreed_within: ms(1_500), judge: &judge };
        seen.add(&explore(&start, &deeds, 1, aim));
    }
    println!("one objection missed: {seen:?}");
}

#[test]
fn where_frames_are_lost_as_well_an_unheard_leader_is_followed_or_unseated_by_all() {
    for shape in ALL.into_iter().filter(|shape| shape.successors().count() > 1) {
        let mut seen = Seen::default();
        for start in shape.moments(1, if is_deep() { HELLOS } else { ms(1) }) {
            let aim = Aim { choices: ms(700), calm: ms(500), agreed_within: ms(4_000), judge: &|_, _| Ok(()) };
            for (set, way) in sets(shape).flat_map(|set| WAYS.map(|way| (set, way))) {
                seen.add(&explore(&start, &unheard(shape, set, way), 1, aim));
            }
        }
        println!("{}, unheard, one frame: {seen:?}", shape.name);
    }
}

#[test]
fn a_leader_that_nobody_hears_for_a_while_is_followed_or_unseated_by_all() {
    for shape in ALL {
        let start = shape.led(1);
        let mut seen = Seen::default();
        for length in (50..=1_000).step_by(if is_deep() { 50 } else { 190 }) {
            for way in WAYS {
                let mut deeds: Vec<_> = shape.successors().map(|other| (0, way(other))).collect();
                deeds.extend(shape.successors().map(|other| (length, Deed::Join(0, other))));
                let aim =
                    Aim { choices: ms(length + 300), calm: ms(300), agreed_within: ms(5_000), judge: &|_, _| Ok(()) };
                seen.add(&explore(&start, &deeds, 1, aim));
            }
        }
        println!("{}, unheard for a while: {seen:?}", shape.name);
    }
}
