//! What a fuzzer would try, on seeded bytes and for a bounded time. The same functions are targets in `fuzz/`.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod harness;

use common::rng::Rng;

/// Runs a target on the bytes of each seed; a failure names it. How often a link came up, over all of them.
fn on_seeds(name: &str, seeds: u64, length_max: u32, target: fn(&[u8]) -> u32) -> u32 {
    let mut links_up = 0;
    for seed in 0..seeds {
        let mut rng = Rng::stream(seed, 1_234);
        let length = rng.below(length_max);
        let bytes: Vec<_> = (0..length).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        let outcome = std::panic::catch_unwind(|| target(&bytes));
        links_up += outcome.unwrap_or_else(|_| panic!("{name} fails on seed {seed}; its message is above"));
    }
    links_up
}

#[test]
fn no_frame_does_harm() {
    let links_up = on_seeds("frame_bytes", 20_000, 140, harness::frame_bytes);
    assert_eq!(links_up, 0, "one frame makes no link");
}

#[test]
fn no_sequence_of_operations_does_harm() {
    let links_up = on_seeds("operations", 3_000, 3_000, harness::operations);
    assert!(links_up > 1_000, "links came up only {links_up} times: nothing much was tried");
}
