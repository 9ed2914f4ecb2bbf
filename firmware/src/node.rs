//! Drives the node with the board's clock and radio: the same calls as the simulator's.

use core::cell::Cell;

use common::board::retained::CrashRecord;
use common::board::rssi::corrected_dbm;
use common::board::supply::Gauge;
use common::board::watchdog::Part;
use common::config::{Boot, Config};
use common::data::log_entry::{ENTRY_MAX, LogEntry};
use common::data::origin::Recovered;
use common::data::wire::ANSWER_MAX;
use common::data::{Chore, Done};
use common::host_link::{Bytes, Call, CrashKind, Did, Question, Text, ToHost};
use common::limits::SUBMISSIONS_MAX;
use common::mac::phy::{ACK_BYTES, FRAME_MAX, received_mut};
use common::mac::{Access, Sent};
use common::node::Node;
use common::node::fleet::About;
use common::node::snapshot::Snapshot;
use common::notice::Notice;
use common::orders::kept::KEPT_PIECE_MAX;
use common::orders::{Action, Command, Outcome, SubmitError};
use common::protocol::Signal;
use common::time::{Duration, Instant};
use embassy_futures::select::{Either4, select4};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Timer, with_timeout};
use heapless::Vec;

use crate::collection::{self, Finished, Found, Work};
use crate::radio::{self, Answer, Buffer, RECEIVED, Received, SENT, TO_ANSWER, TO_SEND, VERDICT, Verdict};
use crate::{clock, crash, host, identity, progress, record, restart, sensors, settings, status, storage};

/// Things other than the radio that the node may be told before it has to look at them.
const TOLD_MAX: usize = 8;

/// Frames given out after one call. More would be a node that never stops.
const GIVEN_MAX: usize = 8;

/// The driver looks up at least this often, so that it is seen to be alive.
const LOOK_UP_EVERY: Duration = Duration::from_millis(2_000);

/// How long a look through the flash may take without a sign.
const RECOVERY_STEP: embassy_time::Duration = embassy_time::Duration::from_secs(2);

/// What others tell the node's driver.
#[derive(Clone, Copy)]
pub enum Told {
    /// For the node.
    Signal(Signal),
    /// A new epoch was stored.
    Epoch(u16),
    /// Report every call from now on, or no longer.
    Record(bool),
    /// A host has a command for the network.
    Submit { ticket: u32, command: Command },
    /// The supply was measured, in millivolts.
    Supply(u16),
    /// A host asks all nodes for their state.
    Ask(Question),
    /// A host wants the readings of all nodes.
    ReadAll,
    /// The board has measured; see [`collection::take_sample`].
    Measured,
    /// The result of the node's last chore.
    Done(Finished),
}

/// What others tell the node's driver.
pub static TOLD: Channel<CriticalSectionRawMutex, Told, TOLD_MAX> = Channel::new();

static SNAPSHOT: Mutex<CriticalSectionRawMutex, Cell<Option<Snapshot>>> = Mutex::new(Cell::new(None));

/// The state of the node; none before it has started.
pub fn snapshot() -> Option<Snapshot> {
    SNAPSHOT.lock(Cell::get)
}

/// Tells the node's driver something. If eight things are waiting already, this one is lost, and the log says so.
pub fn tell(told: Told) {
    if TOLD.try_send(told).is_err() {
        defmt::warn!("the node is behind: something it was told is lost");
    }
}

/// Runs a node of a configuration that has passed its check, for ever. The node is built here, because the memory of a task
/// is static: anywhere else it would first be built on the stack, for which it is too large.
#[embassy_executor::task]
pub async fn run(config: &'static Config, boot: Boot) -> ! {
    let mut node = Node::of(config, boot);
    let mut driver = Driver {
        node: &mut node,
        now: clock::now(),
        judged: 0,
        scratch: [0; FRAME_MAX],
        output: Some(radio::output()),
        tickets: Vec::new(),
        revision: 0,
        network: config.network(),
        gauge: Gauge::default(),
        #[cfg(feature = "journal")]
        look_round_at: Instant::ZERO + common::board::journal::PERIOD,
    };
    driver.recover().await;
    let now = driver.now(clock::now());
    let Boot { epoch, seed, device } = boot;
    driver.record(|| Call::Start { epoch, seed, device });
    driver.node.handle_start(now);
    driver.set_supply(0);
    loop {
        driver.drain();
        progress::tick(Part::Node);
        driver.wait_and_handle().await;
    }
}

struct Driver<'n> {
    node: &'n mut Node,
    /// The time of the last call: the next one is never earlier, by any stamp.
    now: Instant,
    /// Frames judged; this runs over.
    judged: u32,
    /// Where the node writes its frames.
    scratch: [u8; FRAME_MAX],
    /// The buffer for the next frame to send, while the radio does not have it.
    output: Option<&'static mut Buffer>,
    /// The commands of hosts that have no outcome yet.
    tickets: Vec<Ticket, SUBMISSIONS_MAX, u8>,
    /// Which orders the settings were last taken from.
    revision: u32,
    network: u32,
    gauge: Gauge,
    /// When the journal wants to know next how the node hears others.
    #[cfg(feature = "journal")]
    look_round_at: Instant,
}

/// A command of a host: its number at the node, and the host's own.
struct Ticket {
    number: u8,
    ticket: u32,
}

impl Driver<'_> {
    async fn wait_and_handle(&mut self) {
        let look_up = clock::now() + LOOK_UP_EVERY;
        let deadline = self.node.poll_timeout().map_or(look_up, |deadline| deadline.min(look_up));
        let timer = Timer::at(clock::tick_at_or_after(deadline));
        match select4(RECEIVED.receive(), SENT.wait(), TOLD.receive(), timer).await {
            Either4::First(received) => self.hand_frame(received),
            Either4::Second((sent, buffer)) => {
                self.output = Some(buffer);
                let now = self.now(clock::now());
                self.record(|| Call::Sent { busy: sent == Sent::ChannelBusy });
                self.node.handle_sent(now, sent);
            }
            Either4::Third(told) => self.hand(told),
            Either4::Fourth(()) => {
                let now = self.now(clock::now());
                self.record(|| Call::Timeout);
                self.node.handle_timeout(now);
            }
        }
    }

    fn hand_frame(&mut self, frame: Received) {
        let Received { at, rssi_dbm, buffer } = frame;
        let rssi_dbm = corrected_dbm(rssi_dbm, sensors::temperature());
        let now = self.now(at);
        if let Some(bytes) = received_mut(buffer) {
            self.record(|| Call::Frame { rssi_dbm, bytes: Bytes::new(bytes).unwrap_or_default() });
            self.node.handle_frame(now, bytes, rssi_dbm);
        }
        self.judged = self.judged.wrapping_add(1);
        radio::give_back(buffer);
    }

    fn hand(&mut self, told: Told) {
        let now = self.now(clock::now());
        match told {
            Told::Signal(signal) => {
                match signal {
                    Signal::Elect => self.record(|| Call::Elect),
                    Signal::Rank(rank) => self.record(|| Call::Rank(rank)),
                    Signal::Fitness(coefficient) => self.record(|| Call::Fitness(coefficient)),
                    Signal::StepDown => self.record(|| Call::StepDown),
                    // Only the node itself makes these.
                    Signal::LeaderLost
                    | Signal::LeaderHeard
                    | Signal::Succeed(_)
                    | Signal::Ring(_)
                    | Signal::Resend
                    | Signal::Audit
                    | Signal::Disturbed
                    | Signal::Outcome(_) => {}
                }
                self.node.handle_signal(now, signal);
            }
            Told::Epoch(epoch) => {
                self.record(|| Call::Epoch(epoch));
                self.node.handle_epoch(now, epoch);
            }
            Told::Record(is_wanted) => record::set(is_wanted),
            Told::Submit { ticket, command } => self.submit(now, ticket, command),
            Told::Measured => {
                let sample = collection::take_sample();
                self.record(|| Call::Sample(sample.values));
                self.node.handle_sample(now, sample);
            }
            Told::Done(finished) => self.hand_done(now, finished),
            Told::Supply(supply_mv) => self.set_supply(supply_mv),
            Told::ReadAll => {
                self.record(|| Call::Read);
                self.node.handle_reader(now);
            }
            Told::Ask(question) => {
                self.record(|| Call::Ask(question));
                self.node.ask(now, question.number, question.turn, question.known);
            }
        }
    }

    /// Tells the node what its board has kept from earlier boots: orders, its store, its log.
    async fn recover(&mut self) {
        for piece in storage::orders().chunks(KEPT_PIECE_MAX) {
            self.record(|| Call::Kept(Bytes::new(piece).unwrap_or_default()));
            self.node.handle_kept(piece);
        }
        collection::begin(Work::Recover);
        loop {
            let Ok(found) = with_timeout(RECOVERY_STEP, collection::found()).await else {
                // The thread erases pages that make no sense.
                progress::tick(Part::Node);
                continue;
            };
            match found {
                Found::Entry => {
                    if let Some(entry) = LogEntry::read(&collection::parcel()) {
                        self.node.handle_logged_before(&entry);
                    }
                }
                Found::All(recovered) => {
                    if let Some(recovered) = recovered {
                        let Recovered { store, next, base, oldest } = recovered;
                        self.record(|| Call::Recovered { store, next, base, oldest });
                        self.node.handle_recovered(recovered);
                    }
                    break;
                }
            }
        }
    }

    /// Passes on what the node wants done with the flash. One thing at a time is under way, and the node knows.
    fn pass_chores(&mut self) {
        let mut buf = [0; ENTRY_MAX];
        while let Some(chore) = self.node.poll_chore(self.now, &mut buf) {
            self.record(|| Call::Chore);
            let length = match chore {
                Chore::Store { length, .. } | Chore::Log { length } => length,
                Chore::Fetch { .. } => 0,
                // It is stored with the next block, which is soon enough.
                Chore::Release { .. } => continue,
            };
            collection::put_parcel(buf.get(..length).unwrap_or_default());
            collection::begin(Work::Chore(chore));
        }
    }

    fn hand_done(&mut self, now: Instant, finished: Finished) {
        match finished {
            Finished::Stored { oldest } => {
                self.record(|| Call::Done(Did::Stored { oldest }));
                self.node.handle_done(now, Done::Stored(oldest.is_some()));
                if let Some(oldest) = oldest {
                    self.node.handle_overwritten(oldest);
                }
            }
            Finished::Fetched { is_there } => {
                let parcel = collection::parcel();
                let block = is_there.then_some(parcel.as_slice());
                self.record(|| Call::Done(Did::Fetched(block.and_then(|block| Bytes::new(block).ok()))));
                self.node.handle_done(now, Done::Fetched(block));
            }
            Finished::Logged { is_logged } => {
                self.record(|| Call::Done(Did::Logged(is_logged)));
                self.node.handle_done(now, Done::Logged(is_logged));
            }
        }
    }

    /// Tells the node what others are told of this board.
    fn set_supply(&mut self, supply_mv: u16) {
        let about = About { supply_mv, build: identity::build().0 };
        self.record(|| Call::About(about));
        self.node.set_about(about);
        // On a ring a member's number decides who leads: this one would be elected again.
        if self.gauge.has_run_low(supply_mv) && !self.node.is_on_ring() {
            self.hand(Told::Signal(Signal::StepDown));
        }
    }

    /// Tells hosts what other nodes have answered, and what they have measured.
    #[inline(never)]
    fn pass_on_answers(&mut self) {
        let mut buf = [0; ANSWER_MAX];
        while let Some((from, number, length)) = self.node.poll_answer(&mut buf) {
            let report = Bytes::new(buf.get(..length).unwrap_or_default()).unwrap_or_default();
            host::say(ToHost::Answer { number, from, report });
        }
        let mut buf = [0; ENTRY_MAX];
        while let Some(length) = self.node.poll_copy(self.now, &mut buf) {
            let entry = Bytes::new(buf.get(..length).unwrap_or_default()).unwrap_or_default();
            host::say(ToHost::Copied { entry });
        }
    }

    fn submit(&mut self, now: Instant, ticket: u32, command: Command) {
        self.record(|| Call::Submit(command));
        let outcome = match self.node.submit(now, command) {
            Ok(number) if self.tickets.push(Ticket { number, ticket }).is_ok() => return,
            Ok(_) | Err(SubmitError::Full) => Outcome::Busy,
            Err(SubmitError::NotAllowed) => Outcome::Refused,
        };
        host::say(ToHost::Submitted { ticket, outcome });
    }

    /// Does what the network has told this board to do, and tells hosts what became of their commands.
    fn obey(&mut self) {
        while let Some((number, outcome)) = self.node.poll_outcome() {
            let Some(at) = self.tickets.iter().position(|known| known.number == number) else { continue };
            if let Some(&Ticket { ticket, .. }) = self.tickets.get(at) {
                host::say(ToHost::Submitted { ticket, outcome });
            }
            if outcome.is_final() {
                self.tickets.swap_remove(at);
            }
        }
        while let Some(action) = self.node.poll_action() {
            match action {
                Action::Identify => status::identify(),
                Action::Restart => restart::request(false),
                // The node has done it itself.
                Action::Elect => {}
            }
        }
        let revision = self.node.orders().revision();
        if revision != self.revision {
            self.revision = revision;
            settings::take(self.node);
        }
        if self.node.poll_kept(self.now) {
            storage::keep_orders(self.network, self.node);
        }
    }

    /// Collects everything the node has to say, in the order that its contract asks for.
    fn drain(&mut self) {
        VERDICT.lock(|cell| cell.set(Verdict { judged: self.judged, quiet_until: self.node.quiet_until() }));
        for _ in 0..GIVEN_MAX {
            let Some(transmit) = self.node.poll_transmit(self.now, &mut self.scratch) else { break };
            let frame = self.scratch.get(..transmit.length).unwrap_or_default();
            let at_us = match transmit.access {
                Access::Csma => None,
                Access::At(at) => Some(at.as_micros()),
            };
            self.record(|| Call::Transmit { at_us, bytes: Bytes::new(frame).unwrap_or_default() });
            match (transmit.access, frame.first_chunk::<ACK_BYTES>()) {
                (Access::At(at), Some(&bytes)) => TO_ANSWER.signal(Answer { bytes, at }),
                (Access::At(_), None) => defmt::error!("an acknowledgement of {=usize} bytes", frame.len()),
                // The node waits for the end of one frame before it gives out the next.
                (Access::Csma, _) => {
                    if let Some(output) = self.output.take() {
                        radio::fill(output, frame);
                        TO_SEND.signal(output);
                    }
                }
            }
        }
        while let Some(notice) = self.node.poll_notice() {
            self.report(notice);
        }
        self.obey();
        self.pass_chores();
        self.pass_on_answers();
        #[cfg(feature = "journal")]
        {
            self.look_round_at = crate::journal::look_round(self.now, self.look_round_at, self.node);
        }
        SNAPSHOT.lock(|cell| cell.set(Some(self.node.snapshot())));
    }

    fn report(&self, notice: Notice) {
        host::say(ToHost::Notice { at_us: self.now.as_micros(), notice });
        #[cfg(feature = "journal")]
        crate::journal::keep(self.now, notice);
        match notice {
            Notice::Fault(fault) => {
                // The state of the core and what it sent no longer agree.
                defmt::error!("DEFECT of the election core: {}; restarting", fault);
                let message = Text::start_of("a defect of the election core");
                crash::restart(CrashRecord { message, ..CrashRecord::of(CrashKind::CoreFault) });
            }
            Notice::EpochNeeded => {
                defmt::warn!("{}", notice);
                storage::ask(storage::Request::NextEpoch);
            }
            Notice::Twin(_) => {
                defmt::error!("{}", notice);
                status::set_twin(true);
            }
            Notice::Renamed(_) => {
                defmt::warn!("{}", notice);
                status::set_twin(false);
            }
            Notice::Event(_) => defmt::debug!("{}", notice),
            _ => defmt::info!("{}", notice),
        }
    }

    /// The time for the next call.
    fn now(&mut self, at: Instant) -> Instant {
        self.now = self.now.max(at);
        self.now
    }

    fn record(&self, call: impl FnOnce() -> Call) {
        record::call(self.now, call);
    }
}
