//! Heights on networks whose links come and go while messages are in flight; each end detects that at its own time.

use common::causal_clock::ClockKind;
use common::election::height::{HeightElection, HeightOptions, HeightRules};
use common::rng::Rng;
use common::time::Instant;
use ideal::graph::{Graph, Kind};
use ideal::net::{Delay, Net};
use ideal::oriented;
use ideal::shuffle::shuffled_ids;

use super::sweep;

const LINKS_MAX: usize = 32;

type HeightNet = Net<HeightElection<LINKS_MAX>, LINKS_MAX>;

struct Field {
    net: HeightNet,
    graph: Graph,
    rng: Rng,
    events: u64,
    /// Changes that their sender has not detected yet: sender, receiver, whether the direction comes up.
    unnoticed: Vec<(usize, usize, bool)>,
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
        let unnoticed = graph.edges().flat_map(|(u, v)| [(u, v, true), (v, u, true)]).collect();
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
        let (from, to, _) = self.unnoticed[choice];
        let first = self.unnoticed.iter().position(|&(u, v, _)| (u, v) == (from, to)).unwrap();
        let (from, to, up) = self.unnoticed.remove(first);
        if up {
            self.net.link_up(from, to);
        } else {
            self.net.link_down(from, to);
        }
        true
    }

    fn change(&mut self, u: usize, v: usize, up: bool) {
        if up != self.graph.has(u, v) {
            if up {
                self.graph.insert(u, v);
            } else {
                self.graph.remove(u, v);
            }
            self.unnoticed.extend([(u, v, up), (v, u, up)]);
        }
    }

    /// Everything between two halves goes down, or comes up again.
    fn wall(&mut self, up: bool, links: &[(usize, usize)], side: &[bool]) {
        for &(u, v) in links.iter().filter(|&&(u, v)| side[u] != side[v]) {
            self.change(u, v, up);
        }
    }

    /// A node restarts without its state; its neighbours find its channels dead, and then new.
    fn restart(&mut self, node: usize) {
        while self.unnoticed.iter().any(|&(u, v, _)| u == node || v == node) {
            self.step();
        }
        let id = self.net.id(node);
        let neighbours: Vec<usize> =
            self.graph.edges().filter(|&(u, v)| u == node || v == node).map(|(u, v)| u + v - node).collect();
        self.net.crash(node);
        self.net.restart(node, 0, HeightElection::new(id, self.options));
        for &other in &neighbours {
            self.unnoticed.extend([(other, node, false), (other, node, true), (node, other, true)]);
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

fn changing_network(seed: u64) {
    let mut field = Field::new(seed);
    field.check();
    let nodes = field.graph.len();
    for _ in 0..3 {
        for _ in 0..=field.rng.below(5) {
            let (u, v) = (field.pick(nodes), field.pick(nodes));
            let up = field.rng.below(2) == 0;
            if u != v {
                field.change(u, v, up);
            }
            for _ in 0..field.rng.below(12) {
                field.step();
            }
        }
        field.check();
    }
    let links: Vec<(usize, usize)> = field.graph.edges().collect();
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
            let node = field.pick(field.graph.len());
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
