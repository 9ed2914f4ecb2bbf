//! Who hears whom how well, from a trace: of boards, or of the simulator.
//!
//! A recording of boards says for each neighbour how many frames arrived of how many, and how strong they were. A trace of
//! the simulator has every frame and what became of it. Both come down to the same matrix.
//!
//! The strength of frames that arrived is biased where noise takes many: the weak ones are missing. Where less than nine
//! tenths arrive, and those are hardly stronger than noise, the share says more, and the simulator's error curve turns it
//! into a strength. Strong frames are lost to others on the air, which says nothing about the link.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::types::NodeId;
use serde::Serialize;
use sim::air::oqpsk::packet_error_rate;
use sim::air::trace::{Event, NodeNumber};

use crate::field::check::trace_file::Trace;

/// Below this share of frames that arrive, their strength is no longer taken for the link's.
const FAITHFUL: f64 = 0.9;

/// The simulator's noise floor, against which its error curve is read.
const NOISE_DBM: f64 = -100.0;

/// Frames this much stronger than noise are lost to something else.
const CLEAR_DB: f64 = 5.0;

/// Bits of a frame of middling length.
const FRAME_BITS: u32 = 50 * 8;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    pub from: u16,
    pub to: u16,
    pub heard: u64,
    pub expected: u64,
    /// Of what arrived.
    pub mean_dbm: f64,
    pub least_dbm: i16,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matrix {
    /// The ids of all nodes, in order.
    pub nodes: Vec<u16>,
    /// By sender and receiver.
    pub links: Vec<Link>,
    /// Nodes that nobody watched: who hears them is known, whom they hear is not.
    pub unwatched: Vec<u16>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    heard: u64,
    expected: u64,
    sum_dbm: i64,
    least_dbm: Option<i16>,
}

impl Tally {
    fn add(&mut self, heard: u64, expected: u64, mean_dbm: i16, least_dbm: i16) {
        self.heard += heard;
        self.expected += expected;
        self.sum_dbm += i64::from(mean_dbm) * i64::try_from(heard).unwrap_or(0);
        self.least_dbm = Some(self.least_dbm.map_or(least_dbm, |least| least.min(least_dbm)));
    }
}

impl Link {
    /// The share that did not arrive.
    pub fn lost(&self) -> f64 {
        1.0 - share(self.heard, self.expected)
    }

    /// What the link takes from a signal of this power, in decibels.
    pub fn loss_db(&self, power_dbm: f64) -> f64 {
        let arrived = share(self.heard, self.expected);
        let is_faint = arrived < FAITHFUL && self.mean_dbm < NOISE_DBM + CLEAR_DB;
        power_dbm - if is_faint { self.mean_dbm.min(strength_at(arrived)) } else { self.mean_dbm }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of frames are far below 2^52")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// The strength at which this share of frames arrives.
fn strength_at(arrived: f64) -> f64 {
    let (mut low, mut high) = (-12.0, 12.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let lost = packet_error_rate(10_f64.powf(middle / 10.0), FRAME_BITS);
        if 1.0 - lost < arrived { low = middle } else { high = middle }
    }
    NOISE_DBM + high
}

impl Matrix {
    pub fn of(trace: &Trace) -> Self {
        let is_told = trace.records.iter().any(|record| matches!(record.event, Event::Neighbour { .. }));
        let tallies = if is_told { told(trace) } else { counted(trace) };
        let watched: BTreeSet<u16> = trace.in_use.iter().map(|&node| id(trace, node)).collect();
        let mut nodes = watched.clone();
        nodes.extend(tallies.keys().map(|&(from, _)| from));
        let unwatched = nodes.difference(&watched).copied().collect();
        #[expect(clippy::cast_precision_loss, reason = "sums of dBm are far below 2^52")]
        let links = tallies.iter().filter(|(_, tally)| tally.heard > 0).map(|(&(from, to), tally)| Link {
            from,
            to,
            heard: tally.heard,
            expected: tally.expected.max(tally.heard),
            mean_dbm: tally.sum_dbm as f64 / tally.heard as f64,
            least_dbm: tally.least_dbm.unwrap_or(0),
        });
        Self { links: links.collect(), nodes: nodes.into_iter().collect(), unwatched }
    }

    /// As `model = "table"` reads it: nodes numbered from 1, and what each link takes in decibels.
    pub fn csv(&self, power_dbm: f64) -> String {
        let number = |id: u16| self.nodes.iter().position(|&node| node == id).map_or(0, |at| at + 1);
        let mut text = String::new();
        for (node, number) in self.nodes.iter().zip(1..) {
            let _ = writeln!(text, "# {number} is node {node}");
        }
        for node in &self.unwatched {
            let _ =
                writeln!(text, "# node {node} was not watched: whom it hears is not known, and its rows are missing");
        }
        text.push_str("from,to,loss_db\n");
        for link in &self.links {
            let _ = writeln!(text, "{},{},{:.1}", number(link.from), number(link.to), link.loss_db(power_dbm));
        }
        text
    }

    /// For reading: a row a receiver, a column a sender, strength and per cent lost.
    pub fn text(&self) -> String {
        let mut text = String::from("mean dBm / lost %, rows hear columns\n      ");
        for from in &self.nodes {
            let _ = write!(text, "{from:>9}");
        }
        text.push('\n');
        for to in &self.nodes {
            let _ = write!(text, "{to:>6}");
            for from in &self.nodes {
                let link = self.links.iter().find(|link| link.from == *from && link.to == *to);
                let cell = match link {
                    Some(link) => format!("{:.0}/{:.0}", link.mean_dbm, link.lost() * 100.0),
                    None if from == to => "-".to_owned(),
                    None if self.unwatched.contains(to) => "?".to_owned(),
                    None => ".".to_owned(),
                };
                let _ = write!(text, "{cell:>9}");
            }
            text.push('\n');
        }
        text
    }
}

pub fn id(trace: &Trace, node: NodeNumber) -> u16 {
    trace.ids.get(&node).map_or_else(|| u16::try_from(node.0).unwrap_or(u16::MAX), |id| id.0)
}

type Tallies = BTreeMap<(u16, u16), Tally>;

/// What boards say about their neighbours.
fn told(trace: &Trace) -> Tallies {
    let mut tallies = Tallies::new();
    for record in &trace.records {
        if let (Event::Neighbour { peer: NodeId(peer), heard, expected, mean_dbm, least_dbm }, Some(node)) =
            (&record.event, record.node)
        {
            let tally = tallies.entry((*peer, id(trace, node))).or_default();
            tally.add(u64::from(*heard), u64::from(*expected), *mean_dbm, *least_dbm);
        }
    }
    tallies
}

/// Every frame and what became of it. A node that is off is not expected to hear.
fn counted(trace: &Trace) -> Tallies {
    let mut tallies = Tallies::new();
    let mut on: BTreeSet<NodeNumber> = trace.in_use.clone();
    for record in &trace.records {
        let Some(node) = record.node else { continue };
        match &record.event {
            Event::PowerOff {} => drop(on.remove(&node)),
            Event::PowerOn {} => drop(on.insert(node)),
            Event::Frame { .. } => {
                for &to in on.iter().filter(|&&to| to != node) {
                    tallies.entry((id(trace, node), id(trace, to))).or_default().expected += 1;
                }
            }
            Event::Received { from, rssi_dbm } => {
                tallies.entry((id(trace, *from), id(trace, node))).or_default().add(1, 0, *rssi_dbm, *rssi_dbm);
            }
            _ => {}
        }
    }
    tallies
}

#[cfg(test)]
mod tests {
    use super::{Link, strength_at};

    #[test]
    fn where_few_frames_arrive_their_strength_is_not_believed() {
        let link = |heard| Link { from: 1, to: 2, heard, expected: 100, mean_dbm: -98.0, least_dbm: -98 };
        assert!((link(95).loss_db(0.0) - 98.0).abs() < 1e-9);
        let weak = link(30).loss_db(0.0);
        assert!(weak > 98.5 && weak < 102.0, "{weak}");
        let disturbed = Link { mean_dbm: -70.0, ..link(30) };
        assert!((disturbed.loss_db(0.0) - 70.0).abs() < 1e-9, "others on the air take strong frames");
        assert!(strength_at(0.5) > strength_at(0.1));
    }
}
