//! Runs one [`Protocol`], an election algorithm, over links that somebody else keeps.
//!
//! The driver, which is a node or an ideal network,
//!
//! 1. tells it what happens, with the time: `handle_start`, `handle_link_up`, `handle_link_down`, `handle_message`,
//!    `handle_signal`, `handle_timeout`;
//! 2. after each of these collects what it wants, in this order and until there is nothing more: `poll_transmit` (bytes for
//!    a peer), `poll_notice` (what happened), `poll_timeout` (when to call `handle_timeout`; once, it has no effect). A driver
//!    that has no room for all of `poll_transmit` lets everything else wait while `has_words`.
//!
//! A link is FIFO and reliable between its up and its down; both ends may learn of either at different moments.
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

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;

use crate::Full;
use crate::limits::{MESSAGE_MAX, NEIGHBOURS_MAX, SENDS_MAX};
use crate::notice::{Fault, Notice, NoticeQueue, Reason};
use crate::outbox::{Command, Dest, Outbox};
use crate::peers::{PeerIndex, PeerSet, PeerTable};
use crate::protocol::{Cx, Happening, Message, Protocol, Signal};
use crate::rng::Rng;
use crate::short_list::retain;
use crate::time::Instant;
use crate::timer::TimerTable;
use crate::types::NodeId;

/// A message on its way out, with everybody who is still to get it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Outgoing<M> {
    to: PeerSet,
    msg: M,
}

/// An encoded message for one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<'b> {
    /// Who is to get it.
    pub to: NodeId,
    pub bytes: &'b [u8],
}

/// A protocol with its links, timers, randomness and outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Engine<P: Protocol, const PEERS: usize = NEIGHBOURS_MAX> {
    id: NodeId,
    protocol: P,
    peers: PeerTable<PEERS>,
    timers: TimerTable,
    rng: Rng,
    sends: Vec<Outgoing<P::Msg>, SENDS_MAX, u8>,
    notices: NoticeQueue,
}

impl<P: Protocol, const PEERS: usize> Engine<P, PEERS> {
    const MESSAGE_FITS: () =
        assert!(<P::Msg as MaxSize>::POSTCARD_MAX_SIZE <= MESSAGE_MAX, "a message does not fit a frame");

    /// A node that has not started. Links may be brought up before [`handle_start`](Self::handle_start).
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn new(id: NodeId, seed: u64, protocol: P) -> Self {
        let () = Self::MESSAGE_FITS;
        Self {
            id,
            protocol,
            peers: PeerTable::new(),
            timers: TimerTable::new(),
            rng: Rng::stream(seed, u64::from(id.0)),
            sends: Vec::new(),
            notices: NoticeQueue::new(),
        }
    }

    /// Adds a link that was up before the node started; the protocol finds it in its first [`Cx::peers`].
    pub fn with_peer(mut self, peer: NodeId) -> Result<Self, Full> {
        self.add_peer(peer)?;
        Ok(self)
    }

    /// As [`Engine::with_peer`], in place.
    pub fn add_peer(&mut self, peer: NodeId) -> Result<(), Full> {
        self.peers.insert(peer, core::iter::empty()).map(|_| ())
    }

    pub fn handle_start(&mut self, now: Instant) {
        self.run(now, Happening::Start);
    }

    /// A link came up. Coming up twice is harmless; a full table refuses the peer and says so.
    pub fn handle_link_up(&mut self, now: Instant, peer: NodeId) -> Result<(), Full> {
        match self.peers.insert(peer, self.sends.iter_mut().map(|sent| &mut sent.to)) {
            Ok(true) => self.run(now, Happening::LinkUp(peer)),
            Ok(false) => {}
            Err(Full) => {
                self.notices.push(Notice::PeerRefused(peer));
                return Err(Full);
            }
        }
        Ok(())
    }

    /// A link went down: what was not yet collected for that peer is gone. Going down twice is harmless.
    pub fn handle_link_down(&mut self, now: Instant, peer: NodeId) {
        if self.drop_peer(peer) {
            self.run(now, Happening::LinkDown(peer));
        }
    }

    /// Bytes arrived over an up link. Anything that is not exactly one message is dropped and told.
    pub fn handle_message(&mut self, now: Instant, from: NodeId, bytes: &[u8]) {
        match postcard::take_from_bytes::<P::Msg>(bytes) {
            Ok((msg, [])) => self.handle_decoded(now, from, msg),
            _ => self.notices.push(Notice::BadMessage(from)),
        }
    }

    /// A message arrived over an up link, already decoded.
    pub fn handle_decoded(&mut self, now: Instant, from: NodeId, msg: P::Msg) {
        if self.peers.index_of(from).is_none() {
            self.notices.push(Notice::NotAPeer(from));
            self.run(now, Happening::Stranger(from, msg));
            return;
        }
        self.run(now, Happening::Message(from, msg));
    }

    /// Something else happened.
    pub fn handle_signal(&mut self, now: Instant, signal: Signal) {
        self.run(now, Happening::Signal(signal));
    }

    /// The time [`poll_timeout`](Self::poll_timeout) asked for has come. Spurious calls are harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        for timer in self.timers.take_due::<P::Timer>(now) {
            self.run(now, Happening::Timer(timer));
        }
    }

    /// The next message to send, for one peer, encoded into `buf`.
    pub fn poll_transmit<'b>(&mut self, buf: &'b mut [u8; MESSAGE_MAX]) -> Option<Transmit<'b>> {
        let (to, msg) = self.poll_decoded()?;
        // The message's largest encoding was compared with the buffer at compile time.
        let bytes = postcard::to_slice(&msg, buf).ok()?;
        Some(Transmit { to, bytes })
    }

    /// The next message to send, for one peer, not encoded.
    pub fn poll_decoded(&mut self) -> Option<(NodeId, P::Msg)> {
        loop {
            let front = self.sends.first_mut()?;
            if let Some(index) = front.to.first() {
                front.to.remove(index);
                if let Some(peer) = self.peers.get(index) {
                    return Some((peer, front.msg.clone()));
                }
            } else {
                self.sends.remove(0);
            }
        }
    }

    /// The next message to send, not encoded, with everybody who is to get it: a radio reaches them all with one frame.
    pub fn poll_group(&mut self) -> Option<(Vec<NodeId, PEERS, u8>, P::Msg)> {
        loop {
            if self.sends.is_empty() {
                return None;
            }
            let Outgoing { mut to, msg } = self.sends.remove(0);
            let mut peers = Vec::new();
            while let Some(index) = to.first() {
                to.remove(index);
                // There are no more indices than peers, so they fit.
                if let Some(peer) = self.peers.get(index)
                    && peers.push(peer).is_err()
                {
                    self.notices.push(Notice::Fault(Fault::OutboxOverflow));
                }
            }
            if !peers.is_empty() {
                return Some((peers, msg));
            }
        }
    }

    /// Whether something is left to send. A driver that cannot take it yet tells the protocol nothing new meanwhile: there is
    /// room for what one handler says, not for what many do.
    pub fn has_words(&self) -> bool {
        self.sends.iter().any(|sent| !sent.to.is_empty())
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The oldest notice not yet collected.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop()
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The peers whose link is up, ascending.
    pub fn peers(&self) -> &[NodeId] {
        self.peers.as_slice()
    }

    /// The protocol, for checkers and displays.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// The protocol, for tests that inject faults.
    pub fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    /// Calls one handler and everything that follows from it. Links that end on the way are worked off a list:
    /// ending one runs another handler, which may end the next.
    fn run(&mut self, now: Instant, happening: Happening<P::Msg, P::Timer>) {
        let mut ended = Vec::<NodeId, PEERS, u8>::new();
        self.call(now, happening, &mut ended);
        while let Some(peer) = ended.pop() {
            self.notices.push(Notice::LinkEnded(peer, Reason::Overrun));
            self.call(now, Happening::LinkDown(peer), &mut ended);
        }
    }

    fn call(&mut self, now: Instant, happening: Happening<P::Msg, P::Timer>, ended: &mut Vec<NodeId, PEERS, u8>) {
        let mut out = Outbox::<P::Msg, P::Timer>::new();
        let mut cx = Cx { id: self.id, now, peers: self.peers.as_slice(), rng: &mut self.rng, out: &mut out };
        self.protocol.handle(happening, &mut cx);
        if out.overflowed() {
            self.notices.push(Notice::Fault(Fault::OutboxOverflow));
            return;
        }
        for command in out.drain() {
            match command {
                Command::Send(to, msg) => self.enqueue(to, msg, ended),
                Command::SetTimer(timer, after) => self.timers.set(timer, now + after),
                Command::StopTimer(timer) => self.timers.stop(timer),
                Command::Note(event) => self.notices.push(Notice::Event(event)),
            }
        }
    }

    fn enqueue(&mut self, to: Dest, msg: P::Msg, ended: &mut Vec<NodeId, PEERS, u8>) {
        let set = self.resolve(to);
        if set.is_empty() {
            if let Dest::One(peer) = to {
                // A link that this very call has ended is not a defect of the handler.
                if !ended.contains(&peer) {
                    self.notices.push(Notice::Fault(Fault::NoLink(peer)));
                }
            }
            return;
        }
        if msg.is_latest_value() {
            self.replace_older(set);
        }
        let Err(unsent) = self.sends.push(Outgoing { to: set, msg }) else { return };
        let mut peers = unsent.to;
        while let Some(index) = peers.first() {
            peers.remove(index);
            if let Some(peer) = self.peers.get(index) {
                // No more links can end than there are peers, and the list holds that many.
                if ended.push(peer).is_err() {
                    self.notices.push(Notice::Fault(Fault::OutboxOverflow));
                }
            }
        }
        for &peer in ended.iter() {
            self.drop_peer(peer);
        }
    }

    /// Takes these peers off every older message that only told a state.
    fn replace_older(&mut self, peers: PeerSet) {
        for sent in self.sends.iter_mut().filter(|sent| sent.msg.is_latest_value()) {
            sent.to.subtract(peers);
        }
        retain(&mut self.sends, |sent| !sent.to.is_empty());
    }

    fn resolve(&self, to: Dest) -> PeerSet {
        let mut set = PeerSet::EMPTY;
        if let Dest::One(peer) = to {
            self.peers.index_of(peer).into_iter().for_each(|index| set.insert(index));
            return set;
        }
        for (index, &peer) in self.peers.as_slice().iter().enumerate() {
            let index = PeerIndex(index);
            let wanted = match to {
                Dest::One(_) | Dest::All => true,
                Dest::Peers(peers) => peers.contains(index),
                Dest::Higher => peer > self.id,
                Dest::Lower => peer < self.id,
            };
            if wanted {
                set.insert(index);
            }
        }
        set
    }

    fn drop_peer(&mut self, peer: NodeId) -> bool {
        self.peers.remove(peer, self.sends.iter_mut().map(|sent| &mut sent.to))
    }
}
