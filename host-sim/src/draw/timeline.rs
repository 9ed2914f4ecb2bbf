//! A picture of who followed whom over time, with the changes marked.

use sim::scenario::report::story::Story;
use sim::scenario::report::timeline::{leaders, stretches};

use super::colours::colour;
use super::svg::{as_f64, background, escape, head, push};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 70.0;
const PLOT: f64 = 900.0;
const ROW: f64 = 14.0;
const TOP: f64 = 58.0;
/// Room for a number above the plot, and for one entry of the legend.
const MARK: f64 = 16.0;
const ENTRY: f64 = 76.0;
/// Leaders named in the legend; the titles of bars name the others.
const NAMED_MAX: usize = 36;
/// The least distance between two labels of the axis.
const TICK: f64 = 80.0;

/// A bar for each node in its leader's colour, and a line for each change.
pub fn svg(story: &Story) -> String {
    let rows = stretches(story);
    let ranked = leaders(&rows);
    let colour_of = |leader: u16| colour(ranked.iter().position(|&other| other == leader).unwrap_or(ranked.len()));
    #[expect(clippy::cast_precision_loss, reason = "runs last far less than 2^52 milliseconds")]
    let x = |ms: u64| LEFT + PLOT * ms as f64 / story.lasts_ms.max(1) as f64;
    let bottom = TOP + ROW * as_f64(rows.len());
    let named = ranked.len().min(NAMED_MAX);
    let columns = ((WIDTH - LEFT) / ENTRY).floor().max(1.0);
    let legend_rows = (as_f64(named + 1) / columns).ceil() + 1.0;
    let changes_top = bottom + 42.0 + ROW * legend_rows + 10.0;
    let height = format!("{:.0}", changes_top + ROW * as_f64(story.changes.len()) + 10.0);
    let mut svg = head(WIDTH, &height, &format!("{}: who followed whom", story.title));
    svg += &background(WIDTH, &height, "white");
    push(
        &mut svg,
        format_args!(
            "<text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{}: who followed whom</text>\n",
            escape(&story.title)
        ),
    );
    for (row, (node, stretches)) in rows.iter().enumerate() {
        let y = TOP + ROW * as_f64(row);
        push(
            &mut svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\" text-anchor=\"end\">{node}</text>\n",
                LEFT - 6.0,
                y + 10.0
            ),
        );
        for stretch in stretches {
            let (from, to) = (x(stretch.from_ms), x(stretch.to_ms));
            let edge = if stretch.leader == *node { " stroke=\"black\"" } else { "" };
            push(
                &mut svg,
                format_args!(
                    "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"{edge}><title>{node} follows {} from {} to {} ms</title></rect>\n",
                    y + 1.0,
                    to - from,
                    ROW - 3.0,
                    colour_of(stretch.leader),
                    stretch.leader,
                    stretch.from_ms,
                    stretch.to_ms
                ),
            );
        }
    }
    axis(&mut svg, story.lasts_ms, bottom, x);
    marks(&mut svg, story, bottom, x);
    for (number, (ms, what)) in (1..).zip(&story.changes) {
        let y = changes_top + ROW * (f64::from(number) - 1.0);
        push(
            &mut svg,
            format_args!(
                "<text x=\"{LEFT}\" y=\"{y:.1}\" font-size=\"11\">{number}: {} s, {}</text>\n",
                ms_as_s(*ms),
                escape(what)
            ),
        );
    }
    legend(&mut svg, &ranked, named, columns, bottom + 46.0);
    svg + "</svg>\n"
}

/// Numbers of the changes, above their lines. Where they stand too close for that, one number names the first of several.
fn marks(svg: &mut String, story: &Story, bottom: f64, x: impl Fn(u64) -> f64) {
    let mut free = f64::MIN;
    for (number, (ms, _)) in (1..).zip(&story.changes) {
        let at = x(*ms);
        push(
            svg,
            format_args!(
                "<line x1=\"{at:.1}\" y1=\"{:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"black\" stroke-dasharray=\"3 2\"/>\n",
                TOP - 4.0
            ),
        );
        if at >= free {
            push(
                svg,
                format_args!(
                    "<text x=\"{at:.1}\" y=\"{:.1}\" font-size=\"10\" text-anchor=\"middle\">{number}</text>\n",
                    TOP - 8.0
                ),
            );
            free = at + MARK + if number >= 100 { 6.0 } else { 0.0 };
        }
    }
}

/// The time in round steps.
fn axis(svg: &mut String, lasts_ms: u64, bottom: f64, x: impl Fn(u64) -> f64) {
    let step = step_ms(lasts_ms);
    push(
        svg,
        format_args!(
            "<line x1=\"{LEFT}\" y1=\"{bottom:.1}\" x2=\"{:.1}\" y2=\"{bottom:.1}\" stroke=\"#666666\"/>\n",
            LEFT + PLOT
        ),
    );
    for ms in (0..=lasts_ms).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let at = x(ms);
        push(
            svg,
            format_args!(
                "<line x1=\"{at:.1}\" y1=\"{bottom:.1}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#666666\"/><text x=\"{at:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\">{} s</text>\n",
                bottom + 5.0,
                bottom + 18.0,
                ms_as_s(ms)
            ),
        );
    }
}

/// A round time that leaves labels room: 1, 2 or 5 times a power of ten.
fn step_ms(lasts_ms: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a dozen labels fit")]
    let labels = (PLOT / TICK) as u64;
    let least = lasts_ms / labels + 1;
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    powers.flat_map(|power| [1, 2, 5].map(|factor| factor * power)).find(|&step| step >= least).unwrap_or(u64::MAX)
}

/// Milliseconds as seconds, without needless zeros.
fn ms_as_s(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn legend(svg: &mut String, ranked: &[u16], named: usize, columns: f64, top: f64) {
    push(
        svg,
        format_args!(
            "<text x=\"{LEFT}\" y=\"{top:.1}\" font-size=\"11\">Leaders; outlined where a node leads itself</text>\n"
        ),
    );
    let corner = |at: usize| {
        let row = (as_f64(at) / columns).floor();
        (LEFT + ENTRY * (as_f64(at) - row * columns), top + ROW * (row + 1.0))
    };
    for (rank, leader) in ranked.iter().take(named).enumerate() {
        let (x, y) = corner(rank);
        push(
            svg,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{y:.1}\" font-size=\"11\">{leader}</text>\n",
                y - 9.0,
                colour(rank),
                x + 14.0
            ),
        );
    }
    if ranked.len() > named {
        let (x, y) = corner(named);
        push(
            svg,
            format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\">and {} more</text>\n", ranked.len() - named),
        );
    }
}

#[cfg(test)]
mod tests {
    use sim::scenario::report::outcome::Follow;
    use sim::scenario::report::story::Story;

    use super::{step_ms, svg};

    #[test]
    fn times_are_round_and_have_room() {
        assert_eq!([1, 10_000, 40_000, 60_000, 3_600_000].map(step_ms), [1, 1_000, 5_000, 10_000, 500_000]);
    }

    #[test]
    fn many_leaders_and_changes_do_not_overprint() {
        let follows = (1..=60).map(|node| Follow { at_ms: 0, node, leader: Some(node) }).collect();
        let changes = (0..50).map(|at| (10_000 + at * 20, "node <1> off".to_owned())).collect();
        let story = Story { title: "t & co".into(), lasts_ms: 60_000, nodes: (1..=60).collect(), follows, changes };
        let picture = svg(&story);
        assert!(picture.contains("t &amp; co") && picture.contains("node &lt;1&gt; off"));
        // Fifty lines within 15 units of each other, and hardly a number above them.
        assert_eq!(picture.matches("stroke-dasharray").count(), 50);
        assert!(picture.matches("y=\"50.0\" font-size=\"10\" text-anchor=\"middle\"").count() <= 2);
        assert!(picture.contains(">and 24 more<"));
        let fills: std::collections::BTreeSet<&str> =
            picture.split("fill=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(fills.len() >= 60, "a colour each");
    }
}
