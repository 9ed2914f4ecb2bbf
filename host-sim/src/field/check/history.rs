//! Plays a trace and finds when all nodes agreed.
//!
//! The question is the scenario checker's: in every component of the links, do all nodes follow one leader that is on,
//! follows itself and is within reach? A leader that is not watched (its cable is out, or it never had one) is assumed to
//! be where its followers think it is.

use std::collections::BTreeMap;

use common::types::NodeId;
use serde::Serialize;
use sim::air::index::NodeIndex;
use sim::air::trace::{Event, NodeNumber, Record};
use sim::scenario::judge::checker::HOLD_US;
use sim::scenario::judge::components::Components;
use sim::scenario::report::outcome::{Followed, Reign, Verdict};

use super::earlier::Earlier;
use super::links::{FADED_US, Links};
use super::trace_file::Trace;
use crate::field::monitor::boards::LOST_NOTE;

/// How often agreement is judged between records, since links inferred from frames fade without a record.
const JUDGE_EVERY_US: u64 = 100_000;

/// A period without agreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    pub from_ms: u64,
    /// The time to an agreement that lasted; none if the trace ends first.
    pub lasted_ms: Option<u64>,
    /// Of that, how long after the last change of the network.
    pub settled_ms: u64,
    /// The last change before it began.
    pub after: String,
    /// The nodes that disagreed at its beginning.
    pub nodes: Vec<String>,
}

/// What a trace says.
#[derive(Clone, Debug, Serialize)]
pub struct History {
    pub length_ms: u64,
    /// The nodes by id, or by number if the trace has no ids.
    pub nodes: Vec<String>,
    /// Whether the nodes reported their links; otherwise links are inferred from frames.
    pub links_told: bool,
    /// Links that nobody reported in a recording where others were, inferred from frames.
    pub links_inferred: usize,
    pub reigns: Vec<Reign>,
    /// Periods without agreement; the first is usually the start.
    pub disagreements: Vec<Disagreement>,
    /// Frames sent.
    pub frames: u64,
    /// Messages that boards could not deliver.
    pub lost: u64,
    pub verdict: Verdict,
}

/// Plays a trace; agreement must come within this time after the last change.
pub fn play(trace: &Trace, within_us: u64) -> History {
    // A recording that began after the links did has only their ends, from which nothing can be known of those that stayed.
    let are_told = trace.records.iter().any(|record| matches!(record.event, Event::Link { up: true, .. }));
    // One that began later has reports of some.
    let is_recording = trace.records.iter().any(|record| matches!(record.event, Event::Recording { .. }));
    let links = if are_told && is_recording { Links::recorded(Earlier::of(trace)) } else { Links::new(are_told) };
    let mut replay = Replay::new(trace, links);
    let (mut next_check, mut last_us) = (0, 0);
    for record in &trace.records {
        // Once all links have faded, silence changes nothing, however long it lasts.
        while next_check < record.time_us.min(last_us + FADED_US) {
            replay.check_agreement(next_check);
            next_check += JUDGE_EVERY_US;
        }
        next_check = next_check.max(record.time_us.next_multiple_of(JUDGE_EVERY_US));
        last_us = record.time_us;
        replay.apply(record);
    }
    let end_us = trace.records.last().map_or(0, |record| record.time_us);
    replay.check_agreement(end_us);
    replay.finish(trace, end_us, within_us)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Off,
    On,
    /// Its cable is out, so nobody knows.
    Unseen,
}

/// The latest change of the network.
#[derive(Clone, Debug)]
struct Change {
    at_us: u64,
    what: String,
}

/// A period without agreement, which may still be open.
#[derive(Clone, Debug)]
struct Span {
    from_us: u64,
    /// When it ended, if it has.
    until_us: Option<u64>,
    last_change_us: u64,
    after: String,
    nodes: Vec<NodeNumber>,
}

#[derive(Debug)]
struct Replay {
    states: Vec<State>,
    leaders: Vec<Option<NodeId>>,
    ids: BTreeMap<NodeNumber, NodeId>,
    links: Links,
    components: Vec<Vec<NodeIndex>>,
    spans: Vec<Span>,
    reigns: Vec<Reign>,
    last_change: Change,
    frames: u64,
    lost: u64,
    /// Something that affects agreement has happened since it was last checked.
    is_stale: bool,
}

impl Replay {
    fn new(trace: &Trace, links: Links) -> Self {
        // In a trace without power events every node is on from the start.
        let is_power_told = trace.records.iter().any(|record| matches!(record.event, Event::PowerOn {}));
        let state = if is_power_told { State::Off } else { State::On };
        let state_of = |node| if trace.in_use.contains(&node) { state } else { State::Off };
        Self {
            states: (0..trace.nodes).map(NodeNumber).map(state_of).collect(),
            leaders: vec![None; trace.nodes],
            ids: trace.ids.clone(),
            links,
            components: Vec::new(),
            spans: Vec::new(),
            reigns: Vec::new(),
            last_change: Change { at_us: 0, what: "the start".into() },
            frames: 0,
            lost: 0,
            is_stale: true,
        }
    }

    fn name(&self, node: NodeNumber) -> String {
        self.ids.get(&node).map_or_else(|| format!("#{node}"), ToString::to_string)
    }

    fn apply(&mut self, record: &Record) {
        let Record { time_us, node: Some(node), event } = record else { return };
        let (time_us, node) = (*time_us, *node);
        if self.states[node.0] == State::Unseen && !matches!(event, Event::Unseen {} | Event::PowerOff {}) {
            self.set_state(time_us, node, State::On, "is seen again");
        }
        match event {
            Event::PowerOn {} => self.set_state(time_us, node, State::On, "switched on"),
            Event::PowerOff {} => self.set_state(time_us, node, State::Off, "switched off"),
            Event::Unseen {} => self.set_state(time_us, node, State::Unseen, "out of sight"),
            Event::Leader { leader } => {
                self.leaders[node.0] = *leader;
                self.is_stale = true;
            }
            Event::Id { id } => {
                self.ids.insert(node, *id);
                self.is_stale = true;
            }
            Event::Link { peer, up } => {
                self.links.tell(node, *peer, *up);
                self.is_stale = true;
            }
            Event::Frame { .. } => {
                self.frames += 1;
                self.links.sent(time_us, node);
            }
            Event::Received { from, .. } => self.links.received(time_us, *from, node),
            Event::Note { text } => {
                let lost = text.strip_prefix(LOST_NOTE).and_then(|count| count.parse::<u64>().ok());
                self.lost += lost.unwrap_or(0);
            }
            Event::Damaged { .. }
            | Event::Corrupted { .. }
            | Event::Place { .. }
            | Event::Parent { .. }
            | Event::Busy {}
            | Event::Energy { .. }
            | Event::Obstacle { .. }
            | Event::Recording { .. }
            | Event::Board { .. }
            | Event::Reading { .. }
            | Event::Neighbour { .. }
            | Event::Heard { .. }
            | Event::Call { .. } => {}
        }
        if self.is_stale {
            self.check_agreement(time_us);
        }
    }

    fn set_state(&mut self, time_us: u64, node: NodeNumber, state: State, what: &str) {
        self.states[node.0] = state;
        if state != State::Unseen {
            self.leaders[node.0] = None;
        }
        if state == State::Off {
            self.links.forget(node);
        }
        self.change(time_us, format!("node {} {what}", self.name(node)));
    }

    fn change(&mut self, time_us: u64, what: String) {
        if let Some(span) = self.spans.last_mut().filter(|span| span.until_us.is_none()) {
            span.last_change_us = time_us;
        }
        self.last_change = Change { at_us: time_us, what };
        self.is_stale = true;
    }

    fn check_agreement(&mut self, time_us: u64) {
        // Links inferred from frames come and go without a record.
        if !self.is_stale && self.links.are_told() {
            return;
        }
        self.is_stale = false;
        let nodes = self.states.len();
        let is_on = |node: usize| self.states.get(node) == Some(&State::On);
        let is_off = |node: usize| self.states.get(node) == Some(&State::Off);
        // A node that is on owns its id before one that merely used it: forgers send under other nodes' ids.
        let mut index: BTreeMap<NodeId, NodeNumber> = BTreeMap::new();
        for (&node, &id) in &self.ids {
            let holder = index.entry(id).or_insert(node);
            if !is_on(holder.0) && is_on(node.0) {
                *holder = node;
            }
        }
        // Leaders that are not watched get indices after those of the nodes.
        let mut unwatched: Vec<NodeId> = Vec::new();
        let mut followed = vec![None; nodes];
        for node in (0..nodes).filter(|&node| is_on(node)) {
            followed[node] = self.leaders[node].map(|id| match index.get(&id) {
                Some(&NodeNumber(at)) if is_on(at) || is_off(at) => NodeIndex(at),
                _ => {
                    let at = unwatched.iter().position(|&known| known == id).unwrap_or_else(|| {
                        unwatched.push(id);
                        unwatched.len() - 1
                    });
                    NodeIndex(nodes + at)
                }
            });
        }
        let follows = NodeIndex::first(nodes).filter_map(|node| Some((node, followed[node.0]?)));
        let reach: Vec<(NodeIndex, NodeIndex)> = follows.filter(|(_, leader)| leader.0 >= nodes).collect();
        let all = nodes + unwatched.len();
        // The checker counts nodes as the trace does.
        let told = self.links.now(time_us, &index).into_iter().map(|(a, b)| (NodeIndex(a.0), NodeIndex(b.0)));
        let components = Components::of_links(all, |node| is_on(node.0), told, reach);
        let leader = |node: NodeIndex| if node.0 < nodes { followed[node.0] } else { Some(node) };
        let dissenters = components.dissenters(leader).into_iter().map(|node| NodeNumber(node.0)).collect();
        if components.usable != self.components {
            self.components = components.usable;
            if self.last_change.at_us != time_us {
                self.change(time_us, "links changed".into());
                self.is_stale = false;
            }
        }
        self.note_agreement(time_us, dissenters);
        self.note_reign(time_us);
    }

    fn note_agreement(&mut self, time_us: u64, dissenters: Vec<NodeNumber>) {
        match (self.spans.last_mut(), dissenters.is_empty()) {
            (Some(span), true) => span.until_us = span.until_us.or(Some(time_us)),
            (None, true) => {}
            // An agreement that did not last does not end the period.
            (Some(span), false) if span.until_us.is_none_or(|until| time_us < until + HOLD_US) => {
                if span.until_us.take().is_some() && self.last_change.at_us > span.last_change_us {
                    span.last_change_us = self.last_change.at_us;
                }
            }
            (_, false) => {
                let Change { at_us, what: after } = self.last_change.clone();
                let last_change_us = at_us.min(time_us);
                self.spans.push(Span { from_us: time_us, until_us: None, last_change_us, after, nodes: dissenters });
            }
        }
    }

    fn note_reign(&mut self, time_us: u64) {
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        for (node, leader) in self.leaders.iter().enumerate() {
            if let Some(id) = leader.filter(|_| self.states[node] == State::On) {
                *counts.entry(id.0).or_default() += 1;
            }
        }
        let leaders: Vec<Followed> = counts.into_iter().map(Followed::from).collect();
        if self.reigns.last().map_or(!leaders.is_empty(), |reign| reign.leaders != leaders) {
            self.reigns.push(Reign { at_ms: time_us / 1_000, leaders });
        }
    }

    fn finish(self, trace: &Trace, end_us: u64, within_us: u64) -> History {
        let settled_us = |span: &Span| {
            // The change that broke the agreement may lie before the period's beginning.
            span.until_us.unwrap_or(end_us).saturating_sub(span.last_change_us.max(span.from_us))
        };
        let is_late = self.spans.iter().any(|span| settled_us(span) > within_us);
        let disagreements = self.spans.iter().map(|span| Disagreement {
            from_ms: span.from_us / 1_000,
            lasted_ms: span.until_us.map(|until| (until - span.from_us) / 1_000),
            settled_ms: settled_us(span) / 1_000,
            after: span.after.clone(),
            nodes: span.nodes.iter().map(|&node| self.name(node)).collect(),
        });
        History {
            length_ms: end_us / 1_000,
            nodes: trace.in_use.iter().map(|&node| self.name(node)).collect(),
            links_told: self.links.are_told(),
            links_inferred: self.links.inferred(),
            disagreements: disagreements.collect(),
            frames: self.frames,
            lost: self.lost,
            verdict: if is_late { Verdict::Liveness } else { Verdict::Ok },
            reigns: self.reigns,
        }
    }
}

#[cfg(test)]
mod tests;
