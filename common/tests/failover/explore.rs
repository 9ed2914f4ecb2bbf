//! Every schedule that differs from the one without losses in up to so many choices, at any frames: a walk through the tree of
//! choices, which copies the world wherever it branches. And random schedules, where that tree is too large.

use common::rng::Rng;
use common::time::{Duration, Instant};

use crate::world::{Deed, Twist, World};

/// A promise beyond those of the [`ledger`](crate::ledger): looked at after each step, and with `true` at the end of a run.
pub type Judge<'a> = &'a dyn Fn(&World, bool) -> Result<(), String>;

/// What is asked of a run.
#[derive(Clone, Copy)]
pub struct Aim<'a> {
    /// For how long choices are made.
    pub choices: Duration,
    /// A run ends once all have agreed for so long, and no choices are left.
    pub calm: Duration,
    /// By then all have agreed for good.
    pub agreed_within: Duration,
    pub judge: Judge<'a>,
}

/// What an exploration has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub runs: u64,
    /// The longest time from the start of a run to lasting agreement, in milliseconds.
    pub slowest: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.slowest = self.slowest.max(other.slowest);
    }
}

/// Explores everything that up to `twists` choices can lead to after these deeds, each so many milliseconds from now.
///
/// # Panics
/// At the first run that breaks a promise, with its choices.
pub fn explore(start: &World, deeds: &[(u64, Deed)], twists: u8, aim: Aim) -> Seen {
    let (mut seen, begun) = (Seen::default(), start.now);
    if let Err(fault) = walk(after(start, deeds), begun, twists, aim, &mut seen) {
        panic!("after {deeds:?}: {fault}");
    }
    seen
}

/// One run in which each thing that can go wrong with a frame does so with this chance, in a thousand.
pub fn wander(start: &World, deeds: &[(u64, Deed)], rng: &mut Rng, chance: u32, aim: Aim) -> Seen {
    let (mut seen, begun, mut twists) = (Seen::default(), start.now, Vec::new());
    let mut world = after(start, deeds);
    while let Some(step) = world.next(begun + aim.choices) {
        world.twists(step, &mut twists);
        let twist = twists.iter().copied().find(|_| rng.below(1_000) < chance);
        world.perform(step, twist);
    }
    if let Err(fault) = walk(world, begun, 0, aim, &mut seen) {
        panic!("after {deeds:?}: {fault}");
    }
    seen
}

fn after(start: &World, deeds: &[(u64, Deed)]) -> World {
    let mut world = start.clone();
    for &(after, deed) in deeds {
        if after == 0 { world.befall(deed) } else { world.plan(Duration::from_millis(after), deed) }
    }
    world
}

fn walk(mut world: World, begun: Instant, left: u8, aim: Aim, seen: &mut Seen) -> Result<(), String> {
    let mut twists: Vec<Twist> = Vec::new();
    while let Some(step) = world.next(begun + aim.agreed_within + aim.calm) {
        if left > 0 && world.now < begun + aim.choices {
            world.twists(step, &mut twists);
            for &twist in &twists {
                let mut other = world.clone();
                other.perform(step, Some(twist));
                walk(other, begun, left - 1, aim, seen)?;
            }
        }
        world.perform(step, None);
        let broken = world.ledger.broken.clone().map_or(Ok(()), Err);
        broken.and_then(|()| (aim.judge)(&world, false)).map_err(|fault| told(&world, begun, &fault))?;
        let may_end = !world.is_planned() && (left == 0 || world.now >= begun + aim.choices);
        if may_end && world.ledger.agreed_since.is_some_and(|since| world.now >= since.max(begun) + aim.calm) {
            break;
        }
    }
    let agreed = world.ledger.agreed_since.filter(|&since| since <= begun + aim.agreed_within);
    let judged = if agreed.is_some() { (aim.judge)(&world, true) } else { Err("they do not agree in time".to_owned()) };
    judged.map_err(|fault| told(&world, begun, &fault))?;
    let took = agreed.map_or(Duration::ZERO, |agreed| agreed.since(begun));
    seen.add(&Seen { runs: 1, slowest: took.as_micros() / 1_000 });
    Ok(())
}

fn told(world: &World, begun: Instant, fault: &str) -> String {
    let after = |at: Instant| at.since(begun).as_micros();
    let chosen: Vec<_> = world.chosen.iter().map(|(at, from, twist)| (after(*at), *from, *twist)).collect();
    let follows = world.alive().map(|board| (board, world.boards[board].node.leader().map(|id| id.0)));
    let (now, follows) = (after(world.now), follows.collect::<Vec<_>>());
    format!(
        "{fault}\n{now} us after the start; (board, id that it follows): {follows:?}\n(us, board, choice): {chosen:?}"
    )
}
