//! Line charts as SVG.
//!
//! The legend is below the plot, where it covers nothing. Lines differ in colour, dashes and marker, so that they can be
//! told apart in print and by colour-blind readers.

mod scale;

use std::path::Path;

use anyhow::{Context, ensure};

use scale::Scale;

use super::svg::{Spot, as_f64, background, escape, head, push};

/// One value of a line, or one of those that a law is fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datum {
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Debug)]
pub struct Series {
    /// Shown in the legend.
    pub label: String,
    /// In ascending order of x.
    pub points: Vec<Datum>,
    /// The number of its colour, dashes and marker, for what is the same in several charts; otherwise its place.
    pub look: Option<usize>,
}

/// A chart of several lines over a common x axis.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// Whether y is drawn on a logarithmic scale; every y must then be positive.
    pub log_y: bool,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 840.0;
const PLOT_HEIGHT: f64 = 400.0;
const TOP: f64 = 48.0;
const RIGHT: f64 = 24.0;
/// Room below the plot for tick labels and the name of the x axis.
const X_AXIS: f64 = 56.0;
const LEGEND_LINE: f64 = 24.0;
/// The length of a line in the legend.
const SAMPLE: f64 = 44.0;
/// The width of a character in a label, slightly overestimated.
const CHARACTER: f64 = 7.6;
/// Lines with more points than this mark only some of them.
const MARKERS_MAX: usize = 16;

/// Colours that stay apart for the colour-blind (after Okabe and Ito), strong enough for lines on white.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#b0508c", "#000000", "#e69f00", "#56b4e9", "#808080"];
const DASHES: [&str; 4] = ["none", "9 4", "3 3", "12 4 3 4"];

impl Chart {
    pub fn write_svg(&self, path: &Path) -> anyhow::Result<()> {
        let svg = self.svg().with_context(|| format!("cannot draw {}", path.display()))?;
        std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
    }

    fn svg(&self) -> anyhow::Result<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        ensure!(points().next().is_some(), "the chart \"{}\" has no points", self.title);
        ensure!(
            points().all(|&Datum { x, y }| x.is_finite() && y.is_finite() && !(self.log_y && y <= 0.0)),
            "the chart \"{}\" has a point that cannot be drawn on its scale",
            self.title,
        );
        let x = Scale::spread(points().map(|point| point.x));
        let y = if self.log_y {
            Scale::logarithmic(points().map(|point| point.y))
        } else {
            Scale::from_zero(points().map(|point| point.y))
        };
        let y_labels = y.ticks().iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
        let left = 46.0 + as_f64(y_labels) * CHARACTER;
        let drawing = Drawing { chart: self, x, y, left };
        Ok(drawing.svg())
    }
}

/// A chart with its axes laid out.
struct Drawing<'a> {
    chart: &'a Chart,
    x: Scale,
    y: Scale,
    left: f64,
}

/// The columns of a legend.
struct Columns {
    count: usize,
    width: f64,
}

impl Drawing<'_> {
    fn svg(&self) -> String {
        let Columns { count: columns, width: column_width } = self.legend_columns();
        let legend_lines = self.chart.series.len().div_ceil(columns);
        let height = TOP + PLOT_HEIGHT + X_AXIS + as_f64(legend_lines) * LEGEND_LINE + 10.0;
        let mut out = head(WIDTH, height, &self.chart.title);
        out.push_str(&background(WIDTH, height, "#ffffff"));
        out.push_str(&text(self.left + self.plot_width() / 2.0, 28.0, "middle", "font-size=\"17\"", &self.chart.title));
        out.push_str(&self.axes());
        let mut marks = String::new();
        for (number, series) in self.chart.series.iter().enumerate() {
            let points: Vec<Spot> = series.points.iter().map(|&point| self.to_picture(point)).collect();
            let look = series.look.unwrap_or(number);
            out.push_str(&line(look, &points));
            marks.push_str(&markers(look, &points));
        }
        out.push_str(&marks);
        for (number, series) in self.chart.series.iter().enumerate() {
            let x = self.left + as_f64(number % columns) * column_width;
            let y = TOP + PLOT_HEIGHT + X_AXIS + (as_f64(number / columns) + 0.5) * LEGEND_LINE;
            let look = series.look.unwrap_or(number);
            out.push_str(&line(look, &[Spot::new(x, y), Spot::new(x + SAMPLE, y)]));
            out.push_str(&markers(look, &[Spot::new(x + SAMPLE / 2.0, y)]));
            out.push_str(&text(x + SAMPLE + 8.0, y + 4.5, "start", "", &series.label));
        }
        out.push_str("</svg>\n");
        out
    }

    fn plot_width(&self) -> f64 {
        WIDTH - self.left - RIGHT
    }

    fn to_picture(&self, Datum { x, y }: Datum) -> Spot {
        Spot::new(self.left + self.x.share(x) * self.plot_width(), TOP + (1.0 - self.y.share(y)) * PLOT_HEIGHT)
    }

    /// As many as fit, if the longest label is to fit into each.
    fn legend_columns(&self) -> Columns {
        let longest = self.chart.series.iter().map(|series| series.label.chars().count()).max().unwrap_or(0);
        let wanted = SAMPLE + 8.0 + as_f64(longest) * CHARACTER + 16.0;
        let fits = |&columns: &usize| as_f64(columns) * wanted <= self.plot_width();
        let count = (1..=self.chart.series.len()).take_while(fits).last().unwrap_or(1);
        Columns { count, width: self.plot_width() / as_f64(count) }
    }

    /// Grid, tick labels, frame and the names of the axes.
    fn axes(&self) -> String {
        let (right, bottom) = (WIDTH - RIGHT, TOP + PLOT_HEIGHT);
        let mut grid = String::new();
        let mut labels = String::new();
        for tick in self.x.ticks() {
            let x = self.left + tick.share * self.plot_width();
            push(&mut grid, format_args!("M{x:.1} {TOP:.1}V{bottom:.1}"));
            labels.push_str(&text(x, bottom + 19.0, "middle", "", &tick.label));
        }
        for tick in self.y.ticks() {
            let y = TOP + (1.0 - tick.share) * PLOT_HEIGHT;
            push(&mut grid, format_args!("M{:.1} {y:.1}H{right:.1}", self.left));
            labels.push_str(&text(self.left - 8.0, y + 4.5, "end", "", &tick.label));
        }
        let middle = TOP + PLOT_HEIGHT / 2.0;
        let turned = format!("transform=\"rotate(-90 20 {middle:.1})\"");
        format!(
            "<path d=\"{grid}\" stroke=\"#e2e2e2\" fill=\"none\"/>\n\
             <path d=\"M{:.1} {TOP:.1}V{bottom:.1}H{right:.1}\" stroke=\"#666666\" fill=\"none\"/>\n{labels}{}{}",
            self.left,
            text(self.left + self.plot_width() / 2.0, bottom + 42.0, "middle", "", &self.chart.x_label),
            text(20.0, middle, "middle", &turned, &self.chart.y_label),
        )
    }
}

fn line(number: usize, points: &[Spot]) -> String {
    let colour = COLOURS[number % COLOURS.len()];
    let dashes = DASHES[number % DASHES.len()];
    let mut path = String::new();
    for &Spot { x, y } in points {
        let command = if path.is_empty() { 'M' } else { 'L' };
        push(&mut path, format_args!("{command}{x:.1} {y:.1}"));
    }
    format!(
        "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\" \
         stroke-linejoin=\"round\" fill=\"none\"/>\n"
    )
}

/// The markers of a line. If there are too many points, each line marks different ones, so that lines that run together
/// do not hide each other's markers.
fn markers(number: usize, points: &[Spot]) -> String {
    let every = points.len().div_ceil(MARKERS_MAX).max(1);
    let colour = COLOURS[number % COLOURS.len()];
    let mut path = String::new();
    for &Spot { x, y } in points.iter().skip(number % every).step_by(every) {
        push(&mut path, format_args!("{}", marker(number, x, y)));
    }
    // Every other line has slightly larger hollow markers: a solid and a hollow one remain visible at the same point.
    let fill = if number.is_multiple_of(2) { colour } else { "none" };
    format!("<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.6\" fill=\"{fill}\"/>\n")
}

fn marker(number: usize, x: f64, y: f64) -> String {
    let r = if number.is_multiple_of(2) { 4.0 } else { 5.5 };
    let d = 2.0 * r;
    match number % 5 {
        0 => format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", x - r),
        1 => format!("M{:.1} {:.1}h{d}v{d}h-{d}z", x - r, y - r),
        2 => format!("M{x:.1} {:.1}l{r} {d}h-{d}z", y - r),
        3 => format!("M{x:.1} {:.1}l{r} {r}l-{r} {r}l-{r} -{r}z", y - r),
        _ => format!("M{x:.1} {:.1}l{r} -{d}h-{d}z", y + r),
    }
}

fn text(x: f64, y: f64, anchor: &str, more: &str, content: &str) -> String {
    let content = escape(content);
    let space = if more.is_empty() { "" } else { " " };
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{space}{more}>{content}</text>\n")
}

#[cfg(test)]
mod tests;
