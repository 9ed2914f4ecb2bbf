//! Bully and its modification: all nodes linked, leaders die and come back.

use common::election::Algorithm;
use common::protocol::Signal;
use common::rng::Rng;
use common::types::NodeId;
use ideal::net::{Delay, Net};

use super::{DELAY, agreed, election, settle, sweep};

fn mesh_case(algorithm: Algorithm, seed: u64) {
    let mut rng = Rng::stream(seed, 0x61);
    let count = 2 + rng.below(12) as usize;
    let ids: Vec<NodeId> = (1..).map(|id| NodeId(id * 3)).take(count).collect();
    let mut net = Net::new(Delay::Random { rounds: DELAY - 1, rng: Rng::stream(seed, 0x62) });
    for (at, &id) in ids.iter().enumerate() {
        net.add(id, seed, election(id, algorithm, &ids, at));
    }
    for v in 0..count {
        (0..v).for_each(|u| net.join(u, v));
    }
    let all: Vec<usize> = (0..count).collect();
    for node in 0..count {
        net.start(node);
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[count - 1], "the highest leads");

    // It dies. Some detect that by asking in vain, the others when their link is declared down.
    net.crash(count - 1);
    for node in 0..count - 1 {
        if rng.below(2) == 0 {
            net.signal(node, Signal::LeaderLost);
        } else {
            net.link_down(node, count - 1);
        }
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    settle(&mut net);
    (0..count - 1).for_each(|node| net.link_down(node, count - 1));
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[count - 2], "then the second highest");

    // It comes back and takes over.
    net.restart(count - 1, seed ^ 7, election(ids[count - 1], algorithm, &ids, count - 1));
    for node in 0..count - 1 {
        net.connect(count - 1, node);
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    net.start(count - 1);
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[count - 1], "the bully is back");
}

#[test]
fn bully() {
    sweep("meshes::bully", 1_500, |seed| mesh_case(Algorithm::Bully, seed));
}

#[test]
fn modified_bully() {
    sweep("meshes::modified_bully", 1_500, |seed| mesh_case(Algorithm::ModifiedBully, seed));
}
