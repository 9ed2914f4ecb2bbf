//! When to say hello: the Trickle timer (RFC 6206) without suppression.
//!
//! The interval doubles while nothing changes and starts over when something does. A hello is sent at a random moment in the
//! second half of each interval. Suppression, which would save hellos where many are heard, is left out: a node that is
//! not heard is a node that is gone.

use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// Resets closer together than this are one, and in a crowd than twice, four times, ... as much: so a node that starts over
/// all the time says no more than twice as many hellos as one that never does.
const RESET_PAUSE: Duration = Duration::from_millis(1_000);

/// A hurried hello comes within this time.
const HURRY: Duration = Duration::from_millis(40);

/// How long a hello waits for what is more urgent.
const HURRY_PAUSE: Duration = Duration::from_millis(150);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trickle {
    min: Duration,
    doublings_max: u8,
    doublings: u8,
    /// By how many doublings every interval is longer, because many are heard.
    slower: u8,
    ends: Instant,
    /// When the hello of this interval is due; never once it was sent.
    due: Instant,
    /// When it last started over; never, where it did not.
    reset_at: Instant,
    sent_at: Instant,
}

impl Trickle {
    /// A timer that has not started.
    pub fn new(min: Duration, doublings_max: u8) -> Self {
        Self {
            min,
            doublings_max,
            doublings: 0,
            slower: 0,
            ends: Instant::ZERO,
            due: Instant::NEVER,
            reset_at: Instant::NEVER,
            sent_at: Instant::ZERO,
        }
    }

    pub fn interval(&self) -> Duration {
        self.after(self.doublings)
    }

    fn after(&self, doublings: u8) -> Duration {
        self.min.times(1_u32 << doublings.saturating_add(self.slower).min(16))
    }

    /// Makes intervals longer by so many doublings, from the next one on. Called before a hello is written, which announces
    /// that interval.
    pub fn slow(&mut self, doublings: u8) {
        self.slower = doublings;
    }

    /// The next interval in milliseconds, rounded up to a power of two, as the exponent. The next hello is due within one and
    /// a half times that.
    pub fn next_interval_log2(&self) -> u8 {
        exponent(self.after(self.doublings_max.min(self.doublings + 1)))
    }

    /// The longest interval that is announced where hellos are slowed down by so many doublings, as an exponent.
    pub fn longest_log2(&self, slower: u8) -> u8 {
        let longest = self.min.times(1_u32 << self.doublings_max.saturating_add(slower).min(16));
        exponent(longest)
    }

    /// Begins with the shortest interval.
    pub fn start(&mut self, now: Instant, rng: &mut Rng) {
        self.doublings = 0;
        self.begin(now, rng);
    }

    /// Something has changed: back to the shortest interval, but not more than once a second.
    pub fn reset(&mut self, now: Instant, rng: &mut Rng) {
        let is_recent = self.reset_at != Instant::NEVER
            && now.since(self.reset_at) < RESET_PAUSE.times(1 << u32::from(self.slower).min(16));
        if !is_recent && self.doublings > 0 {
            self.reset_at = now;
            self.start(now, rng);
        }
    }

    /// Something is worth telling: the next hello comes soon, but not before the pause after the one before is over. The
    /// interval stays as it is.
    pub fn hurry(&mut self, now: Instant, pause: Duration, rng: &mut Rng) {
        let pause = pause.max(HURRY_PAUSE.times(1 << u32::from(self.slower).min(16)));
        self.due = self.due.min(now.max(self.sent_at + pause) + within_hurry(rng));
    }

    /// Something more urgent is on the channel: the next hello comes a little later, but hardly later than its interval,
    /// because the others would take a node that falls silent for gone.
    pub fn defer(&mut self, now: Instant, rng: &mut Rng) {
        if now < self.ends {
            self.sent_at = now;
            if self.is_waiting() {
                self.due = self.due.max(now + HURRY_PAUSE + within_hurry(rng));
            }
        }
    }

    fn begin(&mut self, now: Instant, rng: &mut Rng) {
        let half = u32::try_from(self.interval().as_micros() / 2).unwrap_or(u32::MAX);
        self.due = now + Duration::from_micros(u64::from(half) + u64::from(rng.below(half)));
        self.ends = now + self.interval();
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Whether the hello of this interval is still to be sent.
    pub fn is_waiting(&self) -> bool {
        self.due != Instant::NEVER
    }

    /// The hello of this interval was sent.
    pub fn sent(&mut self, now: Instant) {
        self.sent_at = now;
        self.due = Instant::NEVER;
    }

    /// The hello could not be sent, because the channel was never clear: it is due once more. Without it the others would ask
    /// whether this node is there, and make the channel busier.
    pub fn again(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }

    /// Begins the next interval where this one is over.
    pub fn pass(&mut self, now: Instant, rng: &mut Rng) {
        if !self.is_waiting() && self.ends <= now {
            self.doublings = self.doublings_max.min(self.doublings + 1);
            self.begin(now, rng);
        }
    }

    /// Starts over where no interval can be like this one: it ends later than the longest, the hello of it comes after its end,
    /// or the last one was sent in the future.
    pub fn audit(&mut self, now: Instant, rng: &mut Rng) {
        self.doublings = self.doublings.min(self.doublings_max);
        let latest = now + self.interval() + HURRY_PAUSE + HURRY;
        let is_too_late = self.ends > latest || (self.is_waiting() && self.due > latest);
        if is_too_late || self.sent_at > now {
            self.sent_at = self.sent_at.min(now);
            self.start(now, rng);
        }
        if self.reset_at != Instant::NEVER && self.reset_at > now {
            self.reset_at = now;
        }
    }

    /// When the next hello is due or, where it was sent, the next interval begins.
    pub fn next(&self) -> Instant {
        if self.is_waiting() { self.due } else { self.ends }
    }
}

/// Milliseconds, rounded up to a power of two.
fn exponent(interval: Duration) -> u8 {
    let millis = interval.as_micros().div_ceil(1_000).max(1);
    u8::try_from(millis.next_power_of_two().trailing_zeros()).unwrap_or(u8::MAX)
}

/// A random part of [`HURRY`], so that nodes with the same news do not speak at once.
fn within_hurry(rng: &mut Rng) -> Duration {
    let spread = u32::try_from(HURRY.as_micros()).unwrap_or(u32::MAX);
    Duration::from_micros(u64::from(rng.below(spread)))
}

#[cfg(test)]
mod tests {
    use super::Trickle;
    use crate::rng::Rng;
    use crate::time::{Duration, Instant};

    #[test]
    fn one_hello_in_the_second_half_of_every_interval() {
        let (mut rng, mut now) = (Rng::new(1), Instant::ZERO);
        let mut trickle = Trickle::new(Duration::from_millis(100), 3);
        trickle.start(now, &mut rng);
        let mut sent = std::vec::Vec::new();
        while now < Instant::from_millis(3_000) {
            now = trickle.next();
            if trickle.is_due(now) {
                sent.push(now.as_millis());
                trickle.sent(now);
            }
            trickle.pass(now, &mut rng);
        }
        // Intervals begin at 0, 100, 300, 700, 1500, 2300.
        for (at, [from, to]) in sent.iter().zip([[50, 100], [200, 300], [500, 700], [1_100, 1_500], [1_900, 2_300]]) {
            assert!((from..=to).contains(at), "{sent:?}");
        }
        assert_eq!(trickle.next_interval_log2(), 10);
        trickle.reset(now, &mut rng);
        assert!(trickle.next() <= now + Duration::from_millis(100));
        let next = trickle.next();
        trickle.reset(now, &mut rng);
        assert_eq!(trickle.next(), next, "one reset a second");
    }

    #[test]
    fn what_is_more_urgent_delays_a_hello_but_not_past_its_interval() {
        let mut rng = Rng::new(1);
        let mut trickle = Trickle::new(Duration::from_millis(1_000), 0);
        trickle.start(Instant::ZERO, &mut rng);
        trickle.hurry(Instant::from_millis(500), super::HURRY_PAUSE, &mut rng);
        trickle.defer(Instant::from_millis(510), &mut rng);
        let later = Instant::from_millis(510) + super::HURRY_PAUSE;
        assert!((later..later + super::HURRY).contains(&trickle.next()));
        trickle.hurry(Instant::from_millis(520), super::HURRY_PAUSE, &mut rng);
        assert!(trickle.next() >= later, "a hurry does not undo it");
        for at in 520..5_000 {
            trickle.defer(Instant::from_millis(at), &mut rng);
        }
        let latest = Instant::from_millis(1_000) + super::HURRY_PAUSE + super::HURRY;
        assert!(trickle.next() < latest, "whatever happens meanwhile: {:?}", trickle.next());
    }
}
