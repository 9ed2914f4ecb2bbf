//! Rings of nodes: who stands beside whom, and their links.

use common::protocol::Protocol;
use common::types::{NodeId, RingPlace};

use crate::index::NodeIndex;
use crate::net::Net;

/// The neighbours of a node on a ring of these ids.
pub fn place(ids: &[NodeId], node: NodeIndex) -> RingPlace {
    RingPlace { left: ids[node.left(ids.len())], right: ids[node.right(ids.len())] }
}

/// Joins each node of a network to the next one around; a node alone has nobody to join.
pub fn join<P: Protocol, const PEERS: usize>(net: &mut Net<P, PEERS>) {
    let count = net.len();
    net.nodes().filter(|_| count > 1).for_each(|node| net.join(node, node.right(count)));
}
