//! Ring mode and every ring algorithm on it, over links as the link layer promises them, under random graphs, ring
//! orders, delivery orders and changes: every component ends with one leader, the rightful one, and comes to rest.
//!
//! A failure names its seed; `RING_SEED=<seed> cargo test -p common --test ring_mode <test>` replays it.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where it fails"
)]

mod check;
mod world;

use common::election::Algorithm;
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::NodeId;
use world::{Change, Plan, World};

/// Runs of each algorithm; `RING_SEEDS=<number>` asks for more.
const SEEDS: u64 = 60;

/// Nodes of the largest network.
const NODES_MAX: usize = 10;

fn pick(rng: &mut Rng, below: usize) -> usize {
    usize::try_from(rng.below(u32::try_from(below).unwrap())).unwrap()
}

fn shuffled(rng: &mut Rng, n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        all.swap(i, pick(rng, i + 1));
    }
    all
}

fn edges(rng: &mut Rng, n: usize) -> Vec<(usize, usize)> {
    let line = (1..n).map(|i| (i - 1, i));
    match rng.below(5) {
        0 => line.collect(),
        1 if n > 2 => line.chain([(0, n - 1)]).collect(),
        2 if n > 3 => {
            let mut edges: Vec<_> = line.chain([(0, n - 1)]).collect();
            for _ in 0..n / 2 {
                let (a, b) = (pick(rng, n), pick(rng, n));
                if a != b && !edges.contains(&(a.min(b), a.max(b))) {
                    edges.push((a.min(b), a.max(b)));
                }
            }
            edges
        }
        3 => (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect(),
        _ => {
            let points: Vec<(u32, u32)> = (0..n).map(|_| (rng.below(1_000), rng.below(1_000))).collect();
            let near = |a: usize, b: usize| {
                let ((ax, ay), (bx, by)) = (points[a], points[b]);
                ax.abs_diff(bx).pow(2) + ay.abs_diff(by).pow(2) < 500_u32.pow(2)
            };
            (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).filter(|&(a, b)| near(a, b)).collect()
        }
    }
}

fn plan(algorithm: Algorithm, seed: u64, n_max: usize) -> (Plan, Rng) {
    let mut rng = Rng::stream(seed, 1);
    let n = 1 + pick(&mut rng, n_max);
    let ids = shuffled(&mut rng, n).into_iter().map(|i| NodeId(u16::try_from(10 + 3 * i).unwrap())).collect();
    let order = if rng.below(2) == 0 { (0..n).collect() } else { shuffled(&mut rng, n) };
    let edges = edges(&mut rng, n);
    (Plan { algorithm, ids, order, edges, seed, is_cramped: rng.below(10) == 0 }, rng)
}

/// Changes in the first seconds: links that break, mend and flap, crashes with returns that remember nothing, cuts through
/// the whole network.
fn unrest(rng: &mut Rng, plan: &Plan, world: &mut World) -> Instant {
    let mut at = Instant::from_millis(u64::from(rng.below(3_000)));
    let n = plan.ids.len();
    for _ in 0..rng.below(8) {
        at = at + Duration::from_millis(u64::from(rng.below(2_500)));
        match rng.below(5) {
            0 if !plan.edges.is_empty() => {
                let (a, b) = plan.edges[pick(rng, plan.edges.len())];
                world.plan(at, Change::Break(a, b));
                if rng.below(2) == 0 {
                    world.plan(at + Duration::from_millis(u64::from(rng.below(3_000))), Change::Mend(a, b));
                }
            }
            1 if !plan.edges.is_empty() => {
                let (a, b) = plan.edges[pick(rng, plan.edges.len())];
                for flap in 0..6 {
                    let change = if flap % 2 == 0 { Change::Break(a, b) } else { Change::Mend(a, b) };
                    world.plan(at + Duration::from_millis(200 * flap), change);
                }
            }
            2 => world.plan(at, Change::Crash(pick(rng, n))),
            3 => {
                let victim = pick(rng, n);
                world.plan(at, Change::Crash(victim));
                world.plan(at + Duration::from_millis(u64::from(rng.below(3_000))), Change::Return(victim));
            }
            _ => {
                let side: Vec<bool> = (0..n).map(|_| rng.below(2) == 0).collect();
                let mended = at + Duration::from_millis(u64::from(rng.below(6_000)));
                for &(a, b) in plan.edges.iter().filter(|&&(a, b)| side[a] != side[b]) {
                    world.plan(at, Change::Break(a, b));
                    world.plan(mended, Change::Mend(a, b));
                }
            }
        }
    }
    at + Duration::from_millis(6_000)
}

fn outcome(algorithm: Algorithm, seed: u64, n_max: usize) -> Result<World, String> {
    let (plan, mut rng) = plan(algorithm, seed, n_max);
    let mut world = World::new(&plan);
    let rest = unrest(&mut rng, &plan, &mut world);
    world.run(rest, &plan.ids);
    world.run(rest + Duration::from_millis(40_000), &plan.ids);
    world.check(Duration::from_millis(15_000))?;
    Ok(world)
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text}")))
}

fn sweep(algorithm: Algorithm) {
    let seeds = number("RING_SEED").map_or(0..number("RING_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    let run = |seed| outcome(algorithm, seed, NODES_MAX).err().map(|why| format!("RING_SEED={seed}: {why}"));
    let failures: Vec<String> = seeds.filter_map(run).collect();
    let first: Vec<&str> = failures.iter().take(10).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} runs of {} fail\n{}", failures.len(), algorithm.title(), first.join("\n"));
}

#[test]
fn hs_agrees() {
    sweep(Algorithm::Hs);
}

#[test]
fn frlle_agrees() {
    sweep(Algorithm::Frlle);
}

#[test]
fn lcr_agrees() {
    sweep(Algorithm::Lcr);
}

#[test]
fn bully_agrees() {
    sweep(Algorithm::Bully);
}

#[test]
fn ring_agrees() {
    sweep(Algorithm::Ring);
}

#[test]
fn timer_based_agrees() {
    sweep(Algorithm::TimerBased);
}

#[test]
fn modified_bully_agrees() {
    sweep(Algorithm::ModifiedBully);
}

#[test]
fn abraham_agrees() {
    sweep(Algorithm::Abraham);
}

#[test]
fn ways_never_close_to_a_loop() {
    let mut steps = 0_u64;
    for seed in 0..40 {
        let (plan, mut rng) = plan(Algorithm::Hs, seed, NODES_MAX);
        let mut world = World::new(&plan);
        // Only links: a node that restarts has forgotten its measure, and the rest of the network needs a moment to notice.
        for _ in 0..30 * usize::from(!plan.edges.is_empty()) {
            let (a, b) = plan.edges[pick(&mut rng, plan.edges.len())];
            let change = if rng.below(2) == 0 { Change::Break(a, b) } else { Change::Mend(a, b) };
            world.plan(Instant::from_millis(u64::from(rng.below(4_000))), change);
        }
        while world.step(Instant::from_millis(6_000), &plan.ids) {
            steps += 1;
            assert!(!world.has_loop(), "a loop with seed {seed} at {:?}", world.now);
        }
    }
    assert!(steps > 10_000, "only {steps} steps were checked");
}
