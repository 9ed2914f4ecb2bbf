//! Serves several lines at once: opens them, reads them, and reopens them when they come back.

use std::io;
use std::time::{Duration, Instant};

use common::host_link::{Decoder, FRAME_BYTES_MAX, ToBoard, ToHost, encode};
use sim::air::trace::{Event, NodeNumber, Record};

use super::boards::{Boards, PortIndex};
use super::line::{self, Endpoint, Line};
use super::log_reader::LogReader;
use super::readers::{Candidate, Readers};

/// How often to try to reopen a line that is gone.
const RETRY: Duration = Duration::from_millis(500);

/// How often to ask boards for a snapshot.
const ASK: Duration = Duration::from_secs(2);

/// A board that keeps quiet after short lives starts its node late, and must not be restarted for that.
const CALLS_WAIT: Duration = Duration::from_secs(20);

/// A board whose log has not come after so long is restarted without it.
const LOG_WAIT: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for an option of the command line")]
pub struct Options {
    /// Boards are powered by their cables.
    pub cable_is_power: bool,
    /// Ask boards to report every frame.
    pub frames: bool,
    /// Restart every board once, and record everything that its node is told and gives out.
    pub calls: bool,
    /// Have the leader's readings sent to the first board of each network, if it does not lead itself.
    pub copies: bool,
}

/// How often a port is read before the others have their turn and what it said is passed on.
const READS_MAX: u32 = 64;

/// A board that has accepted nothing is sent nothing for so long: each attempt keeps the other boards waiting.
const DEAF: Duration = Duration::from_secs(10);

/// What can happen at a port.
#[derive(Debug)]
pub enum What {
    Opened,
    /// It could not be opened; reported once.
    Waiting(io::Error),
    Gone(io::Error),
    Said(ToHost),
    /// The number of damaged frames since it was opened.
    Damaged(u32),
}

#[derive(Debug)]
pub struct Happening {
    /// Since the watch began.
    pub time_us: u64,
    pub port: PortIndex,
    pub what: What,
    /// What goes into the trace.
    pub records: Vec<Record>,
}

#[derive(Debug)]
struct Port {
    endpoint: Endpoint,
    line: Option<Line>,
    decoder: Decoder<ToHost>,
    damaged_told: u32,
    /// When its board is restarted for the record, unless it tells calls by then.
    restart_at: Option<Instant>,
    next_try: Instant,
    is_wait_told: bool,
    log: LogReader,
    /// Until when nothing is sent to it.
    deaf_until: Instant,
}

#[derive(Debug)]
pub struct Watch {
    ports: Vec<Port>,
    boards: Boards,
    options: Options,
    /// What leaders have gathered is stored, so none of it may be missed.
    keeps_logs: bool,
    start: Instant,
    next_ask: Instant,
    readers: Readers,
}

impl Watch {
    /// Opens nothing yet; [`step`](Self::step) does.
    pub fn new(endpoints: impl IntoIterator<Item = Endpoint>, options: Options) -> Self {
        let start = Instant::now();
        let port = |endpoint| Port {
            endpoint,
            line: None,
            decoder: Decoder::new(),
            damaged_told: 0,
            restart_at: Some(start),
            next_try: start,
            is_wait_told: false,
            log: LogReader::default(),
            deaf_until: start,
        };
        let ports = endpoints.into_iter().map(port).collect();
        Self {
            ports,
            boards: Boards::default(),
            options,
            keeps_logs: false,
            start,
            next_ask: start + ASK,
            readers: Readers::default(),
        }
    }

    /// As [`new`](Self::new), for a caller that stores what leaders have gathered, and says with
    /// [`release_logs`](Self::release_logs) what is safe.
    pub fn keeping_logs(endpoints: impl IntoIterator<Item = Endpoint>, options: Options) -> Self {
        Self { keeps_logs: true, ..Self::new(endpoints, options) }
    }

    pub fn boards(&self) -> &Boards {
        &self.boards
    }

    pub fn endpoint(&self, port: PortIndex) -> Option<&Endpoint> {
        self.ports.get(port.0).map(|port| &port.endpoint)
    }

    /// Sends a message to a port; false if it is not open or takes nothing.
    pub fn send(&mut self, port: PortIndex, message: &ToBoard) -> bool {
        self.ports.get_mut(port.0).is_some_and(|port| port.say(message))
    }

    /// Everything that leaders have told so far is safe, and they may overwrite it.
    pub fn release_logs(&mut self) {
        for port in &mut self.ports {
            if let Some(release) = port.log.handle_committed() {
                port.say(&release);
            }
        }
    }

    /// Waits no longer than this for something to happen, and returns what did.
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
            self.read(PortIndex(port), &mut happened);
        }
        self.ask();
        happened
    }

    /// Since the watch began.
    pub fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn open_missing(&mut self, happened: &mut Vec<Happening>) {
        let (now, time_us) = (Instant::now(), self.now_us());
        for (at, port) in self.ports.iter_mut().enumerate() {
            let number = PortIndex(at);
            if port.line.is_some() || port.next_try > now {
                continue;
            }
            port.next_try = now + RETRY;
            let what = match Line::open(&port.endpoint) {
                Ok(line) => {
                    (port.line, port.decoder, port.damaged_told) = (Some(line), Decoder::new(), 0);
                    // The leading zero terminates any partial frame the board may hold. A board that accepts nothing is
                    // still worth listening to.
                    port.write(&[0]);
                    port.say(&ToBoard::GetHello);
                    port.say(&ToBoard::GetSnapshot);
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

    fn read(&mut self, number: PortIndex, happened: &mut Vec<Happening>) {
        let mut buf = [0; 4_096];
        for _ in 0..READS_MAX {
            let time_us = self.now_us();
            let Some(port) = self.ports.get_mut(number.0) else { return };
            let Some(line) = port.line.as_mut() else { return };
            match line.read(&mut buf) {
                Ok(None) => return,
                Ok(Some(count)) => {
                    for &byte in buf.get(..count).unwrap_or_default() {
                        let message = port.decoder.push(byte);
                        // Told where it happened: what follows is known to come after something that is missing.
                        let damaged = port.decoder.damaged();
                        if damaged > port.damaged_told {
                            let records = self.boards.miss(time_us, number, damaged - port.damaged_told);
                            port.damaged_told = damaged;
                            happened.push(Happening { time_us, port: number, what: What::Damaged(damaged), records });
                        }
                        let Some(message) = message else { continue };
                        match message {
                            // From its node's start on, which comes soon after its hello.
                            ToHost::Hello(_) => {
                                port.restart_at.get_or_insert(Instant::now() + CALLS_WAIT);
                            }
                            ToHost::Call { .. } => port.restart_at = None,
                            _ => {}
                        }
                        // A board that has just started knows nothing of what was asked of it before.
                        if self.options.frames && matches!(message, ToHost::Hello(_)) {
                            port.say(&ToBoard::Record(true));
                        }
                        let mut records = self.boards.receive(time_us, number, &message);
                        if self.options.calls {
                            records.extend(call(time_us, self.boards.number(number), &message));
                        }
                        if self.boards.is_spare(number) {
                            continue;
                        }
                        if let Some(ask) = read_on(&mut port.log, &message, self.keeps_logs) {
                            port.say(&ask);
                        }
                        happened.push(Happening { time_us, port: number, what: What::Said(message), records });
                    }
                }
                Err(error) => {
                    (port.line, port.log) = (None, LogReader::default());
                    port.next_try = Instant::now() + RETRY;
                    // Its loss has been reported; do not report the wait as well.
                    port.is_wait_told = true;
                    let records = self.boards.lose(time_us, number, self.options.cable_is_power);
                    happened.push(Happening { time_us, port: number, what: What::Gone(error), records });
                    return;
                }
            }
        }
    }

    /// Asks boards for snapshots, and for a hello if they have not identified themselves.
    fn ask(&mut self) {
        if Instant::now() < self.next_ask {
            return;
        }
        let now = Instant::now();
        self.next_ask = now + ASK;
        self.read_all(now);
        for (at, port) in self.ports.iter_mut().enumerate() {
            let number = PortIndex(at);
            if port.line.is_none() {
                continue;
            }
            if self.boards.at(number).is_none() {
                port.say(&ToBoard::GetHello);
            }
            if self.boards.is_spare(number) {
                continue;
            }
            port.say(&ToBoard::GetSnapshot);
            if self.options.calls
                && self.boards.at(number).is_some()
                && port.restart_at.is_some_and(|restart_at| restart_at <= now)
                // What its log holds is part of what its next boot begins with.
                && (port.log.is_read() || now >= self.start + LOG_WAIT)
            {
                port.say(&ToBoard::Reset { record: true });
                port.restart_at = Some(now + CALLS_WAIT);
            }
            if let Some(ask) = port.log.look(now) {
                port.say(&ask);
            }
        }
    }

    /// Asks the first board of each network for the readings of all nodes.
    fn read_all(&mut self, now: Instant) {
        if !self.options.copies {
            return;
        }
        let there = (0..self.ports.len()).map(PortIndex).filter(|&port| !self.boards.is_spare(port));
        let candidate = |port: PortIndex| {
            let hello = &self.boards.at(port)?.hello;
            Some(Candidate { port, pan: hello.pan, epoch: hello.epoch })
        };
        for port in self.readers.due(now, there.filter_map(candidate)) {
            if !self.send(port, &ToBoard::ReadAll) {
                self.readers.forget(port);
            }
        }
    }
}

/// What to ask a board for after it has said this, so that its whole log is told.
fn read_on(log: &mut LogReader, message: &ToHost, keeps: bool) -> Option<ToBoard> {
    let now = Instant::now();
    match message {
        ToHost::Hello(_) => Some(log.start(now)),
        ToHost::Lost(_) => log.handle_lost(now, keeps),
        ToHost::LogTold { next, end } => log.handle_told(now, *next, *end),
        ToHost::Logged { position, .. } => log.handle_logged(now, *position),
        _ => None,
    }
}

/// A call of the node's driver, or an entry of the log, as it came over the cable.
fn call(time_us: u64, node: Option<NodeNumber>, message: &ToHost) -> Option<Record> {
    if !matches!(message, ToHost::Call { .. } | ToHost::Logged { .. }) {
        return None;
    }
    let mut buf = [0; FRAME_BYTES_MAX];
    let message = encode(message, &mut buf).ok()?.to_vec();
    Some(Record { time_us, node: Some(node?), event: Event::Call { message } })
}

impl Port {
    /// Sends a message; false if the port is not open or takes nothing.
    fn say(&mut self, message: &ToBoard) -> bool {
        encode(message, &mut [0; FRAME_BYTES_MAX]).is_ok_and(|frame| self.write(frame))
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(line) = self.line.as_mut().filter(|_| Instant::now() >= self.deaf_until) else { return false };
        let written = line.write(bytes);
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            self.deaf_until = Instant::now() + DEAF;
        }
        written.is_ok()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use common::host_link::ToBoard;

    use super::{Endpoint, Line, Options, PortIndex, Watch};

    #[test]
    fn a_board_that_accepts_nothing_keeps_the_others_waiting_only_once() {
        let (_board, mut line) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&line, true).unwrap();
        // As full as a line is whose board reads nothing.
        while line.write(&[0]).is_ok() {}
        let mut watch = Watch::new([Endpoint::Serial("board".into())], Options::default());
        watch.ports[0].line = Some(Line::Serial(OwnedFd::from(line).into()));
        let begin = Instant::now();
        let taken = (0..20).filter(|_| watch.send(PortIndex(0), &ToBoard::GetHello)).count();
        assert_eq!(taken, 0);
        assert!(begin.elapsed() < Duration::from_secs(9), "{:?}", begin.elapsed());
    }
}
