//! The height algorithm: link reversal with causal clocks for networks whose links come and go.
//!
//! Source: Tbarka (2019), after Ingram et al. (2013) and TORA, corrected: SINK requires
//! `lid != u`; the three subroutines it lost in print are restored; equal election times go to the smaller leader id; a
//! node that does not adopt answers; adopting copies the reference level; an Update carries the sender's clock.
//!
//! Model: each direction of a link comes up and goes down on its own and in the end both agree; while up it is FIFO and
//! reliable, with any delay. Nodes keep their state. Once changes cease, every component ends leader-oriented: nothing
//! under way, views correct, one leader, and every path downhill ends at it.
//!
//! ```text
//!                 lost the last way down                 all neighbours in the same search
//!  Following ─────────────────────────────► Searching ─────────────────────────────────► Reflected
//!   ▲   ▲ │                                    ▲ larger search: pass it on                   │
//!   │   │ └ better leader: adopt               └──────── others' search came back ───────────┤
//!   │   └────────────── new leader's Update ── Leader ◄──── my own search came back ─────────┘
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::height_core::HeightCore;
pub use super::height_core::{HeightOptions, HeightRules};
use super::height_tuple::{Height, LeaderPair, RefLevel};
use crate::Full;
use crate::bits::fold;
use crate::limits::NEIGHBOURS_MAX;
use crate::notice::Event;
use crate::outbox::Dest;
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::timer::NoTimer;
use crate::types::NodeId;

/// The one message: a node's height and the time at which it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Update {
    /// The sender's causal time.
    pub stamp: u32,
    /// The sender's height, without its id, which the link knows.
    pub level: RefLevel,
    /// See [`Height::delta`].
    pub delta: i16,
    /// See [`Height::leader`].
    pub leader: LeaderPair,
}

impl Message for Update {
    fn kind(&self) -> &'static str {
        "update"
    }
}

/// One node of the height algorithm, with room for `N` links. The rules are in [`super::height_core`]; here is who is
/// told what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeightElection<const N: usize = NEIGHBOURS_MAX> {
    core: HeightCore<N>,
}

impl<const N: usize> HeightElection<N> {
    /// A node alone, leader of itself.
    pub fn new(id: NodeId, options: HeightOptions) -> Self {
        Self::with_height(Height::elected(id, 0), options)
    }

    /// A node with this height and no links.
    pub fn with_height(height: Height, options: HeightOptions) -> Self {
        Self { core: HeightCore::new(height, options) }
    }

    /// As if its last event had been at this causal time.
    pub fn at_time(mut self, time: u32) -> Self {
        self.core.set_time(time);
        self
    }

    /// Adds a link whose other end's height is known, as an initial state has them.
    pub fn with_neighbour(mut self, neighbour: Height) -> Result<Self, Full> {
        self.core.insert_neighbour(neighbour)?;
        Ok(self)
    }

    pub fn height(&self) -> Height {
        self.core.height()
    }

    /// The causal time of this node's last event.
    pub fn time(&self) -> u32 {
        self.core.time()
    }

    /// The heights of the neighbours, ascending by id: the printed `N`.
    pub fn neighbours(&self) -> impl Iterator<Item = Height> + '_ {
        self.core.neighbours()
    }

    /// The nodes whose channel is up but that have not been heard, ascending: the printed `forming`.
    pub fn forming(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.core.forming()
    }

    /// The lowest neighbour: where to send what is for the leader. None for the leader and for a node alone.
    pub fn next_hop(&self) -> Option<NodeId> {
        self.core.next_hop()
    }

    /// As [`HeightCore::lower_neighbours`].
    pub fn lower_neighbours(&self, each: &mut dyn FnMut(NodeId, u8)) {
        self.core.lower_neighbours(each);
    }

    fn send(&self, to: Dest, cx: &mut Cx<'_, Self>) {
        let Height { level, delta, leader, .. } = self.core.height();
        cx.send(to, Update { stamp: self.core.time(), level, delta, leader });
    }

    /// Tells what was done, and the neighbours where it changed this node's height.
    fn finish(&self, did: Option<Event>, before: Height, cx: &mut Cx<'_, Self>) {
        if let Some(event) = did {
            cx.note(event);
        }
        if self.core.height() != before {
            self.send(Dest::All, cx);
        }
    }
}

impl<const N: usize> Protocol for HeightElection<N> {
    type Msg = Update;
    type Timer = NoTimer;

    /// A node that starts leads itself; its links tell it the rest.
    fn on_start(&mut self, _cx: &mut Cx<'_, Self>) {}

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        match self.core.link_up(cx.now, peer) {
            Ok(()) => self.send(Dest::One(peer), cx),
            // The engine refuses links beyond the same capacity; a table smaller than the engine's is a wrong set-up.
            Err(Full) => cx.note(Event::Ignored(peer)),
        }
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        let before = self.core.height();
        let did = self.core.link_down(cx.now, peer);
        self.finish(did, before, cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Update, cx: &mut Cx<'_, Self>) {
        let before = self.core.height();
        let peer = Height { level: msg.level, delta: msg.delta, leader: msg.leader, id: from };
        let did = self.core.receive(cx.now, msg.stamp, peer);
        if let Some(Event::Replied(peer)) = did {
            self.send(Dest::One(peer), cx);
        }
        self.finish(did, before, cx);
    }

    fn on_stranger(&mut self, from: NodeId, msg: Update, cx: &mut Cx<'_, Self>) {
        self.core.tick(cx.now, Some(msg.stamp));
        cx.note(Event::Ignored(from));
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        // Links tell this algorithm what has failed; only a request from outside starts an election.
        match signal {
            Signal::Elect => {
                let before = self.core.height();
                self.core.tick(cx.now, None);
                let did = self.core.elect_self();
                self.finish(Some(did), before, cx);
            }
            Signal::Succeed(precedence) => {
                let before = self.core.height();
                let did = self.core.succeed(cx.now, precedence);
                self.finish(Some(did), before, cx);
            }
            Signal::Audit => {
                let before = self.core.height();
                let did = self.core.audit(cx.now);
                self.finish(did, before, cx);
            }
            Signal::Resend => self.send(Dest::All, cx),
            Signal::StepDown => self.core.step_down(),
            _ => {}
        }
    }

    fn leader(&self) -> Option<NodeId> {
        Some(self.core.height().leader.lid)
    }

    fn told(&self) -> Option<u32> {
        Some(fold(self.core.height().words()))
    }

    fn heard(&self, peer: NodeId) -> Option<u32> {
        self.core.heard(peer).map(|height| height.map_or(0, |height| fold(height.words())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Height, HeightElection, HeightOptions};
    use crate::coefficient::Coefficient;
    use crate::engine::Engine;
    use crate::protocol::{Protocol, Signal};
    use crate::time::Instant;
    use crate::types::NodeId;

    #[test]
    fn a_request_and_nothing_else_makes_a_node_elect_itself_and_say_so() {
        let follower =
            HeightElection::<4>::with_height(Height::initial(NodeId(1), NodeId(9), 1), HeightOptions::default())
                .with_neighbour(Height::initial(NodeId(9), NodeId(9), 0))
                .unwrap();
        let mut node = Engine::<_, 4>::new(NodeId(1), 0, follower.clone()).with_peer(NodeId(9)).unwrap();
        for signal in [Signal::LeaderLost, Signal::LeaderHeard, Signal::Fitness(Coefficient(1))] {
            node.handle_signal(Instant::ZERO, signal);
            assert_eq!((node.poll_decoded(), node.protocol()), (None, &follower), "{signal:?}");
            assert_eq!(node.protocol().leader(), Some(NodeId(9)));
        }
        node.handle_signal(Instant::ZERO, Signal::Resend);
        assert!(node.poll_decoded().is_some_and(|(to, update)| (to, update.leader.lid) == (NodeId(9), NodeId(9))));
        node.handle_signal(Instant::ZERO, Signal::Elect);
        assert_eq!((node.protocol().time(), node.protocol().height()), (1, Height::elected(NodeId(1), 1)));
        let (to, update) = node.poll_decoded().unwrap();
        assert_eq!((to, update.stamp, update.leader.lid), (NodeId(9), 1, NodeId(1)));
    }
}
