//! Nodes of a scenario that run somewhere else: boards, with a radio of their own on the same air.
//!
//! A run knows them only through the trait [`Boards`], which the provider of boards implements.

use std::collections::BTreeMap;
use std::io;

use common::config::Config;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::Key;
use common::host_link::ToHost;

use super::drive::{Run, id_of};
use super::faults::names;
use super::mirror::Mirror;
use super::program::{Program, Programs};
use crate::air::flash::FlashEvent;
use crate::air::index::NodeIndex;
use crate::air::world::World;
use crate::scenario::input::plan::{Flash, NodePlan, Scenario, board_power};
use crate::scenario::judge::observer::{Observer, Recorders};
use crate::scenario::report::outcome::Outcome;

/// Power comes back this long after a board lost it in the middle of a write.
const POWER_AGAIN_US: u64 = 1_000_000;

pub trait Boards {
    /// Which nodes are boards, in ascending order. It stays the same throughout a run.
    fn nodes(&self) -> &[NodeIndex];

    /// Runs boards and world until this time of the world.
    fn run_until(&mut self, until_us: u64, world: &mut World<Program>, observer: &mut Observer);

    /// Power for a node that may be a board, with what it then finds in its flash.
    fn power_on(&mut self, node: NodeIndex, flash: Flash);

    /// Cuts a board's power, whatever it is doing.
    fn power_off(&mut self, node: NodeIndex);

    /// Makes a board's slow clock run fast by this many millionths, or slow where negative.
    fn set_drift(&mut self, node: NodeIndex, ppm: i32);

    /// Whether a board has power: it may have lost it in the middle of a write.
    fn is_on(&self, node: NodeIndex) -> bool;

    /// What stopped a board for good, if anything did.
    fn trouble(&self, node: NodeIndex) -> Option<String>;

    /// What a board has said since the last time.
    fn take_said(&mut self, now_us: u64, node: NodeIndex) -> Vec<ToHost>;

    /// Called after all boards have been heard, a hundred times in every second of the world.
    fn handle_slice(&mut self, _now_us: u64) {}

    /// Whether the provider of the boards wants the run to end here.
    fn is_stopped(&self) -> bool {
        false
    }

    fn has(&self, node: NodeIndex) -> bool {
        self.nodes().binary_search(&node).is_ok()
    }
}

/// For runs in which every node is simulated.
pub struct NoBoards;

impl Boards for NoBoards {
    fn nodes(&self) -> &[NodeIndex] {
        &[]
    }

    fn run_until(&mut self, until_us: u64, world: &mut World<Program>, observer: &mut Observer) {
        world.run_until(until_us, observer);
    }

    fn power_on(&mut self, _node: NodeIndex, _flash: Flash) {}
    fn power_off(&mut self, _node: NodeIndex) {}
    fn set_drift(&mut self, _node: NodeIndex, _ppm: i32) {}

    fn is_on(&self, _node: NodeIndex) -> bool {
        false
    }

    fn trouble(&self, _node: NodeIndex) -> Option<String> {
        None
    }

    fn take_said(&mut self, _now_us: u64, _node: NodeIndex) -> Vec<ToHost> {
        Vec::new()
    }
}

/// A node that is to be a board cannot be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotABoard(String);

impl std::fmt::Display for NotABoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotABoard {}

/// What each board of a scenario is told: of those nodes that the scenario says are boards, or of all.
pub fn board_configs(scenario: &Scenario, all: bool) -> Result<BTreeMap<NodeIndex, Config>, NotABoard> {
    let (programs, nodes) = (Programs::of(scenario), scenario.topology.nodes());
    let mut configs = BTreeMap::new();
    for node in NodeIndex::first(nodes) {
        let NodePlan { is_board, channel, tx_dbm, .. } = scenario.nodes.get(&node).copied().unwrap_or_default();
        if !all && !is_board {
            continue;
        }
        if let Some(why) = scenario.not_a_board(node) {
            return Err(NotABoard(format!("node {} cannot be a board: {why}", id_of(node))));
        }
        let power = board_power(tx_dbm.unwrap_or(scenario.radio.tx_dbm)).unwrap_or(0);
        let channel = channel.unwrap_or(scenario.radio.channel);
        configs.extend(programs.board_config(id_of(node), channel, power).map(|config| (node, config)));
    }
    Ok(configs)
}

/// Runs a scenario with these boards and records it; only recording can fail. The boards must be without power and configured
/// as [`board_configs`] says.
pub fn run_boards(
    scenario: &Scenario,
    seed: u64,
    recorders: Recorders,
    boards: &mut dyn Boards,
) -> io::Result<Outcome> {
    let mut run = Run::new(scenario, seed, recorders, boards);
    run.join_boards();
    run.play();
    run.observer.finish()?;
    Ok(run.finish())
}

/// What a board says about readings in its flash.
fn flash_event(said: &ToHost) -> Option<FlashEvent> {
    match said {
        ToHost::Stored { store, number, block } => {
            Some(FlashEvent::Stored { store: *store, number: *number, block: block.as_slice().to_vec() })
        }
        ToHost::Logged { entry, .. } => {
            let LogEntry { key, contents, .. } = LogEntry::read(entry.as_slice())?;
            Some(match contents {
                Contents::Block(block) => FlashEvent::Logged { key, block: block.to_vec() },
                Contents::Gap { end } => FlashEvent::GapLogged { key, end },
            })
        }
        _ => None,
    }
}

impl Run<'_> {
    /// Replaces the nodes that are boards by them. To be called before anything is switched on.
    pub(super) fn join_boards(&mut self) {
        for number in 0..self.boards.nodes().len() {
            let node = self.boards.nodes()[number];
            self.world.open_port(node);
            self.world.replace(node, Program::Board(Box::new(Mirror::new(id_of(node)))));
            self.boards.set_drift(node, self.world.drift_ppm(node));
            self.observer.set_opaque(id_of(node));
        }
    }

    /// Notes what the boards have said and what became of them.
    pub(super) fn listen_to_boards(&mut self, now: u64) {
        for number in 0..self.boards.nodes().len() {
            let node = self.boards.nodes()[number];
            self.hear_board(now, node);
            if let Some(what) = self.boards.trouble(node) {
                self.observer.object(now, node, format!("the board of node {} is stuck: {what}", id_of(node)));
            }
            if self.world.is_on(node) && !self.boards.is_on(node) {
                self.switch_off(now, node);
                self.change(now, format!("{} lost power in the middle of a write", names(&[node])));
                self.keep_off(now, vec![node], Some(POWER_AGAIN_US), Flash::Kept);
            }
        }
        self.boards.handle_slice(now);
    }

    /// A leader's word of a block may be heard before that of the board that stored it.
    fn is_news(&self, node: NodeIndex, event: &FlashEvent) -> bool {
        let FlashEvent::Stored { store, number, .. } = *event else { return true };
        let key = Key { origin: id_of(node), store, number };
        self.observer.collection.as_ref().is_none_or(|check| !check.knows(key))
    }

    /// A board that lost its power just after it had stored a block could not say so. It has stored it all the same.
    fn note_untold(&mut self, now: u64, event: &FlashEvent) {
        let FlashEvent::Logged { key, block } = event else { return };
        let origin = NodeIndex(usize::from(key.origin.0).saturating_sub(1));
        let is_told = self.observer.collection.as_ref().is_none_or(|check| check.knows(*key));
        if !is_told && self.boards.has(origin) {
            let stored = FlashEvent::Stored { store: key.store, number: key.number, block: block.clone() };
            self.observer.note_flash_event(now, origin, stored);
        }
    }

    fn hear_board(&mut self, now: u64, node: NodeIndex) {
        for said in &self.boards.take_said(now, node) {
            if let Some(event) = flash_event(said).filter(|event| self.is_news(node, event)) {
                self.note_untold(now, &event);
                self.observer.note_flash_event(now, node, event);
            }
            let was_mute = self.world.station(node).is_mute();
            self.world.tell(node, &mut self.observer, |program, _| {
                program.hear(said);
            });
            // A board that only listens is no part of any component.
            if self.world.station(node).is_mute() != was_mute {
                self.judge.mark_stale();
            }
            if let Program::Board(board) = self.world.station(node)
                && let Some(what) = board.defect()
            {
                let what = format!("the image of node {} crashed: {what}", id_of(node));
                self.observer.object(now, node, what);
            }
        }
    }
}
