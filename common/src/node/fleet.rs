//! Status over the air: the contents of an answer, and the calls of the node that asks and of those that answer.
//!
//! ```text
//! snapshot, seconds since the boot, supply in mV, build (postcard) | neighbours × { id 2 | linked 1 bit, strength below 0 dBm 7 bits }
//! ```
//! Neighbours with a link come first, and as many are named as fit.

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::Node;
use super::snapshot::{Counters, Snapshot};
use crate::data::wire::{ANSWER_MAX, Known};
use crate::limits::TABLE_MAX;
use crate::link::neighbour::Neighbour;
use crate::time::Instant;
use crate::types::NodeId;

/// What only the driver knows of its board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct About {
    /// In millivolts; 0 is unknown.
    pub supply_mv: u16,
    /// The first bytes of the image's build id.
    pub build: [u8; 8],
}

/// A neighbour as its node hears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub id: NodeId,
    pub is_linked: bool,
    pub rssi_dbm: i8,
}

/// How well a node hears another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hearing {
    pub id: NodeId,
    /// How many of its recent hellos arrived.
    pub heard: u8,
    /// How many it sent meanwhile; at most the last 32 count.
    pub expected: u8,
    /// The recent mean.
    pub rssi_dbm: i8,
}

/// The status of a node, as it reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub snapshot: Snapshot,
    pub uptime_s: u32,
    pub about: About,
    /// Those with a link first.
    pub neighbours: Vec<Heard, TABLE_MAX, u8>,
}

/// Bytes of a neighbour.
const HEARD_BYTES: usize = 3;
const LINKED: u8 = 0x80;

/// The greatest count that takes three bytes. If the counts would not fit otherwise, greater ones are reported as this.
const COUNT_MAX: u32 = (1 << 21) - 1;

#[derive(Serialize, Deserialize, MaxSize)]
struct Fixed {
    snapshot: Snapshot,
    uptime_s: u32,
    about: About,
}

impl Report {
    /// Writes the report and returns its length.
    pub fn write(&self, buf: &mut [u8; ANSWER_MAX]) -> usize {
        let Self { snapshot, uptime_s, about, .. } = *self;
        let mut used = write_fixed(&Fixed { snapshot, uptime_s, about }, buf);
        if used == 0 {
            let snapshot = Snapshot { counters: bounded(snapshot.counters), ..snapshot };
            used = write_fixed(&Fixed { snapshot, uptime_s, about }, buf);
        }
        for &Heard { id, is_linked, rssi_dbm } in &self.neighbours {
            let Some(room) = buf.get_mut(used..used + HEARD_BYTES) else { break };
            let [low, high] = id.0.to_le_bytes();
            let strength = rssi_dbm.min(0).unsigned_abs().min(!LINKED);
            room.copy_from_slice(&[low, high, strength | if is_linked { LINKED } else { 0 }]);
            used += HEARD_BYTES;
        }
        used
    }

    /// Reads a report; `None` if it is incomplete.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (Fixed { snapshot, uptime_s, about }, rest) = postcard::take_from_bytes(bytes).ok()?;
        let (named, []) = rest.as_chunks::<HEARD_BYTES>() else { return None };
        let heard = |&[low, high, byte]: &[u8; HEARD_BYTES]| {
            let rssi_dbm = -i8::try_from(byte & !LINKED).unwrap_or(i8::MAX);
            Heard { id: NodeId(u16::from_le_bytes([low, high])), is_linked: byte & LINKED != 0, rssi_dbm }
        };
        let mut neighbours = Vec::new();
        for name in named {
            neighbours.push(heard(name)).ok()?;
        }
        Some(Self { snapshot, uptime_s, about, neighbours })
    }
}

fn write_fixed(fixed: &Fixed, buf: &mut [u8; ANSWER_MAX]) -> usize {
    postcard::to_slice(fixed, buf).map_or(0, |used| used.len())
}

/// Counts that take three bytes at most.
fn bounded(mut counters: Counters) -> Counters {
    let Counters {
        sent,
        accepted,
        foreign,
        malformed,
        forged,
        replayed,
        stale,
        retries,
        busy,
        hellos_missed,
        links_up,
        links_down,
        refused,
        leader_changes,
        pool_high_water: _,
    } = &mut counters;
    for count in [
        sent,
        accepted,
        foreign,
        malformed,
        forged,
        replayed,
        stale,
        retries,
        busy,
        hellos_missed,
        links_up,
        links_down,
        refused,
        leader_changes,
    ] {
        *count = (*count).min(COUNT_MAX);
    }
    counters
}

impl Node {
    /// Tells the node what the driver knows of its board, for its answers. To be called again when that changes.
    pub fn set_about(&mut self, about: About) {
        self.about = about;
    }

    /// Asks all nodes that links lead to for their status, this one included. To ask again because some have not
    /// answered, use the same number, the next turn, and the nodes that have.
    pub fn ask(&mut self, now: Instant, number: u8, turn: u8, known: Known) {
        self.finish();
        self.data.ask(now, number, turn, known);
        self.work(now);
    }

    /// Writes the next answer to `buf`, for [`Report::read`]. Returns who gave it, the number of the question, and the
    /// length.
    pub fn poll_answer(&mut self, buf: &mut [u8; ANSWER_MAX]) -> Option<(NodeId, u8, usize)> {
        self.data.poll_answer(buf)
    }

    /// How well this node hears others, those with a link first.
    pub fn hearing(&self) -> impl Iterator<Item = Hearing> {
        let table = self.links.table();
        let others = table.iter().filter(|(_, neighbour)| !table.is_linked(neighbour.id));
        table.linked().chain(others).map(|(_, neighbour)| {
            let (heard, expected) = neighbour.quality.hellos();
            let rssi_dbm = i8::try_from(neighbour.quality.strength_dbm()).unwrap_or(i8::MIN);
            Hearing { id: neighbour.id, heard, expected, rssi_dbm }
        })
    }

    /// This node's status.
    pub fn report(&self, now: Instant) -> Report {
        let table = self.links.table();
        let heard = |neighbour: &Neighbour, is_linked| {
            let rssi_dbm = i8::try_from(neighbour.quality.strength_dbm()).unwrap_or(i8::MIN);
            Heard { id: neighbour.id, is_linked, rssi_dbm }
        };
        let linked = table.linked().map(|(_, neighbour)| heard(neighbour, true));
        let others = table.iter().filter(|(_, neighbour)| !table.is_linked(neighbour.id));
        Report {
            snapshot: self.snapshot(),
            uptime_s: u32::try_from(now.as_millis() / 1_000).unwrap_or(u32::MAX),
            about: self.about,
            neighbours: linked.chain(others.map(|(_, neighbour)| heard(neighbour, false))).collect(),
        }
    }

    /// Passes questions on, and answers them.
    pub(super) fn answer_questions(&mut self, now: Instant) {
        if self.data.is_asked(now) {
            self.answer_now(now);
        }
    }

    /// A function of its own, because questions are rare and its locals would enlarge the stack of every call.
    #[inline(never)]
    fn answer_now(&mut self, now: Instant) {
        let linked: Vec<NodeId, TABLE_MAX, u8> = self.linked().collect();
        self.data.spread(&linked);
        let mut buf = [0; ANSWER_MAX];
        let length = self.report(now).write(&mut buf);
        self.data.answer(now, buf.get(..length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::{About, COUNT_MAX, Heard, Report};
    use crate::data::wire::ANSWER_MAX;
    use crate::limits::TABLE_MAX;
    use crate::node::snapshot::{Counters, Snapshot};
    use crate::types::NodeId;

    fn report(count: u32, heard: usize) -> Report {
        let counters =
            Counters { sent: count, accepted: count, retries: count, hellos_missed: count, ..Counters::default() };
        let neighbour = |at: usize| Heard {
            id: NodeId(u16::try_from(at).unwrap_or(0) + 500),
            is_linked: at < 6,
            rssi_dbm: -40 - i8::try_from(at).unwrap_or(0),
        };
        Report {
            snapshot: Snapshot {
                id: NodeId(7),
                leader: Some(NodeId(300)),
                epoch: Some(9),
                counters,
                ..Snapshot::default()
            },
            uptime_s: 86_400,
            about: About { supply_mv: 2_987, build: [1, 2, 3, 4, 5, 6, 7, 8] },
            neighbours: (0..heard).map(neighbour).collect(),
        }
    }

    #[test]
    fn reports_come_back() {
        let (mut buf, report) = ([0; ANSWER_MAX], report(70_000, 9));
        let length = report.write(&mut buf);
        assert_eq!(Report::read(&buf[..length]), Some(report));
        assert_eq!(Report::read(&buf[..length - 1]), None);
        assert_eq!(Report::read(&[]), None);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_counts_stop() {
        let mut buf = [0; ANSWER_MAX];
        let mut all = report(u32::MAX, TABLE_MAX);
        all.snapshot.counters = Counters {
            foreign: u32::MAX,
            malformed: u32::MAX,
            forged: u32::MAX,
            replayed: u32::MAX,
            stale: u32::MAX,
            busy: u32::MAX,
            links_up: u32::MAX,
            links_down: u32::MAX,
            refused: u32::MAX,
            leader_changes: u32::MAX,
            pool_high_water: 24,
            ..all.snapshot.counters
        };
        all.uptime_s = u32::MAX;
        all.snapshot.id = NodeId(60_000);
        all.snapshot.leader = Some(NodeId(60_000));
        all.snapshot.next_hop = Some(NodeId(60_000));
        all.snapshot.epoch = Some(u16::MAX);
        let length = all.write(&mut buf);
        let Some(read) = Report::read(&buf[..length]) else { panic!("it is whole") };
        assert_eq!((read.snapshot.counters.sent, read.snapshot.counters.refused), (COUNT_MAX, COUNT_MAX));
        assert!(read.neighbours.len() >= 6 && read.neighbours.len() < TABLE_MAX, "{}", read.neighbours.len());
        assert_eq!(read.uptime_s, u32::MAX);
    }
}
