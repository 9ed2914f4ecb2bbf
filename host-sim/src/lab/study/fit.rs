//! Least squares: how a cost grows, and how much of it that explains.

/// `y = coefficient · x^exponent`, fitted on the logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// The factor in front.
    pub coefficient: f64,
    /// The power of x.
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

/// Fits a power law to the points where both numbers are positive. None where those have fewer than two different x, or
/// y does not vary.
pub fn power(points: &[(f64, f64)]) -> Option<Power> {
    let logs: Vec<_> = points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let Line { slope, intercept, r2 } = line(&logs)?;
    Some(Power { coefficient: intercept.exp(), exponent: slope, r2 })
}

/// Fits a straight line. None where there are fewer than two different x, or y does not vary.
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let (mean_x, mean_y) = (mean(points.iter().map(|p| p.0))?, mean(points.iter().map(|p| p.1))?);
    let sum = |term: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, y)| term(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if xx <= f64::EPSILON || yy <= f64::EPSILON {
        return None;
    }
    let slope = xy / xx;
    let missed = sum(&|x, y| (y - slope * x).powi(2));
    Some(Line { slope, intercept: mean_y - slope * mean_x, r2: 1.0 - missed / yy })
}

/// The mean of some numbers; none of none.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::{line, power};

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn exact_laws_are_found() {
        let square: Vec<_> = [1.0_f64, 2.0, 5.0, 9.0].iter().map(|x| (*x, 3.0 * x * x)).collect();
        let law = power(&square).unwrap();
        assert!(near(law.coefficient, 3.0) && near(law.exponent, 2.0) && near(law.r2, 1.0), "{law:?}");
        let straight: Vec<_> = [1.0, 2.0, 5.0].iter().map(|x| (*x, 4.0 * x - 7.0)).collect();
        let law = line(&straight).unwrap();
        assert!(near(law.slope, 4.0) && near(law.intercept, -7.0) && near(law.r2, 1.0), "{law:?}");
    }

    #[test]
    fn the_unexplained_part_shows() {
        // By hand: means 1 and 2, slope 3/2, missed 1/2 of a total of 5.
        let law = line(&[(0.0, 1.0), (0.0, 0.0), (2.0, 3.0), (2.0, 4.0)]).unwrap();
        assert!(near(law.slope, 1.5) && near(law.intercept, 0.5) && near(law.r2, 0.9), "{law:?}");
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None, "one x");
        assert_eq!(line(&[(1.0, 2.0), (2.0, 2.0)]), None, "nothing to explain");
        assert_eq!(power(&[(1.0, 0.0), (2.0, 3.0)]), None, "one positive y");
    }
}
