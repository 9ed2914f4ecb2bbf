//! Sessions: when a link is up, and how both ends know that they mean the same up-interval.
//!
//! Model: frames between two nodes are lost at will, but never reordered or repeated, since their numbers must rise. Each end
//! owns an incarnation of the link, (epoch, token): the epoch is new at every boot, the token at every going down, and no
//! token is used twice in an epoch. Each end echoes the other's. The rules:
//!
//! 1. The peer's incarnation differs from the known one: go down if up, and remember it.
//! 2. Going down, and forgetting a peer, takes a new token; message numbers start over.
//! 3. Go up only when the peer echoes the present incarnation and both are willing.
//! 4. Messages count only where they echo the present incarnation and come from the known epoch.
//!
//! ```text
//!            echo of my incarnation, both willing
//!   Down ──────────────────────────────────────────► Up
//!    ▲     new incarnation, unwilling, no session,    │
//!    └──── silence, quality, unacknowledged ──────────┘  (new token)
//! ```

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
    /// How it is echoed: the token and the last four bits of the epoch.
    pub const fn echo(self) -> u16 {
        (self.epoch & 15) << 12 | self.token & TOKEN_MAX
    }
}

/// Hands out tokens, none twice until all were.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    last: u16,
}

impl Tokens {
    /// The next token, without taking it: tokens are scarce, and most callers turn out not to need one.
    pub const fn next(&self) -> u16 {
        if self.last >= TOKEN_MAX { 1 } else { self.last + 1 }
    }

    pub fn take(&mut self) -> u16 {
        self.last = self.next();
        self.last
    }
}

/// What a step did to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Stays,
    Up,
    Down(Reason),
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    mine: Incarnation,
    theirs: Option<Incarnation>,
    is_up: bool,
    /// The number of the oldest message that is not acknowledged.
    oldest: u8,
    /// The number of the message expected next.
    expected: u8,
}

impl Session {
    /// A link that is down, to a peer of which nothing is known.
    pub const fn new(mine: Incarnation) -> Self {
        Self { mine, theirs: None, is_up: false, oldest: 0, expected: 0 }
    }

    pub const fn is_up(&self) -> bool {
        self.is_up
    }

    pub const fn mine(&self) -> Incarnation {
        self.mine
    }

    /// The other end's incarnation, as last heard; it is echoed as 0 while nothing is known.
    pub fn echo(&self) -> u16 {
        self.theirs.map_or(0, Incarnation::echo)
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
        self.is_up = false;
        self.oldest = 0;
        self.expected = 0;
    }

    /// A hello that does not name this node came from this epoch: an earlier life of the peer is over.
    pub fn receive_epoch(&mut self, epoch: u16, token: impl FnOnce() -> u16) -> Turn {
        if self.theirs.is_none_or(|theirs| theirs.epoch == epoch) {
            return Turn::Stays;
        }
        self.theirs = None;
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
        if self.theirs != Some(theirs) {
            self.theirs = Some(theirs);
            if self.is_up {
                return self.fall(Reason::NewIncarnation, token);
            }
        }
        if echo != self.mine.echo() {
            return Turn::Stays;
        }
        match (self.is_up, they_want) {
            (true, false) => self.fall(Reason::Unwilling, token),
            (false, true) if i_want => {
                self.is_up = true;
                Turn::Up
            }
            _ => Turn::Stays,
        }
    }

    /// A frame with messages or acknowledgements came; its sender wants the link. None where it belongs to no session of this
    /// end.
    pub fn receive_rel(&mut self, epoch: u16, echo: u16, i_want: bool) -> Option<Turn> {
        let is_known = self.theirs.is_some_and(|theirs| theirs.epoch == epoch) && echo == self.mine.echo();
        match (is_known, self.is_up) {
            (false, _) => None,
            (true, true) => Some(Turn::Stays),
            (true, false) => i_want.then(|| {
                self.is_up = true;
                Turn::Up
            }),
        }
    }

    fn fall(&mut self, reason: Reason, token: impl FnOnce() -> u16) -> Turn {
        if !self.is_up {
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
    fn a_link_is_up_only_between_two_known_incarnations() {
        let mut session = Session::new(inc(5, 1));
        assert_eq!(session.receive_rel(9, inc(5, 1).echo(), true), None, "nothing is known of the peer");
        assert_eq!(session.receive_hello(inc(9, 4), 0, true, true, || 2), Turn::Stays, "it has not heard this end");
        assert_eq!(
            session.receive_hello(inc(9, 4), inc(4, 1).echo(), true, true, || 2),
            Turn::Stays,
            "another boot's echo"
        );
        assert_eq!(session.receive_hello(inc(9, 4), inc(5, 1).echo(), true, false, || 2), Turn::Stays);
        assert_eq!(session.receive_hello(inc(9, 4), inc(5, 1).echo(), true, true, || 2), Turn::Up);
        assert_eq!(
            session.receive_hello(inc(9, 5), inc(5, 1).echo(), true, true, || 2),
            Turn::Down(Reason::NewIncarnation)
        );
        assert_eq!(session.mine(), inc(5, 2), "a new token after every fall");
        assert_eq!(
            session.receive_rel(9, inc(5, 2).echo(), true),
            Some(Turn::Up),
            "a message echoes as well as a hello"
        );
        assert_eq!(session.receive_epoch(10, || 3), Turn::Down(Reason::NewIncarnation));
        assert_eq!(session.receive_rel(10, inc(5, 3).echo(), true), None);
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
