//! The emulated boards of a scenario, on the simulated air.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use common::board::flash_map::FlashMap;
use common::config::Config;
use common::host_link::{Call, Decoder, FRAME_BYTES_MAX, ToBoard, ToHost, encode};
use common::rng::Rng;
use common::types::NodeId;
use emulator::board::{Board, Program};
use emulator::cpu::Cycles;
use emulator::io::CYCLES_PER_US;
use emulator::log::Line;
use emulator::network::{BoardIndex, Boards};
use emulator::soc::{Chip, PowerCut, Surroundings};
use sim::air::index::NodeIndex;
use sim::air::station::{Station, Watcher};
use sim::air::world::World;
use sim::scenario::input::plan::Flash;

use super::ether::WorldEther;
use super::report::BoardReport;
use crate::field::provision::page_file::page_bytes;

/// The serial port of the host link.
const SERIAL: usize = 0;

/// The most calls kept for a recorded board; further ones are dropped, which shows in the record's length.
const CALLS_MAX: usize = 1_000_000;

/// The firmware image that boards run, and which nodes are boards.
#[derive(Clone)]
pub struct Image {
    pub program: Program,
    pub chip: Chip,
    /// What an instruction costs.
    pub cycles: Cycles,
    /// Whether every node is a board, not only those that the scenario marks.
    pub all: bool,
    /// The ids of the nodes whose every call is recorded. They are reset shortly after their first start, so that the
    /// record begins with a start.
    pub record: BTreeSet<u16>,
}

/// What a board has sent since the last time it was asked.
#[derive(Debug, Default)]
pub struct News {
    pub said: Vec<ToHost>,
    /// The bytes that these and all calls came in.
    pub bytes: Vec<u8>,
    /// New lines of its log.
    pub lines: Vec<Line>,
}

struct Member {
    config: Config,
    decoder: Decoder<ToHost>,
    /// Whether it must still be told to restart and record.
    to_record: bool,
    calls: Vec<(u64, Call)>,
    /// Messages that the board could not deliver.
    lost: u64,
}

/// All boards of a scenario. There may be none.
#[derive(Default)]
pub struct Fleet {
    boards: Boards,
    /// The node of each board, in ascending order.
    nodes: Vec<NodeIndex>,
    members: Vec<Member>,
    /// What boards write themselves.
    written: Range<u32>,
}

impl Fleet {
    /// Creates boards for these nodes, provisioned but not powered.
    pub fn new(image: &Image, configs: &BTreeMap<NodeIndex, Config>, seed: u64) -> anyhow::Result<Self> {
        let map = match image.chip {
            Chip::Nrf52840 => FlashMap::NRF52840,
            Chip::Nrf52833 => FlashMap::NRF52833,
        };
        let mut fleet = Self { written: map.block_store().start..map.storage().end, ..Self::default() };
        for (&node, config) in configs {
            let mut chance = Rng::stream(seed ^ 0xB0A2_D5ED, node.0 as u64);
            let surroundings = Surroundings { cycles: image.cycles, ..Surroundings::default() };
            let (device_id, seed) = (chance.next_u64(), chance.next_u64());
            let mut board = Board::with_surroundings(image.chip, &image.program, device_id, seed, surroundings)?;
            let page = page_bytes(config)?;
            anyhow::ensure!(board.load_flash(map.config_page(), &page), "the chip has no configuration page");
            fleet.boards.add(board);
            fleet.nodes.push(node);
            fleet.members.push(Member {
                config: config.clone(),
                decoder: Decoder::new(),
                to_record: image.record.contains(&config.id.0),
                calls: Vec::new(),
                lost: 0,
            });
        }
        Ok(fleet)
    }

    /// The nodes that are boards, in ascending order.
    pub fn nodes(&self) -> &[NodeIndex] {
        &self.nodes
    }

    /// A node's board; none if the node is simulated.
    fn index(&self, node: NodeIndex) -> Option<BoardIndex> {
        self.nodes.binary_search(&node).ok().map(BoardIndex)
    }

    pub fn id(&self, node: NodeIndex) -> Option<NodeId> {
        Some(self.members[self.index(node)?.0].config.id)
    }

    /// Runs the boards and the world until this time.
    pub fn run_until<S: Station>(&mut self, until_us: u64, world: &mut World<S>, watcher: &mut impl Watcher<S>) {
        if !self.nodes.is_empty() {
            let ether = &mut WorldEther { world: &mut *world, watcher: &mut *watcher, nodes: &self.nodes };
            self.boards.run_until(until_us * CYCLES_PER_US, ether);
        }
        world.run_until(until_us, watcher);
    }

    /// Powers a board on, with its flash in this condition.
    pub fn power_on(&mut self, node: NodeIndex, flash: Flash) {
        let Some(index) = self.index(node) else { return };
        let board = self.boards.board(index);
        board.soc_mut().set_flash_worn(flash == Flash::Failing);
        if flash == Flash::Erased {
            let _it_fits = board.load_flash(self.written.start, &vec![0xFF; self.written.len()]);
        }
        if flash == Flash::Torn {
            board.plan_power_cut(Some(PowerCut { operation: 1, percent: 50 }));
        }
        self.boards.power_on(index);
    }

    /// Cuts a board's power, whatever it is doing.
    pub fn power_off(&mut self, node: NodeIndex) {
        if let Some(index) = self.index(node) {
            self.boards.power_off(index);
        }
    }

    /// Makes a board's low-frequency clock run fast (or slow, if negative) by this many millionths from now on.
    pub fn set_drift(&mut self, node: NodeIndex, ppm: i32) {
        if let Some(index) = self.index(node) {
            self.boards.board(index).set_drift(ppm);
        }
    }

    /// Sends a message to a board over its serial line.
    pub fn tell(&mut self, node: NodeIndex, message: &ToBoard) {
        if let Ok(frame) = encode(message, &mut [0; FRAME_BYTES_MAX]) {
            self.put(node, frame);
        }
    }

    /// Sends bytes to a board over its serial line.
    pub fn put(&mut self, node: NodeIndex, bytes: &[u8]) {
        if let Some(index) = self.index(node) {
            self.boards.board(index).put_serial(SERIAL, bytes);
        }
    }

    /// Whether a board has power. A planned power cut takes it away in the middle of a write.
    pub fn is_on(&self, node: NodeIndex) -> bool {
        self.index(node).is_some_and(|index| self.boards.all()[index.0].is_on())
    }

    /// Why a board stopped for good, if it did.
    pub fn trouble(&self, node: NodeIndex) -> Option<String> {
        let board = &self.boards.all()[self.index(node)?.0];
        board.trouble().map(str::to_owned)
    }

    /// Takes what a board has sent since the last call; calls for the record are kept aside.
    pub fn news(&mut self, node: NodeIndex) -> News {
        let Some(index) = self.index(node) else { return News::default() };
        let (board, member) = (self.boards.board(index), &mut self.members[index.0]);
        let mut news = News { said: Vec::new(), bytes: board.take_serial(SERIAL), lines: board.take_log() };
        for &byte in &news.bytes {
            let Some(message) = member.decoder.push(byte) else { continue };
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
        if has_started && std::mem::take(&mut self.members[index.0].to_record) {
            self.tell(node, &ToBoard::Reset { record: true });
        }
        news
    }

    /// The instructions that all boards together have executed.
    pub fn instructions(&self) -> u64 {
        self.boards.all().iter().map(|board| board.counts().instructions).sum()
    }

    /// The cycles in which all boards together were awake.
    pub fn awake(&self) -> u64 {
        self.boards.all().iter().map(|board| board.counts().awake).sum()
    }

    /// The reports of all boards, with their recorded calls, which are taken.
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

/// A line of a board's log for display: simulated time, board, the board's own time, level and text.
pub fn log_line(world_us: u64, id: NodeId, line: &Line) -> String {
    let Line { time, level, text, .. } = line;
    format!("{:>9.2} s  node {:<3} {time:>11} {level:<5} {text}", sim::scenario::input::units::seconds(world_us), id.0)
}
