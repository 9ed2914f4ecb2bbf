//! A conversation with one board on a cable: a message, and the wait for its answer.

use std::fmt;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Context;
use common::host_link::{Decoder, FRAME_BYTES_MAX, ToBoard, ToHost, encode};

use crate::field::monitor::line::{self, Endpoint, Line};

/// Bytes read from the line at once.
const READ_MAX: usize = 1_024;

#[derive(Debug)]
pub struct Talk<'e> {
    endpoint: &'e Endpoint,
    line: Line,
    decoder: Decoder<ToHost>,
    /// What was read last, and how much of it has been looked at: the wanted message need not be the last of a reading.
    buf: [u8; READ_MAX],
    unread: Range<usize>,
    /// Whether the board has said anything that makes sense.
    has_heard: bool,
}

/// Why an answer did not come.
#[derive(Debug)]
pub enum Silence {
    Gone(io::Error),
    /// The board sends, but not what was awaited.
    Other {
        waited: Duration,
    },
    Nothing {
        waited: Duration,
    },
    /// What arrives is not made of frames.
    Damaged,
}

impl<'e> Talk<'e> {
    pub fn open(endpoint: &'e Endpoint) -> anyhow::Result<Self> {
        let mut line = Line::open(endpoint).with_context(|| format!("cannot open {endpoint}"))?;
        // It terminates any partial frame the board may hold.
        line.write(&[0]).with_context(|| format!("cannot send to {endpoint}"))?;
        Ok(Self { endpoint, line, decoder: Decoder::new(), buf: [0; READ_MAX], unread: 0..0, has_heard: false })
    }

    pub fn say(&mut self, message: &ToBoard) -> anyhow::Result<()> {
        let mut buf = [0; FRAME_BYTES_MAX];
        let frame = encode(message, &mut buf).ok().context("a message fits its frame")?;
        self.line.write(frame).with_context(|| format!("cannot send to {}", self.endpoint))
    }

    /// The first message that is wanted, or why it did not come.
    pub fn hear<T>(&mut self, patience: Duration, mut wanted: impl FnMut(ToHost) -> Option<T>) -> Result<T, Silence> {
        let deadline = Instant::now() + patience;
        loop {
            loop {
                while let Some(message) = self.next_message() {
                    self.has_heard = true;
                    if let Some(found) = wanted(message) {
                        return Ok(found);
                    }
                }
                // A board that never stops talking does not answer.
                if Instant::now() >= deadline {
                    break;
                }
                let Some(count) = self.line.read(&mut self.buf).map_err(Silence::Gone)? else { break };
                self.unread = 0..count;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(match (self.has_heard, self.decoder.damaged()) {
                    (true, _) => Silence::Other { waited: patience },
                    (false, 0) => Silence::Nothing { waited: patience },
                    (false, _) => Silence::Damaged,
                });
            }
            line::wait(std::iter::once(&self.line), left);
        }
    }

    /// The next message in what was read.
    fn next_message(&mut self) -> Option<ToHost> {
        self.unread.by_ref().find_map(|at| self.decoder.push(*self.buf.get(at)?))
    }

    /// As [`hear`](Self::hear), with the place in the error.
    pub fn answer<T>(&mut self, patience: Duration, wanted: impl FnMut(ToHost) -> Option<T>) -> anyhow::Result<T> {
        let endpoint = self.endpoint;
        self.hear(patience, wanted).with_context(|| format!("waiting for the board at {endpoint}"))
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(error) => write!(f, "the line is gone: {error}"),
            Self::Other { waited } => write!(f, "it is running but did not answer within {} s", waited.as_secs()),
            Self::Nothing { waited } => {
                let seconds = waited.as_secs();
                write!(f, "it sent nothing within {seconds} s: is this the right port, and is the image running?")
            }
            Self::Damaged => f.write_str(
                "it sent no valid frames: the image on the board is older or newer than this program, or something \
                 else is at this port",
            ),
        }
    }
}

impl std::error::Error for Silence {}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use common::host_link::{FRAME_BYTES_MAX, ToHost, encode};

    use super::{Silence, Talk};
    use crate::field::monitor::line::Endpoint;

    /// A board that says one thing without end, until nobody listens.
    pub(crate) fn chatterbox(says: &ToHost) -> Endpoint {
        let mut buf = [0; FRAME_BYTES_MAX];
        chatterbox_of(encode(says, &mut buf).unwrap().to_vec().repeat(100))
    }

    /// A board that says these bytes without end, until nobody listens.
    pub(crate) fn chatterbox_of(says: Vec<u8>) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut line, _) = listener.accept().unwrap();
            while line.write_all(&says).is_ok() {}
        });
        Endpoint::Socket(address)
    }

    #[test]
    fn what_comes_with_the_wanted_message_is_heard_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Socket(listener.local_addr().unwrap().to_string());
        let mut talk = Talk::open(&endpoint).unwrap();
        let (mut board, _) = listener.accept().unwrap();
        let said: Vec<u8> = (1..=40)
            .flat_map(|number| encode(&ToHost::Pong(number), &mut [0; FRAME_BYTES_MAX]).unwrap().to_vec())
            .collect();
        board.write_all(&said).unwrap();
        let heard = (1..=40).map(|_| {
            talk.hear(Duration::from_mins(1), |message| match message {
                ToHost::Pong(number) => Some(number),
                _ => None,
            })
        });
        let heard: Vec<_> = heard.map(Result::unwrap).collect();
        assert_eq!(heard, (1..=40).collect::<Vec<_>>());
    }

    #[test]
    fn a_board_that_never_stops_talking_hangs_nobody() {
        let endpoint = chatterbox(&ToHost::Pong(7));
        let mut talk = Talk::open(&endpoint).unwrap();
        let heard = talk.hear(Duration::from_millis(1), |_| None::<()>);
        assert!(matches!(heard, Err(Silence::Other { .. } | Silence::Nothing { .. })), "{heard:?}");
    }
}
