//! One end of a link as the model has it: the very [`Session`] of the core, and around it in small what the core's links do
//! with frames, numbers and acknowledgements.

use common::link::session::{Incarnation, Session, Turn};

/// Messages in one frame; the core has more, but two show everything that bundling can do.
const BUNDLE_MAX: u8 = 2;

/// A message, which says of itself where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Letter {
    /// The sender's end of the link when it was handed over.
    pub from: u16,
    /// The receiver's end, as the sender knew it then.
    pub to: u16,
    /// How many were handed over in the same up-interval before it.
    pub index: u8,
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frame {
    /// A hello; what it says of the receiver, where it knows of it: token, willing, echo.
    Hello { epoch: u16, name: Option<(u16, bool, u16)> },
    /// Messages (none: a question or a challenge), or an acknowledgement alone.
    Rel { epoch: u16, echo: u16, number: u8, ack: u8, letters: [Option<Letter>; 2], is_ack_only: bool, answer: bool },
}

/// What an acknowledgement that is sent at once says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Accepted,
    /// Not taken: to be sent again.
    NotYet,
    NoSession,
}

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// A message arrived that was not sent in this up-interval, or not next.
    NotAPrefix,
    /// An incarnation came up that had been up before.
    UsedTwice,
    /// A link came up to a boot of the other that has not answered since they met.
    WithTheDead,
}

impl Breach {
    pub fn text(self) -> &'static str {
        match self {
            Self::NotAPrefix => "a message arrived that was not sent next in this up-interval",
            Self::UsedTwice => "an incarnation was up twice",
            Self::WithTheDead => "a link came up to a boot that has not answered",
        }
    }
}

/// How echoes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Echo {
    /// As the core does.
    Whole,
    /// As if only the token were echoed: a mutant, to show that the model finds what is wrong with it.
    WithoutEpoch,
}

/// Who has to answer a challenge before a link comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Everybody, as in the core.
    Proven,
    /// Nobody: a mutant, to show what an outsider does with it.
    Blind,
}

/// What a node keeps of the link while it knows of the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    pub session: Session,
    /// Messages handed over in this up-interval.
    handed: u8,
    /// Those of them that are known to be delivered.
    done: u8,
    /// Messages of the frame that is not acknowledged yet.
    outstanding: u8,
    /// Messages delivered here in this up-interval.
    received: u8,
    /// Whether the last frame asked for an answer that may still come.
    pub is_asking: bool,
    /// The boot of the other that has answered a challenge since they met.
    proof: Option<u16>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    pub epoch: u16,
    /// The last token under which it has met the other.
    token: u16,
    pub known: Option<Known>,
    /// The link is not wanted for now: it broke, or there is no room.
    pub is_held: bool,
    /// The last incarnation that was up, over all boots.
    last_up: (u16, u16),
    /// The link has come up since this was last looked at.
    pub is_new: bool,
    pub breach: Option<Breach>,
}

impl End {
    pub fn new() -> Self {
        Self { epoch: 1, token: 0, known: None, is_held: false, last_up: (0, 0), is_new: false, breach: None }
    }

    pub fn is_up(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.session.is_up())
    }

    /// Whether the other end has shown that it knows this one, so that a challenge is due.
    pub fn has_met(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.session.has_met())
    }

    fn fresh_token(&self) -> u16 {
        self.token + 1
    }

    pub fn reboot(&mut self) {
        let (epoch, last_up, breach) = (self.epoch + 1, self.last_up, self.breach);
        *self = Self { epoch, last_up, breach, ..Self::new() };
    }

    pub fn forget(&mut self) {
        self.known = None;
    }

    pub fn take_down(&mut self) {
        if self.is_up() {
            let token = self.fresh_token();
            if let Some(known) = &mut self.known {
                known.session.down(token);
                known.flush();
            }
        }
    }

    pub fn hand_over(&mut self) {
        if let Some(known) = &mut self.known {
            known.handed += 1;
        }
    }

    pub fn hello(&self) -> Frame {
        let is_wanted = self.is_up() || !self.is_held;
        let name = self.known.as_ref().map(|known| (known.session.mine().token, is_wanted, known.session.echo()));
        Frame::Hello { epoch: self.epoch, name }
    }

    /// A challenge to one that is known.
    pub fn challenge(&mut self) -> Option<Frame> {
        let epoch = self.epoch;
        let known = self.known.as_mut().filter(|known| !known.session.is_up())?;
        known.is_asking = true;
        let echo = known.session.echo();
        Some(Frame::Rel { epoch, echo, number: 0, ack: 0, letters: [None; 2], is_ack_only: false, answer: true })
    }

    /// The next frame with messages, or where there are none and `is_probe`, a question.
    pub fn rel(&mut self, is_probe: bool) -> Option<Frame> {
        let epoch = self.epoch;
        let known = self.known.as_mut().filter(|known| known.session.is_up())?;
        let answer = known.outstanding > 0 || is_probe;
        let waiting = known.handed - known.done;
        if waiting == 0 && !is_probe {
            return None;
        }
        if known.outstanding == 0 {
            known.outstanding = waiting.min(BUNDLE_MAX);
        }
        known.is_asking = answer;
        let letters = [0, 1].map(|at| (at < known.outstanding).then(|| known.letter(known.done + at)));
        let (echo, number, ack) = (known.session.echo(), known.session.oldest(), known.session.expected());
        Some(Frame::Rel { epoch, echo, number, ack, letters, is_ack_only: false, answer })
    }

    /// An acknowledgement that rides along in somebody else's frame.
    pub fn ack_only(&self) -> Option<Frame> {
        let known = self.known.as_ref().filter(|known| known.session.is_up())?;
        let (echo, ack) = (known.session.echo(), known.session.expected());
        let letters = [None; 2];
        Some(Frame::Rel { epoch: self.epoch, echo, number: 0, ack, letters, is_ack_only: true, answer: false })
    }

    /// Takes a frame; the answer to be given at once, where one was asked for.
    pub fn take(&mut self, frame: Frame, compare: Echo, trust: Trust) -> Option<Status> {
        match frame {
            Frame::Hello { epoch, name } => {
                self.take_hello(epoch, name, compare);
                self.trust(trust);
                None
            }
            Frame::Rel { epoch, echo, number, ack, letters, is_ack_only, answer } => {
                let echo = self.heard(echo, compare);
                let status = self.take_rel(epoch, echo, (number, ack), letters, is_ack_only);
                self.trust(trust);
                answer.then_some(status)
            }
        }
    }

    /// Takes meeting for proof, where that is to be shown not to be enough.
    fn trust(&mut self, trust: Trust) {
        if let (Trust::Blind, Some(known)) = (trust, &mut self.known) {
            let turn = known.session.receive_answer(true, !self.is_held);
            self.turned(turn);
        }
    }

    /// An echo as it is compared.
    fn heard(&self, echo: u16, compare: Echo) -> u16 {
        match compare {
            Echo::Whole => echo,
            Echo::WithoutEpoch if echo == 0 => 0,
            Echo::WithoutEpoch => Incarnation { epoch: self.epoch, token: echo & 0x0FFF }.echo(),
        }
    }

    fn take_hello(&mut self, epoch: u16, name: Option<(u16, bool, u16)>, compare: Echo) {
        if self.known.is_none() {
            let token = self.fresh_token();
            let session = Session::new(Incarnation { epoch: self.epoch, token });
            self.known = Some(Known::new(session));
        }
        let (token, i_want) = (self.fresh_token(), !self.is_held);
        let name = name.map(|(token, willing, echo)| (token, willing, self.heard(echo, compare)));
        let Some(known) = &mut self.known else { return };
        let i_want = known.session.is_up() || i_want;
        let before = known.session.echo();
        let turn = match name {
            Some((theirs, willing, echo)) => {
                known.session.receive_hello(Incarnation { epoch, token: theirs }, echo, willing, i_want, || token)
            }
            None => known.session.receive_epoch(epoch, || token),
        };
        if known.session.echo() != before {
            known.is_asking = false;
        }
        self.turned(turn);
    }

    fn take_rel(
        &mut self,
        epoch: u16,
        echo: u16,
        (number, ack): (u8, u8),
        letters: [Option<Letter>; 2],
        is_ack_only: bool,
    ) -> Status {
        let i_want = self.is_up() || !self.is_held;
        let turn = self.known.as_mut().and_then(|known| known.session.receive_rel(epoch, echo, i_want));
        let Some(turn) = turn else { return Status::NoSession };
        self.turned(turn);
        let Some(known) = &mut self.known else { return Status::NoSession };
        if turn == Turn::Met {
            return Status::NotYet;
        }
        known.acknowledged(ack);
        if is_ack_only {
            return Status::Accepted;
        }
        let count = u8::try_from(letters.iter().flatten().count()).unwrap_or(0);
        if count == 0 {
            return Status::Accepted;
        }
        let skip = known.session.receive(number, count);
        let (theirs, mine) = (known.session.echo(), known.session.mine().echo());
        for letter in letters.iter().flatten().skip(usize::from(skip)) {
            if *letter != (Letter { from: theirs, to: mine, index: known.received }) {
                self.breach = Some(Breach::NotAPrefix);
            }
            known.received += 1;
        }
        Status::Accepted
    }

    /// The answer to the frame sent last, by this boot of the other.
    pub fn take_answer(&mut self, status: Status, by: u16) {
        let i_want = !self.is_held;
        let Some(known) = self.known.as_mut().filter(|known| known.is_asking) else { return };
        known.is_asking = false;
        if !known.session.is_up() {
            if status != Status::NoSession {
                known.proof = Some(by);
                let turn = known.session.receive_answer(status == Status::Accepted, i_want);
                self.turned(turn);
            }
            return;
        }
        match status {
            Status::NotYet => {}
            Status::Accepted => known.acknowledged(known.session.oldest().wrapping_add(known.outstanding)),
            Status::NoSession => self.take_down(),
        }
    }

    fn turned(&mut self, turn: Turn) {
        let Some(known) = &mut self.known else { return };
        match turn {
            Turn::Stays => {}
            Turn::Met => self.token = self.token.max(known.session.mine().token),
            Turn::Down(_) => known.flush(),
            Turn::Up => {
                let mine = known.session.mine();
                if (mine.epoch, mine.token) <= self.last_up {
                    self.breach = Some(Breach::UsedTwice);
                }
                self.last_up = (mine.epoch, mine.token);
                self.is_new = true;
            }
        }
    }
}

impl Known {
    fn new(session: Session) -> Self {
        Self { session, handed: 0, done: 0, outstanding: 0, received: 0, is_asking: false, proof: None }
    }

    fn letter(&self, index: u8) -> Letter {
        Letter { from: self.session.mine().echo(), to: self.session.echo(), index }
    }

    fn flush(&mut self) {
        *self = Self::new(self.session.clone());
    }

    fn acknowledged(&mut self, expects: u8) {
        let count = self.session.acknowledge(expects, self.outstanding);
        if count > 0 {
            self.done += count;
            self.outstanding = 0;
        }
    }

    /// Whether the session is one with the boot of the other that has answered.
    pub fn is_proven(&self) -> bool {
        self.proof.is_some() && self.session.their_epoch() == self.proof
    }

    /// Whether everything handed over is delivered.
    pub fn is_done(&self) -> bool {
        self.done == self.handed
    }
}
