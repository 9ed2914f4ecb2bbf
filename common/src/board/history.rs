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
/// Whoever pulls a plug takes longer, and is not to be punished for it.
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
    /// Whether it counts towards a reset loop. Any other end begins the count anew, so that a person ends the waiting by a
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
    /// The history at a new boot, after the run before it ended like this. None when the epochs are used up.
    pub fn next_boot(mut self, before: Option<Run>) -> Option<Self> {
        self.advance_epoch()?;
        // At the first boot ever there is no run to remember.
        if let Some(run) = before.filter(|_| self.epoch > 1) {
            if self.runs.is_full() {
                self.runs.remove(0);
            }
            // There is room: the oldest was just removed.
            let _ = self.runs.push(run);
            self.quick_ends = if run.is_quick() { self.quick_ends.saturating_add(1) } else { 0 };
        }
        Some(self)
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
    /// to ten minutes.
    pub fn hold_off(&self) -> Duration {
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
        let first = History::default().next_boot(Some(CRASH)).unwrap();
        assert_eq!((first.epoch, first.quick_ends, first.runs.len()), (1, 0, 0));
        let second = first.next_boot(Some(CRASH)).unwrap();
        assert_eq!((second.epoch, second.quick_ends, second.runs.len()), (2, 1, 1));
    }

    #[test]
    fn a_reset_loop_backs_off_and_a_long_run_forgives() {
        let mut history = History { epoch: 1, ..History::default() };
        let mut seconds = std::vec::Vec::new();
        for _ in 0..12 {
            history = history.next_boot(Some(CRASH)).unwrap();
            seconds.push(history.hold_off().as_micros() / 1_000_000);
        }
        assert_eq!(seconds, [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
        let rested = history.clone().next_boot(Some(Run { lasted_s: 60, ending: Ending::Failed })).unwrap();
        assert_eq!(rested.hold_off(), Duration::ZERO);
        let wanted = history.clone().next_boot(Some(Run { lasted_s: 1, ending: Ending::Deliberate })).unwrap();
        assert_eq!(wanted.hold_off(), Duration::ZERO);
        let flickering = history.next_boot(Some(Run { lasted_s: 1, ending: Ending::PowerLost })).unwrap();
        assert_eq!(flickering.hold_off(), Duration::from_millis(600_000));
    }

    #[test]
    fn a_pulled_plug_is_no_reset_loop_and_ends_one() {
        let mut history = History { epoch: 1, ..History::default() };
        for lasted_s in [2, 3, 59, 60, 4_000] {
            history = history.next_boot(Some(Run { lasted_s, ending: Ending::PowerLost })).unwrap();
            assert_eq!(history.hold_off(), Duration::ZERO, "{lasted_s} s");
        }
        let crashing = History { quick_ends: 5, ..history };
        assert!(!crashing.hold_off().is_zero());
        let unplugged = crashing.next_boot(Some(Run { lasted_s: 2, ending: Ending::PowerLost })).unwrap();
        assert_eq!(unplugged.hold_off(), Duration::ZERO);
    }

    #[test]
    fn a_loop_of_any_length_stays_at_the_most() {
        let history = History { epoch: 9, quick_ends: u8::MAX, ..History::default() };
        let after = history.next_boot(Some(CRASH)).unwrap();
        assert_eq!((after.quick_ends, after.hold_off()), (u8::MAX, Duration::from_millis(600_000)));
    }

    #[test]
    fn the_oldest_run_makes_room() {
        let mut history = History { epoch: 1, ..History::default() };
        for lasted_s in 100..100 + 20 {
            history = history.next_boot(Some(Run { lasted_s, ending: Ending::PowerLost })).unwrap();
        }
        let lengths: std::vec::Vec<u32> = history.runs.iter().map(|run| run.lasted_s).collect();
        assert_eq!(lengths.len(), RUNS_MAX);
        assert_eq!((lengths[0], lengths[RUNS_MAX - 1]), (104, 119));
    }

    #[test]
    fn no_epoch_is_ever_used_twice() {
        let last = History { epoch: EPOCH_LAST - 1, ..History::default() }.next_boot(None).unwrap();
        assert_eq!(last.epoch, EPOCH_LAST);
        assert_eq!(last.next_boot(None), None);
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
