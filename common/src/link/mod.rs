//! The link layer: what turns a lossy radio into channels that go up and down and deliver in order while up.
//!
//! Model: one half-duplex radio channel that loses frames, but neither reorders nor repeats them; [`security`] keeps out
//! forged and replayed ones. [`Links`] finds neighbours by their hellos ([`trickle`], [`quality`]), agrees with each on when
//! the link between them is up ([`session`]), and carries messages over it ([`pool`], [`neighbour`]). A message is
//! broadcast first, and the others acknowledge it with whatever they send next. Those that did not are sent it again, alone;
//! if they still do not acknowledge it, their link goes down. The bytes are in [`frame`] and [`body`].

pub mod arq;
mod audit;
mod beat;
pub mod body;
#[cfg(feature = "corruption")]
mod corruption;
mod counters;
mod crowd;
pub mod data;
pub mod digest;
mod exchange;
pub mod fields;
mod forgotten;
pub mod frame;
mod hellos;
mod life;
mod load;
pub mod neighbour;
mod numbering;
pub mod patience;
pub mod pool;
pub mod quality;
mod receive;
mod receive_hello;
pub mod sealed;
pub mod security;
pub mod session;
pub mod table;
mod timeout;
mod transmit;
pub mod trickle;
mod turns;
mod twins;
mod watched;

use self::body::Parcel;
pub use self::counters::Counters;
use self::crowd::Crowd;
pub use self::crowd::SLOWER_MAX;
use self::data::DataExchange;
use self::exchange::Exchange;
use self::forgotten::Forgotten;
use self::frame::Status;
use self::hellos::Hellos;
use self::life::Life;
pub use self::life::SUCCESSORS;
use self::load::Load;
use self::numbering::Numbering;
use self::patience::Patience;
use self::pool::{Slot, Slots};
use self::receive::Others;
use self::session::{Incarnation, Session, Tokens};
use self::table::{Table, those_beside};
use self::twins::Twins;
use crate::Full;
use crate::config::{Boot, Config};
use crate::notice::{Notice, NoticeQueue, Reason};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// A neighbour that was met is challenged within this time, so that others who are met meanwhile are challenged with it.
const CHALLENGE_DELAY_US: u32 = 16_000;

/// What happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    Up(NodeId),
    /// Messages that were not acknowledged yet are lost.
    Down(NodeId, Reason),
    Message(NodeId, Parcel),
}

/// What the links ask of the layer above them.
pub trait Above {
    /// The leader that this node follows; 0 is nobody.
    fn leader(&self) -> NodeId;

    /// A number that stands for what this node has told all its neighbours; none where there is nothing to compare.
    fn told(&self) -> Option<u32> {
        None
    }

    /// The same number of what this linked neighbour has told.
    fn heard(&self, _from: NodeId) -> Option<u32> {
        None
    }

    /// A neighbour's hello tells this of the ring. Of nodes without a slot in the table nothing is told: they may be replayed.
    fn receive_hello(&mut self, _from: NodeId, _told: &[u8]) {}

    /// Writes what a hello of this node tells of the ring; returns how many bytes that took.
    fn tell(&mut self, _room: &mut [u8]) -> usize {
        0
    }

    /// Writes the body of the next DATA frame that is due; whom it is for, and its length.
    fn compose_data(&mut self, _room: &mut [u8]) -> Option<(NodeId, usize)> {
        None
    }

    /// A linked neighbour's DATA frame; none where it makes no sense, or what to answer.
    fn receive_data(&mut self, _from: NodeId, _body: &[u8]) -> Option<Status> {
        None
    }
}

/// How long what can wait is not repeated: an election has passed by then.
const LAZY: Duration = Duration::from_millis(300);

/// It waits so for the first attempts only: whoever does not answer then may be gone.
const LAZY_ATTEMPTS: u8 = 2;

#[derive(Clone, Debug)]
pub struct Links {
    numbering: Numbering,
    twins: Twins,
    crowd: Crowd,
    life: Life,
    hellos: Hellos,
    table: Table,
    forgotten: Forgotten,
    tokens: Tokens,
    exchange: Exchange,
    data: DataExchange,
    /// No DATA frame before.
    data_from: Instant,
    load: Load,
    others: Others,
    patience: Patience,
    rng: Rng,
    counters: Counters,
    notices: NoticeQueue,
}

impl Links {
    /// The links of a node that has not started.
    #[inline(never)]
    pub fn new(config: &Config, boot: Boot) -> Self {
        Self {
            numbering: Numbering::new(config, boot),
            twins: Twins::new(config, boot),
            crowd: Crowd::new(config.timings.hello_max()),
            life: Life::new(config.timings.hello_min()),
            table: Table::new(those_beside(config)),
            hellos: Hellos::new(config),
            forgotten: Forgotten::new(),
            tokens: Tokens::default(),
            exchange: Exchange::new(),
            data: DataExchange::Idle,
            data_from: Instant::ZERO,
            load: Load::new(),
            others: Others::NONE,
            patience: Patience::of(config.timings),
            rng: Rng::stream(boot.seed, 0x11_4B),
            counters: Counters::default(),
            notices: NoticeQueue::new(),
        }
    }

    /// Lets the next hello come soon, because there is something to tell.
    pub fn hurry(&mut self, now: Instant) {
        self.hellos.trickle.hurry(now, self.load.pause(now), &mut self.rng);
    }

    /// The least time between hurried hellos, which grows as the channel fills.
    pub fn pace(&self, now: Instant) -> Duration {
        self.load.pause(now)
    }

    /// Lets the next hello wait for what is more urgent.
    pub fn defer_hello(&mut self, now: Instant) {
        self.hellos.trickle.defer(now, &mut self.rng);
    }

    pub fn start(&mut self, now: Instant) {
        self.hellos.trickle.start(now, &mut self.rng);
        if self.epoch().is_none() {
            self.notices.push(Notice::EpochNeeded);
        }
    }

    /// A new epoch was stored: frames are numbered from the beginning, and every link begins anew.
    pub fn set_epoch(&mut self, now: Instant, epoch: u16) {
        self.numbering.set_epoch(epoch);
        self.tokens = Tokens::default();
        self.begin_anew(now, Reason::NewIncarnation);
    }

    /// Skips frame numbers up to this one, so that a test of the last ones need not send sixteen million frames.
    pub fn skip_numbers(&mut self, up_to: u32) {
        self.numbering.skip(up_to);
    }

    /// Takes another id: every link begins anew.
    pub fn rename(&mut self, now: Instant, id: NodeId) {
        self.numbering.set_id(id);
        self.twins.renamed();
        self.begin_anew(now, Reason::Renamed);
    }

    /// Begins every link anew, because the election does.
    pub fn restart(&mut self, now: Instant) {
        self.begin_anew(now, Reason::AtOdds);
    }

    /// Whether a linked neighbour is believed to follow another leader.
    pub fn is_at_odds(&self) -> bool {
        self.table.linked().any(|(_, neighbour)| neighbour.dissents())
    }

    /// Protects the links to these neighbours from being given up to make room for others.
    pub fn pin(&mut self, is_pinned: impl Fn(NodeId) -> bool) {
        self.table.pin(is_pinned);
    }

    pub fn id(&self) -> NodeId {
        self.numbering.id()
    }

    /// The number of this boot.
    pub fn epoch(&self) -> Option<u16> {
        self.numbering.epoch()
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// What has happened since the boot.
    pub fn counters(&self) -> Counters {
        Counters { pool_high_water: self.exchange.pool.high_water(), ..self.counters }
    }

    /// Whether a neighbour, linked or not, that has links of its own was heard lately, after `since`, and follows this leader.
    pub fn is_followed(&self, now: Instant, since: Instant, leader: NodeId) -> bool {
        self.table.iter().any(|(_, neighbour)| {
            let is_recent = neighbour.heard_at > since && now.since(neighbour.heard_at) < neighbour.interval().times(3);
            neighbour.leader == leader && !neighbour.is_alone && is_recent
        })
    }

    /// Whether a neighbour, linked or not, that has links of its own was heard lately and follows another than this node.
    pub fn hears_others(&self, now: Instant) -> bool {
        self.table.iter().any(|(_, other)| {
            let is_recent = now.since(other.heard_at) < other.interval().times(3);
            !other.is_alone && other.leader != self.id() && other.leader.0 != 0 && is_recent
        })
    }

    /// Whether a neighbour was heard after `since` that follows another than this lost leader.
    pub fn is_succeeded(&self, since: Instant, leader: NodeId) -> bool {
        self.table.iter().any(|(_, other)| other.heard_at > since && other.leader != leader && other.leader.0 != 0)
    }

    /// A neighbour that has no room for this node, and the leader that it names. Of several, one with the least leader, so
    /// that nodes in the same situation choose alike.
    pub fn host(&self, now: Instant) -> Option<(NodeId, NodeId)> {
        let hosts = self.table.iter().filter(|(_, neighbour)| neighbour.refuses(now) && neighbour.leader.0 != 0);
        hosts.map(|(_, host)| (host.id, host.leader)).min_by_key(|&(_, leader)| leader)
    }

    /// A linked neighbour that has told something else than this node has heard of it.
    pub fn take_misheard(&mut self) -> Option<NodeId> {
        let (slot, id) =
            self.table.linked().find(|(_, other)| other.is_misheard()).map(|(slot, other)| (slot, other.id))?;
        self.table.touch(slot)?.misheard = 0;
        Some(id)
    }

    /// Whether this leader is known to have been there at that time.
    pub fn was_there(&self, then: Instant, leader: NodeId) -> bool {
        self.life.was_there(then, leader)
    }

    /// By how many doublings hellos are the rarer, because many are heard.
    pub fn slower(&self) -> u8 {
        self.crowd.slower()
    }

    /// This node's rank among those that are to succeed the leader.
    pub fn rank(&self) -> Option<u8> {
        self.life.rank()
    }

    /// The same, of a leader that is lost, and from when on: none where this node has not asked others for it.
    pub fn turn(&self) -> Option<(u8, Instant)> {
        self.life.turn()
    }

    /// When this node may say that a leader whose link it has lost is gone.
    pub fn gone_at(&self, now: Instant) -> Instant {
        self.life.gone_at(now)
    }

    /// This node will lead no more: says so at once, and several times, as some of it is lost.
    pub fn step_down(&mut self, now: Instant) {
        self.hellos.beat.step_down(now);
    }

    /// Since when the leader is known to step down.
    pub fn left_at(&self) -> Option<Instant> {
        self.life.left_at()
    }

    /// Whether somebody was heard to lead in the leader's place.
    pub fn has_heir(&self) -> bool {
        self.life.heir.0 != 0
    }

    pub fn take_heir(&mut self) -> NodeId {
        core::mem::take(&mut self.life.heir)
    }

    /// Lets go of a leader that steps down. Its farewells are no signs of life.
    pub fn part(&mut self, now: Instant, leader: NodeId) {
        self.life.part();
        self.end(now, leader, Reason::Silent);
    }

    /// It is settled who leads after the one that steps down; it may be this node.
    pub fn has_taken_over(&mut self, is_heir: bool) {
        self.life.has_left = false;
        if is_heir {
            self.hellos.beat.take_over();
        }
    }

    /// This node follows a leader, which may be itself; 0 is nobody. One that leads others says hello more often, and one that has lost
    /// its last way to its leader `seeks` another.
    pub fn follow(&mut self, now: Instant, leader: NodeId, seeks: bool) {
        self.table.seeks = seeks;
        let leads = leader == self.id() && self.table.links() > 0;
        self.hellos.beat.lead(now, leads, &mut self.rng);
        self.life.follow(now, leader);
        self.watch();
    }

    /// Watches the leader as closely as this node is to.
    fn watch(&mut self) {
        let watch = self.life.watch();
        if self.patience.watch != watch {
            self.patience.watch = watch;
            self.table.forget_due();
        }
    }

    /// A random number below this one.
    pub fn draw(&mut self, below: u32) -> u32 {
        self.rng.below(below)
    }

    /// Whether another board has this node's id and this one may take another.
    pub fn must_rename(&self) -> bool {
        self.twins.must_rename()
    }

    /// The oldest notice not yet collected.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop()
    }

    /// The next thing that happened on a link: first links that went down, then links that came up, then messages.
    pub fn poll_event(&mut self) -> Option<LinkEvent> {
        self.poll_turn().or_else(|| self.poll_message())
    }

    /// The next message. Those that a node has no room for stay here, and their senders try again.
    pub fn poll_message(&mut self) -> Option<LinkEvent> {
        self.exchange.take_mail().map(|(from, message)| LinkEvent::Message(from, message))
    }

    /// Whether [`poll_event`](Self::poll_event), [`must_rename`](Self::must_rename),
    /// [`take_data_outcome`](Self::take_data_outcome) or [`poll_notice`](Self::poll_notice) have anything to tell.
    pub fn has_news(&self) -> bool {
        let is_told = |neighbour: &neighbour::Neighbour| !neighbour.news.up && neighbour.news.down.is_none();
        let is_over = matches!(self.data, DataExchange::Over(_));
        let is_quiet = !is_over && !self.exchange.has_mail() && self.notices.is_empty() && !self.must_rename();
        !is_quiet || self.table.has_turned && self.table.iter().any(|(_, neighbour)| !is_told(neighbour))
    }

    /// Sends a message to those neighbours in `to` whose link is up. If the pool is full, the slowest neighbour's link goes
    /// down, since a link may not skip a message.
    pub fn send(
        &mut self,
        now: Instant,
        to: &dyn Fn(NodeId) -> bool,
        message: &[u8],
        is_latest_value: bool,
    ) -> Result<(), Full> {
        let parcel = Parcel::from_slice(message).map_err(|_| Full)?;
        let wanted = self.table.linked().filter(|(_, neighbour)| to(neighbour.id));
        let mut set = wanted.fold(Slots::default(), |set, (slot, _)| set.with(Slots::of(slot)));
        if is_latest_value {
            set.iter().for_each(|slot| self.replace_states(slot));
        }
        while self.exchange.pool.is_full() {
            let linked = self.table.linked_slots();
            let Some(slowest) = linked.iter().max_by_key(|&slot| self.exchange.pool.count(slot)) else { break };
            self.take_down(now, slowest, Reason::Overrun);
            set = set.without(Slots::of(slowest));
        }
        if set.is_empty() {
            return Ok(());
        }
        self.exchange.pool.add(parcel, set, is_latest_value)?;
        // On a channel that is all but full the next state comes before this one is sent, and takes its place.
        let rest = if is_latest_value { self.load.rest(now) } else { Duration::ZERO };
        let rest = u32::try_from(rest.as_micros()).unwrap_or(u32::MAX);
        let due = if rest == 0 { now } else { now + Duration::from_micros(u64::from(self.rng.below(rest))) };
        for slot in set.iter() {
            let Some(neighbour) = self.table.get_mut(slot) else { continue };
            neighbour.arq.is_lazy = false;
            if !neighbour.arq.is_busy() {
                neighbour.arq.due = if rest == 0 { now } else { neighbour.arq.due.min(due) };
            }
        }
        Ok(())
    }

    /// What a neighbour is still to get changes nothing that it does: where it has to be repeated, it makes way for what does.
    pub fn relax(&mut self, now: Instant, peer: NodeId) {
        let Some(slot) = self.table.find(peer) else { return };
        let Some(neighbour) = self.table.get_mut(slot).filter(|neighbour| !neighbour.arq.is_lazy) else { return };
        neighbour.arq.is_lazy = true;
        if neighbour.arq.attempts > 0 && neighbour.arq.due != Instant::NEVER {
            neighbour.arq.due = neighbour.arq.due.max(now + LAZY);
        }
    }

    /// Drops the older states that a newer one makes pointless for a neighbour.
    fn replace_states(&mut self, slot: Slot) {
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        let sent = neighbour.arq.outstanding;
        if self.exchange.replace_states(slot, sent) {
            neighbour.session.skip(sent);
            neighbour.arq.outstanding = 0;
        }
    }

    /// Until when other nodes answer each other.
    pub fn quiet_until(&self) -> Instant {
        self.exchange.quiet_until()
    }

    /// How many more messages the pool has room for.
    pub fn room(&self) -> usize {
        self.exchange.pool.room()
    }

    /// How many messages wait for a neighbour or its acknowledgement.
    pub fn waiting_for(&self, peer: NodeId) -> usize {
        self.table.find(peer).map_or(0, |slot| self.exchange.pool.count(slot))
    }

    /// This end of a link that begins anew.
    fn new_session(&self) -> Session {
        Session::new(Incarnation { epoch: self.epoch().unwrap_or(0), token: self.tokens.next() })
    }

    /// The ends have met: the token is used up, and the peer is to be challenged. With the last token the epoch ends, because no
    /// incarnation of a link may come a second time.
    fn met(&mut self, now: Instant, slot: Slot) {
        let Some(neighbour) = self.table.get_mut(slot) else { return };
        neighbour.challenge(now + Duration::from_micros(self.rng.below(CHALLENGE_DELAY_US).into()));
        self.tokens.spend(neighbour.session.mine().token);
        if self.tokens.is_spent() && self.epoch().is_some() {
            self.numbering.end_epoch();
            self.notices.push(Notice::EpochNeeded);
        }
    }

    /// Forgets the neighbour at a slot, but for the number of its last frame.
    fn forget(&mut self, slot: Slot) {
        if let Some(neighbour) = self.table.get(slot) {
            self.forgotten.add(neighbour.id, neighbour.last);
        }
        self.table.clear(slot);
    }
}

// Smaller on a board by itself than within its callers; so are others that say so.
#[cfg_attr(target_os = "none", inline(never))]
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
