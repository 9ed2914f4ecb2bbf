//! One run: a scene, a plan, and what they cost.

use std::fmt;

use common::causal_clock::ClockKind;
use common::election::height::HeightRules;
use common::election::height_tuple::LeaderPair;
use common::notice::Event;
use common::rng::Rng;
use common::time::Instant;
use ideal::graph::{Graph, UnitPoint};
use ideal::index::{Direction, NodeIndex};
use ideal::net::ROUND;
use ideal::oriented::{self, Violation};

use super::below;
use super::change::{Flip, Plan, Schedule};
use super::scene::{Scene, StudyNet};

/// Deliveries after which a run counts as endless; runs of a thousand nodes stay below a hundredth of that.
const DELIVERIES_MAX: u64 = 50_000_000;

/// What one run took, from the first change until nothing was in transit.
///
/// An election is *unnecessary* if, at the moment a node elects itself, its former leader is still in the node's
/// component and the node is not alone there. So a leader that elects itself again does so unnecessarily unless it was cut
/// off from all others. Components are those of the links that are up in both directions: a link counts as lost once its
/// first end detects the loss, and as present once its second end detects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub messages: u64,
    /// Rounds until the last message arrived; none under the random order.
    pub rounds: Option<u64>,
    /// Rounds until the last node elected itself, 0 if none did; none under the random order.
    pub elected: Option<u64>,
    /// Rounds until the last node adopted its final leader, 0 if none had to; none under the random order.
    pub agreed: Option<u64>,
    /// How often nodes elected themselves.
    pub elections: u64,
    /// Elections by nodes that were alone.
    pub alone: u64,
    /// Elections that were unnecessary.
    pub unnecessary: u64,
    /// How often nodes changed from one leader to another.
    pub turns: u64,
}

/// A run that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Endless,
    /// It ended, but not leader-oriented.
    NotOriented(Violation),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endless => write!(f, "messages were still in flight after {DELIVERIES_MAX} deliveries"),
            Self::NotOriented(violation) => write!(f, "not leader-oriented at the end, {violation}"),
        }
    }
}

impl std::error::Error for Failure {}

/// How a run is set up beside its scene and plan.
#[derive(Clone, Debug)]
pub struct Setting {
    pub clock: ClockKind,
    pub rules: HeightRules,
    /// Who orders the deliveries.
    pub schedule: Schedule,
    /// The chance that orders them, where it does.
    pub rng: Rng,
}

/// Runs a plan on a scene and checks that every component ends leader-oriented.
pub fn run(scene: &Scene, plan: &Plan, setting: Setting) -> Result<Outcome, Failure> {
    let net = scene.net(setting.clock, setting.rules);
    let mut runner = Runner { watch: Watch::new(&net), net, rng: setting.rng };
    for flips in [&plan.before, &plan.flips] {
        runner.net.reset_counts();
        runner.watch.reset(runner.net.now());
        match setting.schedule {
            Schedule::Synchronous => runner.rounds(flips)?,
            Schedule::Random => runner.random_order(flips)?,
        }
        oriented::check(&runner.net).map_err(Failure::NotOriented)?;
    }
    Ok(Outcome { messages: runner.net.counts().total(), ..runner.watch.outcome })
}

struct Runner {
    net: StudyNet,
    watch: Watch,
    rng: Rng,
}

impl Runner {
    fn rounds(&mut self, flips: &[Flip]) -> Result<(), Failure> {
        let start = self.net.now();
        let at = |flip: &Flip| start + ROUND.times(u32::try_from(flip.moment).unwrap_or(u32::MAX));
        let mut flips = flips.iter().peekable();
        let mut last_arrival = start;
        loop {
            let (now, quiet) = (self.net.now(), self.net.is_quiet());
            if let Some(flip) = flips.next_if(|flip| quiet || at(flip) <= now) {
                self.net.set_now(at(flip));
                self.apply(*flip);
            } else if quiet {
                break;
            } else {
                let watch = &mut self.watch;
                self.net.step_round_watched(|net, node| watch.see(net, node));
                last_arrival = self.net.now();
                self.check_length()?;
            }
        }
        let rounds = |end: Instant| Some(end.since(start).as_micros() / ROUND.as_micros());
        self.watch.outcome.rounds = rounds(last_arrival);
        self.watch.outcome.elected = rounds(self.watch.last_election);
        self.watch.outcome.agreed = rounds(self.watch.last_turn);
        Ok(())
    }

    /// One event is one millisecond, so that no two events have the same perfect time.
    fn random_order(&mut self, flips: &[Flip]) -> Result<(), Failure> {
        let mut elapsed = 0;
        let mut flips = flips.iter().peekable();
        loop {
            self.net.set_now(self.net.now() + ROUND);
            let waiting = self.net.pending().count();
            if let Some(flip) = flips.next_if(|flip| waiting == 0 || flip.moment <= elapsed) {
                elapsed = elapsed.max(flip.moment);
                self.apply(*flip);
                continue;
            }
            let Some(channel) = self.net.pending().nth(below(&mut self.rng, waiting)) else { return Ok(()) };
            elapsed += 1;
            self.net.deliver(channel);
            self.watch.see(&self.net, channel.to);
            self.check_length()?;
        }
    }

    fn apply(&mut self, flip: Flip) {
        let Flip { direction: Direction { from, to }, up, .. } = flip;
        // A flip that changes nothing makes no step; the step before it must not be counted twice.
        if self.net.is_up(from, to) == up {
            return;
        }
        if up {
            self.net.link_up(from, to);
        } else {
            self.net.link_down(from, to);
        }
        self.watch.see(&self.net, from);
    }

    fn check_length(&self) -> Result<(), Failure> {
        if self.net.counts().delivered > DELIVERIES_MAX { Err(Failure::Endless) } else { Ok(()) }
    }
}

/// Looks at every step of every node.
struct Watch {
    last_election: Instant,
    last_turn: Instant,
    leaders: Vec<LeaderPair>,
    outcome: Outcome,
}

impl Watch {
    fn new(net: &StudyNet) -> Self {
        let leaders = net.nodes().map(|node| net.node(node).height().leader).collect();
        Self { last_election: net.now(), last_turn: net.now(), leaders, outcome: Outcome::default() }
    }

    fn reset(&mut self, now: Instant) {
        self.last_election = now;
        self.last_turn = now;
        self.outcome = Outcome::default();
    }

    fn see(&mut self, net: &StudyNet, node: NodeIndex) {
        let now = net.node(node).height().leader;
        let former = std::mem::replace(&mut self.leaders[node], now);
        if now == former {
            return;
        }
        self.last_turn = net.now();
        self.outcome.turns += u64::from(now.lid != former.lid);
        if net.last_step().events.contains(&Event::ElectedSelf) {
            self.last_election = net.now();
            self.outcome.elections += 1;
            let reachable = usable_links(net).distances(node);
            let alone = reachable.iter().flatten().count() == 1;
            let former_there = net.index_of(former.lid).is_some_and(|leader| reachable[leader].is_some());
            self.outcome.alone += u64::from(alone);
            self.outcome.unnecessary += u64::from(former_there && !alone);
        }
    }
}

/// The links that are up in both directions.
fn usable_links(net: &StudyNet) -> Graph {
    let both = net.up_directions().filter(|&Direction { from, to }| from < to && net.is_up(to, from));
    Graph::with(vec![UnitPoint::default(); net.len()], both.map(Direction::edge))
}
