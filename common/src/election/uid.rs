//! What HS compares.

use core::fmt::Debug;
use core::hash::Hash;

use postcard::experimental::max_size::MaxSize;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::types::NodeId;

/// Boards use their [`NodeId`]; a simulation of a million nodes needs more of them.
pub trait Uid: Copy + Debug + Ord + Hash + Serialize + DeserializeOwned + MaxSize {
    /// The node of this uid, where uids are node ids.
    fn node(self) -> Option<NodeId>;

    /// The uid of a node.
    fn of(node: NodeId) -> Option<Self>;
}

impl Uid for NodeId {
    fn node(self) -> Option<NodeId> {
        Some(self)
    }

    fn of(node: NodeId) -> Option<Self> {
        Some(node)
    }
}

impl Uid for u32 {
    fn node(self) -> Option<NodeId> {
        u16::try_from(self).ok().map(NodeId)
    }

    fn of(node: NodeId) -> Option<Self> {
        Some(node.0.into())
    }
}
