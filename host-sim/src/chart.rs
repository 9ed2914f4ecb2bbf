//! Line charts as SVG.

use std::path::Path;

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// Its points, by rising x.
    pub points: Vec<(f64, f64)>,
}

/// A chart of several lines over a common x axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What x is.
    pub x_label: String,
    /// What y is.
    pub y_label: String,
    /// Whether y is drawn on a logarithmic scale; every y must then be positive.
    pub log_y: bool,
    /// The lines.
    pub series: Vec<Series>,
}

impl Chart {
    /// Draws the chart into an SVG file.
    pub fn write_svg(&self, _path: &Path) -> anyhow::Result<()> {
        anyhow::bail!("not built yet")
    }
}
