//! Every message comes back as it was sent, and nothing else is taken for a message.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

mod support;

use common::coefficient::Coefficient;
use common::election::abraham::AbrahamMsg;
use common::election::bully::BullyMsg;
use common::election::frlle::{FrlleBody, FrlleMsg};
use common::election::height::Update;
use common::election::height_tuple::{LeaderPair, RefLevel};
use common::election::hierarchy_update::{HierarchyUpdate, Record, Records};
use common::election::hs::HsMsg;
use common::election::lcr::LcrMsg;
use common::election::modified_bully::ModifiedBullyMsg;
use common::election::ring::{RingMsg, Round};
use common::election::timer_based::TimerMsg;
use common::election::{Algorithm, ElectionMsg};
use common::limits::MESSAGE_MAX;
use common::members::{Members, Position};
use common::notice::Notice;
use common::time::Instant;
use common::types::{NodeId, Side, Term};
use postcard::experimental::max_size::MaxSize;
use proptest::prelude::*;
use support::{MEMBERS, engine};

fn node() -> impl Strategy<Value = NodeId> {
    any::<u16>().prop_map(NodeId)
}

fn term() -> impl Strategy<Value = Term> {
    any::<u32>().prop_map(Term)
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Right), Just(Side::Left)]
}

fn level() -> impl Strategy<Value = RefLevel> {
    (any::<u32>(), node(), any::<bool>()).prop_map(|(tau, oid, reflected)| RefLevel { tau, oid, reflected })
}

fn pair() -> impl Strategy<Value = LeaderPair> {
    (any::<u32>(), node()).prop_map(|(elected_at, lid)| LeaderPair { elected_at, lid })
}

fn hs() -> impl Strategy<Value = ElectionMsg> {
    let fields = (term(), node(), any::<u8>(), any::<u32>(), side(), 0..3);
    fields.prop_map(|(term, uid, phase, hops, toward, kind)| {
        ElectionMsg::Hs(match kind {
            0 => HsMsg::Out { term, uid, phase, hops, toward },
            1 => HsMsg::Back { term, uid, phase, toward },
            _ => HsMsg::Leader { term, uid },
        })
    })
}

fn hierarchy() -> impl Strategy<Value = ElectionMsg> {
    let record = proptest::option::of((any::<u8>(), node(), 0_u8..=254).prop_map(|(f, h, d)| Record::new(f, h, d)));
    let fields = (any::<u32>(), level(), any::<i16>(), pair(), any::<bool>(), proptest::collection::vec(record, 0..=3));
    fields.prop_map(|(stamp, level, delta, leader, fresh, given)| {
        let levels = u8::try_from(given.len()).expect("at most three");
        let mut records = Records::default();
        records.iter_mut().zip(given).for_each(|(slot, record)| *slot = record);
        ElectionMsg::Hierarchy(HierarchyUpdate { stamp, level, delta, leader, fresh, levels, records })
    })
}

fn frlle() -> impl Strategy<Value = ElectionMsg> {
    let body = prop_oneof![
        (node(), proptest::option::of(node()), any::<u32>(), any::<u16>()).prop_map(
            |(creator, failed, delay, coefficient)| FrlleBody::Election {
                creator,
                failed,
                delay,
                coefficient: Coefficient(coefficient)
            }
        ),
        proptest::option::of(node()).prop_map(FrlleBody::Recovered),
        node().prop_map(FrlleBody::Declared),
    ];
    (term(), side(), body).prop_map(|(term, toward, body)| ElectionMsg::Frlle(FrlleMsg { term, toward, body }))
}

fn ring() -> impl Strategy<Value = ElectionMsg> {
    let positions = proptest::collection::vec(0_u8..128, 0..20);
    (any::<bool>(), term(), node(), positions, any::<u8>()).prop_map(|(election, term, origin, positions, hops)| {
        let round = if election { Round::Election } else { Round::Coordinator };
        let members = positions.into_iter().map(Position).fold(Members::default(), Members::with);
        ElectionMsg::Ring(RingMsg { round, term, origin, members, hops })
    })
}

fn message() -> impl Strategy<Value = ElectionMsg> {
    let bully = prop_oneof![Just(BullyMsg::Election), Just(BullyMsg::Ok), Just(BullyMsg::Coordinator)];
    let modified = prop_oneof![
        Just(ModifiedBullyMsg::Election),
        Just(ModifiedBullyMsg::Ok),
        Just(ModifiedBullyMsg::Grant),
        Just(ModifiedBullyMsg::Coordinator)
    ];
    prop_oneof![
        hs(),
        hierarchy(),
        frlle(),
        ring(),
        (any::<u32>(), level(), any::<i16>(), pair())
            .prop_map(|(stamp, level, delta, leader)| ElectionMsg::Height(Update { stamp, level, delta, leader })),
        bully.prop_map(ElectionMsg::Bully),
        modified.prop_map(ElectionMsg::ModifiedBully),
        (term(), node(), any::<bool>()).prop_map(|(term, id, leads)| ElectionMsg::Lcr(if leads {
            LcrMsg::Leader(term, id)
        } else {
            LcrMsg::Candidate(term, id)
        })),
        (term(), node(), any::<u16>()).prop_map(|(term, id, hops)| ElectionMsg::TimerBased(TimerMsg {
            term,
            id,
            hops
        })),
        (term(), node(), any::<u32>(), any::<bool>()).prop_map(|(term, id, value, leads)| {
            ElectionMsg::Abraham(if leads {
                AbrahamMsg::Leader(term, id)
            } else {
                AbrahamMsg::Value { term, id, value }
            })
        }),
    ]
}

fn encode(msg: &ElectionMsg) -> Vec<u8> {
    let mut buf = [0; MESSAGE_MAX];
    postcard::to_slice(msg, &mut buf).expect("every message fits").to_vec()
}

/// Gives bytes to a node and tells whether it took them for a message. If not, it must be as it was before.
fn accepts(algorithm: Algorithm, bytes: &[u8]) -> bool {
    let mut node = engine::<6>(algorithm);
    node.handle_link_up(Instant::ZERO, MEMBERS[0]).expect("room for one");
    while node.poll_decoded().is_some() || node.poll_notice().is_some() {}
    let before = node.clone();
    node.handle_message(Instant::ZERO, MEMBERS[0], bytes);
    let mut refused = false;
    if node.protocol() == before.protocol() {
        while let Some(notice) = node.poll_notice() {
            refused |= notice == Notice::BadMessage(MEMBERS[0]);
        }
        assert!(!refused || node == before, "refused bytes left a trace");
    }
    !refused
}

proptest! {
    #[test]
    fn a_message_comes_back_and_keeps_to_its_size(msg in message()) {
        let bytes = encode(&msg);
        prop_assert!(bytes.len() <= ElectionMsg::POSTCARD_MAX_SIZE);
        prop_assert_eq!(postcard::from_bytes::<ElectionMsg>(&bytes), Ok(msg));
    }

    #[test]
    fn no_part_of_a_message_is_a_message(msg in message(), algorithm in 0..Algorithm::ALL.len()) {
        let bytes = encode(&msg);
        for cut in 0..bytes.len() {
            prop_assert!(!accepts(Algorithm::ALL[algorithm], &bytes[..cut]), "{} of {} bytes", cut, bytes.len());
        }
    }

    #[test]
    fn nothing_may_follow_a_message(msg in message(), extra: u8, algorithm in 0..Algorithm::ALL.len()) {
        let mut bytes = encode(&msg);
        prop_assert!(accepts(Algorithm::ALL[algorithm], &bytes));
        bytes.push(extra);
        prop_assert!(!accepts(Algorithm::ALL[algorithm], &bytes));
    }

    #[test]
    fn whatever_decodes_encodes_again(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(msg) = postcard::from_bytes::<ElectionMsg>(&bytes) {
            prop_assert_eq!(postcard::from_bytes::<ElectionMsg>(&encode(&msg)), Ok(msg));
        }
    }
}

#[test]
fn the_largest_size_is_reached_by_a_real_message() {
    let records = [Some(Record::new(255, NodeId(u16::MAX), 254)); 3];
    let update = HierarchyUpdate {
        stamp: u32::MAX,
        level: RefLevel { tau: u32::MAX, oid: NodeId(u16::MAX), reflected: true },
        delta: i16::MIN,
        leader: LeaderPair { elected_at: u32::MAX, lid: NodeId(u16::MAX) },
        fresh: true,
        levels: 3,
        records,
    };
    assert_eq!(encode(&ElectionMsg::Hierarchy(update)).len(), ElectionMsg::POSTCARD_MAX_SIZE);
}
