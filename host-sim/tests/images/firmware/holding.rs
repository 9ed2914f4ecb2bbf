//! Boards with a frame to send let others answer first.

use common::host_link::ToBoard;
use common::link::frame::as_ack;
use emulator::phy::Frame;

use super::bench::{Bench, MS, config, provisioned};

const US: u64 = MS / 1_000;
/// How long after a frame its answer begins, and how much later each further answer.
const TURN_ROUND: u64 = common::mac::TURN_ROUND.as_micros() * US;
const SLOT: u64 = 1_000 * US;
/// How exactly a board keeps that time: the ticks of its slow clock are 30.5 us apart.
const EXACT: u64 = 80 * US;

/// When the last answer to the frame that ended at `end` ends: there is one in each slot, without a gap.
fn last_answer(acks: &[(u64, u64)], end: u64) -> Option<u64> {
    let in_slot = |slot: u64| {
        let due = end + TURN_ROUND + slot * SLOT;
        acks.iter().find(|(begins, _)| begins.abs_diff(due) < EXACT).map(|&(_, ends)| ends)
    };
    (0..8).map_while(in_slot).last()
}

#[test]
fn nobody_who_heard_it_begins_a_frame_between_a_question_and_its_answers() {
    let boards = (1..=4).map(|id| provisioned(id, &config(u16::try_from(id).expect("small")))).collect();
    let mut bench = Bench::new(boards);
    bench.elect(60);
    // New elections, so that everybody has something to send at the same time.
    for _ in 0..80 {
        (0..4).for_each(|number| bench.tell(number, &ToBoard::Elect));
        bench.run_ms(500);
    }
    let tape = bench.network.ether_mut();
    let is_answer =
        |frame: &Frame| frame.psdu.split_last_chunk::<2>().is_some_and(|(bytes, _)| as_ack(bytes).is_some());
    let frames = || tape.sent.iter().zip(&tape.times);
    let acks: Vec<(u64, u64)> = frames().filter(|((_, frame, _), _)| is_answer(frame)).map(|(_, &time)| time).collect();
    let others: Vec<(usize, u64, u64)> = frames()
        .filter(|((_, frame, _), _)| !is_answer(frame))
        .map(|(&(from, ..), &(begins, ends))| (from, begins, ends))
        .collect();
    let (mut asked, mut several, mut unheard, mut interrupted) = (0, 0, 0, 0);
    for &(_, question, end) in &others {
        let Some(last) = last_answer(&acks, end) else { continue };
        asked += 1;
        several += u32::from(last > end + TURN_ROUND + SLOT);
        for &(by, ..) in others.iter().filter(|&&(_, begins, _)| (end..last).contains(&begins)) {
            // A board that was assessing the channel when the question began has missed it.
            if tape.has_listened(by, question, end) { interrupted += 1 } else { unheard += 1 }
        }
    }
    println!(
        "{asked} questions, {several} to several; {interrupted} frames in between by boards that heard them, {unheard} by \
         others; {} frames",
        others.len()
    );
    assert!(asked > 50 && several > 10, "{asked} questions, {several} to several");
    // A board that is still opening the question may begin, since it does not know yet what it has heard.
    assert!(interrupted * 50 <= asked, "{interrupted} of {asked}");
}
