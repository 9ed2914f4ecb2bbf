//! A picture of who followed whom over time, with the changes marked.

use std::fmt::Write as _;

use sim::scenario::report::outcome::Outcome;
use sim::scenario::report::timeline::{leaders, stretches};

use super::svg::{as_f64, escape};

/// Colours that colour-blind readers can tell apart (after Okabe and Ito); further leaders share them.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#636363"];

const LEFT: f64 = 70.0;
const PLOT: f64 = 900.0;
const ROW: f64 = 14.0;
const TOP: f64 = 40.0;

/// A bar for each node in its leader's colour, and a line for each change.
pub fn svg(outcome: &Outcome) -> String {
    let rows = stretches(outcome);
    let ranked = leaders(&rows);
    let colour = |leader: u16| {
        let at = ranked.iter().position(|&other| other == leader).unwrap_or(0);
        COLOURS[at % COLOURS.len()]
    };
    #[expect(clippy::cast_precision_loss, reason = "runs last far less than 2^52 milliseconds")]
    let x = |ms: u64| LEFT + PLOT * ms as f64 / outcome.ran_ms.max(1) as f64;
    let bottom = TOP + ROW * as_f64(rows.len());
    let changes: Vec<_> = outcome.changes.iter().skip(1).collect();
    let height = bottom + 50.0 + ROW * as_f64(changes.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"1000\" height=\"{height:.0}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}, seed {}: who followed whom</text>\n",
        escape(&outcome.scenario),
        outcome.seed
    );
    for (row, (node, stretches)) in rows.iter().enumerate() {
        let y = TOP + ROW * as_f64(row);
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
        let y = bottom + 40.0 + ROW * as_f64(number_of);
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
