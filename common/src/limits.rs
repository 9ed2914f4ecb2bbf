//! Every capacity of the core, its reason, and the relations between them.

/// Neighbours a board keeps links to. Sixteen covers the degree at which a random geometric network is
/// connected with high probability, and fits the one-frame neighbour list of a hello.
pub const NEIGHBOURS_MAX: usize = 16;

/// Members of a configured ring. A bitmap of this size still fits a frame beside its header.
pub const RING_MAX: usize = 128;

/// Levels of the leaders' hierarchy below the global leader.
pub const LEVELS_MAX: usize = 3;

/// The largest radius of a level. A head that is gone is forgotten after as many hops, so a larger one only makes a
/// slower network.
pub const RADIUS_MAX: u8 = 15;

/// Peers a driver may give one engine: the width of [`crate::peers::PeerSet`].
pub const PEERS_MAX: usize = 128;

/// Commands one handler call may issue. The busiest handler (FRLLE joining an election) issues six.
pub const OUTBOX_MAX: usize = 8;

/// Messages waiting in an engine between a handler and the driver's next poll. Drivers drain after every
/// call, so two handlers' worth is ample.
pub const SENDS_MAX: usize = 16;

/// Notices waiting for the driver; the newest are dropped and counted when it does not collect them.
pub const NOTICES_MAX: usize = 16;

/// Timer kinds one protocol may declare.
pub const TIMERS_MAX: usize = 4;

/// Bytes of the largest encoded election message: what is left of a 127-byte frame after MAC header,
/// link header, tag and checksum.
pub const MESSAGE_MAX: usize = 96;

const _: () = assert!(NEIGHBOURS_MAX <= PEERS_MAX);
const _: () = assert!(RING_MAX <= 128, "ring members are a 128-bit map");
const _: () = assert!(PEERS_MAX <= 128, "a peer set is a 128-bit map");
const _: () = assert!(OUTBOX_MAX <= SENDS_MAX);
