//! The emulated boards of a scenario, on the simulated air.

use std::collections::{BTreeMap, BTreeSet};

use common::board::flash_map::FlashMap;
use common::config::Config;
use common::host_link::{Call, Decoder, FRAME_BYTES_MAX, RTT_CHANNEL, ToBoard, ToHost, encode};
use common::rng::Rng;
use common::types::NodeId;
use emulator::board::{Board, Program};
use emulator::io::CYCLES_PER_US;
use emulator::log::Line;
use emulator::network::Boards;
use emulator::soc::{Chip, PowerCut};
use sim::air::index::NodeIndex;
use sim::air::station::{Station, Watcher};
use sim::air::world::World;
use sim::scenario::input::plan::Flash;

use super::ether::WorldEther;
use super::report::BoardReport;
use crate::field::provision::page_file::page_bytes;

/// Calls kept of a board that is recorded; more are dropped, and the record says so by its length.
const CALLS_MAX: usize = 1_000_000;

/// What boards are made of.
#[derive(Clone)]
pub struct Image {
    /// What is flashed.
    pub program: Program,
    /// The chip it is for.
    pub chip: Chip,
    /// Whether every node is a board, and not only those that the scenario says are.
    pub all: bool,
    /// The nodes, by id, whose every call is recorded, from a start of their own shortly after the first.
    pub record: BTreeSet<u16>,
}

/// What came from a board: decoded messages and lines of its log.
#[derive(Debug, Default)]
pub struct News {
    /// What it said.
    pub said: Vec<ToHost>,
    /// What it logged.
    pub lines: Vec<Line>,
}

/// One board of the scenario.
struct Member {
    config: Config,
    ear: Decoder<ToHost>,
    /// Whether it still has to be told to start anew and record.
    to_record: bool,
    calls: Vec<(u64, Call)>,
    /// Messages of the board that never came.
    lost: u64,
}

/// All boards. There may be none.
#[derive(Default)]
pub struct Fleet {
    boards: Boards,
    /// Which node each board is, in ascending order.
    nodes: Vec<NodeIndex>,
    members: Vec<Member>,
    storage: Option<(u32, usize)>,
}

impl Fleet {
    /// Boards for these nodes with their configurations, without power.
    pub fn new(image: &Image, configs: &BTreeMap<NodeIndex, Config>, seed: u64) -> anyhow::Result<Self> {
        let map = match image.chip {
            Chip::Nrf52840 => FlashMap::NRF52840,
            Chip::Nrf52833 => FlashMap::NRF52833,
        };
        let storage = map.storage();
        let mut fleet = Self { storage: Some((storage.start, storage.len())), ..Self::default() };
        for (&node, config) in configs {
            let mut chance = Rng::stream(seed ^ 0xB0A2_D5ED, node.0 as u64);
            let mut board = Board::new(image.chip, &image.program, chance.next_u64(), chance.next_u64())?;
            let page = page_bytes(config)?;
            anyhow::ensure!(board.load_flash(map.config_page(), &page), "the chip has no configuration page");
            fleet.boards.add(board);
            fleet.nodes.push(node);
            fleet.members.push(Member {
                config: config.clone(),
                ear: Decoder::new(),
                to_record: image.record.contains(&config.id.0),
                calls: Vec::new(),
                lost: 0,
            });
        }
        Ok(fleet)
    }

    /// Which nodes are boards, in ascending order.
    pub fn nodes(&self) -> &[NodeIndex] {
        &self.nodes
    }

    /// The board of a node.
    fn number(&self, node: NodeIndex) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// Whose board a node is.
    pub fn id(&self, node: NodeIndex) -> Option<NodeId> {
        Some(self.members[self.number(node)?].config.id)
    }

    /// Runs boards and world until this time of the world.
    pub fn run_until<S: Station>(&mut self, until_us: u64, world: &mut World<S>, watcher: &mut impl Watcher<S>) {
        if !self.nodes.is_empty() {
            let ether = &mut WorldEther { world: &mut *world, watcher: &mut *watcher, nodes: &self.nodes };
            self.boards.run_until(until_us * CYCLES_PER_US, ether);
        }
        world.run_until(until_us, watcher);
    }

    /// Power for a node that is a board, with what it then finds in its flash.
    pub fn power_on(&mut self, node: NodeIndex, flash: Flash) {
        let Some(number) = self.number(node) else { return };
        let board = self.boards.board(number);
        board.soc_mut().set_flash_worn(flash == Flash::Failing);
        if let (Flash::Erased, Some((start, length))) = (flash, self.storage) {
            let _it_fits = board.load_flash(start, &vec![0xFF; length]);
        }
        if flash == Flash::Torn {
            board.plan_power_cut(Some(PowerCut { operation: 1, percent: 50 }));
        }
        self.boards.power_on(number);
    }

    /// Takes a board's power away, wherever it is.
    pub fn power_off(&mut self, node: NodeIndex) {
        if let Some(number) = self.number(node) {
            self.boards.power_off(number);
        }
    }

    /// From now on a board's slow clock runs fast by this many millionths, or slow.
    pub fn set_drift(&mut self, node: NodeIndex, ppm: i32) {
        if let Some(number) = self.number(node) {
            self.boards.board(number).set_drift(ppm);
        }
    }

    /// Says something to a board through its probe.
    pub fn tell(&mut self, node: NodeIndex, message: &ToBoard) {
        let mut bytes = [0; FRAME_BYTES_MAX];
        if let (Some(number), Ok(frame)) = (self.number(node), encode(message, &mut bytes)) {
            self.boards.board(number).send_probe(RTT_CHANNEL, frame);
        }
    }

    /// Whether a board has power: it may have lost it in the middle of a write.
    pub fn is_on(&self, node: NodeIndex) -> bool {
        self.number(node).is_some_and(|number| self.boards.all()[number].is_on())
    }

    /// What stopped a board for good, if anything did.
    pub fn trouble(&self, node: NodeIndex) -> Option<String> {
        let board = &self.boards.all()[self.number(node)?];
        board.trouble().map(str::to_owned)
    }

    /// What a board has said since the last time.
    pub fn news(&mut self, node: NodeIndex) -> News {
        let Some(number) = self.number(node) else { return News::default() };
        let (board, member) = (self.boards.board(number), &mut self.members[number]);
        let mut news = News { said: Vec::new(), lines: board.take_log() };
        for byte in board.take_probe(RTT_CHANNEL) {
            let Some(message) = member.ear.push(byte) else { continue };
            match message {
                ToHost::Call { at_us, call } => {
                    if member.calls.len() < CALLS_MAX {
                        member.calls.push((at_us, call));
                    }
                }
                other => {
                    if let ToHost::Lost(lost) = other {
                        member.lost += u64::from(lost);
                    }
                    news.said.push(other);
                }
            }
        }
        let has_started = news.said.iter().any(|said| matches!(said, ToHost::Hello(_)));
        if has_started && std::mem::take(&mut self.members[number].to_record) {
            self.tell(node, &ToBoard::Reset { record: true });
        }
        news
    }

    /// Instructions that all boards together have executed.
    pub fn instructions(&self) -> u64 {
        self.boards.all().iter().map(|board| board.counts().instructions).sum()
    }

    /// What became of the boards.
    pub fn reports(&mut self) -> Vec<BoardReport> {
        let now = self.boards.now();
        let members = self.members.iter_mut();
        let of = |(board, member): (&Board, &mut Member)| {
            let calls = std::mem::take(&mut member.calls);
            BoardReport { calls, lost_messages: member.lost, ..BoardReport::new(board, member.config.clone(), now) }
        };
        self.boards.all().iter().zip(members).map(of).collect()
    }
}

/// How lines of boards' logs are shown: when by the world's clock, which board, when by its own, and what it says.
pub fn log_line(world_us: u64, id: NodeId, line: &Line) -> String {
    let Line { time, level, text, .. } = line;
    format!("{:>9.2} s  node {:<3} {time:>11} {level:<5} {text}", sim::scenario::input::units::seconds(world_us), id.0)
}
