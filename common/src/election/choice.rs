//! All algorithms behind one type: one image, the algorithm chosen at boot.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::abraham::{Abraham, AbrahamMsg};
use super::bully::{Bully, BullyConfig, BullyMsg, BullyTimer};
use super::circle::{RingConfig, RingTimer};
use super::frlle::{Frlle, FrlleConfig, FrlleMsg, FrlleRules};
use super::height::{HeightElection, HeightOptions, Update};
use super::hierarchy::{Hierarchy, HierarchyOptions, Radii};
use super::hierarchy_update::HierarchyUpdate;
use super::hs::{Hs, HsMsg};
use super::lcr::{Lcr, LcrMsg};
use super::modified_bully::{ModifiedBully, ModifiedBullyMsg};
use super::ring::{Ring, RingMsg};
use super::timer_based::{TimerBased, TimerMsg};
use crate::coefficient::Coefficient;
use crate::members::RingOrder;
use crate::outbox::{Command, Outbox};
use crate::protocol::{Cx, Message, Protocol, Signal};
use crate::time::Duration;
use crate::timer::TimerKey;
use crate::types::{NodeId, RingPlace};

/// The algorithms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Algorithm {
    /// [`super::hs`]
    Hs,
    /// [`super::height`]
    Height,
    /// [`super::hierarchy`]
    Hierarchy,
    /// [`super::frlle`]
    Frlle,
    /// [`super::bully`]
    Bully,
    /// [`super::ring`]
    Ring,
    /// [`super::lcr`]
    Lcr,
    /// [`super::timer_based`]
    TimerBased,
    /// [`super::modified_bully`]
    ModifiedBully,
    /// [`super::abraham`]
    Abraham,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 10] = [
        Self::Hs,
        Self::Height,
        Self::Hierarchy,
        Self::Frlle,
        Self::Bully,
        Self::Ring,
        Self::Lcr,
        Self::TimerBased,
        Self::ModifiedBully,
        Self::Abraham,
    ];

    /// The name people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs => "HS",
            Self::Height => "Height",
            Self::Hierarchy => "Hierarchy",
            Self::Frlle => "FRLLE",
            Self::Bully => "Bully",
            Self::Ring => "Ring",
            Self::Lcr => "LCR",
            Self::TimerBased => "Timer-based",
            Self::ModifiedBully => "Modified Bully",
            Self::Abraham => "Abraham et al.",
        }
    }

    /// Whether it runs on a configured ring; the others run on whatever links there are.
    pub const fn needs_ring(self) -> bool {
        !matches!(self, Self::Height | Self::Hierarchy)
    }
}

/// How long things take and how long to wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time of one hop: at least for FRLLE, at most for Timer-based.
    pub hop: Duration,
    /// Within this time a live node has answered.
    pub answer: Duration,
    /// How long an election may take before it is begun again; zero means for ever.
    pub patience: Duration,
}

/// Everything a node needs to take part in an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionConfig {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// The ring's members in order; ring algorithms only.
    pub order: RingOrder,
    /// This node's neighbours on the ring; ring algorithms only.
    pub place: RingPlace,
    /// How unfit this node is; FRLLE and the hierarchy only.
    pub coefficient: Coefficient,
    /// The height algorithm's options, with or without a hierarchy.
    pub height: HeightOptions,
    /// The levels of the hierarchy; hierarchy only.
    pub radii: Radii,
    /// Times.
    pub timing: Timing,
}

/// A message of any algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "each variant is the message of the algorithm of its name")]
pub enum ElectionMsg {
    Hs(HsMsg<NodeId>),
    Height(Update),
    Hierarchy(HierarchyUpdate),
    Frlle(FrlleMsg),
    Bully(BullyMsg),
    Ring(RingMsg),
    Lcr(LcrMsg),
    TimerBased(TimerMsg),
    ModifiedBully(ModifiedBullyMsg),
    Abraham(AbrahamMsg),
}

impl ElectionMsg {
    fn inner(&self) -> (&'static str, u8, u8, bool) {
        fn parts(msg: &impl Message) -> (&'static str, u8, u8, bool) {
            (msg.kind(), msg.phase(), msg.lane(), msg.is_latest_value())
        }
        match self {
            Self::Hs(msg) => parts(msg),
            Self::Height(msg) => parts(msg),
            Self::Hierarchy(msg) => parts(msg),
            Self::Frlle(msg) => parts(msg),
            Self::Bully(msg) => parts(msg),
            Self::Ring(msg) => parts(msg),
            Self::Lcr(msg) => parts(msg),
            Self::TimerBased(msg) => parts(msg),
            Self::ModifiedBully(msg) => parts(msg),
            Self::Abraham(msg) => parts(msg),
        }
    }
}

impl Message for ElectionMsg {
    fn kind(&self) -> &'static str {
        self.inner().0
    }

    fn phase(&self) -> u8 {
        self.inner().1
    }

    fn lane(&self) -> u8 {
        self.inner().2
    }

    fn is_latest_value(&self) -> bool {
        self.inner().3
    }
}

/// A timer of any algorithm. Only one algorithm runs at a time, so the slots are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "a slot has the meaning that the running algorithm gives it")]
pub enum ElectionTimer {
    First,
    Second,
    Third,
}

impl TimerKey for ElectionTimer {
    const ALL: &'static [Self] = &[Self::First, Self::Second, Self::Third];

    fn index(self) -> usize {
        self as usize
    }
}

const _: () = assert!(RingTimer::ALL.len() <= ElectionTimer::ALL.len());
const _: () = assert!(BullyTimer::ALL.len() <= ElectionTimer::ALL.len());

/// A node of whichever algorithm was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the state of the algorithm of its name")]
#[expect(clippy::large_enum_variant, reason = "one node runs one algorithm; without a heap there is nowhere to box it")]
pub enum Election {
    Hs(Hs),
    Height(HeightElection),
    Hierarchy(Hierarchy),
    Frlle(Frlle),
    Bully(Bully),
    Ring(Ring),
    Lcr(Lcr),
    TimerBased(TimerBased),
    ModifiedBully(ModifiedBully),
    Abraham(Abraham),
}

impl Election {
    /// A node that has not started.
    pub fn new(id: NodeId, config: ElectionConfig) -> Self {
        let ElectionConfig { algorithm, order, place, coefficient, height, radii, timing } = config;
        let ring = RingConfig { place, patience: timing.patience };
        let bully = BullyConfig {
            answer: timing.answer,
            take_over: timing.hop,
            // Whoever answered asks in its turn and hears nothing before it announces itself.
            announcement: timing.answer.times(3) + timing.hop,
        };
        match algorithm {
            Algorithm::Hs => Self::Hs(Hs::new(id, ring)),
            Algorithm::Height => Self::Height(HeightElection::new(id, height)),
            Algorithm::Hierarchy => {
                let HeightOptions { clock, rules } = height;
                let fitness = coefficient.as_byte();
                Self::Hierarchy(Hierarchy::new(id, HierarchyOptions { radii, fitness, clock, rules }))
            }
            Algorithm::Frlle => {
                let rules = FrlleRules::Hardened;
                Self::Frlle(Frlle::new(id, FrlleConfig { ring, hop: timing.hop, coefficient, rules }, None))
            }
            Algorithm::Bully => Self::Bully(Bully::new(bully)),
            Algorithm::Ring => Self::Ring(Ring::new(order, timing.patience)),
            Algorithm::Lcr => Self::Lcr(Lcr::new(ring)),
            Algorithm::TimerBased => {
                let nodes = u16::try_from(order.ids().len()).unwrap_or(u16::MAX);
                Self::TimerBased(TimerBased::new(ring, nodes, timing.hop))
            }
            Algorithm::ModifiedBully => Self::ModifiedBully(ModifiedBully::new(bully)),
            Algorithm::Abraham => Self::Abraham(Abraham::new(ring)),
        }
    }

    /// Which algorithm runs.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Hs(_) => Algorithm::Hs,
            Self::Height(_) => Algorithm::Height,
            Self::Hierarchy(_) => Algorithm::Hierarchy,
            Self::Frlle(_) => Algorithm::Frlle,
            Self::Bully(_) => Algorithm::Bully,
            Self::Ring(_) => Algorithm::Ring,
            Self::Lcr(_) => Algorithm::Lcr,
            Self::TimerBased(_) => Algorithm::TimerBased,
            Self::ModifiedBully(_) => Algorithm::ModifiedBully,
            Self::Abraham(_) => Algorithm::Abraham,
        }
    }
}

/// Calls an inner algorithm with a context of its own and hands its commands on.
fn within<P: Protocol>(cx: &mut Cx<'_, Election>, wrap: fn(P::Msg) -> ElectionMsg, call: impl FnOnce(&mut Cx<'_, P>)) {
    let mut out = Outbox::new();
    call(&mut Cx { id: cx.id, now: cx.now, peers: cx.peers, rng: cx.rng, out: &mut out });
    hand_on::<P>(cx, wrap, &mut out);
}

/// Hands an inner algorithm's commands on. There is one copy of it for each algorithm, not for each of its handlers: on a
/// board that is several kilobytes.
#[inline(never)]
fn hand_on<P: Protocol>(
    cx: &mut Cx<'_, Election>,
    wrap: fn(P::Msg) -> ElectionMsg,
    out: &mut Outbox<P::Msg, P::Timer>,
) {
    if out.overflowed() {
        cx.out.overflow();
    }
    for command in out.drain() {
        cx.out.push(match command {
            Command::Send(to, msg) => Command::Send(to, wrap(msg)),
            Command::SetTimer(timer, after) => Command::SetTimer(slot(timer), after),
            Command::StopTimer(timer) => Command::StopTimer(slot(timer)),
            Command::Note(event) => Command::Note(event),
        });
    }
}

fn slot(timer: impl TimerKey) -> ElectionTimer {
    ElectionTimer::ALL.get(timer.index()).copied().unwrap_or(ElectionTimer::Third)
}

/// Calls the same handler of whichever algorithm runs.
macro_rules! delegate {
    ($self:ident, $cx:ident, $node:ident, $inner:ident => $call:expr) => {
        match $self {
            Election::Hs($node) => within($cx, ElectionMsg::Hs, |$inner| $call),
            Election::Height($node) => within($cx, ElectionMsg::Height, |$inner| $call),
            Election::Hierarchy($node) => within($cx, ElectionMsg::Hierarchy, |$inner| $call),
            Election::Frlle($node) => within($cx, ElectionMsg::Frlle, |$inner| $call),
            Election::Bully($node) => within($cx, ElectionMsg::Bully, |$inner| $call),
            Election::Ring($node) => within($cx, ElectionMsg::Ring, |$inner| $call),
            Election::Lcr($node) => within($cx, ElectionMsg::Lcr, |$inner| $call),
            Election::TimerBased($node) => within($cx, ElectionMsg::TimerBased, |$inner| $call),
            Election::ModifiedBully($node) => within($cx, ElectionMsg::ModifiedBully, |$inner| $call),
            Election::Abraham($node) => within($cx, ElectionMsg::Abraham, |$inner| $call),
        }
    };
}

/// Hands a message to the algorithm it belongs to; one of another algorithm is ignored and told.
macro_rules! deliver {
    ($self:ident, $cx:ident, $msg:ident, $from:ident, $handler:ident, [$($name:ident),*]) => {
        match ($self, $msg) {
            $((Election::$name(node), ElectionMsg::$name(msg)) => {
                within($cx, ElectionMsg::$name, |inner| node.$handler($from, msg, inner));
            })*
            _ => $cx.note(crate::notice::Event::Ignored($from)),
        }
    };
}

/// The inner timer of a slot, where the algorithm has one there.
fn timer_at<T: TimerKey>(timer: ElectionTimer) -> Option<T> {
    T::ALL.get(timer.index()).copied()
}

impl Protocol for Election {
    type Msg = ElectionMsg;
    type Timer = ElectionTimer;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        delegate!(self, cx, node, inner => node.on_start(inner));
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        delegate!(self, cx, node, inner => node.on_link_up(peer, inner));
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        delegate!(self, cx, node, inner => node.on_link_down(peer, inner));
    }

    fn on_message(&mut self, from: NodeId, msg: ElectionMsg, cx: &mut Cx<'_, Self>) {
        deliver!(
            self,
            cx,
            msg,
            from,
            on_message,
            [Hs, Height, Hierarchy, Frlle, Bully, Ring, Lcr, TimerBased, ModifiedBully, Abraham]
        );
    }

    fn on_stranger(&mut self, from: NodeId, msg: ElectionMsg, cx: &mut Cx<'_, Self>) {
        deliver!(
            self,
            cx,
            msg,
            from,
            on_stranger,
            [Hs, Height, Hierarchy, Frlle, Bully, Ring, Lcr, TimerBased, ModifiedBully, Abraham]
        );
    }

    fn on_timer(&mut self, timer: ElectionTimer, cx: &mut Cx<'_, Self>) {
        delegate!(self, cx, node, inner => timer_at(timer).into_iter().for_each(|timer| node.on_timer(timer, inner)));
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        delegate!(self, cx, node, inner => node.on_signal(signal, inner));
    }

    fn leader(&self) -> Option<NodeId> {
        match self {
            Self::Hs(node) => node.leader(),
            Self::Height(node) => node.leader(),
            Self::Hierarchy(node) => node.leader(),
            Self::Frlle(node) => node.leader(),
            Self::Bully(node) => node.leader(),
            Self::Ring(node) => node.leader(),
            Self::Lcr(node) => node.leader(),
            Self::TimerBased(node) => node.leader(),
            Self::ModifiedBully(node) => node.leader(),
            Self::Abraham(node) => node.leader(),
        }
    }
}
