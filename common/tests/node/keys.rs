//! Keys, networks, versions and epochs: who is let in and who is not.

use common::config::{Boot, Config, FormerKey, NetworkKey, Protection};
use common::mac::Sent;
use common::mac::phy::FRAME_MAX;
use common::node::Node;
use common::notice::Notice;
use common::time::Instant;
use common::types::NodeId;

use crate::ether::Ether;
use crate::mesh::seconds;

/// What makes one board's configuration another.
type Change = fn(&mut Config);

fn ascon(byte: u8) -> Protection {
    Protection::Ascon(NetworkKey::new([byte; 16]))
}

fn pair(change: impl Fn(&mut Config)) -> Ether {
    let mut other = Config::ad_hoc(NodeId(2), 7, ascon(9));
    change(&mut other);
    let mut ether = Ether::new(1, 0, [Config::ad_hoc(NodeId(1), 7, ascon(9)), other]);
    ether.switch_on_all();
    ether.run(seconds(10));
    ether
}

#[test]
fn another_key_network_or_cipher_is_refused_and_counted() {
    let counters = |ether: &Ether| ether.boards[0].node.snapshot().counters;
    let same = pair(|_| ());
    assert!(same.agreed([0, 1]).is_some() && counters(&same).accepted > 0);
    let cases: [(&str, Change); 4] = [
        ("key", |config| config.protection = ascon(8)),
        ("cipher", |config| config.protection = Protection::AesCcm(NetworkKey::new([9; 16]))),
        ("PAN", |config| config.pan = 8),
        ("key id", |config| config.key_id = 1),
    ];
    for (name, change) in cases {
        let ether = pair(change);
        let counters = counters(&ether);
        assert_eq!((counters.accepted, ether.boards[0].node.snapshot().heard), (0, 0), "another {name}");
        let is_counted = if matches!(name, "key" | "cipher") { counters.forged } else { counters.foreign };
        assert!(is_counted > 5, "another {name}: {counters:?}");
    }
}

#[test]
fn boards_move_to_another_key_one_after_the_other_and_stay_one_network() {
    let old = |id| Config::ad_hoc(NodeId(id), 7, ascon(1));
    let mut ether = Ether::new(4, 50, [1, 2, 3].map(old));
    ether.switch_on_all();
    ether.run(seconds(8));
    // First everybody learns the new key without using it, then everybody uses it, then the old one is forgotten.
    let steps: [Change; 3] = [
        |config| config.former = Some(FormerKey { key_id: 1, protection: ascon(2) }),
        |config| {
            (config.key_id, config.protection) = (1, ascon(2));
            config.former = Some(FormerKey { key_id: 0, protection: ascon(1) });
        },
        |config| config.former = None,
    ];
    for (step, change) in steps.iter().enumerate() {
        for board in 0..3 {
            ether.switch_off(board);
            change(&mut ether.boards[board].config);
            ether.switch_on(board);
            ether.run(seconds(12));
            assert!(ether.agreed(0..3).is_some(), "step {step}, board {board}");
            assert!(ether.is_connected(&[0, 1, 2]), "step {step}, board {board}");
        }
    }
}

#[test]
fn an_open_network_says_so() {
    let mut ether = Ether::new(1, 0, [1, 2].map(|id| Config::ad_hoc(NodeId(id), 7, Protection::Open)));
    ether.switch_on_all();
    ether.run(seconds(5));
    assert!(ether.agreed([0, 1]).is_some());
    assert_eq!(ether.count(0, |notice| *notice == Notice::Unprotected), 1);
    assert_eq!(pair(|_| ()).count(0, |notice| *notice == Notice::Unprotected), 0);
}

#[test]
fn without_an_epoch_a_node_only_listens_until_it_gets_one() {
    let mut ether = pair(|_| ());
    ether.heard = Some(Vec::new());
    ether.run(seconds(3));
    let config = Config::ad_hoc(NodeId(3), 7, ascon(9));
    let boot = Boot { epoch: None, seed: 1, device: 3 };
    let mut node = Node::new(&config, boot).expect("sound");
    let (mut now, mut buf) = (Instant::ZERO, [0; FRAME_MAX]);
    node.handle_start(now);
    for frame in ether.heard.take().expect("recorded") {
        now = now + seconds(1);
        node.handle_frame(now, &mut frame.clone()[..], -60);
        node.handle_timeout(now);
        assert_eq!(node.poll_transmit(now, &mut buf), None);
    }
    assert!(node.snapshot().counters.accepted > 0 && node.snapshot().heard > 0);
    let notices: Vec<_> = core::iter::from_fn(|| node.poll_notice()).collect();
    let asked = notices.iter().filter(|notice| **notice == Notice::EpochNeeded).count();
    assert!(asked > 2, "it asks again, in case that storing failed: {notices:?}");
    node.handle_epoch(now, 1);
    let sent = (0..10).any(|_| {
        now = node.poll_timeout().unwrap_or(now).max(now);
        node.handle_timeout(now);
        let is_sent = node.poll_transmit(now, &mut buf).is_some();
        node.handle_sent(now, Sent::Done);
        is_sent
    });
    assert!(sent, "with an epoch it says hello");
}
