//! The seam between an algorithm and everything else.

use core::fmt::Debug;
use core::hash::Hash;

use postcard::experimental::max_size::MaxSize;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::coefficient::Coefficient;
use crate::notice::Event;
use crate::outbox::{Commands, Dest};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::timer::TimerKey;
use crate::types::{NodeId, Outcome, RingPlace};

/// A message of an election algorithm: a value with a known largest encoding.
pub trait Message: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + MaxSize {
    /// The name under which messages of this type are counted.
    fn kind(&self) -> &'static str;

    /// The phase of the election it belongs to, where the algorithm has phases.
    fn phase(&self) -> u8 {
        0
    }

    /// Which of several FIFO channels between the same two nodes it travels on. A ring of two has two.
    fn lane(&self) -> u8 {
        0
    }

    /// Whether it only tells the sender's present state, so that a newer one to the same peer replaces it while it is
    /// unsent.
    fn is_latest_value(&self) -> bool {
        false
    }
}

/// What a node learns other than by message, link or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Signal {
    /// The failure detector believes that the leader is gone.
    LeaderLost,
    LeaderHeard,
    /// An election was asked for by a button or a command.
    Elect,
    /// The leader is lost, and this node takes its place. Of several that do, the one with the largest number has precedence.
    Succeed(u8),
    /// This node is about to stop, or is asked to lead no more: another is to lead instead.
    StepDown,
    /// This node's place on the ring has changed.
    Ring(RingPlace),
    /// This node's fitness to lead has changed.
    Fitness(Coefficient),
    /// The byte by which the hierarchy ranks this node was set by hand.
    Rank(u8),
    /// Neighbours may have missed what was last said, so it is said again.
    Resend,
    /// Time to look whether there is anything to do that nothing has called for: memory may have gone wrong.
    Audit,
    /// Messages of an election may have been lost on their way. Some node must start again, not necessarily this one.
    Disturbed,
    /// A member of the ring says that its election gave this leader, which is alive.
    Outcome(Outcome),
}

/// One thing that happens to a protocol, as a value. An engine then needs one path for all of them, and a board one copy
/// of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Happening<M, T> {
    Start,
    LinkUp(NodeId),
    LinkDown(NodeId),
    Message(NodeId, M),
    Stranger(NodeId, M),
    Timer(T),
    Signal(Signal),
}

/// An election algorithm: a state machine with fixed memory. It holds no time and no way to send; both come with
/// the [`Cx`] of each call. Comparable and hashable, so that a model checker can explore the very same code.
pub trait Protocol: Clone + Debug + Eq + Hash {
    type Msg: Message;
    type Timer: TimerKey;

    /// The node has started. Links that were up before are in [`Cx::peers`].
    fn on_start(&mut self, cx: &mut Cx<'_, Self>);
    /// A link has come up; the peer is already in [`Cx::peers`].
    fn on_link_up(&mut self, _peer: NodeId, _cx: &mut Cx<'_, Self>) {}
    /// A link has gone down; the peer is no longer in [`Cx::peers`].
    fn on_link_down(&mut self, _peer: NodeId, _cx: &mut Cx<'_, Self>) {}
    /// A message has arrived over an up link.
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, Self>);
    /// A message has arrived from a node without an up link. It is not part of any up-interval and carries no promise;
    /// a logical clock may still hear its time.
    fn on_stranger(&mut self, _from: NodeId, _msg: Self::Msg, _cx: &mut Cx<'_, Self>) {}
    /// A timer has fired; it is no longer armed.
    fn on_timer(&mut self, _timer: Self::Timer, _cx: &mut Cx<'_, Self>) {}
    /// Something else has happened.
    fn on_signal(&mut self, _signal: Signal, _cx: &mut Cx<'_, Self>) {}
    /// Calls the handler of whatever has happened.
    fn handle(&mut self, happening: Happening<Self::Msg, Self::Timer>, cx: &mut Cx<'_, Self>) {
        match happening {
            Happening::Start => self.on_start(cx),
            Happening::LinkUp(peer) => self.on_link_up(peer, cx),
            Happening::LinkDown(peer) => self.on_link_down(peer, cx),
            Happening::Message(from, msg) => self.on_message(from, msg, cx),
            Happening::Stranger(from, msg) => self.on_stranger(from, msg, cx),
            Happening::Timer(timer) => self.on_timer(timer, cx),
            Happening::Signal(signal) => self.on_signal(signal, cx),
        }
    }
    /// The leader this node follows, itself included.
    fn leader(&self) -> Option<NodeId>;
    /// How far this node is, where elections are numbered or a leader needs no number.
    fn outcome(&self) -> Outcome {
        Outcome { leader: self.leader(), ..Outcome::default() }
    }
    /// A number that stands for the state that this node has told all its peers, where it tells such a state.
    fn told(&self) -> Option<u32> {
        None
    }
    /// The same number of the state that a peer has told; 0 if it has told none yet.
    fn heard(&self, _peer: NodeId) -> Option<u32> {
        None
    }
}

/// What a handler may see and use during one call.
pub struct Cx<'a, P: Protocol> {
    pub id: NodeId,
    /// The time of this call.
    pub now: Instant,
    /// The peers whose link is up, ascending.
    pub peers: &'a [NodeId],
    /// Seeded randomness.
    pub rng: &'a mut Rng,
    /// Where commands go.
    pub out: &'a mut dyn Commands<P::Msg>,
}

impl<P: Protocol> Cx<'_, P> {
    pub fn send(&mut self, to: Dest, msg: P::Msg) {
        self.out.send(to, msg);
    }

    /// Arms a timer this long from now.
    pub fn set_timer(&mut self, timer: P::Timer, after: Duration) {
        self.out.set_timer(timer.index(), after);
    }

    pub fn stop_timer(&mut self, timer: P::Timer) {
        self.out.stop_timer(timer.index());
    }

    /// Tells what was done.
    pub fn note(&mut self, event: Event) {
        self.out.note(event);
    }

    /// Whether the link to a node is up.
    pub fn is_up(&self, peer: NodeId) -> bool {
        self.peers.binary_search(&peer).is_ok()
    }
}
