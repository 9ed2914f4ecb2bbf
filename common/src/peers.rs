//! Who is at the other end of an up link, and sets of them.

use heapless::Vec;

use crate::Full;
use crate::bits::Bits;
use crate::limits::PEERS_MAX;
use crate::types::NodeId;

/// A set of places in a [`PeerTable`]. It moves with the table: inserting or removing a peer shifts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PeerSet(Bits);

impl PeerSet {
    pub const EMPTY: Self = Self(Bits::NONE);

    pub fn insert(&mut self, place: usize) {
        debug_assert!(place < PEERS_MAX);
        self.0.insert(place);
    }

    pub fn remove(&mut self, place: usize) {
        self.0.remove(place);
    }

    /// Takes all places of another set out.
    pub fn subtract(&mut self, other: Self) {
        self.0 = Bits::new(self.0.number() & !other.0.number());
    }

    /// Whether a place is in the set.
    pub fn contains(self, place: usize) -> bool {
        self.0.contains(place)
    }

    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The lowest place in the set.
    pub fn first(self) -> Option<usize> {
        if self.is_empty() { None } else { usize::try_from(self.0.number().trailing_zeros()).ok() }
    }

    /// Makes room at `place`: everything from there on moves up by one.
    fn open(&mut self, place: usize) {
        let bits = self.0.number();
        let (low, high) = (bits & below(place), bits & !below(place));
        self.0 = Bits::new(low | high.wrapping_shl(1));
    }

    /// Closes `place`: what was there is gone and everything behind it moves down by one.
    fn close(&mut self, place: usize) {
        let bits = self.0.number();
        let (low, high) = (bits & below(place), (bits >> 1) & !below(place));
        self.0 = Bits::new(low | high);
    }
}

fn below(place: usize) -> u128 {
    if place < PEERS_MAX { (1_u128 << place) - 1 } else { u128::MAX }
}

/// The peers whose link is up, in ascending order. Sorted, so that two nodes with the same links are in the same
/// state however those links came up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerTable<const N: usize> {
    ids: Vec<NodeId, N, u8>,
}

impl<const N: usize> Default for PeerTable<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> PeerTable<N> {
    const FITS: () = assert!(N <= PEERS_MAX, "a peer set is too narrow for this table");

    pub const fn new() -> Self {
        let () = Self::FITS;
        Self { ids: Vec::new() }
    }

    /// The peers in ascending order.
    pub fn as_slice(&self) -> &[NodeId] {
        &self.ids
    }

    /// Where a peer stands.
    pub fn place(&self, id: NodeId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The peer at a place.
    pub fn get(&self, place: usize) -> Option<NodeId> {
        self.ids.get(place).copied()
    }

    /// Adds a peer and shifts `sets` along. True when it was not there before.
    pub fn insert<'s>(&mut self, id: NodeId, sets: impl Iterator<Item = &'s mut PeerSet>) -> Result<bool, Full> {
        let Err(place) = self.ids.binary_search(&id) else { return Ok(false) };
        self.ids.insert(place, id).map_err(|_| Full)?;
        sets.for_each(|set| set.open(place));
        Ok(true)
    }

    /// Takes a peer out, and out of all `sets`. True when it was there.
    pub fn remove<'s>(&mut self, id: NodeId, sets: impl Iterator<Item = &'s mut PeerSet>) -> bool {
        let Ok(place) = self.ids.binary_search(&id) else { return false };
        self.ids.remove(place);
        sets.for_each(|set| set.close(place));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{PeerSet, PeerTable};
    use crate::Full;
    use crate::types::NodeId;

    #[test]
    fn sets_follow_their_table() {
        let mut table = PeerTable::<4>::new();
        for id in [30, 10] {
            assert_eq!(table.insert(NodeId(id), core::iter::empty()), Ok(true));
        }
        let mut set = PeerSet::EMPTY;
        set.insert(1); // peer 30
        assert_eq!(table.insert(NodeId(20), core::iter::once(&mut set)), Ok(true));
        assert!(set.contains(2) && !set.contains(1), "peer 30 moved up");
        assert!(table.remove(NodeId(10), core::iter::once(&mut set)));
        assert_eq!(set.first(), Some(1), "peer 30 moved down");
        assert!(table.remove(NodeId(30), core::iter::once(&mut set)));
        assert!(set.is_empty(), "a peer that left is in no set");
    }

    #[test]
    fn full_is_a_value_and_changes_nothing() {
        let mut table = PeerTable::<1>::new();
        assert_eq!(table.insert(NodeId(1), core::iter::empty()), Ok(true));
        assert_eq!(table.insert(NodeId(2), core::iter::empty()), Err(Full));
        assert_eq!(table.insert(NodeId(1), core::iter::empty()), Ok(false));
        assert_eq!(table.as_slice(), [NodeId(1)]);
    }

    #[test]
    fn the_last_place_works() {
        let mut set = PeerSet::EMPTY;
        set.insert(127);
        assert_eq!(set.first(), Some(127));
        set.close(0);
        assert_eq!(set.first(), Some(126));
    }
}
