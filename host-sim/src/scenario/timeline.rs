//! Who followed whom over time, with the changes marked: as text for a terminal, and as a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::outcome::{Follow, Outcome};

/// Columns of the text's time axis.
const COLUMNS: u64 = 72;

/// More nodes than this are not drawn as text.
const ROWS_MAX: usize = 64;

/// Letters for leaders, in the order in which they came to lead; those beyond share the last sign.
const LETTERS: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const OTHERS: char = '+';

/// No leader, or no power.
const NOBODY: char = '.';

/// Colours that stay apart for the colour-blind (after Okabe and Ito); leaders beyond share them.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#636363"];

/// Stretches of time, in milliseconds, in which one node follows one leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    from_ms: u64,
    to_ms: u64,
    leader: u16,
}

fn stretches(outcome: &Outcome) -> BTreeMap<u16, Vec<Stretch>> {
    let mut rows: BTreeMap<u16, Vec<Stretch>> = outcome.nodes.iter().map(|node| (node.id, Vec::new())).collect();
    let mut open: BTreeMap<u16, (u64, u16)> = BTreeMap::new();
    let end = Follow { at_ms: outcome.ran_ms, node: 0, leader: None };
    let ends = outcome.nodes.iter().map(|node| Follow { node: node.id, ..end });
    for Follow { at_ms, node, leader } in outcome.follows.iter().copied().chain(ends) {
        if let Some((from_ms, leader)) = open.remove(&node)
            && from_ms < at_ms
        {
            rows.entry(node).or_default().push(Stretch { from_ms, to_ms: at_ms, leader });
        }
        if let Some(leader) = leader {
            open.insert(node, (at_ms, leader));
        }
    }
    rows
}

/// Leaders of others than themselves, those that were followed longest first: only they get a letter or colour of their own.
fn leaders(rows: &BTreeMap<u16, Vec<Stretch>>) -> Vec<u16> {
    let mut reigns: BTreeMap<u16, u64> = BTreeMap::new();
    for (&node, stretches) in rows {
        for stretch in stretches {
            let others = if stretch.leader == node { 0 } else { stretch.to_ms - stretch.from_ms };
            *reigns.entry(stretch.leader).or_default() += others;
        }
    }
    let mut ranked: Vec<(u64, u16)> = reigns.into_iter().map(|(leader, ms)| (ms, leader)).collect();
    ranked.sort_unstable_by_key(|&(ms, leader)| (std::cmp::Reverse(ms), leader));
    ranked.into_iter().map(|(_, leader)| leader).collect()
}

/// The timeline for a terminal: a row for each node, a letter for each leader, lower-case where the node leads itself.
pub fn text(outcome: &Outcome) -> String {
    let rows = stretches(outcome);
    if rows.len() > ROWS_MAX {
        let count = rows.len();
        return format!("No timeline as text: {count} nodes are more than {ROWS_MAX}; --svg FILE draws any number\n");
    }
    if outcome.ran_ms == 0 {
        return "No timeline: it ended at once\n".to_owned();
    }
    let ranked = leaders(&rows);
    let letter = |leader: u16| {
        let at = ranked.iter().position(|&other| other == leader);
        at.and_then(|at| LETTERS.get(at)).map_or(OTHERS, |&letter| char::from(letter))
    };
    let column = |ms: u64| ms * COLUMNS / outcome.ran_ms;
    let mut marks = vec![' '; usize::try_from(COLUMNS).unwrap_or(0)];
    for change in outcome.changes.iter().skip(1) {
        if let Some(mark) = usize::try_from(column(change.at_ms)).ok().and_then(|at| marks.get_mut(at)) {
            *mark = '|';
        }
    }
    let mut text = format!(
        "Who followed whom (a letter for each leader, lower case at itself, {OTHERS} for any further one, {NOBODY} for none or no power; | a change)\n"
    );
    let _ = writeln!(text, "        {}", marks.iter().collect::<String>().trim_end());
    let mut shown = BTreeSet::new();
    for (node, stretches) in &rows {
        let row: String = (0..COLUMNS)
            .map(|at| {
                // What holds at the end of a column stands for it.
                let ms = (at + 1) * outcome.ran_ms / COLUMNS - 1;
                let now = stretches.iter().find(|stretch| (stretch.from_ms..stretch.to_ms).contains(&ms));
                now.map_or(NOBODY, |stretch| {
                    shown.insert(stretch.leader);
                    let letter = letter(stretch.leader);
                    if stretch.leader == *node { letter.to_ascii_lowercase() } else { letter }
                })
            })
            .collect();
        let _ = writeln!(text, "  {node:>5} {row}");
    }
    let named = ranked.iter().filter(|leader| shown.contains(leader) && letter(**leader) != OTHERS);
    let legend: Vec<String> = named.map(|&leader| format!("{} = {leader}", letter(leader))).collect();
    let _ = writeln!(text, "        0 s to {} s; {}", outcome.ran_ms / 1_000, legend.join(", "));
    text
}

const LEFT: f64 = 70.0;
const PLOT: f64 = 900.0;
const ROW: f64 = 14.0;
const TOP: f64 = 40.0;

/// The timeline as an SVG picture: a bar for each node in its leader's colour, a line for each change.
pub fn svg(outcome: &Outcome) -> String {
    let rows = stretches(outcome);
    let ranked = leaders(&rows);
    let colour = |leader: u16| {
        let at = ranked.iter().position(|&other| other == leader).unwrap_or(0);
        COLOURS[at % COLOURS.len()]
    };
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    #[expect(clippy::cast_precision_loss, reason = "runs last far less than 2^52 milliseconds")]
    let x = |ms: u64| LEFT + PLOT * ms as f64 / outcome.ran_ms.max(1) as f64;
    let bottom = TOP + ROW * number(rows.len());
    let changes: Vec<_> = outcome.changes.iter().skip(1).collect();
    let height = bottom + 50.0 + ROW * number(changes.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"1000\" height=\"{height:.0}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}, seed {}: who followed whom</text>\n",
        escape(&outcome.scenario),
        outcome.seed
    );
    for (row, (node, stretches)) in rows.iter().enumerate() {
        let y = TOP + ROW * number(row);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{node}</text>", LEFT - 6.0, y + 10.0);
        for stretch in stretches {
            let (from, to) = (x(stretch.from_ms), x(stretch.to_ms));
            let edge = if stretch.leader == *node { " stroke=\"black\"" } else { "" };
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"{edge}><title>{node} follows {} from {} to {} ms</title></rect>",
                y + 1.0,
                to - from,
                ROW - 3.0,
                colour(stretch.leader),
                stretch.leader,
                stretch.from_ms,
                stretch.to_ms
            );
        }
    }
    for (number_of, change) in changes.iter().enumerate() {
        let at = x(change.at_ms);
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"black\" stroke-dasharray=\"3 2\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            TOP - 4.0,
            TOP - 6.0,
            number_of + 1
        );
        let y = bottom + 40.0 + ROW * number(number_of);
        let (ms, what) = (change.at_ms, escape(&change.what));
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.1}\">{}: {ms} ms, {what}</text>", number_of + 1);
    }
    let legend: Vec<String> = ranked
        .iter()
        .take(COLOURS.len())
        .map(|&leader| format!("<tspan fill=\"{}\">\u{25a0}</tspan> {leader}", colour(leader)))
        .collect();
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">Leaders: {}; outlined where a node leads itself; 0 to {} ms</text>\n</svg>",
        bottom + 18.0,
        legend.join("  "),
        outcome.ran_ms
    );
    svg
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
