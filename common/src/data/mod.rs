//! Collection: what boards measure reaches the leader's log, each block once, whatever fails on the way.
//!
//! Model: links come and go, leaders die, boards lose power at any moment; flash keeps what was stored. Frames are lost
//! and repeated, but not forged (see `docs/security.md`).
//!
//! A node's samples become blocks ([`block`]), which its driver stores. The node keeps custody of them ([`origin`]) until a leader
//! says that it has them in its log. Frames with blocks go from neighbour to neighbour towards the leader ([`ways`], `queue`);
//! the leader logs what it has not logged before (`marks`) and sends commits back the way the blocks came (`commits`). Relays
//! keep copies in memory only and promise nothing. Questions to everybody, and their answers, go the same way (`questions`). The
//! bytes are in [`wire`], and `docs/collection.md` describes all of it.
//!
//! DATA frames have a queue and retries of their own. They wait for everything that the election has to send and pause
//! after a change of leader. Nothing that happens to them ends a link or counts towards its quality.

pub mod again;
mod asking;
mod audit;
pub mod block;
mod chores;
mod commits;
mod compose;
mod copies;
pub mod log_entry;
mod marks;
pub mod origin;
mod questions;
mod queue;
mod receive;
pub mod ways;
pub mod wire;

use self::block::Sample;
pub use self::chores::{Chore, Done};
use self::commits::Commits;
pub use self::compose::Answer;
use self::compose::Sending;
use self::copies::Reader;
use self::log_entry::{Contents, LogEntry};
use self::marks::Marks;
use self::origin::{Origin, Recovered, Wanted};
use self::questions::Questions;
use self::queue::Queue;
pub use self::receive::Verdict;
use self::ways::Learned;
use self::wire::{AGE_UNKNOWN, Key};
use crate::config::Boot;
use crate::limits::BLOCK_MAX;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How many hops a frame may take: more than any way to a leader has. It bounds loops, which exist only for a moment
/// while ways change.
const HOPS_MAX: u8 = 24;

/// How long to wait before retrying an answer that found no room in the queue.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long data pauses after a change of leader, plus a random part of up to half as long again.
const REST_MS: u32 = 1_000;

/// How long a leader waits for more commits that go the same way, to send them in one frame.
const GATHER: Duration = Duration::from_millis(600);

/// Counters since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// DATA frames sent, repeated ones included.
    pub sent: u32,
    /// Frames taken from neighbours.
    pub taken: u32,
    /// Frames not taken for want of room.
    pub not_taken: u32,
    /// Frames that got no answer.
    pub missed: u32,
    /// Frames of others that were given up: too many hops or misses. Their origins send them again.
    pub dropped: u32,
    /// Blocks that the driver has logged.
    pub logged: u32,
    /// Blocks that came again after they were logged.
    pub repeated: u32,
    /// Blocks of origins that there was no room for.
    pub refused: u32,
    /// Copies for a reader that were dropped.
    pub copies_lost: u32,
    /// Commits that were dropped.
    pub commits_dropped: u32,
    /// Samples of this node that could not be stored.
    pub unstored: u32,
    /// The most frames that ever waited.
    pub queue_high_water: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Storing,
    Fetching(u32),
    /// Reading a block that was asked for again.
    Giving(u32),
    Logging(Key),
}

#[derive(Clone, Debug)]
pub struct Data {
    id: NodeId,
    epoch: Option<u16>,
    origin: Origin,
    queue: Queue,
    marks: Marks,
    learned: Learned,
    commits: Commits,
    questions: Questions,
    reader: Reader,
    /// An answer that this node owes is not tried before: there was no room, or its block is being read.
    owes_at: Instant,
    sending: Sending,
    doing: Doing,
    leader: Option<NodeId>,
    /// Whether this node has no link, and leads only itself: it keeps its blocks for a network.
    is_alone: bool,
    /// Nothing is sent before, because the leader has just changed.
    rest_until: Instant,
    /// Nothing is sent before, so that the neighbour can pass on what it was sent last.
    pause_until: Instant,
    /// How long that takes, at least.
    pause_us: u32,
    /// A neighbour that answers no frame any more, for the links.
    doubted: Option<NodeId>,
    rng: Rng,
    counters: Counters,
}

impl Data {
    #[inline(never)]
    pub fn new(id: NodeId, boot: Boot) -> Self {
        Self {
            id,
            epoch: boot.epoch,
            origin: Origin::new(),
            queue: Queue::new(),
            marks: Marks::new(),
            learned: Learned::new(),
            commits: Commits::new(),
            questions: Questions::new(),
            reader: Reader::NOBODY,
            owes_at: Instant::ZERO,
            sending: Sending::Nothing,
            doing: Doing::Nothing,
            leader: None,
            is_alone: true,
            rest_until: Instant::ZERO,
            pause_until: Instant::ZERO,
            pause_us: compose::PAUSE_US,
            doubted: None,
            rng: Rng::stream(boot.seed, 0xDA7A),
            counters: Counters::default(),
        }
    }

    /// What the driver has found in its store; nothing is gathered before this.
    pub fn recover(&mut self, recovered: Recovered) {
        self.origin.recover(recovered);
    }

    /// An entry of this node's log, as found after a boot.
    pub fn recover_log(&mut self, entry: &LogEntry<'_>) {
        let noted = match entry.contents {
            Contents::Block(_) => self.marks.note(entry.key),
            Contents::Gap { end } => self.marks.note_gap(entry.key, end),
        };
        if noted.is_err() {
            self.counters.refused = self.counters.refused.saturating_add(1);
        }
    }

    /// A block is closed after this time, at the latest.
    pub fn set_every(&mut self, now: Instant, every: Duration) {
        self.origin.set_every(now, every);
    }

    pub fn set_identity(&mut self, id: NodeId, epoch: Option<u16>) {
        self.id = id;
        self.epoch = epoch;
    }

    /// Whom this node follows, and whether it has any link.
    pub fn follow(&mut self, now: Instant, leader: Option<NodeId>, is_alone: bool) {
        self.is_alone = is_alone;
        if leader != self.leader {
            self.leader = leader;
            let rest = u64::from(REST_MS + self.rng.below(REST_MS / 2));
            self.rest_until = now + Duration::from_millis(rest);
            self.origin.begin_again(self.rest_until);
            self.queue.drop_others();
            if self.reads(now) {
                // The new leader does not know yet that somebody reads here.
                self.origin.close_by(now);
            }
        }
    }

    // Smaller on a board by itself than within its caller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn sample(&mut self, now: Instant, sample: Sample) {
        let epoch = self.epoch.unwrap_or(0);
        self.origin.sample(now, epoch, sample, &mut self.rng);
    }

    pub fn counters(&self) -> Counters {
        Counters {
            commits_dropped: self.commits.dropped,
            unstored: self.origin.unstored,
            queue_high_water: self.queue.high_water(),
            ..self.counters
        }
    }

    /// The first own block that is not committed, and the next one to be stored.
    pub fn custody(&self) -> core::ops::Range<u32> {
        self.origin.base..self.origin.next
    }

    /// A neighbour that answers no frame any more, once.
    pub fn take_doubted(&mut self) -> Option<NodeId> {
        self.doubted.take()
    }

    fn leads(&self) -> bool {
        self.leader == Some(self.id) && !self.is_alone
    }

    fn is_gathering(&self) -> bool {
        self.leader.is_some() && !self.is_alone
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) {
        self.origin.tick(now);
        if self.doing == Doing::Nothing
            && self.is_gathering()
            && now >= self.rest_until
            && let Some(Wanted::Gap { first, end }) = self.origin.wanted(now)
        {
            self.queue_gap(now, first, end);
        }
    }

    /// When [`tick`](Self::tick) and [`poll_chore`](Self::poll_chore) are next wanted.
    pub fn due(&self) -> Instant {
        // A chore that is under way ends with a call of its own.
        let is_waiting = self.is_gathering() && self.doing == Doing::Nothing;
        let to_queue = if is_waiting { self.origin.due().max(self.rest_until) } else { Instant::NEVER };
        self.origin.closing().min(to_queue).min(self.asked_at())
    }

    /// Whether a frame that waits is for who asked, here.
    fn is_mine(&self, key: Key) -> bool {
        key.answers().is_some_and(|(asker, _)| asker == self.id)
    }

    /// Whether a frame that waits may be sent: blocks to a leader that is another node, answers to whoever asked.
    fn is_to_send(&self, queued: &queue::Queued) -> bool {
        match queued.key.answers() {
            Some((asker, _)) => asker != self.id,
            None if queued.key.is_copy() => !self.is_reader(),
            None => !queued.is_logging && self.is_gathering() && !self.leads(),
        }
    }

    /// When a frame is to be sent.
    pub fn due_to_send(&self) -> Instant {
        if self.is_alone || self.sending != Sending::Nothing {
            return Instant::NEVER;
        }
        let waiting = self.queue.iter().filter(|queued| self.is_to_send(queued));
        let frames = waiting.map(|queued| queued.due).min().unwrap_or(Instant::NEVER);
        let commits = if self.is_gathering() { self.commits.due() } else { Instant::NEVER };
        let first = frames.min(commits).min(self.questions.due());
        if first == Instant::NEVER { first } else { first.max(self.rest_until).max(self.pause_until) }
    }
}

const fn gap_commit(key: Key, end: u32) -> wire::Commit {
    wire::Commit { key: key.with(end), bits: 0 }
}

/// Adds elapsed time to an age.
fn older(age: u32, by: Duration) -> u32 {
    let more = u32::try_from(by.as_micros() / 10_000).unwrap_or(AGE_UNKNOWN);
    if age == AGE_UNKNOWN { age } else { age.saturating_add(more).min(AGE_UNKNOWN) }
}

#[cfg_attr(target_os = "none", inline(never))]
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

const _: () = assert!(log_entry::ENTRY_MAX >= BLOCK_MAX);
