//! Leader election for boards that find each other by radio: the core.
//!
//! `no_std`, without a heap, and without input or output of its own: frames and time go in, frames and deadlines come out.
//! A [`Node`](node::Node) is the whole of it, from discovery to the elected leader; the firmware and the simulator are thin
//! drivers of the very same calls.
//!
//! # The driver contract
//!
//! The driver has a radio, a clock and something that keeps two bytes over a restart. It
//!
//! 1. makes a node from a checked [`Config`](config::Config) and the epoch of this boot, one more than at the last, which it
//!    has stored *before*. Without an epoch, because storing it failed, the node only listens;
//! 2. tells it what happens, with the time: `handle_start`, `handle_frame`, `handle_sent`, `handle_timeout`,
//!    `handle_signal`, `handle_epoch`;
//! 3. after each of these asks, in this order: [`poll_transmit`](node::Node::poll_transmit) until there is nothing more or
//!    the radio is busy, [`poll_notice`](node::Node::poll_notice) until there is nothing more,
//!    [`poll_timeout`](node::Node::poll_timeout) once.
//!
//! A received frame is decrypted where it stands. Its acknowledgement is urgent, so the first `poll_transmit` gives that, and
//! only the next poll works out what else the frame means.
//!
//! Time never goes back and is never read, only told. The same seed and the same calls give the same bytes.
//!
//! A frame that was given out is the driver's until it is through. It is sent after carrier sensing
//! ([`Access::Csma`](mac::Access::Csma)), one at a time, and [`handle_sent`](node::Node::handle_sent) tells the node what
//! became of it; or at a given time without ([`Access::At`](mac::Access::At)). Only acknowledgements are sent that way, and
//! the node does not ask what became of them. A driver whose frame waits for a clear channel keeps asking, gets only
//! acknowledgements, and does not assess the channel before [`quiet_until`](node::Node::quiet_until). The bytes are what
//! stands between the length and the checksum of the physical layer; the radio adds and checks the latter.
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
//! Two nodes meet, agree on a leader, and part again. The ether loses nothing, and one frame is on it at a time.
//!
//! ```
//! use common::config::{Boot, Config, Protection};
//! use common::mac::phy::{FRAME_MAX, airtime};
//! use common::mac::{Access, Sent, Transmit};
//! use common::node::Node;
//! use common::time::Instant;
//! use common::types::NodeId;
//!
//! /// Everything a driver does for a node after a call; true when a frame was sent.
//! fn carry(now: &mut Instant, from: &mut Node, to: &mut Node, in_range: bool) -> bool {
//!     let mut frame = [0; FRAME_MAX];
//!     let mut carried = false;
//!     while let Some(Transmit { length, access }) = from.poll_transmit(*now, &mut frame) {
//!         match access {
//!             Access::At(at) => *now = at + airtime(length),
//!             Access::Csma => {
//!                 *now = *now + airtime(length);
//!                 from.handle_sent(*now, Sent::Done);
//!             }
//!         }
//!         if in_range {
//!             to.handle_frame(*now, &mut frame[..length], -60);
//!         }
//!         carried = true;
//!     }
//!     while let Some(notice) = from.poll_notice() {
//!         println!("{} ms, node {}: {notice:?}", now.as_millis(), from.id());
//!     }
//!     carried
//! }
//!
//! fn run(now: &mut Instant, until: Instant, a: &mut Node, b: &mut Node, in_range: bool) {
//!     while *now < until {
//!         while carry(now, a, b, in_range) | carry(now, b, a, in_range) {}
//!         let next = [a.poll_timeout(), b.poll_timeout()].into_iter().flatten().min();
//!         *now = next.map_or(until, |next| next.max(*now));
//!         a.handle_timeout(*now);
//!         b.handle_timeout(*now);
//!     }
//! }
//!
//! let node = |id: u16| {
//!     let config = Config::ad_hoc(NodeId(id), 7, Protection::Open);
//!     Node::new(&config, Boot { epoch: Some(1), seed: 42 + u64::from(id), device: id }).unwrap()
//! };
//! let (mut a, mut b) = (node(1), node(2));
//! let mut now = Instant::ZERO;
//! a.handle_start(now);
//! b.handle_start(now);
//! assert_eq!(b.leader(), Some(NodeId(2)), "alone, a node leads itself");
//!
//! run(&mut now, Instant::from_millis(5_000), &mut a, &mut b, true);
//! assert!(a.links().table().is_linked(b.id()));
//! assert_eq!(a.leader(), b.leader(), "together they follow one of them");
//!
//! run(&mut now, Instant::from_millis(15_000), &mut a, &mut b, false);
//! assert_eq!((a.leader(), b.leader()), (Some(a.id()), Some(b.id())), "left alone, each elects itself again");
//! ```
#![no_std]

#[cfg(test)]
extern crate std;

mod bits;
pub mod board;
pub mod causal_clock;
mod checksum;
pub mod coefficient;
pub mod config;
pub mod data;
pub mod election;
pub mod engine;
pub mod host_link;
pub mod layout;
pub mod limits;
pub mod link;
#[cfg(feature = "defmt")]
mod log;
pub mod mac;
pub mod members;
pub mod names;
pub mod node;
pub mod notice;
pub mod orders;
pub mod outbox;
pub mod peers;
pub mod protocol;
pub mod quantity;
pub mod ring;
pub mod rng;
mod short_list;
pub mod time;
pub mod timer;
pub mod types;

/// No room: what a bounded container answers instead of growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Full;
