use std::vec::Vec;

use super::{Frlle, FrlleConfig, FrlleRules, RingConfig, RingTimer};
use crate::coefficient::Coefficient;
use crate::outbox::{Command, Outbox};
use crate::protocol::{Cx, Protocol, Signal};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Term};

const ME: NodeId = NodeId(5);
const LEADER: NodeId = NodeId(3);
const PEERS: [NodeId; 3] = [LEADER, NodeId(4), NodeId(6)];

/// Whether node 5 is to begin an election, after each of these measurements of its own fitness. It has been told by others who
/// leads.
fn begins_after(start: Coefficient, measured: &[Coefficient]) -> Vec<bool> {
    let place = RingPlace { left: NodeId(4), right: NodeId(6) };
    let on_ring = RingConfig { place, patience: Duration::from_millis(1_000) };
    let hop = Duration::from_millis(1);
    let mut node =
        Frlle::new(ME, FrlleConfig { ring: on_ring, hop, coefficient: start, rules: FrlleRules::Hardened }, None);
    let mut told = |signal| {
        let (mut rng, mut out) = (Rng::new(1), Outbox::new());
        node.on_signal(
            signal,
            &mut Cx { id: ME, now: Instant::from_millis(5_000), peers: &PEERS, rng: &mut rng, out: &mut out },
        );
        out.commands().iter().any(|command| matches!(command, Command::SetTimer(RingTimer::Begin, _)))
    };
    assert!(!told(Signal::Outcome(Outcome { term: Term(4), leader: Some(LEADER) })));
    measured.iter().map(|&coefficient| told(Signal::Fitness(coefficient))).collect()
}

#[test]
fn who_was_told_of_a_leader_asks_once_it_is_much_fitter_than_it_was_then() {
    let (unknown, fit) = (Coefficient::UNKNOWN, Coefficient(2_000));
    assert_eq!(begins_after(unknown, &[unknown, fit]), [false, true], "it has restarted, and measures");
    assert_eq!(begins_after(fit, &[Coefficient(1_600), unknown]), [false, false]);
}
