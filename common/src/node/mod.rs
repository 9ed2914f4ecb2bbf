//! A whole node: discovery, links, election and timers behind one driver contract, which is on the crate's first page.

mod audit;
#[cfg(feature = "corruption")]
mod corruption;
mod data;
pub mod fleet;
mod guest;
mod heir;
mod hold;
mod odds;
mod on_ring;
mod orders;
pub mod snapshot;
mod succession;
mod upper;

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;

use self::fleet::About;
use self::heir::Heir;
use self::hold::Hold;
use self::snapshot::{Counters, Snapshot};
use self::upper::Upper;
use crate::causal_clock::ClockKind;
use crate::coefficient::Coefficient;
use crate::config::{Boot, Config, ConfigError, IDS, Protection, Radii, Timings};
use crate::data::Data;
use crate::election::height::{HeightOptions, HeightRules};
use crate::election::hs::HsRules;
use crate::election::{Election, ElectionConfig, ElectionMsg, Timing};
use crate::engine::Engine;
use crate::limits::{DEEDS_MAX, MEMBERS_MAX, PARCEL_MAX};
use crate::link::body::Parcel;
use crate::link::sealed::Sealed;
use crate::link::{LinkEvent, Links};
use crate::mac::phy::FRAME_MAX;
use crate::mac::{Sent, Transmit};
use crate::members::RingOrder;
use crate::names::Algorithm;
use crate::notice::{Event, Fault, Notice, NoticeQueue, Reason};
use crate::orders::kept::Keeping;
use crate::orders::{Action, Orders};
use crate::protocol::{Message, Signal};
use crate::ring::RingKeeper;
use crate::ring::wire::PAYLOAD_MAX;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace};

/// The purpose of a link's message: its first byte. An empty election message asks the receiver to repeat what it has
/// told.
const FOR_ELECTION: u8 = 0;

/// A message of ring mode.
const FOR_RING: u8 = 1;

/// A message of the orders.
const FOR_ORDERS: u8 = 2;

/// Milliseconds that an election on a ring may take for each member, on top of the configured patience.
const PATIENCE_PER_MEMBER_MS: u64 = 60;

/// Milliseconds that an answer on a ring may take for each member, on top of the configured time: all may be asking.
const ANSWER_PER_MEMBER_MS: u64 = 20;

/// Peers are neighbours in an ad hoc network and members of the ring in ring mode.
type NodeEngine = Engine<Election, MEMBERS_MAX>;

#[derive(Clone, Debug)]
pub struct Node {
    boot: Boot,
    /// Kept to set up another election when the node takes another id.
    wanted: Wanted,
    is_open: bool,
    links: Links,
    engine: NodeEngine,
    ring: Option<RingKeeper>,
    data: Data,
    notices: NoticeQueue,
    leader: Option<NodeId>,
    leader_changes: u32,
    hold: Hold,
    heir: Heir,
    /// Until when neighbours may go on naming other leaders after one was refused; never, where none was.
    odds_until: Instant,
    /// When the next audit is due.
    audit_at: Instant,
    /// When the frame arrived that ring and election have not seen yet; never if there is none.
    unfinished: Instant,
    orders: Orders,
    keeping: Keeping,
    /// When orders that wait for room try again; never if none wait.
    orders_at: Instant,
    /// What the driver is to do.
    actions: Vec<Action, DEEDS_MAX, u8>,
    /// What the driver knows of its board.
    about: About,
}

impl Node {
    pub fn new(config: &Config, boot: Boot) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::of(config, boot))
    }

    /// A node of a configuration that has passed its check. Without the detour through a result, a board can build it in the
    /// place where it stays: it is too large for a stack, which is also why its parts are built by functions of their own.
    #[inline(never)]
    pub fn of(config: &Config, boot: Boot) -> Self {
        let wanted = Wanted { algorithm: config.algorithm, radii: config.levels(), timings: config.timings };
        Self {
            boot,
            wanted,
            ring: keeper(config, boot),
            is_open: config.protection == Protection::Open,
            links: Links::new(config, boot),
            engine: wanted.engine(config.id, boot, config.ring.as_ref()),
            notices: NoticeQueue::new(),
            leader: None,
            leader_changes: 0,
            hold: Hold::NOBODY,
            heir: Heir::NOBODY,
            odds_until: Instant::NEVER,
            audit_at: Instant::ZERO,
            unfinished: Instant::NEVER,
            orders: Orders::new(config.id, boot.epoch, boot.device),
            keeping: Keeping::default(),
            orders_at: Instant::NEVER,
            actions: Vec::new(),
            about: About::default(),
            // The largest part comes last: the compiler builds it in place then, which spares 1.7 KB of a board's stack.
            data: Data::new(config.id, boot),
        }
    }

    pub fn handle_start(&mut self, now: Instant) {
        if self.is_open {
            self.notices.push(Notice::Unprotected);
        }
        self.audit_at = now + audit::EVERY;
        self.links.start(now);
        self.orders.start(now);
        if let Some(ring) = &mut self.ring {
            ring.start(now);
        }
        self.engine.handle_start(now);
        self.work(now);
    }

    /// A frame with a right checksum has arrived, with this strength. It is decrypted in place.
    ///
    /// Its acknowledgement is urgent, so [`poll_transmit`](Self::poll_transmit) gives that out first; only then do ring and
    /// election see the frame.
    pub fn handle_frame(&mut self, now: Instant, frame: &mut (impl Sealed + ?Sized), rssi_dbm: i8) {
        self.finish();
        let (data, ring) = (&mut self.data, self.ring.as_mut());
        let mut above = Upper { data, now, leader: self.leader, election: self.engine.protocol(), ring };
        self.links.receive(now, frame, rssi_dbm, &mut above);
        self.unfinished = now;
    }

    /// Shows ring and election the last frame, if they have not seen it yet.
    fn finish(&mut self) {
        let now = core::mem::replace(&mut self.unfinished, Instant::NEVER);
        // Saves work: most frames are hellos that change nothing.
        let has_news = self.hold.is_seat
            || self.links.left_at().is_some()
            || self.links.has_heir()
            || self.links.table().links() == 0
            || self.links.has_news();
        if now != Instant::NEVER && (self.ring.is_some() || has_news) {
            self.work(now);
        }
    }

    /// The driver is done with the frame given out with [`Access::Csma`](crate::mac::Access::Csma).
    pub fn handle_sent(&mut self, now: Instant, sent: Sent) {
        self.finish();
        self.links.sent(now, sent);
        self.work(now);
    }

    /// The time [`poll_timeout`](Self::poll_timeout) asked for has come. Spurious calls are harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.finish();
        self.links.timeout(now);
        if let Some(ring) = &mut self.ring {
            ring.timeout(now);
        }
        // On a ring the election may have to wait for room. Its timeouts are delivered as soon as there is some.
        if !self.engine.has_words() {
            self.engine.handle_timeout(now);
        }
        self.let_go(now, false);
        self.watch_odds(now);
        self.audit(now);
        self.work(now);
    }

    /// Something else happened: a button, a command, a new coefficient.
    pub fn handle_signal(&mut self, now: Instant, signal: Signal) {
        self.finish();
        if signal == Signal::StepDown {
            self.step_down(now);
        } else {
            self.engine.handle_signal(now, signal);
        }
        self.work(now);
    }

    /// A new epoch was stored, because [`Notice::EpochNeeded`] asked for it.
    pub fn handle_epoch(&mut self, now: Instant, epoch: u16) {
        self.finish();
        self.links.set_epoch(now, epoch);
        self.ring.iter_mut().for_each(|ring| ring.set_epoch(epoch));
        self.orders.set_identity(self.id(), Some(epoch));
        self.work(now);
    }

    /// Writes the next frame to send to `buf`.
    // Out of line, the image is smaller.
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn poll_transmit(&mut self, now: Instant, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        if let Some(answer) = self.links.poll_answer(buf) {
            return Some(answer);
        }
        self.finish();
        let (data, ring) = (&mut self.data, self.ring.as_mut());
        let mut above = Upper { data, now, leader: self.leader, election: self.engine.protocol(), ring };
        let transmit = self.links.poll_transmit(now, buf, &mut above);
        self.hurry(now);
        transmit
    }

    /// Lets the next hello come soon where the ring has something to tell.
    fn hurry(&mut self, now: Instant) {
        if self.ring.as_mut().is_some_and(RingKeeper::take_hurry) {
            self.links.hurry(now);
        }
    }

    /// The oldest notice not yet collected.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.finish();
        self.notices.pop()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is next wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.unfinished != Instant::NEVER {
            return Some(self.unfinished);
        }
        let earlier = |a: Option<Instant>, b: Option<Instant>| a.zip(b).map_or(a.or(b), |(a, b)| Some(a.min(b)));
        let ring = self.ring.as_ref().and_then(RingKeeper::poll_timeout);
        let election = if self.engine.has_words() { None } else { self.engine.poll_timeout() };
        let held = Some(self.hold.until().min(self.take_over_at()).min(self.heir.until()))
            .filter(|&until| until != Instant::NEVER);
        let due = earlier(earlier(self.links.poll_timeout(), ring), earlier(election, held));
        // The audit bounds every other deadline: a corrupted one may lie years ahead.
        let due = earlier(due, Some(self.audit_at));
        earlier(earlier(due, self.orders_due()), self.data_due())
    }

    /// Until when other nodes acknowledge frames. A driver does not assess the channel before that.
    pub fn quiet_until(&self) -> Instant {
        self.links.quiet_until()
    }

    pub fn id(&self) -> NodeId {
        self.links.id()
    }

    /// Whether the election knows of nobody else.
    pub fn is_alone(&self) -> bool {
        self.engine.peers().is_empty()
    }

    /// The leader this node follows, itself included.
    pub fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    pub fn is_on_ring(&self) -> bool {
        self.ring.is_some()
    }

    pub fn election(&self) -> &Election {
        self.engine.protocol()
    }

    /// The links, for checkers and displays.
    pub fn links(&self) -> &Links {
        &self.links
    }

    pub fn snapshot(&self) -> Snapshot {
        let table = self.links.table();
        let small = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        Snapshot {
            id: self.id(),
            leader: self.leader,
            next_hop: self.next_hop(),
            epoch: self.links.epoch(),
            links_up: small(table.links()),
            heard: small(table.iter().count()),
            counters: Counters { leader_changes: self.leader_changes, ..self.links.counters() },
        }
    }

    fn next_hop(&self) -> Option<NodeId> {
        match self.election() {
            Election::Height(height) => height.next_hop(),
            Election::Hierarchy(hierarchy) => hierarchy.next_hop(),
            _ => self.ring.as_ref()?.next_hop(self.leader?),
        }
    }

    /// Passes messages and events between the links and the election until neither has any left.
    fn work(&mut self, now: Instant) {
        if let Some(ring) = &mut self.ring {
            ring.set_pace(self.links.pace(now));
        }
        self.part(now);
        loop {
            while let Some(event) = self.poll_link() {
                self.on_link(now, &event);
                self.collect(now);
            }
            self.succeed(now);
            self.take_over(now);
            self.collect(now);
            if self.links.must_rename() {
                self.rename(now);
            } else {
                break;
            }
        }
        while let Some(notice) = self.links.poll_notice() {
            self.notices.push(notice);
        }
        let host = self.host(now);
        let followed = host.map(|(_, leader)| leader).or(self.heir(now)).or_else(|| self.followed_until_told(now));
        let leader = followed.or_else(|| self.leader_to_follow());
        if leader != self.leader {
            self.leader = leader;
            self.notices.push(Notice::Leader(leader));
            self.leader_changes = self.leader_changes.saturating_add(1);
            if let Some((host, _)) = host {
                self.notices.push(Notice::Guest(host));
            }
        }
        self.links.follow(now, leader.unwrap_or(NodeId(0)), self.hold.is_for_way());
        self.collect_data(now);
        self.answer_questions(now);
        self.carry_orders(now);
        self.hurry(now);
        let parent = self.next_hop();
        let place = self.ring.as_ref().map(RingKeeper::place);
        self.links.pin(|id| Some(id) == parent || place.is_some_and(|place| place.left == id || place.right == id));
    }

    /// The next thing that happened on a link. A message waits while the ring has no room for it.
    fn poll_link(&mut self) -> Option<LinkEvent> {
        let has_room = self.ring.as_ref().is_none_or(RingKeeper::can_receive);
        self.links.poll_turn().or_else(|| has_room.then(|| self.links.poll_message()).flatten())
    }

    fn on_link(&mut self, now: Instant, event: &LinkEvent) {
        match event {
            LinkEvent::Up(peer) => {
                self.notices.push(Notice::LinkUp(*peer));
                self.orders.link_up(now, *peer);
                if let Some(ring) = &mut self.ring {
                    ring.link_up(now, *peer);
                } else if !self.is_held_again(now, *peer) {
                    // To the election, a held link was never down.
                    self.join(now);
                    if self.engine.handle_link_up(now, *peer).is_err() {
                        self.links.end(now, *peer, Reason::Overrun);
                    }
                }
            }
            LinkEvent::Down(peer, reason) => {
                self.notices.push(Notice::LinkDown(*peer, *reason));
                self.orders.link_down(*peer);
                if let Some(ring) = &mut self.ring {
                    ring.link_down(now, *peer);
                    self.doubt_leader(now, *peer, *reason);
                } else if !self.hold(now, *peer, *reason) {
                    self.engine.handle_link_down(now, *peer);
                }
            }
            LinkEvent::Message(from, message) => match (message.split_first(), &mut self.ring) {
                (Some((&FOR_ELECTION, [])), None) => self.engine.handle_signal(now, Signal::Resend),
                (Some((&FOR_ELECTION, bytes)), None) => {
                    self.engine.handle_message(now, *from, bytes);
                    self.relax(now, *from);
                    self.let_go(now, true);
                }
                (Some((&FOR_RING, bytes)), Some(ring)) => ring.receive(now, *from, bytes),
                (Some((&FOR_ORDERS, bytes)), _) => self.receive_orders(now, *from, bytes),
                _ => self.notices.push(Notice::BadMessage(*from)),
            },
        }
    }

    /// Takes what the election has to say to the links, and its notices.
    fn collect(&mut self, now: Instant) {
        if self.ring.is_some() {
            self.collect_ring(now);
            return;
        }
        while let Some(notice) = self.engine.poll_notice() {
            match notice {
                Notice::LinkEnded(peer, reason) => self.links.end(now, peer, reason),
                Notice::Event(Event::OutOfTime(_)) => self.note_refusal(now),
                Notice::Event(Event::Disputed(_)) => self.links.meet_twin(now),
                _ => {}
            }
            self.notices.push(notice);
        }
        while let Some((to, msg)) = self.engine.poll_group() {
            let mut bytes = [0; PARCEL_MAX];
            let message = postcard::to_slice(&msg, &mut bytes).map_or(&[][..], |used| used);
            self.send(now, &|id| to.contains(&id), FOR_ELECTION, message, msg.is_latest_value());
            to.iter().for_each(|&peer| self.relax(now, peer));
        }
    }

    fn send(&mut self, now: Instant, to: &dyn Fn(NodeId) -> bool, service: u8, message: &[u8], is_latest_value: bool) {
        let mut parcel = Parcel::new();
        let is_whole = parcel.push(service).is_ok() && parcel.extend_from_slice(message).is_ok();
        if !is_whole || self.links.send(now, to, &parcel, is_latest_value).is_err() {
            // The largest encoding fits a parcel, and the pool makes room; anything else is a defect.
            self.notices.push(Notice::Fault(Fault::OutboxOverflow));
        }
    }

    /// Takes another id: every link goes down, and the election begins as after a restart.
    fn rename(&mut self, now: Instant) {
        let mut rng = Rng::stream(self.boot.seed ^ u64::from(self.boot.device), now.as_micros());
        let span = u32::from(*IDS.end() - *IDS.start()) + 1;
        let taken = |id: NodeId| id == self.id() || self.links.table().find(id).is_some();
        let picks = core::iter::repeat_with(|| NodeId(IDS.start() + u16::try_from(rng.below(span)).unwrap_or(0)));
        // Of sixty-five thousand ids a few dozen are taken.
        let Some(id) = picks.take(64).find(|&id| !taken(id)) else { return };
        self.links.rename(now, id);
        self.orders.set_identity(id, self.links.epoch());
        self.notices.push(Notice::Renamed(id));
        self.begin_anew(now);
    }
}

const _: () = assert!(<ElectionMsg as MaxSize>::POSTCARD_MAX_SIZE < PARCEL_MAX, "an election message fits a link's");
const _: () =
    assert!(<ElectionMsg as MaxSize>::POSTCARD_MAX_SIZE <= PAYLOAD_MAX, "an election message fits an envelope");

/// Keeps the ring that a configuration asks for.
#[inline(never)]
fn keeper(config: &Config, boot: Boot) -> Option<RingKeeper> {
    let order = config.ring.as_ref().filter(|_| config.algorithm.needs_ring())?;
    // A ring without this node did not pass the check.
    let mut keeper = RingKeeper::new(config.id, order.clone(), config.timings).ok()?;
    boot.epoch.into_iter().for_each(|epoch| keeper.set_epoch(epoch));
    Some(keeper)
}

/// The election that a configuration asks for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    algorithm: Algorithm,
    radii: Radii,
    timings: Timings,
}

impl Wanted {
    #[inline(never)]
    fn engine(self, id: NodeId, boot: Boot, ring: Option<&RingOrder>) -> NodeEngine {
        let Self { algorithm, radii, timings } = self;
        let order = ring.cloned().unwrap_or_else(|| RingOrder::alone(id));
        let members = u64::try_from(order.ids().len()).unwrap_or(0);
        let config = ElectionConfig {
            algorithm,
            order,
            place: RingPlace { left: id, right: id },
            coefficient: Coefficient::UNKNOWN,
            hs: HsRules::Known,
            height: HeightOptions { clock: ClockKind::Lamport, rules: HeightRules::Radio },
            radii,
            timing: Timing {
                hop: Duration::from_millis(u64::from(timings.answer_ms) / 8),
                answer: Duration::from_millis(u64::from(timings.answer_ms) + ANSWER_PER_MEMBER_MS * members),
                patience: Duration::from_millis(u64::from(timings.patience_ms) + PATIENCE_PER_MEMBER_MS * members),
            },
        };
        Engine::new(id, boot.seed, Election::new(id, config))
    }
}
