//! Numbers the messages from member to member, so that the receiver notices what is missing.
//!
//! The first message to a member has number 0, those after it 1 to 254 and then 1 again. After a restart, and for a member
//! that comes back after it was given up, numbers begin with 0 again, and 0 is always accepted. A message that arrives too
//! early (the route has changed, or a link has lost something) is accepted and the gap reported; one that arrives too late
//! is refused. A message that was meant for somebody else has no number.

use crate::limits::MEMBERS_MAX;
use crate::members::Position;

/// The number of a message that was meant for another member.
pub const UNNUMBERED: u8 = u8::MAX;

/// A message is late, and not the first of another count, while it is behind by at most this much.
const LATE_MAX: u8 = 16;

/// How the number of a message fits those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is the next one.
    InOrder,
    /// Others before it are missing.
    Gap,
    /// One after it has come already.
    Late,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edges {
    /// The number of the next message to each member.
    sending: [u8; MEMBERS_MAX],
    /// The number expected from each member; 0 before the first.
    expected: [u8; MEMBERS_MAX],
}

impl Default for Edges {
    fn default() -> Self {
        Self::new()
    }
}

impl Edges {
    pub const fn new() -> Self {
        Self { sending: [0; MEMBERS_MAX], expected: [0; MEMBERS_MAX] }
    }

    /// The number for the next message to a member.
    pub fn stamp(&mut self, to: Position) -> u8 {
        self.sending.get_mut(to.index()).map_or(0, |next| core::mem::replace(next, after(*next)))
    }

    /// A message of this number has come from a member.
    pub fn arrive(&mut self, from: Position, number: u8) -> Arrival {
        let Some(slot) = self.expected.get_mut(from.index()) else { return Arrival::InOrder };
        if number == UNNUMBERED {
            return Arrival::InOrder;
        }
        let expected = *slot;
        if number != 0 && expected != 0 && number != expected {
            let behind = if number < expected { expected - number } else { UNNUMBERED - 1 - (number - expected) };
            if behind <= LATE_MAX {
                return Arrival::Late;
            }
            *slot = after(number);
            return Arrival::Gap;
        }
        *slot = after(number);
        Arrival::InOrder
    }

    /// A member was given up: if it comes back, both sides begin anew.
    pub fn reset(&mut self, member: Position) {
        for table in [&mut self.sending, &mut self.expected] {
            if let Some(number) = table.get_mut(member.index()) {
                *number = 0;
            }
        }
    }
}

fn after(number: u8) -> u8 {
    if number >= UNNUMBERED - 1 { 1 } else { number + 1 }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Edges};
    use crate::members::Position;

    #[test]
    fn a_stream_of_any_length_is_in_order() {
        let (mut writer, mut reader) = (Edges::new(), Edges::new());
        for _ in 0..1_000 {
            assert_eq!(reader.arrive(Position(3), writer.stamp(Position(7))), Arrival::InOrder);
        }
        writer.reset(Position(7));
        assert_eq!(reader.arrive(Position(3), writer.stamp(Position(7))), Arrival::InOrder, "a new beginning");
        reader.reset(Position(3));
        assert_eq!(reader.arrive(Position(3), writer.stamp(Position(7))), Arrival::InOrder, "a new reader");
    }

    #[test]
    fn gaps_and_latecomers_are_told_apart_at_every_number() {
        for begun in 1..600 {
            let (mut writer, mut reader) = (Edges::new(), Edges::new());
            for _ in 0..begun {
                reader.arrive(Position(3), writer.stamp(Position(7)));
            }
            let late = writer.stamp(Position(7));
            assert_eq!(reader.arrive(Position(3), writer.stamp(Position(7))), Arrival::Gap);
            assert_eq!(reader.arrive(Position(3), late), Arrival::Late);
            assert_eq!(reader.arrive(Position(3), writer.stamp(Position(7))), Arrival::InOrder);
        }
    }
}
