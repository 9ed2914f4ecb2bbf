//! When the leader last gave a sign of life: a frame that this node heard, or that others heard and told of. Hellos
//! carry the age of that sign, and a node that hears of a younger one takes it over. So nodes that hear the leader
//! vouch for it to those that do not, and silence is a matter of the neighbourhood, not of one link.
//!
//! Few watch a leader closely: those that it names first in its hellos, its successors ([`rank`](Life::rank)).

use super::patience::Watch;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The unit of the age in hellos.
const UNIT: Duration = Duration::from_millis(16);

/// An age that says nothing: too old, or unknown.
pub const AGE_MAX: u8 = u8::MAX;

/// What a leader tells of itself while it calls as the heir of one that stepped down. Its own age is otherwise 0.
pub const AGE_HEIR: u8 = AGE_MAX - 1;

/// A leader that gave a sign of life within this many of its hellos is there.
const RECENT_BEATS: u32 = 2;

/// A node that did not watch the leader concludes only after this many from the loss of its link that the leader is
/// lost.
const LONG_BEATS: u32 = 8;

/// How long others have to object once they are asked: an objection comes within 40 ms, or 64 where its sender has just said hello,
/// and is handed on within 16.
pub(super) const OBJECTION: Duration = Duration::from_millis(80);

/// An objection is handed on to whoever asked within this time: then even those that are no successors take the lost leader's
/// seat.
const DOUBTED: Duration = Duration::from_millis(300);

/// How many successors watch a leader: one may fail with it, and another be out of reach of the rest. Each more asks a dead
/// leader ten times.
pub const SUCCESSORS: u8 = 3;

/// The rank of a node that is no successor.
const NO_RANK: u8 = u8::MAX;

/// A leader is watched closely only this long after this node began to follow it: while a network forms, or heals, leaders
/// change and the channel is busy.
const NEW: Duration = Duration::from_millis(3_000);

/// How long a successor does not watch after it was wrong: it had asked a living leader nearly as often as it would ask
/// a dead one. Its link fades, as links do in bursts, and the next fade may be longer.
const BLIND: Duration = Duration::from_millis(15_000);

/// The pause doubles each time that it is wrong again, up to half an hour: on a channel where that happens all the
/// time, noticing a loss a second sooner is not worth the leaders that are unseated for nothing.
const BLIND_DOUBLINGS: u8 = 7;

/// It is trusted again as in the beginning once it has watched for this many times as long as it was blind.
const TRUSTED: u32 = 8;

/// The last sign of life of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    of: NodeId,
    at: Instant,
    /// Since when this node follows it.
    since: Instant,
    /// This node's rank among the leader's successors, from 0.
    rank: u8,
    /// Until when this node does not watch, because it was wrong.
    blind_until: Instant,
    /// How often it was wrong of late.
    wrong: u8,
    /// When this node has asked everybody for it; never, where there was a sign of life since.
    asked_at: Instant,
    /// When another asked for it, and this node had nothing to object; never, where there was a sign of life since.
    doubted_at: Instant,
    /// Whether this node let go of it because others had lost it, and nothing was heard of it since.
    has_concurred: bool,
    /// Whether it has said, at its last sign of life, that it steps down.
    pub(super) has_left: bool,
    /// Who leads in its place by now, as the one or the other has said; 0 is nobody.
    pub(super) heir: NodeId,
    /// How far apart a leader's hellos are.
    beat: Duration,
}

impl Life {
    /// The state without a leader, where leaders say hello this often.
    pub const fn new(beat: Duration) -> Self {
        Self {
            of: NodeId(0),
            at: Instant::ZERO,
            since: Instant::ZERO,
            rank: NO_RANK,
            blind_until: Instant::ZERO,
            wrong: 0,
            asked_at: Instant::NEVER,
            doubted_at: Instant::NEVER,
            has_concurred: false,
            has_left: false,
            heir: NodeId(0),
            beat,
        }
    }

    /// This node follows a leader. One that is new to it has just been elected.
    pub fn follow(&mut self, now: Instant, leader: NodeId) {
        if self.of != leader {
            let Self { blind_until, wrong, beat, .. } = *self;
            *self = Self { of: leader, at: now, since: now, blind_until, wrong, ..Self::new(beat) };
        }
    }

    /// The leader's own hello tells an age, which only one that steps down does.
    pub fn note_leaving(&mut self, now: Instant, age: u8) {
        if age == AGE_MAX && !self.has_left {
            self.has_left = true;
            self.since = now;
        }
    }

    /// This node has let go of a leader that steps down.
    pub fn part(&mut self) {
        self.has_left = false;
        self.at = Instant::ZERO;
    }

    /// Since when the leader is known to step down.
    pub fn left_at(&self) -> Option<Instant> {
        self.has_left.then_some(self.since)
    }

    /// A frame came from a node.
    pub fn hear(&mut self, now: Instant, from: NodeId) {
        if from == self.of {
            self.note(now, now);
        }
    }

    /// Somebody that follows the same leader tells how old its sign of life is.
    pub fn vouch(&mut self, now: Instant, age: u8) {
        if age < AGE_MAX {
            // Rounded up, as no sign of life may grow younger by being told.
            self.note(now, now - UNIT.times(u32::from(age) + 1));
        }
    }

    /// There was a sign of life at this time. One that is old already, and only a little younger than this node's own, is no
    /// answer to whether the leader is there.
    fn note(&mut self, now: Instant, at: Instant) {
        if at > self.at {
            self.at = at;
            if self.was_there(now, self.of) {
                self.asked_at = Instant::NEVER;
                self.has_concurred = false;
            }
        }
    }

    /// The leader has named its links in this order.
    pub fn note_rank(&mut self, rank: Option<usize>) {
        self.rank = rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(NO_RANK);
    }

    /// This node's rank among the successors; none where it is not one of them.
    pub fn rank(&self) -> Option<u8> {
        (self.rank < SUCCESSORS).then_some(self.rank)
    }

    /// This node asks everybody whether they hear the leader, which it watches. Where it knows that the leader is there, it is
    /// only its own link that it asks after: nobody could tell it anything younger, and so take its turn from it.
    pub fn ask(&mut self, now: Instant) {
        if self.since + NEW <= now && self.blind_until <= now && !self.was_there(now, self.of) {
            self.asked_at = now;
        }
    }

    /// Another asks for the leader, or has lost it, and this node knows no better. It may be told in a moment.
    pub fn doubt(&mut self, now: Instant) {
        self.doubted_at = now;
    }

    /// Whether this node has learnt that the leader is there so soon after another asked for it that it hands that on, once: whoever
    /// asked need not hear those who know.
    pub fn take_objection(&mut self, now: Instant) -> bool {
        if self.doubted_at == Instant::NEVER || !self.was_there(now, self.of) {
            return false;
        }
        core::mem::replace(&mut self.doubted_at, Instant::NEVER) + DOUBTED > now
    }

    /// This node lets go of the leader because others have lost it, who had asked everybody.
    pub fn concur(&mut self) {
        self.has_concurred = true;
    }

    /// The rank among the successors that a lost leader leaves to this node, and from when on it may take it: others had time to
    /// object. None where this node has asked nobody, and so waits like everybody for them to say so.
    pub fn turn(&self) -> Option<(u8, Instant)> {
        let rank = self.rank().filter(|_| self.asked_at != Instant::NEVER)?;
        Some((rank, self.asked_at + OBJECTION))
    }

    /// When this node may say that the leader, whose link it has lost, is gone, unless there is a sign of life before. Where others
    /// have asked everybody, they have time to object.
    pub fn gone_at(&self, now: Instant) -> Instant {
        match (self.turn(), self.has_concurred) {
            (Some(_), _) => now,
            (None, true) => now + OBJECTION,
            (None, false) => now.max(self.at + self.beat.times(LONG_BEATS)),
        }
    }

    pub fn watch(&self) -> Watch {
        match self.rank() {
            Some(rank) => {
                let alive_at = self.at.max(self.since + NEW).max(self.blind_until);
                Watch { of: self.of, alive_at, breaks_max: u8::from(rank == 0) }
            }
            None => Watch::NOBODY,
        }
    }

    /// This node nearly took a living leader for lost. That does not count while the leader is new and not watched:
    /// everybody has much to say then, and a late answer says nothing about the link.
    pub fn blind(&mut self, now: Instant) {
        if self.since + NEW > now || self.blind_until > now {
            return;
        }
        if now.since(self.blind_until) >= self.blindness().times(TRUSTED) {
            self.wrong = 0;
        }
        self.wrong = (self.wrong + 1).min(BLIND_DOUBLINGS + 1);
        self.blind_until = now + self.blindness();
    }

    /// How long this node does not watch after it was last wrong.
    fn blindness(&self) -> Duration {
        BLIND.times(1 << u32::from(self.wrong.saturating_sub(1)))
    }

    /// The age to tell. A leader's own is 0, since no sign of life is younger.
    pub fn age(&self, now: Instant, own: NodeId) -> u8 {
        if self.of == own {
            return 0;
        }
        u8::try_from(now.since(self.at).as_micros() / UNIT.as_micros()).unwrap_or(AGE_MAX)
    }

    /// Whether there was a sign of life so shortly before `then`, or after it, that this leader was there at that time.
    pub fn was_there(&self, then: Instant, leader: NodeId) -> bool {
        self.of == leader && self.at + self.beat.times(RECENT_BEATS) > then
    }

    /// Whether the leader is a neighbour that should have given a sign of life by now.
    pub fn is_missed(&self, now: Instant, is_linked: impl FnOnce(NodeId) -> bool) -> bool {
        !self.was_there(now, self.of) && is_linked(self.of)
    }

    /// No sign of life comes from the future.
    pub fn audit(&mut self, now: Instant) {
        self.at = self.at.min(now);
        self.since = self.since.min(now);
        self.wrong = self.wrong.min(BLIND_DOUBLINGS + 1);
        self.blind_until = self.blind_until.min(now + self.blindness());
        for at in [&mut self.asked_at, &mut self.doubted_at] {
            if *at > now {
                *at = Instant::NEVER;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AGE_MAX, Life, SUCCESSORS};
    use crate::link::patience::Watch;
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    const LEADER: NodeId = NodeId(9);
    const BEAT: Duration = Duration::from_millis(128);

    fn following(now: Instant) -> Life {
        let mut life = Life::new(BEAT);
        life.follow(now, LEADER);
        life
    }

    #[test]
    fn a_sign_of_life_is_handed_on_and_never_grows_younger() {
        let mut now = Instant::from_millis(1_000);
        let [mut near, mut far] = [following(now), following(now)];
        // The leader is gone, and the two go on telling each other.
        for _ in 0..100 {
            now = now + Duration::from_millis(20);
            far.vouch(now, near.age(now, NodeId(1)));
            near.vouch(now, far.age(now, NodeId(2)));
        }
        assert!(!near.was_there(now, LEADER) && !far.was_there(now, LEADER));
        near.hear(now, LEADER);
        assert!(near.was_there(now, LEADER) && !far.was_there(now, LEADER));
        far.vouch(now, near.age(now, NodeId(1)));
        assert!(far.was_there(now, LEADER), "one that hears it is enough");
        assert!(!far.was_there(now, NodeId(8)));
    }

    #[test]
    fn a_leader_needs_nobody_to_vouch_for_it_and_a_stranger_has_no_age() {
        let now = Instant::from_millis(9_000);
        let life = following(Instant::ZERO);
        assert_eq!((life.age(now, LEADER), life.age(now, NodeId(1))), (0, AGE_MAX));
    }

    #[test]
    fn only_successors_watch_and_only_a_leader_that_is_not_new() {
        let mut life = following(Instant::ZERO);
        assert_eq!((life.rank(), life.watch()), (None, Watch::NOBODY));
        life.note_rank(Some(usize::from(SUCCESSORS)));
        assert_eq!(life.watch(), Watch::NOBODY);
        life.note_rank(Some(1));
        let watch = |millis| Watch { of: LEADER, alive_at: Instant::from_millis(millis), breaks_max: 0 };
        assert_eq!(life.watch(), watch(3_000));
        life.hear(Instant::from_millis(5_000), LEADER);
        assert_eq!(life.watch(), watch(5_000));
        life.note_rank(Some(0));
        assert_eq!(life.watch(), Watch { breaks_max: 1, ..watch(5_000) });
        life.follow(Instant::from_millis(6_000), NodeId(8));
        assert_eq!(life.rank(), None, "another leader has other successors");
    }

    #[test]
    fn only_who_has_asked_and_heard_of_nothing_since_takes_its_turn() {
        let at = Instant::from_millis;
        let mut life = following(Instant::ZERO);
        life.note_rank(Some(1));
        life.hear(at(9_000), LEADER);
        assert_eq!(life.turn(), None, "it has asked nobody");
        assert_eq!(life.gone_at(at(9_500)), at(10_024), "but after a second nobody needs to be asked");
        life.ask(at(9_240));
        assert_eq!(life.turn(), None, "it knows that the leader is there");
        life.ask(at(9_340));
        assert_eq!(life.turn(), Some((1, at(9_420))), "others have time to object");
        life.vouch(at(9_350), 20);
        assert!(life.turn().is_some(), "an old sign of life is no objection");
        life.vouch(at(9_360), 3);
        assert_eq!(life.turn(), None, "a young one is");
    }

    #[test]
    fn an_objection_is_handed_on_once_and_only_to_who_has_just_asked() {
        let at = Instant::from_millis;
        let mut life = following(Instant::ZERO);
        life.vouch(at(9_000), 0);
        assert!(!life.take_objection(at(9_000)), "nobody has asked");
        life.doubt(at(9_500));
        assert!(!life.take_objection(at(9_510)), "nobody has objected");
        life.vouch(at(9_520), 17);
        assert!(!life.take_objection(at(9_520)), "an old sign of life is no objection");
        life.vouch(at(9_540), 3);
        assert!(life.take_objection(at(9_540)));
        life.vouch(at(9_550), 0);
        assert!(!life.take_objection(at(9_550)), "twice");
        life.doubt(at(11_000));
        life.vouch(at(11_300), 0);
        assert!(!life.take_objection(at(11_300)), "that is over");
        life.vouch(at(11_310), 0);
        assert!(!life.take_objection(at(11_310)), "and forgotten");
    }

    #[test]
    fn who_is_wrong_again_is_blind_for_longer_until_it_is_right_for_long() {
        let mut life = following(Instant::ZERO);
        life.note_rank(Some(0));
        let mut now = Instant::from_millis(2_999);
        life.blind(now);
        assert_eq!(life.blind_until, Instant::ZERO, "a new leader blinds nobody");
        now = now + Duration::from_millis(1_000);
        let mut blind = |now: &mut Instant, later_ms| {
            *now = *now + Duration::from_millis(later_ms);
            life.blind(*now);
            life.blind_until.since(*now).as_micros() / 1_000_000
        };
        assert_eq!(blind(&mut now, 0), 15);
        assert_eq!([blind(&mut now, 16_000), blind(&mut now, 31_000), blind(&mut now, 61_000)], [30, 60, 120]);
        for later_ms in [121_000, 241_000, 481_000, 961_000] {
            blind(&mut now, later_ms);
        }
        assert_eq!(blind(&mut now, 1_921_000), 1_920, "no longer than half an hour");
        assert_eq!(blind(&mut now, 1_920_000 * 9), 15, "it has watched for long");
    }
}
