//! Tables in separate files that a scenario names: measured links and ways.
//!
//! Each line holds one row of comma-separated numbers. Empty lines, lines that begin with `#`, and names of the columns in
//! the first row are ignored. The path is relative to the scenario's.

use std::collections::BTreeMap;
use std::path::Path;

use super::Files;

use crate::air::index::NodeIndex;
use crate::air::propagation::Point;
use crate::scenario::input::link_table::{LinkChange, LinkTable};
use crate::scenario::input::plan::Waypoint;
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

/// Reads measured losses: `from, to, loss in dB`, or with the time from which each holds in front, `seconds, from, to, loss
/// in dB`.
pub(super) fn links(
    section: &Section<'_>,
    key: &str,
    name: &str,
    nodes: usize,
    files: Files<'_>,
) -> Result<LinkTable, Problem> {
    const COLUMNS: &str = "from, to, loss in dB";
    const TIMED: &str = "seconds, from, to, loss in dB";
    let (mut table, mut last) = (LinkTable::default(), BTreeMap::new());
    // The first row tells which of both it is.
    let timed = rows::<4>(section, key, name, files, TIMED);
    let all = match (timed, rows::<3>(section, key, name, files, COLUMNS)) {
        (Ok(rows), _) => rows,
        (Err(_), Ok(rows)) => rows.into_iter().map(Row::since_the_start).collect(),
        // The one that got further is what was meant.
        (Err(timed), Err(plain)) => return Err(if timed.line > plain.line { timed } else { plain }),
    };
    for row in all {
        let [seconds, from, to, loss_db] = row.numbers;
        let (from, to) = (row.node(from, nodes)?, row.node(to, nodes)?);
        if from == to {
            return Err(row.problem("a node has no link to itself"));
        }
        row.check("the time", Unit::Time, seconds)?;
        row.check("the loss", Unit::Loss, loss_db)?;
        let at_us = micros(seconds);
        match last.insert((from, to), at_us) {
            Some(before) if before == at_us => return Err(row.problem("this link was listed before")),
            Some(before) if before > at_us => return Err(row.problem("the rows of a link must be in order of time")),
            _ => {}
        }
        if at_us == 0 {
            table.losses.insert((from, to), loss_db);
        } else {
            table.changes.push(LinkChange { at_us, from, to, loss_db });
        }
    }
    table.changes.sort_by_key(|change| change.at_us);
    Ok(table)
}

/// Reads ways: `seconds, node, x, y`.
pub(super) fn ways(
    section: &Section<'_>,
    key: &str,
    name: &str,
    nodes: usize,
    files: Files<'_>,
) -> Result<BTreeMap<NodeIndex, Vec<Waypoint>>, Problem> {
    let mut ways: BTreeMap<NodeIndex, Vec<Waypoint>> = BTreeMap::new();
    for row in rows::<4>(section, key, name, files, "seconds, node, x, y")? {
        let [seconds, node, x, y] = row.numbers;
        row.check("the time", Unit::Time, seconds)?;
        row.check("the distance from the origin", Unit::Length, x.abs().max(y.abs()))?;
        let way = ways.entry(row.node(node, nodes)?).or_default();
        if way.last().is_some_and(|last| last.at_us > micros(seconds)) {
            return Err(row.problem("the rows of a node must be in order of time"));
        }
        way.push(Waypoint { at_us: micros(seconds), position: Point { x, y } });
    }
    Ok(ways)
}

struct Row<const N: usize> {
    file: String,
    line: usize,
    numbers: [f64; N],
}

impl Row<3> {
    /// What holds from the start on.
    fn since_the_start(self) -> Row<4> {
        let [from, to, loss] = self.numbers;
        Row { file: self.file, line: self.line, numbers: [0.0, from, to, loss] }
    }
}

impl<const N: usize> Row<N> {
    fn problem(&self, what: &str) -> Problem {
        Problem { file: self.file.clone(), line: self.line, what: what.to_owned() }
    }

    /// Checks a number against the range of its quantity.
    fn check(&self, name: &str, unit: Unit, amount: f64) -> Result<(), Problem> {
        unit.check(amount).map(drop).map_err(|what| self.problem(&format!("{name} {what}")))
    }

    /// Converts a node's number to its index.
    fn node(&self, number: f64, nodes: usize) -> Result<NodeIndex, Problem> {
        (1..=nodes)
            .find(|&id| u32::try_from(id).is_ok_and(|id| (f64::from(id) - number).abs() < 1e-9))
            .map(|id| NodeIndex(id - 1))
            .ok_or_else(|| self.problem(&format!("there is no node {number}; nodes are numbered from 1 to {nodes}")))
    }
}

fn rows<const N: usize>(
    section: &Section<'_>,
    key: &str,
    name: &str,
    files: Files<'_>,
    columns: &str,
) -> Result<Vec<Row<N>>, Problem> {
    let path = Path::new(section.file()).parent().unwrap_or(Path::new("")).join(name);
    let file = path.display().to_string();
    let text = files(&path)
        .map_err(|error| section.problem_at(key, &format!("names {file}, which cannot be read: {error}")))?;
    let mut rows = Vec::new();
    let is_name = |cell: &str| cell.trim().starts_with(|first: char| first.is_alphabetic() || first == '"');
    let mut may_be_names = true;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if std::mem::take(&mut may_be_names) && line.split(',').all(is_name) {
            continue;
        }
        let fail = || Problem {
            file: file.clone(),
            line: index + 1,
            what: format!("must be {N} numbers with commas between them: {columns}"),
        };
        let numbers: Option<Vec<f64>> =
            line.split(',').map(|cell| cell.trim().parse().ok().filter(|number: &f64| number.is_finite())).collect();
        let numbers = numbers.and_then(|numbers| <[f64; N]>::try_from(numbers).ok()).ok_or_else(fail)?;
        rows.push(Row { file: file.clone(), line: index + 1, numbers });
    }
    if rows.is_empty() {
        return Err(section.problem_at(key, &format!("names {file}, which has no rows: {columns}")));
    }
    Ok(rows)
}
