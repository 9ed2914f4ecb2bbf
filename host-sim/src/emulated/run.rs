//! Runs a scenario with emulated boards.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use common::host_link::ToHost;
use common::types::NodeId;
use emulator::board::Program;
use emulator::cpu::Cycles;
use emulator::log::Line;
use emulator::soc::Chip;
use sim::air::index::NodeIndex;
use sim::air::world::World;
use sim::scenario::input::plan::{Flash, Scenario};
use sim::scenario::judge::observer::{Observer, Recorders};
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::boards::{self, Boards, board_configs};
use sim::scenario::run::program::Program as NodeProgram;

use super::fleet::{Fleet, Image};
use super::report::BoardReport;

/// Called with every line of a board's log: simulated time in microseconds, the node and the line.
pub type LogHook<'h> = &'h mut dyn FnMut(u64, NodeId, &Line);

/// Called a hundred times per simulated second, with the time in microseconds and the boards.
pub type ProgressHook<'h> = &'h mut dyn FnMut(u64, &Fleet);

/// Called for each board a hundred times per simulated second: whether it has power, and what it has sent over its serial
/// line. Returns what is sent to it.
pub type LineHook<'h> = &'h mut dyn FnMut(NodeId, bool, &[u8]) -> Vec<u8>;

/// Callbacks to observe a run on boards.
#[derive(Default)]
pub struct Hooks<'h> {
    pub log: Option<LogHook<'h>>,
    pub progress: Option<ProgressHook<'h>>,
    pub line: Option<LineHook<'h>>,
    /// Set from outside to end the run early.
    pub stop: Option<&'h AtomicBool>,
}

/// Runs a scenario whose boards execute this image, and reports on each board.
pub fn run_boards(
    scenario: &Scenario,
    seed: u64,
    recorders: Recorders,
    image: &Image,
    hooks: Hooks<'_>,
) -> anyhow::Result<(Outcome, Vec<BoardReport>)> {
    let fleet = Fleet::new(image, &board_configs(scenario, image.all)?, seed)?;
    let mut watched = Watched { fleet, hooks };
    let outcome = boards::run_boards(scenario, seed, recorders, &mut watched)?;
    Ok((outcome, watched.fleet.reports()))
}

/// The boards of a scenario, still without power: nRF52840s that run this ELF file.
pub fn boards(scenario: &Scenario, seed: u64, elf: &[u8]) -> anyhow::Result<Box<dyn Boards>> {
    let program = Program::without_log(elf).context("not a firmware image")?;
    let (all, record) = (!scenario.has_boards(), BTreeSet::new());
    let image = Image { program, chip: Chip::Nrf52840, cycles: Cycles::Cached, all, record };
    let fleet = Fleet::new(&image, &board_configs(scenario, all)?, seed)?;
    Ok(Box::new(Watched { fleet, hooks: Hooks::default() }))
}

struct Watched<'h> {
    fleet: Fleet,
    hooks: Hooks<'h>,
}

impl Boards for Watched<'_> {
    fn nodes(&self) -> &[NodeIndex] {
        self.fleet.nodes()
    }

    fn run_until(&mut self, until_us: u64, world: &mut World<NodeProgram>, observer: &mut Observer) {
        self.fleet.run_until(until_us, world, observer);
    }

    fn power_on(&mut self, node: NodeIndex, flash: Flash) {
        self.fleet.power_on(node, flash);
    }

    fn power_off(&mut self, node: NodeIndex) {
        self.fleet.power_off(node);
    }

    fn set_drift(&mut self, node: NodeIndex, ppm: i32) {
        self.fleet.set_drift(node, ppm);
    }

    fn is_on(&self, node: NodeIndex) -> bool {
        self.fleet.is_on(node)
    }

    fn trouble(&self, node: NodeIndex) -> Option<String> {
        self.fleet.trouble(node)
    }

    fn take_said(&mut self, now_us: u64, node: NodeIndex) -> Vec<ToHost> {
        let news = self.fleet.news(node);
        if let (Some(log), Some(id)) = (&mut self.hooks.log, self.fleet.id(node)) {
            news.lines.iter().for_each(|line| log(now_us, id, line));
        }
        if let (Some(line), Some(id)) = (&mut self.hooks.line, self.fleet.id(node)) {
            let is_on = self.fleet.is_on(node);
            let answer = line(id, is_on, &news.bytes);
            if is_on && !answer.is_empty() {
                self.fleet.put(node, &answer);
            }
        }
        news.said
    }

    fn handle_slice(&mut self, now_us: u64) {
        if let Some(progress) = &mut self.hooks.progress {
            progress(now_us, &self.fleet);
        }
    }

    fn is_stopped(&self) -> bool {
        self.hooks.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
