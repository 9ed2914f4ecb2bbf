//! All algorithms behind one type: one image, the algorithm chosen at boot.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

#[cfg(feature = "comparison")]
use super::abraham::{Abraham, AbrahamMsg};
use super::bully::{Bully, BullyConfig, BullyMsg, BullyTimer};
use super::circle::{RingConfig, RingTimer};
use super::frlle::{Frlle, FrlleBody, FrlleConfig, FrlleMsg, FrlleRules};
use super::height::{HeightElection, HeightOptions, Update};
use super::hierarchy::{Hierarchy, HierarchyOptions, Radii};
use super::hierarchy_update::HierarchyUpdate;
use super::hs::{Hs, HsMsg, HsRules};
use super::lcr::{Lcr, LcrMsg};
#[cfg(feature = "comparison")]
use super::modified_bully::{ModifiedBully, ModifiedBullyMsg};
use super::ring::{Ring, RingMsg};
#[cfg(feature = "comparison")]
use super::timer_based::{TimerBased, TimerMsg};
use crate::coefficient::Coefficient;
use crate::members::RingOrder;
use crate::names::Algorithm;
use crate::notice::Event;
use crate::outbox::{Commands, Dest};
use crate::protocol::{Cx, Happening, Message, Protocol, Signal};
use crate::time::Duration;
use crate::timer::TimerKey;
use crate::types::{NodeId, Outcome, RingPlace};

/// How long things take and how long to wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time of one hop: at least for FRLLE, at most for Timer-based.
    pub hop: Duration,
    /// Within this time a live node has answered.
    pub answer: Duration,
    /// How long an election may take before it is started again; zero means forever.
    pub patience: Duration,
}

/// Everything a node needs to take part in an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionConfig {
    pub algorithm: Algorithm,
    /// The ring's members in order; ring algorithms only.
    pub order: RingOrder,
    /// This node's neighbours on the ring; ring algorithms only.
    pub place: RingPlace,
    /// How unfit this node is; FRLLE and the hierarchy only.
    pub coefficient: Coefficient,
    /// What candidates of HS know of the ring.
    pub hs: HsRules,
    /// The height algorithm's options, with or without a hierarchy.
    pub height: HeightOptions,
    /// The levels of the hierarchy; hierarchy only.
    pub radii: Radii,
    pub timing: Timing,
}

/// A message of any algorithm. The order of the variants is on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ElectionMsg {
    Hs(HsMsg<NodeId>),
    Height(Update),
    Hierarchy(HierarchyUpdate),
    Frlle(FrlleMsg),
    Bully(BullyMsg),
    Ring(RingMsg),
    Lcr(LcrMsg),
    #[cfg(feature = "comparison")]
    TimerBased(TimerMsg),
    #[cfg(feature = "comparison")]
    ModifiedBully(ModifiedBullyMsg),
    #[cfg(feature = "comparison")]
    Abraham(AbrahamMsg),
}

impl ElectionMsg {
    /// The nodes that it names as candidates or leaders. On a ring all of them are members, or nobody of the ring sent it.
    pub fn named(&self) -> [Option<NodeId>; 2] {
        let (one, other) = match self {
            Self::Hs(HsMsg::Out { uid, .. } | HsMsg::Back { uid, .. } | HsMsg::Leader { uid, .. }) => {
                (Some(*uid), None)
            }
            Self::Frlle(FrlleMsg { body, .. }) => match *body {
                FrlleBody::Election { creator, failed, .. } => (Some(creator), failed),
                FrlleBody::Recovered(leader) => (leader, None),
                FrlleBody::Declared(leader) => (Some(leader), None),
            },
            Self::Ring(msg) => (Some(msg.origin), None),
            Self::Lcr(LcrMsg::Candidate(_, id) | LcrMsg::Leader(_, id)) => (Some(*id), None),
            #[cfg(feature = "comparison")]
            Self::TimerBased(msg) => (Some(msg.id), None),
            #[cfg(feature = "comparison")]
            Self::Abraham(AbrahamMsg::Value { id, .. } | AbrahamMsg::Leader(_, id)) => (Some(*id), None),
            #[cfg(feature = "comparison")]
            Self::ModifiedBully(_) => (None, None),
            Self::Height(_) | Self::Hierarchy(_) | Self::Bully(_) => (None, None),
        };
        [one, other]
    }

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
            #[cfg(feature = "comparison")]
            Self::TimerBased(msg) => parts(msg),
            #[cfg(feature = "comparison")]
            Self::ModifiedBully(msg) => parts(msg),
            #[cfg(feature = "comparison")]
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

/// A node of the chosen algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "one node runs one algorithm; without a heap there is nowhere to box it")]
pub enum Election {
    Hs(Hs),
    Height(HeightElection),
    Hierarchy(Hierarchy),
    Frlle(Frlle),
    Bully(Bully),
    Ring(Ring),
    Lcr(Lcr),
    #[cfg(feature = "comparison")]
    TimerBased(TimerBased),
    #[cfg(feature = "comparison")]
    ModifiedBully(ModifiedBully),
    #[cfg(feature = "comparison")]
    Abraham(Abraham),
}

impl Election {
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn new(id: NodeId, config: ElectionConfig) -> Self {
        let ElectionConfig { algorithm, order, place, coefficient, hs, height, radii, timing } = config;
        let ring = RingConfig { place, patience: timing.patience };
        let bully = BullyConfig {
            answer: timing.answer,
            take_over: timing.hop,
            // A node that answered asks in turn, and waits for its own answers before it announces itself.
            announcement: timing.answer.times(3) + timing.hop,
        };
        match algorithm {
            Algorithm::Hs => Self::Hs(Hs::new(id, ring).with_rules(hs)),
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
            Algorithm::Bully => Self::Bully(Bully::new(bully).knowing_the_living(hs == HsRules::Known)),
            Algorithm::Ring => Self::Ring(Ring::new(order, timing.patience)),
            Algorithm::Lcr => Self::Lcr(Lcr::new(ring)),
            #[cfg(feature = "comparison")]
            Algorithm::TimerBased => {
                let nodes = u16::try_from(order.ids().len()).unwrap_or(u16::MAX);
                #[cfg(feature = "comparison")]
                Self::TimerBased(TimerBased::new(ring, nodes, timing.hop))
            }
            #[cfg(feature = "comparison")]
            Algorithm::ModifiedBully => Self::ModifiedBully(ModifiedBully::new(bully)),
            #[cfg(feature = "comparison")]
            Algorithm::Abraham => Self::Abraham(Abraham::new(ring)),
            // The configuration check refuses these, so this is never reached.
            #[cfg(not(feature = "comparison"))]
            Algorithm::TimerBased | Algorithm::ModifiedBully | Algorithm::Abraham => {
                Self::Hs(Hs::new(id, ring).with_rules(hs))
            }
        }
    }

    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Hs(_) => Algorithm::Hs,
            Self::Height(_) => Algorithm::Height,
            Self::Hierarchy(_) => Algorithm::Hierarchy,
            Self::Frlle(_) => Algorithm::Frlle,
            Self::Bully(_) => Algorithm::Bully,
            Self::Ring(_) => Algorithm::Ring,
            Self::Lcr(_) => Algorithm::Lcr,
            #[cfg(feature = "comparison")]
            Self::TimerBased(_) => Algorithm::TimerBased,
            #[cfg(feature = "comparison")]
            Self::ModifiedBully(_) => Algorithm::ModifiedBully,
            #[cfg(feature = "comparison")]
            Self::Abraham(_) => Algorithm::Abraham,
        }
    }
}

impl Election {
    /// Whether messages go from ring neighbour to ring neighbour, and not to members by name.
    pub fn goes_round(&self) -> bool {
        !matches!(self.algorithm(), Algorithm::Bully | Algorithm::ModifiedBully)
    }

    /// This node's neighbours on the ring, where the algorithm keeps to them.
    pub fn place(&self) -> Option<RingPlace> {
        match self {
            Self::Hs(node) => Some(node.place()),
            Self::Lcr(node) => Some(node.place()),
            Self::Frlle(node) => Some(node.place()),
            _ => None,
        }
    }
}

/// Commands of one algorithm as commands of all of them.
struct Wrapped<'a, M> {
    out: &'a mut dyn Commands<ElectionMsg>,
    wrap: fn(M) -> ElectionMsg,
}

impl<M> Commands<M> for Wrapped<'_, M> {
    fn send(&mut self, to: Dest, msg: M) {
        self.out.send(to, (self.wrap)(msg));
    }

    fn set_timer(&mut self, index: usize, after: Duration) {
        self.out.set_timer(index, after);
    }

    fn stop_timer(&mut self, index: usize) {
        self.out.stop_timer(index);
    }

    fn note(&mut self, event: Event) {
        self.out.note(event);
    }
}

/// Hands an event to the chosen algorithm in a context of its own. There is one copy of this for each algorithm, not for each of
/// its handlers, which saves many kilobytes on a board.
#[inline(never)]
fn within<P: Protocol>(
    node: &mut P,
    happening: Happening<ElectionMsg, ElectionTimer>,
    cx: &mut Cx<'_, Election>,
    wrap: fn(P::Msg) -> ElectionMsg,
    unwrap: fn(ElectionMsg) -> Option<P::Msg>,
) {
    let mut out = Wrapped { out: cx.out, wrap };
    let inner = &mut Cx { id: cx.id, now: cx.now, peers: cx.peers, rng: cx.rng, out: &mut out };
    match happening {
        Happening::Start => node.on_start(inner),
        Happening::LinkUp(peer) => node.on_link_up(peer, inner),
        Happening::LinkDown(peer) => node.on_link_down(peer, inner),
        // A message of another algorithm is ignored and reported.
        Happening::Message(from, msg) => match unwrap(msg) {
            Some(msg) => node.on_message(from, msg, inner),
            None => inner.note(Event::Ignored(from)),
        },
        Happening::Stranger(from, msg) => match unwrap(msg) {
            Some(msg) => node.on_stranger(from, msg, inner),
            None => inner.note(Event::Ignored(from)),
        },
        // A timer that this algorithm does not have cannot have been set.
        Happening::Timer(timer) => {
            if let Some(&timer) = P::Timer::ALL.get(timer.index()) {
                node.on_timer(timer, inner);
            }
        }
        Happening::Signal(signal) => node.on_signal(signal, inner),
    }
}

impl Protocol for Election {
    type Msg = ElectionMsg;
    type Timer = ElectionTimer;

    fn handle(&mut self, happening: Happening<ElectionMsg, ElectionTimer>, cx: &mut Cx<'_, Self>) {
        macro_rules! hand_to {
            ($($(#[$built:meta])? $name:ident),*) => {
                match self {
                    $($(#[$built])? Election::$name(node) => {
                        let unwrap = |msg| if let ElectionMsg::$name(msg) = msg { Some(msg) } else { None };
                        within(node, happening, cx, ElectionMsg::$name, unwrap);
                    })*
                }
            };
        }
        hand_to!(
            Hs,
            Height,
            Hierarchy,
            Frlle,
            Bully,
            Ring,
            Lcr,
            #[cfg(feature = "comparison")]
            TimerBased,
            #[cfg(feature = "comparison")]
            ModifiedBully,
            #[cfg(feature = "comparison")]
            Abraham
        );
    }

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::Start, cx);
    }

    fn on_link_up(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::LinkUp(peer), cx);
    }

    fn on_link_down(&mut self, peer: NodeId, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::LinkDown(peer), cx);
    }

    fn on_message(&mut self, from: NodeId, msg: ElectionMsg, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::Message(from, msg), cx);
    }

    fn on_stranger(&mut self, from: NodeId, msg: ElectionMsg, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::Stranger(from, msg), cx);
    }

    fn on_timer(&mut self, timer: ElectionTimer, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::Timer(timer), cx);
    }

    fn on_signal(&mut self, signal: Signal, cx: &mut Cx<'_, Self>) {
        self.handle(Happening::Signal(signal), cx);
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
            #[cfg(feature = "comparison")]
            Self::TimerBased(node) => node.leader(),
            #[cfg(feature = "comparison")]
            Self::ModifiedBully(node) => node.leader(),
            #[cfg(feature = "comparison")]
            Self::Abraham(node) => node.leader(),
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Hs(node) => node.outcome(),
            Self::Frlle(node) => node.outcome(),
            Self::Bully(node) => node.outcome(),
            Self::Ring(node) => node.outcome(),
            Self::Lcr(node) => node.outcome(),
            #[cfg(feature = "comparison")]
            Self::TimerBased(node) => node.outcome(),
            // Their leaders have no number.
            _ => Outcome { leader: self.leader(), ..Outcome::default() },
        }
    }

    fn told(&self) -> Option<u32> {
        match self {
            Self::Height(node) => node.told(),
            Self::Hierarchy(node) => node.told(),
            _ => None,
        }
    }

    fn heard(&self, peer: NodeId) -> Option<u32> {
        match self {
            Self::Height(node) => node.heard(peer),
            Self::Hierarchy(node) => node.heard(peer),
            _ => None,
        }
    }
}
