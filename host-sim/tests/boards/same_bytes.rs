//! Same code, same bytes: the calls of a board's node, repeated to a node on the PC, make it send the same frames.

use common::config::Boot;
use common::data::Done;
use common::data::block::Sample;
use common::data::log_entry::ENTRY_MAX;
use common::data::origin::Recovered;
use common::host_link::{Bytes, Call, Did};
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::node::Node;
use common::protocol::Signal;
use common::time::Instant;
use host_sim::cli::scenario_file::find;
use host_sim::emulated::report::BoardReport;

use super::support::{hold, image, scenario};

/// Repeats one recorded call to a node; false if the record is an output of the node.
fn tell(node: &mut Node, now: Instant, call: &Call) -> bool {
    match call {
        Call::Start { .. } => node.handle_start(now),
        Call::Frame { rssi_dbm, bytes } => node.handle_frame(now, &mut bytes.as_slice().to_vec()[..], *rssi_dbm),
        Call::Sent { busy } => node.handle_sent(now, if *busy { Sent::ChannelBusy } else { Sent::Done }),
        Call::Timeout => node.handle_timeout(now),
        Call::Elect => node.handle_signal(now, Signal::Elect),
        Call::StepDown => node.handle_signal(now, Signal::StepDown),
        Call::Submit(command) => _ = node.submit(now, *command),
        Call::About(about) => node.set_about(*about),
        Call::Ask(question) => node.ask(now, question.number, question.turn, question.known),
        Call::Rank(rank) => node.handle_signal(now, Signal::Rank(*rank)),
        Call::Fitness(coefficient) => node.handle_signal(now, Signal::Fitness(*coefficient)),
        Call::Epoch(epoch) => node.handle_epoch(now, *epoch),
        Call::Recovered { store, next, base, oldest } => {
            node.handle_recovered(Recovered { store: *store, next: *next, base: *base, oldest: *oldest });
        }
        Call::Sample(values) => node.handle_sample(now, Sample { values: *values }),
        Call::Chore => assert!(node.poll_chore(now, &mut [0; ENTRY_MAX]).is_some(), "it wants nothing of the flash"),
        Call::Done(Did::Stored { oldest }) => {
            node.handle_done(now, Done::Stored(oldest.is_some()));
            if let Some(oldest) = oldest {
                node.handle_overwritten(*oldest);
            }
        }
        Call::Done(Did::Fetched(block)) => {
            node.handle_done(now, Done::Fetched(block.as_ref().map(Bytes::as_slice)));
        }
        Call::Done(Did::Logged(is_logged)) => node.handle_done(now, Done::Logged(*is_logged)),
        Call::Transmit { .. } | Call::MacStart { .. } | Call::Mac { .. } => return false,
    }
    true
}

/// The next frame that a node sends, in the form of a record.
fn given(node: &mut Node, now: Instant) -> Option<Call> {
    let mut buf = [0; FRAME_MAX];
    let transmit = node.poll_transmit(now, &mut buf)?;
    let at_us = match transmit.access {
        Access::Csma => None,
        Access::At(at) => Some(at.as_micros()),
    };
    Some(Call::Transmit { at_us, bytes: Bytes::new(&buf[..transmit.length]).expect("it fits a frame") })
}

/// Replays a board's record on the PC; returns how many frames were the same.
fn replay(board: &BoardReport) -> usize {
    assert_eq!(board.lost_messages, 0, "the record has no gaps");
    let is_of_the_mac = |call: &Call| matches!(call, Call::MacStart { .. } | Call::Mac { .. });
    let of_the_node = || board.calls.iter().filter(|(_, call)| !is_of_the_mac(call));
    let mut starts = of_the_node().filter(|(_, call)| !matches!(call, Call::Recovered { .. }));
    let Some((_, Call::Start { epoch, seed, device })) = starts.next() else {
        panic!("the record of node {} begins with {:?}", board.id, board.calls.first());
    };
    let boot = Boot { epoch: *epoch, seed: *seed, device: *device };
    let mut node = Node::new(&board.config, boot).expect("the board took this configuration");
    let mut frames = 0;
    let mut calls = of_the_node().peekable();
    while let Some((at_us, call)) = calls.next() {
        let now = Instant::from_micros(*at_us);
        assert!(tell(&mut node, now, call), "the node on the PC does not send {call:?} at {at_us} us");
        while let Some((_, recorded)) = calls.next_if(|(_, call)| matches!(call, Call::Transmit { .. })) {
            assert_eq!(given(&mut node, now).as_ref(), Some(recorded), "after {call:?} at {at_us} us");
            frames += 1;
        }
        // The run may have ended between a call and the report of its output.
        assert!(calls.peek().is_none() || given(&mut node, now).is_none(), "after {call:?} at {at_us} us");
        while node.poll_notice().is_some() {}
    }
    frames
}

#[test]
fn a_boards_record_gives_the_same_frames_on_the_pc() {
    let ring = find("boards5").unwrap();
    let mesh = scenario(
        "name = \"record\"\nduration = \"20 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"20 m\"\n\
         [radio]\nmodel = \"usual\"\n[protocol]\nkind = \"hierarchy\"\n",
    );
    for (scenario, id, least) in [(&ring, 2, 50), (&mesh, 2, 20)] {
        let mut image = image(true);
        image.record.insert(id);
        let (_, boards) = hold(scenario, 4, &image);
        let board = boards.iter().find(|board| board.id == id).expect("it is a board");
        let received = board.calls.iter().filter(|(_, call)| matches!(call, Call::Frame { .. })).count();
        let frames = replay(board);
        assert!(frames > least && received > least, "{}: {frames} frames sent, {received} received", scenario.name);
    }
}
