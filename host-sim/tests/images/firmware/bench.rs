//! Boards on a bench: the image, a recording of the air, and the messages to a host.

use std::sync::LazyLock;

use common::board::flash_map::NRF52840_CONFIG_PAGE;
use common::config::page::{self, PAGE_MAX};
use common::config::{Config, NetworkKey, Protection};
use common::host_link::{Decoder, FRAME_BYTES_MAX, Hello, ToBoard, ToHost, encode};
use common::node::snapshot::Snapshot;
use common::types::NodeId;
use emulator::board::{Board, Program};
use emulator::ideal::IdealAir;
use emulator::images;
use emulator::network::{BoardIndex, Ether, Network};
use emulator::phy::{Frame, Input, Output, Stamped, Tuning};
use emulator::soc::{Chip, Surroundings};

use crate::ahead;

/// In cycles.
pub const MS: u64 = 64_000;

/// The serial port of the host link.
pub const SERIAL: usize = 0;

/// How often a wait polls.
const POLL_MS: u64 = 20;

/// Within this time a board has answered.
const ANSWER_MS: u64 = 200;
const ASKS: u32 = 100;

/// A radio that belongs to no board.
const OUTSIDER: BoardIndex = BoardIndex(1_000);

/// The network of provisioned boards.
pub const PAN: u16 = 0x5EED;

/// The image, read once for all tests.
pub fn program() -> &'static Program {
    static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
        ahead::begin();
        Program::parse(&images::elf("firmware").expect("the image builds")).expect("an image with a log")
    });
    &PROGRAM
}

/// What is around the boards of most tests. Their slow crystal starts quickly, so that no test wastes time waiting for it.
pub fn surroundings() -> Surroundings {
    Surroundings { lfxo_start_us: 1_000, ..Surroundings::default() }
}

/// A fresh board.
pub fn board(device_id: u64) -> Board {
    board_in(surroundings(), device_id)
}

/// A fresh board in certain surroundings.
pub fn board_in(surroundings: Surroundings, device_id: u64) -> Board {
    Board::with_surroundings(Chip::Nrf52840, program(), device_id, device_id, surroundings).expect("the image fits")
}

pub fn provisioned(device_id: u64, config: &Config) -> Board {
    provisioned_in(surroundings(), device_id, config)
}

pub fn provisioned_in(surroundings: Surroundings, device_id: u64, config: &Config) -> Board {
    let mut board = board_in(surroundings, device_id);
    assert!(board.load_flash(NRF52840_CONFIG_PAGE, &page_of(config)));
    board
}

pub fn page_of(config: &Config) -> Vec<u8> {
    let mut bytes = [0xFF; PAGE_MAX];
    page::encode(config, &mut bytes).expect("it fits").to_vec()
}

pub fn config(id: u16) -> Config {
    Config::ad_hoc(NodeId(id), PAN, Protection::Ascon(NetworkKey::new(*b"a test's own key")))
}

/// An ideal air that records what is sent, and lets a test send.
#[derive(Clone, Default)]
pub struct Tape {
    air: IdealAir,
    /// Frames that boards sent, with the number of the board.
    pub sent: Vec<(usize, Frame, Tuning)>,
    /// The first and last cycle of each frame in `sent`.
    pub times: Vec<(u64, u64)>,
    switched: Vec<Switched>,
}

/// A receiver was switched on or off.
#[derive(Clone)]
struct Switched {
    at: u64,
    radio: usize,
    is_on: bool,
}

impl Tape {
    /// Whether a receiver was on all the time from one cycle to another.
    pub fn has_listened(&self, radio: usize, from: u64, until: u64) -> bool {
        let mut own = self.switched.iter().filter(|switched| switched.radio == radio);
        let before = own.clone().take_while(|switched| switched.at <= from).last();
        before.is_some_and(|switched| switched.is_on)
            && !own.any(|switched| !switched.is_on && switched.at > from && switched.at <= until)
    }

    /// Sends a frame from a radio that belongs to no board.
    pub fn inject(&mut self, at: u64, frame: Frame, channel: u8) {
        let tuning = Tuning { mhz: 2405 + 5 * u16::from(channel - 11), delimiter: 0xA7 };
        let ends = at + frame.airtime();
        self.air.tell(OUTSIDER, Stamped { at, output: Output::TransmitBegins { frame, dbm: 0, tuning, ends } });
    }
}

impl Ether for Tape {
    fn tell(&mut self, radio: BoardIndex, said: Stamped) {
        match &said.output {
            Output::TransmitBegins { frame, tuning, ends, .. } => {
                self.sent.push((radio.0, frame.clone(), *tuning));
                self.times.push((said.at, *ends));
            }
            Output::Listening { .. } => self.switched.push(Switched { at: said.at, radio: radio.0, is_on: true }),
            Output::Deaf => self.switched.push(Switched { at: said.at, radio: radio.0, is_on: false }),
            _ => {}
        }
        self.air.tell(radio, said);
    }

    fn next_event(&self) -> u64 {
        self.air.next_event()
    }

    fn advance(&mut self, now: u64, deliver: &mut Vec<(BoardIndex, Input)>) {
        self.air.advance(now, deliver);
    }
}

/// Takes bytes of one board. A decoder cannot be copied, but one that hears the unfinished frame again is in the same state.
#[derive(Default)]
struct Ear {
    decoder: Decoder<ToHost>,
    unfinished: Vec<u8>,
}

impl Ear {
    fn push(&mut self, byte: u8) -> Option<ToHost> {
        self.unfinished.push(byte);
        if byte == 0 {
            self.unfinished.clear();
        }
        self.decoder.push(byte)
    }
}

impl Clone for Ear {
    fn clone(&self) -> Self {
        let mut ear = Self::default();
        for &byte in &self.unfinished {
            ear.push(byte);
        }
        ear
    }
}

/// Powered boards, and a host at the serial line of each. A copy goes on by itself: what several tries have in common is done once.
#[derive(Clone)]
pub struct Bench {
    pub network: Network<Tape>,
    ears: Vec<Ear>,
    /// What arrived after the message that a test waited for.
    unread: Vec<Vec<ToHost>>,
}

impl Bench {
    pub fn new(boards: Vec<Board>) -> Self {
        let mut network = Network::new(Tape::default());
        let (ears, unread) = boards.iter().map(|_| (Ear::default(), Vec::new())).unzip();
        for board in boards {
            let number = network.add(board);
            network.power_on(number);
        }
        Self { network, ears, unread }
    }

    /// Lets time pass, and asserts that no board gets stuck.
    pub fn run_ms(&mut self, millis: u64) {
        self.network.run_until(self.network.now() + millis * MS);
        for board in self.network.boards() {
            assert!(board.trouble().is_none(), "{:?}", board.trouble());
        }
    }

    /// What a board has logged since the last call.
    pub fn log(&mut self, number: usize) -> Vec<String> {
        self.network.board(number).take_log().into_iter().map(|line| line.text).collect()
    }

    /// What a board has said since the last call.
    pub fn said(&mut self, number: usize) -> Vec<ToHost> {
        let bytes = self.network.board(number).take_serial(SERIAL);
        let ear = &mut self.ears[number];
        let mut said = std::mem::take(&mut self.unread[number]);
        said.extend(bytes.into_iter().filter_map(|byte| ear.push(byte)));
        said
    }

    /// Tells a board something.
    pub fn tell(&mut self, number: usize, message: &ToBoard) {
        self.network.board(number).put_serial(SERIAL, &frame_of(message));
    }

    /// Waits until a board sends a certain message.
    pub fn wait_for<T>(&mut self, number: usize, limit_ms: u64, mut pick: impl FnMut(&ToHost) -> Option<T>) -> T {
        let mut said = Vec::new();
        for _ in 0..limit_ms / POLL_MS {
            self.run_ms(POLL_MS);
            let mut fresh = self.said(number).into_iter();
            while let Some(message) = fresh.next() {
                if let Some(found) = pick(&message) {
                    self.unread[number] = fresh.collect();
                    return found;
                }
                said.push(message);
            }
        }
        panic!("not said within {limit_ms} ms; said: {said:?}; logged: {:?}", self.log(number));
    }

    /// Waits until a board says who it is.
    pub fn hello(&mut self, number: usize) -> Hello {
        self.wait_for(
            number,
            2_000,
            |message| if let ToHost::Hello(hello) = message { Some(hello.clone()) } else { None },
        )
    }

    /// Asks a board for a snapshot until it answers. A board that waits after crashes does not answer yet.
    pub fn snapshot(&mut self, number: usize) -> Snapshot {
        self.said(number);
        for _ in 0..ASKS {
            self.tell(number, &ToBoard::GetSnapshot);
            self.run_ms(ANSWER_MS);
            let said = self.said(number);
            let answer = said.iter().find_map(|message| {
                if let ToHost::Snapshot { snapshot, .. } = message { Some(*snapshot) } else { None }
            });
            if let Some(snapshot) = answer {
                return snapshot;
            }
        }
        panic!("no answer; logged: {:?}", self.log(number));
    }

    /// Waits until all boards follow one leader, and returns it.
    pub fn elect(&mut self, limit_s: u64) -> NodeId {
        for _ in 0..limit_s {
            self.run_ms(1_000);
            let stands: Vec<Snapshot> = (0..self.ears.len()).map(|number| self.snapshot(number)).collect();
            let leader = stands[0].leader;
            if let Some(leader) = leader
                && stands.iter().all(|stand| stand.leader == Some(leader) && stand.links_up > 0)
            {
                return leader;
            }
        }
        panic!("no leader within {limit_s} s");
    }
}

/// A message as it goes over a line.
pub fn frame_of(message: &ToBoard) -> Vec<u8> {
    let mut bytes = [0; FRAME_BYTES_MAX];
    encode(message, &mut bytes).expect("it fits").to_vec()
}

/// Whether any line contains this.
pub fn any(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}
