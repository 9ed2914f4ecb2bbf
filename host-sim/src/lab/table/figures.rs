//! Figures 3.4 and 3.5 of Biswas et al. 2021, drawn again from what was measured.

use std::path::{Path, PathBuf};

use super::formula::ALGORITHMS;
use super::{Case, Row};
use crate::draw::chart::{Chart, Datum, Series};

struct Figure {
    file: &'static str,
    title: &'static str,
    y_label: &'static str,
    case: Case,
    cost: fn(&Row) -> u64,
}

const FIGURES: [Figure; 4] = [
    Figure {
        file: "fig-3-4a.svg",
        title: "Messages of an election, best case",
        y_label: "messages",
        case: Case::Best,
        cost: |row| row.measured_messages,
    },
    Figure {
        file: "fig-3-4b.svg",
        title: "Messages of an election, worst case",
        y_label: "messages",
        case: Case::Worst,
        cost: |row| row.measured_messages,
    },
    Figure {
        file: "fig-3-5a.svg",
        title: "Time of an election, best case",
        y_label: "time steps",
        case: Case::Best,
        cost: |row| row.measured_steps,
    },
    Figure {
        file: "fig-3-5b.svg",
        title: "Time of an election, worst case",
        y_label: "time steps",
        case: Case::Worst,
        cost: |row| row.measured_steps,
    },
];

/// Draws all figures into a directory and gives their files.
pub fn write(rows: &[Row], dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for figure in &FIGURES {
        let path = dir.join(figure.file);
        chart(figure, rows).write_svg(&path)?;
        files.push(path);
    }
    Ok(files)
}

fn chart(figure: &Figure, rows: &[Row]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (look, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let mine = rows.iter().filter(|row| row.algorithm == algorithm && row.case == figure.case);
        let points: Vec<Datum> = mine.map(|row| Datum { x: f64::from(row.n), y: as_f64((figure.cost)(row)) }).collect();
        // Algorithms that cost the same would hide each other; they share a line.
        match series.iter_mut().find(|other| other.points == points) {
            Some(other) => other.label = format!("{}, {}", other.label, algorithm.title()),
            // The same look in every figure.
            None => series.push(Series { label: algorithm.title().into(), points, look: Some(look) }),
        }
    }
    Chart {
        title: figure.title.into(),
        x_label: "nodes".into(),
        y_label: figure.y_label.into(),
        // The cheapest algorithm needs a handful where the dearest needs thousands.
        log_y: true,
        series,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
