//! Sending to one neighbour and waiting for its acknowledgement: one frame at a time, repeated after growing gaps.

use crate::time::{Duration, Instant};

/// Gaps before the second, third, ... attempt, in milliseconds; the last one repeats.
const GAPS_MS: [u32; 6] = [3, 8, 24, 64, 128, 128];

/// Frames of others put an attempt off by at most this: twice the longest gap. If a wave of messages takes longer,
/// sending again is right.
const POSTPONED_MAX_MS: u8 = 250;

/// Nor by more than this many times the gap before it, so that early repetitions stay quick.
const POSTPONED_GAPS: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Arq {
    /// Messages of the frame that is not acknowledged yet.
    pub outstanding: u8,
    /// How often it was sent.
    pub attempts: u8,
    /// Whether the frame carries no message and only asks whether the neighbour is there.
    pub is_probe: bool,
    /// Whether it asked for an answer at once.
    pub is_asked: bool,
    /// Whether somebody else has lost this neighbour.
    pub is_doubted: bool,
    /// Whether the messages change nothing that the neighbour does, and may be repeated later.
    pub is_lazy: bool,
    /// By how much the next attempt was put off because others had the channel, in milliseconds.
    pub(super) postponed_ms: u8,
    /// When it is to be sent (again).
    pub due: Instant,
}

impl Arq {
    pub const IDLE: Self = Self {
        outstanding: 0,
        attempts: 0,
        is_probe: false,
        is_asked: false,
        is_doubted: false,
        is_lazy: false,
        postponed_ms: 0,
        due: Instant::NEVER,
    };

    /// Whether a frame waits for its acknowledgement or to be sent.
    pub fn is_busy(&self) -> bool {
        self.outstanding > 0 || self.is_probe
    }

    /// It was sent once more, and is sent again then.
    pub fn sent(&mut self, due: Instant) {
        self.attempts = self.attempts.saturating_add(1);
        self.postponed_ms = 0;
        self.due = due;
    }

    /// Others occupy the channel for this long, which puts the next attempt off, within limits.
    pub fn postpone(&mut self, now: Instant, length: Duration) {
        // An answer that was asked for comes at once or not at all.
        if self.attempts == 0 || self.is_asked || self.due <= now || self.due == Instant::NEVER {
            return;
        }
        let length_ms = u8::try_from(length.as_micros().div_ceil(1_000)).unwrap_or(POSTPONED_MAX_MS);
        let most = self.gap().times(POSTPONED_GAPS).as_micros().div_ceil(1_000);
        let most = u8::try_from(most).unwrap_or(POSTPONED_MAX_MS).min(POSTPONED_MAX_MS);
        if length_ms <= most.saturating_sub(self.postponed_ms) {
            self.postponed_ms += length_ms;
            self.due = self.due + length;
        }
    }

    /// The middle of the time between the attempt that is under way and the next one.
    pub fn gap(&self) -> Duration {
        let index = usize::from(self.attempts).min(GAPS_MS.len() - 1);
        Duration::from_millis(u64::from(GAPS_MS.get(index).copied().unwrap_or(128)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arq, Duration, Instant, POSTPONED_GAPS, POSTPONED_MAX_MS};

    #[test]
    fn others_put_an_early_attempt_off_by_less_than_a_late_one() {
        let length = Duration::from_millis(4);
        for attempts in 1..=6 {
            let due = Instant::ZERO + Duration::from_millis(1);
            let mut arq = Arq { attempts, outstanding: 1, due, ..Arq::IDLE };
            let most = arq.gap().times(POSTPONED_GAPS).min(Duration::from_millis(u64::from(POSTPONED_MAX_MS)));
            for _ in 0..100 {
                arq.postpone(Instant::ZERO, length);
            }
            let put_off = arq.due.since(due);
            assert!(put_off <= most && put_off + length > most, "{attempts}: {put_off:?} of {most:?}");
        }
    }
}
