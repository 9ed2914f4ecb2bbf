//! Bully and its modification: all nodes linked, leaders die and come back.

use common::election::Algorithm;
use common::protocol::Signal;
use common::rng::Rng;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::net::{Delay, Net};

use super::{DELAY, agreed, election, settle, sweep};

fn mesh_case(algorithm: Algorithm, seed: u64) {
    let mut rng = Rng::stream(seed, 0x61);
    let count = 2 + rng.below(12) as usize;
    let ids: Vec<NodeId> = (1..).map(|id| NodeId(id * 3)).take(count).collect();
    let mut net = Net::new(Delay::Random { rounds: DELAY - 1, rng: Rng::stream(seed, 0x62) });
    for at in NodeIndex::first(count) {
        net.add(ids[at], seed, election(ids[at], algorithm, &ids, at));
        at.earlier().for_each(|other| net.join(other, at));
    }
    let highest = NodeIndex(count - 1);
    let all: Vec<NodeIndex> = net.nodes().collect();
    for node in net.nodes() {
        net.start(node);
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[highest], "the highest leads");

    // It dies. Some detect that by asking in vain, the others when their link is declared down.
    net.crash(highest);
    for node in highest.earlier() {
        if rng.below(2) == 0 {
            net.signal(node, Signal::LeaderLost);
        } else {
            net.link_down(node, highest);
        }
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    settle(&mut net);
    highest.earlier().for_each(|node| net.link_down(node, highest));
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[count - 2], "then the second highest");

    // It comes back and takes over.
    net.restart(highest, seed ^ 7, election(ids[highest], algorithm, &ids, highest));
    for node in highest.earlier() {
        net.connect(highest, node);
        if rng.below(3) == 0 {
            net.step_round();
        }
    }
    net.start(highest);
    settle(&mut net);
    assert_eq!(agreed(&net, &all), ids[highest], "the bully is back");
}

#[test]
fn bully() {
    sweep("meshes::bully", 1_500, |seed| mesh_case(Algorithm::Bully, seed));
}

#[test]
fn modified_bully() {
    sweep("meshes::modified_bully", 1_500, |seed| mesh_case(Algorithm::ModifiedBully, seed));
}
