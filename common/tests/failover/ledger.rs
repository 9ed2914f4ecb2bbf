//! Who was elected, and whom everybody follows: what must hold after every step.
//!
//! - *The order of pairs.* Within a life a node only ever goes over to a better pair of leader and time. (A node without links
//!   leads nobody, and gives its pair up for its first neighbour's.)
//! - *One leader for each pair.* Its leader has made it, once and in one life, and nobody follows a pair that nobody made.
//! - *Nobody is followed that never led.* This holds for heirs, too, whom a node goes by before its election knows of them.

use std::collections::BTreeSet;

use common::election::Election;
use common::election::height_tuple::LeaderPair;
use common::time::Instant;
use common::types::NodeId;

use crate::world::Board;

#[derive(Clone)]
pub struct Ledger {
    /// Of each board in its present life.
    pairs: Vec<Option<LeaderPair>>,
    made: BTreeSet<LeaderPair>,
    /// Since when all follow one leader that is there; none while they do not.
    pub agreed_since: Option<Instant>,
    /// Since when somebody follows nobody who leads; none while everybody does.
    pub unled_since: Option<Instant>,
    /// Whether anybody leads.
    pub has_leader: bool,
    /// The first promise that was broken.
    pub broken: Option<String>,
}

pub fn pair(board: &Board) -> LeaderPair {
    match board.node.election() {
        Election::Height(height) => height.height().leader,
        other => panic!("these are heights: {other:?}"),
    }
}

impl Ledger {
    pub fn of(boards: usize) -> Self {
        Self {
            pairs: vec![None; boards],
            made: BTreeSet::new(),
            agreed_since: None,
            unled_since: None,
            has_leader: false,
            broken: None,
        }
    }

    pub fn breach(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// How many pairs were ever made.
    pub fn made(&self) -> usize {
        self.made.len()
    }

    /// A board has lost its power.
    pub fn ends(&mut self, board: usize) {
        self.pairs[board] = None;
        self.agreed_since = None;
    }

    /// Enters what a board has done.
    pub fn enter(&mut self, now: Instant, boards: &[Board], at: usize, had_peers: bool) {
        let (pair, id, follows) = (pair(&boards[at]), boards[at].node.id(), boards[at].node.leader());
        let before = self.pairs[at].replace(pair);
        if had_peers && before.is_some_and(|before| pair > before) {
            self.breach(format!("board {at} went from {before:?} to the worse {pair:?}"));
        }
        if pair.lid == id {
            let is_new = self.made.insert(pair);
            if had_peers && before != Some(pair) && !is_new {
                self.breach(format!("{pair:?} was made twice"));
            }
        } else if !self.made.contains(&pair) {
            self.breach(format!("board {at} follows {pair:?}, which nobody made"));
        }
        match follows {
            Some(leader) if leader == id && pair.lid != id => {
                self.breach(format!("board {at} takes itself for the leader, and its election does not"));
            }
            Some(leader) if !self.made.iter().any(|made| made.lid == leader) => {
                self.breach(format!("board {at} follows {leader}, which never led"));
            }
            _ => {}
        }
        let alive = || boards.iter().filter(|board| board.is_on);
        let leads = |id: NodeId| alive().any(|board| board.node.id() == id && board.node.leader() == Some(id));
        self.has_leader = alive().any(|board| board.node.leader() == Some(board.node.id()));
        let is_led = alive().all(|board| board.node.leader().is_some_and(leads));
        self.unled_since = if is_led { None } else { self.unled_since.or(Some(now)) };
        let first = alive().next().and_then(|board| board.node.leader());
        let is_one = is_led && alive().all(|board| board.node.leader() == first);
        self.agreed_since = if is_one { self.agreed_since.or(Some(now)) } else { None };
    }
}
