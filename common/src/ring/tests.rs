use core::mem::size_of;
use std::println;
use std::vec::Vec;

use super::edges::Edges;
use super::number::Number;
use super::routes::Routes;
use super::wire::{self, ASKED, Entry, Envelope, Lead, NO_WAY, NOBODY};
use super::{ENVELOPES_MAX, RingKeeper, RingOutput, SendError, arrival};
use crate::config::Timings;
use crate::limits::RING_MAX;
use crate::members::{Position, RingOrder};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, Outcome, RingPlace, Side, Term};

const ME: NodeId = NodeId(3);
const NEXT: NodeId = NodeId(7);
const FAR: NodeId = NodeId(5);

fn keeper() -> RingKeeper {
    let order = RingOrder::new(&[ME, NodeId(9), NEXT, FAR]).unwrap();
    let mut keeper = RingKeeper::new(ME, order, Timings::ALWAYS_ON).unwrap();
    keeper.set_epoch(1);
    keeper.start(Instant::ZERO);
    keeper
}

fn outputs(keeper: &mut RingKeeper, now: Instant) -> Vec<RingOutput> {
    core::iter::from_fn(|| keeper.poll_output(now)).collect()
}

/// A word of the linked neighbour on a member.
fn tell(keeper: &mut RingKeeper, now: Instant, position: u8, count: u16, hops: u8) {
    hello(keeper, now, NOBODY, entry(position, count, hops));
}

fn entry(position: u8, count: u16, hops: u8) -> Entry {
    Entry { position: Position(position), number: Number { epoch: 1, count }, hops }
}

/// A hello of the linked neighbour with one word.
fn hello(keeper: &mut RingKeeper, now: Instant, leader: Position, entry: Entry) {
    let mut room = [0; 8];
    let length = wire::tell(Lead { leader, election: 0 }, core::iter::once(entry), &mut room);
    keeper.receive_hello(now, NEXT, &room[..length]);
}

/// The words of a keeper's next hello.
fn said(keeper: &mut RingKeeper, now: Instant) -> (Option<Position>, Vec<Entry>) {
    let mut room = [0; 23];
    let length = keeper.tell(now, &mut room);
    let (lead, entries) = wire::told(&room[..length]).unwrap();
    (Some(lead.leader).filter(|&leader| leader != NOBODY), entries.iter().collect())
}

/// A keeper whose neighbour is linked and knows the way to the fourth member.
fn joined() -> RingKeeper {
    let mut keeper = keeper();
    keeper.link_up(Instant::ZERO, NEXT);
    tell(&mut keeper, Instant::ZERO, 2, 0, 0);
    tell(&mut keeper, Instant::ZERO, 3, 4, 1);
    outputs(&mut keeper, Instant::ZERO);
    keeper
}

/// Lets time pass and gathers what it brings.
fn pass(keeper: &mut RingKeeper, until: Instant) -> Vec<RingOutput> {
    let mut all = Vec::new();
    while let Some(at) = keeper.poll_timeout().filter(|&at| at <= until) {
        keeper.timeout(at);
        all.extend(outputs(keeper, at));
    }
    all
}

#[test]
fn memory_is_small() {
    let tables = size_of::<Routes>() + size_of::<Edges>() + RING_MAX;
    println!("ring mode: {} bytes, of which {tables} grow with the ring", size_of::<RingKeeper>());
    assert!(tables <= 1_024, "{tables}");
    assert!(size_of::<RingKeeper>() <= 1_792, "{}", size_of::<RingKeeper>());
}

#[test]
fn members_come_and_go_and_the_dead_are_bypassed() {
    let mut keeper = keeper();
    keeper.link_up(Instant::ZERO, NEXT);
    tell(&mut keeper, Instant::ZERO, 2, 0, 0);
    tell(&mut keeper, Instant::ZERO, 3, 4, 1);
    let told = outputs(&mut keeper, Instant::ZERO);
    assert!(told.contains(&RingOutput::MemberUp(NEXT)) && told.contains(&RingOutput::MemberUp(FAR)), "{told:?}");
    let settled = pass(&mut keeper, Instant::from_millis(100));
    assert!(settled.contains(&RingOutput::Place(RingPlace { left: FAR, right: NEXT })), "{settled:?}");
    let now = Instant::from_millis(200);
    tell(&mut keeper, now, 3, 4, NO_WAY);
    assert!(keeper.is_alive(FAR), "it is waited for");
    let hold = keeper.hold_time();
    assert!(pass(&mut keeper, now + hold.times(3)).is_empty(), "longer than a leader would be");
    let waited = now + hold.times(4) + Duration::from_millis(200);
    let gone = pass(&mut keeper, waited);
    assert!(gone.contains(&RingOutput::MemberDown(FAR)), "{gone:?}");
    assert_eq!(keeper.place(), RingPlace { left: NEXT, right: NEXT });
}

#[test]
fn who_condemned_a_leader_takes_nobody_elses_word_for_it_for_a_while() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    // A neighbour that has noticed nothing still tells of a way.
    tell(&mut keeper, now, 3, 5, 1);
    keeper.condemn(now, FAR);
    assert!(pass(&mut keeper, now + Duration::from_millis(60)).contains(&RingOutput::MemberDown(FAR)));
    tell(&mut keeper, now + Duration::from_millis(70), 3, 6, 1);
    assert!(!keeper.is_alive(FAR), "a newer number than this node knew may be older than its end");
    let later = now + keeper.hold_time() + Duration::from_millis(200);
    pass(&mut keeper, later);
    tell(&mut keeper, later, 3, 7, 1);
    assert!(keeper.is_alive(FAR), "it was there after all");
}

#[test]
fn a_detour_in_time_breaks_nothing_and_what_was_lost_is_told() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    assert_eq!(keeper.send(now, FAR, b"token", false), Ok(()));
    assert!(matches!(keeper.poll_transmit(), Some((NEXT, _))));
    keeper.link_down(now, NEXT);
    assert_eq!(keeper.send(now, FAR, b"token", false), Err(SendError::NoRoute));
    keeper.link_up(now, NEXT);
    tell(&mut keeper, now, 2, 1, 0);
    tell(&mut keeper, now, 3, 4, 1);
    let then = pass(&mut keeper, Instant::from_millis(1_500));
    let left = |output: &RingOutput| matches!(output, RingOutput::MemberDown(_) | RingOutput::Place(_));
    assert!(!then.iter().any(left), "{then:?}");
    assert_eq!(then.iter().filter(|&output| *output == RingOutput::Disturbed).count(), 1, "{then:?}");
}

#[test]
fn a_member_is_waited_for_longer_while_somebody_has_a_way() {
    let now = Instant::from_millis(200);
    let gone_after = |told: &[u8]| {
        let mut keeper = joined();
        pass(&mut keeper, Instant::from_millis(100));
        tell(&mut keeper, now, 3, 4, NO_WAY);
        for &hops in told {
            tell(&mut keeper, now, 3, 4, hops);
        }
        let hold = keeper.hold_time();
        (1..20).find(|&part| !pass(&mut keeper, now + hold.times(part)).is_empty() && !keeper.is_alive(FAR))
    };
    let (short, long) = (gone_after(&[]).unwrap(), gone_after(&[6]).unwrap());
    assert!(short < long, "{short} and {long} times the usual");
    assert_eq!(gone_after(&[6, NO_WAY]), Some(short), "whoever had one has none any more");
}

#[test]
fn hellos_tell_what_changed_first_and_twice_and_then_everybody_in_turn() {
    let mut keeper = joined();
    let mut turns = Vec::new();
    for second in 1..6 {
        let (_, entries) = said(&mut keeper, Instant::from_millis(second * 1_000));
        assert_eq!((entries[0].position, entries[0].hops), (Position(0), 0), "this node comes first");
        turns.extend(entries.iter().map(|entry| entry.position));
    }
    assert!([0, 2, 3].map(Position).iter().all(|member| turns.contains(member)), "{turns:?}");
    keeper.take_hurry();
    let now = Instant::from_millis(6_000);
    tell(&mut keeper, now, 3, 4, NO_WAY);
    assert!(keeper.take_hurry() && !keeper.take_hurry());
    for time in 0..2 {
        let (_, entries) = said(&mut keeper, now);
        assert_eq!(entries[1], entry(3, 4, NO_WAY), "{entries:?}");
        assert_eq!(keeper.take_hurry(), time == 0, "the second one is hurried as well");
    }
}

#[test]
fn a_silent_leader_is_told_in_bounded_time_and_a_beating_one_is_not() {
    let mut keeper = joined();
    keeper.set_leader(Instant::ZERO, Some(FAR));
    for beat in 1..=20 {
        let now = Instant::from_millis(beat * 1_000);
        assert!(!pass(&mut keeper, now).contains(&RingOutput::LeaderSilent(FAR)));
        tell(&mut keeper, now, 3, 4 + u16::try_from(beat).unwrap(), 1);
    }
    let bound = Instant::from_millis(20_000) + super::silence(Timings::ALWAYS_ON, 4);
    assert!(pass(&mut keeper, bound).contains(&RingOutput::LeaderSilent(FAR)));
}

#[test]
fn a_member_beats_and_a_restarted_one_goes_on_above_what_it_said_before() {
    let mut keeper = joined();
    keeper.set_leader(Instant::ZERO, Some(ME));
    keeper.set_outcome(Outcome { term: Term(1), leader: Some(ME) });
    let number = |keeper: &mut RingKeeper, millis| {
        let (leader, entries) = said(keeper, Instant::from_millis(millis));
        assert_eq!((leader, entries[0].position), (Some(Position(0)), Position(0)));
        assert_eq!(entries[0].number.epoch, 1);
        entries[0].number.count
    };
    let first = number(&mut keeper, 1_000);
    assert_eq!(number(&mut keeper, 1_300), first, "one number in a heartbeat");
    assert_eq!(number(&mut keeper, 2_000), first + 1);
    tell(&mut keeper, Instant::from_millis(2_100), 0, 500, NO_WAY);
    assert_eq!(number(&mut keeper, 2_200), 501);
}

#[test]
fn a_memory_without_a_route_is_carried_to_the_member_that_must_go_beyond_it() {
    let mut keeper = joined();
    let now = Instant::from_millis(1_000);
    said(&mut keeper, now);
    said(&mut keeper, now);
    keeper.take_hurry();
    // The neighbour remembers more of the fourth member than this node's route says, and has no route.
    keeper.link_up(now, NodeId(9));
    let remembered = Entry { number: Number { epoch: 9, count: 70 }, ..entry(3, 0, NO_WAY) };
    let mut room = [0; 8];
    let length = wire::tell(Lead { leader: NOBODY, election: 0 }, core::iter::once(remembered), &mut room);
    keeper.receive_hello(now, NodeId(9), &room[..length]);
    assert!(keeper.take_hurry());
    let question = Entry { hops: ASKED, ..remembered };
    for _ in 0..2 {
        let (_, entries) = said(&mut keeper, now);
        assert_eq!(entries.last(), Some(&question), "{entries:?}");
        assert!(entries.contains(&entry(3, 4, 2)), "the route stays: {entries:?}");
    }
    assert!(!said(&mut keeper, now).1.contains(&question), "twice in a heartbeat");
    // The member itself goes beyond it.
    hello(&mut keeper, now, NOBODY, Entry { position: Position(0), ..question });
    assert_eq!(said(&mut keeper, now).1[0].number, Number { epoch: 9, count: 71 });
}

#[test]
fn envelopes_are_passed_on_with_a_limit_and_full_is_a_value() {
    let mut keeper = joined();
    let now = Instant::from_millis(50);
    let mut letter = |hops| {
        let outside = Envelope { to: Position(3), from: Position(2), hops, side: None, number: 0 };
        keeper.receive(now, NEXT, &wire::envelope(outside, b"x").unwrap());
        keeper.poll_transmit()
    };
    assert!(matches!(letter(2), Some((NEXT, bytes)) if bytes[3] == 1));
    letter(0);
    assert_eq!(keeper.counters().expired, 1);
    for _ in 0..ENVELOPES_MAX {
        assert!(keeper.can_send());
        assert_eq!(keeper.send(now, NEXT, b"y", false), Ok(()));
    }
    assert!(!keeper.can_send());
    assert_eq!(keeper.send(now, NEXT, b"y", false), Err(SendError::Full));
    assert_eq!(keeper.counters().full, 1);
    assert_eq!(keeper.send(now, NEXT, &[0; 64], false), Err(SendError::TooLong));
}

#[test]
fn who_writes_before_it_is_known_is_asked_to_say_it_again() {
    let mut keeper = joined();
    let outside = Envelope { to: Position(0), from: Position(1), hops: 4, side: None, number: 0 };
    keeper.receive(Instant::ZERO, NEXT, &wire::envelope(outside, b"x").unwrap());
    assert!(!outputs(&mut keeper, Instant::ZERO).iter().any(|output| matches!(output, RingOutput::Deliver(..))));
    tell(&mut keeper, Instant::ZERO, 1, 0, 1);
    let told = outputs(&mut keeper, Instant::ZERO);
    let again =
        wire::envelope(Envelope { to: Position(1), from: Position(0), hops: 63, side: None, number: 0 }, &[]).unwrap();
    assert_eq!(told[..1], [RingOutput::MemberUp(NodeId(9))], "{told:?}");
    assert_eq!(keeper.poll_transmit(), Some((NEXT, again)));
}

#[test]
fn a_lasting_dispute_is_told_and_nonsense_is_counted() {
    let mut keeper = joined();
    keeper.set_leader(Instant::ZERO, Some(FAR));
    hello(&mut keeper, Instant::ZERO, Position(2), entry(2, 0, 0));
    let bound = Instant::ZERO + super::silence(Timings::ALWAYS_ON, 4);
    assert!(pass(&mut keeper, bound).contains(&RingOutput::Disputed(NEXT)));
    keeper.receive_hello(Instant::ZERO, NEXT, &[1, 2]);
    keeper.receive(Instant::ZERO, NEXT, &[9, 9]);
    tell(&mut keeper, Instant::ZERO, 99, 0, 0);
    assert_eq!(keeper.counters().malformed, 3);
}

#[test]
fn what_goes_round_passes_a_member_that_is_lost_and_what_is_for_that_member_does_not() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    tell(&mut keeper, now, 3, 4, NO_WAY);
    assert_eq!(keeper.send(now, FAR, b"token", false), Err(SendError::NoRoute));
    // The fourth member stands to the left of the first, and behind it the third.
    assert_eq!(keeper.send(now, FAR, b"token", true), Ok(()));
    let (next, parcel) = keeper.poll_transmit().unwrap();
    let Some(wire::Message::Envelope(outside, b"token")) = wire::Message::decode(&parcel) else { panic!("{parcel:?}") };
    assert_eq!(
        (next, outside.to, outside.side, outside.number),
        (NEXT, Position(2), Some(Side::Left), super::edges::UNNUMBERED)
    );
    // One from the third to its right, the fourth, ends here: this node stands behind it.
    let outside = Envelope { to: Position(3), from: Position(2), hops: 4, side: Some(Side::Right), number: 9 };
    keeper.receive(now, NEXT, &wire::envelope(outside, b"probe").unwrap());
    let then = outputs(&mut keeper, now);
    assert!(
        then.iter().any(|output| matches!(output, RingOutput::Deliver(NEXT, bytes) if bytes == b"probe")),
        "{then:?}"
    );
}

#[test]
fn what_others_say_of_their_election_is_told_once_and_only_of_a_living_leader() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    keeper.set_outcome(Outcome { term: Term(0x0001_0004), leader: None });
    let mut heard = |leader: u8, election| {
        let mut room = [0; 8];
        let length =
            wire::tell(Lead { leader: Position(leader), election }, core::iter::once(entry(2, 9, 0)), &mut room);
        keeper.receive_hello(now, NEXT, &room[..length]);
        outputs(&mut keeper, now)
    };
    assert_eq!(heard(1, 5), [], "nobody has a way to that one");
    let news = RingOutput::Outcome(Outcome { term: Term(0x0001_0005), leader: Some(FAR) });
    assert_eq!(heard(3, 5), [news]);
    assert_eq!(heard(3, 3), [], "an earlier one");
}

#[test]
fn a_leader_that_nobody_here_reaches_is_taken_from_afar_only_by_who_has_none() {
    let now = Instant::from_millis(200);
    let follows = |own: Option<NodeId>, from: NodeId| {
        let mut keeper = joined();
        pass(&mut keeper, Instant::from_millis(100));
        tell(&mut keeper, now, 3, 4, NO_WAY);
        keeper.set_outcome(Outcome { term: Term(4), leader: own });
        let mut room = [0; 8];
        let lead = Lead { leader: Position(3), election: 5 };
        let length = wire::tell(lead, core::iter::once(entry(2, 0, 0)), &mut room);
        keeper.receive_hello(now, from, &room[..length]);
        outputs(&mut keeper, now).iter().any(|output| matches!(output, RingOutput::Outcome(_)))
    };
    let stranger = NodeId(9);
    assert!(follows(None, stranger), "it missed the end of an election");
    assert!(!follows(Some(NEXT), stranger), "it has a leader in reach, and the other is of a part that is cut off");
    assert!(follows(Some(NEXT), NEXT), "a neighbour with a link speaks for this part");
}

#[test]
fn a_new_leader_without_a_way_is_waited_for_and_given_up_soon_after() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    keeper.set_leader(now, Some(FAR));
    tell(&mut keeper, now, 3, 4, NO_WAY);
    let awaited = arrival(4);
    assert!(keeper.is_awaited(now, FAR) && !keeper.is_awaited(now, NEXT));
    pass(&mut keeper, now + awaited - Duration::from_millis(50));
    assert!(keeper.is_alive(FAR), "its first number may be on its way");
    let over = now + awaited + keeper.hold_time() + Duration::from_millis(50);
    pass(&mut keeper, over);
    assert!(!keeper.is_alive(FAR) && !keeper.is_awaited(over, FAR));
}
