//! Members that lie: whatever one authentic frame says, the others have a living leader again soon after its sender is gone.

use common::config::{BROADCAST, Config, NetworkKey, Protection};
use common::election::abraham::AbrahamMsg;
use common::election::circle::RingConfig;
use common::election::frlle::{FrlleBody, FrlleMsg};
use common::election::height::Update;
use common::election::height_tuple::{LeaderPair, RefLevel};
use common::election::hierarchy_update::HierarchyUpdate;
use common::election::hs::{Hs, HsMsg, HsRules};
use common::election::lcr::LcrMsg;
use common::election::ring::{RingMsg, Round};
use common::election::{Algorithm, ElectionMsg};
use common::engine::Engine;
use common::link::body::{Entry, Hello, Name, Rel};
use common::link::frame::{HEADER_BYTES, Header, Kind};
use common::link::neighbour::Neighbour;
use common::link::security::Keys;
use common::mac::phy::FRAME_MAX;
use common::members::{Members, Position, RingOrder};
use common::notice::Notice;
use common::time::{Duration, Instant};
use common::types::{NodeId, RingPlace, Side, Term};

use crate::ether::Ether;

const PAN: u16 = 7;

/// How long a network may take to get over one lie.
const HEALED_S: u64 = 30;

/// Boards of a run: enough for a ring that is not all neighbours.
const BOARDS: u16 = 5;

/// A number that no honest frame of a test reaches.
pub const LIE: u32 = 0x00FF_0000;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_millis(seconds * 1_000)
}

fn protection() -> Protection {
    Protection::Ascon(NetworkKey::new([9; 16]))
}

/// Boards with the ids from 1 on, each of which hears the two next on either side.
pub fn network(seed: u64, algorithm: Algorithm) -> Ether {
    let ids: Vec<NodeId> = (1..=BOARDS).map(NodeId).collect();
    let Ok(order) = RingOrder::new(&ids) else { panic!("a ring") };
    let config = |id| {
        if algorithm.needs_ring() {
            Config::on_ring(NodeId(id), PAN, protection(), algorithm, order.clone())
        } else {
            Config { algorithm, radii: [2, 0, 0], ..Config::ad_hoc(NodeId(id), PAN, protection()) }
        }
    };
    let mut ether = Ether::new(seed, 0, (1..=BOARDS).map(config));
    ether.cut(0, 2);
    ether.cut(1, 3);
    ether.switch_on_all();
    ether
}

/// One board says this to another over the link between them, in a frame of its own; whether there is a link.
pub fn lie(ether: &mut Ether, from: usize, to: usize, number: u32, message: &[u8]) -> bool {
    let victim = ether.boards[to].node.id();
    let links = ether.boards[from].node.links();
    let Some(epoch) = links.epoch() else { return false };
    let Some((_, known)) = links.table().iter().find(|(_, known)| known.id == victim && known.session.is_up()) else {
        return false;
    };
    let session = known.session.clone();
    let entry = Entry { id: victim, echo: session.echo(), number: session.oldest(), ack: session.expected() };
    let rel = Rel {
        entries: [entry].into_iter().collect(),
        messages: [message.iter().copied().collect()].into_iter().collect(),
        ..Rel::default()
    };
    let mut buf = [0; FRAME_MAX];
    let length = rel.write(false, &mut buf).expect("it fits");
    say(ether, [from, to], Kind::Rel, (epoch, LIE + number), &buf[..length]);
    true
}

/// One board sends another a frame with this epoch and number, which is authentic.
pub fn say(ether: &mut Ether, [from, to]: [usize; 2], kind: Kind, (epoch, counter): (u16, u32), body: &[u8]) {
    let [liar, victim] = [from, to].map(|board| ether.boards[board].node.id());
    let mut buf = [0; FRAME_MAX];
    buf[HEADER_BYTES..HEADER_BYTES + body.len()].copy_from_slice(body);
    let device = u16::try_from(from + 1).unwrap_or(0);
    let header = Header { pan: PAN, to: victim, from: liar, key_id: 0, kind, epoch, counter, device };
    let length = header.seal(&Keys::new(&protection()), &mut buf, body.len()).expect("it fits");
    let accepted = ether.boards[to].node.snapshot().counters.accepted;
    ether.inject(to, &buf[..length]);
    assert_eq!(ether.boards[to].node.snapshot().counters.accepted, accepted + 1, "the lie is an authentic frame");
}

/// An election message as it travels: to a neighbour, or in an envelope of the ring.
fn wrapped(algorithm: Algorithm, from: usize, to: usize, number: u8, msg: &ElectionMsg) -> Vec<u8> {
    let mut buf = [0; 64];
    let bytes: &[u8] = postcard::to_slice(msg, &mut buf).expect("it fits");
    if algorithm.needs_ring() {
        let position = |board: usize| u8::try_from(board).unwrap_or(0);
        [&[1, 3, position(to), position(from), 5, number][..], bytes].concat()
    } else {
        [&[0][..], bytes].concat()
    }
}

/// Whether these boards follow one of themselves.
fn is_healed(ether: &Ether, boards: &[usize]) -> bool {
    let leader = ether.agreed(boards.iter().copied());
    leader.is_some_and(|leader| boards.iter().any(|&board| ether.boards[board].node.id() == leader))
}

/// A board lies once and is gone: the others follow one of themselves within [`HEALED_S`], and still do later.
fn heals(ether: &mut Ether, liar: usize, what: &str) {
    ether.switch_off(liar);
    let others: Vec<_> = (0..usize::from(BOARDS)).filter(|&board| board != liar).collect();
    let until = ether.now + seconds(HEALED_S);
    // They may not have noticed anything yet.
    ether.run(seconds(5));
    assert!(ether.run_until(until, |ether| is_healed(ether, &others)), "{what}: {:?}", leaders(ether));
    ether.run(seconds(5));
    assert!(is_healed(ether, &others), "{what}, later: {:?}", leaders(ether));
}

fn leaders(ether: &Ether) -> Vec<Option<NodeId>> {
    ether.boards.iter().map(|board| board.node.leader()).collect()
}

/// The neighbour with which a board has a link.
fn victim_of(ether: &Ether, liar: usize) -> Option<usize> {
    let table = ether.boards[liar].node.links().table();
    let (_, known) = table.linked().next()?;
    ether.boards.iter().position(|board| board.node.id() == known.id)
}

#[test]
fn nobody_follows_a_ghost_that_was_elected_at_a_time_to_come() {
    for algorithm in [Algorithm::Height, Algorithm::Hierarchy] {
        for (stamp, elected_at, tau) in [(9, u32::MAX, 0), (9, u32::MAX - 1, u32::MAX), (60, 1 << 31, 0), (60, 61, 0)] {
            let mut ether = network(3, algorithm);
            ether.run(seconds(10));
            let victim = victim_of(&ether, 4).expect("a link");
            let leader = LeaderPair { elected_at, lid: NodeId(77) };
            let level = RefLevel { tau, oid: NodeId(77), reflected: false };
            let update = match algorithm {
                Algorithm::Height => ElectionMsg::Height(Update { stamp, level, delta: 0, leader }),
                _ => ElectionMsg::Hierarchy(HierarchyUpdate {
                    stamp,
                    level,
                    delta: 0,
                    leader,
                    fresh: false,
                    levels: 1,
                    records: [None; 3],
                }),
            };
            assert!(lie(&mut ether, 4, victim, 0, &wrapped(algorithm, 4, victim, 0, &update)));
            let before: Vec<_> = ether.boards.iter().map(|board| board.node.snapshot().counters.sent).collect();
            heals(&mut ether, 4, &format!("{algorithm:?}, {stamp} {elected_at} {tau}"));
            for (board, before) in before.iter().enumerate().take(4) {
                let sent = ether.boards[board].node.snapshot().counters.sent - before;
                assert!(sent < 400, "{algorithm:?}: {sent} frames of board {board}, {stamp} {elected_at} {tau}");
            }
        }
    }
}

#[test]
fn a_clock_near_its_end_goes_on() {
    for algorithm in [Algorithm::Height, Algorithm::Hierarchy] {
        let mut ether = network(5, algorithm);
        ether.run(seconds(10));
        // Eight steps of a little less than an eighth of the circle each: once round, past the end.
        for step in 1..=9_u32 {
            let liar = 4;
            let victim = victim_of(&ether, liar).expect("a link");
            let stamp = step.wrapping_mul(0x1FF0_0000).wrapping_add(0x100);
            let own = LeaderPair { elected_at: stamp, lid: ether.boards[liar].node.id() };
            let update = match algorithm {
                Algorithm::Height => {
                    ElectionMsg::Height(Update { stamp, level: RefLevel::ZERO, delta: 0, leader: own })
                }
                _ => ElectionMsg::Hierarchy(HierarchyUpdate {
                    stamp,
                    level: RefLevel::ZERO,
                    delta: 0,
                    leader: own,
                    fresh: false,
                    levels: 1,
                    records: [None; 3],
                }),
            };
            assert!(lie(&mut ether, liar, victim, step, &wrapped(algorithm, liar, victim, 0, &update)));
            heals(&mut ether, liar, &format!("{algorithm:?}, step {step}"));
            ether.switch_on(liar);
            ether.run(seconds(10));
            assert!(is_healed(&ether, &[0, 1, 2, 3, 4]), "{algorithm:?}, step {step}: {:?}", leaders(&ether));
        }
    }
}

#[test]
fn a_ring_follows_no_stranger_and_no_term_is_the_last() {
    let announcements = |term: Term, id: NodeId| {
        [
            (Algorithm::Hs, ElectionMsg::Hs(HsMsg::Leader { term, uid: id })),
            (Algorithm::Lcr, ElectionMsg::Lcr(LcrMsg::Leader(term, id))),
            (Algorithm::Abraham, ElectionMsg::Abraham(AbrahamMsg::Leader(term, id))),
            (
                Algorithm::Frlle,
                ElectionMsg::Frlle(FrlleMsg { term, toward: Side::Right, body: FrlleBody::Declared(id) }),
            ),
            (
                Algorithm::Ring,
                ElectionMsg::Ring(RingMsg {
                    round: Round::Coordinator,
                    term,
                    origin: id,
                    members: Members::of(Position(4)),
                    hops: 5,
                }),
            ),
        ]
    };
    for (id, terms) in [(NodeId(999), [5_000, u32::MAX]), (NodeId(5), [u32::MAX, 1 << 30])] {
        for term in terms {
            for (algorithm, msg) in announcements(Term(term), id) {
                let mut ether = network(2, algorithm);
                ether.run(seconds(12));
                let liar = 4;
                let victim = victim_of(&ether, liar).expect("a link");
                let sent = lie(&mut ether, liar, victim, 0, &wrapped(algorithm, liar, victim, 200, &msg));
                assert!(sent && ether.boards[victim].node.leader() != Some(NodeId(999)), "{algorithm:?}");
                if id == NodeId(999) {
                    assert!(
                        ether.count(victim, |notice| *notice == Notice::BadMessage(NodeId(5))) > 0,
                        "{algorithm:?}"
                    );
                }
                heals(&mut ether, liar, &format!("{algorithm:?}, {id}, term {term}"));
            }
        }
    }
}

#[test]
fn probes_that_come_back_without_end_do_no_harm() {
    let place = RingPlace { left: NodeId(1), right: NodeId(2) };
    let config = RingConfig { place, patience: seconds(4) };
    let hs = Hs::new(NodeId(9), config).with_rules(HsRules::Known);
    let mut node = Engine::<_, 4>::new(NodeId(9), 1, hs);
    (1..=2).for_each(|peer| node.add_peer(NodeId(peer)).expect("room"));
    node.handle_start(Instant::ZERO);
    let sent = core::iter::from_fn(|| node.poll_decoded()).collect::<Vec<_>>();
    let Some((_, HsMsg::Out { term, phase, .. })) = sent.first().cloned() else { panic!("a probe: {sent:?}") };
    for _ in 0..600 {
        node.handle_decoded(Instant::ZERO, NodeId(2), HsMsg::Back { term, uid: NodeId(9), phase, toward: Side::Left });
        assert_eq!(node.poll_decoded(), None, "none of its probes is sent back, so these change nothing");
    }
    // And nobody's probe goes further than round the largest ring.
    let endless = HsMsg::Out { term, uid: NodeId(10), phase: 40, hops: u32::MAX, toward: Side::Right };
    node.handle_decoded(Instant::ZERO, NodeId(1), endless);
    assert!(matches!(node.poll_decoded(), Some((_, HsMsg::Out { hops: 1..128, .. }))));
}

/// A board says hello to all that hear it, with this and that changed.
fn lying_hello(ether: &mut Ether, from: usize, change: impl Fn(&mut Hello)) {
    let liar = ether.boards[from].node.id();
    let links = ether.boards[from].node.links();
    let epoch = links.epoch().expect("it may send");
    let leader = ether.boards[from].node.leader().expect("a leader");
    let name = |known: &Neighbour| {
        let session = &known.session;
        Name { id: known.id, token: session.mine().token, willing: true, heard: 7, echo: session.echo() }
    };
    let names: Vec<Name> = links.table().linked().map(|(_, known)| name(known)).collect();
    let count = u8::try_from(names.len()).expect("few");
    let names = names.into_iter().collect();
    let mut hello = Hello { number: 200, interval_log2: 7, leader, links: count, names, ..Hello::default() };
    change(&mut hello);
    let mut buf = [0; FRAME_MAX];
    let length = hello.write(&mut buf[HEADER_BYTES..]).expect("it fits");
    let device = u16::try_from(from + 1).unwrap_or(0);
    let kind = Kind::Hello;
    let header = Header { pan: PAN, to: BROADCAST, from: liar, key_id: 0, kind, epoch, counter: LIE, device };
    let length = header.seal(&Keys::new(&protection()), &mut buf, length).expect("it fits");
    for to in (0..ether.boards.len()).filter(|&to| to != from) {
        ether.inject(to, &buf[..length]);
    }
}

#[test]
fn a_leader_that_announces_its_next_hello_for_the_next_hour_is_missed_as_soon_as_any() {
    for algorithm in [Algorithm::Height, Algorithm::Hierarchy] {
        for seed in 0..10 {
            let mut ether = network(seed, algorithm);
            ether.run(seconds(10));
            let leader = ether.agreed(0..usize::from(BOARDS)).expect("a leader");
            let liar = usize::from(leader.0 - 1);
            lying_hello(&mut ether, liar, |hello| hello.interval_log2 = 20);
            heals(&mut ether, liar, &format!("{algorithm:?}, seed {seed}"));
        }
    }
}

#[test]
fn a_coordinator_that_left_the_highest_out_leads_nobody_for_long() {
    let mut ether = network(4, Algorithm::Ring);
    ether.run(seconds(12));
    let liar = 2;
    let victim = ether.boards.iter().position(|board| board.node.id() == NodeId(BOARDS)).expect("the highest");
    let term = Term(1 << 20);
    let coordinator =
        RingMsg { round: Round::Coordinator, term, origin: NodeId(3), members: Members::of(Position(3)), hops: 2 };
    let msg = ElectionMsg::Ring(coordinator);
    if lie(&mut ether, liar, victim, 0, &wrapped(Algorithm::Ring, liar, victim, 200, &msg)) {
        heals(&mut ether, liar, "a coordinator lower than who hears of it");
        assert_eq!(ether.boards[0].node.leader(), Some(NodeId(BOARDS)));
    }
}
