//! Every capacity of the core, its reason, and the relations between them.

/// Neighbours a board keeps links to. Sixteen covers the degree at which a random geometric network is
/// connected with high probability, and fits the one-frame neighbour list of a hello.
pub const NEIGHBOURS_MAX: usize = 16;

/// Members of a configured ring. A bitmap of this size still fits a frame beside its header.
pub const RING_MAX: usize = 128;

/// Members of a ring that a node keeps routes to. A hello has room for news of nine of them, and an election
/// among 64 takes a second on the air.
pub const MEMBERS_MAX: usize = 64;

/// Levels of the leaders' hierarchy below the global leader.
pub const LEVELS_MAX: usize = 3;

/// The largest radius of a level. A head that is gone is forgotten after this many hops, so a larger radius only
/// makes the network slower.
pub const RADIUS_MAX: u8 = 15;

/// Peers a driver may give one engine: the width of [`crate::peers::PeerSet`].
pub const PEERS_MAX: usize = 128;

/// Commands one handler call may issue. The busiest handler (FRLLE joining an election) issues six.
pub const OUTBOX_MAX: usize = 8;

/// Messages waiting in an engine between a handler and the driver's next poll. Drivers drain after every call, so one
/// handler's worth is enough.
pub const SENDS_MAX: usize = 8;

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

/// Slots in the neighbour table: the links, and a few more for nodes without a link. Without those a full table would be
/// deaf to the nodes that it must let in.
pub const TABLE_MAX: usize = NEIGHBOURS_MAX + 4;

/// Neighbours whose last frame number is kept after they are forgotten: as many as a network has that comes and goes together,
/// in a hundred bytes.
pub const FORGOTTEN_MAX: usize = 12;

/// Messages waiting to be sent or acknowledged, over all links.
pub const POOL_MAX: usize = 24;

/// Bytes of the longest message that a link carries: an election message, what the ring adds to it, and what it is for.
pub const PARCEL_MAX: usize = 40;

/// Messages in one frame.
pub const BUNDLE_MAX: usize = 4;

/// Neighbours named in one frame that carries messages: what four bits count.
pub const NAMED_MAX: usize = 15;

/// Neighbours named in one hello: a hello with sixteen names is the longest frame there is.
pub const HELLO_NAMES_MAX: usize = 16;

/// Links that a node wants of its own accord: every message goes to all of them, and the slowest decides. More come up only
/// where they must, because a neighbour follows another leader or stands beside this node on the ring.
pub const LINKS_ENOUGH: usize = 6;

/// Neighbours named in a hello that also tells of the ring, and so the links of a node in ring mode.
pub const RING_NAMES_MAX: usize = 10;

/// Actions that a node remembers, so that it carries out none of them twice. They are rare, and old after a minute.
pub const ACTIONS_MAX: usize = 8;

/// Actions that a node is about to carry out; more are dropped and counted.
pub const DEEDS_MAX: usize = 4;

/// Commands of one node that have no outcome yet; more are refused.
pub const SUBMISSIONS_MAX: usize = 4;

/// Commands, results and reports of others that wait to be passed on. Those that find no room are dropped and counted, and
/// their origins send again.
pub const RELAYED_MAX: usize = 8;

/// Origins of commands that a node knows the way back to.
pub const PATHS_MAX: usize = 8;

/// Commands that a leader remembers having ordered, so that it orders none of them twice.
pub const MARKS_MAX: usize = 16;

/// Nodes of which a leader knows how far they have come: as many as a ring may have members.
pub const ROSTER_MAX: usize = MEMBERS_MAX;

/// Bytes of an item of a board's journal: as long as the flash takes at once.
#[cfg(feature = "journal")]
pub const JOURNAL_ITEM_MAX: usize = 120;

const _: () = assert!(TABLE_MAX <= 32, "a set of slots in the table is 32 bits");
const _: () = assert!(PARCEL_MAX <= MESSAGE_MAX);

/// Bytes of a block of samples: what is left of a frame beside headers and tag.
pub const BLOCK_MAX: usize = 93;

/// Commits in one frame.
pub const COMMITS_MAX: usize = 11;

/// DATA frames that wait at a node: its own and those of others. A full queue refuses frames, and their senders wait.
pub const DATA_QUEUE_MAX: usize = 8;

/// Commits that wait at a node. Those that find no room are dropped and counted; the block comes again, and its commit too.
pub const COMMITS_WAITING_MAX: usize = 16;

/// Origins that a leader keeps marks of. Blocks of more are not taken, and counted.
pub const ORIGINS_MAX: usize = 64;

/// Blocks of one origin under way at once.
pub const WINDOW_MAX: usize = 4;

/// Blocks of others that a node remembers having taken, so that one whose acknowledgement was lost is not passed on twice.
pub const TAKEN_MAX: usize = 32;

/// Questions to everybody that a node passes on at once. Of more, the oldest is forgotten, and its asker asks again.
pub const QUESTIONS_MAX: usize = 2;

const _: () = assert!(WINDOW_MAX <= 16, "a commit and a mark have 16 bits");
