//! Valid and invalid configuration pages, as a probe writes them.

use common::board::flash_map::NRF52840_CONFIG_PAGE;
use common::config::{Config, NetworkKey, Protection};
use common::host_link::{ConfigAnswer, Page, Refusal, Text, ToBoard, ToHost, Warning};
use common::members::RingOrder;
use common::names::Algorithm;
use common::types::NodeId;

use super::bench::{Bench, PAN, any, board, config, page_of, provisioned};

fn ring_of_two(id: u16) -> Config {
    let ring = RingOrder::new(&[NodeId(7), NodeId(9)]).expect("a ring");
    let protection = Protection::Ascon(NetworkKey::new(*b"a key of the two"));
    Config { channel: 22, ..Config::on_ring(NodeId(id), PAN, protection, Algorithm::Hs, ring) }
}

#[test]
fn id_key_ring_and_channel_are_the_pages() {
    // The third has the same channel, network and ring, but another key, so its frames are refused.
    let other_key = Config { protection: config(9).protection, ..ring_of_two(9) };
    let mut bench =
        Bench::new(vec![provisioned(1, &ring_of_two(7)), provisioned(2, &ring_of_two(9)), provisioned(3, &other_key)]);
    let hello = bench.hello(0);
    assert_eq!((hello.id, hello.pan, hello.channel), (NodeId(7), PAN, 22));
    assert_eq!((hello.algorithm, hello.demo), (Algorithm::Hs, false));
    bench.run_ms(20_000);
    let stands: Vec<_> = (0..3).map(|number| bench.snapshot(number)).collect();
    assert!(stands[..2].iter().all(|stand| stand.leader == Some(NodeId(9)) && stand.links_up == 1), "{stands:?}");
    assert!(stands[2].links_up == 0 && stands[0].counters.forged > 0, "{stands:?}");
    assert!(bench.network.ether_mut().sent.iter().all(|(_, _, tuning)| tuning.channel() == Some(22)));
}

#[test]
fn a_damaged_page_is_survived_and_told() {
    let sound = page_of(&config(5));
    // Every part of a page in turn: its mark, its version, its length, its body, its checksum; and half of a page.
    let places = [0, 4, 6, 12, sound.len() - 1];
    let mut pages: Vec<Vec<u8>> = places.iter().map(|&place| damaged(&sound, place)).collect();
    pages.push(sound[..sound.len() / 2].to_vec());
    for page in pages {
        let mut board = board(5);
        assert!(board.load_flash(NRF52840_CONFIG_PAGE, &page));
        let mut bench = Bench::new(vec![board]);
        let told = |message: &ToHost| (*message == ToHost::Warning(Warning::BadConfig)).then_some(());
        bench.wait_for(0, 2_000, told);
        assert!(bench.hello(0).demo, "{page:02x?}");
        bench.run_ms(200);
        assert!(any(&bench.log(0), "the configuration is damaged"));
    }
}

fn damaged(page: &[u8], place: usize) -> Vec<u8> {
    let mut page = page.to_vec();
    page[place] ^= 0x21;
    page
}

/// A board refuses this configuration from a probe and over the cable, and names the field.
fn is_refused(config: &Config, field: &str) {
    let mut bench = Bench::new(vec![provisioned(5, config)]);
    bench.wait_for(0, 2_000, |message| (*message == ToHost::Warning(Warning::BadConfig)).then_some(()));
    assert!(bench.hello(0).demo);
    let page = Page::new(&page_of(config)).expect("it fits");
    bench.tell(0, &ToBoard::SetConfig(page));
    let answer = bench
        .wait_for(0, 2_000, |message| if let ToHost::Config(answer) = message { Some(answer.clone()) } else { None });
    assert_eq!(answer, ConfigAnswer::Refused(Refusal::Field(Text::start_of(field))));
}

#[test]
fn a_cipher_that_was_not_built_in_is_refused() {
    is_refused(&Config { protection: Protection::AesCcm(NetworkKey::new([7; 16])), ..config(5) }, "protection");
}

#[test]
fn an_algorithm_that_was_not_built_in_is_refused() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.is_comparison()) {
        is_refused(&Config { algorithm, ..ring_of_two(7) }, "algorithm");
    }
}
