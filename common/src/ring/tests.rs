use core::mem::size_of;
use std::println;
use std::vec::Vec;

use super::edges::Edges;
use super::routes::Routes;
use super::wire::{self, Entry, Envelope, NO_WAY};
use super::{ENVELOPES_MAX, RingKeeper, RingOutput, SendError};
use crate::config::Timings;
use crate::limits::RING_MAX;
use crate::members::RingOrder;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

const ME: NodeId = NodeId(3);
const NEXT: NodeId = NodeId(7);
const FAR: NodeId = NodeId(5);

fn keeper() -> RingKeeper {
    let order = RingOrder::new(&[ME, NodeId(9), NEXT, FAR]).unwrap();
    let mut keeper = RingKeeper::new(ME, order, Timings::ALWAYS_ON).unwrap();
    keeper.start(Instant::ZERO);
    keeper
}

fn outputs(keeper: &mut RingKeeper, now: Instant) -> Vec<RingOutput> {
    core::iter::from_fn(|| keeper.poll_output(now)).collect()
}

/// A word of the linked neighbour on a member.
fn tell(keeper: &mut RingKeeper, now: Instant, position: u8, number: u16, hops: u8) {
    let parcel = wire::update(None, core::iter::once(Entry { position, number, hops })).unwrap();
    keeper.receive(now, NEXT, &parcel);
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
    let waited = now + keeper.hold_time() + Duration::from_millis(200);
    let gone = pass(&mut keeper, waited);
    assert!(gone.contains(&RingOutput::MemberDown(FAR)), "{gone:?}");
    assert_eq!(keeper.place(), RingPlace { left: NEXT, right: NEXT });
}

#[test]
fn a_detour_in_time_breaks_nothing_and_what_was_lost_is_told() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    assert_eq!(keeper.send(now, FAR, b"token"), Ok(()));
    assert!(matches!(keeper.poll_output(now), Some(RingOutput::SendTo(NEXT, _))));
    keeper.link_down(now, NEXT);
    assert_eq!(keeper.send(now, FAR, b"token"), Err(SendError::NoRoute));
    keeper.link_up(now, NEXT);
    tell(&mut keeper, now, 2, 1, 0);
    tell(&mut keeper, now, 3, 4, 1);
    let then = pass(&mut keeper, Instant::from_millis(1_500));
    let left = |output: &RingOutput| matches!(output, RingOutput::MemberDown(_) | RingOutput::Place(_));
    assert!(!then.iter().any(left), "{then:?}");
    assert_eq!(then.iter().filter(|&output| *output == RingOutput::Disturbed).count(), 1, "{then:?}");
}

#[test]
fn asking_for_a_newer_number_goes_on_while_somebody_has_a_way() {
    let mut keeper = joined();
    pass(&mut keeper, Instant::from_millis(100));
    let now = Instant::from_millis(200);
    tell(&mut keeper, now, 3, 4, NO_WAY);
    tell(&mut keeper, now, 3, 4, 6);
    let then = now + keeper.hold_time() + Duration::from_millis(200);
    let sent = pass(&mut keeper, then);
    let asks = |output: &RingOutput| matches!(output, RingOutput::SendAll(bytes) if bytes[..] == [2, 3, 5, 0, 4]);
    assert!(sent.iter().filter(|&output| asks(output)).count() >= 3, "{sent:?}");
    let none = wire::update(None, core::iter::once(Entry { position: 3, number: 4, hops: NO_WAY })).unwrap();
    let repeats = sent.iter().filter(|&output| *output == RingOutput::SendAll(none.clone())).count();
    assert_eq!(repeats, 2, "no answer: whoever has a way is to say so again; {sent:?}");
    tell(&mut keeper, then, 3, 4, 6);
    assert!(pass(&mut keeper, then + Duration::from_millis(50)).iter().any(asks));
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
    let bound = Instant::from_millis(20_000) + Timings::ALWAYS_ON.leader_silence();
    assert!(pass(&mut keeper, bound).contains(&RingOutput::LeaderSilent(FAR)));
}

#[test]
fn a_leader_beats_and_a_restarted_one_goes_on_above_what_it_said_before() {
    let mut keeper = joined();
    keeper.set_leader(Instant::ZERO, Some(ME));
    let beats = pass(&mut keeper, Instant::from_millis(10_500));
    let own = |output: &&RingOutput| matches!(output, RingOutput::SendAll(bytes) if bytes[..3] == [1, 0, 0]);
    assert!(beats.iter().filter(own).count() >= 10, "{beats:?}");
    tell(&mut keeper, Instant::from_millis(10_600), 0, 500, NO_WAY);
    let after = pass(&mut keeper, Instant::from_millis(10_700));
    let above = wire::update(Some(0), core::iter::once(Entry { position: 0, number: 501, hops: 0 })).unwrap();
    assert!(after.contains(&RingOutput::SendAll(above)), "{after:?}");
}

#[test]
fn envelopes_are_passed_on_with_a_limit_and_full_is_a_value() {
    let mut keeper = joined();
    let now = Instant::from_millis(50);
    let mut letter = |hops| {
        let outside = Envelope { to: 3, from: 2, hops, number: 0 };
        keeper.receive(now, NEXT, &wire::envelope(outside, b"x").unwrap());
        keeper.poll_output(now)
    };
    assert!(matches!(letter(2), Some(RingOutput::SendTo(NEXT, bytes)) if bytes[3] == 1));
    letter(0);
    assert_eq!(keeper.counters().expired, 1);
    for _ in 0..ENVELOPES_MAX {
        assert!(keeper.can_send());
        assert_eq!(keeper.send(now, NEXT, b"y"), Ok(()));
    }
    assert!(!keeper.can_send());
    assert_eq!(keeper.send(now, NEXT, b"y"), Err(SendError::Full));
    assert_eq!(keeper.counters().full, 1);
    assert_eq!(keeper.send(now, NEXT, &[0; 64]), Err(SendError::TooLong));
}

#[test]
fn who_writes_before_it_is_known_is_asked_to_say_it_again() {
    let mut keeper = joined();
    let outside = Envelope { to: 0, from: 1, hops: 4, number: 0 };
    keeper.receive(Instant::ZERO, NEXT, &wire::envelope(outside, b"x").unwrap());
    assert!(!outputs(&mut keeper, Instant::ZERO).iter().any(|output| matches!(output, RingOutput::Deliver(..))));
    tell(&mut keeper, Instant::ZERO, 1, 0, 1);
    let told = outputs(&mut keeper, Instant::ZERO);
    let again = wire::envelope(Envelope { to: 1, from: 0, hops: 4, number: 0 }, &[]).unwrap();
    assert_eq!(told[..2], [RingOutput::MemberUp(NodeId(9)), RingOutput::SendTo(NEXT, again)], "{told:?}");
}

#[test]
fn a_lasting_dispute_is_told_and_nonsense_is_counted() {
    let mut keeper = joined();
    keeper.set_leader(Instant::ZERO, Some(FAR));
    let other = wire::update(Some(2), core::iter::once(Entry { position: 2, number: 0, hops: 0 })).unwrap();
    keeper.receive(Instant::ZERO, NEXT, &other);
    assert!(pass(&mut keeper, Instant::from_millis(3_600)).contains(&RingOutput::Disputed(NEXT)));
    keeper.receive(Instant::ZERO, FAR, &other);
    keeper.receive(Instant::ZERO, NEXT, &[9, 9]);
    tell(&mut keeper, Instant::ZERO, 99, 0, 0);
    assert_eq!(keeper.counters().malformed, 3);
}
