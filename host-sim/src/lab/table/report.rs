//! The tables as text.

use std::fmt::Write;

use common::election::Algorithm;

use super::crossover::{Crossover, LARGEST, SMALLEST};
use super::formula::{ALGORITHMS, Formula, exact_messages, exact_steps, printed_messages, printed_steps};
use super::{Case, Row, SIZES};

/// The sizes that have a column of their own; the verdict is over all.
const SHOWN: [u16; 3] = [10, 50, 100];

/// The size whose row the notes quote.
const QUOTED: u16 = 10;

const WIDTH: usize = 110;

struct Table {
    title: &'static str,
    printed: fn(Algorithm, Case) -> Option<Formula>,
    exact: fn(Algorithm, Case) -> Option<Formula>,
    count: fn(&Row) -> Count,
}

/// What was counted, and what the printed formula gives.
struct Count {
    measured: u64,
    printed: u64,
}

const MESSAGES: Table = Table {
    title: "Table 3.1: messages of a whole election, measured / printed formula",
    printed: printed_messages,
    exact: exact_messages,
    count: |row| Count { measured: row.measured_messages, printed: row.formula_messages },
};

const STEPS: Table = Table {
    title: "Table 3.2: time steps until the last message has arrived, measured / printed formula",
    printed: printed_steps,
    exact: exact_steps,
    count: |row| Count { measured: row.measured_steps, printed: row.formula_steps },
};

/// Everything that the command prints.
pub fn text(rows: &[Row], measured: Crossover, printed: Crossover) -> String {
    let mut out = String::new();
    for table in [MESSAGES, STEPS] {
        out.push_str(&table.text(rows));
        out.push('\n');
    }
    out.push_str(&notes(rows));
    out.push('\n');
    for line in wrap(&closing(measured, printed), WIDTH) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

impl Table {
    fn text(&self, rows: &[Row]) -> String {
        let mut lines = vec![Self::header()];
        for (algorithm, case) in cases() {
            let mine: Vec<&Row> = rows.iter().filter(|row| row.algorithm == algorithm && row.case == case).collect();
            lines.push(self.line(algorithm, case, &mine));
        }
        let mut out = format!("{}\n\n", self.title);
        for line in align(&lines) {
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    fn header() -> Vec<String> {
        let mut cells: Vec<String> = ["note", "algorithm", "case", "printed formula"].map(String::from).into();
        cells.extend(SHOWN.map(|n| format!("N={n}")));
        cells.push(format!("verdict over N = {}, {} .. {}", SIZES[0], SIZES[1], SIZES[SIZES.len() - 1]));
        cells
    }

    fn line(&self, algorithm: Algorithm, case: Case, rows: &[&Row]) -> Vec<String> {
        let number = cases().position(|other| other == (algorithm, case)).map_or(0, |at| at + 1);
        let printed = (self.printed)(algorithm, case).map_or("", |formula| formula.text);
        let mut cells = vec![number.to_string(), algorithm.title().into(), case.name().into(), printed.into()];
        for n in SHOWN {
            let count = rows.iter().find(|row| row.n == n).map(|row| (self.count)(row));
            let cell = |Count { measured, printed }| format!("{measured} / {printed}");
            cells.push(count.map_or_else(String::new, cell));
        }
        cells.push(self.verdict(algorithm, case, rows));
        cells
    }

    fn verdict(&self, algorithm: Algorithm, case: Case, rows: &[&Row]) -> String {
        let equal = rows.iter().filter(|row| {
            let Count { measured, printed } = (self.count)(row);
            measured == printed
        });
        let equal = equal.count();
        if equal == rows.len() {
            return "equal".into();
        }
        let holds =
            |formula: &Formula| rows.iter().all(|row| (formula.value)(row.n.into()) == (self.count)(row).measured);
        let instead = (self.exact)(algorithm, case).filter(holds);
        let some = if equal > 0 { format!(" at {} of {}", rows.len() - equal, rows.len()) } else { String::new() };
        match instead {
            Some(formula) => format!("different{some}: measured = {}", formula.text),
            None => format!("different{some}: see the note"),
        }
    }
}

/// Algorithms and cases in the order of the tables.
fn cases() -> impl Iterator<Item = (Algorithm, Case)> {
    ALGORITHMS.into_iter().flat_map(|algorithm| Case::ALL.map(|case| (algorithm, case)))
}

/// Pads every column to its widest cell; numbers to the right.
fn align(lines: &[Vec<String>]) -> Vec<String> {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_number = |column: usize| column == 0 || (4..4 + SHOWN.len()).contains(&column);
    let pad = |(column, cell): (usize, &String)| {
        let width = widths[column];
        if is_number(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    };
    lines
        .iter()
        .map(|line| line.iter().enumerate().map(pad).collect::<Vec<_>>().join("  ").trim_end().to_string())
        .collect()
}

fn notes(rows: &[Row]) -> String {
    let mut out = format!("Notes: the scenarios, and why a value differs (numbers for N = {QUOTED})\n\n");
    for (number, (algorithm, case)) in (1..).zip(cases()) {
        let quoted = rows.iter().find(|row| row.algorithm == algorithm && row.case == case && row.n == QUOTED);
        let Some(row) = quoted else { continue };
        let scenario = if row.scenario_messages == row.scenario_steps {
            format!("{}.", row.scenario_messages)
        } else {
            format!("messages: {}; steps: {}.", row.scenario_messages, row.scenario_steps)
        };
        let note = format!("{}, {}: {scenario} {}", algorithm.title(), case.name(), row.reason);
        for (at, line) in wrap(note.trim_end(), WIDTH - 4).iter().enumerate() {
            let mark = if at == 0 { number.to_string() } else { String::new() };
            // Writing to a string cannot fail.
            writeln!(out, "{mark:>2}  {line}").unwrap_or_default();
        }
    }
    out
}

fn closing(measured: Crossover, printed: Crossover) -> String {
    let describe = |Crossover { always_up_to, last }| {
        if always_up_to == last {
            format!("N = {last}")
        } else {
            format!("N = {always_up_to}, then at some sizes up to N = {last}")
        }
    };
    format!(
        "HS or FRLLE? Biswas et al. say that in the worst case HS costs more messages than FRLLE exactly when \
         N <= 230. Measured at every N from {SMALLEST} to {LARGEST} (HS in its costliest arrangement, FRLLE as in its \
         row above), HS costs more up to {}. By their own formulas it would cost more up to {}.",
        describe(measured),
        describe(printed),
    )
}

/// Breaks a text into lines of at most `width` characters, at spaces.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{align, wrap};

    #[test]
    fn lines_break_at_spaces_and_lose_nothing() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("a-word-that-is-too-long ⌈x⌉ y", 5), ["a-word-that-is-too-long", "⌈x⌉ y"]);
        assert!(wrap("", 5).is_empty());
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [vec!["note".into(), "Σ".into(), "x".into()], vec!["1".into(), "abc".into()]];
        assert_eq!(align(&lines), ["note  Σ    x", "   1  abc"]);
    }
}
