//! What a node knows of one neighbour.

use core::cmp::Reverse;

use super::arq::Arq;
use super::frame::FrameNumber;
use super::patience::Patience;
use super::pool::Slot;
use super::quality::Quality;
use super::session::Session;
use crate::notice::Reason;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The least time before a node forgets a neighbour without a link.
const FORGET_MIN: Duration = Duration::from_millis(1_500);

/// Each time a link has held this long, one break is taken off its record.
const CALM: Duration = Duration::from_millis(300_000);

/// A node forgets a neighbour whose link broke only after this much silence, because the record of breaks goes with it.
const REMEMBERED: Duration = Duration::from_millis(20_000);

/// More breaks than this are not counted.
pub const BREAKS_MAX: u8 = 6;

/// A hold-down never lasts longer than this.
const HOLD_MAX: Duration = Duration::from_millis(60_000);

/// Extra attempts for a link that has broken before: twice this, doubled with each further break up to the
/// [`PATIENCE_STEPS`]-th. That is six seconds more: whoever lost its only link must elect within the ten that any network has.
const PATIENCE_STEP: u8 = 12;
const PATIENCE_STEPS: u8 = 2;

/// Extra attempts instead of those, where others have lost the neighbour too.
const PATIENCE_DOUBTED: u8 = 6;

/// Extra attempts by how many of eight hellos arrive. A frame and its answer both arrive one time in 2.8 where two of five
/// frames are lost; after 24 attempts one exchange in forty thousand has failed, as after ten where one in five is lost.
const PATIENCE_LOSSY: [u8; 8] = [26, 26, 26, 26, 14, 6, 0, 0];

/// How many eighths of its interval later a silent neighbour is asked whether it is there, by how many of eight hellos
/// arrive. Hellos are up to one and a half intervals apart. Without this, where one in five is lost, every second
/// question would follow a single lost hello, and questions and answers would be more than half of what a quiet network
/// sends. A leader is asked without this delay.
const SUSPECT_LOSSY: [u8; 8] = [24, 24, 24, 16, 16, 8, 8, 0];

/// The most that this delays the question, besides one interval, or else half an interval: a node that lost its only link
/// must elect within the ten seconds that any network has, and a few that are cut off from a crowd not much later.
const SUSPECT_LATER_MAX: Duration = Duration::from_millis(2_300);

/// A neighbour counts as following another leader after this many hellos in a row that say so.
const DISSENT: u8 = 3;

/// A neighbour was misheard once this is reached, three hellos in a row at the soonest: what it has told may still be on its
/// way.
const MISHEARD: u8 = 3 * MISHEARD_STEP;
const MISHEARD_STEP: u8 = 2;

/// It has no room for this node after this many hellos in a row that say so.
const REFUSED: u8 = 4;

/// One hello less will do where hellos are this far apart (two to this power, in milliseconds), because an election that is
/// under way has passed meanwhile.
const SELDOM_LOG2: u8 = 9;

/// Silence is reckoned in intervals of at least this length. A node that has just started over announces shorter ones, but its
/// hellos wait for the channel like all others, and asking whether it is there would make them wait longer.
const SUSPECT_INTERVAL_MIN: Duration = Duration::from_millis(512);

/// How often a challenge is sent before this node waits for the neighbour's next hello.
const CHALLENGES_MAX: u8 = 6;

/// More than this many of eight hellos make no better successor: if the order changed with every lost hello, two nodes
/// would believe that it is their turn.
const SUCCESSOR_HEARD: u8 = 4;

/// When a neighbour, or all of them together, next need attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The neighbour is asked whether it is there, given up or forgotten.
    pub timeout: Instant,
    /// A frame is sent.
    pub transmit: Instant,
}

impl Due {
    pub const NEVER: Self = Self { timeout: Instant::NEVER, transmit: Instant::NEVER };

    pub fn min(self, other: Self) -> Self {
        Self { timeout: self.timeout.min(other.timeout), transmit: self.transmit.min(other.transmit) }
    }

    /// Whether both are later than another's, or never.
    pub fn is_after(self, other: Self) -> bool {
        let is_later = |mine: Instant, theirs: Instant| mine > theirs || mine == Instant::NEVER;
        is_later(self.timeout, other.timeout) && is_later(self.transmit, other.transmit)
    }
}

/// What happened to a link that the layer above does not know yet. It learns of the fall before the new link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub down: Option<Reason>,
    pub up: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub struct Neighbour {
    pub id: NodeId,
    /// A piece of its serial number; 0 before its first hello.
    pub device: u16,
    pub session: Session,
    /// How well it is heard.
    pub quality: Quality,
    /// The last frame accepted from it.
    pub last: FrameNumber,
    /// When a frame last came from it.
    pub heard_at: Instant,
    /// How long its hellos are apart: two to this power, in milliseconds.
    pub interval_log2: u8,
    /// The leader it names.
    pub leader: NodeId,
    /// How many of its hellos in a row have named another leader than this node's.
    pub dissent: u8,
    /// How sure it is that it has told something else than this node has heard of it.
    pub misheard: u8,
    /// Whether it has no link at all.
    pub is_alone: bool,
    /// Whether its last whole hello said that it wants a link to this node.
    pub insists: bool,
    /// How many of its hellos in a row have said that it has no room for a link to this node.
    pub refusals: u8,
    /// How many of this node's links it shares.
    pub shared: u8,
    /// How many of its hellos in a row have not named this node.
    pub unlisted: u8,
    /// A link that must not be given up to make room.
    pub is_pinned: bool,
    /// It has answered a challenge in this boot of both: it is there, and not only what somebody has recorded of it.
    pub is_proven: bool,
    /// Two boards have this id; hellos say so for as long as the link is held down.
    pub is_twin: bool,
    pub arq: Arq,
    /// When an acknowledgement must go out.
    pub ack_due: Instant,
    /// How often the link broke.
    pub breaks: u8,
    /// The link stays down until then. Long after that a break is taken off the record, and this moves on.
    pub held_until: Instant,
    pub news: News,
}

impl Neighbour {
    /// A neighbour whose first hello has just come.
    pub fn new(id: NodeId, session: Session, quality: Quality, last: FrameNumber, now: Instant) -> Self {
        Self {
            id,
            device: 0,
            session,
            quality,
            last,
            heard_at: now,
            interval_log2: 10,
            leader: NodeId(0),
            dissent: 0,
            misheard: 0,
            is_alone: false,
            insists: false,
            refusals: 0,
            shared: 0,
            unlisted: 0,
            is_pinned: false,
            is_proven: false,
            is_twin: false,
            arq: Arq::IDLE,
            ack_due: Instant::NEVER,
            breaks: 0,
            held_until: now,
            news: News::default(),
        }
    }

    /// The time between its hellos.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(1 << u32::from(self.interval_log2).min(20))
    }

    /// The order in which a leader names its links: the first ones succeed it. A link that has not broken and over which much
    /// comes watches best, and whoever shares most links reaches most.
    pub fn succession(&self, slot: Slot) -> impl Ord + use<> {
        (self.breaks, Reverse(self.quality.eighths().min(SUCCESSOR_HEARD)), Reverse(self.shared), slot.0)
    }

    /// When a silent neighbour is asked whether it is there.
    pub fn suspect_at(&self, patience: Patience) -> Instant {
        let interval = self.interval().max(SUSPECT_INTERVAL_MIN);
        let lossy = SUSPECT_LOSSY.get(usize::from(self.quality.eighths())).copied().unwrap_or(0);
        let later = eighths_of(interval, if self.leader == self.id { 0 } else { lossy });
        let later = later.min(SUSPECT_LATER_MAX.max(eighths_of(interval, 4)));
        let slow = self.heard_at + eighths_of(interval, patience.suspect_eighths) + later + patience.slack();
        if self.is_watched(patience) { slow.min(self.missed_at(patience)) } else { slow }
    }

    /// How often a frame is sent before the link is given up. A link that has broken before is given up less easily, because
    /// one that fails for a second now and then is better kept. Where others have lost the neighbour too, that hardly
    /// applies, nor to a leader that is watched: others are asked whether they hear it.
    pub fn attempts_max(&self, patience: Patience) -> u8 {
        let lossy = PATIENCE_LOSSY.get(usize::from(self.quality.eighths())).copied().unwrap_or(0);
        let breaks = if self.is_watched(patience) { 0 } else { self.breaks };
        let more = match (breaks, self.arq.is_doubted) {
            (0, true) => 0,
            (0, false) => lossy,
            (_, true) => PATIENCE_DOUBTED,
            (breaks, false) => lossy.max(PATIENCE_STEP << breaks.min(PATIENCE_STEPS)),
        };
        patience.attempts.saturating_add(more)
    }

    /// A frame with this number was accepted from it. One that has restarted, or counts anew, is to prove again that it is
    /// there.
    pub fn accept(&mut self, now: Instant, number: FrameNumber) {
        self.is_proven &= number.epoch == self.last.epoch && number > self.last;
        self.last = number;
        self.heard_at = now;
    }

    /// Challenges it to prove that it is there, unless it just is.
    pub fn challenge(&mut self, now: Instant) {
        if !self.session.is_up() && !self.arq.is_busy() {
            self.arq = Arq { is_probe: true, is_asked: true, due: now, ..Arq::IDLE };
        }
    }

    /// Whether a challenge is to be sent.
    pub fn is_challenged(&self, now: Instant) -> bool {
        !self.session.is_up() && self.arq.is_probe && self.arq.due <= now && self.arq.attempts < CHALLENGES_MAX
    }

    /// Whether it has answered none of its challenges.
    pub fn is_unanswered(&self, now: Instant) -> bool {
        !self.session.is_up() && self.arq.due <= now && self.arq.attempts >= CHALLENGES_MAX
    }

    /// The neighbour may be gone: asks it, unless a frame is on its way to it anyway.
    pub fn suspect(&mut self, now: Instant) {
        if !self.arq.is_busy() && self.arq.due == Instant::NEVER {
            self.arq = Arq { is_probe: true, attempts: 1, due: now, ..Arq::IDLE };
        }
    }

    /// When a neighbour that is not linked is forgotten.
    pub fn forget_at(&self) -> Instant {
        let remembered = if self.breaks > 0 { self.heard_at + REMEMBERED } else { Instant::ZERO };
        self.gone_at().max(remembered)
    }

    /// When a silent neighbour without a link is gone.
    fn gone_at(&self) -> Instant {
        self.heard_at + Duration::from_micros(self.interval().as_micros() * 7 / 2).max(FORGET_MIN)
    }

    /// Whether a frame under its id may come from a board that counts anew, because its flash was erased: this one is gone, and
    /// only the record of its link is still kept.
    pub fn may_be_another(&self, now: Instant) -> bool {
        !self.session.is_up() && self.gone_at() <= now
    }

    /// When it next needs attention, with this patience.
    pub fn due(&self, patience: Patience) -> Due {
        if !self.session.is_up() {
            let forget = self.forget_at().max(self.held_until);
            let is_last = self.arq.attempts >= CHALLENGES_MAX;
            let timeout = if is_last { self.arq.due.min(forget) } else { forget };
            return Due { timeout, transmit: if is_last { Instant::NEVER } else { self.arq.due } };
        }
        let Arq { due, attempts: made, .. } = self.arq;
        let timeout = if due != Instant::NEVER {
            if made >= self.attempts_max(patience) { due } else { Instant::NEVER }
        } else if self.arq.is_busy() {
            Instant::NEVER
        } else {
            self.suspect_at(patience)
        };
        Due { timeout, transmit: due.min(self.ack_due) }
    }

    /// The link is down: nothing is outstanding, nothing is due.
    pub fn quieten(&mut self) {
        self.arq = Arq::IDLE;
        self.ack_due = Instant::NEVER;
        self.unlisted = 0;
        self.misheard = 0;
    }

    /// Its hello says, in two bits, whether what it has told is what this node has heard. Bits that are the same by chance
    /// count for less than those that differ.
    pub fn compare(&mut self, is_same: bool) {
        self.misheard =
            if is_same { self.misheard.saturating_sub(1) } else { (self.misheard + MISHEARD_STEP).min(MISHEARD) };
    }

    /// Whether it is to say again what it has told.
    pub fn is_misheard(&self) -> bool {
        self.misheard >= MISHEARD
    }

    /// The link broke: keeps it down for a while, longer each time.
    pub fn hold(&mut self, now: Instant, base: Duration) {
        self.breaks = self.breaks.saturating_add(1);
        self.held_until = now + held_for(self.breaks, base);
        self.breaks = self.breaks.min(BREAKS_MAX);
    }

    /// Two boards have this id: no link to either for a while.
    pub fn shun_twins(&mut self, now: Instant, length: Duration) {
        self.is_twin = true;
        self.held_until = self.held_until.max(now + length);
    }

    /// Whether two boards with this id were heard lately.
    pub fn has_twin(&self, now: Instant) -> bool {
        self.is_twin && now < self.held_until
    }

    /// Whether it is believed to follow another leader.
    pub fn dissents(&self) -> bool {
        self.dissent >= if self.interval_log2 < SELDOM_LOG2 { DISSENT } else { DISSENT - 1 }
    }

    /// Whether it is strong enough for a link and lives in a network, but has no room.
    pub fn refuses(&self, now: Instant) -> bool {
        let is_recent = now.since(self.heard_at) < self.interval().times(3);
        self.is_refusing() && self.is_proven && is_recent
    }

    /// Whether it says so, if it is there.
    pub fn is_refusing(&self) -> bool {
        self.refusals >= REFUSED && !self.is_alone && self.quality.is_strong()
    }

    /// Whether its link broke just now because it gave no answer, and nothing was heard of it since.
    pub fn is_lost(&self, now: Instant) -> bool {
        self.breaks > 0 && self.quality.eighths() == 0 && now < self.held_until
    }

    /// Ends what is temporary: the shunning of twins, and the memory of old breaks.
    pub fn calm(&mut self, now: Instant) {
        self.is_twin &= now < self.held_until;
        if now.since(self.held_until) >= CALM {
            self.breaks = self.breaks.saturating_sub(1);
            self.held_until = self.held_until + CALM;
        }
    }

    /// Brings times to where they may lie: none of the past is after `now`, no frame is due after `latest`, and no link is held
    /// down for longer than its breaks make it. Whether there were others.
    pub fn audit(&mut self, now: Instant, latest: Instant, base: Duration) -> bool {
        let mut is_changed = false;
        let hold = if self.is_twin { HOLD_MAX } else { held_for(self.breaks, base) };
        for (time, most) in [(&mut self.heard_at, now), (&mut self.held_until, now + hold)] {
            if *time > most {
                *time = now;
                is_changed = true;
            }
        }
        for due in [&mut self.arq.due, &mut self.ack_due] {
            if *due != Instant::NEVER && *due > latest {
                *due = now;
                is_changed = true;
            }
        }
        is_changed
    }

    /// What was outstanding is acknowledged.
    pub fn settle(&mut self) {
        self.arq = Arq::IDLE;
    }
}

pub(super) fn eighths_of(interval: Duration, eighths: u8) -> Duration {
    Duration::from_micros(interval.times(u32::from(eighths)).as_micros() / 8)
}

/// How long a link is held down whose last break was this one.
fn held_for(breaks: u8, base: Duration) -> Duration {
    match breaks.checked_sub(1) {
        Some(before) => base.times(1 << u32::from(before).min(10)).min(HOLD_MAX),
        None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameNumber, Neighbour, Patience, Quality, Session};
    use crate::config::Timings;
    use crate::link::session::Incarnation;
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    #[test]
    fn every_break_holds_the_link_down_for_longer_and_calm_forgives() {
        let session = Session::new(Incarnation { epoch: 1, token: 1 });
        let mut neighbour = Neighbour::new(
            NodeId(1),
            session,
            Quality::new(0, -50),
            FrameNumber { epoch: 1, counter: 1 },
            Instant::ZERO,
        );
        let (base, mut now) = (Duration::from_millis(2_000), Instant::ZERO);
        let mut lengths = std::vec::Vec::new();
        for _ in 0..8 {
            neighbour.hold(now, base);
            lengths.push(neighbour.held_until.since(now).as_micros() / 1_000_000);
            now = neighbour.held_until;
        }
        assert_eq!(lengths, [2, 4, 8, 16, 32, 60, 60, 60]);
        for _ in 0..3 {
            now = now + Duration::from_millis(300_000);
            neighbour.calm(now);
        }
        neighbour.hold(now, base);
        assert_eq!(neighbour.held_until.since(now).as_micros(), 16_000_000);
    }

    #[test]
    fn in_a_crowd_a_lossy_neighbour_is_asked_half_an_interval_later_at_most() {
        let session = Session::new(Incarnation { epoch: 1, token: 1 });
        let number = FrameNumber { epoch: 1, counter: 1 };
        let mut steady = Neighbour::new(NodeId(1), session, Quality::new(0, -50), number, Instant::ZERO);
        let mut lossy = steady.clone();
        (1..30).for_each(|number| {
            lossy.quality.note_hello(number * 3, -50);
        });
        let patience = Patience::of(Timings::ALWAYS_ON);
        let later = [10, 12, 13].map(|log2| {
            (steady.interval_log2, lossy.interval_log2) = (log2, log2);
            lossy.suspect_at(patience).since(steady.suspect_at(patience)).as_micros() / 1_000
        });
        assert_eq!(later, [2_300, 2_300, 4_096]);
    }

    #[test]
    fn a_neighbour_whose_link_broke_is_remembered_and_named_as_lost_only_at_first() {
        let session = Session::new(Incarnation { epoch: 1, token: 1 });
        let mut neighbour = Neighbour::new(
            NodeId(1),
            session,
            Quality::new(0, -50),
            FrameNumber { epoch: 1, counter: 1 },
            Instant::ZERO,
        );
        let patience = Patience::of(Timings::ALWAYS_ON);
        assert_eq!(neighbour.forget_at(), Instant::from_millis(3_584), "three and a half intervals");
        let usual = neighbour.attempts_max(patience);
        neighbour.hold(Instant::from_millis(2_000), Duration::from_millis(2_000));
        neighbour.quality.lose();
        assert!(neighbour.is_lost(Instant::from_millis(3_999)) && !neighbour.is_lost(Instant::from_millis(4_000)));
        assert_eq!(neighbour.forget_at(), Instant::from_millis(20_000), "and with it that the link broke");
        let patient = neighbour.attempts_max(patience);
        neighbour.arq.is_doubted = true;
        let doubted = neighbour.attempts_max(patience);
        assert!(usual < doubted && doubted < patient, "less easily the next time: {usual} {doubted} {patient}");
    }
}
