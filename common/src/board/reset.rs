//! Why a board was reset, as RESETREAS of the nRF52 says it, and what that says about the run before.

use crate::board::history::Ending;
use crate::host_link::ResetReason;

const PIN: u32 = 1;
const WATCHDOG: u32 = 1 << 1;
const SOFTWARE: u32 = 1 << 2;
const LOCKUP: u32 = 1 << 3;
const DEBUGGER: u32 = 1 << 18;

/// The reason in a value of RESETREAS, which gathers reasons until it is cleared. If there are several the worst counts.
///
/// The reset pin is the exception: after a reset by it, other bits may be set that mean nothing (erratum 136 of the
/// nRF52833 and nRF52840), so that a person who presses the button would be told of a watchdog that never bit.
pub const fn reason(resetreas: u32) -> ResetReason {
    if resetreas & PIN != 0 {
        ResetReason::Pin
    } else if resetreas & LOCKUP != 0 {
        ResetReason::Lockup
    } else if resetreas & WATCHDOG != 0 {
        ResetReason::Watchdog
    } else if resetreas & SOFTWARE != 0 {
        ResetReason::Software
    } else if resetreas & DEBUGGER != 0 {
        ResetReason::Debugger
    } else if resetreas != 0 {
        ResetReason::Other(resetreas)
    } else {
        ResetReason::Power
    }
}

/// How the run before ended, given whether it left the record of a crash. A reset by software without one was wanted: by a
/// command, or by a debugger.
pub const fn ending(reason: ResetReason, has_crashed: bool) -> Ending {
    match reason {
        ResetReason::Watchdog | ResetReason::Lockup => Ending::Failed,
        ResetReason::Software if has_crashed => Ending::Failed,
        ResetReason::Power => Ending::PowerLost,
        ResetReason::Pin | ResetReason::Software | ResetReason::Debugger | ResetReason::Other(_) => Ending::Deliberate,
    }
}

#[cfg(test)]
mod tests {
    use super::{ending, reason};
    use crate::board::history::Ending;
    use crate::host_link::ResetReason;

    #[test]
    fn every_bit_has_its_reason_and_the_worst_wins() {
        assert_eq!(reason(0), ResetReason::Power);
        assert_eq!(reason(1), ResetReason::Pin);
        assert_eq!(reason(2), ResetReason::Watchdog);
        assert_eq!(reason(4), ResetReason::Software);
        assert_eq!(reason(8), ResetReason::Lockup);
        assert_eq!(reason(1 << 18), ResetReason::Debugger);
        assert_eq!(reason(1 << 16), ResetReason::Other(1 << 16));
        assert_eq!(reason(0b1110), ResetReason::Lockup);
        assert_eq!(reason(0b0110), ResetReason::Watchdog);
    }

    #[test]
    fn a_pressed_button_is_nothing_else() {
        for stray in 0..=0xF {
            assert_eq!(reason(stray | 1), ResetReason::Pin, "{stray:#b}");
            assert_eq!(reason(stray | 1 | 1 << 18), ResetReason::Pin);
        }
        assert_eq!(ending(ResetReason::Pin, true), Ending::Deliberate, "whatever the run before left in memory");
    }

    #[test]
    fn only_what_went_wrong_is_a_failure() {
        assert_eq!(ending(ResetReason::Software, true), Ending::Failed);
        assert_eq!(ending(ResetReason::Software, false), Ending::Deliberate);
        assert_eq!(ending(ResetReason::Watchdog, false), Ending::Failed);
        assert_eq!(ending(ResetReason::Lockup, false), Ending::Failed);
        assert_eq!(ending(ResetReason::Pin, true), Ending::Deliberate);
        assert_eq!(ending(ResetReason::Power, false), Ending::PowerLost);
    }
}
