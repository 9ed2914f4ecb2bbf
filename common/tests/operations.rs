//! What a fuzzer would try, on seeded bytes and for a bounded time. The same functions are targets in `fuzz/`.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod harness;

use common::config::page::{self, PAGE_MAX};
use common::config::{Config, NetworkKey, Protection};
use common::election::Algorithm;
use common::host_link::{Bytes, Call, FRAME_BYTES_MAX, Message, Page, ToBoard, ToHost, encode};
use common::members::RingOrder;
use common::notice::Notice;
use common::rng::Rng;
use common::types::NodeId;

/// Runs a target on inputs made of good ones by changing them; how much it understood of all of them.
fn on_changed(name: &str, seeds: u64, inputs: &[Vec<u8>], target: fn(&[u8]) -> u32) -> u32 {
    let mut understood = 0;
    for seed in 0..seeds {
        let bytes = harness::mutate::mutated(inputs, &mut Rng::stream(seed, 4_321));
        let outcome = std::panic::catch_unwind(|| target(&bytes));
        understood += outcome.unwrap_or_else(|_| panic!("{name} fails on seed {seed}, {bytes:02x?}; see above"));
    }
    understood
}

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

#[test]
fn no_member_of_any_algorithm_does_harm_whatever_it_says() {
    let links_up = on_seeds("algorithms", 4_000, 3_000, harness::algorithms);
    assert!(links_up > 1_000, "links came up only {links_up} times: nothing much was tried");
}

#[test]
fn no_member_of_a_ring_does_harm_whatever_it_says() {
    let places = on_seeds("rings", 3_000, 3_000, harness::rings);
    assert!(places > 1_000, "members came and went only {places} times: nothing much was tried");
}

#[test]
fn no_member_does_harm_whatever_it_says_of_readings_and_orders() {
    let links_up = on_seeds("services", 3_000, 3_000, harness::services);
    assert!(links_up > 1_000, "links came up only {links_up} times: nothing much was tried");
}

/// Pages of both kinds, and their bodies.
fn pages() -> Vec<Vec<u8>> {
    let ascon = Protection::Ascon(NetworkKey::new([3; 16]));
    let ring = RingOrder::new(&[NodeId(4), NodeId(9), NodeId(2)]).expect("three different nodes");
    let configs =
        [Config::ad_hoc(NodeId(1), 7, ascon.clone()), Config::on_ring(NodeId(4), 0x1234, ascon, Algorithm::Hs, ring)];
    let mut inputs = Vec::new();
    for config in &configs {
        let mut buf = [0; PAGE_MAX];
        let page = page::encode(config, &mut buf).expect("it fits");
        inputs.push(page.to_vec());
        inputs.push(page[8..page.len() - 4].to_vec());
    }
    inputs
}

#[test]
fn no_configuration_page_does_harm() {
    let accepted = on_changed("config_page", 30_000, &pages(), harness::formats::config_page);
    assert!(accepted > 3_000, "only {accepted} were accepted: nothing much was tried");
}

/// A message as a frame, and without what is around it, so that a change is one of the message and the checksum still fits.
fn both_ways<M: Message>(message: &M) -> [Vec<u8>; 2] {
    let bare = postcard::to_slice(message, &mut [0; FRAME_BYTES_MAX]).expect("it fits").to_vec();
    [encode(message, &mut [0; FRAME_BYTES_MAX]).expect("it fits").to_vec(), bare]
}

#[test]
fn no_bytes_on_the_host_link_do_harm() {
    let page = Page::new(&pages()[0]).expect("it fits");
    let heard = Bytes::new(&[1, 2, 3, 0, 5]).expect("it fits");
    let inputs = [
        both_ways(&ToBoard::SetConfig(page)),
        both_ways(&ToBoard::Ping(9)),
        both_ways(&ToBoard::Reset { record: true }),
        both_ways(&ToHost::Notice { at_us: 5, notice: Notice::EpochNeeded }),
        both_ways(&ToHost::Call { at_us: 20, call: Call::Frame { rssi_dbm: -61, bytes: heard } }),
    ]
    .concat();
    // Four messages in every run are good ones, which tell that the decoders still work.
    let understood = on_changed("host_link", 30_000, &inputs, harness::formats::host_link) - 4 * 30_000;
    assert!(understood > 5_000, "only {understood} were understood: nothing much was tried");
}
