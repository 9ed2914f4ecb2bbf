//! Who is at the other end of an up link, and sets of them.

use heapless::Vec;

use crate::Full;
use crate::bits::Bits;
use crate::limits::PEERS_MAX;
use crate::types::NodeId;

/// A peer by its slot in a [`PeerTable`], counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerIndex(pub usize);

/// A set of indices in a [`PeerTable`]. It moves with the table: inserting or removing a peer shifts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PeerSet(Bits);

impl PeerSet {
    pub const EMPTY: Self = Self(Bits::NONE);

    pub fn insert(&mut self, index: PeerIndex) {
        debug_assert!(index.0 < PEERS_MAX);
        self.0.insert(index.0);
    }

    pub fn remove(&mut self, index: PeerIndex) {
        self.0.remove(index.0);
    }

    /// Takes all indices of another set out.
    pub fn subtract(&mut self, other: Self) {
        self.0 = Bits::new(self.0.number() & !other.0.number());
    }

    /// Whether an index is in the set.
    pub fn contains(self, index: PeerIndex) -> bool {
        self.0.contains(index.0)
    }

    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The lowest index in the set.
    pub fn first(self) -> Option<PeerIndex> {
        if self.is_empty() { None } else { usize::try_from(self.0.number().trailing_zeros()).ok().map(PeerIndex) }
    }

    /// Makes room at `index`: everything from there on moves up by one.
    fn open(&mut self, index: PeerIndex) {
        let bits = self.0.number();
        let (low, high) = (bits & below(index), bits & !below(index));
        self.0 = Bits::new(low | high.wrapping_shl(1));
    }

    /// Closes `index`: what was there is gone and everything behind it moves down by one.
    fn close(&mut self, index: PeerIndex) {
        let bits = self.0.number();
        let (low, high) = (bits & below(index), (bits >> 1) & !below(index));
        self.0 = Bits::new(low | high);
    }
}

fn below(index: PeerIndex) -> u128 {
    if index.0 < PEERS_MAX { (1_u128 << index.0) - 1 } else { u128::MAX }
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

    pub fn index_of(&self, id: NodeId) -> Option<PeerIndex> {
        self.ids.binary_search(&id).ok().map(PeerIndex)
    }

    pub fn get(&self, index: PeerIndex) -> Option<NodeId> {
        self.ids.get(index.0).copied()
    }

    /// Adds a peer and shifts `sets` along. True when it was not there before.
    pub fn insert<'s>(&mut self, id: NodeId, sets: impl Iterator<Item = &'s mut PeerSet>) -> Result<bool, Full> {
        let Err(index) = self.ids.binary_search(&id) else { return Ok(false) };
        self.ids.insert(index, id).map_err(|_| Full)?;
        sets.for_each(|set| set.open(PeerIndex(index)));
        Ok(true)
    }

    /// Takes a peer out, and out of all `sets`. True when it was there.
    pub fn remove<'s>(&mut self, id: NodeId, sets: impl Iterator<Item = &'s mut PeerSet>) -> bool {
        let Ok(index) = self.ids.binary_search(&id) else { return false };
        self.ids.remove(index);
        sets.for_each(|set| set.close(PeerIndex(index)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{PeerIndex, PeerSet, PeerTable};
    use crate::Full;
    use crate::types::NodeId;

    #[test]
    fn sets_follow_their_table() {
        let mut table = PeerTable::<4>::new();
        for id in [30, 10] {
            assert_eq!(table.insert(NodeId(id), core::iter::empty()), Ok(true));
        }
        let mut set = PeerSet::EMPTY;
        set.insert(PeerIndex(1)); // peer 30
        assert_eq!(table.insert(NodeId(20), core::iter::once(&mut set)), Ok(true));
        assert!(set.contains(PeerIndex(2)) && !set.contains(PeerIndex(1)), "peer 30 moved up");
        assert!(table.remove(NodeId(10), core::iter::once(&mut set)));
        assert_eq!(set.first(), Some(PeerIndex(1)), "peer 30 moved down");
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
    fn the_last_index_works() {
        let mut set = PeerSet::EMPTY;
        set.insert(PeerIndex(127));
        assert_eq!(set.first(), Some(PeerIndex(127)));
        set.close(PeerIndex(0));
        assert_eq!(set.first(), Some(PeerIndex(126)));
    }
}
