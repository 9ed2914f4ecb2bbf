//! A desk with powered boards, the same or different ones, and a host at each.

use common::host_link::{Decoder, FRAME_BYTES_MAX, Hello, ToBoard, ToHost, encode};
use common::node::snapshot::Snapshot;
use common::types::NodeId;
use emulator::board::Board;
use emulator::ideal::IdealAir;
use emulator::network::Network;

use super::model::{Cable, Model};

/// In cycles.
const MS: u64 = 64_000;
const PORT: usize = 0;

/// Within this time a board has answered.
const ANSWER_MS: u64 = 200;
/// Within this time it has booted.
const BOOT_MS: u64 = 1_000;
/// In seconds.
const ELECTION_MAX: u32 = 10;

pub struct Desk {
    pub network: Network<IdealAir>,
    hosts: Vec<Host>,
}

struct Host {
    cable: Cable,
    decoder: Decoder<ToHost>,
}

impl Desk {
    pub fn new(models: &[Model]) -> Self {
        Self::of((1..).zip(models).map(|(device_id, model)| (*model, model.board(device_id))))
    }

    pub fn of(boards: impl IntoIterator<Item = (Model, Board)>) -> Self {
        let mut network = Network::new(IdealAir::default());
        let mut hosts = Vec::new();
        for (model, mut board) in boards {
            if model.cable == Cable::Usb {
                board.plug_usb();
            }
            let number = network.add(board);
            network.power_on(number);
            hosts.push(Host { cable: model.cable, decoder: Decoder::new() });
        }
        Self { network, hosts }
    }

    pub fn run_ms(&mut self, millis: u64) {
        self.run_us(1_000 * millis);
    }

    /// Lets time pass, and asserts that no board gets stuck.
    pub fn run_us(&mut self, micros: u64) {
        self.network.run_until(self.network.now() + micros * MS / 1_000);
        for board in self.network.boards() {
            assert!(board.trouble().is_none(), "{:?}", board.trouble());
        }
    }

    /// Says something to a board and returns what it says meanwhile.
    pub fn ask(&mut self, number: usize, message: &ToBoard) -> Vec<ToHost> {
        let mut bytes = [0; FRAME_BYTES_MAX];
        let frame = encode(message, &mut bytes).expect("it fits");
        let board = self.network.board(number);
        match self.hosts[number].cable {
            Cable::Serial => board.put_serial(PORT, frame),
            Cable::Usb => board.at_usb_host(|host, _| host.send(frame)).expect("it is plugged in"),
        }
        self.run_ms(ANSWER_MS);
        self.heard(number)
    }

    /// What a board has said since the last call.
    pub fn heard(&mut self, number: usize) -> Vec<ToHost> {
        let board = self.network.board(number);
        let Host { cable, decoder } = &mut self.hosts[number];
        let bytes = match cable {
            Cable::Serial => board.take_serial(PORT),
            Cable::Usb => board.at_usb_host(|host, _| host.take_received()).unwrap_or_default(),
        };
        bytes.into_iter().filter_map(|byte| decoder.push(byte)).collect()
    }

    /// Waits until a board has booted and says who it is.
    pub fn hello(&mut self, number: usize) -> Hello {
        let booted = BOOT_MS * MS;
        self.run_ms(booted.saturating_sub(self.network.now()) / MS);
        if self.hosts[number].cable == Cable::Usb {
            self.open_usb(number);
        }
        let said = self.ask(number, &ToBoard::GetHello);
        let hello =
            said.iter().find_map(|said| if let ToHost::Hello(hello) = said { Some(hello.clone()) } else { None });
        hello.unwrap_or_else(|| panic!("said: {said:?}; logged: {:?}", self.log(number)))
    }

    /// Waits until the PC at the other end of a USB cable has enumerated the board, and opens its serial port.
    pub fn open_usb(&mut self, number: usize) {
        for _ in 0..BOOT_MS {
            if self.network.board(number).at_usb_host(|host, _| host.open()) == Some(true) {
                return;
            }
            self.run_ms(1);
        }
        let host = self.network.boards()[number].usb_host();
        panic!("{host:?}");
    }

    pub fn snapshot(&mut self, number: usize) -> Snapshot {
        let said = self.ask(number, &ToBoard::GetSnapshot);
        let found = said
            .iter()
            .find_map(|said| if let ToHost::Snapshot { snapshot, .. } = said { Some(*snapshot) } else { None });
        found.unwrap_or_else(|| panic!("said: {said:?}; logged: {:?}", self.log(number)))
    }

    /// Waits until all boards follow one leader, and returns it.
    pub fn elect(&mut self) -> NodeId {
        let mut stands = Vec::new();
        for _ in 0..ELECTION_MAX {
            self.run_ms(1_000);
            stands = (0..self.hosts.len()).map(|number| self.snapshot(number)).collect::<Vec<_>>();
            if let Some(leader) = stands[0].leader
                && stands.iter().all(|stand| stand.leader == Some(leader) && stand.links_up > 0)
            {
                return leader;
            }
        }
        panic!("no leader within {ELECTION_MAX} s: {stands:?}");
    }

    /// Resets of a board that nobody asked for, since it was switched on.
    pub fn resets(&self, number: usize) -> u32 {
        let counts = self.network.boards()[number].counts();
        counts.watchdog_resets + counts.lockups
    }

    /// Instructions that a board has executed so far.
    pub fn instructions(&self, number: usize) -> u64 {
        self.network.boards()[number].counts().instructions
    }

    pub fn log(&mut self, number: usize) -> Vec<String> {
        self.network.board(number).take_log().into_iter().map(|line| line.text).collect()
    }
}
