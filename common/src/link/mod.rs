//! The link layer: what turns a lossy radio into channels that go up and down and deliver in order while up.
//!
//! Model: one half-duplex radio channel where frames are lost, but neither reordered nor repeated by it; whoever forges or
//! replays frames is kept out by [`security`]. [`Links`] finds neighbours by their hellos ([`trickle`], [`quality`]), agrees
//! with each on when the link between them is up ([`session`]), and carries messages over it ([`pool`], [`neighbour`]):
//! broadcast first, acknowledged by whatever the others send next, then again to those alone that are missing, and in the
//! end the link goes down. The bytes are in [`frame`] and [`body`].

pub mod body;
mod counters;
pub mod frame;
pub mod neighbour;
pub mod pool;
pub mod quality;
mod receive;
pub mod sealed;
pub mod security;
pub mod session;
pub mod table;
mod timeout;
mod transmit;
pub mod trickle;

use heapless::Vec;

use self::body::Parcel;
pub use self::counters::Counters;
use self::frame::{ACK_BYTES, Answered};
use self::neighbour::News;
use self::pool::{Pool, Slots};
use self::security::Keys;
use self::session::{Incarnation, TOKEN_MAX, Turn};
use self::table::Table;
use self::trickle::Trickle;
use crate::Full;
use crate::config::{Boot, Config, IdSource, Timings};
use crate::limits::{BUNDLE_MAX, NEIGHBOURS_MAX, RING_NAMES_MAX};
use crate::notice::{Notice, NoticeQueue, Reason};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// What happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    Up(NodeId),
    /// It went down; what was under way is lost.
    Down(NodeId, Reason),
    Message(NodeId, Parcel),
}

/// A frame that was given to the driver and is not through yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InFlight {
    Hello,
    Rel(Flight),
}

/// A frame with messages, or with a question, that neighbours may acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Flight {
    answered: Answered,
    /// Who is to acknowledge.
    to: Slots,
    /// How many answer at once.
    answers: u8,
}

/// An acknowledgement to be sent at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reply {
    bytes: [u8; ACK_BYTES],
    at: Instant,
}

#[derive(Clone, Debug)]
pub struct Links {
    id: NodeId,
    id_source: IdSource,
    device: u16,
    pan: u16,
    /// The present key with its number, and the one before it where there is one.
    keys: [Option<(u8, Keys)>; 2],
    timings: Timings,
    epoch: Option<u16>,
    /// The number of the last frame sent.
    counter: u32,
    /// The last token given out.
    token: u16,
    table: Table,
    pool: Pool,
    trickle: Trickle,
    hello_number: u8,
    /// Where in the table the names of the next hello begin, when not all fit.
    first_name: u8,
    rng: Rng,
    in_flight: Option<InFlight>,
    /// The last frame that asked for answers.
    asked: Option<Flight>,
    reply: Option<Reply>,
    /// Others are answering until then.
    quiet_until: Instant,
    /// What arrived with the last frame. The node collects it at once, so one frame's worth is enough.
    inbox: Vec<(NodeId, Parcel), BUNDLE_MAX, u8>,
    leader: NodeId,
    counters: Counters,
    notices: NoticeQueue,
    /// Another board has this node's id, and this node may take another: as soon as it has said hello once more, so that
    /// the other one learns of it, too.
    has_twin: bool,
    must_rename: bool,
    /// Hellos leave room for what ring mode tells, and name fewer neighbours.
    is_on_ring: bool,
}

impl Links {
    /// The links of a node that has not started.
    pub fn new(config: &Config, boot: Boot) -> Self {
        let former = config.former.as_ref().map(|former| (former.key_id, Keys::new(&former.protection)));
        let timings = config.timings;
        Self {
            id: config.id,
            id_source: config.id_source,
            device: boot.device,
            pan: config.pan,
            keys: [Some((config.key_id, Keys::new(&config.protection))), former],
            timings,
            epoch: boot.epoch,
            counter: 0,
            token: 0,
            table: Table::new(),
            pool: Pool::new(),
            trickle: Trickle::new(Duration::from_millis(u64::from(timings.hello_min_ms)), timings.hello_doublings),
            hello_number: 0,
            first_name: 0,
            rng: Rng::stream(boot.seed, 0x11_4B),
            in_flight: None,
            asked: None,
            reply: None,
            quiet_until: Instant::ZERO,
            inbox: Vec::new(),
            leader: NodeId(0),
            counters: Counters::default(),
            notices: NoticeQueue::new(),
            has_twin: false,
            must_rename: false,
            is_on_ring: config.ring.is_some() && config.algorithm.needs_ring(),
        }
    }

    /// As many links may be up: those that a hello can name.
    fn links_max(&self) -> usize {
        if self.is_on_ring { RING_NAMES_MAX } else { NEIGHBOURS_MAX }
    }

    /// There is something to tell in a hello.
    pub fn hurry(&mut self, now: Instant) {
        self.trickle.hurry(now, &mut self.rng);
    }

    /// Lets the next hello wait for what is more urgent.
    pub fn defer_hello(&mut self, now: Instant) {
        self.trickle.defer(now, &mut self.rng);
    }

    /// Begins to say hello.
    pub fn start(&mut self, now: Instant) {
        self.trickle.start(now, &mut self.rng);
        if self.epoch.is_none() {
            self.notices.push(Notice::EpochNeeded);
        }
    }

    /// A new epoch was stored: frames are numbered from the beginning, and every link begins anew.
    pub fn set_epoch(&mut self, now: Instant, epoch: u16) {
        self.epoch = Some(epoch);
        self.counter = 0;
        self.begin_anew(now, Reason::NewIncarnation);
    }

    /// Leaves out frame numbers up to this one, so that a test of the last ones need not send sixteen million frames.
    pub fn skip_numbers(&mut self, up_to: u32) {
        self.counter = self.counter.max(up_to);
    }

    /// Takes another id: every link begins anew.
    pub fn rename(&mut self, now: Instant, id: NodeId) {
        self.id = id;
        self.has_twin = false;
        self.must_rename = false;
        self.begin_anew(now, Reason::Renamed);
    }

    fn begin_anew(&mut self, now: Instant, reason: Reason) {
        for slot in self.table.linked_slots().iter() {
            self.take_down(now, slot, reason);
        }
        let epoch = self.epoch.unwrap_or(0);
        for slot in 0..crate::limits::TABLE_MAX {
            let token = self.next_token();
            if let Some(neighbour) = self.table.get_mut(slot) {
                neighbour.session = session::Session::new(Incarnation { epoch, token });
                self.token = token;
            }
        }
        self.trickle.start(now, &mut self.rng);
    }

    /// The leader that hellos name.
    pub fn set_leader(&mut self, leader: Option<NodeId>) {
        self.leader = leader.unwrap_or(NodeId(0));
    }

    /// Links to these neighbours are not given up to make room for others.
    pub fn pin(&mut self, is_pinned: impl Fn(NodeId) -> bool) {
        self.table.pin(is_pinned);
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The number of this boot.
    pub fn epoch(&self) -> Option<u16> {
        self.epoch
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What has happened since the boot.
    pub fn counters(&self) -> Counters {
        Counters { pool_high_water: self.pool.high_water(), ..self.counters }
    }

    /// Whether another board has this node's id and this one may take another.
    pub fn must_rename(&self) -> bool {
        self.must_rename
    }

    /// The oldest notice not yet collected.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop()
    }

    /// The next thing that happened on a link: what went down, then what came up, then messages.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        if self.table.has_turned
            && let Some(event) = self.poll_turn()
        {
            return Some(event);
        }
        self.table.has_turned = false;
        let is_message = !self.inbox.is_empty();
        is_message.then(|| {
            let (from, message) = self.inbox.remove(0);
            LinkEvent::Message(from, message)
        })
    }

    fn poll_turn(&mut self) -> Option<LinkEvent> {
        let fallen = self.table.iter_mut().find_map(|(_, neighbour)| Some((neighbour.id, neighbour.news.down.take()?)));
        if let Some((id, reason)) = fallen {
            return Some(LinkEvent::Down(id, reason));
        }
        let (_, neighbour) = self.table.iter_mut().find(|(_, neighbour)| neighbour.news.up)?;
        neighbour.news.up = false;
        Some(LinkEvent::Up(neighbour.id))
    }

    /// Whether [`poll_event`](Self::poll_event), [`must_rename`](Self::must_rename) or
    /// [`poll_notice`](Self::poll_notice) have anything to tell.
    pub fn has_news(&self) -> bool {
        let is_told = |neighbour: &neighbour::Neighbour| !neighbour.news.up && neighbour.news.down.is_none();
        let is_quiet = self.inbox.is_empty() && self.notices.is_empty() && !self.must_rename;
        !is_quiet || self.table.has_turned && self.table.iter().any(|(_, neighbour)| !is_told(neighbour))
    }

    /// Sends a message to neighbours whose link is up; the others in `to` are passed over. Where the pool is full, the
    /// slowest neighbour's link goes down, since a link may not skip a message.
    pub fn send(
        &mut self,
        now: Instant,
        to: impl Fn(NodeId) -> bool,
        message: &[u8],
        is_latest_value: bool,
    ) -> Result<(), Full> {
        let parcel = Parcel::from_slice(message).map_err(|_| Full)?;
        let wanted = self.table.linked().filter(|(_, neighbour)| to(neighbour.id));
        let mut set = wanted.fold(Slots::default(), |set, (slot, _)| set.with(Slots::of(slot)));
        if is_latest_value {
            set.iter().for_each(|slot| self.replace_states(slot));
        }
        while self.pool.is_full() {
            let linked = self.table.linked_slots();
            let Some(slowest) = linked.iter().max_by_key(|&slot| self.pool.count(slot)) else { break };
            self.take_down(now, slowest, Reason::Overrun);
            set = set.without(Slots::of(slowest));
        }
        if set.is_empty() {
            return Ok(());
        }
        self.pool.add(parcel, set, is_latest_value)?;
        for slot in set.iter() {
            if let Some(neighbour) = self.table.get_mut(slot)
                && !neighbour.arq.is_busy()
            {
                neighbour.arq.due = now;
            }
        }
        Ok(())
    }

    /// Takes older states for a neighbour out, one that was sent and is not acknowledged included: whether it arrived does
    /// not matter any more, and all neighbours are to get the same one again.
    fn replace_states(&mut self, slot: usize) {
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        let sent = neighbour.arq.outstanding;
        if sent == 0 || !self.pool.are_states(slot, sent) {
            self.pool.replace_older(slot, sent);
            return;
        }
        neighbour.session.skip(sent);
        neighbour.arq.outstanding = 0;
        self.pool.delivered(slot, sent);
        self.pool.replace_older(slot, 0);
        self.no_longer_asked(slot);
    }

    /// An answer that still comes from a neighbour is not about what it is now to get.
    fn no_longer_asked(&mut self, slot: usize) {
        let gone = Slots::of(slot);
        if let Some(InFlight::Rel(flight)) = &mut self.in_flight {
            flight.to = flight.to.without(gone);
        }
        if let Some(asked) = &mut self.asked {
            asked.to = asked.to.without(gone);
        }
    }

    /// Others answer each other until then.
    pub fn quiet_until(&self) -> Instant {
        self.quiet_until
    }

    /// How many more messages the pool has room for.
    pub fn room(&self) -> usize {
        self.pool.room()
    }

    /// How many messages a neighbour is still to get.
    pub fn waiting_for(&self, peer: NodeId) -> usize {
        self.table.find(peer).map_or(0, |slot| self.pool.count(slot))
    }

    pub fn end(&mut self, now: Instant, peer: NodeId, reason: Reason) {
        if let Some(slot) = self.table.find(peer) {
            self.take_down(now, slot, reason);
        }
    }

    /// The token that is given out next.
    fn next_token(&self) -> u16 {
        if self.token >= TOKEN_MAX { 1 } else { self.token + 1 }
    }

    fn fresh_token(&mut self) -> u16 {
        self.token = self.next_token();
        self.token
    }

    /// Takes a link down with everything that follows from it.
    fn take_down(&mut self, now: Instant, slot: usize, reason: Reason) {
        let token = self.next_token();
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        if neighbour.session.is_up() {
            neighbour.session.down(token);
            self.token = token;
            self.fell(now, slot, reason);
        }
    }

    /// A session has gone down: what was to be sent over it is forgotten, and others are told soon.
    fn fell(&mut self, now: Instant, slot: usize, reason: Reason) {
        let base = Duration::from_millis(u64::from(self.timings.hold_down_ms));
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        neighbour.quieten();
        // A link that never was told of need not be taken back.
        match core::mem::take(&mut neighbour.news) {
            News { up: true, down } => neighbour.news.down = down,
            News { up: false, down } => neighbour.news.down = down.or(Some(reason)),
        }
        if matches!(
            reason,
            Reason::Unacknowledged | Reason::Silent | Reason::Quality | Reason::Overrun | Reason::MadeRoom
        ) {
            neighbour.hold(now, base);
        }
        if matches!(reason, Reason::Unacknowledged | Reason::Silent) {
            neighbour.quality.lose();
        }
        // The other end has given the link up and holds it down; this one is to be as patient next time.
        if matches!(reason, Reason::NewIncarnation | Reason::NoSession) {
            neighbour.breaks = neighbour.breaks.saturating_add(1).min(neighbour::BREAKS_MAX);
        }
        let id = neighbour.id;
        // What arrived over it belongs to an interval that is over.
        self.inbox.retain(|(from, _)| *from != id);
        self.table.note_link(slot);
        self.pool.forget(slot);
        self.no_longer_asked(slot);
        self.counters.links_down = self.counters.links_down.saturating_add(1);
        self.trickle.reset(now, &mut self.rng);
    }

    fn turned(&mut self, now: Instant, slot: usize, turn: Turn) {
        match turn {
            Turn::Stays => {}
            Turn::Down(reason) => self.fell(now, slot, reason),
            Turn::Up => {
                if let Some(neighbour) = self.table.get_mut(slot) {
                    neighbour.news.up = true;
                    neighbour.unlisted = 0;
                    neighbour.quality.begin();
                }
                self.table.note_link(slot);
                self.counters.links_up = self.counters.links_up.saturating_add(1);
                self.make_room(now, slot);
                self.trickle.reset(now, &mut self.rng);
            }
        }
    }

    /// One link more than the protocol has room for: the one that can best be spared goes.
    fn make_room(&mut self, now: Instant, newest: usize) {
        if self.table.links() <= self.links_max() {
            return;
        }
        let victim = self.table.redundant().filter(|&slot| slot != newest).unwrap_or(newest);
        self.take_down(now, victim, Reason::MadeRoom);
    }
}

fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
