//! Axes: the values they span and the positions of their ticks.

/// A marked value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its position: 0 at the beginning of the axis, 1 at its end.
    pub share: f64,
    pub label: String,
}

#[derive(Clone, Debug)]
pub struct Scale {
    first: f64,
    last: f64,
    logarithmic: bool,
    marked: Vec<f64>,
    /// Decimals of every label; on a logarithmic axis each label has as many as it needs.
    decimals: usize,
}

/// The most ticks on a linear axis, its ends included.
const TICKS_MAX: i32 = 11;

/// The most ticks at 1, 2 and 5 on a logarithmic axis; beyond that only powers of ten are marked.
const LOG_TICKS_MAX: usize = 16;

impl Scale {
    /// An axis slightly longer than the range of its values.
    pub fn spread(values: impl Iterator<Item = f64>) -> Self {
        let [low, high] = ends(values);
        let margin = if low < high { (high - low) * 0.02 } else { 1.0 };
        let step = step(high - low + 2.0 * margin);
        let all = multiples(step, low - margin, high + margin);
        Self { first: low - margin, last: high + margin, logarithmic: false, marked: all, decimals: decimals(step) }
    }

    /// An axis that includes zero and ends on ticks.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let [low, high] = ends(values);
        let (low, high) = (low.min(0.0), high.max(0.0));
        let high = if low < high { high } else { 1.0 };
        let step = step(high - low);
        let (first, last) = ((low / step).floor() * step, (high / step).ceil() * step);
        let all = multiples(step, first, last);
        Self { first, last, logarithmic: false, marked: all, decimals: decimals(step) }
    }

    /// A logarithmic axis that ends on ticks beyond all values, which must be positive.
    pub fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let [low, high] = ends(values);
        let enclosing = |factors: &[f64]| {
            let decades = decade(low) - 1..=decade(high) + 1;
            let all = decades.flat_map(|exponent| factors.iter().map(move |factor| factor * 10_f64.powi(exponent)));
            let all: Vec<f64> = all.collect();
            let first = all.iter().rposition(|&tick| tick < low).unwrap_or(0);
            let last = all.iter().position(|&tick| tick > high).unwrap_or(all.len() - 1);
            all[first..=last].to_vec()
        };
        let fine = enclosing(&[1.0, 2.0, 5.0]);
        let marked = if fine.len() > LOG_TICKS_MAX { enclosing(&[1.0]) } else { fine };
        let (first, last) = (marked[0], marked[marked.len() - 1]);
        Self { first, last, logarithmic: true, decimals: 0, marked }
    }

    /// The position of a value: 0 at the beginning of the axis, 1 at its end.
    pub fn share(&self, value: f64) -> f64 {
        if self.logarithmic {
            (value / self.first).ln() / (self.last / self.first).ln()
        } else {
            (value - self.first) / (self.last - self.first)
        }
    }

    /// In ascending order.
    pub fn ticks(&self) -> Vec<Tick> {
        let label = |value: f64| {
            let decimals = if self.logarithmic { decimals(value) } else { self.decimals };
            // Adding zero turns a negative zero into a plain one.
            format!("{:.decimals$}", value + 0.0)
        };
        self.marked.iter().map(|&value| Tick { share: self.share(value), label: label(value) }).collect()
    }
}

/// The least and the greatest.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

/// The exponent of the power of ten at or below a positive value.
#[expect(clippy::cast_possible_truncation, reason = "exponents of floats fit")]
fn decade(value: f64) -> i32 {
    value.log10().floor() as i32
}

/// The smallest of 1, 2 and 5 times a power of ten that divides a span into few enough parts.
fn step(span: f64) -> f64 {
    let smallest = span / f64::from(TICKS_MAX - 1);
    let power = 10_f64.powi(decade(smallest));
    [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().find(|&step| step >= smallest).unwrap_or(10.0 * power)
}

/// The multiples of a step between two values. Each is computed from scratch, so that errors do not add up.
fn multiples(step: f64, first: f64, last: f64) -> Vec<f64> {
    let from = (first / step - 1e-9).ceil();
    let count = (0..=TICKS_MAX).map(f64::from);
    count.map(|k| (from + k) * step).take_while(|&value| value <= last + step * 1e-9).collect()
}

/// The decimals that multiples of a step need.
fn decimals(step: f64) -> usize {
    usize::try_from(-decade(step * 1.000_001)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Scale;

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(
            labels(&Scale::spread([10.0, 100.0].into_iter())),
            ["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]
        );
        assert_eq!(
            labels(&Scale::from_zero([0.3, 1.7].into_iter())),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6", "1.8"]
        );
        assert_eq!(
            labels(&Scale::from_zero([-30.0, 60.0].into_iter())),
            ["-30", "-20", "-10", "0", "10", "20", "30", "40", "50", "60"]
        );
    }

    #[test]
    fn logarithmic_ticks_enclose_the_values() {
        assert_eq!(labels(&Scale::logarithmic([3.0, 180.0].into_iter())), ["2", "5", "10", "20", "50", "100", "200"]);
        assert_eq!(labels(&Scale::logarithmic([0.5, 1.0].into_iter())), ["0.2", "0.5", "1", "2"]);
        let wide = labels(&Scale::logarithmic([4.0, 1_500_000.0].into_iter()));
        assert_eq!(wide, ["1", "10", "100", "1000", "10000", "100000", "1000000", "10000000"]);
    }

    #[test]
    fn shares_run_from_one_end_to_the_other() {
        let log = Scale::logarithmic([3.0, 180.0].into_iter());
        assert!(log.share(2.0).abs() < 1e-12 && (log.share(20.0) - 0.5).abs() < 1e-12);
        let linear = Scale::from_zero([2.0, 8.0].into_iter());
        assert!(linear.share(0.0).abs() < 1e-12 && (linear.share(8.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_value_is_enough_for_an_axis() {
        let one = || [5.0].into_iter();
        for scale in [Scale::spread(one()), Scale::from_zero(one()), Scale::logarithmic(one())] {
            let share = scale.share(5.0);
            assert!((0.0..=1.0).contains(&share), "{scale:?}");
            assert!(!scale.ticks().is_empty(), "{scale:?}");
        }
    }
}
