//! When something happened on a board, by the monitor's clock.
//!
//! A message says when it happened by the board's clock and arrives a while later. The shortest difference between the two
//! that was seen lately is taken for the difference of the clocks. What is left of an error is the shortest time that a
//! message took (about a millisecond over USB) and the clocks' drift within the last [`KEPT`] messages.

use std::collections::VecDeque;

/// Messages that are looked back at: clocks drift apart by up to 40 µs in each second.
const KEPT: usize = 64;

/// The clock of one board during one boot.
#[derive(Clone, Debug, Default)]
pub struct BoardClock {
    differences: VecDeque<i128>,
}

impl BoardClock {
    /// A message has arrived at `now_us` about something at `board_us` of the board's clock: when that was.
    pub fn place(&mut self, now_us: u64, board_us: u64) -> u64 {
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
        assert_eq!(clock.place(10_000_000, 4_000_000), 10_000_000);
        assert_eq!(clock.place(11_000_300, 5_000_000), 11_000_000, "300 us on the way");
        assert_eq!(clock.place(19_000_000, 6_000_000), 12_000_000, "it waited seven seconds");
        assert_eq!(clock.place(13_999_000, 8_000_000), 13_999_000, "faster than any before");
        assert_eq!(clock.place(5, u64::MAX), 5, "never in the future");
    }

    #[test]
    fn a_slow_clock_does_not_run_away() {
        let mut clock = BoardClock::default();
        let mut error = 0;
        // One message a second for three hours, the board's clock 40 ppm slow.
        for second in 1..10_800_u64 {
            let now = second * 1_000_000;
            error = now - clock.place(now, now - second * 40);
        }
        assert!(error <= KEPT as u64 * 40, "{error} us");
    }
}
