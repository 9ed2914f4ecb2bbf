//! Least squares: fits laws of growth (n, n log n or n²), power laws and straight lines to points, and says how much of
//! the variance each explains.

use serde::Serialize;

use crate::draw::chart::Datum;

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
    pub const ALL: [Self; 3] = [Self::Linear, Self::Linearithmic, Self::Quadratic];

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
    pub law: Law,
    pub factor: f64,
    /// The share of the variance that it explains; below zero if it does worse than a constant.
    pub r_squared: f64,
    /// The largest relative deviation of a point from the law. The largest points dominate the other two numbers; this one
    /// weighs all points equally.
    pub deviation: f64,
}

impl Fit {
    /// The least squares fit of `factor · law(n)` to counts by n.
    pub fn new(law: Law, points: &[Datum]) -> Self {
        let products: f64 = points.iter().map(|&Datum { x: n, y: count }| law.at(n) * count).sum();
        let squares: f64 = points.iter().map(|point| law.at(point.x).powi(2)).sum();
        let factor = products / squares;
        let mean = mean(points.iter().map(|point| point.y)).unwrap_or(0.0);
        let unexplained: f64 =
            points.iter().map(|&Datum { x: n, y: count }| (count - factor * law.at(n)).powi(2)).sum();
        let variance: f64 = points.iter().map(|point| (point.y - mean).powi(2)).sum();
        let deviation =
            points.iter().map(|&Datum { x: n, y: count }| (factor * law.at(n) / count - 1.0).abs()).fold(0.0, f64::max);
        Self { law, factor, r_squared: 1.0 - unexplained / variance, deviation }
    }

    /// The fits of all laws, the best by R² first.
    pub fn ranked(points: &[Datum]) -> [Self; 3] {
        let mut fits = Law::ALL.map(|law| Self::new(law, points));
        fits.sort_by(|a, b| b.r_squared.total_cmp(&a.r_squared));
        fits
    }
}

/// `y = coefficient · x^exponent`, fitted on the logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    pub coefficient: f64,
    pub exponent: f64,
    /// The share of the variance of `ln y` that it explains.
    pub r2: f64,
}

/// `y = slope · x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What one more x costs.
    pub slope: f64,
    /// What there is without any x.
    pub intercept: f64,
    /// The share of the variance of `y` that it explains.
    pub r2: f64,
}

/// Fits a power law to the points whose two numbers are positive. None if those have fewer than two different x, or y does
/// not vary.
pub fn power(points: &[Datum]) -> Option<Power> {
    let logs: Vec<_> = points
        .iter()
        .filter(|point| point.x > 0.0 && point.y > 0.0)
        .map(|point| Datum { x: point.x.ln(), y: point.y.ln() })
        .collect();
    let Line { slope, intercept, r2 } = line(&logs)?;
    Some(Power { coefficient: intercept.exp(), exponent: slope, r2 })
}

/// Fits a straight line. None if there are fewer than two different x, or y does not vary.
pub fn line(points: &[Datum]) -> Option<Line> {
    let Moments { mean_x, mean_y, xx, xy, yy } = Moments::of(points)?;
    if xx <= f64::EPSILON || yy <= f64::EPSILON {
        return None;
    }
    let slope = xy / xx;
    let missed: f64 = points.iter().map(|&Datum { x, y }| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    Some(Line { slope, intercept: mean_y - slope * mean_x, r2: 1.0 - missed / yy })
}

/// The exponent of the power law nearest to counts by n: the slope of the regression line through their
/// logarithms.
pub fn exponent(points: &[Datum]) -> f64 {
    let logs: Vec<Datum> = points.iter().map(|&Datum { x: n, y: count }| Datum { x: n.ln(), y: count.ln() }).collect();
    Moments::of(&logs).map_or(f64::NAN, |moments| moments.xy / moments.xx)
}

/// What a regression line is made of.
struct Moments {
    mean_x: f64,
    mean_y: f64,
    /// The sums of the products of the deviations from the means.
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Moments {
    /// None if there are no points.
    fn of(points: &[Datum]) -> Option<Self> {
        let (mean_x, mean_y) = (mean(points.iter().map(|point| point.x))?, mean(points.iter().map(|point| point.y))?);
        let sum = |of: fn(f64, f64) -> f64| points.iter().map(|&Datum { x, y }| of(x - mean_x, y - mean_y)).sum();
        Some(Self { mean_x, mean_y, xx: sum(|x, _| x * x), xy: sum(|x, y| x * y), yy: sum(|_, y| y * y) })
    }
}

/// None if there are no numbers.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::{Datum, line, power};

    fn datum((x, y): (f64, f64)) -> Datum {
        Datum { x, y }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn exact_laws_are_found() {
        let square: Vec<_> = [1.0_f64, 2.0, 5.0, 9.0].iter().map(|x| Datum { x: *x, y: 3.0 * x * x }).collect();
        let law = power(&square).unwrap();
        assert!(near(law.coefficient, 3.0) && near(law.exponent, 2.0) && near(law.r2, 1.0), "{law:?}");
        let straight: Vec<_> = [1.0, 2.0, 5.0].iter().map(|x| Datum { x: *x, y: 4.0 * x - 7.0 }).collect();
        let law = line(&straight).unwrap();
        assert!(near(law.slope, 4.0) && near(law.intercept, -7.0) && near(law.r2, 1.0), "{law:?}");
    }

    #[test]
    fn the_unexplained_part_shows() {
        // By hand: means 1 and 2, slope 3/2, missed 1/2 of a total of 5.
        let law = line(&[(0.0, 1.0), (0.0, 0.0), (2.0, 3.0), (2.0, 4.0)].map(datum)).unwrap();
        assert!(near(law.slope, 1.5) && near(law.intercept, 0.5) && near(law.r2, 0.9), "{law:?}");
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)].map(datum)), None, "one x");
        assert_eq!(line(&[(1.0, 2.0), (2.0, 2.0)].map(datum)), None, "nothing to explain");
        assert_eq!(power(&[(1.0, 0.0), (2.0, 3.0)].map(datum)), None, "one positive y");
    }
}
