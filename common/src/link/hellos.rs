//! This node's own hellos: when they are due and whom they name.

use heapless::Vec;

use super::body::{Hello, Name};
use super::life::AGE_MAX;
use super::table::Table;
use super::trickle::Trickle;
use crate::config::Config;
use crate::limits::{HELLO_NAMES_MAX, LINKS_ENOUGH, NEIGHBOURS_MAX, RING_NAMES_MAX};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

#[derive(Clone, Debug)]
pub struct Hellos {
    pub trickle: Trickle,
    number: u8,
    /// Where in the table the names of the next hello begin, when not all fit.
    first_name: u8,
    /// In ring mode hellos leave room for routes and name fewer neighbours.
    is_on_ring: bool,
}

impl Hellos {
    pub fn new(config: &Config) -> Self {
        let shortest = Duration::from_millis(u64::from(config.timings.hello_min_ms));
        Self {
            trickle: Trickle::new(shortest, config.timings.hello_doublings),
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
    pub fn compose(&mut self, now: Instant, table: &Table, leader: NodeId) -> Hello {
        self.number = self.number.wrapping_add(1);
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
        let others = || {
            let unlinked = table.iter().filter(|(_, neighbour)| !neighbour.session.is_up());
            unlinked.filter(|&(slot, neighbour)| {
                let is_news = neighbour.is_lost(now) || neighbour.has_twin(now) || neighbour.dissents();
                let is_news = is_news && !is_crowded;
                !is_content || is_news || table.is_wanted(now, slot, links_max)
            })
        };
        let count = others().count();
        let left_out = (is_crowded && count > 0).then(|| usize::from(self.first_name) % links);
        let linked = table.linked().enumerate().filter(|&(at, _)| Some(at) != left_out).map(|(_, named)| named);
        let turn = usize::from(self.first_name) % count.max(1);
        // Those that stand beside this node on the ring do not wait for their turn.
        let beside = others().filter(|(_, other)| table.is_preferred(other.id));
        let in_turn = others().skip(turn).chain(others().take(turn)).filter(|(_, other)| !table.is_preferred(other.id));
        for (slot, neighbour) in linked.chain(beside).chain(in_turn) {
            let is_twin = neighbour.has_twin(now);
            let name = Name {
                id: neighbour.id,
                token: if is_twin { 0 } else { neighbour.session.mine().token },
                willing: table.is_wanted(now, slot, links_max),
                heard: neighbour.quality.eighths(),
                echo: if is_twin { 0 } else { neighbour.session.echo() },
            };
            if names.len() == names_max || names.push(name).is_err() {
                break;
            }
        }
        Hello {
            number: self.number,
            interval_log2: self.trickle.next_interval_log2(),
            is_full: links + count > names_max || is_content,
            leader,
            links: u8::try_from(links).unwrap_or(u8::MAX),
            digest: 0,
            age: AGE_MAX,
            names,
        }
    }
}
