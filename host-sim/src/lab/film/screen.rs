//! A moment of the film in characters and colours, fitted to the window.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use common::types::NodeId;
use sim::air::propagation::Point;
use sim::air::trace::{Event, NodeNumber, Record};

use crate::view::network::{Network, Node};

/// Okabe and Ito's colours, as near as the 256 colours of terminals come.
const COLOURS: [u8; 8] = [32, 208, 36, 175, 214, 74, 136, 245];
const DIM: u8 = 240;
/// A board is shown to send for this long after a frame began, in simulated microseconds.
const SENDING_US: u64 = 60_000;
/// Lines above and below the picture.
const FRAME_LINES: usize = 6;

/// The window, and whether colours are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub columns: usize,
    pub lines: usize,
    pub has_colours: bool,
}

/// A network that advances with time, and what is needed to show it.
#[derive(Clone, Debug)]
pub struct Screen<'r> {
    records: &'r [Record],
    next: usize,
    network: Network,
    /// Leaders in the order in which they first led others, for their colours.
    ranked: Vec<NodeId>,
    sent_us: BTreeMap<NodeNumber, u64>,
    /// The corners of the field.
    low: Point,
    high: Point,
}

/// The column and the line of a cell.
#[derive(Clone, Copy)]
struct Spot {
    x: usize,
    y: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    letter: char,
    colour: Option<u8>,
    is_filled: bool,
}

const EMPTY: Cell = Cell { letter: ' ', colour: None, is_filled: false };

impl<'r> Screen<'r> {
    pub fn new(records: &'r [Record]) -> Self {
        let positions: Vec<Point> = records
            .iter()
            .filter_map(|record| match record.event {
                #[expect(clippy::cast_precision_loss, reason = "positions are within 100 km")]
                Event::Place { x_mm, y_mm } => Some(Point::new(x_mm as f64 / 1e3, y_mm as f64 / 1e3)),
                _ => None,
            })
            .collect();
        let low = positions
            .iter()
            .fold(Point::new(f64::MAX, f64::MAX), |low, at| Point::new(low.x.min(at.x), low.y.min(at.y)));
        let high = positions
            .iter()
            .fold(Point::new(f64::MIN, f64::MIN), |high, at| Point::new(high.x.max(at.x), high.y.max(at.y)));
        Self { records, next: 0, network: Network::default(), ranked: Vec::new(), sent_us: BTreeMap::new(), low, high }
    }

    /// Lets time pass until then.
    pub fn go(&mut self, time_us: u64) {
        while let Some(record) = self.records.get(self.next).filter(|record| record.time_us <= time_us) {
            if let (Event::Frame { .. }, Some(node)) = (&record.event, record.node) {
                self.sent_us.insert(node, record.time_us);
            }
            self.network.apply(record);
            self.next += 1;
        }
        for (leader, count) in self.network.followers() {
            if count > 1 && !self.ranked.contains(&leader) {
                self.ranked.push(leader);
            }
        }
    }

    /// The picture with its title and caption; only the first few boards while they are still appearing.
    pub fn draw(&self, window: Window, time_us: u64, title: &str, caption: &str, appeared: usize) -> String {
        let columns = window.columns.clamp(20, 110);
        let lines = window.lines.saturating_sub(FRAME_LINES).clamp(5, 34);
        let mut canvas = vec![vec![EMPTY; columns]; lines];
        let numbers: Vec<NodeNumber> = self.network.nodes.keys().copied().take(appeared).collect();
        let cell = |node: &Node| node.position.map(|position| self.cell(position, columns, lines));
        let shown = |id: NodeId| numbers.iter().filter_map(|at| self.network.nodes.get(at)).find(|node| node.id == id);
        for (a, b) in self.network.links() {
            if let (Some(a), Some(b)) = (shown(a), shown(b))
                && let (Some(from), Some(to)) = (cell(a), cell(b))
            {
                let way = a.parent == Some(b.id) || b.parent == Some(a.id);
                let colour = if way { self.colour(a.leader) } else { DIM };
                dots(&mut canvas, from, to, colour);
            }
        }
        // Where labels overlap, a leader's is on top, and below it those of nodes that are off.
        let mut above = numbers.clone();
        above.sort_by_key(|number| self.network.nodes.get(number).map(|node| (node.leads(), !node.is_on)));
        for &number in &above {
            if let Some(node) = self.network.nodes.get(&number)
                && let Some(at) = cell(node)
            {
                let sent = self.sent_us.get(&number).is_some_and(|&sent| time_us.saturating_sub(sent) < SENDING_US);
                self.label(&mut canvas, at, node, sent && node.is_on);
            }
        }
        let mut text = format!("{}\n\n", styled(title, "1", window.has_colours));
        for row in &canvas {
            text.push_str(&line(row, window.has_colours));
            text.push('\n');
        }
        let _ =
            write!(text, "\n{}\n{}", styled(caption, "1", window.has_colours), self.tally(time_us, window.has_colours));
        text
    }

    fn tally(&self, time_us: u64, has_colours: bool) -> String {
        let mut text = format!("{:>5.1} s  ", sim::scenario::input::units::seconds(time_us));
        for (leader, count) in self.network.followers().into_iter().take(4) {
            let bar = "■".repeat(count.min(20));
            let bar = if has_colours { format!("\x1b[38;5;{}m{bar}\x1b[0m", self.colour(Some(leader))) } else { bar };
            let _ = write!(text, "{bar} {leader}  ");
        }
        text
    }

    fn colour(&self, leader: Option<NodeId>) -> u8 {
        let at = leader.and_then(|leader| self.ranked.iter().position(|&other| other == leader));
        at.map_or(DIM + 6, |at| COLOURS[at % COLOURS.len()])
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "from 0 to the window's size"
    )]
    fn cell(&self, position: Point, columns: usize, lines: usize) -> Spot {
        let (low, high) = (self.low, self.high);
        let share = |at: f64, from: f64, to: f64| ((at - from) / (to - from).max(1e-9)).clamp(0.0, 1.0);
        // A character is twice as high as it is wide, and labels need room at the edges.
        let wide = (columns - 8).min(lines * 5 / 2).max(8);
        let margin = (columns - wide) / 2;
        let x = margin + (share(position.x, low.x, high.x) * (wide - 1) as f64).round() as usize;
        let y = (share(position.y, low.y, high.y) * (lines - 1) as f64).round() as usize;
        Spot { x, y }
    }

    fn label(&self, canvas: &mut [Vec<Cell>], Spot { x, y }: Spot, node: &Node, is_sending: bool) {
        let inner = if !node.is_on {
            "x".to_owned()
        } else if node.leads() {
            format!("[{}]", node.id)
        } else {
            format!(" {} ", node.id)
        };
        let text = if is_sending { format!("({inner})") } else { inner };
        let start = x.saturating_sub(text.chars().count() / 2);
        let colour = if node.is_on { self.colour(node.leader) } else { 196 };
        for (at, letter) in text.chars().enumerate() {
            let Some(cell) = canvas.get_mut(y).and_then(|row| row.get_mut(start + at)) else { continue };
            *cell = Cell { letter, colour: Some(colour), is_filled: node.is_on && !matches!(letter, '(' | ')') };
        }
    }
}

fn dots(canvas: &mut [Vec<Cell>], Spot { x: x0, y: y0 }: Spot, Spot { x: x1, y: y1 }: Spot, colour: u8) {
    let steps = x0.abs_diff(x1).max(2 * y0.abs_diff(y1)).max(1);
    let between = |a: usize, b: usize, step: usize| (a * (steps - step) + b * step + steps / 2) / steps;
    for step in (0..=steps).step_by(2) {
        if let Some(cell) = canvas.get_mut(between(y0, y1, step)).and_then(|row| row.get_mut(between(x0, x1, step))) {
            *cell = Cell { letter: '·', colour: Some(colour), is_filled: false };
        }
    }
}

fn styled(text: &str, style: &str, has_colours: bool) -> String {
    if has_colours { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A row without what is empty at its end.
fn line(row: &[Cell], has_colours: bool) -> String {
    let used = row.iter().rposition(|cell| *cell != EMPTY).map_or(0, |last| last + 1);
    let mut text = String::new();
    let mut style = (None, false);
    for cell in &row[..used] {
        if has_colours && (cell.colour, cell.is_filled) != style {
            style = (cell.colour, cell.is_filled);
            // Writing to a string cannot fail.
            let _ = match style {
                (None, _) => write!(text, "\x1b[0m"),
                (Some(colour), false) => write!(text, "\x1b[0;38;5;{colour}m"),
                (Some(colour), true) => write!(text, "\x1b[0;1;38;5;231;48;5;{colour}m"),
            };
        }
        text.push(cell.letter);
    }
    if has_colours && style != (None, false) {
        text.push_str("\x1b[0m");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Screen, Window};
    use crate::lab::film::scenes;

    #[test]
    fn every_moment_fits_the_window() {
        for scene in scenes(1) {
            for (columns, lines) in [(80, 24), (40, 14), (200, 70)] {
                let window = Window { columns, lines, has_colours: false };
                let mut screen = Screen::new(&scene.records);
                for beat in &scene.beats {
                    screen.go(beat.to_us);
                    let text = screen.draw(window, beat.to_us, scene.title, &beat.caption, usize::MAX);
                    assert!(text.lines().count() <= lines, "{text}");
                    let widest = text.lines().skip(2).take(lines - 6).map(|line| line.chars().count()).max();
                    assert!(widest <= Some(columns), "{text}");
                }
                let last = screen.draw(window, u64::MAX, "", "", usize::MAX);
                assert!(last.contains('['), "somebody leads:\n{last}");
                assert!(lines < 24 || last.contains('x'), "and one is off:\n{last}");
                assert!(!last.contains('\x1b'), "no colours where none are wanted");
            }
        }
    }

    #[test]
    fn boards_appear_one_by_one() {
        let scene = scenes(1).remove(0);
        let mut screen = Screen::new(&scene.records);
        screen.go(0);
        let window = Window { columns: 80, lines: 24, has_colours: true };
        let shown = |count: usize| screen.draw(window, 0, "", "", count).matches("48;5;").count();
        assert_eq!((shown(0), shown(3), shown(9)), (0, 3, 9));
    }
}
