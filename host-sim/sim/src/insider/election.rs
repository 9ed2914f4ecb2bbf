//! What a lying member says of an election: every message of every algorithm.

use common::coefficient::Coefficient;
use common::election::abraham::AbrahamMsg;
use common::election::bully::BullyMsg;
use common::election::frlle::{FrlleBody, FrlleMsg};
use common::election::height::Update;
use common::election::height_tuple::{LeaderPair, RefLevel};
use common::election::hierarchy_update::{HierarchyUpdate, Record};
use common::election::hs::HsMsg;
use common::election::lcr::LcrMsg;
use common::election::modified_bully::ModifiedBullyMsg;
use common::election::ring::{RingMsg, Round};
use common::election::timer_based::TimerMsg;
use common::election::{Election, ElectionMsg};
use common::members::{Members, Position};
use common::names::Algorithm;
use common::node::Node;
use common::rng::Rng;
use common::types::{Side, Term};

use super::{any, anybody, is_so, small};

/// The longest message of an election.
const MESSAGE_BYTES: usize = 64;

/// A message of this algorithm as it travels; `nodes` is how many there are.
pub fn message(rng: &mut Rng, liar: &Node, algorithm: Algorithm, nodes: usize) -> Vec<u8> {
    let msg = any_message(rng, liar, algorithm, nodes);
    let mut buf = [0; MESSAGE_BYTES];
    postcard::to_slice(&msg, &mut buf).map(|bytes| bytes.to_vec()).unwrap_or_default()
}

/// A time near which honest ones are.
fn time(liar: &Node) -> u32 {
    match liar.election() {
        Election::Height(node) => node.time(),
        Election::Hierarchy(node) => node.time(),
        _ => 5,
    }
}

fn any_message(rng: &mut Rng, liar: &Node, algorithm: Algorithm, nodes: usize) -> ElectionMsg {
    match algorithm {
        Algorithm::Height | Algorithm::Hierarchy => update(rng, time(liar), algorithm, nodes),
        Algorithm::Hs => hs(rng, nodes),
        Algorithm::Frlle => frlle(rng, nodes),
        Algorithm::Ring => {
            let round = if is_so(rng) { Round::Election } else { Round::Coordinator };
            let members = (0..6).fold(Members::default(), |set, _| set.with(Position(small(rng) & 63)));
            let (term, origin) = (Term(any(rng, 5)), anybody(rng, nodes));
            ElectionMsg::Ring(RingMsg { round, term, origin, members, hops: small(rng) })
        }
        Algorithm::Lcr => {
            let (term, id) = (Term(any(rng, 5)), anybody(rng, nodes));
            ElectionMsg::Lcr(if is_so(rng) { LcrMsg::Candidate(term, id) } else { LcrMsg::Leader(term, id) })
        }
        Algorithm::Bully => ElectionMsg::Bully(match rng.below(3) {
            0 => BullyMsg::Election,
            1 => BullyMsg::Ok,
            _ => BullyMsg::Coordinator,
        }),
        Algorithm::ModifiedBully => ElectionMsg::ModifiedBully(match rng.below(4) {
            0 => ModifiedBullyMsg::Election,
            1 => ModifiedBullyMsg::Ok,
            2 => ModifiedBullyMsg::Grant,
            _ => ModifiedBullyMsg::Coordinator,
        }),
        Algorithm::TimerBased => {
            let (term, id) = (Term(any(rng, 5)), anybody(rng, nodes));
            ElectionMsg::TimerBased(TimerMsg { term, id, hops: u16::from(small(rng)) })
        }
        Algorithm::Abraham => {
            let (term, id) = (Term(any(rng, 5)), anybody(rng, nodes));
            ElectionMsg::Abraham(if is_so(rng) {
                AbrahamMsg::Value { term, id, value: any(rng, 6) }
            } else {
                AbrahamMsg::Leader(term, id)
            })
        }
    }
}

fn update(rng: &mut Rng, near: u32, algorithm: Algorithm, nodes: usize) -> ElectionMsg {
    let stamp = any(rng, near);
    let level = RefLevel { tau: any(rng, stamp), oid: anybody(rng, nodes), reflected: is_so(rng) };
    let [low, high, ..] = rng.next_u32().to_le_bytes();
    let delta = i16::from_le_bytes([low, high]);
    let delta = if is_so(rng) { delta } else { delta % 4 };
    let leader = LeaderPair { elected_at: any(rng, stamp), lid: anybody(rng, nodes) };
    if algorithm == Algorithm::Height {
        return ElectionMsg::Height(Update { stamp, level, delta, leader });
    }
    let records = [0; 3].map(|_| Some(Record::new(small(rng), anybody(rng, nodes), small(rng))));
    let (fresh, levels) = (is_so(rng), 3);
    ElectionMsg::Hierarchy(HierarchyUpdate { stamp, level, delta, leader, fresh, levels, records })
}

fn toward(rng: &mut Rng) -> Side {
    if is_so(rng) { Side::Left } else { Side::Right }
}

fn hs(rng: &mut Rng, nodes: usize) -> ElectionMsg {
    let (term, uid, toward) = (Term(any(rng, 5)), anybody(rng, nodes), toward(rng));
    ElectionMsg::Hs(match rng.below(3) {
        0 => HsMsg::Out { term, uid, phase: small(rng), hops: any(rng, 6), toward },
        1 => HsMsg::Back { term, uid, phase: small(rng), toward },
        _ => HsMsg::Leader { term, uid },
    })
}

fn frlle(rng: &mut Rng, nodes: usize) -> ElectionMsg {
    let (term, id, toward) = (Term(any(rng, 5)), anybody(rng, nodes), toward(rng));
    let body = match rng.below(4) {
        0 => FrlleBody::Recovered(is_so(rng).then_some(id)),
        1 => FrlleBody::Declared(id),
        _ => FrlleBody::Election {
            creator: id,
            failed: is_so(rng).then(|| anybody(rng, nodes)),
            delay: any(rng, 1_000),
            coefficient: Coefficient(u16::from(small(rng))),
        },
    };
    ElectionMsg::Frlle(FrlleMsg { term, toward, body })
}
