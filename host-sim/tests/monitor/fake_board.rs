//! A fake board: a thread behind a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::config::page;
use common::data::wire::ANSWER_MAX;
use common::host_link::{
    BuildId, Bytes, ConfigAnswer, Decoder, FRAME_BYTES_MAX, Hello, Refusal, ResetReason, ToBoard, ToHost, encode,
};
use common::names::{Algorithm, Board};
use common::node::fleet::{About, Heard, Report};
use common::node::snapshot::Snapshot;
use common::orders::{Command, Outcome};
use common::types::NodeId;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::pty::OpenptFlags;

/// Longer than anything takes that happens at all.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What a board answers.
#[derive(Clone, Debug)]
pub struct Script {
    /// Who it is.
    pub id: u16,
    /// The number of its boot.
    pub epoch: u16,
    /// Whom it follows.
    pub leader: Option<u16>,
    /// Whether it stores a configuration.
    pub stores: bool,
}

/// A board that runs until it is dropped, which unplugs it.
pub struct FakeBoard {
    port: PathBuf,
    /// What the port stands for, unless another board has been plugged in there.
    terminal: PathBuf,
    say: Sender<Vec<u8>>,
    heard: Receiver<ToBoard>,
    thread: Option<JoinHandle<()>>,
}

impl FakeBoard {
    /// Plugs a board in; its port appears at `port`.
    pub fn plug_in(port: &Path, script: Script) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let _ = std::fs::remove_file(port);
        let terminal = PathBuf::from(name.into_string().unwrap());
        std::os::unix::fs::symlink(&terminal, port).unwrap();
        let (say, to_say) = mpsc::channel();
        let (heard_by_board, heard) = mpsc::channel();
        let thread = std::thread::spawn(move || live(File::from(master), &script, &to_say, &heard_by_board));
        Self { port: port.to_owned(), terminal, say, heard, thread: Some(thread) }
    }

    /// Sends a message unasked.
    pub fn say(&self, message: &ToHost) {
        self.say_bytes(&frame(message));
    }

    /// Puts bytes on the line.
    pub fn say_bytes(&self, bytes: &[u8]) {
        self.say.send(bytes.to_vec()).unwrap();
    }

    /// What the board has received and nobody has asked about yet.
    #[allow(dead_code, reason = "not every program of tests looks")]
    pub fn commands(&self) -> Vec<ToBoard> {
        self.heard.try_iter().collect()
    }

    /// Waits until the board has received this.
    pub fn await_command(&self, wanted: &ToBoard) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.heard.recv_timeout(left).unwrap_or_else(|_| panic!("never received {wanted:?}")) == *wanted {
                return;
            }
        }
    }
}

impl Drop for FakeBoard {
    fn drop(&mut self) {
        // The terminal's number is soon reused for another test's board, which a monitor that waits for this port must
        // not open.
        if std::fs::read_link(&self.port).is_ok_and(|target| target == self.terminal) {
            let _ = std::fs::remove_file(&self.port);
        }
        // The thread ends when its channel closes.
        let (closed, _) = mpsc::channel();
        self.say = closed;
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

pub fn frame(message: &ToHost) -> Vec<u8> {
    encode(message, &mut [0; FRAME_BYTES_MAX]).unwrap().to_vec()
}

fn live(mut line: File, script: &Script, to_say: &Receiver<Vec<u8>>, heard: &Sender<ToBoard>) {
    let start = Instant::now();
    let at_us = || u64::try_from(start.elapsed().as_micros()).unwrap();
    let mut decoder = Decoder::<ToBoard>::new();
    let mut buf = [0; 512];
    loop {
        match to_say.try_recv() {
            Ok(bytes) => line.write_all(&bytes).unwrap(),
            Err(mpsc::TryRecvError::Disconnected) => return,
            Err(mpsc::TryRecvError::Empty) => {}
        }
        let mut watched = [PollFd::new(&line, PollFlags::IN)];
        let a_moment = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
        rustix::event::poll(&mut watched, Some(&a_moment)).unwrap();
        if !watched[0].revents().contains(PollFlags::IN) {
            // While the other end is closed, a pseudo-terminal keeps reporting a hang-up.
            std::thread::yield_now();
            continue;
        }
        let Ok(count) = line.read(&mut buf) else { continue };
        let commands: Vec<ToBoard> = buf[..count].iter().filter_map(|&byte| decoder.push(byte)).collect();
        for command in commands {
            for answer in script.answers(&command, at_us()) {
                line.write_all(&frame(&answer)).unwrap();
            }
            let _ = heard.send(command);
        }
    }
}

fn answer(number: u8, id: u16, other: u16) -> ToHost {
    let heard = Heard { id: NodeId(other), is_linked: true, rssi_dbm: -71 };
    // Of some nothing is known.
    let is_known = id < other;
    let report = Report {
        snapshot: Snapshot { id: NodeId(id), leader: is_known.then_some(NodeId(id)), ..Snapshot::default() },
        uptime_s: 7,
        about: if is_known { About { supply_mv: 2_987, build: [0xAB; 8] } } else { About::default() },
        neighbours: [heard].into_iter().collect(),
    };
    let mut buf = [0; ANSWER_MAX];
    let length = report.write(&mut buf);
    ToHost::Answer { number, from: NodeId(id), report: Bytes::new(&buf[..length]).unwrap() }
}

/// What is told of a command: two of two apply it, except for some registers.
fn outcomes(command: Command) -> Vec<Outcome> {
    let Command::Set { register, .. } = command else {
        return vec![Outcome::Ordered, Outcome::Applied { by: 2, of: 2 }];
    };
    match register.to_string().as_str() {
        "user1" => vec![Outcome::Expired],
        "user2" => vec![Outcome::Ordered, Outcome::Superseded { leader: NodeId(9), index: 4 }],
        "user3" => vec![Outcome::Refused],
        _ => vec![Outcome::Ordered, Outcome::Applied { by: 2, of: 2 }],
    }
}

impl Script {
    fn answers(&self, command: &ToBoard, at_us: u64) -> Vec<ToHost> {
        match command {
            ToBoard::Ping(number) => vec![ToHost::Pong(*number)],
            ToBoard::GetHello | ToBoard::Reset { .. } => vec![self.hello(at_us)],
            ToBoard::GetSnapshot => {
                let leader = self.leader.map(NodeId);
                let snapshot = Snapshot { id: NodeId(self.id), leader, links_up: 1, ..Snapshot::default() };
                vec![ToHost::Snapshot { at_us, snapshot }]
            }
            ToBoard::SetConfig(page) => vec![ToHost::Config(match page::decode(page.as_slice()) {
                Ok(_) if self.stores => ConfigAnswer::Stored,
                Ok(_) => ConfigAnswer::NotStored,
                Err(error) => ConfigAnswer::Refused(Refusal::from(error)),
            })],
            ToBoard::Ask(question) => {
                // Two answer: this board, and the one that it follows or another.
                let other = self.leader.unwrap_or(self.id + 1);
                [(self.id, other), (other, self.id)].map(|(id, other)| answer(question.number, id, other)).to_vec()
            }
            ToBoard::Submit { ticket, command } => {
                let became = |outcome| ToHost::Submitted { ticket: *ticket, outcome };
                outcomes(*command).into_iter().map(became).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn hello(&self, at_us: u64) -> ToHost {
        ToHost::Hello(Hello {
            at_us,
            build: BuildId([0xAB; 8]),
            board: Board::Nrf52840Dk,
            chip: 0xC0_0000 + u64::from(self.id),
            id: NodeId(self.id),
            epoch: Some(self.epoch),
            pan: 7,
            channel: 15,
            algorithm: Algorithm::Height,
            demo: false,
            reset: ResetReason::Power,
            crash: None,
        })
    }
}
