//! Rings for the ring algorithms.

use common::election::circle::RingConfig;
use common::protocol::Protocol;
use common::time::Duration;
use common::types::{NodeId, RingPlace};
use ideal::net::Net;

/// The neighbours of the node at an index on a ring of these ids.
pub fn place(ids: &[NodeId], at: usize) -> RingPlace {
    let n = ids.len();
    RingPlace { left: ids[(at + n - 1) % n], right: ids[(at + 1) % n] }
}

/// Links each node to the next one around.
pub fn join_ring<P: Protocol, const PEERS: usize>(net: &mut Net<P, PEERS>) {
    let n = net.len();
    (0..n).filter(|_| n > 1).for_each(|at| net.join(at, (at + 1) % n));
}

/// A ring configuration that never times out.
pub fn patient(ids: &[NodeId], at: usize) -> RingConfig {
    RingConfig { place: place(ids, at), patience: Duration::ZERO }
}
