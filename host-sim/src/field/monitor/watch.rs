//! Several lines at once: opened, read, and opened again when they come back.

use std::io;
use std::time::{Duration, Instant};

use common::host_link::{Decoder, FRAME_BYTES_MAX, ToBoard, ToHost, encode};
use sim::air::trace::Record;

use super::boards::Boards;
use super::line::{self, Line, Place};

/// A line that is gone is tried again after this long.
const RETRY: Duration = Duration::from_millis(500);

/// Boards are asked how they stand this often.
const ASK: Duration = Duration::from_secs(2);

/// What the watch may assume and shall ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A board has no power but that of its cable.
    pub cable_is_power: bool,
    /// Boards shall report every frame.
    pub frames: bool,
}

/// Something happened at a port.
#[derive(Debug)]
pub enum What {
    /// It was opened.
    Opened,
    /// It could not be opened; told once.
    Waiting(io::Error),
    /// It is gone.
    Gone(io::Error),
    /// A board said something.
    Said(ToHost),
    /// So many frames since it was opened were none.
    Damaged(u32),
}

/// Something that happened, and what the trace has to say about it.
#[derive(Debug)]
pub struct Happening {
    /// When, since the watch began.
    pub time_us: u64,
    /// At which port.
    pub port: usize,
    /// What.
    pub what: What,
    /// Lines for the trace.
    pub records: Vec<Record>,
}

/// One line and what was read from it.
#[derive(Debug)]
struct Port {
    place: Place,
    line: Option<Line>,
    decoder: Decoder<ToHost>,
    damaged_told: u32,
    next_try: Instant,
    is_wait_told: bool,
}

/// Watches boards.
#[derive(Debug)]
pub struct Watch {
    ports: Vec<Port>,
    boards: Boards,
    options: Options,
    start: Instant,
    next_ask: Instant,
}

impl Watch {
    /// A watch over these places. Nothing is opened yet.
    pub fn new(places: impl IntoIterator<Item = Place>, options: Options) -> Self {
        let start = Instant::now();
        let port = |place| Port {
            place,
            line: None,
            decoder: Decoder::new(),
            damaged_told: 0,
            next_try: start,
            is_wait_told: false,
        };
        let ports = places.into_iter().map(port).collect();
        Self { ports, boards: Boards::default(), options, start, next_ask: start + ASK }
    }

    /// What is known about the boards.
    pub fn boards(&self) -> &Boards {
        &self.boards
    }

    /// Where a port is.
    pub fn place(&self, port: usize) -> Option<&Place> {
        self.ports.get(port).map(|port| &port.place)
    }

    /// Sends a message to whatever is at a port; whether there is anything.
    pub fn send(&mut self, port: usize, message: &ToBoard) -> bool {
        let Some(line) = self.ports.get_mut(port).and_then(|port| port.line.as_mut()) else { return false };
        say(line, message).is_ok()
    }

    /// Waits at most so long for something to happen, and tells what did.
    pub fn step(&mut self, at_most: Duration) -> Vec<Happening> {
        let mut happened = Vec::new();
        self.open_missing(&mut happened);
        if happened.is_empty() {
            let now = Instant::now();
            let retries = self.ports.iter().filter(|port| port.line.is_none()).map(|port| port.next_try);
            let next = retries.chain([self.next_ask]).min().unwrap_or(now);
            let lines = self.ports.iter().filter_map(|port| port.line.as_ref());
            line::wait(lines, at_most.min(next.saturating_duration_since(now)));
        }
        for port in 0..self.ports.len() {
            self.read(port, &mut happened);
        }
        self.ask();
        happened
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn open_missing(&mut self, happened: &mut Vec<Happening>) {
        let (now, time_us) = (Instant::now(), self.now_us());
        for (number, port) in self.ports.iter_mut().enumerate() {
            if port.line.is_some() || port.next_try > now {
                continue;
            }
            port.next_try = now + RETRY;
            let what = match Line::open(&port.place) {
                Ok(mut line) => {
                    // The zero in front ends whatever the board may have got from the line before. A board that takes
                    // nothing is still worth listening to.
                    let _ = line.write(&[0]);
                    let _ = say(&mut line, &ToBoard::GetHello);
                    let _ = say(&mut line, &ToBoard::GetSnapshot);
                    if self.options.frames {
                        let _ = say(&mut line, &ToBoard::Record(true));
                    }
                    (port.line, port.decoder, port.damaged_told) = (Some(line), Decoder::new(), 0);
                    port.is_wait_told = false;
                    self.boards.open(time_us, number);
                    What::Opened
                }
                Err(error) if !port.is_wait_told => {
                    port.is_wait_told = true;
                    What::Waiting(error)
                }
                Err(_) => continue,
            };
            happened.push(Happening { time_us, port: number, what, records: Vec::new() });
        }
    }

    fn read(&mut self, number: usize, happened: &mut Vec<Happening>) {
        let mut buf = [0; 4_096];
        loop {
            let time_us = self.now_us();
            let Some(port) = self.ports.get_mut(number) else { return };
            let Some(line) = port.line.as_mut() else { return };
            match line.read(&mut buf) {
                Ok(None) => return,
                Ok(Some(count)) => {
                    for &byte in buf.get(..count).unwrap_or_default() {
                        let Some(message) = port.decoder.push(byte) else { continue };
                        let records = self.boards.hear(time_us, number, &message);
                        if self.boards.is_spare(number) {
                            continue;
                        }
                        happened.push(Happening { time_us, port: number, what: What::Said(message), records });
                    }
                    let damaged = port.decoder.damaged();
                    if damaged > port.damaged_told {
                        port.damaged_told = damaged;
                        happened.push(Happening {
                            time_us,
                            port: number,
                            what: What::Damaged(damaged),
                            records: Vec::new(),
                        });
                    }
                }
                Err(error) => {
                    port.line = None;
                    port.next_try = Instant::now() + RETRY;
                    // It is known to be away, and told.
                    port.is_wait_told = true;
                    let records = self.boards.lose(time_us, number, self.options.cable_is_power);
                    happened.push(Happening { time_us, port: number, what: What::Gone(error), records });
                    return;
                }
            }
        }
    }

    /// Asks boards how they stand, and those that have not said who they are.
    fn ask(&mut self) {
        if Instant::now() < self.next_ask {
            return;
        }
        self.next_ask = Instant::now() + ASK;
        for (number, port) in self.ports.iter_mut().enumerate() {
            let Some(line) = port.line.as_mut() else { continue };
            if self.boards.at(number).is_none() {
                let _ = say(line, &ToBoard::GetHello);
            }
            if !self.boards.is_spare(number) {
                let _ = say(line, &ToBoard::GetSnapshot);
            }
        }
    }
}

fn say(line: &mut Line, message: &ToBoard) -> io::Result<()> {
    let mut buf = [0; FRAME_BYTES_MAX];
    let frame = encode(message, &mut buf).map_err(|_| io::ErrorKind::InvalidData)?;
    line.write(frame)
}
