//! Figures: the costs of losing the leader, and unnecessary elections with either clock.

use std::path::Path;

use anyhow::Context;
use common::causal_clock::ClockKind;
use ideal::graph::Kind;

use super::as_f64;
use super::change::{Change, Schedule};
use super::stats::{Case, Cell, Group};
use crate::draw::chart::{Chart, Datum, Series};
use crate::lab::fit;
use crate::note;

/// Draws every figure that the runs have the data for, and says where.
pub fn draw(groups: &[Group], dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create the directory {}", dir.display()))?;
    let figures = [
        ("study-messages.svg", messages(groups)),
        ("study-rounds.svg", rounds(groups)),
        ("study-unnecessary.svg", unnecessary(groups)),
    ];
    for (name, chart) in figures {
        let path = dir.join(name);
        if chart.series.is_empty() {
            note!("study: no data for {name}");
            continue;
        }
        chart.write_svg(&path).with_context(|| format!("cannot draw {}", path.display()))?;
        note!("study: drew {}", path.display());
    }
    Ok(())
}

fn messages(groups: &[Group]) -> Chart {
    let point = |cell: &Cell| Datum { x: as_f64(cell.case.nodes as u64), y: cell.messages.mean };
    Chart {
        title: "Messages until a lost leader is replaced".to_owned(),
        x_label: "nodes".to_owned(),
        y_label: "Updates sent, mean".to_owned(),
        log_y: false,
        series: leader_lost(groups, point),
    }
}

fn rounds(groups: &[Group]) -> Chart {
    let point = |cell: &Cell| Datum { x: cell.diameter.mean, y: cell.agreed.map_or(0.0, |agreed| agreed.mean) };
    let mut series = leader_lost(groups, point);
    let widest = series.iter().flat_map(|line| &line.points).map(|point| point.x).fold(0.0, f64::max);
    if !series.is_empty() {
        let points = vec![Datum { x: 0.0, y: 0.0 }, Datum { x: widest, y: 3.0 * widest }];
        series.push(Series { label: "three waves: 3 D".to_owned(), points, look: None });
    }
    Chart {
        title: "Rounds until everybody follows the new leader".to_owned(),
        x_label: "diameter after the loss, mean".to_owned(),
        y_label: "rounds, mean".to_owned(),
        log_y: false,
        series,
    }
}

fn unnecessary(groups: &[Group]) -> Chart {
    let mut series = Vec::new();
    for change in [Change::Flap, Change::Churn] {
        for (clock, name) in [(ClockKind::Lamport, "Lamport"), (ClockKind::Perfect, "perfect")] {
            let of = |case: &Case| (case.change, case.clock, case.schedule) == (change, clock, Schedule::Random);
            let points = by_size(groups, of);
            if !points.is_empty() {
                series.push(Series { label: format!("{}, {name} clocks", change.name()), points, look: None });
            }
        }
    }
    Chart {
        title: "Unnecessary elections, deliveries in random order".to_owned(),
        x_label: "nodes".to_owned(),
        y_label: "elections per run, all graphs, mean".to_owned(),
        log_y: false,
        series,
    }
}

/// A line for each kind of graph.
fn leader_lost(groups: &[Group], point: impl Fn(&Cell) -> Datum) -> Vec<Series> {
    let line = |kind: Kind| {
        let wanted = |case: &Case| {
            let what = (case.graph, case.change, case.clock, case.schedule);
            what == (kind, Change::LeaderLost, ClockKind::Lamport, Schedule::Synchronous)
        };
        let mut points: Vec<_> =
            groups.iter().filter(|group| wanted(&group.case)).map(|group| point(&group.cell())).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { label: kind.name().to_owned(), points, look: None }
    };
    Kind::ALL.into_iter().map(line).filter(|series| !series.points.is_empty()).collect()
}

/// Unnecessary elections per run against the number of nodes.
fn by_size(groups: &[Group], wanted: impl Fn(&Case) -> bool) -> Vec<Datum> {
    let chosen: Vec<&Group> = groups.iter().filter(|group| wanted(&group.case)).collect();
    let mut sizes: Vec<usize> = chosen.iter().map(|group| group.case.nodes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let at = |nodes: usize| {
        let samples = chosen.iter().filter(|group| group.case.nodes == nodes).flat_map(|group| &group.samples);
        let mean = fit::mean(samples.map(|sample| as_f64(sample.outcome.unnecessary)));
        mean.map(|mean| Datum { x: as_f64(nodes as u64), y: mean })
    };
    sizes.into_iter().filter_map(at).collect()
}
