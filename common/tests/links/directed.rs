//! Things that must not happen, each brought about by hand.

use common::link::LinkEvent;
use common::link::pool::Slot;
use common::notice::{Notice, Reason};
use common::time::Duration;
use common::types::NodeId;

use crate::net::{Net, NoElection, Passing, is_ack, is_hello};

const SECOND: Duration = Duration::from_millis(1_000);

fn linked() -> Net {
    let mut net = Net::new(1, 2);
    net.run(SECOND.times(4), |_| true);
    assert!(net.is_linked(0, 1));
    net.events.iter_mut().for_each(Vec::clear);
    net
}

#[test]
fn hellos_use_up_no_tokens() {
    let mut net = linked();
    let token = |net: &Net| net.links[0].table().get(Slot(0)).map(|neighbour| neighbour.session.mine().token);
    let before = token(&net).expect("a neighbour");
    net.run(SECOND.times(600), |_| true);
    let (now, peer) = (net.now, net.links[1].id());
    net.links[0].end(now, peer, Reason::Overrun);
    assert_eq!(token(&net), Some(before + 1), "there are only 4095 of them");
}

#[test]
fn a_late_answer_is_not_taken_for_one_to_the_next_frame() {
    for length in 40..100 {
        let mut net = linked();
        let to_all = |_| true;
        // Frames that ask for an answer arrive, but every answer is kept back.
        net.send(0, to_all, b"first", false);
        let (mut is_lost, mut late) = (false, None);
        let mut keep_back = |frame: &Passing<'_>| {
            let is_first = frame.from == 0 && !is_hello(frame.bytes) && !is_lost;
            is_lost |= is_first;
            if is_ack(frame.bytes) {
                late = Some(frame.bytes.to_vec());
            }
            !is_first && !is_ack(frame.bytes) && !is_hello(frame.bytes)
        };
        net.run(Duration::from_millis(length), &mut keep_back);
        // A frame of the other board acknowledges what arrived as well.
        net.send(1, to_all, b"reply", false);
        net.run(Duration::from_millis(4), &mut keep_back);
        // The next message is made into a frame, and before that is through, the last answer comes.
        net.send(0, to_all, b"second", false);
        let now = net.now;
        if let Some(late) = late {
            net.links[0].receive(now, &mut late.clone()[..], -60, &mut NoElection);
        }
        let mut is_lost = false;
        net.run(SECOND, |frame| {
            let is_first = frame.from == 0 && !is_hello(frame.bytes) && !is_lost;
            is_lost |= is_first;
            !is_first
        });
        assert_eq!(net.messages(1), [b"first".as_slice(), b"second"], "after {length} ms");
    }
}

#[test]
fn a_state_that_went_out_with_a_question_is_not_replaced_under_its_number() {
    let mut net = linked();
    let to_all = |_| true;
    // Nothing of the other board is heard until it is asked whether it is there; then there is a state to tell.
    let mut questions = 0;
    while questions == 0 {
        net.run(Duration::from_millis(1), |frame| {
            questions += u32::from(frame.from == 0 && !is_hello(frame.bytes));
            frame.from == 0
        });
    }
    net.send(0, to_all, b"state 1", true);
    while net.messages(1).is_empty() {
        net.run(Duration::from_millis(1), |frame| frame.from == 0);
    }
    // What the other board says next acknowledges the state, and makes this one say another.
    net.send(1, to_all, b"reply", false);
    let mut reply = None;
    while reply.is_none() {
        net.run(Duration::from_millis(1), |frame| {
            if frame.from == 1 && !is_ack(frame.bytes) && !is_hello(frame.bytes) {
                reply = Some(frame.bytes.to_vec());
            }
            frame.from == 0
        });
    }
    let now = net.now;
    net.links[0].receive(now, &mut reply.expect("it was waited for")[..], -60, &mut NoElection);
    net.send(0, to_all, b"state 2", true);
    net.run(SECOND, |_| true);
    assert_eq!(net.messages(1), [b"state 1", b"state 2"]);
    assert_eq!(net.messages(0), [b"reply"]);
}

#[test]
fn frame_numbers_that_run_out_are_told_and_a_new_epoch_goes_on() {
    let mut net = linked();
    net.links[0].skip_numbers(0x00FF_FFFF - 3);
    net.run(SECOND.times(10), |_| true);
    assert_eq!(net.links[0].epoch(), None);
    assert_eq!(net.links[0].poll_notice(), Some(Notice::EpochNeeded));
    assert!(!net.is_linked(0, 1), "a node that may not send has no links");
    let now = net.now;
    net.links[0].set_epoch(now, 2);
    net.run(SECOND.times(8), |_| true);
    assert!(net.is_linked(0, 1));
}

#[test]
fn more_messages_than_fit_end_a_link_and_are_not_dropped_silently() {
    let mut net = linked();
    for number in 0..200_u8 {
        net.send(0, |_| true, &[number], false);
    }
    net.run(SECOND, |_| true);
    let overran = |event: &LinkEvent| matches!(event, LinkEvent::Down(_, Reason::Overrun));
    assert_eq!(net.events[0].iter().filter(|event| overran(event)).count(), 1, "{:?}", net.events[0]);
    assert!(net.messages(1).iter().enumerate().all(|(at, message)| **message == [u8::try_from(at).unwrap_or(0)]));
    net.run(SECOND.times(10), |_| true);
    assert!(net.is_linked(0, 1), "it comes up again after a while");
}

#[test]
fn messages_without_end_do_not_keep_a_node_from_saying_hello() {
    let mut net = Net::new(2, 9);
    net.run(SECOND.times(12), |_| true);
    let (until, mut last, mut longest) = (net.now + SECOND.times(20), net.now, Duration::ZERO);
    let mut peer = 0_u16;
    while net.now < until {
        // Another message for each neighbour as soon as its last one is through.
        peer = peer % 8 + 1;
        if net.is_linked(0, usize::from(peer)) && net.links[0].waiting_for(NodeId(peer + 1)) == 0 {
            net.send(0, |id| id.0 == peer + 1, &[7; 40], false);
        }
        let (now, mut said) = (net.now, false);
        net.step(until, &mut |frame| {
            said |= frame.from == 0 && is_hello(frame.bytes);
            true
        });
        if said {
            (longest, last) = (longest.max(now.since(last)), now);
        }
    }
    assert!(longest < Duration::from_millis(2_100), "{longest:?} without a hello");
}
