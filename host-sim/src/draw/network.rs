//! A picture of a network at a moment: who is linked to whom, who follows whom, what is in the way.

use std::collections::BTreeMap;

use common::types::NodeId;
use sim::air::propagation::Point;
use sim::air::trace::ObstacleKind;

use super::colours::colour;
use super::svg::{Spot, as_f64, background, escape, head, push};
use crate::view::network::Network;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 640.0;
const TOP: f64 = 40.0;
const MARGIN: f64 = 50.0;
const RADIUS: f64 = 13.0;
/// Leaders that are named below the picture.
const NAMED_MAX: usize = 9;

/// Where things are on the picture.
struct Layout {
    positions: BTreeMap<NodeId, Point>,
    scale: f64,
    /// Where the origin of the field lies.
    origin: Spot,
}

impl Layout {
    /// Fits everything into the picture. Nodes without positions stand on a circle.
    fn new(network: &Network) -> Self {
        let has_positions = network.nodes.values().any(|node| node.position.is_some());
        let count = as_f64(network.nodes.len().max(1));
        let on_circle = |at: usize| {
            let angle = std::f64::consts::TAU * as_f64(at) / count - std::f64::consts::FRAC_PI_2;
            Point::new(20.0 * angle.cos(), 20.0 * angle.sin())
        };
        let nodes = network.nodes.values().enumerate();
        let position = |(at, node): (usize, &crate::view::network::Node)| {
            let position = if has_positions { node.position } else { Some(on_circle(at)) };
            position.map(|position| (node.id, position))
        };
        let positions: BTreeMap<NodeId, Point> = nodes.filter_map(position).collect();
        let points: Vec<Point> =
            positions.values().chain(network.obstacles.iter().flat_map(|obstacle| &obstacle.points)).copied().collect();
        let low =
            points.iter().fold(Point::new(f64::MAX, f64::MAX), |low, at| Point::new(low.x.min(at.x), low.y.min(at.y)));
        let high = points
            .iter()
            .fold(Point::new(f64::MIN, f64::MIN), |high, at| Point::new(high.x.max(at.x), high.y.max(at.y)));
        let (wide, tall) = ((high.x - low.x).max(1.0), (high.y - low.y).max(1.0));
        let scale = ((WIDTH - 2.0 * MARGIN) / wide).min((HEIGHT - TOP - 2.0 * MARGIN) / tall).min(60.0);
        let origin = Spot::new(
            WIDTH / 2.0 - scale * (low.x + high.x) / 2.0,
            f64::midpoint(HEIGHT, TOP) - scale * (low.y + high.y) / 2.0,
        );
        Self { positions, scale, origin }
    }

    fn screen(&self, position: Point) -> Spot {
        Spot::new(self.origin.x + position.x * self.scale, self.origin.y + position.y * self.scale)
    }

    fn node(&self, id: NodeId) -> Option<Spot> {
        self.positions.get(&id).map(|&position| self.screen(position))
    }
}

pub fn svg(network: &Network, title: &str) -> String {
    let layout = Layout::new(network);
    let ranked: Vec<NodeId> = network.followers().into_iter().map(|(leader, _)| leader).collect();
    let colour_of = |leader: Option<NodeId>| {
        let rank = leader.and_then(|leader| ranked.iter().position(|&other| other == leader));
        rank.map_or("#9aa3b0".to_owned(), colour)
    };
    let mut svg = head(WIDTH, HEIGHT + 30.0, title);
    svg += &background(WIDTH, HEIGHT + 30.0, "white");
    push(&mut svg, format_args!("<text x=\"20\" y=\"26\" font-size=\"15\">{}</text>\n", escape(title)));
    for (a, b) in network.links() {
        if let (Some(from), Some(to)) = (layout.node(a), layout.node(b)) {
            push(&mut svg, format_args!("<line {} stroke=\"#b8c0cc\"/>\n", line(from, to)));
        }
    }
    obstacles(&mut svg, network, &layout);
    for node in network.nodes.values() {
        if let (Some(from), Some(to)) = (layout.node(node.id), node.parent.and_then(|parent| layout.node(parent))) {
            arrow(&mut svg, from, to, &colour_of(node.leader));
        }
    }
    for node in network.nodes.values() {
        let Some(Spot { x, y }) = layout.node(node.id) else { continue };
        let (fill, edge, ink) = match (node.is_on, node.leads()) {
            (false, _) => ("#ffffff".to_owned(), "#9aa3b0\" stroke-dasharray=\"3 3", "#666666"),
            (true, true) => (colour_of(node.leader), "#000000\" stroke-width=\"3", "#ffffff"),
            (true, false) => (colour_of(node.leader), "none", "#ffffff"),
        };
        let said = match node.leader {
            _ if !node.is_on => "off".to_owned(),
            None => "follows nobody".to_owned(),
            Some(leader) if leader == node.id => "leads".to_owned(),
            Some(leader) => format!("follows {leader}"),
        };
        push(
            &mut svg,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"{fill}\" stroke=\"{edge}\"><title>{} {said}</title></circle>\n",
                node.id
            ),
        );
        push(
            &mut svg,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11\" font-weight=\"bold\" text-anchor=\"middle\" fill=\"{ink}\">{}</text>\n",
                y + 4.0,
                node.id
            ),
        );
        if node.leads() {
            crown(&mut svg, x, y - RADIUS - 3.0);
        }
    }
    legend(&mut svg, network);
    svg + "</svg>\n"
}

fn line(from: Spot, to: Spot) -> String {
    format!("x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"", from.x, from.y, to.x, to.y)
}

/// Towards the next node, and short of it.
fn arrow(svg: &mut String, from: Spot, to: Spot, colour: &str) {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(1e-9);
    let (along, aside) = (Spot::new(dx / length, dy / length), Spot::new(-dy / length, dx / length));
    let at = |back: f64, side: f64| {
        Spot::new(to.x - along.x * back + aside.x * side, to.y - along.y * back + aside.y * side)
    };
    let (tip, neck, left, right) =
        (at(RADIUS + 2.0, 0.0), at(RADIUS + 9.0, 0.0), at(RADIUS + 10.0, 4.5), at(RADIUS + 10.0, -4.5));
    push(svg, format_args!("<line {} stroke=\"{colour}\" stroke-width=\"2\"/>\n", line(from, neck)));
    push(
        svg,
        format_args!(
            "<polygon points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" fill=\"{colour}\"/>\n",
            tip.x, tip.y, left.x, left.y, right.x, right.y
        ),
    );
}

fn crown(svg: &mut String, x: f64, y: f64) {
    let points: Vec<String> =
        [(-8.0, 0.0), (-9.0, -9.0), (-4.0, -4.0), (0.0, -11.0), (4.0, -4.0), (9.0, -9.0), (8.0, 0.0)]
            .map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy))
            .to_vec();
    push(svg, format_args!("<polygon points=\"{}\" fill=\"#f2b701\" stroke=\"#333333\"/>\n", points.join(" ")));
}

fn obstacles(svg: &mut String, network: &Network, layout: &Layout) {
    for obstacle in &network.obstacles {
        let points: Vec<Spot> = obstacle.points.iter().map(|&point| layout.screen(point)).collect();
        match (obstacle.kind, &points[..]) {
            (ObstacleKind::Wall, &[from, to]) => {
                push(
                    svg,
                    format_args!(
                        "<line {} stroke=\"#222222\" stroke-width=\"6\" stroke-linecap=\"round\"><title>a wall</title></line>\n",
                        line(from, to)
                    ),
                );
            }
            (ObstacleKind::Noise | ObstacleKind::Attacker, &[Spot { x, y }]) => {
                let what = if obstacle.kind == ObstacleKind::Noise { "noise" } else { "an attacker" };
                for ring in [6.0, 13.0, 20.0] {
                    push(
                        svg,
                        format_args!(
                            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{ring}\" fill=\"none\" stroke=\"#cc79a7\" stroke-width=\"2\"><title>{what}</title></circle>\n"
                        ),
                    );
                }
            }
            (ObstacleKind::Split, _) => {
                for Spot { x, y } in obstacle.nodes.iter().filter_map(|&id| layout.node(id)) {
                    push(
                        svg,
                        format_args!(
                            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\" fill=\"#b3261e\" fill-opacity=\"0.15\" stroke=\"#b3261e\" stroke-dasharray=\"2 3\"><title>cut off</title></circle>\n",
                            RADIUS + 9.0
                        ),
                    );
                }
            }
            _ => {}
        }
    }
}

fn legend(svg: &mut String, network: &Network) {
    let followers = network.followers();
    let mut x = 20.0;
    for (rank, (leader, count)) in followers.iter().take(NAMED_MAX).enumerate() {
        let text = format!("{leader} leads {count}");
        push(
            svg,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{text}</text>\n",
                HEIGHT + 9.0,
                colour(rank),
                x + 14.0,
                HEIGHT + 18.0
            ),
        );
        x += 22.0 + 6.2 * as_f64(text.len());
    }
    if followers.len() > NAMED_MAX {
        push(
            svg,
            format_args!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11\">and {} more</text>\n",
                HEIGHT + 18.0,
                followers.len() - NAMED_MAX
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;
    use sim::air::trace::NodeNumber;

    use super::svg;
    use crate::lab::film::scenes;
    use crate::view::network::Network;

    #[test]
    fn everybody_is_in_the_picture_and_leaders_wear_crowns() {
        let scene = scenes(1).remove(1);
        let network = Network::at(&scene.records, scene.beats[3].to_us);
        let picture = svg(&network, "a <mesh>");
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n") && picture.contains("a &lt;mesh&gt;"));
        assert_eq!(picture.matches("<circle").count(), 14);
        assert_eq!(picture.matches("#f2b701").count(), 1);
        assert_eq!(picture.matches(" off</title>").count(), 1);
        let arrows = network.nodes.values().filter(|node| node.parent.is_some()).count();
        assert!(arrows >= 11 && picture.matches("stroke-width=\"2\"").count() == arrows, "{arrows}");
    }

    #[test]
    fn a_node_without_a_place_stands_on_a_circle() {
        let mut network = Network::default();
        for number in 1..=3 {
            network.nodes.entry(NodeNumber(usize::from(number))).or_default().id = NodeId(number);
        }
        assert_eq!(svg(&network, "").matches("<circle").count(), 3);
        assert!(svg(&Network::default(), "nobody").contains("nobody"));
    }
}
