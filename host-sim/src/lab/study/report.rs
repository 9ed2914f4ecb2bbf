//! The report: how costs grow, how the clocks compare, and every case.

use common::causal_clock::ClockKind;
use ideal::graph::Kind;

use super::change::{Change, Schedule};
use super::markdown::table;
use super::stats::{Cell, Group, MeanAndMax, Sample};
use super::{Request, as_f64, option_name};
use crate::draw::chart::Datum;
use crate::lab::fit::{self, Line, Power};
use crate::output::counted;

pub fn text(request: &Request, groups: &[Group]) -> String {
    let mut parts = vec![
        preface(request, groups),
        section("How costs grow (synchronous)", &laws(request, groups)),
        section("Lamport clocks compared with perfect ones", &clocks(request, groups)),
    ];
    for change in request.changes() {
        for schedule in Schedule::ALL {
            let title = format!("{}, {}", capitalised(change.name()), schedule.name());
            parts.push(section(&title, &format!("{}\n\n{}", change.meaning(), cases(groups, change, schedule))));
        }
    }
    parts.join("\n")
}

fn preface(request: &Request, groups: &[Group]) -> String {
    let runs: usize = groups.iter().map(|group| group.samples.len()).sum();
    let last_seed = request.seed.saturating_add(u64::from(request.seeds) - 1);
    format!(
        "Height elections on the ideal network: {runs} runs, all leader-oriented at the end.\n\
         Rules: {}. Seeds: {} to {last_seed}.\n\n\
         n: nodes. D: diameter of the widest part after the change. parts: components after the change.\n\
         Numbers are means over all seeds, with the maximum in brackets. Times are rounds since the first change:\n\
         elected: the last election. agreed: the last node has its final leader. rounds: the last message has arrived.\n\
         unnecessary: the leader a node gave up by electing itself was still in its part, and the node not alone.\n",
        option_name(&request.rules),
        request.seed,
    )
}

fn section(title: &str, body: &str) -> String {
    format!("## {title}\n\n{body}")
}

fn capitalised(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_uppercase() + rest
}

/// A row for each clock, or one for both if they do not differ.
fn for_clocks(names: &[String], row_of: impl Fn(ClockKind) -> Option<Vec<String>>) -> Vec<Vec<String>> {
    let labelled = |clock: &str, cells: Vec<String>| {
        let mut row = names.to_vec();
        row.push(clock.to_owned());
        row.extend(cells);
        row
    };
    match (row_of(ClockKind::Lamport), row_of(ClockKind::Perfect)) {
        (Some(lamport), Some(perfect)) if lamport == perfect => vec![labelled("both", lamport)],
        (lamport, perfect) => lamport
            .map(|cells| labelled("Lamport", cells))
            .into_iter()
            .chain(perfect.map(|cells| labelled("perfect", cells)))
            .collect(),
    }
}

fn cases(groups: &[Group], change: Change, schedule: Schedule) -> String {
    let cells: Vec<Cell> = groups
        .iter()
        .filter(|group| group.case.change == change && group.case.schedule == schedule)
        .map(Group::cell)
        .collect();
    let mut rows = Vec::new();
    for first in cells.iter().filter(|cell| cell.case.clock == ClockKind::Lamport) {
        let names = [
            first.case.graph.name().to_owned(),
            first.case.nodes.to_string(),
            format!("{:.0}", first.links.mean),
            format!("{:.1}", first.diameter.mean),
            format!("{:.1}", first.parts.mean),
        ];
        let same = |cell: &&Cell| (cell.case.graph, cell.case.nodes) == (first.case.graph, first.case.nodes);
        let of = |clock| cells.iter().filter(same).find(|cell| cell.case.clock == clock).map(case_row);
        rows.extend(for_clocks(&names, of));
    }
    let timed = schedule == Schedule::Synchronous;
    let mut header = vec!["graph", "n", "links", "D", "parts", "clock", "messages"];
    header.extend(if timed { &["rounds", "elected", "agreed", "agreed/3D"][..] } else { &[] });
    header.extend(["elections", "unnecessary", "leader changes"]);
    table(&header, 1, &rows)
}

fn case_row(cell: &Cell) -> Vec<String> {
    let spread = |spread: MeanAndMax, digits: usize| format!("{:.digits$} ({})", spread.mean, spread.max);
    let mut row = vec![spread(cell.messages, 1)];
    if let (Some(rounds), Some(elected), Some(agreed)) = (cell.rounds, cell.elected, cell.agreed) {
        let waves = agreed.mean / (3.0 * cell.diameter.mean.max(1.0));
        row.extend([spread(rounds, 1), spread(elected, 1), spread(agreed, 1), format!("{waves:.2}")]);
    }
    row.extend([spread(cell.elections, 2), spread(cell.unnecessary, 2), spread(cell.turns, 1)]);
    row
}

/// What a cost may depend on.
type Measure = (&'static str, fn(usize, &Sample) -> f64);

const MESSAGE_MEASURES: [Measure; 5] = [
    ("n", |nodes, _| as_f64(nodes as u64)),
    ("links", |_, sample| as_f64(sample.links as u64)),
    ("D", |_, sample| as_f64(sample.diameter as u64)),
    ("n·D", |nodes, sample| as_f64((nodes * sample.diameter) as u64)),
    ("links·D", |_, sample| as_f64((sample.links * sample.diameter) as u64)),
];
const ROUND_MEASURES: [Measure; 3] = [MESSAGE_MEASURES[2], MESSAGE_MEASURES[0], MESSAGE_MEASURES[1]];

/// Fewer runs of a case fit any law.
const RUNS_FOR_LAWS: u32 = 10;

fn laws(request: &Request, groups: &[Group]) -> String {
    if request.seeds < RUNS_FOR_LAWS {
        return format!(
            "{} of each case fit any law; ask for {RUNS_FOR_LAWS} or more (`--seeds`) to have laws fitted.\n",
            counted(request.seeds, "run")
        );
    }
    let mut rows = Vec::new();
    for change in request.changes() {
        for kind in request.kinds() {
            let names = [change.name().to_owned(), kind.name().to_owned()];
            rows.extend(for_clocks(&names, |clock| law_row(groups, change, kind, clock)));
        }
    }
    let header =
        ["change", "graph", "clock", "messages grow as", "messages are about", "rounds are about", "agreed is about"];
    format!(
        "A power law is fitted to the logarithms of the means; a straight line is fitted to all runs, over\n\
         whichever of n, links, D, n·D and links·D (for times: D, n and links) explains most. In brackets R², the share\n\
         of the variance that is explained.\n\n{}",
        table(&header, 7, &rows)
    )
}

fn law_row(groups: &[Group], change: Change, kind: Kind, clock: ClockKind) -> Option<Vec<String>> {
    let wanted = |group: &&Group| {
        let case = group.case;
        (case.change, case.graph, case.clock, case.schedule) == (change, kind, clock, Schedule::Synchronous)
    };
    let groups: Vec<&Group> = groups.iter().filter(wanted).collect();
    let mean = |group: &&Group| Datum { x: as_f64(group.case.nodes as u64), y: group.cell().messages.mean };
    let means = groups.iter().map(mean);
    let growth = fit::power(&means.collect::<Vec<_>>());
    let messages = best(&groups, &MESSAGE_MEASURES, |sample| sample.outcome.messages);
    let rounds = best(&groups, &ROUND_MEASURES, |sample| sample.outcome.rounds.unwrap_or(0));
    let agreed = best(&groups, &ROUND_MEASURES, |sample| sample.outcome.agreed.unwrap_or(0));
    let power = |law: Power| format!("{:.2}·n^{:.2} ({:.2})", law.coefficient, law.exponent, law.r2);
    let line = |law: Option<(&str, Line)>| {
        let text = |(name, law): (&str, Line)| {
            // Rounded first, and added to zero, so that no "-0.0" is printed.
            let intercept = (law.intercept * 10.0).round() / 10.0 + 0.0;
            format!("{:.2}·{name} {intercept:+.1} ({:.2})", law.slope, law.r2)
        };
        law.map_or(nothing(), text)
    };
    (!groups.is_empty()).then(|| vec![growth.map_or(nothing(), power), line(messages), line(rounds), line(agreed)])
}

fn nothing() -> String {
    "–".to_owned()
}

fn best(groups: &[&Group], measures: &[Measure], cost: impl Fn(&Sample) -> u64) -> Option<(&'static str, Line)> {
    let fitted = measures.iter().filter_map(|(name, measure)| {
        let points = groups.iter().flat_map(|group| group.samples.iter().map(|sample| (group.case.nodes, sample)));
        let points: Vec<_> =
            points.map(|(nodes, sample)| Datum { x: measure(nodes, sample), y: as_f64(cost(sample)) }).collect();
        Some((*name, fit::line(&points)?))
    });
    // The first of equals, so that the plainer measure wins.
    fitted.reduce(|best, next| if next.1.r2 > best.1.r2 + 1e-9 { next } else { best })
}

fn clocks(request: &Request, groups: &[Group]) -> String {
    let mut rows = Vec::new();
    for change in request.changes() {
        for schedule in Schedule::ALL {
            let side = |clock| {
                let wanted = move |group: &&Group| {
                    (group.case.change, group.case.schedule, group.case.clock) == (change, schedule, clock)
                };
                groups.iter().filter(wanted).flat_map(|group| &group.samples)
            };
            let pairs: Vec<_> = side(ClockKind::Lamport).zip(side(ClockKind::Perfect)).collect();
            let differ = pairs.iter().filter(|(lamport, perfect)| lamport.outcome != perfect.outcome).count();
            let mut row = vec![change.name().to_owned(), schedule.name().to_owned()];
            row.extend([pairs.len().to_string(), differ.to_string()]);
            row.extend(compared(&pairs, 1, |sample| sample.outcome.messages));
            row.extend(compared(&pairs, 3, |sample| sample.outcome.elections));
            row.extend(compared(&pairs, 4, |sample| sample.outcome.unnecessary));
            row.extend(compared(&pairs, 2, |sample| sample.outcome.turns));
            rows.push(row);
        }
    }
    let header = [
        "change",
        "order",
        "runs",
        "differ",
        "messages",
        "perfect",
        "elections",
        "perfect",
        "unnecessary",
        "perfect",
        "leader changes",
        "perfect",
    ];
    format!(
        "Means over all graphs and sizes, with Lamport clocks; beside each, what perfect clocks add to it in\n\
         the same runs, plus or minus one standard error. differ: runs in which the clock changed any number.\n\n{}",
        table(&header, 2, &rows)
    )
}

/// The mean with Lamport clocks, and the mean difference of the pairs with its standard error.
fn compared(pairs: &[(&Sample, &Sample)], digits: usize, number: impl Fn(&Sample) -> u64) -> [String; 2] {
    let mean = fit::mean(pairs.iter().map(|(lamport, _)| as_f64(number(lamport)))).unwrap_or(0.0);
    let gaps: Vec<f64> =
        pairs.iter().map(|(lamport, perfect)| as_f64(number(perfect)) - as_f64(number(lamport))).collect();
    let gap = fit::mean(gaps.iter().copied()).unwrap_or(0.0);
    let variance = fit::mean(gaps.iter().map(|each| (each - gap).powi(2))).unwrap_or(0.0);
    let error = (variance / as_f64(gaps.len().max(2) as u64 - 1)).sqrt();
    let exactly_none = gaps.iter().all(|each| *each == 0.0);
    let added = if exactly_none { "same".to_owned() } else { format!("{gap:+.digits$} ± {error:.digits$}") };
    [format!("{mean:.digits$}"), added]
}
