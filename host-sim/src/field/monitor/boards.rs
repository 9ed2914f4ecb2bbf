//! What is known about boards from what they reported, and the trace of it. Does no input or output.

use std::collections::{BTreeMap, BTreeSet};

use common::host_link::{Call, Hello, Quantity, ToHost};
use common::node::snapshot::Snapshot;
use common::notice::Notice;
use common::types::NodeId;
use sim::air::trace::{Event, NodeNumber, Record};

use super::board_clock::BoardClock;
use super::describe;
use super::gathered::Gathered;
use super::hearing::Hearing;
use super::mac::{self, Header};
use crate::field::provision::network;
use crate::field::quantity::{self, Description};
use crate::field::utc::Utc;

/// The beginning of a note about lost messages; a number follows.
pub const LOST_NOTE: &str = "lost: ";

/// More boards than a field test has. A board that gives itself a new chip id over and over must not fill the memory.
pub const BOARDS_MAX: usize = 1_024;

/// A board that has said hello.
#[derive(Clone, Debug)]
pub struct Known {
    /// The latest one.
    pub hello: Hello,
    /// May have changed since the hello.
    pub id: NodeId,
    pub leader: Option<NodeId>,
    pub snapshot: Option<Snapshot>,
    /// The latest value of each quantity.
    pub readings: BTreeMap<Quantity, i32>,
    /// Messages that never arrived.
    pub lost: u64,
    /// Whether its cable is in.
    pub is_seen: bool,
    /// Whether the trace needs the leader again, even if it has not changed.
    is_leader_untold: bool,
    /// Whether the trace has it switched off.
    is_off: bool,
    clock: BoardClock,
    hearing: Hearing,
    /// The latest time on its own clock that it reported.
    heard_us: u64,
    /// When it was last heard, by the monitor's clock.
    heard_at_us: u64,
}

/// A port that is watched, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortIndex(pub usize);

/// All boards. Their indices are the nodes of the trace.
#[derive(Clone, Debug, Default)]
pub struct Boards {
    known: Vec<Known>,
    /// The board at each port.
    at_port: BTreeMap<PortIndex, NodeNumber>,
    /// When each port was opened.
    open_since: BTreeMap<PortIndex, u64>,
    /// Ports of boards that are already watched at another port: a development kit has two sockets.
    spare: BTreeSet<PortIndex>,
    /// Hellos of boards for which there was no room.
    refused: u64,
    gathered: Gathered,
}

impl Boards {
    /// The boards in the order in which they were first heard.
    pub fn all(&self) -> &[Known] {
        &self.known
    }

    /// The readings of all nodes, as far as these boards have them.
    pub fn gathered(&self) -> &Gathered {
        &self.gathered
    }

    /// How many hellos were ignored because [`BOARDS_MAX`] boards were known already.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The board at a port, once it has said hello.
    pub fn at(&self, port: PortIndex) -> Option<&Known> {
        self.known.get(self.at_port.get(&port)?.0)
    }

    /// The port of a board whose cable is in.
    pub fn port_of(&self, node: NodeNumber) -> Option<PortIndex> {
        self.at_port.iter().find(|&(_, &at)| at == node).map(|(&port, _)| port)
    }

    /// The number that the board at a port has in the trace.
    pub fn number(&self, port: PortIndex) -> Option<NodeNumber> {
        self.at_port.get(&port).copied()
    }

    /// Whether the board at a port is already watched at another one, so that everything arrives twice.
    pub fn is_spare(&self, port: PortIndex) -> bool {
        self.spare.contains(&port)
    }

    pub fn open(&mut self, now_us: u64, port: PortIndex) {
        self.open_since.insert(port, now_us);
    }

    /// A port is gone. With `is_power` the board has lost power with it; otherwise its state is unknown.
    pub fn lose(&mut self, now_us: u64, port: PortIndex, is_power: bool) -> Vec<Record> {
        self.spare.remove(&port);
        let Some(node) = self.at_port.remove(&port) else { return Vec::new() };
        let Some(board) = self.known.get_mut(node.0) else { return Vec::new() };
        (board.is_seen, board.is_off, board.is_leader_untold) = (false, is_power, true);
        let event = if is_power { Event::PowerOff {} } else { Event::Unseen {} };
        vec![Record { time_us: now_us, node: Some(node), event }]
    }

    /// How many frames of the board at a port arrived damaged; each was a message that is lost.
    pub fn miss(&mut self, now_us: u64, port: PortIndex, count: u32) -> Vec<Record> {
        let Some(&node) = self.at_port.get(&port) else { return Vec::new() };
        let Some(board) = self.known.get_mut(node.0) else { return Vec::new() };
        board.lost = board.lost.saturating_add(u64::from(count));
        vec![Record { time_us: now_us, node: Some(node), event: note(format!("{LOST_NOTE}{count}")) }]
    }

    /// Handles a board's message and returns the records for the trace. Until the board has said hello there are none.
    pub fn receive(&mut self, now_us: u64, port: PortIndex, message: &ToHost) -> Vec<Record> {
        if let ToHost::Hello(hello) = message {
            return self.greet(now_us, port, hello);
        }
        let Some(&node) = self.at_port.get(&port) else { return Vec::new() };
        let senders: BTreeMap<NodeId, NodeNumber> =
            self.known.iter().enumerate().map(|(at, known)| (known.id, NodeNumber(at))).collect();
        let Some(board) = self.known.get_mut(node.0) else { return Vec::new() };
        self.gathered.hear(board.id, message);
        let (time_us, event) = match message {
            ToHost::Hello(_)
            | ToHost::Pong(_)
            | ToHost::LogTold { .. }
            | ToHost::Stored { .. }
            | ToHost::Journal(_)
            | ToHost::JournalTold { .. } => return Vec::new(),
            ToHost::Notice { at_us, notice } => (board.time(now_us, *at_us), board.notice(*notice)),
            ToHost::Snapshot { at_us, snapshot } => {
                let time_us = board.time(now_us, *at_us);
                let id = (board.id != snapshot.id).then_some(Event::Id { id: snapshot.id });
                (board.id, board.snapshot) = (snapshot.id, Some(*snapshot));
                let leader = board.follow(snapshot.leader);
                return [id, leader]
                    .into_iter()
                    .flatten()
                    .map(|event| Record { time_us, node: Some(node), event })
                    .collect();
            }
            ToHost::Reading { at_us, quantity, value } => {
                board.readings.insert(*quantity, *value);
                let Description { name, unit, per_unit } = quantity::describe(*quantity);
                let event =
                    Event::Reading { quantity: name, value: i64::from(*value), per_unit, unit: unit.to_owned() };
                (board.time(now_us, *at_us), Some(event))
            }
            ToHost::Call { at_us, call } => {
                let time_us = board.time(now_us, *at_us);
                let heard = match call {
                    Call::Frame { rssi_dbm, bytes } => board.hearing.frame(time_us, bytes.as_slice(), *rssi_dbm),
                    _ => None,
                };
                let told = on_the_air(call, &senders).into_iter().chain(heard);
                return told.map(|event| Record { time_us, node: Some(node), event }).collect();
            }
            ToHost::Lost(count) => {
                board.lost = board.lost.saturating_add(u64::from(*count));
                // A change of leader may be among the lost messages; the next snapshot shows it.
                (now_us, Some(note(format!("{LOST_NOTE}{count}"))))
            }
            ToHost::Config(_)
            | ToHost::Warning(_)
            | ToHost::Submitted { .. }
            | ToHost::Logged { .. }
            | ToHost::Copied { .. }
            | ToHost::Answer { .. } => (now_us, Some(note(describe::message(message)))),
        };
        event.map(|event| Record { time_us, node: Some(node), event }).into_iter().collect()
    }

    /// Handles the hello of a new board, of one that has restarted, or of one that is back.
    fn greet(&mut self, now_us: u64, port: PortIndex, hello: &Hello) -> Vec<Record> {
        let known = self.known.iter().position(|board| board.hello.chip == hello.chip);
        let node = NodeNumber(known.unwrap_or(self.known.len()));
        if node.0 >= BOARDS_MAX {
            self.refused = self.refused.saturating_add(1);
            self.at_port.remove(&port);
            return Vec::new();
        }
        if self.at_port.iter().any(|(&other, &at)| at == node && other != port) {
            self.spare.insert(port);
            return Vec::new();
        }
        self.spare.remove(&port);
        // The board was not observed before the port was open.
        let opened = self.open_since.get(&port).copied().unwrap_or(0);
        let since = now_us.saturating_sub(hello.at_us).max(opened);
        let fresh = Known {
            hello: hello.clone(),
            id: hello.id,
            leader: None,
            snapshot: None,
            readings: BTreeMap::new(),
            lost: 0,
            is_seen: true,
            is_leader_untold: false,
            is_off: false,
            clock: BoardClock::default(),
            hearing: Hearing::default(),
            heard_us: 0,
            heard_at_us: 0,
        };
        let mut events = Vec::new();
        let before = self.known.get(node.0).map(|board| identity(&board.hello));
        match self.known.get_mut(node.0) {
            None => {
                self.known.push(fresh);
                events.extend([(since, Event::Id { id: hello.id }), (since, Event::PowerOn {})]);
            }
            Some(board) if board.is_same_boot(now_us, hello) => {
                if !board.is_seen || board.id != hello.id {
                    events.push((now_us, Event::Id { id: hello.id }));
                }
                if board.is_off {
                    events.push((now_us, Event::PowerOn {}));
                }
                (board.is_seen, board.is_off) = (true, false);
                (board.id, board.hello) = (hello.id, hello.clone());
            }
            Some(board) => {
                if board.is_seen {
                    events.push((since, Event::PowerOff {}));
                }
                events.extend([(since, Event::Id { id: hello.id }), (since, Event::PowerOn {})]);
                *board = Known { lost: board.lost, ..fresh };
            }
        }
        if before.as_ref() != Some(&identity(hello)) {
            events.push((since, identity(hello)));
        }
        if let Some(crash) = &hello.crash {
            events.push((now_us, note(describe::crash(crash))));
        }
        self.at_port.insert(port, node);
        if let Some(board) = self.known.get_mut(node.0) {
            board.time(now_us, hello.at_us);
        }
        events.into_iter().map(|(time_us, event)| Record { time_us, node: Some(node), event }).collect()
    }
}

impl Known {
    /// Whether a hello belongs to the known boot. The epoch alone cannot tell: a board that has used one up takes another.
    /// But a board that started before it was last heard has not restarted since.
    fn is_same_boot(&self, now_us: u64, hello: &Hello) -> bool {
        let goes_on = self.heard_us <= hello.at_us.saturating_add(1_000_000);
        let started_us = i128::from(now_us) - i128::from(hello.at_us);
        goes_on && (self.hello.epoch == hello.epoch || started_us < i128::from(self.heard_at_us))
    }

    /// When the board's clock showed this in its present boot; the monitor began then.
    pub fn utc(&self, began: Utc, board_us: u64) -> Utc {
        let ago_us = i128::from(self.heard_us) - i128::from(board_us) - i128::from(self.heard_at_us);
        Utc(began.0.saturating_sub(i64::try_from(ago_us).unwrap_or(0)))
    }

    fn time(&mut self, now_us: u64, at_us: u64) -> u64 {
        (self.heard_us, self.heard_at_us) = (self.heard_us.max(at_us), now_us);
        self.clock.monitor_time(now_us, at_us)
    }

    fn notice(&mut self, notice: Notice) -> Option<Event> {
        match notice {
            Notice::Leader(leader) => self.follow(leader),
            Notice::LinkUp(peer) => Some(Event::Link { peer, up: true }),
            Notice::LinkDown(peer, _) => Some(Event::Link { peer, up: false }),
            Notice::Renamed(id) => {
                self.id = id;
                Some(Event::Id { id })
            }
            Notice::Lost(count) => {
                self.lost = self.lost.saturating_add(u64::from(count));
                Some(note(format!("{LOST_NOTE}{count}")))
            }
            // An algorithm takes many steps, and the simulator's traces omit them too.
            Notice::Event(_) => None,
            other => Some(note(describe::notice(other))),
        }
    }

    fn follow(&mut self, leader: Option<NodeId>) -> Option<Event> {
        let is_news = std::mem::take(&mut self.is_leader_untold) || self.leader != leader;
        self.leader = leader;
        is_news.then_some(Event::Leader { leader })
    }
}

/// The frame that a call of the node's driver sent or received.
fn on_the_air(call: &Call, senders: &BTreeMap<NodeId, NodeNumber>) -> Option<Event> {
    match call {
        // The trace has whole frames, including the checksum that the radio adds.
        Call::Transmit { bytes, .. } => Some(Event::Frame { psdu: [bytes.as_slice(), &[0, 0]].concat() }),
        Call::Frame { rssi_dbm, bytes } => Some(match mac::sender(bytes.as_slice()) {
            Some(id) => match senders.get(&id) {
                Some(&from) => Event::Received { from, rssi_dbm: i16::from(*rssi_dbm) },
                None => match mac::header(bytes.as_slice()) {
                    Some(Header { from, epoch, number }) => {
                        Event::Heard { id: from, epoch, number, rssi_dbm: i16::from(*rssi_dbm) }
                    }
                    None => note(format!("heard node {id}, which nobody watches, at {rssi_dbm} dBm")),
                },
            },
            None => return None,
        }),
        _ => None,
    }
}

/// What a board says it is.
pub fn identity(hello: &Hello) -> Event {
    Event::Board {
        network: network::shown(hello.pan),
        kind: hello.board.name().to_owned(),
        chip: format!("{:016x}", hello.chip),
        build: hello.build.to_string(),
        epoch: hello.epoch,
    }
}

fn note(text: String) -> Event {
    Event::Note { text }
}

#[cfg(test)]
mod tests;
