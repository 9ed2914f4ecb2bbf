//! A hub with more stations than it has room for. The number of links is a constant of the build, so no table is full with three or
//! four boards: it takes a hub and sixteen stations. So many have too many schedules to try them all. Any one frame may be lost or
//! late while a place gets free; the rest is random schedules.
//!
//! What fails here if it is broken (each was):
//!
//! - nobody is a guest (`Node::host`): the stations without a link follow themselves.

use common::limits::NEIGHBOURS_MAX;
use common::rng::Rng;

use crate::explore::{Aim, Seen, explore, wander};
use crate::is_deep;
use crate::shapes::ms;
use crate::world::{Deed, World};

const STATIONS: usize = NEIGHBOURS_MAX + 2;

/// The hub is the first board. Two stations have no link.
fn star(seed: u64) -> World {
    let edges: Vec<_> = (1..=STATIONS).map(|station| (0, station)).collect();
    let mut world = World::new(seed, STATIONS + 1, &edges);
    world.run(ms(20_000));
    assert_eq!(world.ledger.broken, None);
    assert!(world.ledger.agreed_since.is_some(), "they do not agree");
    assert_eq!(guests(&world).count(), STATIONS - NEIGHBOURS_MAX);
    world
}

fn guests(world: &World) -> impl Iterator<Item = usize> {
    (1..=STATIONS).filter(|&station| world.boards[station].is_on && world.boards[station].node.is_alone())
}

const AIM: Aim = Aim { choices: ms(2_000), calm: ms(1_000), agreed_within: ms(20_000), judge: &|_, _| Ok(()) };

#[test]
fn whichever_frame_is_lost_or_late_a_guest_is_let_in_and_unseats_nobody() {
    let mut start = star(1);
    let leader = start.boards[0].node.leader();
    let may_leave = |at: &usize| !start.boards[*at].node.is_alone() && Some(start.id(*at)) != leader;
    let leaves = (1..=STATIONS).find(may_leave).expect("a station with a link");
    start.befall(Deed::SwitchOff(leaves));
    // It takes so long to miss it.
    start.run(ms(1_500));
    let judge = |world: &World, is_end: bool| {
        let is_kept = !is_end || world.boards[0].node.leader() == leader;
        if is_kept { Ok(()) } else { Err("the leader is unseated".to_owned()) }
    };
    let choices = ms(if is_deep() { 4_000 } else { 1_000 });
    let seen = explore(&start, &[], 1, Aim { choices, calm: ms(2_000), agreed_within: ms(10_000), judge: &judge });
    println!("a place gets free: {seen:?}");
}

#[test]
fn whatever_befalls_a_full_hub_and_its_stations_all_agree_again() {
    let (mut seen, schedules) = (Seen::default(), if is_deep() { 20_000 } else { 2_000 });
    let starts = [star(1), star(2)];
    let stations = u32::try_from(STATIONS).expect("few stations");
    for (seed, start) in (0..schedules).zip(starts.iter().cycle()) {
        let mut rng = Rng::stream(seed, 0);
        let mut deeds = Vec::new();
        for _ in 0..=rng.below(4) {
            let board = if rng.below(4) == 0 { 0 } else { 1 + rng.below(stations) as usize };
            let (at, back) = (u64::from(rng.below(1_000)), u64::from(1_000 + rng.below(1_000)));
            deeds.extend(match rng.below(3) {
                0 => [(at, Deed::SwitchOff(board)), (back, Deed::SwitchOn(board))],
                1 => [(at, Deed::Cut(0, board.max(1))), (back, Deed::Join(0, board.max(1)))],
                _ => [(at, Deed::SwitchOff(board.max(1))), (back, Deed::SwitchOn(board.max(1)))],
            });
        }
        let chance = [0, 50, 200][rng.below(3) as usize];
        seen.add(&wander(start, &deeds, &mut rng, chance, AIM));
    }
    println!("random schedules: {seen:?}");
}
