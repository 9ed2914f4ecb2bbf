//! The second half: heights on an ad hoc network that forms, loses its leader, splits and heals.

use std::collections::BTreeMap;

use common::election::height::{HeightElection, HeightOptions};
use common::notice::Event;
use common::protocol::Protocol;
use common::types::NodeId;
use ideal::graph::{Graph, Kind};
use ideal::index::{Edge, NodeIndex};
use ideal::net::{Net, ROUND};
use ideal::oriented;

use super::picture::draw;
use super::{Request, Scene, Stage};
use crate::output::{counted, counted_as};

const LINKS_MAX: usize = 48;

type HeightNet = Net<HeightElection<LINKS_MAX>, LINKS_MAX>;

struct Story<'a> {
    net: HeightNet,
    graph: Graph,
    seed: u64,
    stage: &'a mut Stage,
}

pub(super) fn play(request: Request, stage: &mut Stage) {
    let count = usize::from(request.nodes);
    let mut net = HeightNet::default();
    for id in (1..=request.nodes).map(NodeId) {
        net.add(id, request.seed, HeightElection::new(id, HeightOptions::default()));
    }
    let graph = Graph::new(Kind::Rgg, count, request.seed);
    let mut story = Story { net, graph, seed: request.seed, stage };

    story.stage.say(format!("3. {count} boards lie scattered over a field, each its own leader. Now links come up.\n"));
    story.net.start_all();
    for Edge { u, v } in story.graph.edges() {
        story.net.connect(u, v);
    }
    story.settle("an ad hoc network forms (heights)");

    story.lose_leader();
    story.part_and_heal();
}

impl Story<'_> {
    fn leader(&self, node: NodeIndex) -> Option<NodeIndex> {
        self.net.node(node).leader().and_then(|id| self.net.index_of(id))
    }

    /// The leader moves out of range, the others elect another, and it comes back as a follower.
    fn lose_leader(&mut self) {
        let Some(leader) = self.leader(NodeIndex(0)) else { return };
        let links: Vec<_> = self.graph.edges().filter(|edge| edge.touches(leader)).collect();
        let id = self.net.id(leader);
        let gone = counted(links.len(), "link");
        self.stage.say(format!("4. Leader {id} is carried away and loses {gone}.\n"));
        self.cut(&links);
        self.settle("its leader is carried away (heights)");

        self.stage.say(format!("5. Node {id} comes back and follows the leader elected last.\n"));
        self.connect(&links);
        self.settle("it comes back (heights)");
    }

    fn cut(&mut self, links: &[Edge]) {
        for &Edge { u, v } in links {
            self.graph.remove(u, v);
            self.net.cut(u, v);
        }
    }

    fn connect(&mut self, links: &[Edge]) {
        for &Edge { u, v } in links {
            self.graph.insert(u, v);
            self.net.connect(u, v);
        }
    }

    /// Splits the network in two and joins it again.
    fn part_and_heal(&mut self) {
        let side = self.half();
        let links: Vec<_> = self.graph.edges().filter(|edge| side[edge.u] != side[edge.v]).collect();
        let gone = counted(links.len(), "link");
        self.stage.say(format!("6. A wall goes up, blocks {gone} and splits the network in two.\n"));
        self.cut(&links);
        self.settle("a wall splits it (heights)");

        self.stage.say("7. The wall comes down: two leaders meet, and the one elected later wins.\n");
        self.connect(&links);
        self.settle("the wall comes down (heights)");
    }

    /// Half of the nodes, such that both halves are connected: grown from one end, skipping nodes the rest depends on.
    fn half(&self) -> Vec<bool> {
        let count = self.graph.len();
        let mut side = vec![false; count];
        let x = |node: NodeIndex| self.graph.points[node].x;
        let start = self.graph.nodes().min_by(|&a, &b| x(a).total_cmp(&x(b))).unwrap_or_default();
        side[start] = true;
        while side.iter().filter(|&&taken| taken).count() < count / 2 {
            let grows = |node: NodeIndex| {
                let mut grown = side.clone();
                grown[node] = true;
                let touches = self.graph.edges().any(|edge| edge.touches(node) && side[edge.other(node)]);
                !side[node] && touches && self.is_whole(&grown)
            };
            match self.graph.nodes().find(|&node| grows(node)) {
                Some(node) => side[node] = true,
                None => break,
            }
        }
        side
    }

    /// Whether the nodes not taken are still connected.
    fn is_whole(&self, taken: &[bool]) -> bool {
        let links = self.graph.edges().filter(|edge| !taken[edge.u] && !taken[edge.v]);
        let rest = Graph::with(self.graph.points.clone(), links);
        rest.components().iter().filter(|part| part.iter().any(|&node| !taken[node])).count() == 1
    }

    /// Lets everything settle, reports what the nodes did, and shows the result.
    fn settle(&mut self, title: &str) {
        let start = self.net.now();
        let mut done: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        while self.net.step_round_watched(|net, _| {
            for event in &net.last_step().events {
                let what = match event {
                    Event::Searching => ("search begun", "searches begun"),
                    Event::Propagated => ("search passed on", "searches passed on"),
                    Event::Reflected => ("dead end", "dead ends"),
                    Event::ElectedSelf => ("election", "elections"),
                    Event::Adopted(_) => ("leader adopted", "leaders adopted"),
                    _ => continue,
                };
                *done.entry(what).or_default() += 1;
            }
        }) {}
        if let Err(violation) = oriented::check(&self.net) {
            panic!(
                "not leader-oriented: {violation:?}; replay: ringleader demo --seed {} --nodes {}",
                self.seed,
                self.net.len()
            );
        }
        let told: Vec<String> = done.iter().map(|((one, many), &count)| counted_as(count, one, many)).collect();
        self.stage.say(format!(
            "  {}\n",
            if told.is_empty() { "no node had to do anything".to_owned() } else { told.join(", ") }
        ));
        self.stage.say(draw(&self.graph, |node| match self.leader(node) {
            Some(leader) if leader == node => format!("[{}]", self.net.id(node)),
            _ => self.net.id(node).to_string(),
        }));
        let leaders =
            self.graph.components().into_iter().filter_map(|part| self.net.node(part[0]).leader()).map(|id| id.0);
        let scene = Scene {
            title: title.to_owned(),
            messages: self.net.counts().total(),
            rounds: self.net.now().since(start).as_micros() / ROUND.as_micros(),
            leaders: leaders.collect(),
        };
        self.net.reset_counts();
        self.stage.close(scene);
    }
}
