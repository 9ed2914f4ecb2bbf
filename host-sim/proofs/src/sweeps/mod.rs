//! Thousands of random elections on the ideal network, with all algorithms dispatched at run time.
//!
//! A failure names its seed; `RINGLEADER_SEED=<seed> cargo test -p proofs sweeps::<test>` runs that one alone.

mod heights;
mod meshes;
mod rings;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use common::coefficient::Coefficient;
use common::election::height::HeightOptions;
use common::election::hierarchy::Radii;
use common::election::hs::HsRules;
use common::election::{Algorithm, Election, ElectionConfig, Timing};
use common::members::RingOrder;
use common::protocol::Protocol;
use common::time::Duration;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::net::{Net, ROUND};
use ideal::ring;

/// The longest delay of a message, in rounds.
const DELAY: u32 = 5;

const TIMING: Timing = Timing {
    hop: Duration::from_millis(DELAY as u64),
    answer: Duration::from_millis(2 * DELAY as u64),
    patience: Duration::from_millis(3_000),
};

/// Runs a case for every seed, or for the one in the environment.
fn sweep(test: &str, seeds: u64, case: impl Fn(u64)) {
    if let Ok(seed) = std::env::var("RINGLEADER_SEED") {
        case(seed.parse().expect("RINGLEADER_SEED is a whole number"));
        return;
    }
    for seed in 0..seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(seed))) {
            eprintln!("replay: RINGLEADER_SEED={seed} cargo test -p proofs sweeps::{test}");
            resume_unwind(panic);
        }
    }
}

fn election(id: NodeId, algorithm: Algorithm, ids: &[NodeId], at: NodeIndex) -> Election {
    let config = ElectionConfig {
        algorithm,
        order: RingOrder::new(ids).expect("distinct ids"),
        place: ring::place(ids, at),
        coefficient: coefficient(id),
        hs: HsRules::Published,
        height: HeightOptions::default(),
        radii: Radii::default(),
        timing: TIMING,
    };
    Election::new(id, config)
}

/// Some nodes are equally fit, so that ties occur.
fn coefficient(id: NodeId) -> Coefficient {
    Coefficient(id.0.wrapping_mul(31) % 7)
}

/// Runs until nothing is left to happen.
fn settle(net: &mut Net<Election, 32>) {
    let limit = 200_000;
    net.run_rounds(limit).unwrap_or_else(|_| {
        panic!("no end after {limit} steps, at {} rounds", net.now().as_micros() / ROUND.as_micros())
    });
}

/// The one leader that all live nodes among these follow.
fn agreed(net: &Net<Election, 32>, nodes: &[NodeIndex]) -> NodeId {
    let alive: Vec<NodeIndex> = nodes.iter().copied().filter(|&node| net.is_alive(node)).collect();
    let leaders: Vec<Option<NodeId>> = alive.iter().map(|&node| net.node(node).leader()).collect();
    let first = leaders[0].expect("every node knows a leader");
    assert!(leaders.iter().all(|&leader| leader == Some(first)), "{leaders:?}");
    assert!(alive.iter().any(|&node| net.id(node) == first), "the leader {first} is dead");
    first
}
