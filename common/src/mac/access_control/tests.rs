use std::vec::Vec;

use super::{ANSWER_LEAD, ANSWER_SET_UP, Decision, HEARD_HOLD, Mac, MacEvent, PUT_OFF_UNITS, RECEPTION_MAX};
use crate::mac::Sent;
use crate::mac::backoff::UNIT;
use crate::mac::phy::{ACK_BYTES, airtime};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

const START: Instant = Instant::from_millis(1_000);
const QUIET: MacEvent = MacEvent::Turn { is_receiving: false, judged: Some(Instant::ZERO) };
const UNJUDGED: MacEvent = MacEvent::Turn { is_receiving: false, judged: None };
const RECEIVING: MacEvent = MacEvent::Turn { is_receiving: true, judged: Some(Instant::ZERO) };

fn waiting(seed: u64) -> (Mac, Instant) {
    let mut mac = Mac::new(seed);
    assert_eq!(mac.handle(START, MacEvent::Send), Decision::Wait);
    let turn = mac.poll_timeout().unwrap();
    (mac, turn)
}

/// When a turn that was put off comes back: whole units after what was in its way.
fn units_after(mac: &Mac, end: Instant) -> u64 {
    let after = mac.poll_timeout().unwrap().since(end).as_micros();
    assert_eq!(after % UNIT.as_micros(), 0);
    assert!(after / UNIT.as_micros() < u64::from(PUT_OFF_UNITS));
    after / UNIT.as_micros()
}

#[test]
fn a_clear_channel_takes_the_frame_after_its_back_off() {
    let (mut mac, turn) = waiting(1);
    assert!(turn >= START && turn.since(START) <= UNIT.times(7));
    assert_eq!(mac.handle(START, MacEvent::Send), Decision::Full, "one at a time");
    assert_eq!(mac.handle(turn, QUIET), Decision::Attempt);
    assert_eq!((mac.poll_timeout(), mac.has_room()), (None, false), "the radio is at it");
    assert_eq!(mac.handle(turn, QUIET), Decision::Wait, "a spurious turn is harmless");
    let sent = mac.handle(turn + Duration::from_micros(1_000), MacEvent::Attempted { was_clear: true });
    assert_eq!((sent, mac.has_room()), (Decision::Through(Sent::Done), true));
}

#[test]
fn a_busy_channel_gets_five_attempts() {
    let (mut mac, mut turn) = waiting(2);
    for attempt in 1..=5 {
        assert_eq!(mac.handle(turn, QUIET), Decision::Attempt);
        let decision = mac.handle(turn, MacEvent::Attempted { was_clear: false });
        if attempt == 5 {
            assert_eq!(decision, Decision::Through(Sent::ChannelBusy));
        } else {
            assert_eq!(decision, Decision::Wait);
            turn = mac.poll_timeout().unwrap();
        }
    }
    assert_eq!((mac.poll_timeout(), mac.has_room()), (None, true));
}

#[test]
fn a_turn_during_a_reception_comes_back_at_a_random_time_after_its_end() {
    let mut drawn: Vec<u64> = (0..200)
        .map(|seed| {
            let (mut mac, turn) = waiting(seed);
            assert_eq!(mac.handle(turn, RECEIVING), Decision::Wait);
            assert_eq!(mac.poll_timeout(), Some(turn + RECEPTION_MAX), "should its end never be seen");
            let end = turn + Duration::from_micros(2_000);
            mac.handle(end, MacEvent::FrameEnd { is_sound: false });
            units_after(&mac, end)
        })
        .collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, (0..u64::from(PUT_OFF_UNITS)).collect::<Vec<_>>());
}

#[test]
fn a_reception_without_end_does_not_keep_the_frame_for_ever() {
    let (mut mac, turn) = waiting(3);
    assert_eq!(mac.handle(turn, RECEIVING), Decision::Wait);
    assert_eq!(mac.handle(turn + RECEPTION_MAX, RECEIVING), Decision::Attempt);
}

#[test]
fn a_frame_heard_holds_the_waiting_one_until_it_is_judged() {
    let (mut mac, turn) = waiting(4);
    let heard = turn - Duration::from_micros(100);
    mac.handle(heard, MacEvent::FrameEnd { is_sound: true });
    assert_eq!(mac.poll_timeout(), Some(turn), "its turn has not come yet");
    assert_eq!(mac.clone().handle(turn, QUIET), Decision::Attempt, "judged, and nobody answers");
    let answers = turn + Duration::from_micros(3_000);
    let mut told = mac.clone();
    assert_eq!(told.handle(turn, MacEvent::Turn { is_receiving: false, judged: Some(answers) }), Decision::Wait);
    units_after(&told, answers);
    assert_eq!(mac.handle(turn, UNJUDGED), Decision::Wait);
    units_after(&mac, heard + HEARD_HOLD);
    let turn = mac.poll_timeout().unwrap();
    assert_eq!(mac.handle(turn, UNJUDGED), Decision::Attempt, "a hold ends also where nobody judges");
}

#[test]
fn an_acknowledgement_leaves_at_its_time_and_before_the_waiting_frame() {
    let (mut mac, turn) = waiting(5);
    let at = turn + Duration::from_micros(900);
    assert_eq!(mac.handle(START, MacEvent::Answer { at }), Decision::Wait);
    assert_eq!(mac.handle(START, MacEvent::Answer { at }), Decision::Full, "one at a time");
    assert_eq!(mac.handle(turn, QUIET), Decision::Wait, "the frame would be on the air at that time");
    units_after(&Mac { answer_at: Instant::NEVER, ..mac.clone() }, at + airtime(ACK_BYTES));
    assert_eq!(mac.poll_timeout(), Some(at - ANSWER_LEAD));
    assert_eq!(mac.handle(at - ANSWER_LEAD, RECEIVING), Decision::SendAt(at), "whatever is on the channel");
    assert_eq!((mac.poll_timeout(), mac.has_room_for_answer()), (None, false));
    assert_eq!(mac.handle(at, MacEvent::Answered), Decision::Wait);
    let turn = mac.poll_timeout().unwrap();
    assert_eq!(mac.handle(turn, QUIET), Decision::Attempt);
}

#[test]
fn an_acknowledgement_that_is_too_late_is_dropped() {
    let at = START + ANSWER_SET_UP;
    for (late, decision) in [(0, Decision::SendAt(at)), (1, Decision::Late)] {
        let mut mac = Mac::new(6);
        mac.handle(START, MacEvent::Answer { at });
        assert_eq!(mac.handle(START + Duration::from_micros(late), QUIET), decision);
        assert_eq!(mac.poll_timeout(), None);
    }
}

#[test]
fn a_radio_that_failed_gives_the_frame_up() {
    let (mut mac, turn) = waiting(7);
    mac.handle(turn, QUIET);
    mac.handle(turn, MacEvent::Answer { at: turn });
    assert_eq!(mac.handle(turn, MacEvent::Reset), Decision::Through(Sent::ChannelBusy));
    assert_eq!((mac.poll_timeout(), mac.has_room(), mac.has_room_for_answer()), (None, true, true));
    assert_eq!(mac.handle(turn, MacEvent::Reset), Decision::Wait);
}

/// Whatever happens in whatever order: no attempt in a hold or while an acknowledgement is owed, never two things at
/// once, and every frame ends.
#[test]
fn any_order_of_events_keeps_the_rules() {
    for seed in 0..500 {
        let (mut mac, mut chance) = (Mac::new(seed), Rng::new(!seed));
        let (mut now, mut heard_until, mut owed) = (START, Instant::ZERO, None);
        let (mut given, mut through) = (0_u32, 0_u32);
        for _ in 0..1_500 {
            now = now + Duration::from_micros(u64::from(chance.below(900)));
            let judged = (chance.below(2) == 0).then_some(now - Duration::from_micros(1));
            let event = match chance.below(8) {
                0 => MacEvent::Send,
                1 => MacEvent::Answer { at: now + Duration::from_micros(u64::from(chance.below(3_000))) },
                2 => MacEvent::FrameEnd { is_sound: chance.below(2) == 0 },
                3 => MacEvent::Attempted { was_clear: chance.below(3) == 0 },
                4 => MacEvent::Answered,
                _ => MacEvent::Turn { is_receiving: chance.below(4) == 0, judged },
            };
            let was_idle = mac.poll_timeout().is_some();
            let decision = mac.handle(now, event);
            match (event, decision) {
                (MacEvent::Send, Decision::Wait) => given += 1,
                (MacEvent::Answer { at }, Decision::Wait) => owed = Some(at),
                (MacEvent::FrameEnd { is_sound: true }, _) => heard_until = now + HEARD_HOLD,
                _ => {}
            }
            match decision {
                Decision::Attempt => {
                    assert!(was_idle && owed.is_none(), "seed {seed}");
                    assert!(judged.is_some() || now >= heard_until, "seed {seed}: in a hold");
                }
                Decision::SendAt(at) => assert_eq!(owed.take(), Some(at), "seed {seed}"),
                Decision::Late => assert!(owed.take().is_some_and(|at| at < now + ANSWER_SET_UP), "seed {seed}"),
                Decision::Through(_) => through += 1,
                Decision::Wait | Decision::Full => {}
            }
            assert!(given - through <= 1, "seed {seed}");
            assert_eq!(mac.has_room(), given == through, "seed {seed}");
        }
        assert!(through > 5, "seed {seed}: {through} of {given} frames came to an end");
    }
}
