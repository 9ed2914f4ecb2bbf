//! Identities and election numbers.

use core::fmt;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// A node's identity, unique in its network. It doubles as the radio's short address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
pub struct NodeId(pub u16);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an election: what separates a message of this election from one of the past.
///
/// A message of a higher term makes its receiver leave whatever it was doing and join; one of a lower term is
/// stale. Together with the leader's id it is the fencing token of a leadership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Term(pub u32);

impl Term {
    /// The term after this one. Terms start over after the last, but never with 0, which is before all elections.
    pub fn next(self) -> Self {
        Self(self.0.checked_add(1).unwrap_or(1))
    }

    /// How many elections it is ahead of another, where that can be: terms are on a circle, and those on its far half have
    /// nothing to do with each other.
    pub fn ahead_of(self, other: Self) -> Option<i32> {
        let ahead = self.0.wrapping_sub(other.0).cast_signed();
        (ahead.unsigned_abs() <= Self::NEAR).then_some(ahead)
    }

    /// Whether a node in this term cannot learn from hellos, which carry two bytes of a term, that the other is ahead; or nobody
    /// can tell which one is.
    pub fn is_out_of_earshot(self, other: Self) -> bool {
        self.ahead_of(other).is_none_or(|ahead| ahead < -i32::from(i16::MAX))
    }

    const NEAR: u32 = 1 << 30;
}

/// How far a node is with its elections: the one that it is in or has last been in, and the leader that this one gave, where
/// the node knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outcome {
    pub term: Term,
    pub leader: Option<NodeId>,
}

impl Outcome {
    /// Whether a node that is this far learns something from one that is as far as `other`: the leader of its own election, or
    /// of a later one. Of two leaders that one election gave to two parts of a ring, the higher one leads both.
    pub fn is_behind(self, other: Self) -> bool {
        other.leader.is_some()
            && match other.term.ahead_of(self.term) {
                Some(0) => other.leader > self.leader,
                Some(ahead) => ahead > 0,
                None => self.leader.is_none(),
            }
    }
}

/// A direction on a ring, and at the same time the port through which a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Side {
    /// Towards the next member in ring order.
    Right,
    /// Towards the previous member in ring order.
    Left,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Right, Self::Left];

    pub fn opposite(self) -> Self {
        match self {
            Self::Right => Self::Left,
            Self::Left => Self::Right,
        }
    }

    /// The lane of a message that travels this way (see [`crate::protocol::Message::lane`]).
    pub fn lane(self) -> u8 {
        match self {
            Self::Right => 0,
            Self::Left => 1,
        }
    }
}

/// Where a node stands on a ring: its two neighbours. On a ring of two both are the same node; on a ring of
/// one both are the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RingPlace {
    /// The previous member in ring order.
    pub left: NodeId,
    /// The next member in ring order.
    pub right: NodeId,
}

impl RingPlace {
    pub fn neighbour(self, side: Side) -> NodeId {
        match side {
            Side::Right => self.right,
            Side::Left => self.left,
        }
    }

    /// Whether the node with this id is alone on its ring.
    pub fn is_alone(self, id: NodeId) -> bool {
        self.right == id
    }
}
