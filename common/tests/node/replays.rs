//! An outsider that has recorded everything plays it to boards that no longer know what is old.

use common::config::{Boot, Config, IdSource, NetworkKey, Protection};
use common::link::body::{Hello, Name};
use common::link::frame::{HEADER_BYTES, Header, Kind};
use common::link::security::Keys;
use common::link::session::{Incarnation, TOKEN_MAX};
use common::mac::phy::FRAME_MAX;
use common::node::Node;
use common::notice::Notice;
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::{mesh, seconds};

/// Three boards that meet, part and meet again, and everything that was on the air.
fn recorded(seed: u64) -> (Ether, Vec<Vec<u8>>) {
    let mut ether = mesh(seed, 3, 50);
    ether.heard = Some(Vec::new());
    ether.run(seconds(8));
    ether.part(true, |board| board == 0);
    ether.run(seconds(6));
    ether.part(false, |board| board == 0);
    ether.run(seconds(8));
    let tape = ether.heard.take().expect("recorded");
    (0..3).for_each(|board| ether.switch_off(board));
    (ether, tape)
}

/// Plays everything to a board that is alone, and again from the beginning, and sees that it stays alone.
fn stays_alone(ether: &mut Ether, tape: &[Vec<u8>], what: &str) {
    for frame in tape.iter().chain(tape) {
        ether.inject(0, frame);
        ether.run(Duration::from_millis(3));
        let snapshot = ether.boards[0].node.snapshot();
        assert_eq!((snapshot.counters.links_up, snapshot.leader), (0, Some(NodeId(1))), "{what}");
    }
}

#[test]
fn a_session_that_is_played_again_after_any_number_of_boots_brings_up_nothing() {
    for seed in 0..3 {
        for boots in [1, 8, 15, 16, 17, 32, 4_096] {
            let (mut ether, tape) = recorded(seed);
            // As after so many boots that nobody heard.
            ether.boards[0].epoch += boots - 1;
            ether.switch_on(0);
            stays_alone(&mut ether, &tape, &format!("seed {seed}, {boots} boots"));
        }
    }
}

#[test]
fn a_session_that_is_played_to_a_board_whose_flash_was_erased_brings_up_nothing() {
    for seed in 0..6 {
        let (mut ether, tape) = recorded(seed);
        ether.boards[0].epoch = 1;
        ether.switch_on(0);
        stays_alone(&mut ether, &tape, &format!("seed {seed}"));
    }
}

/// Two boards with the id 5 that only the third hears, and its hellos, which say so.
fn warnings() -> (Ether, Vec<Vec<u8>>) {
    let config = |id| Config::ad_hoc(NodeId(id), 7, Protection::Ascon(NetworkKey::new([9; 16])));
    let mut ether = Ether::new(2, 0, [5, 5, 8].map(config));
    ether.cut(0, 1);
    ether.switch_on_all();
    ether.run(seconds(10));
    ether.heard = Some(Vec::new());
    ether.run(seconds(10));
    assert!(ether.count(0, |notice| *notice == Notice::Twin(NodeId(5))) > 0, "a twin that is there is believed");
    let mut tape = ether.heard.take().expect("recorded");
    tape.retain(|frame| Header::read(frame).is_ok_and(|header| header.kind == Kind::Hello && header.from == NodeId(8)));
    (0..3).for_each(|board| ether.switch_off(board));
    (ether, tape)
}

#[test]
fn a_warning_of_a_twin_that_is_played_again_renames_nobody() {
    for boots in [1, 2, 9, 12, 15, 16] {
        for id_source in [IdSource::Chip, IdSource::Provisioned] {
            let (mut ether, tape) = warnings();
            assert!(tape.len() > 5);
            ether.boards[0].notices.clear();
            ether.boards[0].config.id_source = id_source;
            ether.boards[0].epoch += boots - 1;
            ether.switch_on(0);
            for frame in &tape {
                ether.inject(0, frame);
                ether.run(Duration::from_millis(200));
            }
            assert_eq!(ether.boards[0].node.id(), NodeId(5), "{boots} boots, {id_source:?}");
            assert_eq!(ether.count(0, |notice| *notice == Notice::Twin(NodeId(5))), 0, "{boots} boots, {id_source:?}");
        }
    }
}

/// Node 1 hears this many others, one after the other, each once, and forgets each of them; `name` is what the others say of it.
/// Returns how many it has heard when it asks for an epoch, where it does.
fn hears_others(
    node: &mut Node,
    protection: &Protection,
    most: u16,
    name: impl Fn(u16) -> Option<Name>,
) -> Option<u16> {
    let (mut now, keys) = (Instant::ZERO, Keys::new(protection));
    node.handle_start(now);
    let mut buf = [0; FRAME_MAX];
    for count in 1..=most {
        let hello = Hello { interval_log2: 5, names: name(count).into_iter().collect(), ..Hello::default() };
        let (to, from) = (NodeId(0xFFFF), NodeId(10 + count));
        let header = Header { pan: 7, to, from, key_id: 0, kind: Kind::Hello, epoch: 1, counter: 1, device: count };
        let length = hello.write(&mut buf[HEADER_BYTES..]).expect("it fits");
        let length = header.seal(&keys, &mut buf, length).expect("it fits");
        node.handle_frame(now, &mut buf[..length], -60);
        now = now + seconds(2);
        node.handle_timeout(now);
        if core::iter::from_fn(|| node.poll_notice()).any(|notice| notice == Notice::EpochNeeded) {
            assert_eq!(node.poll_transmit(now, &mut buf), None, "it says nothing more under the old epoch");
            return Some(count);
        }
    }
    None
}

fn node_1(protection: &Protection) -> Node {
    let config = Config::ad_hoc(NodeId(1), 7, protection.clone());
    Node::new(&config, Boot { epoch: Some(1), seed: 1, device: 1 }).expect("sound")
}

#[test]
fn when_the_tokens_of_an_epoch_are_used_up_a_node_asks_for_another() {
    let protection = Protection::Ascon(NetworkKey::new([9; 16]));
    let mut node = node_1(&protection);
    // Each has heard the node and wants a link, which takes a token, but is gone before it is challenged.
    let name = |count| {
        let echo = Incarnation { epoch: 1, token: count }.echo();
        Some(Name { id: NodeId(1), token: 1, willing: true, heard: 7, echo })
    };
    let asked = hears_others(&mut node, &protection, 2 * TOKEN_MAX, name);
    assert_eq!(asked, Some(TOKEN_MAX), "no incarnation of a link comes twice, and no token is left unused");
    node.handle_epoch(Instant::ZERO + seconds(10_000), 2);
    assert_eq!(node.snapshot().epoch, Some(2));
}

#[test]
fn neighbours_that_are_heard_now_and_then_use_up_no_tokens() {
    let protection = Protection::Ascon(NetworkKey::new([9; 16]));
    let mut node = node_1(&protection);
    assert_eq!(hears_others(&mut node, &protection, 2 * TOKEN_MAX, |_| None), None, "nobody has met it");
    assert_eq!(node.snapshot().epoch, Some(1));
}
