//! Wall-clock time in recordings and databases: UTC by RFC 3339, such as `2026-11-18T09:30:00.250Z`.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY_S: i64 = 86_400;

/// Microseconds since 1970, before which no clock is taken seriously.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(pub i64);

impl Utc {
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// This long after.
    pub fn after_us(self, us: u64) -> Self {
        Self(self.0.saturating_add_unsigned(us))
    }

    /// This long before.
    pub fn before_us(self, us: u64) -> Self {
        Self(self.0.saturating_sub_unsigned(us))
    }

    /// Reads what [`Display`](std::fmt::Display) writes, with any number of digits after the point.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        let [hour, minute, second] = numbers(time, ':')?;
        let is_sound = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second)
            && fraction.len() <= 6
            && fraction.bytes().all(|digit| digit.is_ascii_digit());
        let us: i64 = format!("{fraction:0<6}").parse().ok()?;
        let seconds = days_to(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second;
        is_sound.then_some(Self(seconds * 1_000_000 + us))
    }
}

/// To the millisecond: nothing here is known better.
impl std::fmt::Display for Utc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (ms, seconds) = (self.0.div_euclid(1_000).rem_euclid(1_000), self.0.div_euclid(1_000_000));
        let (days, second) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
        let Date { year, month, day } = date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let parts: Vec<i64> = text
        .split(between)
        .map(|part| if part.bytes().all(|b| b.is_ascii_digit()) { part.parse().ok() } else { None })
        .collect::<Option<_>>()?;
    parts.try_into().ok()
}

/// Days from 1970 to a date. Years begin in March here, so that the leap day is the last one.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let of_year = (153 * months + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// The date of a day since 1970: the years are estimated from their mean length, and corrected.
fn date(days: i64) -> Date {
    let mut year = (days + 719_468) * 400 / 146_097 + 1;
    while days_to(year, 3, 1) > days {
        year -= 1;
    }
    let of_year = days - days_to(year, 3, 1);
    let months = (5 * of_year + 2) / 153;
    let day = of_year - (153 * months + 2) / 5 + 1;
    let month = (months + 2) % 12 + 1;
    Date { year: if month <= 2 { year + 1 } else { year }, month, day }
}

#[cfg(test)]
mod tests {
    use super::Utc;

    #[test]
    fn known_times_are_written_and_read() {
        for (us, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999_000, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_000_000, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
            (1_795_080_600_250_000, "2026-11-19T09:30:00.250Z"),
        ] {
            assert_eq!(Utc(us).to_string(), text);
            assert_eq!(Utc::parse(text), Some(Utc(us)), "{text}");
        }
    }

    #[test]
    fn every_day_of_two_centuries_comes_back() {
        for day in 0..73_000_i64 {
            let utc = Utc(day * 86_400_000_000);
            assert_eq!(Utc::parse(&utc.to_string()), Some(utc), "{utc}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "now",
            "2026-11-18",
            "2026-13-01T00:00:00Z",
            "2026-11-18T25:00:00Z",
            "2026-11-18T09:30:00+01:00",
            "2026-11-18T09:30:00.1x2Z",
        ] {
            assert_eq!(Utc::parse(text), None, "{text}");
        }
    }
}
