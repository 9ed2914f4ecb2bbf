//! The terminal as a stage: the alternate screen, keys as they are pressed, and everything restored at the end.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr};

use crate::lab::film::screen::Window;

/// For a window that does not report its size.
const USUAL: Winsize = Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };

/// While it exists, the terminal shows its alternate screen without a cursor, and passes on keys at once.
pub struct Stage {
    before: Option<Termios>,
}

impl Stage {
    /// None if there is no terminal to play on.
    pub fn enter() -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if !io::stdout().is_terminal() || is_dumb {
            return None;
        }
        let before = io::stdin().is_terminal().then(|| tcgetattr(io::stdin()).ok()).flatten();
        if let Some(before) = &before {
            let mut settings = before.clone();
            // Interrupts arrive as keys too, so that the terminal is restored before the program ends.
            settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &settings);
        }
        show("\x1b[?1049h\x1b[?25l\x1b[2J").ok()?;
        Some(Self { before })
    }

    /// Waits until then; true if a key was pressed first.
    pub fn wait(&self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if self.before.is_none() {
                std::thread::sleep(left);
                continue;
            }
            if has_key(left) {
                return true;
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // These keys were meant for the stage; the shell must not see them.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
        let _ = show("\x1b[?25h\x1b[?1049l");
    }
}

fn has_key(within: Duration) -> bool {
    let stdin = io::stdin();
    let mut waiting = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let timeout = Timespec::try_from(within).ok();
    matches!(poll(&mut waiting, timeout.as_ref()), Ok(ready) if ready > 0)
}

pub fn window() -> Window {
    let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let size = size.unwrap_or(USUAL);
    let (columns, lines) = (size.ws_col.into(), size.ws_row.into());
    Window { columns, lines, has_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}

/// Draws over what was there: line by line, each cleared to its end, so that nothing flickers.
pub fn draw(text: &str) -> io::Result<()> {
    let mut screen = String::from("\x1b[H");
    let lines: Vec<&str> = text.lines().collect();
    screen.push_str(&lines.join("\x1b[K\r\n"));
    screen.push_str("\x1b[J");
    show(&screen)
}

fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
