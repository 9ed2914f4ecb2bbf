use std::vec::Vec;

use super::{Hs, HsMsg, HsRules, ROUND, RingConfig, RingTimer};
use crate::outbox::{Command, Dest, Outbox};
use crate::protocol::{Cx, Protocol, Signal};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

const ME: NodeId = NodeId(4);
const LEFT: NodeId = NodeId(3);
const RIGHT: NodeId = NodeId(5);
const LARGEST: NodeId = NodeId(9);
const PEERS: [NodeId; 4] = [LEFT, RIGHT, NodeId(7), LARGEST];

type Said = Command<HsMsg<NodeId>, RingTimer>;

fn hs(id: NodeId, place: RingPlace) -> Hs {
    let config = RingConfig { place, patience: Duration::from_millis(1_000) };
    Hs::new(id, config).with_rules(HsRules::Known)
}

/// Node 4 between 3 and 5.
fn among() -> Hs {
    hs(ME, RingPlace { left: LEFT, right: RIGHT })
}

fn does(hs: &mut Hs, peers: &[NodeId], what: impl FnOnce(&mut Hs, &mut Cx<'_, Hs>)) -> Vec<Said> {
    let (mut rng, mut out) = (Rng::new(1), Outbox::new());
    what(hs, &mut Cx { id: hs.uid, now: Instant::from_millis(5_000), peers, rng: &mut rng, out: &mut out });
    assert!(!out.overflowed());
    out.commands().to_vec()
}

fn hears(hs: &mut Hs, peers: &[NodeId], from: NodeId, msg: HsMsg<NodeId>) -> Vec<Said> {
    does(hs, peers, |hs, cx| hs.on_message(from, msg, cx))
}

fn is_told(hs: &mut Hs, peers: &[NodeId], signal: Signal) -> Vec<Said> {
    does(hs, peers, |hs, cx| hs.on_signal(signal, cx))
}

fn sent(said: &[Said]) -> Vec<(NodeId, HsMsg<NodeId>)> {
    let to = |command: &Said| match command {
        Command::Send(Dest::One(to), msg) => Some((*to, msg.clone())),
        _ => None,
    };
    said.iter().filter_map(to).collect()
}

/// Whether it is to begin another election.
fn is_armed(said: &[Said]) -> bool {
    said.iter().any(|command| matches!(command, Command::SetTimer(RingTimer::Begin, _)))
}

fn probe(uid: NodeId, phase: u8, toward: Side) -> HsMsg<NodeId> {
    HsMsg::Out { term: Term(1), uid, phase, hops: 1 << ROUND, toward }
}

fn onward(uid: NodeId, phase: u8, toward: Side) -> HsMsg<NodeId> {
    HsMsg::Out { term: Term(1), uid, phase, hops: (1 << ROUND) - 1, toward }
}

#[test]
fn who_is_alone_and_hears_of_a_lower_leader_asks_for_no_more_than_there_is_room_for() {
    let mut alone = hs(NodeId(7), RingPlace { left: NodeId(7), right: NodeId(7) });
    hears(&mut alone, &[], LEFT, HsMsg::Leader { term: Term(9), uid: LEFT });
    assert_eq!(alone.leader(), Some(NodeId(7)));
}

#[test]
fn who_begins_leaves_it_to_the_largest_and_stands_where_nothing_comes_of_that() {
    let mut hs = among();
    let said = is_told(&mut hs, &PEERS, Signal::Elect);
    assert_eq!(sent(&said), [(LARGEST, probe(ME, ROUND, Side::Left))]);
    assert_eq!(sent(&hears(&mut hs, &PEERS, LEFT, probe(LEFT, ROUND, Side::Right))), [], "it has called once");
    let said = does(&mut hs, &PEERS, |hs, cx| hs.on_timer(RingTimer::Decide, cx));
    assert_eq!(sent(&said), [(RIGHT, probe(ME, ROUND, Side::Right)), (LEFT, probe(ME, ROUND, Side::Left))]);
}

#[test]
fn who_was_called_stands_and_does_not_wait_for_the_leader_that_may_be_lost() {
    let largest = |above: &[NodeId]| {
        let mut called = hs(NodeId(8), RingPlace { left: LEFT, right: RIGHT });
        sent(&hears(&mut called, above, LEFT, probe(LEFT, ROUND, Side::Left))).len()
    };
    assert_eq!([largest(&[LEFT, RIGHT]), largest(&[LEFT, RIGHT, LARGEST])], [2, 2]);
    assert_eq!(largest(&[LEFT, RIGHT, LARGEST, NodeId(12)]), 1, "it leaves it to the largest in turn");
}

#[test]
fn a_leader_that_is_to_be_replaced_is_not_called() {
    let mut hs = among();
    let outcome = Outcome { term: Term(3), leader: Some(LARGEST) };
    is_told(&mut hs, &PEERS, Signal::Outcome(outcome));
    assert_eq!(hs.leader(), Some(LARGEST));
    let said = is_told(&mut hs, &PEERS, Signal::LeaderLost);
    assert_eq!(sent(&said).first().map(|(to, _)| *to), Some(NodeId(7)));
}

#[test]
fn a_probe_that_turned_round_is_passed_on_once_and_again_when_it_is_sent_again() {
    let mut hs = among();
    let right = Side::Right;
    assert_eq!(
        sent(&hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND, right))),
        [(RIGHT, onward(LARGEST, ROUND, right))]
    );
    assert_eq!(sent(&hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND, right))), [], "it has been here");
    let again = sent(&hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND + 1, right)));
    assert_eq!(again, [(RIGHT, onward(LARGEST, ROUND + 1, right))]);
    assert_eq!(hs.leader(), None);
    hears(&mut hs, &PEERS, RIGHT, probe(LARGEST, ROUND, Side::Left));
    assert_eq!(hs.leader(), Some(LARGEST), "it has come from both sides");
}

#[test]
fn a_probe_that_is_home_but_for_one_hop_has_been_everywhere() {
    let mut hs = hs(ME, RingPlace { left: LEFT, right: LARGEST });
    let said = hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND, Side::Right));
    assert_eq!(hs.leader(), Some(LARGEST));
    let word = HsMsg::Leader { term: Term(1), uid: LARGEST };
    assert_eq!(sent(&said), [(LARGEST, word.clone()), (LEFT, word)]);
}

#[test]
fn ones_own_probe_that_comes_home_past_several_larger_ones_has_won_nothing() {
    let winner = |peers: &[NodeId]| {
        let mut hs = among();
        is_told(&mut hs, &[LEFT], Signal::Elect);
        hears(&mut hs, peers, LEFT, onward(ME, ROUND, Side::Right));
        hs.leader()
    };
    assert_eq!(winner(&[LEFT, RIGHT]), Some(ME), "the larger one may be the leader whose loss this is for");
    assert_eq!(winner(&PEERS), None);
}

#[test]
fn who_stood_beside_a_lost_leader_begins_as_soon_as_others() {
    let mut hs = among();
    is_told(&mut hs, &PEERS, Signal::Outcome(Outcome { term: Term(3), leader: Some(LARGEST) }));
    let rest = [LEFT, RIGHT, NodeId(7)];
    does(&mut hs, &rest, |hs, cx| hs.on_link_down(LARGEST, cx));
    let said = is_told(&mut hs, &rest, Signal::Ring(RingPlace { left: NodeId(7), right: RIGHT }));
    let begins = said.iter().find_map(|command| match command {
        Command::SetTimer(RingTimer::Begin, after) => Some(*after),
        _ => None,
    });
    assert!(begins.is_some_and(|after| after <= Duration::from_millis(120)), "{said:?}");
}

#[test]
fn who_was_to_begin_does_not_once_the_election_has_given_a_leader() {
    let mut hs = among();
    is_told(&mut hs, &PEERS, Signal::Elect);
    assert!(is_armed(&is_told(&mut hs, &PEERS, Signal::Disturbed)), "something may have been lost");
    hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND, Side::Right));
    // A dead leader is still believed alive: by the list of peers alone, this one would be the wrong one.
    let peers = [LEFT, RIGHT, NodeId(7), LARGEST, NodeId(12)];
    let said = hears(&mut hs, &peers, RIGHT, probe(LARGEST, ROUND, Side::Left));
    assert_eq!(hs.leader(), Some(LARGEST));
    assert!(said.contains(&Command::StopTimer(RingTimer::Begin)), "{said:?}");
}

#[test]
fn an_election_in_which_a_larger_one_stands_goes_on_whatever_is_lost_or_changes() {
    let mut hs = among();
    hears(&mut hs, &PEERS, LEFT, probe(LARGEST, ROUND, Side::Right));
    assert_eq!(is_told(&mut hs, &PEERS, Signal::Disturbed), []);
    let place = RingPlace { left: LEFT, right: NodeId(7) };
    let said = is_told(&mut hs, &PEERS, Signal::Ring(place));
    assert_eq!(sent(&said), [(NodeId(7), probe(LARGEST, ROUND, Side::Right))]);
    assert!(!is_armed(&said), "{said:?}");
    // What was to begin before that probe came does not either.
    assert_eq!(does(&mut hs, &PEERS, |hs, cx| hs.on_timer(RingTimer::Begin, cx)), []);
    // Nobody sends again what a dead one has sent.
    assert!(is_armed(&is_told(&mut hs, &[LEFT, RIGHT, NodeId(7)], Signal::Disturbed)));
}

#[test]
fn who_stands_sends_its_probes_again_at_once_where_something_was_lost() {
    let mut hs = hs(LARGEST, RingPlace { left: LEFT, right: RIGHT });
    let peers = [LEFT, RIGHT, NodeId(7)];
    is_told(&mut hs, &peers, Signal::Elect);
    let said = is_told(&mut hs, &peers, Signal::Disturbed);
    let again = [(RIGHT, Side::Right), (LEFT, Side::Left)].map(|(to, side)| (to, probe(LARGEST, ROUND + 1, side)));
    assert!(sent(&said) == again && !is_armed(&said), "{said:?}");
}
