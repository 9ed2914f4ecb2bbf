//! Leader election for boards that find each other by radio: the core.
//!
//! `no_std`, without a heap, and without input or output of its own: bytes and time go in, bytes and deadlines come out.
//! The firmware and the simulator are thin drivers of the very same calls.
//!
//! # The driver contract
//!
//! An [`Engine`](engine::Engine) runs one [`Protocol`](protocol::Protocol), an election algorithm, over links that somebody
//! else keeps. The driver
//!
//! 1. tells it what happens, with the time: `handle_start`, `handle_link_up`, `handle_link_down`, `handle_message`,
//!    `handle_signal`, `handle_timeout`;
//! 2. after each of these collects what it wants, in this order and until there is nothing more: `poll_transmit` (bytes for
//!    a peer), `poll_notice` (what happened), `poll_timeout` (when to call `handle_timeout`; once, it has no effect).
//!
//! Time never goes back and is never read, only told. A link is FIFO and reliable between its up and its down; both
//! ends may learn of either at different moments. The same seed and the same calls give the same bytes.
//!
//! # When something is full
//!
//! Every queue has a named capacity in [`limits`], and running into it has one of four grades:
//!
//! 1. *Impossible by construction*: timers (one slot per kind), the size of a message (checked when it compiles).
//! 2. *A defect*: a handler asks for more than [`limits::OUTBOX_MAX`] things, or sends where no link is. None of its
//!    commands is applied; [`Notice::Fault`](notice::Notice::Fault). A simulator fails the run, a board logs and resets.
//! 3. *A condition*: the send queue is full because the driver did not collect. A reliable link may not skip a message, so
//!    the link ends: [`Notice::LinkEnded`](notice::Notice::LinkEnded). A full peer table refuses the newcomer:
//!    [`Notice::PeerRefused`](notice::Notice::PeerRefused).
//! 4. *Best effort*: notices. The newest are dropped and counted: [`Notice::Lost`](notice::Notice::Lost).
//!
//! # Example
//!
//! Two nodes meet, agree on a leader, and part again. Everything a driver does is here.
//!
//! ```
//! use common::election::height::{HeightElection, HeightOptions};
//! use common::engine::Engine;
//! use common::limits::MESSAGE_MAX;
//! use common::protocol::Protocol;
//! use common::time::Instant;
//! use common::types::NodeId;
//!
//! type Node = Engine<HeightElection>;
//!
//! /// Carries everything that one node wants to say to the other; true when there was something.
//! fn carry(now: Instant, from: &mut Node, to: &mut Node) -> bool {
//!     let mut buf = [0; MESSAGE_MAX];
//!     let mut carried = false;
//!     while let Some(transmit) = from.poll_transmit(&mut buf) {
//!         assert_eq!(transmit.to, to.id());
//!         to.handle_message(now, from.id(), transmit.bytes);
//!         carried = true;
//!     }
//!     while let Some(notice) = from.poll_notice() {
//!         println!("{:?} at node {}: {notice:?}", now, from.id());
//!     }
//!     carried
//! }
//!
//! let node = |id| Node::new(NodeId(id), 42, HeightElection::new(NodeId(id), HeightOptions::default()));
//! let (mut a, mut b) = (node(1), node(2));
//! let now = Instant::ZERO;
//! a.handle_start(now);
//! b.handle_start(now);
//! assert_eq!(b.protocol().leader(), Some(NodeId(2)), "alone, a node leads itself");
//!
//! let now = Instant::from_millis(10);
//! a.handle_link_up(now, b.id()).unwrap();
//! b.handle_link_up(now, a.id()).unwrap();
//! while carry(now, &mut a, &mut b) | carry(now, &mut b, &mut a) {}
//! assert_eq!(a.protocol().leader(), Some(NodeId(1)));
//! assert_eq!(b.protocol().leader(), Some(NodeId(1)), "together they follow one of them");
//!
//! let now = Instant::from_millis(20);
//! b.handle_link_down(now, a.id());
//! assert_eq!(b.protocol().leader(), Some(NodeId(2)), "left alone, it elects itself again");
//! assert_eq!(a.poll_timeout(), None, "this algorithm needs no timers");
//! ```
#![no_std]

#[cfg(test)]
extern crate std;

mod bits;
pub mod board;
pub mod causal_clock;
pub mod coefficient;
pub mod config;
pub mod election;
pub mod engine;
pub mod host_link;
pub mod layout;
pub mod limits;
pub mod link;
pub mod mac;
pub mod members;
pub mod names;
pub mod node;
pub mod notice;
pub mod outbox;
pub mod peers;
pub mod protocol;
pub mod ring;
pub mod rng;
pub mod time;
pub mod timer;
pub mod types;

/// No room: what a bounded container answers instead of growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Full;
