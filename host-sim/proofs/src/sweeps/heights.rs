//! Heights on networks whose links come and go while messages are in flight; each end detects that at its own time.

use common::causal_clock::ClockKind;
use common::election::height::{HeightElection, HeightOptions, HeightRules};
use common::rng::Rng;
use common::time::Instant;
use ideal::graph::{Graph, Kind};
use ideal::index::{Direction, Edge, NodeIndex};
use ideal::net::{Delay, Net};
use ideal::oriented;
use ideal::shuffle::shuffled_ids;

use super::sweep;

const LINKS_MAX: usize = 32;

type HeightNet = Net<HeightElection<LINKS_MAX>, LINKS_MAX>;

/// A change that the sender of a direction has not detected yet.
#[derive(Clone, Copy)]
struct Unnoticed {
    direction: Direction,
    /// Whether the direction comes up.
    up: bool,
}

struct Field {
    net: HeightNet,
    graph: Graph,
    rng: Rng,
    events: u64,
    unnoticed: Vec<Unnoticed>,
    options: HeightOptions,
}

impl Field {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, 0x71);
        let nodes = 3 + u16::try_from(rng.below(20)).unwrap();
        let kind = Kind::ALL[rng.below(7) as usize];
        let options = HeightOptions {
            clock: if rng.below(2) == 0 { ClockKind::Lamport } else { ClockKind::Perfect },
            rules: [HeightRules::Published, HeightRules::Claiming, HeightRules::Radio][rng.below(3) as usize],
        };
        let mut net = HeightNet::new(Delay::Round);
        for id in shuffled_ids(nodes, &mut rng) {
            net.add(id, seed, HeightElection::new(id, options));
        }
        let graph = Graph::new(kind, usize::from(nodes), seed);
        let unnoticed = graph.edges().flat_map(|edge| noticed_by_both(edge, true)).collect();
        Self { net, graph, rng, events: 0, unnoticed, options }
    }

    fn pick(&mut self, count: usize) -> usize {
        self.rng.below(u32::try_from(count).unwrap()) as usize
    }

    /// One delivery or one detection, at random.
    fn step(&mut self) -> bool {
        self.events += 1;
        self.net.set_now(Instant::from_millis(self.events));
        let choices = self.net.pending().count() + self.unnoticed.len();
        if choices == 0 {
            return false;
        }
        let choice = self.pick(choices);
        if choice >= self.unnoticed.len() {
            return self.net.deliver_random(&mut self.rng);
        }
        // Changes of one direction are detected in order.
        let Direction { from, to } = self.unnoticed[choice].direction;
        let first = self.unnoticed.iter().position(|change| change.direction == Direction { from, to }).unwrap();
        if self.unnoticed.remove(first).up {
            self.net.link_up(from, to);
        } else {
            self.net.link_down(from, to);
        }
        true
    }

    fn change(&mut self, edge: Edge, up: bool) {
        let Edge { u, v } = edge;
        if up != self.graph.has(u, v) {
            if up {
                self.graph.insert(u, v);
            } else {
                self.graph.remove(u, v);
            }
            self.unnoticed.extend(noticed_by_both(edge, up));
        }
    }

    /// Everything between two halves goes down, or comes up again.
    fn wall(&mut self, up: bool, links: &[Edge], side: &[bool]) {
        for &edge in links.iter().filter(|edge| side[edge.u] != side[edge.v]) {
            self.change(edge, up);
        }
    }

    /// A node restarts without its state; its neighbours find its channels dead, and then new.
    fn restart(&mut self, node: NodeIndex) {
        while self.unnoticed.iter().any(|change| change.direction.edge().touches(node)) {
            self.step();
        }
        let id = self.net.id(node);
        let neighbours = self.graph.neighbours().swap_remove(node.0);
        self.net.crash(node);
        self.net.restart(node, 0, HeightElection::new(id, self.options));
        for other in neighbours {
            let there = Direction { from: other, to: node };
            let changes = [(there, false), (there, true), (there.back(), true)];
            self.unnoticed.extend(changes.map(|(direction, up)| Unnoticed { direction, up }));
        }
    }

    fn settle(&mut self) {
        let limit = 400_000;
        for _ in 0..limit {
            if !self.step() {
                return;
            }
        }
        panic!("no end after {limit} events");
    }

    fn check(&mut self) {
        self.settle();
        if let Err(violation) = oriented::check(&self.net) {
            panic!("{violation} ({:?})", self.options);
        }
    }
}

/// What both ends of a link have yet to detect.
fn noticed_by_both(edge: Edge, up: bool) -> [Unnoticed; 2] {
    edge.directions().map(|direction| Unnoticed { direction, up })
}

fn changing_network(seed: u64) {
    let mut field = Field::new(seed);
    field.check();
    let nodes = field.graph.len();
    for _ in 0..3 {
        for _ in 0..=field.rng.below(5) {
            let edge = Edge { u: NodeIndex(field.pick(nodes)), v: NodeIndex(field.pick(nodes)) };
            let up = field.rng.below(2) == 0;
            if edge.u != edge.v {
                field.change(edge, up);
            }
            for _ in 0..field.rng.below(12) {
                field.step();
            }
        }
        field.check();
    }
    let links: Vec<Edge> = field.graph.edges().collect();
    let side: Vec<bool> = (0..nodes).map(|_| field.rng.below(2) == 0).collect();
    field.wall(false, &links, &side);
    if field.rng.below(2) == 0 {
        field.check();
    }
    field.wall(true, &links, &side);
    field.check();
}

#[test]
fn changes() {
    sweep("heights::changes", 2_500, changing_network);
}

#[test]
fn restarts() {
    sweep("heights::restarts", 1_500, |seed| {
        let mut field = Field::new(seed);
        // The published algorithm assumes that nodes keep their state.
        if field.options.rules == HeightRules::Published {
            return;
        }
        field.check();
        for _ in 0..3 {
            let node = NodeIndex(field.pick(field.graph.len()));
            field.restart(node);
            for _ in 0..field.rng.below(20) {
                field.step();
            }
        }
        field.check();
    });
}

#[test]
fn the_networks_are_varied() {
    let fields: Vec<Field> = (0..100).map(Field::new).collect();
    let sizes: std::collections::BTreeSet<usize> = fields.iter().map(|field| field.graph.len()).collect();
    assert!(sizes.len() >= 15, "{sizes:?}");
    for rules in [HeightRules::Published, HeightRules::Claiming, HeightRules::Radio] {
        assert!(fields.iter().filter(|field| field.options.rules == rules).count() > 15);
    }
}
