//! Tables 3.1 and 3.2 of Biswas et al. 2021, measured by running the core beside the printed formulas.

mod crossover;
mod figures;
mod findings;
mod formula;
pub(crate) mod measure;
mod report;
mod rows;

use serde::Serialize;

pub use figures::write as write_figures;
pub use rows::{Row, SIZES};

/// Which end of the costs a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// The cheapest possible election.
    Best,
    /// The costliest election according to Biswas et al.
    Worst,
}

impl Case {
    /// Both cases, in the order of the tables.
    pub const ALL: [Self; 2] = [Self::Best, Self::Worst];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Worst => "worst",
        }
    }
}

/// Measures every row of the tables: sizes ascending, within a size in the order of the tables.
/// `progress` is told which size is done.
pub fn measure_all(mut progress: impl FnMut(u16)) -> anyhow::Result<Vec<Row>> {
    let mut all = Vec::new();
    for n in SIZES {
        all.extend(rows::rows_of(n)?);
        progress(n);
    }
    Ok(all)
}

/// The tables, and the size from which one algorithm beats the other.
pub fn text(rows: &[Row]) -> anyhow::Result<String> {
    Ok(report::text(rows, crossover::measured()?, crossover::printed()))
}
