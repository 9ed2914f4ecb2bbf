use std::vec::Vec;

use super::{Frlle, FrlleBody, FrlleConfig, FrlleMsg, FrlleRules, RingConfig, RingTimer};
use crate::coefficient::Coefficient;
use crate::outbox::{Command, Dest, Outbox};
use crate::protocol::{Cx, Protocol, Signal};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

const ME: NodeId = NodeId(5);
const LEADER: NodeId = NodeId(3);
const LEFT: NodeId = NodeId(4);
const RIGHT: NodeId = NodeId(6);
const PEERS: [NodeId; 3] = [LEADER, LEFT, RIGHT];
const FIT: Coefficient = Coefficient(2_000);
const UNFIT: Coefficient = Coefficient(8_000);

/// Node 5 on a ring of four, and what it did last.
struct Member {
    node: Frlle,
    sent: Vec<(NodeId, FrlleMsg)>,
    is_to_begin: bool,
}

impl Member {
    fn new(coefficient: Coefficient) -> Self {
        let place = RingPlace { left: LEFT, right: RIGHT };
        let on_ring = RingConfig { place, patience: Duration::from_millis(1_000) };
        let config =
            FrlleConfig { ring: on_ring, hop: Duration::from_millis(1), coefficient, rules: FrlleRules::Hardened };
        Self { node: Frlle::new(ME, config, None), sent: Vec::new(), is_to_begin: false }
    }

    fn on(&mut self, what: impl FnOnce(&mut Frlle, &mut Cx<'_, Frlle>)) {
        self.on_among(&PEERS, what);
    }

    fn on_among(&mut self, peers: &[NodeId], what: impl FnOnce(&mut Frlle, &mut Cx<'_, Frlle>)) {
        let (mut rng, mut out) = (Rng::new(1), Outbox::new());
        let now = Instant::from_millis(5_000);
        what(&mut self.node, &mut Cx { id: ME, now, peers, rng: &mut rng, out: &mut out });
        self.sent.clear();
        for command in out.commands() {
            match *command {
                Command::Send(Dest::One(to), msg) => self.sent.push((to, msg)),
                Command::SetTimer(RingTimer::Begin, _) => self.is_to_begin = true,
                Command::StopTimer(RingTimer::Begin) => self.is_to_begin = false,
                _ => {}
            }
        }
    }

    fn told(&mut self, term: u32, leader: NodeId) {
        self.on(|node, cx| node.on_signal(Signal::Outcome(Outcome { term: Term(term), leader: Some(leader) }), cx));
    }

    fn placed(&mut self, place: RingPlace) {
        self.on(|node, cx| node.on_signal(Signal::Ring(place), cx));
    }

    fn hears(&mut self, term: u32, toward: Side, creator: NodeId, coefficient: Coefficient) {
        let body = FrlleBody::Election { creator, failed: None, delay: 1_000, coefficient };
        let from = if toward == Side::Right { LEFT } else { RIGHT };
        self.on(|node, cx| node.on_message(from, FrlleMsg { term: Term(term), toward, body }, cx));
    }

    /// To whom it sent whose token.
    fn tokens(&self) -> Vec<(NodeId, NodeId)> {
        let token = |&(to, msg): &(NodeId, FrlleMsg)| match msg.body {
            FrlleBody::Election { creator, .. } => Some((to, creator)),
            _ => None,
        };
        self.sent.iter().filter_map(token).collect()
    }
}

/// Whether node 5, which has not measured anything, is to begin an election after each of these measurements.
fn begins_after(start: Coefficient, measured: &[Coefficient]) -> Vec<bool> {
    let mut member = Member::new(start);
    member.told(4, RIGHT);
    let mut begins = |&coefficient: &Coefficient| {
        member.is_to_begin = false;
        member.on(|node, cx| node.on_signal(Signal::Fitness(coefficient), cx));
        member.is_to_begin
    };
    measured.iter().map(&mut begins).collect()
}

#[test]
fn who_was_told_of_a_leader_asks_once_it_is_much_fitter_than_it_was_then() {
    let unknown = Coefficient::UNKNOWN;
    assert_eq!(begins_after(unknown, &[unknown, FIT]), [false, true], "it has restarted, and measures");
}

#[test]
fn who_stands_and_hears_that_it_has_won_begins_no_other_election() {
    let mut member = Member::new(FIT);
    member.on(|node, cx| node.on_signal(Signal::Elect, cx));
    assert_eq!(member.tokens(), [(RIGHT, ME), (LEFT, ME)]);
    member.told(1, ME);
    assert_eq!(member.node.outcome(), Outcome { term: Term(1), leader: Some(ME) });
    assert!(member.sent.is_empty(), "{:?}", member.sent);
}

#[test]
fn a_better_token_takes_the_place_of_each_worse_one_and_goes_no_other_way() {
    let mut member = Member::new(FIT);
    member.hears(1, Side::Right, LEFT, UNFIT);
    assert_eq!(member.tokens(), [(RIGHT, ME)]);
    member.hears(1, Side::Right, LEADER, UNFIT);
    assert_eq!(member.tokens(), [], "it has gone that way");
    member.hears(1, Side::Left, LEFT, UNFIT);
    assert_eq!(member.tokens(), [(LEFT, ME)]);
}

#[test]
fn a_token_that_comes_the_same_way_again_has_not_met_itself() {
    let mut member = Member::new(UNFIT);
    for _ in 0..2 {
        member.hears(1, Side::Right, LEADER, FIT);
        assert_eq!(member.tokens(), [(RIGHT, LEADER)]);
        assert_eq!(member.node.outcome().leader, None);
    }
    member.hears(1, Side::Left, LEADER, FIT);
    assert_eq!(member.node.outcome().leader, Some(LEADER));
}

#[test]
fn a_new_neighbour_is_told_of_the_best_candidate_and_no_election_is_begun_for_it() {
    let mut member = Member::new(UNFIT);
    member.hears(1, Side::Right, LEADER, FIT);
    member.placed(RingPlace { left: LEFT, right: LEADER });
    assert_eq!(member.tokens(), [(LEADER, LEADER)]);
    member.hears(1, Side::Left, LEADER, FIT);
    assert_eq!(member.node.outcome().leader, Some(LEADER));
    member.is_to_begin = false;
    member.placed(RingPlace { left: LEFT, right: RIGHT });
    assert!(!member.is_to_begin, "everybody alive was in the election");
}

#[test]
fn who_led_and_is_told_of_another_leader_asks_once_it_has_measured_itself() {
    let asks = |coefficient, leader| {
        let mut member = Member::new(coefficient);
        let alone = RingPlace { left: ME, right: ME };
        member.on_among(&[], |node, cx| node.on_signal(Signal::Ring(alone), cx));
        assert_eq!(member.node.outcome().leader, Some(ME));
        member.placed(RingPlace { left: LEFT, right: RIGHT });
        member.told(7, leader);
        assert_eq!(member.node.outcome(), Outcome { term: Term(7), leader: Some(leader) });
        member.is_to_begin
    };
    assert!(asks(FIT, RIGHT));
    assert!(!asks(Coefficient::UNKNOWN, LEFT), "it has not measured anything");
}

#[test]
fn who_follows_a_living_leader_leaves_it_to_that_one_to_ask() {
    let mut member = Member::new(UNFIT);
    member.hears(1, Side::Right, LEADER, FIT);
    member.hears(1, Side::Left, LEADER, FIT);
    member.told(7, RIGHT);
    assert!(!member.is_to_begin);
    member.on_among(&[LEFT, RIGHT], |node, cx| node.on_link_down(LEADER, cx));
    assert!(member.is_to_begin, "that one is gone");
}

#[test]
fn alone_a_node_leads_itself_under_the_number_of_the_last_election() {
    let mut member = Member::new(FIT);
    member.told(7, RIGHT);
    let alone = RingPlace { left: ME, right: ME };
    member.on_among(&[], |node, cx| {
        node.on_link_down(RIGHT, cx);
        node.on_signal(Signal::Ring(alone), cx);
    });
    assert_eq!(member.node.outcome(), Outcome { term: Term(7), leader: Some(ME) });
}

#[test]
fn the_loss_of_the_old_leader_begins_no_other_election_where_one_is_under_way() {
    let mut member = Member::new(UNFIT);
    member.told(7, LEADER);
    member.hears(8, Side::Right, RIGHT, FIT);
    member.is_to_begin = false;
    member.on_among(&[LEFT, RIGHT], |node, cx| node.on_link_down(LEADER, cx));
    assert!(!member.is_to_begin);
}
