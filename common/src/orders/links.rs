//! The neighbours that orders go to, and how far each is known to have come.
//!
//! A link delivers in order while it is up. So whatever was sent over it will be known at the other end, unless the
//! link falls; then what is known of that end is forgotten.

use crate::Full;
use crate::limits::NEIGHBOURS_MAX;
use crate::types::NodeId;

/// A slot of the table of neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

/// A set of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peers(u32);

const _: () = assert!(NEIGHBOURS_MAX <= 32, "a set of neighbours is 32 bits");

impl Peers {
    pub const NOBODY: Self = Self(0);

    pub const fn of(slot: Slot) -> Self {
        Self(1 << (slot.0 & 31))
    }

    pub const fn contains(self, slot: Slot) -> bool {
        self.0 & Self::of(slot).0 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    pub id: NodeId,
    /// Up to which order of this node's newest mandate it has, or is about to get, everything.
    pub covered: u16,
    /// Whether it was told this node's newest stamp since the link came up, or the mandate changed.
    pub is_told: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Links {
    peers: [Option<Peer>; NEIGHBOURS_MAX],
    /// Who is to be told this node's newest stamp.
    pub sync_due: Peers,
}

impl Links {
    pub const fn new() -> Self {
        Self { peers: [None; NEIGHBOURS_MAX], sync_due: Peers::NOBODY }
    }

    pub fn find(&self, id: NodeId) -> Option<Slot> {
        self.peers.iter().position(|peer| peer.is_some_and(|peer| peer.id == id)).map(Slot)
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Peer> {
        self.peers.get_mut(slot.0)?.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Peer)> {
        self.peers.iter().enumerate().filter_map(|(at, peer)| Some((Slot(at), peer.as_ref()?)))
    }

    pub fn all(&self) -> Peers {
        self.iter().fold(Peers::NOBODY, |set, (slot, _)| set.with(Peers::of(slot)))
    }

    pub fn is_among(&self, set: Peers, id: NodeId) -> bool {
        self.find(id).is_some_and(|slot| set.contains(slot))
    }

    /// A link is up: nothing is known of its other end.
    pub fn add(&mut self, id: NodeId) -> Result<Slot, Full> {
        let slot = self.find(id).or_else(|| self.peers.iter().position(Option::is_none).map(Slot)).ok_or(Full)?;
        if let Some(peer) = self.peers.get_mut(slot.0) {
            *peer = Some(Peer { id, covered: 0, is_told: false });
        }
        Ok(slot)
    }

    pub fn remove(&mut self, slot: Slot) {
        if let Some(peer) = self.peers.get_mut(slot.0) {
            *peer = None;
        }
        self.sync_due = self.sync_due.without(Peers::of(slot));
    }

    /// Under another mandate nobody is known to have anything.
    pub fn begin_anew(&mut self) {
        self.peers.iter_mut().flatten().for_each(|peer| (peer.covered, peer.is_told) = (0, false));
    }
}
