//! Sessions: when a link is up, and how both ends know that they mean the same up-interval.
//!
//! Model: frames between two nodes are lost at will. While one knows the other they are neither reordered nor repeated, since
//! their numbers must rise; but an outsider keeps what it hears, and plays it to whoever does not know the sender. Each end owns
//! an incarnation of the link, (epoch, token): the epoch is new at every boot, the token at every going down, and no peer is
//! met twice under one token of an epoch. Each end echoes the other's. The rules:
//!
//! 1. The peer's incarnation differs from the known one: go down if up, and remember it.
//! 2. After going down, and for a peer that was forgotten, the token is a new one; message numbers start over. Only meeting
//!    uses a token up: without it no end came up and no message was sent, so the next link may have the same one.
//! 3. Meet when the peer echoes the present incarnation and both are willing.
//! 4. Go up only when the peer has answered a random challenge since they met, and was answered: then both ends are up at the
//!    same moment, and neither sends messages that the other does not take yet.
//! 5. Messages count only where they echo the present incarnation and come from the known epoch, and the link is up.
//!
//! ```text
//!                             its answer to mine ┌──► Proven ────┐ its challenge
//!   Down ────────────────────────────────► Met ──┤               ├──► Up
//!    ▲    echo of my incarnation,                └──► Challenged ┘     │
//!    │    both willing              its challenge        its answer    │
//!    └─────────────────────────────────────────────────────────────────┘  (an answer that says that it is up leads to Up)
//!      from everywhere: new incarnation; from Up also: unwilling, no session, silence, quality, unacknowledged (new token)
//! ```
//! Recorded frames can lead an end to Met, never to Up: the answer proves that the peer was there a moment ago. What it proves
//! lasts until the peer's next hello.

use crate::notice::Reason;

/// Tokens have twelve bits.
pub const TOKEN_MAX: u16 = 0x0FFF;

/// One end's incarnation of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Incarnation {
    pub epoch: u16,
    /// The token of the link, from 1 to [`TOKEN_MAX`].
    pub token: u16,
}

impl Incarnation {
    /// Nothing is known; no end has this one.
    const UNKNOWN: Self = Self { epoch: 0, token: 0 };

    /// How it is echoed: the token and the last four bits of the epoch.
    pub const fn echo(self) -> u16 {
        (self.epoch & 15) << 12 | self.token & TOKEN_MAX
    }
}

/// Hands out tokens. They are scarce, and most nodes that are heard now and then never get a link: all that this node has not
/// met may have the same token.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The last token under which a peer was met.
    last: u16,
}

impl Tokens {
    /// A token under which nobody was met.
    pub const fn next(&self) -> u16 {
        if self.last >= TOKEN_MAX { 1 } else { self.last + 1 }
    }

    /// A peer was met under this token.
    pub fn spend(&mut self, token: u16) {
        self.last = self.last.max(token);
    }

    /// Whether the last one is used up: the next would be one that was used before.
    pub const fn is_spent(&self) -> bool {
        self.last >= TOKEN_MAX
    }
}

/// What a step did to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Stays,
    /// The ends have met. The peer is to be challenged.
    Met,
    Up,
    Down(Reason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Down,
    /// The peer has echoed this incarnation and wants the link.
    Met,
    /// And it has answered a challenge.
    Proven,
    /// It has challenged this end and was answered, but has not answered itself.
    Challenged,
    Up,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    mine: Incarnation,
    /// As last heard; token 0 where nothing is known.
    theirs: Incarnation,
    stage: Stage,
    /// The number of the oldest message that is not acknowledged.
    oldest: u8,
    /// The number of the message expected next.
    expected: u8,
}

impl Session {
    /// A link that is down, to a peer of which nothing is known.
    pub const fn new(mine: Incarnation) -> Self {
        Self { mine, theirs: Incarnation::UNKNOWN, stage: Stage::Down, oldest: 0, expected: 0 }
    }

    pub const fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }

    pub const fn mine(&self) -> Incarnation {
        self.mine
    }

    /// Whether the peer has to answer a challenge before the link comes up.
    pub const fn has_met(&self) -> bool {
        matches!(self.stage, Stage::Met | Stage::Challenged)
    }

    /// The boot of the peer that this end means.
    pub const fn their_epoch(&self) -> Option<u16> {
        if self.is_known() { Some(self.theirs.epoch) } else { None }
    }

    /// The other end's incarnation, as last heard; it is echoed as 0 while nothing is known.
    pub fn echo(&self) -> u16 {
        if self.is_known() { self.theirs.echo() } else { 0 }
    }

    const fn is_known(&self) -> bool {
        self.theirs.token != 0
    }

    /// The number of the oldest message that is not acknowledged.
    pub const fn oldest(&self) -> u8 {
        self.oldest
    }

    /// The number of the message expected next.
    pub const fn expected(&self) -> u8 {
        self.expected
    }

    /// Takes the link down, with a new token; where it was down already, only the token is new.
    pub fn down(&mut self, token: u16) {
        self.mine.token = token;
        self.stage = Stage::Down;
        self.oldest = 0;
        self.expected = 0;
    }

    /// A hello that does not name this node came from this epoch: an earlier life of the peer is over.
    pub fn receive_epoch(&mut self, epoch: u16, token: impl FnOnce() -> u16) -> Turn {
        if !self.is_known() || self.theirs.epoch == epoch {
            return Turn::Stays;
        }
        self.theirs = Incarnation::UNKNOWN;
        self.forget_meeting();
        self.fall(Reason::NewIncarnation, token)
    }

    /// A hello named this node: the peer's incarnation, what it echoes, and whether both want the link.
    pub fn receive_hello(
        &mut self,
        theirs: Incarnation,
        echo: u16,
        they_want: bool,
        i_want: bool,
        token: impl FnOnce() -> u16,
    ) -> Turn {
        if self.theirs != theirs {
            self.theirs = theirs;
            self.forget_meeting();
            if self.is_up() {
                return self.fall(Reason::NewIncarnation, token);
            }
        }
        if echo != self.mine.echo() {
            return Turn::Stays;
        }
        match (self.is_up(), they_want) {
            (true, false) => self.fall(Reason::Unwilling, token),
            (false, true) if i_want => self.meet(Stage::Met),
            _ => Turn::Stays,
        }
    }

    /// Comes as far as this stage at least, without the peer's answer.
    fn meet(&mut self, stage: Stage) -> Turn {
        match (self.stage, stage) {
            (Stage::Down, _) | (Stage::Met, Stage::Challenged) | (Stage::Proven, Stage::Met) => self.stage = stage,
            (Stage::Proven, Stage::Challenged) => {
                self.stage = Stage::Up;
                return Turn::Up;
            }
            _ => {}
        }
        if self.has_met() { Turn::Met } else { Turn::Stays }
    }

    fn forget_meeting(&mut self) {
        if !self.is_up() {
            self.stage = Stage::Down;
        }
    }

    /// The peer has answered a challenge, in the session that this end means, and says whether its own end is up.
    pub fn receive_answer(&mut self, they_are_up: bool, i_want: bool) -> Turn {
        match self.stage {
            Stage::Down | Stage::Up => Turn::Stays,
            _ if !i_want => Turn::Stays,
            Stage::Met | Stage::Proven if !they_are_up => {
                self.stage = Stage::Proven;
                Turn::Stays
            }
            Stage::Met | Stage::Proven | Stage::Challenged => {
                self.stage = Stage::Up;
                Turn::Up
            }
        }
    }

    /// A frame with messages, acknowledgements or a challenge came; its sender wants the link. None where it belongs to no
    /// session of this end.
    pub fn receive_rel(&mut self, epoch: u16, echo: u16, i_want: bool) -> Option<Turn> {
        let is_known = self.is_known() && self.theirs.epoch == epoch && echo == self.mine.echo();
        match (is_known, self.is_up()) {
            (false, _) => None,
            (true, true) => Some(Turn::Stays),
            (true, false) => i_want.then(|| self.meet(Stage::Challenged)),
        }
    }

    fn fall(&mut self, reason: Reason, token: impl FnOnce() -> u16) -> Turn {
        if !self.is_up() {
            return Turn::Stays;
        }
        self.down(token());
        Turn::Down(reason)
    }

    /// Takes `count` messages of which the first has this number; how many of them are known already.
    pub fn receive(&mut self, number: u8, count: u8) -> u8 {
        let known = self.expected.wrapping_sub(number);
        if (count..128).contains(&known) {
            return count;
        }
        self.expected = number.wrapping_add(count);
        // Ahead of what is expected: states in between were replaced by newer ones.
        if known < 128 { known } else { 0 }
    }

    /// The oldest `count` messages will not be sent again: newer states replace them, whether or not they arrived.
    pub fn skip(&mut self, count: u8) {
        self.oldest = self.oldest.wrapping_add(count);
    }

    /// Whether the peer, which expects the message of this number next, waits for one that was never sent: the ends no longer
    /// count alike. (What it expects may well be behind, where states were replaced.)
    pub fn is_ahead(&self, expects: u8, outstanding: u8) -> bool {
        (outstanding.saturating_add(1)..128).contains(&expects.wrapping_sub(self.oldest))
    }

    /// The peer expects the message of this number next; how many of `outstanding` sent ones that acknowledges.
    pub fn acknowledge(&mut self, expects: u8, outstanding: u8) -> u8 {
        let count = expects.wrapping_sub(self.oldest);
        if count > outstanding {
            return 0;
        }
        self.oldest = expects;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::{Incarnation, Session, Turn};
    use crate::notice::Reason;

    fn inc(epoch: u16, token: u16) -> Incarnation {
        Incarnation { epoch, token }
    }

    #[test]
    fn ends_meet_only_where_each_knows_the_others_incarnation() {
        let mut session = Session::new(inc(5, 1));
        assert_eq!(session.receive_rel(9, inc(5, 1).echo(), true), None, "nothing is known of the peer");
        assert_eq!(session.receive_hello(inc(9, 4), 0, true, true, || 2), Turn::Stays, "it has not heard this end");
        let earlier = inc(4, 1).echo();
        assert_eq!(session.receive_hello(inc(9, 4), earlier, true, true, || 2), Turn::Stays, "another boot's echo");
        assert_eq!(session.receive_hello(inc(9, 4), inc(5, 1).echo(), true, false, || 2), Turn::Stays);
        assert_eq!(session.receive_hello(inc(9, 4), inc(5, 1).echo(), true, true, || 2), Turn::Met);
        let answered = session.receive_answer(false, true);
        assert_eq!(answered, Turn::Stays, "the peer does not know yet whether this end is there");
        assert_eq!(session.receive_rel(9, inc(5, 1).echo(), true), Some(Turn::Up), "now it asks");
        let changed = session.receive_hello(inc(9, 5), inc(5, 1).echo(), true, true, || 2);
        assert_eq!(changed, Turn::Down(Reason::NewIncarnation));
        assert_eq!(session.mine(), inc(5, 2), "a new token after every fall");
        let echoed = session.receive_rel(9, inc(5, 2).echo(), true);
        assert_eq!(echoed, Some(Turn::Met), "a message echoes as well as a hello");
        assert_eq!(session.receive_answer(false, true), Turn::Up);
        assert_eq!(session.receive_epoch(10, || 3), Turn::Down(Reason::NewIncarnation));
        assert_eq!(session.receive_rel(10, inc(5, 3).echo(), true), None);
    }

    #[test]
    fn who_does_not_answer_a_challenge_gets_no_link() {
        let mut session = Session::new(inc(5, 1));
        let echo = inc(5, 1).echo();
        assert_eq!(session.receive_answer(true, true), Turn::Stays, "they have not met");
        for _ in 0..3 {
            assert_eq!(session.receive_hello(inc(9, 4), echo, true, true, || 2), Turn::Met);
            assert_eq!(session.receive_rel(9, echo, true), Some(Turn::Met));
            assert!(!session.is_up());
        }
        assert_eq!(session.receive_answer(true, false), Turn::Stays, "this end does not want it any more");
        assert_eq!(session.receive_hello(inc(9, 5), 0, true, true, || 2), Turn::Stays, "another incarnation");
        assert_eq!(session.receive_answer(true, true), Turn::Stays, "which has not met this end");
        assert_eq!(session.receive_hello(inc(9, 5), echo, true, true, || 2), Turn::Met);
        assert_eq!(session.receive_answer(false, true), Turn::Stays);
        assert_eq!(session.receive_hello(inc(9, 5), echo, true, true, || 2), Turn::Met, "that was a hello ago");
        assert_eq!(session.receive_answer(false, true), Turn::Stays);
        assert_eq!(session.receive_rel(9, echo, true), Some(Turn::Up));
        assert!(session.is_up());
    }

    #[test]
    fn messages_are_taken_in_order_and_once() {
        let mut session = Session::new(inc(1, 1));
        session.expected = 254;
        assert_eq!(session.receive(254, 3), 0);
        assert_eq!(session.expected(), 1);
        assert_eq!(session.receive(254, 3), 3, "again");
        assert_eq!(session.receive(255, 4), 2, "two of four are new");
        assert_eq!(session.expected(), 3);
        assert_eq!(session.receive(2, 1), 1, "one of long ago");
        assert_eq!(session.receive(4, 1), 0, "the one before was replaced");
        assert_eq!(session.expected(), 5);
    }

    #[test]
    fn only_what_was_sent_can_be_acknowledged() {
        let mut session = Session::new(inc(1, 1));
        session.oldest = 250;
        assert_eq!(session.acknowledge(251, 0), 0);
        assert_eq!(session.acknowledge(2, 4), 0);
        assert_eq!(session.acknowledge(252, 4), 2);
        assert_eq!(session.acknowledge(250, 2), 0, "an old one");
    }
}
