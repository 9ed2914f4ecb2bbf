//! Brief hellos between those of [`trickle`](super::trickle): a leader's, so that its loss is noticed soon, and urgent
//! ones on whether the leader is there.
//!
//! A brief hello names at most one neighbour, and so takes a third of the airtime. Its receivers learn how old the leader's
//! sign of life is, and nothing of the links that it does not name.

use super::life::{AGE_HEIR, AGE_MAX};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// A leader's brief hellos vary by up to this part of their distance, so that those of two leaders do not keep
/// colliding.
const JITTER: u32 = 8;

/// A leader that hands over, or an heir that takes over, says so this often and this far apart: one of so many arrives.
const CALLS: u8 = 8;
const CALLS_APART: Duration = Duration::from_millis(6);

/// Objections come after a random time of up to this, so that not all nodes that hear the leader speak at once.
const SPREAD_US: u32 = 40_000;

/// Those that hand an objection on wait for up to this: less, since it comes behind the first one.
const HANDED_ON_US: u32 = 16_000;

/// How long an objection waits after the hello before, which told the same. Whoever asks may have missed that one, so the next one
/// must still come in time, and so must whoever hands it on.
const PAUSE: Duration = Duration::from_millis(24);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// How far apart a leader's hellos are.
    every: Duration,
    /// Whether this node leads others.
    leads: bool,
    /// How many more hellos follow in quick succession, because the leader changes.
    calls: u8,
    /// Whether they say that this node steps down.
    is_leaving: bool,
    /// Never, where none is wanted.
    due: Instant,
    /// When the last hello was sent, brief or not.
    sent_at: Instant,
}

impl Beat {
    pub const fn new(every: Duration) -> Self {
        Self { every, leads: false, calls: 0, is_leaving: false, due: Instant::NEVER, sent_at: Instant::ZERO }
    }

    pub fn leads(&self) -> bool {
        self.leads
    }

    /// How far apart a leader's hellos are in milliseconds, rounded up to a power of two, as the exponent.
    pub fn log2(&self) -> u8 {
        let millis = self.every.as_micros().div_ceil(1_000).max(1);
        u8::try_from(millis.next_power_of_two().trailing_zeros()).unwrap_or(u8::MAX)
    }

    /// Whether this node leads others from now on.
    pub fn lead(&mut self, now: Instant, leads: bool, rng: &mut Rng) {
        if self.leads != leads {
            self.leads = leads;
            // A leader that has stepped down keeps calling, and now names its heir.
            if !leads {
                self.calls = if self.is_leaving { CALLS } else { 0 };
            }
            self.is_leaving = false;
            self.due = if self.speaks() { now + self.apart(rng) } else { Instant::NEVER };
        }
    }

    /// This node will lead no more.
    pub fn step_down(&mut self, now: Instant) {
        if self.leads {
            self.calls = CALLS;
            self.is_leaving = true;
            self.due = now;
        }
    }

    /// This node is about to lead in place of another.
    pub fn take_over(&mut self) {
        self.calls = CALLS;
    }

    /// What this node says of itself in place of its age.
    pub fn word(&self) -> Option<u8> {
        match self {
            Self { is_leaving: true, .. } => Some(AGE_MAX),
            Self { leads: true, calls: 1.., .. } => Some(AGE_HEIR),
            _ => None,
        }
    }

    /// This node asks for the leader: at once.
    pub fn ask(&mut self, now: Instant) {
        self.due = self.due.min(now);
    }

    /// This node objects to one that asks for the leader: it has heard the leader more recently.
    pub fn object(&mut self, now: Instant, rng: &mut Rng) {
        let spread = Duration::from_micros(u64::from(rng.below(SPREAD_US)));
        self.due = self.due.min(now.max(self.sent_at + PAUSE) + spread);
    }

    /// This node has been told of an objection, and hands it on to whoever asked.
    pub fn hand_on(&mut self, now: Instant, rng: &mut Rng) {
        self.due = self.due.min(now + Duration::from_micros(u64::from(rng.below(HANDED_ON_US))));
    }

    /// The channel was never clear.
    pub fn again(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }

    pub fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// When the next one is due.
    pub fn next(&self) -> Instant {
        self.due
    }

    /// A hello was sent, brief or not.
    pub fn sent(&mut self, now: Instant, rng: &mut Rng) {
        self.sent_at = now;
        self.calls = self.calls.saturating_sub(1);
        self.is_leaving &= self.calls > 0;
        self.due = if self.speaks() { now + self.apart(rng) } else { Instant::NEVER };
    }

    /// Whether a next one is due without anybody asking.
    fn speaks(&self) -> bool {
        self.leads || self.calls > 0
    }

    fn apart(&self, rng: &mut Rng) -> Duration {
        if self.calls > 0 {
            return CALLS_APART;
        }
        let every = self.every.as_micros();
        let jitter = u32::try_from(every).unwrap_or(u32::MAX) / JITTER;
        Duration::from_micros(every - u64::from(jitter) + u64::from(rng.below(2 * jitter)))
    }

    /// Bounds times that cannot be right.
    pub fn audit(&mut self, now: Instant) {
        self.sent_at = self.sent_at.min(now);
        let is_too_late = self.due > now + self.every.times(2) + PAUSE;
        if is_too_late && (self.leads || self.due != Instant::NEVER) {
            self.due = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Beat, CALLS, CALLS_APART, HANDED_ON_US, PAUSE, SPREAD_US};
    use crate::link::life::{AGE_HEIR, AGE_MAX, OBJECTION};
    use crate::rng::Rng;
    use crate::time::{Duration, Instant};

    const EVERY: Duration = Duration::from_millis(128);

    #[test]
    fn only_a_leader_beats_and_any_hello_counts() {
        let (mut rng, mut beat, mut now) = (Rng::new(1), Beat::new(EVERY), Instant::ZERO);
        assert_eq!(beat.next(), Instant::NEVER);
        beat.lead(now, true, &mut rng);
        for _ in 0..100 {
            let apart = beat.next().since(now).as_micros();
            assert!((112_000..144_000).contains(&apart), "{apart}");
            now = beat.next();
            assert!(beat.is_due(now));
            beat.sent(now, &mut rng);
        }
        beat.lead(now, false, &mut rng);
        assert_eq!(beat.next(), Instant::NEVER);
    }

    #[test]
    fn who_hands_over_calls_as_leader_and_again_when_it_follows() {
        let (mut rng, mut beat) = (Rng::new(1), Beat::new(EVERY));
        let now = Instant::from_millis(1_000);
        beat.step_down(now);
        assert_eq!(beat.word(), None, "it leads nobody");
        beat.lead(now, true, &mut rng);
        beat.step_down(now);
        for _ in 0..3 {
            let due = beat.next();
            beat.sent(due, &mut rng);
            assert_eq!(beat.next(), due + CALLS_APART);
        }
        assert_eq!(beat.word(), Some(AGE_MAX));
        beat.lead(beat.next(), false, &mut rng);
        assert_eq!(beat.word(), None, "its hellos name the heir by now");
        for _ in 0..CALLS {
            let due = beat.next();
            assert_ne!(due, Instant::NEVER);
            beat.sent(due, &mut rng);
        }
        assert_eq!(beat.next(), Instant::NEVER);
    }

    #[test]
    fn who_takes_over_says_so_for_as_long_as_it_calls() {
        let (mut rng, mut beat) = (Rng::new(1), Beat::new(EVERY));
        beat.take_over();
        assert_eq!(beat.word(), None, "it does not lead yet");
        beat.lead(Instant::from_millis(1_000), true, &mut rng);
        for _ in 0..CALLS {
            assert_eq!(beat.word(), Some(AGE_HEIR));
            beat.sent(beat.next(), &mut rng);
        }
        assert_eq!(beat.word(), None);
    }

    #[test]
    fn an_objection_is_said_once() {
        let (mut rng, mut beat) = (Rng::new(1), Beat::new(EVERY));
        let now = Instant::from_millis(1_000);
        beat.object(now, &mut rng);
        let due = beat.next();
        assert!(due >= now && due < now + Duration::from_millis(40));
        beat.sent(due, &mut rng);
        assert_eq!(beat.next(), Instant::NEVER);
        beat.object(due, &mut rng);
        assert!(beat.next() >= due + PAUSE, "not at once again");
    }

    #[test]
    fn an_objection_comes_in_time_even_after_a_hello_and_handed_on() {
        let spread = Duration::from_micros(u64::from(SPREAD_US + HANDED_ON_US));
        assert!(Instant::ZERO + PAUSE + spread <= Instant::ZERO + OBJECTION);
    }

    #[test]
    fn an_objection_that_is_handed_on_waits_less_and_not_for_the_hello_before() {
        let (mut rng, mut beat) = (Rng::new(1), Beat::new(EVERY));
        let now = Instant::from_millis(1_000);
        beat.sent(now, &mut rng);
        beat.hand_on(now, &mut rng);
        assert!(beat.next() >= now && beat.next() < now + Duration::from_millis(16));
        beat.sent(beat.next(), &mut rng);
        assert_eq!(beat.next(), Instant::NEVER, "once");
    }
}
