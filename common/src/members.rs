//! A configured ring: who is on it, in which order, and sets of its members.

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::bits::Bits;
use crate::limits::RING_MAX;
use crate::types::NodeId;

/// Where a member stands in its ring's order, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u8);

impl Position {
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Every position in order, on a ring of any size.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0_u8..).map(Self)
    }
}

/// A list of ids that is not a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RingOrderError {
    /// Nobody is on it.
    Empty,
    /// More ids than [`RING_MAX`].
    TooLong,
    /// An id stands on it twice.
    Twice(NodeId),
}

/// The members of a ring in ring order, the same on every node.
///
/// Decoding checks it like [`RingOrder::new`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<NodeId, RING_MAX, u8>", into = "Vec<NodeId, RING_MAX, u8>")]
pub struct RingOrder {
    ids: Vec<NodeId, RING_MAX, u8>,
}

impl TryFrom<Vec<NodeId, RING_MAX, u8>> for RingOrder {
    type Error = &'static str;

    fn try_from(ids: Vec<NodeId, RING_MAX, u8>) -> Result<Self, Self::Error> {
        Self::new(&ids).map_err(|_| "a ring needs members, each of them once")
    }
}

impl From<RingOrder> for Vec<NodeId, RING_MAX, u8> {
    fn from(order: RingOrder) -> Self {
        order.ids
    }
}

impl MaxSize for RingOrder {
    // The number of members takes at most two bytes.
    const POSTCARD_MAX_SIZE: usize = 2 + RING_MAX * NodeId::POSTCARD_MAX_SIZE;
}

impl RingOrder {
    /// A ring of these members in this order.
    pub fn new(ids: &[NodeId]) -> Result<Self, RingOrderError> {
        if ids.is_empty() {
            return Err(RingOrderError::Empty);
        }
        let mut order = Self { ids: Vec::new() };
        for &id in ids {
            if order.position(id).is_some() {
                return Err(RingOrderError::Twice(id));
            }
            order.ids.push(id).map_err(|_| RingOrderError::TooLong)?;
        }
        Ok(order)
    }

    /// A ring of one.
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn alone(id: NodeId) -> Self {
        Self { ids: core::iter::once(id).collect() }
    }

    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }

    /// Where a node stands.
    pub fn position(&self, id: NodeId) -> Option<Position> {
        self.ids.iter().position(|&member| member == id).and_then(|at| u8::try_from(at).ok()).map(Position)
    }

    /// The members after `id` in ring order, nearest first; the node itself is not among them.
    pub fn after(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let start = self.position(id).map_or(0, |at| at.index() + 1);
        let (before, behind) = self.ids.split_at_checked(start).unwrap_or((&self.ids, &[]));
        behind.iter().chain(before).copied().filter(move |&member| member != id)
    }

    /// The member with the highest id in a set.
    pub fn highest(&self, members: Members) -> Option<NodeId> {
        self.ids.iter().zip(Position::all()).filter(|&(_, at)| members.contains(at)).map(|(&id, _)| id).max()
    }
}

/// A set of ring members by their position, which says the same as a list of ids in ring order and fits a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Members(Bits);

impl Members {
    /// The set of one member.
    pub fn of(position: Position) -> Self {
        Self::default().with(position)
    }

    /// The set with one more member.
    pub fn with(mut self, position: Position) -> Self {
        self.0.insert(position.index());
        self
    }

    /// The set with one member less.
    pub fn without(mut self, position: Position) -> Self {
        self.0.remove(position.index());
        self
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Those at positions below this one.
    #[must_use]
    pub fn within(self, size: usize) -> Self {
        let mut within = Self::default();
        self.iter().filter(|&position| position.index() < size).for_each(|position| within = within.with(position));
        within
    }

    /// The members that are in this set and not in the other.
    pub fn minus(self, other: Self) -> Self {
        Self(Bits::new(self.0.number() & !other.0.number()))
    }

    pub fn iter(self) -> impl Iterator<Item = Position> {
        let mut left = self.0.number();
        core::iter::from_fn(move || {
            let position = u8::try_from(left.trailing_zeros()).ok().filter(|_| left != 0)?;
            left &= left.wrapping_sub(1);
            Some(Position(position))
        })
    }

    /// Whether a member is in the set.
    pub fn contains(self, position: Position) -> bool {
        self.0.contains(position.index())
    }

    /// How many members are in the set.
    pub fn count(self) -> u32 {
        self.0.number().count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::{Members, Position, RingOrder, RingOrderError};
    use crate::types::NodeId;

    fn order(ids: &[u16]) -> Result<RingOrder, RingOrderError> {
        let ids: heapless::Vec<NodeId, 200> = ids.iter().map(|&id| NodeId(id)).collect();
        RingOrder::new(&ids)
    }

    fn set(positions: &[u8]) -> Members {
        positions.iter().fold(Members::default(), |set, &position| set.with(Position(position)))
    }

    #[test]
    fn a_ring_names_everybody_once() {
        assert_eq!(order(&[]), Err(RingOrderError::Empty));
        assert_eq!(order(&[4, 7, 4]), Err(RingOrderError::Twice(NodeId(4))));
        let long: heapless::Vec<u16, 200> = (0..129).collect();
        assert_eq!(order(&long), Err(RingOrderError::TooLong));
        assert!(order(&long[..128]).is_ok());
    }

    #[test]
    fn successors_go_around_and_stop_before_oneself() {
        let Ok(ring) = order(&[5, 2, 9, 4]) else { panic!("a ring of four") };
        let after = |id| ring.after(NodeId(id)).map(|id| id.0).collect::<heapless::Vec<u16, 8>>();
        assert_eq!(after(9), [4, 5, 2]);
        assert_eq!(after(4), [5, 2, 9]);
    }

    #[test]
    fn the_highest_of_a_set_is_found_by_id_not_by_position() {
        let Ok(ring) = order(&[5, 2, 9, 4]) else { panic!("a ring of four") };
        assert_eq!(ring.highest(set(&[0, 3])), Some(NodeId(5)));
        assert_eq!(ring.highest(set(&[1, 2])), Some(NodeId(9)));
        assert_eq!(ring.highest(Members::default()), None);
        assert_eq!(set(&[1, 1, 127]).count(), 2);
    }

    #[test]
    fn sets_are_walked_in_order() {
        let all = set(&[127, 0, 64]);
        assert!(all.iter().eq([0, 64, 127].map(Position)));
        assert!(all.without(Position(64)).minus(set(&[0])).iter().eq([Position(127)]));
        assert!(all.minus(all).is_empty());
    }
}
