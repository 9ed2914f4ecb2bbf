//! Converts a board's times to the monitor's clock.
//!
//! A message carries the board's time of an event and arrives somewhat later. The smallest difference between the two seen
//! recently is taken for the offset of the clocks. The remaining error is the shortest delay of a message (about a
//! millisecond over USB) plus the clocks' drift over the last [`KEPT`] messages.

use std::collections::VecDeque;

/// How many messages count: few enough that drift, up to 40 µs per second, stays small.
const KEPT: usize = 64;

/// The clock of one board during one boot.
#[derive(Clone, Debug, Default)]
pub struct BoardClock {
    differences: VecDeque<i128>,
}

impl BoardClock {
    /// The monitor's time of an event at `board_us` of the board's clock, reported by a message that arrived at `now_us`.
    pub fn monitor_time(&mut self, now_us: u64, board_us: u64) -> u64 {
        if self.differences.len() == KEPT {
            self.differences.pop_front();
        }
        self.differences.push_back(i128::from(now_us) - i128::from(board_us));
        let shortest = self.differences.iter().min().copied().unwrap_or(0);
        u64::try_from(i128::from(board_us) + shortest).unwrap_or(0).min(now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::{BoardClock, KEPT};

    #[test]
    fn a_message_that_waited_is_put_where_it_belongs() {
        let mut clock = BoardClock::default();
        assert_eq!(clock.monitor_time(10_000_000, 4_000_000), 10_000_000);
        assert_eq!(clock.monitor_time(11_000_300, 5_000_000), 11_000_000, "300 us on the way");
        assert_eq!(clock.monitor_time(19_000_000, 6_000_000), 12_000_000, "it waited seven seconds");
        assert_eq!(clock.monitor_time(13_999_000, 8_000_000), 13_999_000, "faster than any before");
        assert_eq!(clock.monitor_time(5, u64::MAX), 5, "never in the future");
    }

    #[test]
    fn a_slow_clock_does_not_run_away() {
        let mut clock = BoardClock::default();
        let mut error = 0;
        // One message a second for three hours, the board's clock 40 ppm slow.
        for second in 1..10_800_u64 {
            let now = second * 1_000_000;
            error = now - clock.monitor_time(now, now - second * 40);
        }
        assert!(error <= KEPT as u64 * 40, "{error} us");
    }
}
