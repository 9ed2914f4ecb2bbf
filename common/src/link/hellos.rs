//! This node's own hellos: when they are due and whom they name.

use heapless::Vec;

use super::beat::Beat;
use super::body::{Hello, Name};
use super::life::AGE_MAX;
use super::neighbour::Neighbour;
use super::patience::Patience;
use super::pool::Slot;
use super::table::Table;
use super::trickle::Trickle;
use crate::config::Config;
use crate::limits::{HELLO_NAMES_MAX, LINKS_ENOUGH, NEIGHBOURS_MAX, RING_NAMES_MAX, TABLE_MAX};
use crate::time::Instant;
use crate::types::NodeId;

#[derive(Clone, Debug)]
pub struct Hellos {
    pub trickle: Trickle,
    pub beat: Beat,
    number: u8,
    /// Where in the table the names of the next hello begin, when not all fit.
    first_name: u8,
    /// In ring mode hellos leave room for routes and name fewer neighbours.
    is_on_ring: bool,
}

impl Hellos {
    pub fn new(config: &Config) -> Self {
        let shortest = config.timings.hello_min();
        Self {
            trickle: Trickle::new(shortest, config.timings.hello_doublings),
            beat: Beat::new(shortest),
            number: 0,
            first_name: 0,
            is_on_ring: config.ring.is_some() && config.algorithm.needs_ring(),
        }
    }

    pub fn is_on_ring(&self) -> bool {
        self.is_on_ring
    }

    /// The most links that may be up: those that a hello can name.
    pub fn links_max(&self) -> usize {
        if self.is_on_ring { RING_NAMES_MAX } else { NEIGHBOURS_MAX }
    }

    /// Writes the next hello. It names linked neighbours first; the others take turns where not all fit.
    pub fn compose(&mut self, now: Instant, table: &Table, patience: Patience, leader: NodeId) -> Hello {
        self.first_name = self.first_name.wrapping_add(1);
        let mut names = Vec::<Name, HELLO_NAMES_MAX, u8>::new();
        let links = table.links();
        // Where links alone fill the hello, one of them makes way for a newcomer that must be let in: a linked neighbour may
        // be left out once, but a newcomer that is never named never gets a link.
        let names_max = if self.is_on_ring { RING_NAMES_MAX } else { HELLO_NAMES_MAX };
        let links_max = self.links_max();
        let is_crowded = links >= names_max;
        // A node with enough links names only those others that it must let in or has news of: hellos are most of what is on
        // the air, and everybody in reach opens each of them.
        let is_content = links >= LINKS_ENOUGH;
        let unlinked = table.iter().filter(|(_, neighbour)| !neighbour.session.is_up());
        let others: Vec<(Slot, &Neighbour), TABLE_MAX, u8> = unlinked
            .filter(|&(slot, neighbour)| {
                let is_news = neighbour.is_lost(now) || neighbour.has_twin(now) || neighbour.dissents();
                let is_news = is_news && !is_crowded;
                !is_content || is_news || table.is_wanted(now, slot, links_max)
            })
            .collect();
        let count = others.len();
        let left_out = (is_crowded && count > 0).then(|| usize::from(self.first_name) % links);
        let mut chosen: Vec<(Slot, &Neighbour), TABLE_MAX, u8> =
            table.linked().enumerate().filter(|&(at, _)| Some(at) != left_out).map(|(_, named)| named).collect();
        if self.beat.leads() {
            sort_by_key(&mut chosen, |(slot, neighbour)| neighbour.succession(*slot));
        }
        let turn = usize::from(self.first_name) % count.max(1);
        // Those that stand beside this node on the ring do not wait for their turn.
        for (is_beside, turn) in [(true, 0), (false, turn)] {
            let in_turn = (0..count).filter_map(|at| others.get((at + turn) % count));
            let wanted = in_turn.filter(|(_, other)| table.is_preferred(other.id) == is_beside);
            // There is room for the whole table.
            wanted.for_each(|&other| _ = chosen.push(other));
        }
        for (slot, neighbour) in chosen {
            let name = self.name(now, table, patience, slot, neighbour);
            if names.len() == names_max || names.push(name).is_err() {
                break;
            }
        }
        let is_full = links + count > names_max || is_content;
        Hello { is_full, names, ..self.nameless(table, leader) }
    }

    /// Writes a brief hello, which names at most the leader, and that only if this node asks for it. `None` if it would
    /// leave nobody out.
    pub fn compose_brief(&mut self, now: Instant, table: &Table, patience: Patience, leader: NodeId) -> Option<Hello> {
        let (sought, links) = (patience.watch.of, table.links());
        let asked = table.iter().find(|(_, other)| {
            other.id == sought && (other.is_in_doubt(patience) || !other.session.is_up() && other.is_lost(now))
        });
        let names: Vec<Name, HELLO_NAMES_MAX, u8> =
            asked.map(|(slot, other)| self.name(now, table, patience, slot, other)).into_iter().collect();
        (names.len() < links).then(|| Hello { names, ..self.nameless(table, leader) })
    }

    /// The last hello was never sent, so the next one has its number: neighbours would otherwise count it as lost.
    pub fn take_back(&mut self) {
        self.number = self.number.wrapping_sub(1);
    }

    fn nameless(&mut self, table: &Table, leader: NodeId) -> Hello {
        self.number = self.number.wrapping_add(1);
        let next = self.trickle.next_interval_log2();
        let interval_log2 = if self.beat.leads() { next.min(self.beat.log2()) } else { next };
        let links = u8::try_from(table.links()).unwrap_or(u8::MAX);
        Hello { number: self.number, interval_log2, leader, links, age: AGE_MAX, ..Hello::default() }
    }

    /// What a hello says of a neighbour.
    fn name(&self, now: Instant, table: &Table, patience: Patience, slot: Slot, neighbour: &Neighbour) -> Name {
        let is_twin = neighbour.has_twin(now);
        Name {
            id: neighbour.id,
            token: if is_twin { 0 } else { neighbour.session.mine().token },
            willing: table.is_wanted(now, slot, self.links_max()),
            heard: if neighbour.is_in_doubt(patience) { 0 } else { neighbour.quality.eighths() },
            echo: if is_twin { 0 } else { neighbour.session.echo() },
        }
    }
}

/// Sorts a short list by insertion. The standard library's sort is made for long ones, and takes 2 KB of flash.
fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..list.len() {
        for at in (1..=end).rev() {
            let Some([before, this]) = list.get_mut(at - 1..=at) else { break };
            if key(before) <= key(this) {
                break;
            }
            core::mem::swap(before, this);
        }
    }
}
