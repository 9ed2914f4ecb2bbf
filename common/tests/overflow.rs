//! Every capacity has an end, and what happens there is what the crate's first page says.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod support;

use common::Full;
use common::election::Algorithm;
use common::engine::Engine;
use common::limits::{NOTICES_MAX, OUTBOX_MAX, SENDS_MAX};
use common::notice::{Event, Fault, Notice, Reason};
use common::outbox::Dest;
use common::protocol::{Cx, Message, Protocol, Signal};
use common::time::{Duration, Instant};
use common::timer::TimerKey;
use common::types::NodeId;
use postcard::experimental::max_size::MaxSize;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use support::engine;

const NOW: Instant = Instant::ZERO;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
struct Word(u8);

impl Message for Word {
    fn kind(&self) -> &'static str {
        "word"
    }

    fn is_latest_value(&self) -> bool {
        self.0 >= 100
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bell;

impl TimerKey for Bell {
    const ALL: &'static [Self] = &[Self];

    fn index(self) -> usize {
        0
    }
}

/// Does what it is told: a rank of n sends n words to everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Parrot {
    links_down: u8,
    fired: u8,
}

impl Protocol for Parrot {
    type Msg = Word;
    type Timer = Bell;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer(Bell, Duration::ZERO);
    }

    fn on_link_down(&mut self, _peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.links_down += 1;
        cx.note(Event::Started);
    }

    fn on_message(&mut self, from: NodeId, msg: Word, cx: &mut Cx<'_, Self>) {
        cx.send(Dest::One(from), msg);
    }

    fn on_timer(&mut self, timer: Bell, cx: &mut Cx<'_, Self>) {
        self.fired += 1;
        cx.set_timer(timer, Duration::ZERO);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        match signal {
            Signal::Rank(words) => (0..words).for_each(|word| cx.send(Dest::All, Word(word))),
            Signal::Elect => cx.send(Dest::One(NodeId(77)), Word(0)),
            Signal::Resend => cx.send(Dest::All, Word(100)),
            _ => {}
        }
    }

    fn leader(&self) -> Option<NodeId> {
        None
    }
}

fn parrot(peers: u16) -> Engine<Parrot, 4> {
    let mut node = Engine::new(NodeId(9), 0, Parrot::default());
    for peer in 0..peers {
        node.handle_link_up(NOW, NodeId(peer)).expect("room for four");
    }
    node
}

fn notices(node: &mut Engine<Parrot, 4>) -> Vec<Notice> {
    std::iter::from_fn(|| node.poll_notice()).collect()
}

#[test]
fn a_full_peer_table_refuses_and_changes_nothing_else() {
    let mut node = parrot(4);
    let before = node.clone();
    assert_eq!(node.handle_link_up(NOW, NodeId(50)), Err(Full));
    assert_eq!(notices(&mut node), [Notice::PeerRefused(NodeId(50))]);
    assert_eq!(node, before);
    assert_eq!(node.handle_link_up(NOW, NodeId(2)), Ok(()), "whoever is in stays in");
}

#[test]
fn every_algorithm_refuses_alike() {
    for algorithm in Algorithm::ALL {
        let mut node = engine::<1>(algorithm);
        assert_eq!(node.handle_link_up(NOW, NodeId(1)), Ok(()));
        while node.poll_decoded().is_some() || node.poll_notice().is_some() {}
        let before = node.clone();
        assert_eq!(node.handle_link_up(NOW, NodeId(2)), Err(Full), "{algorithm:?}");
        assert_eq!(node.poll_notice(), Some(Notice::PeerRefused(NodeId(2))));
        assert_eq!(node, before, "{algorithm:?}");
    }
}

#[test]
fn a_handler_that_asks_for_too_much_gets_nothing() {
    let mut node = parrot(2);
    node.handle_signal(NOW, Signal::Rank(u8::try_from(OUTBOX_MAX + 1).unwrap()));
    assert_eq!(notices(&mut node), [Notice::Fault(Fault::OutboxOverflow)]);
    assert_eq!(node.poll_decoded(), None);
    node.handle_signal(NOW, Signal::Rank(u8::try_from(OUTBOX_MAX).unwrap()));
    assert_eq!(notices(&mut node), []);
    assert_eq!(std::iter::from_fn(|| node.poll_decoded()).count(), 2 * OUTBOX_MAX);
}

#[test]
fn sending_where_no_link_is_is_a_defect() {
    let mut node = parrot(2);
    node.handle_signal(NOW, Signal::Elect);
    assert_eq!(notices(&mut node), [Notice::Fault(Fault::NoLink(NodeId(77)))]);
}

#[test]
fn a_send_queue_that_nobody_empties_ends_the_links_once_each() {
    let mut node = parrot(3);
    for _ in 0..SENDS_MAX {
        node.handle_signal(NOW, Signal::Rank(1));
    }
    assert_eq!(node.peers().len(), 3, "the last one still fitted");
    node.handle_signal(NOW, Signal::Rank(1));
    assert_eq!(node.peers(), []);
    assert_eq!(node.protocol().links_down, 3);
    let ended: Vec<Notice> = notices(&mut node).into_iter().filter(|n| matches!(n, Notice::LinkEnded(..))).collect();
    assert_eq!(ended.len(), 3);
    for peer in 0..3 {
        assert!(ended.contains(&Notice::LinkEnded(NodeId(peer), Reason::Overrun)));
    }
    assert_eq!(node.poll_decoded(), None, "what was queued for them went with them");
}

#[test]
fn a_state_replaces_an_older_one_instead_of_queueing() {
    let mut node = parrot(3);
    for _ in 0..10 * SENDS_MAX {
        node.handle_signal(NOW, Signal::Resend);
    }
    assert_eq!(node.peers().len(), 3);
    assert_eq!(std::iter::from_fn(|| node.poll_decoded()).count(), 3, "one for each");
}

#[test]
fn what_was_queued_for_a_peer_goes_with_its_link() {
    let mut node = parrot(3);
    node.handle_signal(NOW, Signal::Rank(1));
    node.handle_link_down(NOW, NodeId(1));
    node.handle_link_up(NOW, NodeId(1)).unwrap();
    let receivers: Vec<NodeId> = std::iter::from_fn(|| node.poll_decoded()).map(|(to, _)| to).collect();
    assert_eq!(receivers, [NodeId(0), NodeId(2)], "a message of one up-interval never reaches the next");
}

#[test]
fn lost_notices_are_counted() {
    let mut node = parrot(0);
    for _ in 0..NOTICES_MAX + 5 {
        node.handle_signal(NOW, Signal::Elect);
    }
    let told = notices(&mut node);
    assert_eq!(told.len(), NOTICES_MAX + 1);
    assert_eq!(told.last(), Some(&Notice::Lost(5)));
}

#[test]
fn a_timer_that_arms_itself_again_at_once_does_not_spin() {
    let mut node = parrot(0);
    node.handle_start(NOW);
    node.handle_timeout(NOW);
    assert_eq!(node.protocol().fired, 1);
    node.handle_timeout(NOW);
    assert_eq!(node.protocol().fired, 2);
}

/// Something that can happen to a node.
#[derive(Clone, Debug)]
enum Operation {
    Start,
    Up(u16),
    Down(u16),
    Bytes(u16, Vec<u8>),
    Echo(u16),
    Timeout(u16),
    Signal(u8),
    Drain,
}

fn operation() -> impl Strategy<Value = Operation> {
    let peer = 1_u16..7;
    prop_oneof![
        1 => Just(Operation::Start),
        3 => peer.clone().prop_map(Operation::Up),
        2 => peer.clone().prop_map(Operation::Down),
        2 => (peer.clone(), proptest::collection::vec(any::<u8>(), 0..34)).prop_map(|(p, b)| Operation::Bytes(p, b)),
        5 => peer.prop_map(Operation::Echo),
        2 => (0_u16..300).prop_map(Operation::Timeout),
        2 => (0_u8..6).prop_map(Operation::Signal),
        4 => Just(Operation::Drain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever happens in whatever order, drained or not: no panic, no defect. Messages that other nodes could have sent are
    /// made from the node's own, delivered to it as if a peer had sent them.
    #[test]
    fn no_order_of_events_breaks_a_node(algorithm in 0..Algorithm::ALL.len(), operations in proptest::collection::vec(operation(), 1..80)) {
        let mut node = engine::<6>(Algorithm::ALL[algorithm]);
        let mut said = Vec::new();
        let mut now = Instant::ZERO;
        for operation in operations {
            match operation {
                Operation::Start => node.handle_start(now),
                Operation::Up(peer) if NodeId(peer) != support::ME => drop(node.handle_link_up(now, NodeId(peer))),
                Operation::Up(_) => {}
                Operation::Down(peer) => node.handle_link_down(now, NodeId(peer)),
                Operation::Bytes(from, bytes) => node.handle_message(now, NodeId(from), &bytes),
                Operation::Echo(from) => {
                    if let Some(msg) = said.pop() {
                        node.handle_decoded(now, NodeId(from), msg);
                    }
                }
                Operation::Timeout(millis) => {
                    now = now + Duration::from_millis(u64::from(millis));
                    node.handle_timeout(now);
                }
                Operation::Signal(which) => node.handle_signal(now, match which {
                    0 => Signal::LeaderLost,
                    1 => Signal::LeaderHeard,
                    2 => Signal::Elect,
                    3 => Signal::Rank(3),
                    4 => Signal::Resend,
                    _ => Signal::Ring(common::types::RingPlace { left: NodeId(1), right: NodeId(2) }),
                }),
                Operation::Drain => said.extend(std::iter::from_fn(|| node.poll_decoded()).map(|(_, msg)| msg)),
            }
            while let Some(notice) = node.poll_notice() {
                prop_assert!(!matches!(notice, Notice::Fault(_)), "{:?}: {:?}", Algorithm::ALL[algorithm], notice);
            }
        }
    }
}
