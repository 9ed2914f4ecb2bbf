//! Who leads whom, as text: each leader, below it the heads of each level, and beside the lowest heads their members.

use std::collections::BTreeMap;
use std::fmt::Write;

use ideal::hierarchy::HierarchyNet;
use ideal::index::NodeIndex;
use ideal::well_formed::link_graph;

use crate::output::counted;

/// One tree per component, in the order of the components' smallest indices.
pub fn trees(net: &HierarchyNet) -> String {
    let mut out = String::new();
    for component in link_graph(net).components().into_iter().filter(|component| net.is_alive(component[0])) {
        let leader = net.node(component[0]).height().leader.lid;
        let levels = usize::from(net.node(component[0]).radii().levels());
        put(&mut out, format_args!("leader {leader}, {}\n", counted(component.len(), "node")));
        let tree = Tree { net, component };
        match levels.checked_sub(1) {
            Some(top) => {
                for head in tree.heads(top, |_| true) {
                    tree.branch(head, top, 1, &mut out);
                }
            }
            None => put(&mut out, format_args!("  followers: {}\n", tree.list(tree.component.iter().copied()))),
        }
    }
    out
}

struct Tree<'a> {
    net: &'a HierarchyNet,
    component: Vec<NodeIndex>,
}

impl Tree<'_> {
    /// The heads of a level for which `wanted` holds, the leader first, the others by id.
    fn heads(&self, level: usize, wanted: impl Fn(NodeIndex) -> bool) -> Vec<NodeIndex> {
        let is_head = |node: NodeIndex| {
            let standing = self.net.node(node).standing(level);
            standing.is_some_and(|standing| standing.head == self.net.id(node))
        };
        let mut heads: Vec<NodeIndex> = self.component.iter().copied().filter(|&n| is_head(n) && wanted(n)).collect();
        heads.sort_by_key(|&node| (self.net.id(node) != self.net.node(node).height().leader.lid, self.net.id(node)));
        heads
    }

    /// A head and everything below it.
    fn branch(&self, head: NodeIndex, level: usize, depth: usize, out: &mut String) {
        let id = self.net.id(head);
        let indent = 2 * depth;
        let far = match self.net.node(head).standing(level + 1) {
            Some(above) if above.head != id => format!(", {} away", hops(above.distance)),
            _ => String::new(),
        };
        if level == 0 {
            let members = self.members(head);
            put(out, format_args!("{:indent$}head {id}{far}{members}\n", ""));
            return;
        }
        put(out, format_args!("{:indent$}level {} head {id}{far}\n", "", level + 1));
        let is_below =
            |node: NodeIndex| self.net.node(node).standing(level).is_some_and(|standing| standing.head == id);
        for below in self.heads(level - 1, is_below) {
            self.branch(below, level - 1, depth + 1, out);
        }
    }

    /// The members of a head of level 1, nearest first.
    fn members(&self, head: NodeIndex) -> String {
        let mut by_distance: BTreeMap<u8, Vec<NodeIndex>> = BTreeMap::new();
        for &node in &self.component {
            if let Some(standing) = self.net.node(node).standing(0)
                && standing.head == self.net.id(head)
                && node != head
            {
                by_distance.entry(standing.distance).or_default().push(node);
            }
        }
        if by_distance.is_empty() {
            return ", alone".into();
        }
        let groups =
            by_distance.into_iter().map(|(distance, nodes)| format!("{}: {}", hops(distance), self.list(nodes)));
        format!("  {}", groups.collect::<Vec<_>>().join("; "))
    }

    fn list(&self, nodes: impl IntoIterator<Item = NodeIndex>) -> String {
        let mut ids: Vec<u16> = nodes.into_iter().map(|node| self.net.id(node).0).collect();
        ids.sort_unstable();
        ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

fn hops(distance: u8) -> String {
    counted(distance, "hop")
}

fn put(out: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(piece).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use common::election::hierarchy::Radii;
    use common::types::NodeId;
    use ideal::graph::{Graph, Kind};
    use ideal::hierarchy::{Field, Request, Story};

    use super::trees;

    #[test]
    fn a_small_network_reads_as_it_stands() {
        let line = Graph::new(Kind::Line, 6, 0);
        let ids = [2, 5, 4, 3, 1, 6].map(NodeId);
        let (field, _) = Field::form(&line, &ids, Radii::new(&[1, 2]).unwrap(), 1).unwrap();
        let expected = "\
leader 1, 6 nodes
  level 2 head 1
    head 1  1 hop: 3 6
    head 4, 2 hops away, alone
  level 2 head 2
    head 2  1 hop: 5
";
        assert_eq!(trees(&field.net), expected);
    }

    #[test]
    fn every_live_node_is_in_one_place_of_the_lowest_level() {
        for kind in Kind::ALL {
            let radii = Radii::new(&[2, 3, 5]).unwrap();
            let story = Story::tell(Request { kind, nodes: 25, radii, seed: 8, changes: 6 }).unwrap();
            let text = trees(&story.field.net);
            let mut ids = Vec::new();
            for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("head ")) {
                let words: Vec<&str> = line.split([' ', ',', ';']).collect();
                ids.push(words[1].parse::<u16>().unwrap());
                let groups = line.split("hops: ").flat_map(|piece| piece.split("hop: ")).skip(1);
                ids.extend(groups.flat_map(|piece| {
                    piece.split(';').next().unwrap().split(' ').filter_map(|id| id.parse::<u16>().ok())
                }));
            }
            ids.sort_unstable();
            let net = &story.field.net;
            let mut alive: Vec<u16> =
                net.nodes().filter(|&node| net.is_alive(node)).map(|node| net.id(node).0).collect();
            alive.sort_unstable();
            assert_eq!(ids, alive, "{kind:?}\n{text}");
        }
    }
}
