//! Who hears whom how well, from a trace: of boards, or of the simulator.
//!
//! A recording of boards says for each neighbour how many frames arrived of how many, and how strong they were. A trace of
//! the simulator has every frame and what became of it. Both come down to the same matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use common::types::NodeId;
use serde::Serialize;
use sim::air::trace::{Event, NodeNumber};

use crate::field::channel::{Channel, Tally, share};
use crate::field::check::trace_file::Trace;
use crate::output;

/// Links are looked at in pieces of this length, to see whether they changed.
const PIECE_US: u64 = 10_000_000;

/// A link that differs by this much from what it was has changed.
const CHANGE_DB: f64 = 3.0;

/// So few frames in a piece say nothing about a change.
const FEW: u64 = 5;

/// A board that hears somebody says so every ten seconds. Where it says nothing for this long, it hears nothing.
const SILENT_US: u64 = 30_000_000;

/// So many pairs that nobody could observe are named; the rest are counted.
const PAIRS_TOLD: usize = 20;

/// From which node to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    pub from: u16,
    pub to: u16,
}

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
    /// Of all frames, those that noise took included.
    pub strength_dbm: f64,
    /// How far off that may be, with 95 % confidence: the fewer frames, the farther.
    pub within_db: f64,
}

/// From this time on a link is as strong as this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub at_us: u64,
    pub from: u16,
    pub to: u16,
    pub strength_dbm: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The ids of all nodes, in order.
    pub nodes: Vec<u16>,
    /// By sender and receiver.
    pub links: Vec<Link>,
    /// Nodes that nobody watched: who hears them is known, whom they hear is not.
    pub unwatched: Vec<u16>,
    /// What they have in common.
    #[serde(flatten)]
    pub channel: Channel,
    /// How links were at the start, and how they changed.
    #[serde(skip)]
    pub changes: Vec<Change>,
}

/// What links came to in each piece of the time.
type Pieces = BTreeMap<Ends, BTreeMap<u64, Tally>>;

impl Link {
    /// The share that did not arrive.
    pub fn lost(&self) -> f64 {
        1.0 - share(self.heard, self.expected)
    }

    /// The loss of the link for a signal of this power, in decibels.
    pub fn loss_db(&self, power_dbm: f64) -> f64 {
        power_dbm - self.strength_dbm
    }
}

impl Matrix {
    pub fn of(trace: &Trace) -> Self {
        let is_told = trace.records.iter().any(|record| matches!(record.event, Event::Neighbour { .. }));
        let pieces = if is_told { told(trace) } else { counted(trace) };
        let whole = |pieces: &BTreeMap<u64, Tally>| {
            pieces.values().fold(Tally::default(), |mut sum, piece| {
                sum.merge(piece);
                sum
            })
        };
        let tallies: BTreeMap<Ends, Tally> =
            pieces.iter().map(|(&link, pieces)| (link, whole(pieces))).filter(|(_, tally)| tally.heard > 0).collect();
        let channel = Channel::of(trace, &tallies);
        let watched: BTreeSet<u16> = trace.in_use.iter().map(|&node| id(trace, node)).collect();
        let mut nodes = watched.clone();
        nodes.extend(tallies.keys().map(|ends| ends.from));
        let unwatched = nodes.difference(&watched).copied().collect();
        let links = tallies.iter().filter_map(|(&Ends { from, to }, tally)| {
            let strength = channel.strength(to, tally);
            Some(Link {
                from,
                to,
                heard: tally.heard,
                expected: tally.expected.max(tally.heard),
                mean_dbm: tally.mean_dbm()?,
                least_dbm: tally.least_dbm.unwrap_or(0),
                strength_dbm: strength.value,
                within_db: strength.within,
            })
        });
        let changes = tallies.keys().flat_map(|&link| changes(link, &pieces[&link], &channel)).collect();
        Self { links: links.collect(), nodes: nodes.into_iter().collect(), unwatched, channel, changes }
    }

    /// As `model = "table"` reads it: nodes numbered from 1, and the loss of each link in decibels.
    pub fn csv(&self, power_dbm: f64) -> String {
        let mut text = self.csv_remarks() + "from,to,loss_db\n";
        for link in &self.links {
            for (from, to) in self.ways(link.from, link.to) {
                let _ = writeln!(text, "{from},{to},{:.1}", link.loss_db(power_dbm));
            }
        }
        text
    }

    /// The same, with the time in seconds from which each row holds.
    pub fn csv_in_time(&self, power_dbm: f64) -> String {
        let mut text = self.csv_remarks() + "seconds,from,to,loss_db\n";
        // The rows of a link are in order of time.
        for Change { at_us, from, to, strength_dbm } in &self.changes {
            for (from, to) in self.ways(*from, *to) {
                let _ = writeln!(text, "{},{from},{to},{:.1}", at_us / 1_000_000, power_dbm - strength_dbm);
            }
        }
        text
    }

    /// The rows of a table that a link stands for, as numbers of nodes. Nobody could observe what an unwatched node hears; the
    /// air is much the same both ways.
    fn ways(&self, from: u16, to: u16) -> impl Iterator<Item = (usize, usize)> {
        let (from, to, is_silent) = (self.number(from), self.number(to), self.unwatched.contains(&from));
        [(from, to)].into_iter().chain(is_silent.then_some((to, from)))
    }

    /// What is not known of the field, for people.
    pub fn unknown(&self) -> Vec<String> {
        let alone = self.unwatched.iter().map(|node| {
            format!("node {node} was not watched: what it hears is assumed to be as strong as what others hear of it")
        });
        let pairs = self.unwatched.iter().enumerate().flat_map(|(at, one)| {
            self.unwatched[at + 1..].iter().map(move |other| {
                format!("nobody could observe whether nodes {one} and {other} hear each other: no rows")
            })
        });
        let count = self.unwatched.len() * self.unwatched.len().saturating_sub(1) / 2;
        let more = (count > PAIRS_TOLD)
            .then(|| format!("the same holds for {}", output::counted(count - PAIRS_TOLD, "more pair")));
        alone.chain(pairs.take(PAIRS_TOLD)).chain(more).collect()
    }

    /// The number of a node in a table.
    fn number(&self, id: u16) -> usize {
        self.nodes.iter().position(|&node| node == id).map_or(0, |at| at + 1)
    }

    fn csv_remarks(&self) -> String {
        let mut text = String::new();
        for (node, number) in self.nodes.iter().zip(1..) {
            let _ = writeln!(text, "# {number} is node {node}");
        }
        for unknown in self.unknown() {
            let _ = writeln!(text, "# {unknown}");
        }
        text
    }

    /// For reading: a row per receiver, a column per sender, strength and per cent lost.
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

/// What boards say about their neighbours, and what their silence says.
fn told(trace: &Trace) -> Pieces {
    let mut pieces = Pieces::new();
    let mut last: BTreeMap<Ends, u64> = BTreeMap::new();
    let sent = sent(trace);
    for record in &trace.records {
        if let (Event::Neighbour { peer: NodeId(peer), heard, expected, mean_dbm, least_dbm }, Some(node)) =
            (&record.event, record.node)
        {
            let link = Ends { from: *peer, to: id(trace, node) };
            let pieces = pieces.entry(link).or_default();
            if let Some(since) = last.insert(link, record.time_us) {
                note_silence(pieces, &sent, link, since..record.time_us);
            }
            // What is told is about the time before.
            let tally = pieces.entry(record.time_us.saturating_sub(1) / PIECE_US).or_default();
            tally.add(u64::from(*heard), u64::from(*expected), *mean_dbm, *least_dbm);
        }
    }
    let end = |link: Ends| off(trace, link.from).min(off(trace, link.to));
    for (link, since) in last {
        note_silence(pieces.entry(link).or_default(), &sent, link, since..end(link));
    }
    pieces
}

/// The times at which each watched node sent.
fn sent(trace: &Trace) -> BTreeMap<u16, Vec<u64>> {
    let mut sent: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for record in &trace.records {
        if let (Event::Frame { .. }, Some(node)) = (&record.event, record.node) {
            sent.entry(id(trace, node)).or_default().push(record.time_us);
        }
    }
    sent
}

/// When a node was last seen with power.
fn off(trace: &Trace, node: u16) -> u64 {
    let of_it = trace.records.iter().rev().filter(|record| record.node.is_some_and(|one| id(trace, one) == node));
    of_it.map(|record| record.time_us).next().unwrap_or(0)
}

/// A link was not reported for so long that nothing can have arrived.
fn note_silence(pieces: &mut BTreeMap<u64, Tally>, sent: &BTreeMap<u16, Vec<u64>>, link: Ends, silent: Range<u64>) {
    if silent.end.saturating_sub(silent.start) < SILENT_US {
        return;
    }
    for at_us in sent.get(&link.from).into_iter().flatten().filter(|at_us| silent.contains(at_us)) {
        pieces.entry(at_us / PIECE_US).or_default().expected += 1;
    }
}

/// Every frame and what became of it. A node that is off is not expected to hear.
fn counted(trace: &Trace) -> Pieces {
    let mut pieces = Pieces::new();
    let mut on: BTreeSet<NodeNumber> = trace.in_use.clone();
    for record in &trace.records {
        let Some(node) = record.node else { continue };
        let piece = record.time_us / PIECE_US;
        match &record.event {
            Event::PowerOff {} => drop(on.remove(&node)),
            Event::PowerOn {} => drop(on.insert(node)),
            Event::Frame { .. } => {
                for &to in on.iter().filter(|&&to| to != node) {
                    let link = pieces.entry(Ends { from: id(trace, node), to: id(trace, to) }).or_default();
                    link.entry(piece).or_default().expected += 1;
                }
            }
            Event::Received { from, rssi_dbm } => {
                let link = pieces.entry(Ends { from: id(trace, *from), to: id(trace, node) }).or_default();
                link.entry(piece).or_default().add(1, 0, *rssi_dbm, *rssi_dbm);
            }
            _ => {}
        }
    }
    pieces
}

/// How a link was at the start, and how it changed: pieces are put together while they are alike.
fn changes(Ends { from, to }: Ends, pieces: &BTreeMap<u64, Tally>, channel: &Channel) -> Vec<Change> {
    let mut parts: Vec<(u64, Tally)> = Vec::new();
    for (&piece, tally) in pieces {
        let Some((_, part)) = parts.last_mut() else {
            parts.push((0, *tally));
            continue;
        };
        let differs = tally.expected.max(tally.heard) >= FEW
            && part.expected.max(part.heard) >= FEW
            && (channel.strength(to, tally).value - channel.strength(to, part).value).abs() >= CHANGE_DB;
        if differs { parts.push((piece * PIECE_US, *tally)) } else { part.merge(tally) }
    }
    let strength =
        |(at_us, part): (u64, Tally)| Change { at_us, from, to, strength_dbm: channel.strength(to, &part).value };
    parts.into_iter().map(strength).collect()
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;
    use sim::air::trace::{Event, NodeNumber, Record};

    use super::{Matrix, PAIRS_TOLD};
    use crate::field::check::trace_file::in_order;

    #[test]
    fn a_board_that_invents_neighbours_is_not_told_of_in_a_line_for_each_pair() {
        let heard = |id| Event::Neighbour { peer: NodeId(id), heard: 9, expected: 9, mean_dbm: -60, least_dbm: -62 };
        let told = [Event::Id { id: NodeId(1) }, Event::PowerOn {}].into_iter().chain((2..300).map(heard));
        let records = told.map(|event| Record { time_us: 5, node: Some(NodeNumber(0)), event });
        let unknown = Matrix::of(&in_order(records.collect())).unknown();
        assert_eq!(unknown.len(), 298 + PAIRS_TOLD + 1);
        assert_eq!(unknown.last().unwrap(), "the same holds for 44233 more pairs");
    }
}
