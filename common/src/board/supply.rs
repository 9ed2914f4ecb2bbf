//! Whether the supply runs low. The board is to lead no more then, while it can still say so.

/// Below this, in millivolts, two alkaline cells or a lithium cell are all but empty. The chip works down to 1,700, and its radio
/// pulls a weak cell down by some hundred.
pub const LOW_MV: u16 = 2_200;

/// A cell recovers when less is drawn from it; it is no longer low from here on.
const FINE_MV: u16 = 2_400;

/// Measurements that must be low, one after the other: a single one may have met a frame being sent.
const LOW_TIMES: u8 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    /// How many measurements in a row were low, as far as that matters.
    low: u8,
}

impl Gauge {
    /// Takes a measurement, in millivolts; 0 is none. Whether the supply has just come to be low: once, as all boards of a
    /// network may be low, and somebody has to lead.
    pub fn has_run_low(&mut self, supply_mv: u16) -> bool {
        if supply_mv >= FINE_MV {
            self.low = 0;
        }
        let is_low = (1..LOW_MV).contains(&supply_mv);
        if is_low && self.low < LOW_TIMES {
            self.low += 1;
            return self.low == LOW_TIMES;
        }
        if !is_low && self.low < LOW_TIMES {
            self.low = 0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::Gauge;

    #[test]
    fn a_supply_runs_low_once_until_it_has_recovered() {
        let mut gauge = Gauge::default();
        let mut low = |measured: &[u16]| measured.iter().map(|&mv| gauge.has_run_low(mv)).collect::<Vec<_>>();
        assert_eq!(low(&[3_000, 2_199, 3_000, 2_100, 0, 2_100]), [false; 6], "one measurement is no trend");
        assert_eq!(low(&[2_100, 2_000, 2_300, 2_100, 2_100]), [true, false, false, false, false], "it is known");
        assert_eq!(low(&[2_400, 2_100, 2_199]), [false, false, true], "a new cell");
    }
}
