//! Quantities with units, as people write them.

/// What is measured.
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
    /// A share of one.
    Share,
    /// Millionths.
    Drift,
}

/// The end of a key, the unit in a text, and what one of it is worth.
type Form = (&'static str, &'static str, f64);

impl Unit {
    /// The ways to write it, the usual one first.
    pub const fn forms(self) -> &'static [Form] {
        match self {
            Self::Length => &[("m", "m", 1.0), ("cm", "cm", 0.01), ("km", "km", 1_000.0)],
            Self::Time => &[("s", "s", 1.0), ("ms", "ms", 1e-3), ("us", "us", 1e-6), ("min", "min", 60.0)],
            Self::Power => &[("dbm", "dBm", 1.0)],
            Self::Loss => &[("db", "dB", 1.0)],
            Self::Speed => &[("mps", "m/s", 1.0), ("kmh", "km/h", 1.0 / 3.6)],
            Self::Share => &[("percent", "%", 0.01)],
            Self::Drift => &[("ppm", "ppm", 1.0)],
        }
    }

    /// A text that would be right.
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
}

/// A number and its unit, in the unit's first form.
pub fn parse_quantity(text: &str, unit: Unit) -> Result<f64, String> {
    let end = text.find(|c: char| c.is_alphabetic() || c == '%').unwrap_or(text.len());
    let (number, name) = (text[..end].trim(), text[end..].trim());
    let amount: f64 = number.parse().map_err(|_| format!("has no number in \"{text}\""))?;
    let factor = unit.forms().iter().find(|form| form.1 == name).map(|form| form.2);
    let known = || unit.forms().iter().map(|form| form.1).collect::<Vec<_>>().join(", ");
    factor.map(|factor| amount * factor).ok_or_else(|| match name {
        "" => format!("has no unit in \"{text}\" (it may be {})", known()),
        _ => format!("has the wrong unit \"{name}\" (it may be {})", known()),
    })
}

/// Seconds as whole microseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative times become zero; years fit")]
pub fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round().max(0.0) as u64
}

/// Microseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "runs last far less than 2^52 microseconds")]
pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
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
}
