//! How busy the channel is, as far as this node hears it, and how long hurried hellos therefore wait.
//!
//! News of a ring makes hellos come sooner, and each of them is news to others. Where few nodes hear each other, that
//! makes a ring settle fast. In a crowd it fills the channel, links break for lack of acknowledgements, and that is
//! news again. So the busier the channel, the longer a hurried hello waits after the one before. Whatever the number of
//! nodes, hurried hellos leave most of the channel to messages.

use crate::time::{Duration, Instant};

/// The time over which the load is averaged.
const WINDOW_US: u64 = 1_000_000;

/// Airtime in the window from which on the wait grows, and the airtime by which it then doubles.
const FREE_US: u64 = WINDOW_US / 8;
const STEP_US: u64 = WINDOW_US / 14;

/// The wait where the channel is quiet.
pub const PAUSE_MIN: Duration = Duration::from_millis(150);

/// Messages wait from this pause on.
const REST_FREE: Duration = Duration::from_millis(1_200);

/// The wait doubles at most this often.
const DOUBLINGS_MAX: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Airtime heard, of which the share of the window that has passed since is forgotten.
    heard_us: u64,
    heard_at: Instant,
}

impl Load {
    pub const fn new() -> Self {
        Self { heard_us: 0, heard_at: Instant::ZERO }
    }

    /// A frame that took this long has ended.
    pub fn hear(&mut self, now: Instant, airtime: Duration) {
        self.heard_us = self.level(now) + airtime.as_micros();
        self.heard_at = now;
    }

    fn level(&self, now: Instant) -> u64 {
        let left = WINDOW_US.saturating_sub(now.since(self.heard_at).as_micros());
        self.heard_us.min(WINDOW_US) * left / WINDOW_US
    }

    /// The longest wait of a message that the next one may replace: nothing, unless the channel is more than a third
    /// full.
    pub fn rest(&self, now: Instant) -> Duration {
        Duration::from_micros(self.pause(now).as_micros().saturating_sub(REST_FREE.as_micros()))
    }

    /// How much later than usual hellos may come.
    pub fn slack_ms(&self, now: Instant) -> u16 {
        let more = self.pause(now).as_micros().saturating_sub(PAUSE_MIN.as_micros());
        u16::try_from(more / 1_000).unwrap_or(u16::MAX)
    }

    /// The least time between a hurried hello and the one before.
    pub fn pause(&self, now: Instant) -> Duration {
        let level = self.level(now).saturating_sub(FREE_US);
        // The usual case, without divisions of 64 bits: this is asked for before a frame is answered.
        if level == 0 {
            return PAUSE_MIN;
        }
        let (doublings, rest) = (level / STEP_US, level % STEP_US);
        let doubled = PAUSE_MIN.as_micros() << doublings.min(DOUBLINGS_MAX);
        let more = if doublings < DOUBLINGS_MAX { doubled * rest / STEP_US } else { 0 };
        Duration::from_micros(doubled + more)
    }
}

#[cfg(test)]
mod tests {
    use super::{DOUBLINGS_MAX, Load, PAUSE_MIN};
    use crate::time::{Duration, Instant};

    /// The pause of nodes that all hurry, once it has settled: each frame takes 4 ms.
    fn settled(nodes: u64) -> Duration {
        let (mut load, mut now) = (Load::new(), Instant::ZERO);
        for _ in 0..5_000 {
            now = now + Duration::from_micros(load.pause(now).as_micros() / nodes);
            load.hear(now, Duration::from_millis(4));
        }
        load.pause(now)
    }

    #[test]
    fn however_many_hurry_most_of_the_channel_is_left() {
        assert!(settled(2) < PAUSE_MIN.times(2));
        for nodes in [8, 16, 30, 64, 100] {
            let share = nodes * 4_000 * 100 / settled(nodes).as_micros();
            assert!(share < 40, "{nodes} nodes take {share} %");
        }
    }

    #[test]
    fn what_may_be_replaced_waits_only_on_a_channel_that_is_more_than_a_third_full() {
        let rest = |percent: u64| {
            let mut load = Load::new();
            (0..percent).for_each(|_| load.hear(Instant::from_millis(1_000), Duration::from_millis(10)));
            load.rest(Instant::from_millis(1_000))
        };
        assert_eq!((rest(10), rest(33)), (Duration::ZERO, Duration::ZERO));
        assert!(rest(38) > Duration::ZERO && rest(60) > Duration::from_millis(1_000));
    }

    #[test]
    fn a_channel_that_falls_silent_is_quiet_a_second_later() {
        let mut load = Load::new();
        (0..250).for_each(|frame| load.hear(Instant::from_millis(frame * 4), Duration::from_millis(4)));
        assert_eq!(load.pause(Instant::from_millis(1_000)), PAUSE_MIN.times(1 << DOUBLINGS_MAX));
        assert_eq!(load.pause(Instant::from_millis(2_000)), PAUSE_MIN);
    }
}
