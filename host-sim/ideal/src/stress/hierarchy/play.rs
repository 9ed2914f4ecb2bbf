//! One run: the network forms, faults happen, everything settles, and the end is checked.

use super::plan::{Faults, Plan};
use super::world::World;
use crate::index::{Edge, NodeIndex};
use crate::well_formed;

/// A run with more events than this counts as endless. It is far more than the longest of the first 50 000 runs of seed 1,
/// which `docs/results.md` gives.
const STEPS_MAX: u64 = 1_000_000;

/// A lossy run with more waves of resending than this counts as endless.
const WAVES_MAX: u32 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it must.
    WellFormed,
    /// Quiet, but wrong.
    Violation(String),
    /// Never quiet.
    Unquiet(String),
}

#[derive(Clone, Debug)]
pub struct Played {
    pub end: End,
    pub steps: u64,
    pub delivered: u64,
    /// The last events, oldest first.
    pub trail: Vec<String>,
}

pub fn play(plan: &Plan) -> Played {
    let mut world = World::new(plan);
    let end = story(plan, &mut world);
    Played { end, steps: world.steps(), delivered: world.net.counts().delivered, trail: world.trail() }
}

fn story(plan: &Plan, world: &mut World<'_>) -> End {
    if plan.faults != Faults::Forming {
        // Some faults happen while the network is still forming.
        pause(world);
        for _ in 0..=world.below(8) {
            let kinds = [Faults::Links, Faults::OneSided, Faults::Partitions, Faults::Crashes, Faults::Fitness];
            let kind = match plan.faults {
                Faults::Mixed | Faults::Loss | Faults::Corruption => kinds[world.below(kinds.len())],
                kind => kind,
            };
            go_wrong(kind, world);
            pause(world);
        }
    }
    if plan.faults == Faults::Corruption {
        corrupt(world);
    }
    settle(plan, world)
}

/// Runs no events, a few, many, or all there are.
fn pause(world: &mut World<'_>) {
    let few = world.below(8) as u64;
    let many = world.below(4 * world.net.len()) as u64;
    let steps = [0, few, many, STEPS_MAX][world.below(4)];
    for _ in 0..steps {
        if world.steps() >= STEPS_MAX || !world.step() {
            return;
        }
    }
}

fn go_wrong(kind: Faults, world: &mut World<'_>) {
    match kind {
        Faults::Links => {
            if let Some(edge) = change_link(world) {
                world.notice_now(edge);
            }
        }
        Faults::OneSided => match one_link(world) {
            Some(edge) if world.below(2) == 0 => {
                let [there, back] = edge.directions();
                world.flap(there);
                if world.below(2) == 0 {
                    world.flap(back);
                }
            }
            _ => {
                change_link(world);
            }
        },
        Faults::Partitions => part(world),
        Faults::Crashes => crash(world),
        _ => {
            let fitness = u8::try_from(world.below(6)).unwrap_or(0);
            let node = NodeIndex(world.below(world.net.len()));
            world.rank(node, fitness);
        }
    }
}

fn one_link(world: &mut World<'_>) -> Option<Edge> {
    let links: Vec<_> = world.graph.edges().collect();
    (!links.is_empty()).then(|| links[world.below(links.len())])
}

/// Cuts or makes a link, with equal probability if both are possible.
fn change_link(world: &mut World<'_>) -> Option<Edge> {
    let alive = world.alive();
    let edge = match one_link(world) {
        Some(link) if world.below(2) == 0 => link,
        _ if alive.is_empty() => return None,
        // The end that was drawn first detects the change first.
        _ => Edge { u: alive[world.below(alive.len())], v: alive[world.below(alive.len())] },
    };
    if edge.u == edge.v {
        return None;
    }
    let up = !world.graph.has(edge.u, edge.v);
    world.link(edge, up);
    Some(edge)
}

/// Cuts every link between some nodes and the others; the links may come back.
fn part(world: &mut World<'_>) {
    let side: Vec<bool> = (0..world.net.len()).map(|_| world.below(2) == 0).collect();
    let links: Vec<_> = world.graph.edges().filter(|edge| side[edge.u] != side[edge.v]).collect();
    for &edge in &links {
        world.link(edge, false);
    }
    if world.below(3) > 0 {
        pause(world);
        for edge in links {
            world.link(edge, true);
        }
    }
}

/// One node crashes, or one comes back.
fn crash(world: &mut World<'_>) {
    let (alive, dead) = (world.alive(), world.dead());
    if alive.len() > 1 && (dead.is_empty() || world.below(2) == 0) {
        let node = alive[world.below(alive.len())];
        world.crash(node);
        if world.below(2) == 0 {
            pause(world);
            world.restart(node);
        }
    } else if !dead.is_empty() {
        let node = dead[world.below(dead.len())];
        world.restart(node);
    }
}

/// Corrupts the records of some nodes and makes every node send once, amid whatever is in flight.
fn corrupt(world: &mut World<'_>) {
    let alive = world.alive();
    let one_in = 1 + world.below(3);
    let certain = alive[world.below(alive.len())];
    for &node in &alive {
        if node == certain || world.below(one_in) == 0 {
            world.corrupt(node);
        }
    }
    for node in alive {
        world.resend(node);
        if world.below(4) == 0 {
            world.step();
        }
    }
}

/// Runs to the end and checks it.
fn settle(plan: &Plan, world: &mut World<'_>) -> End {
    for _ in 0..WAVES_MAX {
        while world.step() {
            if world.steps() >= STEPS_MAX {
                return End::Unquiet(format!("not quiet after {STEPS_MAX} events"));
            }
        }
        let graph = well_formed::link_graph(&world.net);
        if plan.loss == 0 || well_formed::views_are_true(&world.net, &graph).is_ok() {
            return match well_formed::check(&world.net) {
                Ok(()) => End::WellFormed,
                Err(violation) => End::Violation(violation.to_string()),
            };
        }
        for node in world.alive() {
            world.resend(node);
        }
    }
    End::Unquiet(format!("neighbours still disagree after every node has resent {WAVES_MAX} times"))
}
