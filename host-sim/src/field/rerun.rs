//! Runs a board's node again on the PC: given the same calls, it must produce the same bytes.
//!
//! A record begins where the node was made, with its randomness; its configuration, with the key, is not in it. Where the
//! board dropped messages the record ends: what came after them says nothing. What the board's log held at its boot is what
//! it told of its log before.

use std::collections::BTreeMap;

use common::config::{Boot, Config};
use common::data::Done;
use common::data::block::Sample;
use common::data::log_entry::{ENTRY_MAX, LogEntry};
use common::data::origin::Recovered;
use common::data::wire::ANSWER_MAX;
use common::host_link::{Bytes, Call, Decoder, Did, ToHost};
use common::mac::phy::FRAME_MAX;
use common::mac::{Access, Sent};
use common::node::Node;
use common::protocol::Signal;
use common::time::Instant;
use sim::air::trace::Event;

use super::check::trace_file::Trace;
use super::monitor::boards::LOST_NOTE;

/// What a board said it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub id: u16,
    pub network: String,
    pub chip: String,
    /// The image that ran.
    pub build: String,
}

/// One boot of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pub board: Identity,
    /// The entries of its log when it began, as far as the board had told them.
    pub log: Vec<Vec<u8>>,
    /// With the times that the node was told.
    pub calls: Vec<(u64, Call)>,
    /// Whether the board dropped messages, which ends what is known of this boot.
    pub is_cut: bool,
}

/// The result of running a boot again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Same {
    /// What the node was told.
    pub calls: usize,
    /// What it sent, each the same to the byte.
    pub frames: usize,
}

/// The first place where board and PC differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub at_us: u64,
    /// What the node was told last.
    pub after: String,
    pub board: Option<Vec<u8>>,
    pub pc: Option<Vec<u8>>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at_us, after, board, pc } = self;
        let sent = |frame: &Option<Vec<u8>>| match frame {
            None => "nothing".to_owned(),
            Some(bytes) => bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")),
        };
        let (seconds, micros) = (at_us / 1_000_000, at_us % 1_000_000);
        write!(f, "at {seconds}.{micros:06} s, after {after}: the board sent {}, the PC {}", sent(board), sent(pc))
    }
}

/// All boots that were recorded from their beginning, in order of nodes.
pub fn lives(trace: &Trace) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for node in &trace.in_use {
        // Begun and still complete.
        let (mut open, mut board): (Option<Life>, _) = (None, Identity::default());
        // By position.
        let mut log: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for record in trace.records.iter().filter(|record| record.node == Some(*node)) {
            match &record.event {
                // A board that is provisioned meanwhile is another one from its next boot on.
                Event::Id { id } => board.id = id.0,
                Event::Board { network, chip, build, .. } => {
                    (board.network, board.chip, board.build) = (network.clone(), chip.clone(), build.clone());
                }
                Event::Call { message } => {
                    let (at_us, call) = match decode(message) {
                        Some(ToHost::Call { at_us, call }) => (at_us, call),
                        Some(ToHost::Logged { position, entry }) => {
                            log.insert(position, entry.as_slice().to_vec());
                            continue;
                        }
                        _ => continue,
                    };
                    // What was in its flash is told before the start.
                    let is_before = |life: &Life| life.calls.iter().all(|(_, call)| is_recovered(call));
                    let is_first = is_recovered(&call) || matches!(call, Call::Start { .. });
                    if is_first && !open.as_ref().is_some_and(is_before) {
                        let log = log.values().cloned().collect();
                        let fresh = Life { board: board.clone(), log, calls: Vec::new(), is_cut: false };
                        lives.extend(open.replace(fresh));
                    }
                    if let Some(life) = &mut open {
                        life.calls.push((at_us, call));
                    }
                }
                Event::Note { text } if text.starts_with(LOST_NOTE) => {
                    lives.extend(open.take().map(|life| Life { is_cut: true, ..life }));
                }
                _ => {}
            }
        }
        lives.extend(open);
    }
    lives
}

fn decode(message: &[u8]) -> Option<ToHost> {
    let mut decoder = Decoder::<ToHost>::new();
    message.iter().find_map(|&byte| decoder.push(byte))
}

/// Runs a boot again; none if its record does not begin with the start of its node, or the configuration is wrong.
pub fn rerun(config: &Config, log: &[Vec<u8>], recorded: &[(u64, Call)]) -> Option<Result<Same, Difference>> {
    let is_of_the_mac = |call: &Call| matches!(call, Call::MacStart { .. } | Call::Mac { .. });
    let mut calls = recorded.iter().filter(|(_, call)| !is_of_the_mac(call)).peekable();
    let start = recorded.iter().find(|(_, call)| !is_of_the_mac(call) && !is_recovered(call))?;
    let (_, Call::Start { epoch, seed, device }) = start else { return None };
    let mut node = Node::new(config, Boot { epoch: *epoch, seed: *seed, device: *device }).ok()?;
    for entry in log.iter().filter_map(|entry| LogEntry::read(entry)) {
        node.handle_logged_before(&entry);
    }
    let mut same = Same { calls: 0, frames: 0 };
    while let Some((at_us, call)) = calls.next() {
        let now = Instant::from_micros(*at_us);
        let differs = |board: Option<&Call>, pc: Option<&Call>| {
            let (board, pc) = (board.and_then(frame), pc.and_then(frame));
            Some(Err(Difference { at_us: *at_us, after: told(call), board, pc }))
        };
        if !tell(&mut node, now, call) {
            return differs(Some(call), None);
        }
        same.calls += 1;
        while let Some((_, recorded)) = calls.next_if(|(_, call)| matches!(call, Call::Transmit { .. })) {
            let given = given(&mut node, now);
            if given.as_ref() != Some(recorded) {
                return differs(Some(recorded), given.as_ref());
            }
            same.frames += 1;
        }
        // The record may end between a call and its result.
        if calls.peek().is_some()
            && let Some(more) = given(&mut node, now)
        {
            return differs(None, Some(&more));
        }
        while node.poll_notice().is_some() {}
        while node.poll_outcome().is_some() {}
        while node.poll_action().is_some() {}
        while node.poll_answer(&mut [0; ANSWER_MAX]).is_some() {}
        while node.poll_copy(now, &mut [0; ENTRY_MAX]).is_some() {}
    }
    Some(Ok(same))
}

const fn is_recovered(call: &Call) -> bool {
    matches!(call, Call::Recovered { .. } | Call::Kept(_))
}

/// Repeats one recorded call to a node; false if the record is an output of the node, and the node does not give it.
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
        Call::Kept(piece) => node.handle_kept(piece.as_slice()),
        Call::Read => node.handle_reader(now),
        Call::Sample(values) => node.handle_sample(now, Sample { values: *values }),
        // What exactly it wants of the flash is in what the board then did.
        Call::Chore => return node.poll_chore(now, &mut [0; ENTRY_MAX]).is_some(),
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
    Some(Call::Transmit { at_us, bytes: Bytes::new(buf.get(..transmit.length)?).ok()? })
}

fn frame(call: &Call) -> Option<Vec<u8>> {
    match call {
        Call::Transmit { bytes, .. } => Some(bytes.as_slice().to_vec()),
        _ => None,
    }
}

fn told(call: &Call) -> String {
    match call {
        Call::Frame { rssi_dbm, bytes } => format!("a frame of {} bytes at {rssi_dbm} dBm", bytes.as_slice().len()),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use common::config::{Boot, Config, NetworkKey, Protection};
    use common::host_link::{Bytes, Call, FRAME_BYTES_MAX, ToHost, encode};
    use common::node::Node;
    use common::time::Instant;
    use common::types::NodeId;
    use sim::air::trace::{Event, NodeNumber, Record};

    use super::{given, lives, rerun, tell};
    use crate::field::check::trace_file::in_order;

    fn config(key: u8) -> Config {
        Config::ad_hoc(NodeId(5), 7, Protection::Ascon(NetworkKey::new([key; 16])))
    }

    /// What a board's driver would record of a node that nobody hears.
    fn record(seed: u64) -> Vec<(u64, Call)> {
        let mut node = Node::new(&config(1), Boot { epoch: Some(3), seed, device: 9 }).unwrap();
        let (mut calls, mut now) = (Vec::new(), Instant::from_micros(1_000));
        let mut call = Call::Start { epoch: Some(3), seed, device: 9 };
        while calls.len() < 100 {
            assert!(tell(&mut node, now, &call));
            calls.push((now.as_micros(), call));
            let sent = given(&mut node, now);
            call = if sent.is_some() { Call::Sent { busy: false } } else { Call::Timeout };
            calls.extend(sent.map(|sent| (now.as_micros(), sent)));
            while node.poll_notice().is_some() {}
            now = node.poll_timeout().filter(|_| call == Call::Timeout).unwrap_or(now).max(now);
        }
        calls
    }

    #[test]
    fn the_same_calls_give_the_same_bytes() {
        let same = rerun(&config(1), &[], &record(77)).unwrap().unwrap();
        assert!(same.frames > 10 && same.calls > same.frames, "{same:?}");
    }

    #[test]
    fn whatever_differs_is_told_with_its_place() {
        let difference = rerun(&config(2), &[], &record(77)).unwrap().unwrap_err();
        assert!(difference.board.is_some() && difference.pc.is_some(), "another key: {difference}");
        let mut calls = record(77);
        let timeout = calls.iter().rposition(|(_, call)| matches!(call, Call::Transmit { .. })).unwrap();
        calls.remove(timeout);
        calls.push(calls[calls.len() - 1].clone());
        let missing = rerun(&config(1), &[], &calls).unwrap().unwrap_err();
        assert!(missing.board.is_none() && missing.to_string().contains("the board sent nothing"), "{missing}");
        assert!(rerun(&config(1), &[], &calls[1..]).is_none(), "it begins in the middle");
    }

    #[test]
    fn a_boot_begins_with_what_the_log_held_before_it() {
        let entry = |position| ToHost::Logged { position, entry: Bytes::new(&[7; 9]).unwrap() };
        let start = ToHost::Call { at_us: 1, call: Call::Start { epoch: Some(3), seed: 77, device: 9 } };
        let told = [entry(0), entry(1), entry(1), start.clone(), entry(2), start];
        let records = told.iter().zip(0..).map(|(message, time_us)| {
            let mut buf = [0; FRAME_BYTES_MAX];
            let message = encode(message, &mut buf).unwrap().to_vec();
            Record { time_us, node: Some(NodeNumber(0)), event: Event::Call { message } }
        });
        let boots = lives(&in_order(records.collect()));
        assert_eq!(boots.iter().map(|life| life.log.len()).collect::<Vec<_>>(), [2, 3]);
    }
}
