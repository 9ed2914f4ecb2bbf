//! A trace of a run: one JSON object per line, in the order of events.
//!
//! Every line has `time_us`, `node` and `event`, in this order, followed by the event's own fields:
//!
//! ```json
//! {"time_us":100384,"node":0,"event":"frame","psdu":"418801efbeffff64006865790000"}
//! {"time_us":101024,"node":1,"event":"received","from":0,"rssi_dbm":-50}
//! {"time_us":101024,"node":2,"event":"damaged","from":0,"rssi_dbm":-91}
//! {"time_us":101024,"node":3,"event":"corrupted","psdu":"418801efbeffff64006965790000"}
//! {"time_us":101024,"node":1,"event":"leader","leader":99}
//! {"time_us":200000,"node":0,"event":"power_off"}
//! {"time_us":200000,"node":null,"event":"note","text":"the wall is down"}
//! {"time_us":0,"node":1,"event":"id","id":99}
//! {"time_us":300000,"node":1,"event":"link","peer":100,"up":true}
//! {"time_us":400000,"node":1,"event":"unseen"}
//! ```
//!
//! A recording of boards begins with the time on the wall, and says what each board is, measures and hears:
//!
//! ```json
//! {"time_us":0,"node":null,"event":"recording","utc":"2026-11-18T09:30:00.000Z","program":"ringleader 0.1.0"}
//! {"time_us":900,"node":1,"event":"board","network":"0x960f","kind":"nrf52840-dk","chip":"00c0ffee00c0ffee","build":"0123456789abcdef","epoch":7}
//! {"time_us":5000000,"node":1,"event":"reading","quantity":"air_temperature","value":2140,"per_unit":100,"unit":"°C"}
//! {"time_us":9000000,"node":1,"event":"neighbour","peer":100,"heard":18,"expected":20,"mean_dbm":-71,"least_dbm":-75}
//! {"time_us":9000050,"node":1,"event":"heard","id":102,"epoch":7,"number":1880,"rssi_dbm":-80}
//! {"time_us":9000100,"node":1,"event":"call","message":"0704a0860105c1d200"}
//! ```
//!
//! A trace with details, which is what a picture needs, also has these:
//!
//! ```json
//! {"time_us":0,"node":1,"event":"place","x_mm":0,"y_mm":18000}
//! {"time_us":300000,"node":1,"event":"parent","parent":100}
//! {"time_us":350000,"node":1,"event":"busy"}
//! {"time_us":1000000,"node":1,"event":"energy","charge_nah":1816,"airtime_us":9216}
//! {"time_us":1200000,"node":null,"event":"obstacle","kind":"wall","points_mm":[[0,0],[0,9000]],"nodes":[],"on":true}
//! ```
//!
//! The writer of a trace chooses the nodes' numbers. A scenario numbers its nodes by id, and its attackers after them.
//! A monitor numbers its boards in the order in which it met them. `from` is such a number; `leader`, `peer` and `id`
//! are ids. `heard` is a frame of a node that this recording does not watch, by what its header says in clear; another
//! recording may have the same frame.
//!
//! The same run produces the same bytes. Received power is in whole dBm, as a radio measures it. The checksum at the
//! end of a frame is the radio's task, so it is not filled in.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use common::types::NodeId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::index::{NodeIndex, RadioIndex};
use super::medium::Reception;
use super::sink::Sink;
use super::world::Watcher;

/// A station that can tell which leader it follows.
pub trait Leads {
    /// `None` while it knows of no leader.
    fn leader(&self) -> Option<NodeId>;
}

/// A node's number in a trace or a capture, chosen by the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeNumber(pub usize);

impl fmt::Display for NodeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub time_us: u64,
    /// The node concerned. Only notes and obstacles may omit it.
    pub node: Option<NodeNumber>,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The node begins to send a frame.
    Frame {
        /// Written as two hexadecimal digits per byte.
        #[serde(serialize_with = "to_hex", deserialize_with = "from_hex")]
        psdu: Vec<u8>,
    },
    /// The node received a frame intact.
    Received {
        from: NodeNumber,
        rssi_dbm: i16,
    },
    /// The node had locked on to a frame, which turned out to be damaged.
    Damaged {
        from: NodeNumber,
        rssi_dbm: i16,
    },
    /// The node was handed a frame with wrong bits and a valid checksum.
    Corrupted {
        #[serde(serialize_with = "to_hex", deserialize_with = "from_hex")]
        psdu: Vec<u8>,
    },
    /// The node changed its leader. After a start it has none.
    Leader {
        leader: Option<NodeId>,
    },
    PowerOn {},
    PowerOff {},
    /// The node has this id. Written once, and again whenever the id changes.
    Id {
        id: NodeId,
    },
    /// The node took a link up or down.
    Link {
        /// The id of the node at the other end.
        peer: NodeId,
        up: bool,
    },
    /// Nobody is watching the node any longer: its cable is unplugged, and it may be on or off. The next line about the
    /// node ends this state.
    Unseen {},
    /// Where the node is.
    Place {
        x_mm: i64,
        y_mm: i64,
    },
    /// The next node on this one's way to its leader has changed. The leader has none.
    Parent {
        parent: Option<NodeId>,
    },
    /// The node gave a frame up because the channel was never clear.
    Busy {},
    /// What the node has used so far, over all its lives.
    Energy {
        charge_nah: u64,
        airtime_us: u64,
    },
    /// Something begins or ends to be in the way of signals. It belongs to no node.
    Obstacle {
        kind: ObstacleKind,
        points_mm: Vec<[i64; 2]>,
        /// Those that are cut off.
        nodes: Vec<NodeId>,
        on: bool,
    },
    /// A remark for the reader.
    Note {
        text: String,
    },
    /// When the recording began by the clock on the wall, and who wrote it. It belongs to no node.
    Recording {
        /// By RFC 3339.
        utc: String,
        program: String,
    },
    /// What the node is. Written at every hello that says something new.
    Board {
        /// The number of its network.
        network: String,
        kind: String,
        /// The chip's serial number.
        chip: String,
        /// The image that runs.
        build: String,
        /// The number of its boot.
        epoch: Option<u16>,
    },
    /// The node measured something.
    Reading {
        quantity: String,
        /// In whole parts of the unit.
        value: i64,
        /// How many of these parts make one unit.
        per_unit: u32,
        unit: String,
    },
    /// How well the node heard another one since it last said so.
    Neighbour {
        peer: NodeId,
        /// Frames that arrived.
        heard: u32,
        /// Frames that the other one sent meanwhile.
        expected: u32,
        mean_dbm: i16,
        least_dbm: i16,
    },
    /// The node received a frame of one that has no number here.
    Heard {
        id: NodeId,
        /// The number of the sender's boot.
        epoch: u16,
        /// The frame's number in it.
        number: u32,
        rssi_dbm: i16,
    },
    /// What the node's driver told the node, or got from it: the board's message as it came over its cable.
    Call {
        #[serde(serialize_with = "to_hex", deserialize_with = "from_hex")]
        message: Vec<u8>,
    },
}

impl Event {
    /// Whether it may go without a node.
    pub fn is_of_the_world(&self) -> bool {
        matches!(self, Self::Note { .. } | Self::Obstacle { .. } | Self::Recording { .. })
    }
}

/// What is in the way of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// Between two points.
    Wall,
    /// At one point.
    Noise,
    /// At one point.
    Attacker,
    /// Some nodes are cut off from all others.
    Split,
}

#[derive(Debug)]
#[must_use = "the end of the trace and its errors come with finish"]
pub struct Trace<W: Write> {
    out: Sink<W>,
    /// Whom each node follows, as last written. Nodes that follow nobody are absent.
    leaders: BTreeMap<NodeNumber, NodeId>,
    /// The id of each node, as last written.
    ids: BTreeMap<NodeNumber, NodeId>,
}

impl<W: Write> Trace<W> {
    pub fn new(out: W) -> Self {
        Self { out: Sink::new(out), leaders: BTreeMap::new(), ids: BTreeMap::new() }
    }

    /// Records that a node is switched on or off. Call this before the world does it. A node that is off has no leader.
    pub fn power(&mut self, world_us: u64, node: NodeNumber, on: bool) {
        if !on {
            self.leaders.remove(&node);
        }
        self.write(world_us, Some(node), if on { Event::PowerOn {} } else { Event::PowerOff {} });
    }

    /// Records a node's id, unless it is the one written last.
    pub fn id(&mut self, world_us: u64, node: NodeNumber, id: NodeId) {
        if self.ids.insert(node, id) != Some(id) {
            self.write(world_us, Some(node), Event::Id { id });
        }
    }

    /// Records a remark about one node, or about the world.
    pub fn note(&mut self, world_us: u64, node: Option<NodeNumber>, text: impl Into<String>) {
        self.write(world_us, node, Event::Note { text: text.into() });
    }

    pub fn note_frame(&mut self, world_us: u64, from: NodeNumber, psdu: &[u8]) {
        self.write(world_us, Some(from), Event::Frame { psdu: psdu.to_vec() });
    }

    /// Records how a frame ended at a node. `from` and `to` are the trace's numbers; the index in the reception is
    /// ignored.
    pub fn note_reception(&mut self, world_us: u64, from: NodeNumber, to: NodeNumber, reception: Reception) {
        #[expect(clippy::cast_possible_truncation, reason = "a float cast saturates at both ends")]
        let rssi_dbm = reception.rssi_dbm.round() as i16;
        let event =
            if reception.intact { Event::Received { from, rssi_dbm } } else { Event::Damaged { from, rssi_dbm } };
        self.write(world_us, Some(to), event);
    }

    pub fn note_corrupted(&mut self, world_us: u64, node: NodeNumber, psdu: &[u8]) {
        self.write(world_us, Some(node), Event::Corrupted { psdu: psdu.to_vec() });
    }

    /// Records a node's leader, unless it followed that leader before.
    pub fn note_leader(&mut self, world_us: u64, node: NodeNumber, leader: Option<NodeId>) {
        let before = match leader {
            Some(id) => self.leaders.insert(node, id),
            None => self.leaders.remove(&node),
        };
        if before != leader {
            self.write(world_us, Some(node), Event::Leader { leader });
        }
    }

    /// Ends the trace and returns the file, or the first error that occurred while writing.
    pub fn finish(self) -> io::Result<W> {
        self.out.finish()
    }

    /// Hands on what was written so far.
    pub fn flush(&mut self) {
        self.out.flush();
    }

    pub fn write(&mut self, time_us: u64, node: Option<NodeNumber>, event: Event) {
        self.out.write(Record { time_us, node, event }.to_line().as_bytes());
    }
}

/// Here the trace uses the world's own numbers, from 0.
impl<S: Leads, W: Write> Watcher<S> for Trace<W> {
    fn frame(&mut self, world_us: u64, from: RadioIndex, psdu: &[u8]) {
        self.note_frame(world_us, NodeNumber(from.0), psdu);
    }

    fn reception(&mut self, world_us: u64, from: RadioIndex, reception: Reception) {
        self.note_reception(world_us, NodeNumber(from.0), NodeNumber(reception.to.0), reception);
    }

    fn corrupted(&mut self, world_us: u64, node: NodeIndex, psdu: &[u8]) {
        self.note_corrupted(world_us, NodeNumber(node.0), psdu);
    }

    fn station(&mut self, world_us: u64, node: NodeIndex, station: &S) {
        self.note_leader(world_us, NodeNumber(node.0), station.leader());
    }
}

impl Record {
    /// The record as a line, including its line break.
    ///
    /// # Panics
    ///
    /// Never: all keys are strings and all numbers are whole.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("strings and whole numbers always have a JSON form");
        line.push('\n');
        line
    }
}

/// Why a line is not a valid line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    /// Counted from one.
    pub line: usize,
    pub reason: String,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for LineError {}

/// Reads one line of a trace. `line` is its number, counted from one, for the error message.
pub fn parse_line(line: usize, text: &str) -> Result<Record, LineError> {
    let fail = |reason: String| LineError { line, reason };
    let record: Record = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        // The parser sees only this line and would call it line 1.
        let reason = said.rsplit_once(" at line ").map_or(said.as_str(), |(reason, _)| reason);
        fail(if error.column() == 0 { reason.into() } else { format!("{reason} (column {})", error.column()) })
    })?;
    if record.node.is_none() && !record.event.is_of_the_world() {
        return Err(fail("missing field `node`: only notes and obstacles may go without one".into()));
    }
    Ok(record)
}

fn to_hex<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    serializer.serialize_str(&text)
}

fn from_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || serde::de::Error::custom(format!("`psdu` must be pairs of hexadecimal digits, not {text:?}"));
    let half = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(wrong()) };
    pairs.iter().map(|&[high, low]| Some(half(high)? << 4 | half(low)?)).collect::<Option<Vec<u8>>>().ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
