//! Boards elect, lose their leader, get it back, split and merge, also together with simulated nodes.

use emulator::board::StackUse;
use host_sim::cli::scenario_file::find;
use sim::scenario::judge::observer::Recorders;

use super::support::{Heights, Paper, hold, image, last_reign, reign_before, run};

#[test]
fn five_boards_on_a_ring_elect_lose_their_leader_and_get_it_back() {
    let (outcome, boards) = hold(&find("boards5").unwrap(), 1, &image(false));
    assert_eq!(reign_before(&outcome, 12), [(5, 5)], "HS elects the largest id");
    assert_eq!(reign_before(&outcome, 22), [(4, 4)], "the power of the leader is cut");
    assert_eq!(last_reign(&outcome), [(5, 5)], "it returns");
    assert_eq!(boards.len(), 5);
    for board in &boards {
        assert_eq!(board.power_ons, if board.id == 5 { 2 } else { 1 });
        assert_eq!(board.software_resets, 1, "blank UICR is written at the very first start, and at no later one");
        let StackUse { used, size: all } = board.stack.expect("the image says where its stack is");
        assert!(used > 0 && used < all, "{used} of {all} bytes of stack");
    }
}

const HEIGHTS: Heights =
    Heights { name: "heights", seconds: 44, topology: "grid", nodes: 5, spacing_m: 15, agreement_within_s: 10 };

const PARTED: &str = r#"
[[node]]
id = 3
drift = "200 ppm"
[[node]]
id = 4
drift = "-200 ppm"
[[fault]]
kind = "partition"
nodes = [4, 5]
at = "9.123457 s"
for = "12 s"
[[fault]]
kind = "crash"
who = "leader"
at = "31.000017 s"
"#;

#[test]
fn five_boards_agree_by_heights_are_parted_and_merge() {
    let (outcome, _) = hold(&HEIGHTS.with(PARTED), 2, &image(true));
    assert_eq!(reign_before(&outcome, 9).len(), 1, "{:?}", outcome.reigns);
    let parted = reign_before(&outcome, 21);
    let mut sizes: Vec<usize> = parted.iter().map(|&(_, followers)| followers).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 3], "each part has a leader of its own: {parted:?}");
    let merged = reign_before(&outcome, 31);
    assert!(matches!(merged[..], [(_, 5)]), "{merged:?}");
    let after = last_reign(&outcome);
    assert!(matches!(after[..], [(leader, 4)] if leader != merged[0].0), "{after:?}");
}

#[test]
fn boards_and_simulated_nodes_agree() {
    let scenario = find("mixed").unwrap();
    let (outcome, boards) = hold(&scenario, 1, &image(false));
    assert_eq!(boards.iter().map(|board| board.id).collect::<Vec<_>>(), [2, 5, 9]);
    assert!(matches!(last_reign(&outcome)[..], [(_, 9)]), "{:?}", last_reign(&outcome));
    // Each kind receives what the other sends.
    assert!(outcome.nodes.iter().all(|node| node.sent > 20 && node.received > 20), "{:?}", outcome.nodes);
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let mut short = find("mixed").unwrap();
    (short.faults, short.duration_us) = (Vec::new(), 16_000_000);
    let traced = |seed| {
        let trace = Paper::default();
        let recorders = Recorders { trace: Some(Box::new(trace.clone())), ..Recorders::default() };
        let (outcome, _) = run(&short, seed, &image(false), recorders);
        (trace.bytes(), outcome)
    };
    let (first, again, other) = (traced(7), traced(7), traced(8));
    assert!(first.0.len() > 50_000, "{} bytes", first.0.len());
    assert!(first == again, "two runs with seed 7 differ");
    assert_ne!(first.1.digest, other.1.digest, "another seed is another run");
}
