//! A host: it notices a device, enumerates it, and carries the bytes of its serial port.
//!
//! Bulk endpoints are polled while the port is open, as operating systems do. An endpoint that is not ready is asked again
//! in the next frame of a millisecond; one that is gets its next packet 50 us later. The endpoint for notifications is not
//! polled.

use std::collections::VecDeque;

use super::control::{Progress, Transfer};
use super::enumeration::{Description, Question};
use super::{Action, Answer, PACKET_MAX};
use crate::io::CYCLES_PER_US;

const MS: u64 = 1_000 * CYCLES_PER_US;
const NEVER: u64 = u64::MAX;

/// A plug bounces for this long.
const DEBOUNCE: u64 = 100 * MS;
const RESET: u64 = 50 * MS;
const FRAME: u64 = MS;
/// A full packet at 12 Mbit/s, with what surrounds it.
const PACKET: u64 = 50 * CYCLES_PER_US;
/// A device takes this much silence for a suspended bus.
const SILENCE: u64 = 3 * MS;
/// How long a host signals that it resumes.
const RESUME: u64 = 20 * MS;
/// How long a device may leave a request unanswered.
const PATIENCE: u64 = 5_000 * MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// There is no device, or it has not pulled up its wire.
    Detached,
    /// Somebody plugged it in a moment ago.
    Bouncing,
    Resetting,
    Enumerating,
    Configured,
    /// Silent, but not for long enough.
    FallingSilent,
    Suspended,
    /// The device answered in a way that no driver copes with; see [`UsbHost::failure`].
    Failed,
}

/// What cannot be done again in this frame.
#[derive(Clone, Copy, Debug, Default)]
struct NotReady {
    control: bool,
    bulk_in: bool,
    bulk_out: bool,
}

/// Whom the last action addressed.
#[derive(Clone, Copy, Debug)]
enum Addressed {
    Control,
    BulkIn,
    BulkOut { bytes: usize },
    Everybody,
}

#[derive(Clone, Debug)]
pub struct UsbHost {
    state: HostState,
    /// When it acts next.
    at: u64,
    frame_ends: u64,
    not_ready: NotReady,
    addressed: Addressed,
    questions: VecDeque<Question>,
    /// The running transfer, and until when it must be done.
    transfer: Option<(Question, Transfer, u64)>,
    description: Description,
    failure: Option<String>,
    is_open: bool,
    /// The program that opened the port takes what arrives.
    is_reading: bool,
    wants_suspend: bool,
    outgoing: VecDeque<u8>,
    received: Vec<u8>,
}

impl Default for UsbHost {
    fn default() -> Self {
        Self {
            state: HostState::Detached,
            at: NEVER,
            frame_ends: 0,
            not_ready: NotReady::default(),
            addressed: Addressed::Everybody,
            questions: VecDeque::new(),
            transfer: None,
            description: Description::default(),
            failure: None,
            is_open: false,
            is_reading: true,
            wants_suspend: false,
            outgoing: VecDeque::new(),
            received: Vec::new(),
        }
    }
}

/// What a person and programs at the PC do.
impl UsbHost {
    pub fn state(&self) -> HostState {
        self.state
    }

    /// What the device said of itself when it was last enumerated.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What was wrong with the device's answers.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Opens the serial port. A device that is not configured yet has none.
    #[must_use]
    pub fn open(&mut self) -> bool {
        self.set_open(true)
    }

    /// Closes the serial port.
    #[must_use]
    pub fn close(&mut self) -> bool {
        self.set_open(false)
    }

    fn set_open(&mut self, is_open: bool) -> bool {
        let is_there = self.state == HostState::Configured;
        if is_there {
            self.is_open = is_open;
            self.questions.push_back(Question::LineState { is_open });
        }
        is_there
    }

    /// Sends bytes to the serial port.
    pub fn send(&mut self, bytes: &[u8]) {
        self.outgoing.extend(bytes);
    }

    /// What arrived from the serial port since the last call.
    pub fn take_received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    /// Whether the program that opened the port takes what arrives. While it does not, the device has to keep it.
    pub fn set_reading(&mut self, is_reading: bool) {
        self.is_reading = is_reading;
    }

    /// Falls silent, as soon as what is under way is done.
    pub fn suspend(&mut self) {
        self.wants_suspend = true;
    }

    /// Wakes the device. What was open is open still.
    pub fn resume(&mut self, now: u64) {
        self.wants_suspend = false;
        if self.state == HostState::Suspended {
            self.at = now;
        }
    }

    /// Enumerates the device again, as after a long sleep of the PC.
    pub fn reset(&mut self, now: u64) {
        if self.state != HostState::Detached {
            self.forget();
            (self.state, self.at) = (HostState::Resetting, now);
            self.questions.push_back(Question::FirstLook);
        }
    }
}

/// The cable.
impl UsbHost {
    /// The device pulls up its wire, or no longer does.
    pub fn notice(&mut self, now: u64, is_attached: bool) {
        if !is_attached {
            self.forget();
            (self.state, self.at) = (HostState::Detached, NEVER);
        } else if self.state == HostState::Detached {
            self.forget();
            (self.state, self.at) = (HostState::Bouncing, now + DEBOUNCE);
        }
    }

    fn forget(&mut self) {
        let received = std::mem::take(&mut self.received);
        let description = std::mem::take(&mut self.description);
        *self = Self { received, description, failure: self.failure.take(), ..Self::default() };
    }

    /// When [`UsbHost::act`] has something to do.
    pub fn due(&self) -> u64 {
        self.at
    }

    /// What the host does now, if anything. The answer comes with [`UsbHost::answered`].
    pub fn act(&mut self, now: u64) -> Option<Action> {
        self.addressed = Addressed::Everybody;
        match self.state {
            HostState::Detached | HostState::Failed => {
                self.at = NEVER;
                None
            }
            HostState::Bouncing => {
                (self.state, self.at) = (HostState::Enumerating, now + RESET);
                self.questions.push_back(Question::FirstLook);
                Some(Action::Reset)
            }
            HostState::Resetting => {
                (self.state, self.at) = (HostState::Enumerating, now + RESET);
                Some(Action::Reset)
            }
            HostState::FallingSilent => {
                (self.state, self.at) = (HostState::Suspended, if self.wants_suspend { NEVER } else { now });
                Some(Action::Suspend)
            }
            HostState::Suspended => {
                (self.state, self.at) = (HostState::Configured, now + RESUME);
                Some(Action::Resume)
            }
            HostState::Enumerating | HostState::Configured => self.talk(now),
        }
    }

    fn talk(&mut self, now: u64) -> Option<Action> {
        if now >= self.frame_ends {
            self.frame_ends = now + FRAME;
            self.not_ready = NotReady::default();
        }
        if self.transfer.is_none()
            && let Some(question) = self.questions.pop_front()
        {
            self.transfer = Some((question, self.description.transfer(question), now + PATIENCE));
        }
        if let Some((question, transfer, until)) = &self.transfer {
            if now >= *until {
                let what = format!("{question:?} was not answered in time");
                self.fail(what);
                return None;
            }
            if !self.not_ready.control {
                self.addressed = Addressed::Control;
                return Some(transfer.action());
            }
        } else if self.wants_suspend {
            (self.state, self.at) = (HostState::FallingSilent, now + SILENCE);
            return None;
        }
        if self.is_open && !self.outgoing.is_empty() && !self.not_ready.bulk_out {
            let bytes: Vec<u8> = self.outgoing.iter().copied().take(PACKET_MAX).collect();
            self.addressed = Addressed::BulkOut { bytes: bytes.len() };
            return Some(Action::Out { endpoint: self.description.bulk_out, bytes });
        }
        if self.is_open && self.is_reading && !self.not_ready.bulk_in {
            self.addressed = Addressed::BulkIn;
            return Some(Action::In { endpoint: self.description.bulk_in });
        }
        self.at = self.frame_ends;
        None
    }

    /// Takes the answer to the last action.
    pub fn answered(&mut self, now: u64, answer: Answer) {
        if let Addressed::Everybody = self.addressed {
            return;
        }
        self.at = now + PACKET;
        let is_ready = matches!(answer, Answer::Ack | Answer::Data(_));
        match self.addressed {
            Addressed::Control => {
                self.not_ready.control = !is_ready;
                self.advance_transfer(answer);
            }
            _ if answer == Answer::Stall => self.fail("a bulk endpoint is halted".into()),
            Addressed::BulkOut { bytes } => {
                self.not_ready.bulk_out = !is_ready;
                if is_ready {
                    self.outgoing.drain(..bytes);
                }
            }
            Addressed::BulkIn => {
                self.not_ready.bulk_in = !is_ready;
                if let Answer::Data(bytes) = answer {
                    self.received.extend(bytes);
                }
            }
            Addressed::Everybody => {}
        }
    }

    fn advance_transfer(&mut self, answer: Answer) {
        let Some((question, transfer, _)) = &mut self.transfer else { return };
        let question = *question;
        match transfer.answered(answer) {
            Progress::Running | Progress::Waiting => {}
            Progress::Stalled => self.fail(format!("{question:?} was refused")),
            Progress::Done(bytes) => {
                self.transfer = None;
                if let Err(what) = self.description.learn(question, &bytes) {
                    self.fail(what);
                    return;
                }
                match question {
                    Question::FirstLook => {
                        self.questions.push_back(Question::Address);
                        self.state = HostState::Resetting;
                    }
                    Question::LineCoding => self.state = HostState::Configured,
                    _ => self.questions.extend(question.next()),
                }
            }
        }
    }

    fn fail(&mut self, what: String) {
        (self.state, self.at, self.failure) = (HostState::Failed, NEVER, Some(what));
    }
}
