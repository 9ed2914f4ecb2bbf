//! Emulated boards as serial ports: a pseudo-terminal each, under a name that stays.
//!
//! A port is there while its board has power, as with a board that its cable powers. What a board says while no program has
//! its port open is lost, as on a serial line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::types::NodeId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Bytes that a port holds for a program that is slow to read: some seconds of everything that a board has to tell.
const WAITING_MAX: usize = 64 << 10;

/// The most bytes taken from a port at once; the rest waits, and so does the writer.
const TAKEN_MAX: usize = 4_096;

/// The ports of all boards. Dropping this removes them.
#[derive(Debug)]
pub struct Cables {
    folder: PathBuf,
    /// Whether the folder was made here.
    is_new: bool,
    ports: BTreeMap<NodeId, Port>,
}

#[derive(Debug)]
struct Port {
    /// The board's end.
    board: File,
    /// What the program has not taken yet.
    waiting: Vec<u8>,
    path: PathBuf,
}

impl Cables {
    /// Ports will appear in this folder, which is made if it is missing.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let is_new = !folder.exists();
        std::fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_path_buf(), is_new, ports: BTreeMap::new() })
    }

    /// Where a board's port is, while it has power.
    pub fn path(&self, id: NodeId) -> PathBuf {
        self.folder.join(format!("node-{id}"))
    }

    /// Plugs a board in or out as it has power or not, carries what it sent, and returns what was sent to it.
    pub fn carry(&mut self, id: NodeId, is_on: bool, sent: &[u8]) -> io::Result<Vec<u8>> {
        if !is_on {
            self.ports.remove(&id);
            return Ok(Vec::new());
        }
        let path = self.path(id);
        let port = match self.ports.entry(id) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(Port::plug_in(path)?),
        };
        if !port.is_open() {
            port.waiting.clear();
            return Ok(Vec::new());
        }
        // A terminal holds four kilobytes, which a board fills while a loaded machine lets its reader wait. A program that does
        // not read at all loses what does not fit, as on a serial line.
        if port.waiting.len() + sent.len() <= WAITING_MAX {
            port.waiting.extend_from_slice(sent);
        }
        let written = port.board.write(&port.waiting).unwrap_or(0);
        port.waiting.drain(..written);
        let mut received = vec![0; TAKEN_MAX];
        // An error means that the program has just closed the port.
        let count = port.board.read(&mut received).unwrap_or(0);
        received.truncate(count);
        Ok(received)
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        self.ports.clear();
        if self.is_new {
            // Only if nobody has put anything else there.
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

impl Port {
    fn plug_in(path: PathBuf) -> io::Result<Self> {
        let board = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&board)?;
        unlockpt(&board)?;
        let name = ptsname(&board, Vec::new())?;
        // Opened and closed once. Raw, so that nothing is echoed to the board; and from now on the board's end can tell whether
        // anybody has the other one open.
        let host = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut settings = tcgetattr(&host)?;
        settings.make_raw();
        tcsetattr(&host, OptionalActions::Now, &settings)?;
        rustix::fs::fcntl_setfl(&board, OFlags::RDWR | OFlags::NONBLOCK)?;
        // A program that was killed leaves its ports behind.
        if path.is_symlink() {
            std::fs::remove_file(&path)?;
        }
        symlink(name.to_string_lossy().as_ref(), &path)?;
        Ok(Self { board: File::from(board), waiting: Vec::new(), path })
    }

    /// Whether a program has it open.
    fn is_open(&self) -> bool {
        let mut watched = [PollFd::new(&self.board, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok() && !watched[0].revents().contains(PollFlags::HUP)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
