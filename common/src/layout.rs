//! How much memory each algorithm takes, the same on board and PC.
//!
//! Every number of the table is asserted while this crate is compiled, whatever it is compiled for. Both builds check
//! the same numbers, so the sizes that a PC prints are the sizes on the board.

use postcard::experimental::max_size::MaxSize;
use serde::Serialize;

use crate::election::Election;
#[cfg(feature = "comparison")]
use crate::election::abraham::Abraham;
use crate::election::bully::Bully;
use crate::election::frlle::Frlle;
use crate::election::height::HeightElection;
use crate::election::hierarchy::Hierarchy;
use crate::election::hs::Hs;
use crate::election::lcr::Lcr;
#[cfg(feature = "comparison")]
use crate::election::modified_bully::ModifiedBully;
use crate::election::ring::Ring;
#[cfg(feature = "comparison")]
use crate::election::timer_based::TimerBased;
use crate::engine::Engine;
use crate::limits::{MESSAGE_MAX, NEIGHBOURS_MAX};
use crate::names::{Algorithm, HAS_COMPARISON};
use crate::node::Node;
use crate::protocol::Protocol;

/// The most that a node of the height algorithm may take for its state, neighbours included, in bytes.
pub const HEIGHT_STATE_MAX: usize = 768;

/// The most that a whole node may take: neighbours, links, messages waiting, ring, election, orders and collection, in bytes. Orders
/// take 2,320 of it, sessions that cannot be replayed 112, and collection four kilobytes: frames that wait, marks of 64 origins and
/// the ways back to them.
pub const NODE_MAX: usize = 13 * 1_024;

/// What a whole node with room for [`NEIGHBOURS_MAX`] links takes, in bytes.
pub const NODE: usize = 13112;

/// The sizes of one algorithm, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub name: &'static str,
    /// The state of one node, as set up for [`NEIGHBOURS_MAX`] neighbours.
    pub state: usize,
    /// The largest encoded message.
    pub encoded_max: usize,
    /// A message in memory.
    pub message: usize,
    /// The engine around the state, with room for [`NEIGHBOURS_MAX`] links.
    pub engine: usize,
}

/// The sizes of every algorithm in this build, and last of all algorithms behind one type, which is what a board runs.
pub const LAYOUT: &[Row] = &[
    row::<Hs>(Algorithm::Hs.title(), [40, 16, 12, 480]),
    row::<HeightElection>(Algorithm::Height.title(), [352, 25, 24, 888]),
    row::<Hierarchy>(Algorithm::Hierarchy.title(), [560, 31, 36, 1192]),
    row::<Frlle>(Algorithm::Frlle.title(), [64, 22, 20, 568]),
    row::<Bully>(Algorithm::Bully.title(), [32, 1, 1, 384]),
    row::<Ring>(Algorithm::Ring.title(), [296, 29, 24, 832]),
    row::<Lcr>(Algorithm::Lcr.title(), [24, 9, 8, 432]),
    #[cfg(feature = "comparison")]
    row::<TimerBased>(Algorithm::TimerBased.title(), [40, 11, 8, 448]),
    #[cfg(feature = "comparison")]
    row::<ModifiedBully>(Algorithm::ModifiedBully.title(), [40, 1, 1, 392]),
    #[cfg(feature = "comparison")]
    row::<Abraham>(Algorithm::Abraham.title(), [40, 14, 12, 480]),
    row::<Election>("Election", [560, 32, 36, 1192]),
];

const _: () = assert!(size_of::<Node>() == NODE, "a node has another size");
const _: () = assert!(NODE <= NODE_MAX, "a node outgrew its bar");
const _: () = assert!(!HAS_COMPARISON || LAYOUT.len() == Algorithm::ALL.len() + 1, "every algorithm has a row");
const _: () = assert!(size_of::<HeightElection>() <= HEIGHT_STATE_MAX, "the height algorithm outgrew its bar");

/// The sizes of one algorithm, checked: its state, its largest encoded message, its message in memory, its engine.
const fn row<P: Protocol>(name: &'static str, [state, encoded_max, message, engine]: [usize; 4]) -> Row {
    assert!(size_of::<P>() == state, "the state of this algorithm has another size");
    assert!(<P::Msg as MaxSize>::POSTCARD_MAX_SIZE == encoded_max, "its largest message has another size");
    assert!(size_of::<P::Msg>() == message, "its message in memory has another size");
    assert!(size_of::<Engine<P, NEIGHBOURS_MAX>>() == engine, "its engine has another size");
    assert!(encoded_max <= MESSAGE_MAX, "its largest message does not fit a frame");
    Row { name, state, encoded_max, message, engine }
}
