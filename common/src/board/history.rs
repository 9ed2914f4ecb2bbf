//! What a board remembers of its boots: its epoch, how long it ran each time, and how those runs ended.
//!
//! One small record holds all of it, so a single write at boot moves it from one sound state to the next. The epoch is
//! part of it: once the record is written, the board may send.

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// Runs that are remembered. Sixteen are enough to fit a shape, and take only a few words of flash.
pub const RUNS_MAX: usize = 16;

/// A run that failed before this many seconds counts towards a reset loop.
pub const QUICK_S: u32 = 60;

/// A run that lost its power before this many seconds counts, too: the supply breaks down as soon as the radio draws on it.
/// A person who pulls the plug takes longer than that.
pub const BROWN_OUT_S: u32 = 2;

/// The last epoch: after it a board only listens, because every further boot would repeat an old one.
pub const EPOCH_LAST: u16 = u16::MAX - 1;

/// How long a board waits after its first quick failure.
const HOLD_OFF_FIRST_S: u64 = 2;
/// The most it waits.
const HOLD_OFF_MAX_S: u64 = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Ending {
    /// On purpose: the reset pin, a debugger, a command.
    Deliberate,
    /// The power failed, or somebody pulled the plug. That says nothing about the board, unless it happens at once.
    PowerLost,
    /// Panic, fault, lockup or watchdog.
    Failed,
}

/// One run from boot to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Run {
    /// How long it is known to have lasted, in seconds.
    pub lasted_s: u32,
    pub ending: Ending,
}

impl Run {
    /// Whether it counts towards a reset loop. Any other end starts the count over, so that a person ends the waiting by a
    /// reset or by pulling the plug.
    const fn is_quick(self) -> bool {
        match self.ending {
            Ending::Deliberate => false,
            Ending::PowerLost => self.lasted_s < BROWN_OUT_S,
            Ending::Failed => self.lasted_s < QUICK_S,
        }
    }
}

/// Everything that is carried from boot to boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct History {
    /// The number of the present boot; 0 before the first.
    pub epoch: u16,
    /// In a row: runs that failed within [`QUICK_S`] or lost their power within [`BROWN_OUT_S`].
    pub quick_ends: u8,
    /// The latest runs, oldest first.
    pub runs: Vec<Run, RUNS_MAX>,
}

impl MaxSize for History {
    // The number of runs takes one byte.
    const POSTCARD_MAX_SIZE: usize =
        u16::POSTCARD_MAX_SIZE + u8::POSTCARD_MAX_SIZE + 1 + RUNS_MAX * Run::POSTCARD_MAX_SIZE;
}

impl History {
    /// The history after the last run ended like this. It takes no epoch: a board first waits for as long as it has to, and a
    /// supply that breaks down meanwhile costs nothing that could run out.
    #[must_use]
    pub fn with_run(mut self, run: Run) -> Self {
        // At the first boot ever there is no run to remember.
        if self.epoch > 0 {
            if self.runs.is_full() {
                self.runs.remove(0);
            }
            // There is room: the oldest was just removed.
            let _ = self.runs.push(run);
            self.quick_ends = if run.is_quick() { self.quick_ends.saturating_add(1) } else { 0 };
        }
        self
    }

    /// Takes the next epoch, if there is one left.
    pub fn advance_epoch(&mut self) -> Option<u16> {
        if self.epoch >= EPOCH_LAST {
            return None;
        }
        self.epoch += 1;
        Some(self.epoch)
    }

    /// How long the board keeps quiet before it joins: two seconds after a quick end, doubled with each further one, up
    /// to ten minutes. It is ten minutes, too, where no run that is remembered has lasted a minute, however they ended: the
    /// epochs then last for more than a year.
    pub fn hold_off(&self) -> Duration {
        let is_wanted = self.runs.last().is_some_and(|run| run.ending == Ending::Deliberate);
        if self.runs.is_full() && !is_wanted && self.runs.iter().all(|run| run.lasted_s < QUICK_S) {
            return Duration::from_millis(HOLD_OFF_MAX_S * 1_000);
        }
        let Some(doublings) = self.quick_ends.checked_sub(1) else { return Duration::ZERO };
        let seconds = HOLD_OFF_FIRST_S.checked_shl(u32::from(doublings.min(32))).unwrap_or(HOLD_OFF_MAX_S);
        Duration::from_millis(seconds.min(HOLD_OFF_MAX_S) * 1_000)
    }
}

/// When a run's length is next written to flash: as soon as a loss of power is no brown-out any more, after a minute, then
/// whenever it has doubled, then every hour. A write stops the processor, so there are few; what is lost to a power cut is
/// at most half of a run's length, once it has lasted a minute.
pub const fn next_checkpoint_s(uptime_s: u32) -> u32 {
    const MINUTE_S: u32 = 60;
    const HOUR_S: u32 = 3_600;
    if uptime_s < BROWN_OUT_S {
        BROWN_OUT_S
    } else if uptime_s < MINUTE_S {
        MINUTE_S
    } else if uptime_s < HOUR_S {
        if uptime_s * 2 < HOUR_S { uptime_s * 2 } else { HOUR_S }
    } else {
        uptime_s.saturating_add(HOUR_S)
    }
}

#[cfg(test)]
mod tests {
    use super::{EPOCH_LAST, Ending, History, RUNS_MAX, Run, next_checkpoint_s};
    use crate::time::Duration;

    const CRASH: Run = Run { lasted_s: 5, ending: Ending::Failed };

    #[test]
    fn the_first_boot_has_no_run_behind_it() {
        let mut first = History::default().with_run(CRASH);
        assert_eq!((first.advance_epoch(), first.quick_ends, first.runs.len()), (Some(1), 0, 0));
        let second = first.with_run(CRASH);
        assert_eq!((second.epoch, second.quick_ends, second.runs.len()), (1, 1, 1), "no epoch before the wait");
    }

    #[test]
    fn a_reset_loop_backs_off_and_a_long_run_forgives() {
        let mut history = History { epoch: 1, ..History::default() };
        let mut seconds = std::vec::Vec::new();
        for _ in 0..12 {
            history = history.with_run(CRASH);
            seconds.push(history.hold_off().as_micros() / 1_000_000);
        }
        assert_eq!(seconds, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
        let rested = history.clone().with_run(Run { lasted_s: 60, ending: Ending::Failed });
        assert_eq!(rested.hold_off(), Duration::ZERO);
        let wanted = history.clone().with_run(Run { lasted_s: 1, ending: Ending::Deliberate });
        assert_eq!(wanted.hold_off(), Duration::ZERO);
        let flickering = history.with_run(Run { lasted_s: 1, ending: Ending::PowerLost });
        assert_eq!(flickering.hold_off(), Duration::from_millis(600_000));
    }

    #[test]
    fn a_pulled_plug_is_no_reset_loop_and_ends_one() {
        let mut history = History { epoch: 1, ..History::default() };
        for lasted_s in [2, 3, 59, 60, 4_000] {
            history = history.with_run(Run { lasted_s, ending: Ending::PowerLost });
            assert_eq!(history.hold_off(), Duration::ZERO, "{lasted_s} s");
        }
        let crashing = History { quick_ends: 5, ..history };
        assert!(!crashing.hold_off().is_zero());
        let unplugged = crashing.with_run(Run { lasted_s: 2, ending: Ending::PowerLost });
        assert_eq!(unplugged.hold_off(), Duration::ZERO);
    }

    #[test]
    fn a_loop_of_any_length_stays_at_the_most() {
        let history = History { epoch: 9, quick_ends: u8::MAX, ..History::default() };
        let after = history.with_run(CRASH);
        assert_eq!((after.quick_ends, after.hold_off()), (u8::MAX, Duration::from_millis(600_000)));
    }

    #[test]
    fn the_oldest_run_makes_room() {
        let mut history = History { epoch: 1, ..History::default() };
        for lasted_s in 100..100 + 20 {
            history = history.with_run(Run { lasted_s, ending: Ending::PowerLost });
        }
        let lengths: std::vec::Vec<u32> = history.runs.iter().map(|run| run.lasted_s).collect();
        assert_eq!(lengths.len(), RUNS_MAX);
        assert_eq!((lengths[0], lengths[RUNS_MAX - 1]), (104, 119));
    }

    #[test]
    fn no_epoch_is_ever_used_twice() {
        let mut last = History { epoch: EPOCH_LAST - 1, ..History::default() };
        assert_eq!(last.advance_epoch(), Some(EPOCH_LAST));
        assert_eq!(last.advance_epoch(), None);
    }

    /// A supply that breaks down every so many seconds, for ever: how long until the epochs are used up, in hours.
    fn exhausted_after_h(run_s: u64) -> u64 {
        let mut history = History { epoch: 1, ..History::default() };
        let mut elapsed_s = 0;
        // As far as the waits have settled; from then on every boot is like the last.
        for boot in 0..200 {
            let lasted_s = u32::try_from(run_s).unwrap_or(u32::MAX);
            history = history.with_run(Run { lasted_s, ending: Ending::PowerLost });
            let wait_s = history.hold_off().as_micros() / 1_000_000;
            if wait_s <= run_s {
                history.advance_epoch();
            }
            if boot >= 100 {
                elapsed_s += run_s;
            }
        }
        let taken = u64::from(history.epoch).saturating_sub(101).max(1);
        elapsed_s * u64::from(EPOCH_LAST) / taken / 3_600
    }

    #[test]
    fn a_supply_that_breaks_down_all_the_time_does_not_use_up_the_epochs() {
        for run_s in [1, 2, 3, 10, 59] {
            assert!(exhausted_after_h(run_s) > 24 * 60, "{run_s} s: {} h", exhausted_after_h(run_s));
        }
        assert!(exhausted_after_h(60) > 24 * 30);
    }

    #[test]
    fn checkpoints_double_up_to_an_hour() {
        let mut at = std::vec::Vec::from([next_checkpoint_s(0)]);
        while at.len() < 10 {
            at.push(next_checkpoint_s(at[at.len() - 1]));
        }
        assert_eq!(at, [2, 60, 120, 240, 480, 960, 1920, 3600, 7200, 10_800]);
        assert_eq!(next_checkpoint_s(u32::MAX), u32::MAX);
    }
}
