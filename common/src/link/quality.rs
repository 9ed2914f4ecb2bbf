//! How well a neighbour is heard, with hysteresis: a link is hard to get and hard to lose.
//!
//! A node wants a link once three of the last four hellos arrived (two where the neighbour is in another network) and they
//! are strong enough. It gives the link up when too few of many hellos arrive, or when they are faint and many are lost. Lost
//! hellos show as gaps in their numbers.

/// A newcomer must be at least this strong.
const STRONG_DBM: i16 = -88;

/// Below this a neighbour is faint.
const FAINT_DBM: i16 = -95;

/// A link is given up where fewer than this many of ten hellos arrive. One that is strong loses them to others that speak at the
/// same time, or to a network next door, as any other link here would: giving it up for that only makes more to say.
const LOSSY_TENTHS: u32 = 4;
const LOSSY_STRONG_TENTHS: u32 = 2;

/// A link is judged by this many hellos. In trouble they come several times a second, and a link that fails for a while
/// should not be judged by that while alone.
const SAMPLE: u32 = 32;

/// A gap of more hellos than this is none: the silence would have ended the link. The neighbour has lost count.
const GAP_MAX: u8 = 64;

/// How well a neighbour is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quality {
    /// One bit for each of the last hellos, the latest lowest; set where it arrived.
    history: u32,
    seen: u8,
    /// The number of the last one.
    number: u8,
    /// The mean strength, in sixteenths of a dBm.
    strength: i16,
}

impl Quality {
    /// Of a neighbour whose first hello, with this number and strength, is yet to be noted.
    pub fn before(number: u8, rssi_dbm: i8) -> Self {
        Self { history: 0, seen: 0, number: number.wrapping_sub(1), strength: i16::from(rssi_dbm) * 16 }
    }

    /// Of a neighbour whose first hello, with this number, has arrived.
    pub fn new(number: u8, rssi_dbm: i8) -> Self {
        Self { history: 1, seen: 1, number, ..Self::before(number, rssi_dbm) }
    }

    /// Notes a hello; returns how many were missed before it.
    pub fn note_hello(&mut self, number: u8, rssi_dbm: i8) -> u8 {
        let gap = number.wrapping_sub(self.number).max(1);
        if gap > GAP_MAX {
            self.lose();
        }
        self.number = number;
        self.history = self.history.checked_shl(u32::from(gap)).unwrap_or(0) | 1;
        self.seen = if gap > GAP_MAX { 1 } else { self.seen.saturating_add(gap).min(32) };
        self.strengthen(rssi_dbm);
        gap - 1
    }

    /// Notes the strength of any frame.
    pub fn strengthen(&mut self, rssi_dbm: i8) {
        self.strength += (i16::from(rssi_dbm) * 16 - self.strength) / 8;
    }

    /// The peer has restarted: its numbers begin anew.
    pub fn restart(&mut self, number: u8, rssi_dbm: i8) {
        *self = Self::new(number, rssi_dbm);
    }

    /// The neighbour is lost: its hellos so far no longer count.
    pub fn lose(&mut self) {
        self.history = 0;
        self.seen = 0;
    }

    /// A link begins: only the last four hellos count, those that brought it up.
    pub fn begin(&mut self) {
        self.history &= 15;
        self.seen = self.seen.min(4);
    }

    /// Whether it is strong enough for a link to begin.
    pub fn is_strong(&self) -> bool {
        self.strength >= STRONG_DBM * 16
    }

    /// Whether a link is worth having.
    pub fn is_good(&self) -> bool {
        (self.history & 15).count_ones() >= 3 && self.is_strong()
    }

    /// Whether all of the last four hellos have come, none of which is from before the neighbour was lost.
    pub fn is_steady(&self) -> bool {
        self.history & 15 == 15 && self.is_strong()
    }

    /// Whether a link is worth having where there may be no other: to a neighbour in another network.
    pub fn is_fair(&self) -> bool {
        (self.history & 15).count_ones() >= 2 && self.is_strong()
    }

    /// Whether a link is to be given up.
    pub fn is_bad(&self) -> bool {
        let (arrived, of) = (self.history.count_ones(), u32::from(self.seen));
        let least = if self.is_strong() { LOSSY_STRONG_TENTHS } else { LOSSY_TENTHS };
        let is_lossy = of >= SAMPLE && arrived * 10 < of * least;
        let is_faint = self.strength < FAINT_DBM * 16 && of >= SAMPLE / 4 && arrived * 10 < of * 6;
        is_lossy || is_faint
    }

    /// How many of eight hellos arrive, at most 7.
    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn eighths(&self) -> u8 {
        let of = u32::from(self.seen).max(1);
        u8::try_from(self.history.count_ones() * 8 / of).unwrap_or(7).min(7)
    }

    /// How many of the last hellos arrived, and how many these are.
    pub fn hellos(&self) -> (u8, u8) {
        (u8::try_from(self.history.count_ones()).unwrap_or(self.seen).min(self.seen), self.seen)
    }

    /// The mean strength in dBm.
    pub fn strength_dbm(&self) -> i16 {
        self.strength / 16
    }
}

#[cfg(test)]
mod tests {
    use super::Quality;

    #[test]
    fn three_of_four_make_a_link_and_less_than_two_of_five_lose_a_weak_one() {
        let mut quality = Quality::new(0, -60);
        quality.note_hello(1, -60);
        assert!(!quality.is_good());
        assert_eq!(quality.note_hello(3, -60), 1, "one was missed");
        assert!(quality.is_good());
        assert!(!quality.is_bad());
        let mut weak = quality.clone();
        let mut number = 3;
        for _ in 0..9 {
            number += 3;
            weak.note_hello(number, -100);
            assert!(!weak.is_bad(), "a few seconds of bad luck are not enough");
        }
        number += 3;
        weak.note_hello(number, -100);
        assert!(weak.is_bad() && !weak.is_good());
    }

    #[test]
    fn a_strong_link_that_loses_two_of_three_hellos_to_a_crowd_is_kept() {
        let mut quality = Quality::new(0, -60);
        (1..40).for_each(|third| {
            quality.note_hello(third * 3, -60);
            assert!(!quality.is_bad());
        });
        (1..6).for_each(|sixth| {
            quality.note_hello(117 + sixth * 6, -60);
        });
        assert!(quality.is_bad(), "one that hardly ever hears anything is not");
    }

    #[test]
    fn a_faint_newcomer_is_not_wanted_and_a_faint_link_is_kept_while_it_works() {
        let mut quality = Quality::new(0, -92);
        (1..20).for_each(|number| assert_eq!(quality.note_hello(number, -92), 0));
        assert!(!quality.is_good() && !quality.is_bad());
        assert_eq!(quality.eighths(), 7);
        (10..40).map(|half| half * 2 + 1).for_each(|number| assert!(quality.note_hello(number, -99) <= 1));
        assert!(quality.is_bad(), "faint, and every other hello is lost");
    }

    #[test]
    fn a_long_silence_before_a_link_does_not_count_against_it() {
        let mut quality = Quality::new(0, -50);
        for number in [60, 61, 62] {
            quality.note_hello(number, -50);
        }
        assert!(quality.is_good() && quality.is_bad());
        quality.begin();
        (63..200).for_each(|number| {
            quality.note_hello(number, -50);
            assert!(!quality.is_bad());
        });
    }

    #[test]
    fn a_neighbour_that_has_lost_count_is_not_taken_for_one_that_is_hardly_heard() {
        let mut quality = Quality::new(0, -60);
        (1..40).for_each(|number| assert_eq!(quality.note_hello(number, -60), 0));
        let mut faded = quality.clone();
        faded.note_hello(39 + 40, -60);
        assert!(faded.is_bad() && faded.eighths() == 0, "forty may be lost");
        quality.note_hello(39 + 100, -60);
        assert!(!quality.is_bad() && !quality.is_good() && quality.eighths() > 0);
    }

    #[test]
    fn numbers_start_over_after_255() {
        let mut quality = Quality::new(254, -50);
        assert_eq!(quality.note_hello(255, -50), 0);
        assert_eq!(quality.note_hello(0, -50), 0);
        assert_eq!(quality.note_hello(200, -50), 199);
        assert!(!quality.is_good());
    }
}
