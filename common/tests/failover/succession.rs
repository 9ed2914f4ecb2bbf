//! The leader dies, or dies and comes back, or steps down, or another is asked to lead meanwhile: whom the others follow then.
//!
//! What fails here if it is broken (each was):
//!
//! - a sign of life that grows younger by being told (`Life::vouch`): nobody is elected in time;
//! - successors without a turn of their own (`Life::turn`): as slow;
//! - whoever elects itself although it follows another by then (`Node::succeed`): one election too many;
//! - any hello names an heir (`is_heir`): somebody follows nobody who leads;
//! - who hands or takes over does not say so (`Beat::word`): the same, or the old leader leads on;
//! - a leader that comes back adopts its former life (`react_to_other_leader`): a pair was made twice;
//! - a worse pair is adopted as well: the order of pairs.

use common::protocol::Signal;

use crate::explore::{Aim, Seen, explore};
use crate::is_deep;
use crate::shapes::{ALL, BEAT, FIVE, FOUR, HELLOS, TRIANGLE, ms};
use crate::world::{Deed, World};

const DIES: Deed = Deed::SwitchOff(0);
const COMES_BACK: Deed = Deed::SwitchOn(0);
const STEPS_DOWN: Deed = Deed::Tell(0, Signal::StepDown);

/// The time in which choices are made: from the leader's end to the last Update of its successor.
const AIM: Aim = Aim { choices: ms(700), calm: ms(300), agreed_within: ms(500), judge: &|_, _| Ok(()) };

/// There are no more elections than this in a run.
fn at_most(elections: usize, start: &World) -> impl Fn(&World, bool) -> Result<(), String> {
    let most = start.ledger.made() + elections;
    move |world, _| if world.ledger.made() > most { Err("one election too many".to_owned()) } else { Ok(()) }
}

#[test]
fn whenever_a_leader_dies_one_other_is_elected() {
    for shape in ALL {
        let mut seen = Seen::default();
        for start in shape.moments(1, HELLOS) {
            seen.add(&explore(&start, &[(0, DIES)], 0, Aim { judge: &at_most(1, &start), ..AIM }));
        }
        println!("{}, every moment: {seen:?}", shape.name);
    }
}

#[test]
fn whenever_a_leader_dies_and_whichever_frame_is_lost_or_late_its_successors_end_as_one() {
    for shape in ALL {
        let mut seen = Seen::default();
        for start in shape.moments(1, if is_deep() { HELLOS } else { BEAT }) {
            let judge = at_most(3, &start);
            seen.add(&explore(&start, &[(0, DIES)], 1, Aim { agreed_within: ms(800), judge: &judge, ..AIM }));
        }
        println!("{}, one frame: {seen:?}", shape.name);
    }
}

#[test]
fn all_let_go_of_a_dead_leader_together_although_not_all_watch_it() {
    let is_let_go = |world: &World, is_end: bool| {
        let holds = |board: usize| world.boards[board].node.links().table().is_linked(world.id(0));
        let is_right = !is_end || !world.alive().any(holds);
        if is_right { Ok(()) } else { Err("somebody still has a link to it".to_owned()) }
    };
    let mut seen = Seen::default();
    for start in FIVE.moments(1, HELLOS) {
        seen.add(&explore(&start, &[(0, DIES)], 0, Aim { judge: &is_let_go, ..AIM }));
    }
    println!("five let go: {seen:?}");
}

#[test]
fn whichever_two_frames_are_lost_or_late_the_successors_of_a_dead_leader_end_as_one() {
    for shape in if is_deep() { &ALL[..] } else { &[TRIANGLE] } {
        let aim = Aim { agreed_within: ms(3_000), ..AIM };
        println!("{}, two frames: {:?}", shape.name, explore(&shape.led(1), &[(0, DIES)], 2, aim));
    }
}

#[test]
fn a_dead_leader_that_comes_back_in_the_middle_follows_or_leads_like_everybody() {
    for shape in ALL {
        let start = shape.led(1);
        let aim = Aim { agreed_within: ms(4_000), ..AIM };
        let mut seen = Seen::default();
        for back in (10..=1_000).step_by(10) {
            seen.add(&explore(&start, &[(0, DIES), (back, COMES_BACK)], 0, aim));
        }
        for back in (10..=1_000).step_by(if is_deep() { 30 } else { 330 }) {
            let aim = Aim { choices: ms(back + 700), ..aim };
            seen.add(&explore(&start, &[(0, DIES), (back, COMES_BACK)], 1, aim));
        }
        println!("{}, back within a second: {seen:?}", shape.name);
    }
}

#[test]
fn another_that_is_told_to_lead_while_the_successors_elect_themselves_is_one_more_election() {
    for shape in [TRIANGLE, FOUR] {
        let start = shape.led(1);
        let judge = at_most(4, &start);
        let mut seen = Seen::default();
        for told in (10..=600).step_by(if is_deep() { 10 } else { 100 }) {
            let deeds = [(0, DIES), (told, Deed::Tell(shape.count - 1, Signal::Elect))];
            seen.add(&explore(&start, &deeds, 1, Aim { agreed_within: ms(1_300), judge: &judge, ..AIM }));
        }
        println!("{}, another is told: {seen:?}", shape.name);
    }
}

/// Somebody leads at every moment, and everybody follows somebody who does, but for this long.
fn led_but_for(gap_us: u64) -> impl Fn(&World, bool) -> Result<(), String> {
    move |world, is_end| {
        let gap = world.ledger.unled_since.map_or(0, |since| world.now.since(since).as_micros());
        if !world.ledger.has_leader {
            return Err("nobody leads".to_owned());
        }
        if gap > gap_us {
            return Err(format!("somebody follows nobody who leads for {gap} us"));
        }
        let leads_on = is_end && world.boards[0].node.leader() == Some(world.id(0));
        if leads_on { Err("it leads on".to_owned()) } else { Ok(()) }
    }
}

#[test]
fn whenever_a_leader_steps_down_somebody_leads_at_every_moment() {
    for shape in ALL {
        let mut seen = Seen::default();
        for start in shape.moments(1, HELLOS) {
            let (is_led, is_one) = (led_but_for(20_000), at_most(1, &start));
            let judge = |world: &World, is_end: bool| is_led(world, is_end).and_then(|()| is_one(world, is_end));
            seen.add(&explore(&start, &[(0, STEPS_DOWN)], 0, Aim { agreed_within: ms(30), judge: &judge, ..AIM }));
        }
        println!("{}, steps down: {seen:?}", shape.name);
    }
}

#[test]
fn whichever_frame_is_lost_or_late_somebody_leads_while_a_leader_steps_down() {
    for shape in ALL {
        let mut seen = Seen::default();
        for start in shape.moments(1, if is_deep() { HELLOS } else { BEAT }) {
            let (is_led, is_few) = (led_but_for(160_000), at_most(3, &start));
            let judge = |world: &World, is_end: bool| is_led(world, is_end).and_then(|()| is_few(world, is_end));
            let aim = Aim { choices: ms(300), agreed_within: ms(250), judge: &judge, ..AIM };
            seen.add(&explore(&start, &[(0, STEPS_DOWN)], 1, aim));
        }
        println!("{}, steps down, one frame: {seen:?}", shape.name);
    }
}

#[test]
fn a_leader_may_die_in_the_middle_of_stepping_down() {
    for shape in ALL {
        let start = shape.led(1);
        let mut seen = Seen::default();
        for dies in [2, 5, 8, 12, 20, 50, 120, 300] {
            let aim = Aim { agreed_within: ms(3_000), ..AIM };
            seen.add(&explore(&start, &[(0, STEPS_DOWN), (dies, DIES)], 1, aim));
        }
        println!("{}, dies after its word: {seen:?}", shape.name);
    }
}
