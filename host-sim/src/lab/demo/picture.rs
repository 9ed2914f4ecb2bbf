//! Small pictures of a network in characters.

use ideal::graph::{Graph, UnitPoint};
use ideal::index::{Edge, NodeIndex};

const WIDTH: usize = 64;
const HEIGHT: usize = 15;

/// Where a character stands: its column and its line.
#[derive(Clone, Copy)]
struct Cell {
    x: usize,
    y: usize,
}

/// Draws a graph: links as dots, each node as its label.
pub(super) fn draw(graph: &Graph, label: impl Fn(NodeIndex) -> String) -> String {
    let mut canvas = vec![vec![' '; WIDTH]; HEIGHT];
    let cells: Vec<Cell> = graph.points.iter().map(|&point| cell(point)).collect();
    for Edge { u, v } in graph.edges() {
        dots(&mut canvas, cells[u], cells[v]);
    }
    for (node, &Cell { x, y }) in graph.nodes().zip(&cells) {
        let text = label(node);
        let start = x.saturating_sub(text.len() / 2).min(WIDTH - text.len().min(WIDTH));
        for (cell, letter) in canvas[y][start..].iter_mut().zip(text.chars()) {
            *cell = letter;
        }
    }
    let lines: Vec<String> = canvas.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect();
    let used = |line: &String| !line.is_empty();
    let first = lines.iter().position(used).unwrap_or(0);
    let last = lines.iter().rposition(used).unwrap_or(0);
    lines[first..=last].iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "points are in 0..=1"
)]
fn cell(point: UnitPoint) -> Cell {
    let scale = |at: f64, cells: usize| ((at.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize).min(cells - 1);
    // Labels are up to four letters wide; keep them off the right edge.
    Cell { x: 2 + scale(point.x, WIDTH - 4), y: scale(point.y, HEIGHT) }
}

fn dots(canvas: &mut [Vec<char>], Cell { x: x0, y: y0 }: Cell, Cell { x: x1, y: y1 }: Cell) {
    let steps = x0.abs_diff(x1).max(y0.abs_diff(y1)).max(1);
    let between = |a: usize, b: usize, step: usize| (a * (steps - step) + b * step + steps / 2) / steps;
    for step in (0..=steps).step_by(if y0 == y1 { 2 } else { 1 }) {
        canvas[between(y0, y1, step)][between(x0, x1, step)] = '·';
    }
}

#[cfg(test)]
mod tests {
    use ideal::graph::{Graph, Kind};

    use super::{HEIGHT, WIDTH, draw};

    #[test]
    fn every_node_is_in_the_picture_and_nothing_outside() {
        for kind in Kind::ALL {
            let graph = Graph::new(kind, 9, 3);
            let picture = draw(&graph, |node| format!("[{node}]"));
            assert!(picture.lines().count() <= HEIGHT);
            assert!(picture.lines().all(|line| line.chars().count() <= WIDTH + 4), "{picture}");
            let shown = (0..9).filter(|node| picture.contains(&format!("[{node}]"))).count();
            // Two nodes of a random graph may share a character cell.
            assert!(shown == 9 || kind == Kind::Rgg && shown >= 6, "{kind:?}\n{picture}");
        }
    }
}
