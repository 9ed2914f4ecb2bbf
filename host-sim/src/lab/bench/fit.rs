//! Which law counts follow: least squares against n, n log n and n², and the exponent of a power law.

use serde::Serialize;

/// A law of growth with one factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Law {
    /// In proportion to the number of nodes.
    #[serde(rename = "n")]
    Linear,
    /// In proportion to n times its binary logarithm.
    #[serde(rename = "n log n")]
    Linearithmic,
    /// In proportion to the square of n.
    #[serde(rename = "n^2")]
    Quadratic,
}

impl Law {
    /// Every law.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Linearithmic, Self::Quadratic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "n",
            Self::Linearithmic => "n log n",
            Self::Quadratic => "n^2",
        }
    }

    /// The law at n, without its factor.
    pub fn at(self, n: f64) -> f64 {
        match self {
            Self::Linear => n,
            Self::Linearithmic => n * n.log2(),
            Self::Quadratic => n * n,
        }
    }
}

/// How well one law fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// Its factor.
    pub factor: f64,
    /// The share of the variance that it explains; below zero where it does worse than a constant.
    pub r_squared: f64,
    /// The largest deviation of a point from the law, as a share of the point. The largest points decide the other two
    /// numbers nearly alone; this one minds them all.
    pub deviation: f64,
}

impl Fit {
    /// The least squares fit of `factor · law(n)` to points (n, count).
    pub fn new(law: Law, points: &[(f64, f64)]) -> Self {
        let products: f64 = points.iter().map(|&(n, count)| law.at(n) * count).sum();
        let squares: f64 = points.iter().map(|&(n, _)| law.at(n).powi(2)).sum();
        let factor = products / squares;
        let mean = mean(points.iter().map(|&(_, count)| count));
        let unexplained: f64 = points.iter().map(|&(n, count)| (count - factor * law.at(n)).powi(2)).sum();
        let variance: f64 = points.iter().map(|&(_, count)| (count - mean).powi(2)).sum();
        let deviation = points.iter().map(|&(n, count)| (factor * law.at(n) / count - 1.0).abs()).fold(0.0, f64::max);
        Self { law, factor, r_squared: 1.0 - unexplained / variance, deviation }
    }

    /// The fits of all laws, the best by R² first.
    pub fn ranked(points: &[(f64, f64)]) -> [Self; 3] {
        let mut fits = Law::ALL.map(|law| Self::new(law, points));
        fits.sort_by(|a, b| b.r_squared.total_cmp(&a.r_squared));
        fits
    }
}

/// The exponent of the power law nearest to points (n, count): the slope of the regression line through their
/// logarithms.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(n, count)| (n.ln(), count.ln())).collect();
    let (mean_x, mean_y) = (mean(logs.iter().map(|&(x, _)| x)), mean(logs.iter().map(|&(_, y)| y)));
    let covariance: f64 = logs.iter().map(|&(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs.iter().map(|&(x, _)| (x - mean_x).powi(2)).sum();
    covariance / variance
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
