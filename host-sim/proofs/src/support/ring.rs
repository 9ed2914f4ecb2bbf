//! Rings for the ring algorithms.

use common::election::circle::RingConfig;
use common::time::Duration;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::ring;

/// A ring configuration that never times out.
pub fn patient(ids: &[NodeId], at: NodeIndex) -> RingConfig {
    RingConfig { place: ring::place(ids, at), patience: Duration::ZERO }
}
