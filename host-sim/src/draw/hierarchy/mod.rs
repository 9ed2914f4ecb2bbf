//! A hierarchy as a picture: one colour per head of level 1, shapes for ranks, arrows to the head.

mod layout;

use common::types::NodeId;

use super::svg::{Spot, as_f64, background, head, push};
use ideal::hierarchy::{Field, HierarchyNet};
use ideal::index::{Edge, NodeIndex};
use layout::{HEIGHT_OF_LEGEND, LEFT, Layout, WIDTH};

/// A colour, and the colour of text that is readable on it.
#[derive(Clone, Copy)]
struct Colour {
    fill: &'static str,
    ink: &'static str,
}

const fn under_black(fill: &'static str) -> Colour {
    Colour { fill, ink: "#000000" }
}

/// One of [`COLOURS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ColourIndex(usize);

/// Colours that colour-blind readers can tell apart (Okabe and Ito, grey for black).
const COLOURS: [Colour; 8] = [
    under_black("#e69f00"),
    under_black("#56b4e9"),
    under_black("#009e73"),
    under_black("#f0e442"),
    Colour { fill: "#0072b2", ink: "#ffffff" },
    under_black("#d55e00"),
    under_black("#cc79a7"),
    under_black("#b0b0b0"),
];

const LINK: &str = "stroke=\"#d8d8d8\" stroke-width=\"1.5\"";
const SOLID: &str = "stroke=\"#333333\" stroke-width=\"2\" fill=\"none\" marker-end=\"url(#tip)\"";
const DASHED: &str =
    "stroke=\"#333333\" stroke-width=\"1.6\" stroke-dasharray=\"6 4\" fill=\"none\" marker-end=\"url(#tip)\"";

/// The tip of arrows.
const TIP: &str = "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"5\" markerHeight=\"5\" \
                   orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#333333\"/></marker></defs>\n";

#[derive(Clone, Copy)]
enum Shape {
    Member,
    /// With the number of levels that it heads.
    Head(usize),
    Leader,
    Lost,
}

/// Draws the network as it is.
pub fn draw(field: &Field, title: &str) -> String {
    let net = &field.net;
    let layout = Layout::of(&field.graph.points);
    let colours = cluster_colours(field);
    let height = layout.bottom + HEIGHT_OF_LEGEND;
    let tall = format!("{height:.0}");
    let mut out = head(WIDTH, &tall, title);
    out.push_str(TIP);
    out.push_str(&background(WIDTH, &tall, "#ffffff"));
    push(
        &mut out,
        format_args!(
            "<text x=\"{:.0}\" y=\"28\" text-anchor=\"middle\" font-size=\"17\">{title}</text>\n",
            WIDTH / 2.0
        ),
    );
    for Edge { u, v } in field.graph.edges() {
        out.push_str(&line(layout.points[u], layout.points[v], LINK));
    }
    for node in net.nodes().filter(|&node| net.is_alive(node)) {
        out.push_str(&arrows(net, &layout, node));
    }
    for node in net.nodes() {
        let colour = COLOURS[colours[node].0];
        out.push_str(&mark(shape(net, node), layout.points[node], colour, &net.id(node).to_string()));
    }
    out.push_str(&legend(net, layout.bottom));
    out.push_str("</svg>\n");
    out
}

fn shape(net: &HierarchyNet, node: NodeIndex) -> Shape {
    let id = net.id(node);
    let heads = |level: &usize| net.node(node).standing(*level).is_some_and(|standing| standing.head == id);
    let headed = (0..usize::from(net.node(node).radii().levels())).take_while(heads).count();
    match headed {
        _ if !net.is_alive(node) => Shape::Lost,
        _ if net.node(node).height().leader.lid == id => Shape::Leader,
        0 => Shape::Member,
        levels => Shape::Head(levels),
    }
}

/// An arrow to the next node on the path to its head or, from a head, to its head on the next level.
fn arrows(net: &HierarchyNet, layout: &Layout, node: NodeIndex) -> String {
    let mut out = String::new();
    let id = net.id(node);
    let (here, size) = (layout.points[node], radius(shape(net, node)));
    for level in 0..usize::from(net.node(node).radii().levels()) {
        let Some(standing) = net.node(node).standing(level) else { break };
        if standing.head == id {
            continue;
        }
        // Higher levels are for heads only: a node that merely relays for them is not drawn as a member.
        let target = if level == 0 { standing.parent } else { standing.head };
        if let Some(there) = net.index_of(target) {
            let start = Tip { at: here, gap: size };
            let end = Tip { at: layout.points[there], gap: radius(shape(net, there)) + 2.0 };
            out.push_str(&arrow(start, end, level > 0));
        }
        break;
    }
    out
}

/// One colour per cluster, such that linked clusters differ. Clusters choose in the order of their heads' ids: of the
/// colours that no linked cluster has, the one used least so far.
fn cluster_colours(field: &Field) -> Vec<ColourIndex> {
    let heads = field.heads();
    let mut clusters: Vec<NodeId> = heads.iter().copied().flatten().collect();
    clusters.sort_unstable();
    clusters.dedup();
    let mut colours: Vec<ColourIndex> = Vec::new();
    for (number, &head) in clusters.iter().enumerate() {
        let is_linked = |other: NodeId| {
            let pair = [Some(head), Some(other)];
            field.graph.edges().any(|Edge { u, v }| pair == [heads[u], heads[v]] || pair == [heads[v], heads[u]])
        };
        let linked: Vec<ColourIndex> =
            (0..number).filter(|&at| is_linked(clusters[at])).map(|at| colours[at]).collect();
        let uses = |colour: ColourIndex| colours.iter().filter(|&&used| used == colour).count();
        let all = (0..COLOURS.len()).map(ColourIndex);
        colours.extend(all.min_by_key(|&colour| (linked.contains(&colour), uses(colour), colour)));
    }
    let colour = |head: &Option<NodeId>| head.and_then(|head| clusters.binary_search(&head).ok()).map(|at| colours[at]);
    heads.iter().map(|head| colour(head).unwrap_or(ColourIndex(COLOURS.len() - 1))).collect()
}

fn radius(shape: Shape) -> f64 {
    match shape {
        Shape::Member | Shape::Lost => 12.0,
        Shape::Head(levels) => 15.0 + 4.0 * as_f64(levels - 1),
        Shape::Leader => 22.0,
    }
}

fn mark(shape: Shape, Spot { x, y }: Spot, Colour { fill, ink }: Colour, label: &str) -> String {
    let r = radius(shape);
    let mut out = String::new();
    match shape {
        Shape::Member => push(
            &mut out,
            format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\" stroke=\"#555555\"/>\n"),
        ),
        Shape::Head(levels) => {
            for level in (0..levels).rev() {
                let r = radius(Shape::Head(level + 1)) - 1.0;
                let fill = if level == 0 { fill } else { "#ffffff" };
                push(
                    &mut out,
                    format_args!(
                        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" \
                         stroke=\"#000000\" stroke-width=\"2\"/>\n",
                        x - r,
                        y - r,
                        2.0 * r,
                        2.0 * r,
                    ),
                );
            }
        }
        Shape::Leader => push(
            &mut out,
            format_args!(
                "<path d=\"M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z\" fill=\"{fill}\" stroke=\"#000000\" \
                 stroke-width=\"3.5\" stroke-linejoin=\"round\"/>\n",
                y - r,
            ),
        ),
        Shape::Lost => push(
            &mut out,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"#ffffff\" stroke=\"#999999\" \
                 stroke-dasharray=\"3 3\"/>\n<path d=\"M{:.1} {:.1}l{d} {d}m0 -{d}l-{d} {d}\" stroke=\"#cccccc\" \
                 stroke-width=\"2\"/>\n",
                x - 8.0,
                y - 8.0,
                d = 16,
            ),
        ),
    }
    let ink = if matches!(shape, Shape::Lost) { "#555555" } else { ink };
    let weight = if matches!(shape, Shape::Head(_) | Shape::Leader) { " font-weight=\"bold\"" } else { "" };
    push(
        &mut out,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{ink}\"{weight}>{label}</text>\n",
            y + 4.6
        ),
    );
    out
}

/// What the shapes and lines mean, in two rows.
fn legend(net: &HierarchyNet, top: f64) -> String {
    let grey = COLOURS[COLOURS.len() - 1];
    let levels = net.node(NodeIndex(0)).radii().levels();
    let has_lost = net.nodes().any(|node| !net.is_alive(node));
    let mut out = String::new();
    let mut at = LEFT;
    let row = top + 30.0;
    let shapes = [
        (Shape::Leader, "global leader", true),
        (Shape::Head(1), "head", true),
        (Shape::Head(2), "of two levels", levels > 1),
        (Shape::Head(3), "of three levels", levels > 2),
        (Shape::Member, "member", true),
        (Shape::Lost, "lost node", has_lost),
    ];
    for (shape, text, _) in shapes.into_iter().filter(|(.., shown)| *shown) {
        at += radius(shape);
        out.push_str(&mark(shape, Spot::new(at, row), grey, "7"));
        at += radius(shape) + 7.0;
        out.push_str(&words(at, row, text));
        at += 7.2 * as_f64(text.chars().count()) + 24.0;
    }
    at = LEFT;
    let row = top + 66.0;
    let lines = [
        (SOLID, "path to its head", true),
        (DASHED, "a head's head on the next level", levels > 1),
        (LINK, "link", true),
    ];
    for (style, text, _) in lines.into_iter().filter(|(.., shown)| *shown) {
        out.push_str(&line(Spot::new(at, row), Spot::new(at + 36.0, row), style));
        at += 43.0;
        out.push_str(&words(at, row, text));
        at += 7.2 * as_f64(text.chars().count()) + 24.0;
    }
    out.push_str(&words(at, row, "one colour: one head and its members"));
    out
}

fn words(x: f64, y: f64, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{:.1}\">{text}</text>\n", y + 4.6)
}

fn line(from: Spot, to: Spot, style: &str) -> String {
    format!("<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" {style}/>\n", from.x, from.y, to.x, to.y)
}

/// An end of an arrow, and the room that it leaves for the shape there.
#[derive(Clone, Copy)]
struct Tip {
    at: Spot,
    gap: f64,
}

/// An arrow that leaves room for the shapes at its ends. Between heads it is dashed, and bent so that it does not cover
/// the links and arrows along the same path.
fn arrow(start: Tip, end: Tip, between_heads: bool) -> String {
    let (from, to) = (start.at, end.at);
    let bend = if between_heads { 0.18 } else { 0.0 };
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let middle = Spot::new(from.x + dx / 2.0 - bend * dy, from.y + dy / 2.0 + bend * dx);
    let Spot { x: x0, y: y0 } = towards(from, middle, start.gap);
    let Spot { x: x1, y: y1 } = towards(to, middle, end.gap);
    let style = if between_heads { DASHED } else { SOLID };
    format!("<path d=\"M{x0:.1} {y0:.1}Q{:.1} {:.1} {x1:.1} {y1:.1}\" {style}/>\n", middle.x, middle.y)
}

/// The point at this distance from one point in the direction of another.
fn towards(from: Spot, to: Spot, distance: f64) -> Spot {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let share = distance / dx.hypot(dy).max(1.0);
    Spot::new(from.x + dx * share, from.y + dy * share)
}

#[cfg(test)]
mod tests {
    use common::election::hierarchy::Radii;
    use ideal::graph::Kind;
    use ideal::hierarchy::{Request, Story};

    use super::{Edge, cluster_colours, draw};

    fn story(kind: Kind, radii: &[u8], seed: u64) -> Story {
        let radii = Radii::new(radii).unwrap();
        Story::tell(Request { kind, nodes: 30, radii, seed, changes: 6 }).unwrap()
    }

    #[test]
    fn every_node_is_drawn_once_with_its_id_and_every_link() {
        for kind in Kind::ALL {
            let story = story(kind, &[1, 3], 4);
            let svg = draw(&story.field, "a title");
            for id in (1..=30).filter(|&id| id != 7) {
                assert_eq!(svg.matches(&format!(">{id}</text>")).count(), 1, "{kind:?}: {id}");
            }
            let links = story.field.graph.edges().count();
            assert_eq!(svg.matches(super::LINK).count(), links + 1, "{kind:?}: the links and one in the legend");
        }
    }

    #[test]
    fn linked_clusters_have_different_colours() {
        for seed in 0..20 {
            let story = story(Kind::Rgg, &[1], seed);
            let (colours, heads) = (cluster_colours(&story.field), story.field.heads());
            for Edge { u, v } in story.field.graph.edges() {
                assert_eq!(colours[u] == colours[v], heads[u] == heads[v], "seed {seed}");
            }
        }
    }
}
