//! A line to a board: a serial port, or the socket of a server that forwards one. Nothing here waits longer than the caller allows.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The speed of UARTs. USB ignores it.
#[cfg(unix)]
const BAUD: u32 = 115_200;

/// How long a board may accept nothing before writing gives up.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// Where to reach a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Serial(PathBuf),
    /// A server that forwards a serial port, `HOST:PORT`.
    Socket(String),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(path) => path.display().fmt(f),
            Self::Socket(address) => write!(f, "socket:{address}"),
        }
    }
}

/// An open line.
#[derive(Debug)]
pub enum Line {
    Serial(File),
    Socket(TcpStream),
}

impl Line {
    pub fn open(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Serial(path) => open_serial(path).map(Self::Serial),
            Endpoint::Socket(address) => {
                let socket = TcpStream::connect(address)?;
                socket.set_nonblocking(true)?;
                socket.set_nodelay(true)?;
                Ok(Self::Socket(socket))
            }
        }
    }

    /// Reads without waiting; none if nothing has arrived. A line that is gone is an error.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        let read = match self {
            Self::Serial(file) => file.read(buf),
            Self::Socket(socket) => socket.read(buf),
        };
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(Some(count)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends everything, unless that takes longer than a second.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + WRITE_WAIT;
        while !bytes.is_empty() {
            let written = match self {
                Self::Serial(file) => file.write(bytes),
                Self::Socket(socket) => socket.write(bytes),
            };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::Error::new(ErrorKind::TimedOut, "the board accepts no data"));
                    }
                    wait_for_room(self, left);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn open_serial(path: &std::path::Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    // Without NONBLOCK, opening a UART without a carrier would block, and so would every read without data.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let port = rustix::fs::open(path, flags, Mode::empty())?;
    let mut settings = tcgetattr(&port).map_err(|_| io::Error::new(ErrorKind::InvalidInput, "not a serial port"))?;
    settings.make_raw();
    settings.set_speed(BAUD)?;
    tcsetattr(&port, OptionalActions::Now, &settings)?;
    Ok(File::from(port))
}

#[cfg(not(unix))]
fn open_serial(_path: &std::path::Path) -> io::Result<File> {
    let what = "serial ports need Linux or macOS; use `--socket` here";
    Err(io::Error::new(ErrorKind::Unsupported, what))
}

/// Waits until one of the lines has something to read, but no longer than this.
#[cfg(unix)]
pub fn wait<'l>(lines: impl Iterator<Item = &'l Line>, at_most: Duration) {
    use rustix::event::{PollFd, PollFlags};
    let mut watched: Vec<PollFd<'_>> = lines.map(|line| poll_fd(line, PollFlags::IN)).collect();
    poll(&mut watched, at_most);
}

#[cfg(unix)]
fn wait_for_room(line: &Line, at_most: Duration) {
    poll(&mut [poll_fd(line, rustix::event::PollFlags::OUT)], at_most);
}

#[cfg(unix)]
fn poll_fd(line: &Line, flags: rustix::event::PollFlags) -> rustix::event::PollFd<'_> {
    match line {
        Line::Serial(file) => rustix::event::PollFd::new(file, flags),
        Line::Socket(socket) => rustix::event::PollFd::new(socket, flags),
    }
}

#[cfg(unix)]
fn poll(watched: &mut [rustix::event::PollFd<'_>], at_most: Duration) {
    let millis = i64::try_from(at_most.as_millis()).unwrap_or(i64::MAX);
    let timeout = rustix::event::Timespec { tv_sec: millis / 1_000, tv_nsec: millis % 1_000 * 1_000_000 };
    // An interrupted wait is merely a short one; the caller checks its clock anyway.
    let _ = rustix::event::poll(watched, Some(&timeout));
}

/// Polls: without Unix there is no common way to wait for files and sockets.
#[cfg(not(unix))]
pub fn wait<'l>(_lines: impl Iterator<Item = &'l Line>, at_most: Duration) {
    std::thread::sleep(at_most.min(Duration::from_millis(10)));
}

#[cfg(not(unix))]
fn wait_for_room(_line: &Line, at_most: Duration) {
    std::thread::sleep(at_most.min(Duration::from_millis(10)));
}
