//! Quantities with units, as people write them.

use std::ops::RangeInclusive;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Metres.
    Length,
    /// Seconds.
    Time,
    /// dBm.
    Power,
    /// dB.
    Loss,
    /// Metres per second.
    Speed,
    /// A fraction of one.
    Share,
    /// Parts per million.
    Drift,
}

/// The suffix of a key, the unit in a text, and its value in the unit's first form.
type Form = (&'static str, &'static str, f64);

impl Unit {
    /// The ways to write the unit, the usual one first.
    pub const fn forms(self) -> &'static [Form] {
        match self {
            Self::Length => &[("m", "m", 1.0), ("cm", "cm", 0.01), ("km", "km", 1_000.0)],
            Self::Time => &[
                ("s", "s", 1.0),
                ("ms", "ms", 1e-3),
                ("us", "us", 1e-6),
                ("min", "min", 60.0),
                ("h", "h", 3_600.0),
                ("d", "d", 86_400.0),
            ],
            Self::Power => &[("dbm", "dBm", 1.0)],
            Self::Loss => &[("db", "dB", 1.0)],
            Self::Speed => &[("mps", "m/s", 1.0), ("kmh", "km/h", 1.0 / 3.6)],
            Self::Share => &[("percent", "%", 0.01)],
            Self::Drift => &[("ppm", "ppm", 1.0)],
        }
    }

    /// A valid example for error messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Length => "20 m",
            Self::Time => "5 s",
            Self::Power => "-90 dBm",
            Self::Loss => "30 dB",
            Self::Speed => "1.5 m/s",
            Self::Share => "25 %",
            Self::Drift => "20 ppm",
        }
    }

    /// The least and the greatest amount of any such quantity, in the unit's first form. Anything beyond is a typing
    /// error. The limits also keep the simulator's arithmetic exact: times are whole microseconds, and powers are whole
    /// units of -150 dBm.
    pub const fn range(self) -> RangeInclusive<f64> {
        match self {
            Self::Length => 0.0..=COORDINATE_MAX,
            // A month.
            Self::Time => 0.0..=30.0 * 86_400.0,
            // From below any noise floor up to a watt.
            Self::Power => -150.0..=30.0,
            Self::Loss => 0.0..=250.0,
            Self::Speed => 0.0..=1_000.0,
            Self::Share => 0.0..=1.0,
            // Five percent.
            Self::Drift => -50_000.0..=50_000.0,
        }
    }

    /// Checks an amount against this quantity's range.
    pub fn check(self, amount: f64) -> Result<f64, String> {
        self.check_within(amount, &self.range())
    }

    /// Checks an amount against a narrower range.
    pub fn check_within(self, amount: f64, range: &RangeInclusive<f64>) -> Result<f64, String> {
        // NaN lies in no range.
        if range.contains(&amount) {
            return Ok(amount);
        }
        Err(format!("must be between {} and {}", self.shown(*range.start()), self.shown(*range.end())))
    }

    /// The amount as people would write it.
    fn shown(self, amount: f64) -> String {
        let usual = self.forms()[0];
        let fitting = self.forms().iter().filter(|form| amount.abs() >= form.2);
        let &(_, name, factor) = fitting.max_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or(&usual);
        format!("{} {name}", (amount / factor * 1e6).round() / 1e6)
    }
}

/// The greatest distance from the origin along either axis, in metres.
pub const COORDINATE_MAX: f64 = 100_000.0;

/// The end of the number that a text begins with.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_sign = |at: usize| matches!(bytes.get(at), Some(b'+' | b'-'));
    let exponent = |at: usize| at > 0 && (is_digit(at + 1) || is_sign(at + 1) && is_digit(at + 2));
    text.char_indices()
        .find(|&(at, c)| (c.is_alphabetic() || c == '%') && !(matches!(c, 'e' | 'E') && exponent(at)))
        .map_or(text.len(), |(at, _)| at)
}

/// Reads a number with its unit, and converts it to the unit's first form.
pub fn parse_quantity(text: &str, unit: Unit) -> Result<f64, String> {
    let (number, name) = text.split_at(number_end(text));
    let (number, name) = (number.trim(), name.trim());
    let amount: f64 = number.parse().map_err(|_| format!("has no number in \"{text}\""))?;
    let factor = unit.forms().iter().find(|form| form.1 == name).map(|form| form.2);
    let known = || unit.forms().iter().map(|form| form.1).collect::<Vec<_>>().join(", ");
    factor.map(|factor| amount * factor).ok_or_else(|| match name {
        "" => format!("has no unit in \"{text}\" (it may be {})", known()),
        _ => format!("has the wrong unit \"{name}\" (it may be {})", known()),
    })
}

/// Rounds seconds to whole microseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative times become zero; years fit")]
pub fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round().max(0.0) as u64
}

/// Converts microseconds to seconds.
#[expect(clippy::cast_precision_loss, reason = "runs last far less than 2^52 microseconds")]
pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Formats milliseconds for people.
pub fn secs(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::{Unit, micros, parse_quantity};

    #[test]
    fn quantities_have_numbers_and_units() {
        assert_eq!(parse_quantity("20 m", Unit::Length), Ok(20.0));
        assert_eq!(parse_quantity("-90.5dBm", Unit::Power), Ok(-90.5));
        assert_eq!(parse_quantity("2 min", Unit::Time).map(micros), Ok(120_000_000));
        assert!(parse_quantity("20", Unit::Length).unwrap_err().contains("no unit"));
        assert!(parse_quantity("20 s", Unit::Length).unwrap_err().contains("wrong unit \"s\""));
        assert!(parse_quantity("far", Unit::Length).unwrap_err().contains("no number"));
    }

    #[test]
    fn numbers_may_have_exponents() {
        assert_eq!(parse_quantity("1e1 m", Unit::Length), Ok(10.0));
        assert_eq!(parse_quantity("-2.5E-1dBm", Unit::Power), Ok(-0.25));
        assert!(parse_quantity("1 em", Unit::Length).unwrap_err().contains("wrong unit \"em\""));
        assert!(parse_quantity("e1 m", Unit::Length).unwrap_err().contains("no number"));
        assert!(parse_quantity("inf s", Unit::Time).unwrap_err().contains("no number"));
    }

    #[test]
    fn amounts_have_ends_that_are_told() {
        assert_eq!(Unit::Time.check(86_400.0), Ok(86_400.0));
        let told = |unit: Unit, amount| unit.check(amount).unwrap_err();
        assert_eq!(told(Unit::Time, 1e300), "must be between 0 s and 30 d");
        assert_eq!(told(Unit::Length, f64::INFINITY), "must be between 0 m and 100 km");
        assert_eq!(told(Unit::Power, f64::NAN), "must be between -150 dBm and 30 dBm");
        assert_eq!(told(Unit::Share, 1.01), "must be between 0 % and 100 %");
        assert_eq!(Unit::Time.check_within(0.0, &(1e-3..=3_600.0)), Err("must be between 1 ms and 1 h".to_owned()));
    }
}
