//! Collection: what boards measure reaches the leader's log, each block once, whatever fails on the way.
//!
//! Model: links come and go, leaders die, boards lose their power at any moment; flash keeps what was stored. Frames are lost and
//! repeated. Nobody forges them (see `docs/security.md`).
//!
//! A node's samples become blocks ([`block`]), which its driver stores. The node keeps custody of them ([`origin`]) until a leader
//! says that it has them in its log. Frames with blocks go from neighbour to neighbour towards the leader ([`ways`], [`queue`]);
//! the leader logs what it has not logged before ([`marks`]) and sends commits back the way the blocks came ([`commits`]). Relays
//! keep copies in memory only and promise nothing. The bytes are in [`wire`], and all of it for readers in `docs/collection.md`.
//!
//! DATA frames have a queue and retries of their own. They wait for everything the election has to send, they rest after a change
//! of leader, and nothing that happens to them ends a link or changes what is thought of it.

pub mod block;
mod commits;
mod compose;
pub mod log_entry;
mod marks;
pub mod origin;
mod queue;
pub mod ways;
pub mod wire;

use self::block::Sample;
use self::commits::Commits;
pub use self::compose::Answer;
use self::compose::Sending;
use self::log_entry::{Contents, LogEntry};
use self::marks::{Marks, Standing};
use self::origin::{Origin, Recovered, Wanted};
use self::queue::Queue;
use self::ways::Learned;
use self::wire::{AGE_UNKNOWN, BODY_MAX, Body, CommitBytes, Gap, Key, Records};
use crate::config::Boot;
use crate::data::block::BlockBytes;
use crate::limits::BLOCK_MAX;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// Hops that a frame may take: more than any way to a leader has. Ways are free of loops but for the moment of a change.
const HOPS_MAX: u8 = 24;

/// How long data rests after a change of leader, and up to half as long again.
const REST_MS: u32 = 1_000;

/// How long a leader waits for more commits that go the same way.
const GATHER: Duration = Duration::from_millis(600);

/// How long a relay waits for more of them.
const GATHER_RELAY: Duration = Duration::from_millis(40);

/// What the driver is to do with its flash. It does one thing at a time and says what came of it with
/// [`Done`] before it asks for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Store the block in the buffer under this number, together with `base`.
    Store { number: u32, base: u32, length: usize },
    /// Read a block back.
    Fetch { number: u32 },
    /// Append the entry in the buffer to the log. It is not lost, not even with the power, once the driver says that it is done.
    Log { length: usize },
    /// Blocks before this one may be overwritten. Nothing is to be said about it.
    Release { base: u32 },
}

/// What came of a chore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done<'b> {
    Stored(bool),
    /// The block; none where it is not there or was damaged.
    Fetched(Option<&'b [u8]>),
    /// Whether it is in the log. One that is not is not committed, and its origin sends it again.
    Logged(bool),
}

/// What has happened since the boot.
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
    /// Commits that were dropped.
    pub commits_dropped: u32,
    /// Samples of this node that could not be stored.
    pub unstored: u32,
    /// The most frames that ever waited.
    pub queue_high_water: u8,
}

/// What a node makes of a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// There is no room; the sender is to wait.
    NotTaken,
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Storing,
    Fetching(u32),
    Logging(Key),
}

/// What a relay needs of a frame on its way up.
#[derive(Clone, Copy, Debug)]
struct Upward {
    key: Key,
    turn: u8,
    hops_left: u8,
    /// Of a gap, the first block behind it.
    gap_end: Option<u32>,
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
    sending: Sending,
    doing: Doing,
    leader: Option<NodeId>,
    /// Whether this node has no link, and leads only itself: it keeps its blocks for a network.
    is_alone: bool,
    /// Nothing is sent before, because the leader has just changed.
    rest_until: Instant,
    /// Nothing is sent before, so that the neighbour can pass on what it was sent last.
    pause_until: Instant,
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
            sending: Sending::Nothing,
            doing: Doing::Nothing,
            leader: None,
            is_alone: true,
            rest_until: Instant::ZERO,
            pause_until: Instant::ZERO,
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
    pub fn set_every(&mut self, every: Duration) {
        self.origin.set_every(every);
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
        }
    }

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
        self.origin.closing().min(to_queue)
    }

    /// When a frame is to be sent.
    pub fn due_to_send(&self) -> Instant {
        if !self.is_gathering() || self.sending != Sending::Nothing {
            return Instant::NEVER;
        }
        let waits = |queued: &&queue::Queued| !queued.is_logging && !self.leads();
        let frames = self.queue.iter().filter(waits).map(|queued| queued.due).min().unwrap_or(Instant::NEVER);
        let first = frames.min(self.commits.due());
        if first == Instant::NEVER { first } else { first.max(self.rest_until).max(self.pause_until) }
    }

    /// The next thing that the driver is to do with its flash, with what it needs in `buf`.
    pub fn poll_chore(&mut self, now: Instant, buf: &mut [u8; log_entry::ENTRY_MAX]) -> Option<Chore> {
        if self.doing != Doing::Nothing {
            return None;
        }
        self.tick(now);
        if let Some(base) = self.origin.take_release() {
            return Some(Chore::Release { base });
        }
        if let Some(chore) = self.log_chore(now, buf) {
            return Some(chore);
        }
        let base = self.origin.base;
        if let Some((number, block)) = self.origin.to_store() {
            let length = block.bytes().len();
            buf.get_mut(..length)?.copy_from_slice(block.bytes());
            self.doing = Doing::Storing;
            return Some(Chore::Store { number, base, length });
        }
        if !self.is_gathering() || now < self.rest_until {
            return None;
        }
        let Some(Wanted::Block(number)) = self.origin.wanted(now) else { return None };
        self.doing = Doing::Fetching(number);
        Some(Chore::Fetch { number })
    }

    fn log_chore(&mut self, now: Instant, buf: &mut [u8; log_entry::ENTRY_MAX]) -> Option<Chore> {
        if !self.leads() {
            return None;
        }
        let epoch = self.epoch?;
        let key = self.queue.iter().find(|queued| !queued.is_logging)?.key;
        let queued = self.queue.find(key)?;
        queued.is_logging = true;
        let (contents, age) = match Body::read(&queued.body)? {
            Body::Records(records) => (Contents::Block(records.block), older(records.age, now.since(queued.since))),
            Body::Gap(gap) => (Contents::Gap { end: gap.end }, AGE_UNKNOWN),
            Body::Commit(_) => return None,
        };
        let entry = LogEntry { key, epoch, clock_ms: now.as_millis(), age, contents };
        let length = entry.write(buf).ok()?;
        self.doing = Doing::Logging(key);
        Some(Chore::Log { length })
    }

    /// The driver has done what it was told to.
    pub fn done(&mut self, now: Instant, done: Done<'_>) {
        let doing = core::mem::replace(&mut self.doing, Doing::Nothing);
        match (doing, done) {
            (Doing::Storing, Done::Stored(is_stored)) => self.origin.stored(is_stored),
            (Doing::Fetching(number), Done::Fetched(Some(block))) => self.queue_block(now, number, block),
            (Doing::Fetching(number), Done::Fetched(None)) => self.origin.unreadable(now, number),
            (Doing::Logging(key), Done::Logged(is_logged)) => self.logged(now, key, is_logged),
            // The driver speaks of something that it was not asked for.
            (doing, _) => self.doing = doing,
        }
    }

    /// The store had to overwrite blocks: it has none before this one any more.
    pub fn overwritten(&mut self, oldest: u32) {
        self.origin.overwritten(oldest);
    }

    fn own_key(&self, number: u32) -> Key {
        Key { origin: self.id, store: self.origin.store().unwrap_or(0), number }
    }

    fn queue_block(&mut self, now: Instant, number: u32, block: &[u8]) {
        let Some(read) = BlockBytes::read(block) else {
            self.origin.unreadable(now, number);
            return;
        };
        let age = if Some(read.epoch) == self.epoch {
            u32::try_from(now.as_millis().saturating_sub(read.clock_ms) / 10).unwrap_or(AGE_UNKNOWN)
        } else {
            AGE_UNKNOWN
        };
        let turn = self.origin.turn(number);
        let records = Records { turn, hops_left: HOPS_MAX, key: self.own_key(number), age, block };
        self.queue_own(now, number, turn, |buf| records.write(buf).ok());
    }

    fn queue_gap(&mut self, now: Instant, first: u32, end: u32) {
        let turn = self.origin.turn(first);
        let gap = Gap { turn, hops_left: HOPS_MAX, key: self.own_key(first), end };
        self.queue_own(now, first, turn, |buf| gap.write(buf).ok());
    }

    fn queue_own(&mut self, now: Instant, number: u32, turn: u8, write: impl FnOnce(&mut [u8]) -> Option<usize>) {
        let mut body = [0; BODY_MAX];
        let length = write(&mut body).unwrap_or(0);
        let body = body.get(..length).unwrap_or(&[]);
        if !body.is_empty() && self.queue.add(now, self.own_key(number), turn, true, body).is_ok() {
            self.origin.queued(number);
        } else {
            let wait = u64::from(100 + self.rng.below(200));
            self.origin.postpone(number, now + Duration::from_millis(wait));
            self.origin.slow_down();
        }
    }

    fn logged(&mut self, now: Instant, key: Key, is_logged: bool) {
        let Some(queued) = self.queue.remove(key) else { return };
        if queued.is_own {
            self.origin.left(now, key.number, &mut self.rng);
        }
        if !is_logged {
            return;
        }
        count(&mut self.counters.logged);
        let commit = match Body::read(&queued.body) {
            Some(Body::Gap(gap)) if self.marks.note_gap(key, gap.end).is_ok() => gap_commit(key, gap.end),
            Some(Body::Records(_)) if self.marks.note(key).is_ok() => self.marks.commit(key),
            _ => return,
        };
        self.tell(now, commit, GATHER);
    }

    /// Lets an origin know that something of it is logged.
    fn tell(&mut self, now: Instant, commit: wire::Commit, wait: Duration) {
        if commit.key.origin == self.id {
            self.origin.commit(commit);
        } else {
            self.commits.add(commit, self.id, HOPS_MAX, now + wait);
        }
    }

    /// A linked neighbour has sent a DATA frame.
    pub fn receive(&mut self, now: Instant, from: NodeId, body: &[u8]) -> Verdict {
        let verdict = match Body::read(body) {
            Some(Body::Records(Records { turn, hops_left, key, .. })) => {
                self.receive_up(now, from, Upward { key, turn, hops_left, gap_end: None }, body)
            }
            Some(Body::Gap(Gap { turn, hops_left, key, end })) => {
                self.receive_up(now, from, Upward { key, turn, hops_left, gap_end: Some(end) }, body)
            }
            Some(Body::Commit(commits)) => {
                self.receive_commits(now, commits);
                Verdict::Taken
            }
            None => Verdict::Malformed,
        };
        match verdict {
            Verdict::Taken => count(&mut self.counters.taken),
            Verdict::NotTaken => count(&mut self.counters.not_taken),
            Verdict::Malformed => {}
        }
        verdict
    }

    fn receive_up(&mut self, now: Instant, from: NodeId, upward: Upward, body: &[u8]) -> Verdict {
        let Upward { key, turn, hops_left, gap_end } = upward;
        if key.origin == self.id {
            // It went in a circle. Its origin has it anyway.
            return Verdict::Taken;
        }
        self.learned.learn(now, key.origin, from);
        if self.queue.has(key, turn) {
            return Verdict::Taken;
        }
        let Some(hops_left) = hops_left.checked_sub(1) else {
            count(&mut self.counters.dropped);
            return Verdict::Taken;
        };
        if self.leads() {
            // Of a gap the last block decides: it is settled once the gap is.
            match self.marks.standing(key.with(gap_end.map_or(key.number, |end| end - 1))) {
                Standing::New => {}
                Standing::Settled => {
                    count(&mut self.counters.repeated);
                    let commit = gap_end.map_or_else(|| self.marks.commit(key), |end| gap_commit(key, end));
                    self.tell(now, commit, Duration::ZERO);
                    return Verdict::Taken;
                }
                Standing::Refused => {
                    count(&mut self.counters.refused);
                    return Verdict::NotTaken;
                }
            }
        }
        let mut copy = [0; BODY_MAX];
        let Some(copied) = copy.get_mut(..body.len()) else { return Verdict::Malformed };
        copied.copy_from_slice(body);
        if let Some(hops) = copied.get_mut(1) {
            *hops = hops_left;
        }
        if self.queue.add(now, key, turn, false, copied).is_ok() { Verdict::Taken } else { Verdict::NotTaken }
    }

    fn receive_commits(&mut self, now: Instant, commits: CommitBytes<'_>) {
        for commit in commits.iter() {
            if commit.key.origin == self.id {
                self.origin.commit(commit);
            } else if let Some(hops_left) = commits.hops_left.checked_sub(1) {
                self.commits.add(commit, commits.leader, hops_left, now + GATHER_RELAY);
            }
        }
    }
}

const fn gap_commit(key: Key, end: u32) -> wire::Commit {
    wire::Commit { key: key.with(end), bits: 0 }
}

/// An age, after more time.
fn older(age: u32, by: Duration) -> u32 {
    let more = u32::try_from(by.as_micros() / 10_000).unwrap_or(AGE_UNKNOWN);
    if age == AGE_UNKNOWN { age } else { age.saturating_add(more).min(AGE_UNKNOWN) }
}

fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

const _: () = assert!(log_entry::ENTRY_MAX >= BLOCK_MAX);
