//! The radio: listens whenever it does not send.
//!
//! The task runs above the node. A received frame is copied out and the receiver is on again before anybody looks at it. A
//! frame to send waits out its back-off while the receiver listens; an acknowledgement goes at its time, whatever else
//! waits. No send is ever cancelled, and every wait for the chip has an end: a radio that does not answer is started anew,
//! and one that does not answer then either is left to the watchdog.

mod chip;
mod wiring;

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use common::board::watchdog::Part;
use common::mac::Sent;
use common::mac::backoff::{Backoff, UNIT};
use common::mac::phy::{FRAME_MAX, airtime};
use common::rng::Rng;
use common::time::{Duration, Instant};
use embassy_futures::select::{Either3, select3};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::signal::Signal;
use embassy_time::Timer;

use self::chip::{Outcome, Radio, Stuck};
use crate::{clock, progress};

/// Frames that wait for the node. It is behind by more than one only while it does something long.
const RECEIVED_MAX: usize = 4;

/// How long a frame that already backs off is held after another was heard, so that an acknowledgement of that one gets
/// through: longer than the time until it and its airtime together. The node has looked at that frame by then and holds
/// the waiting one for longer where more answers are due.
const QUIET: Duration = Duration::from_micros(1_600);

/// Whoever waited for the same answers looks at the channel at one of so many times afterwards, not all at once.
const AFTER_HOLD_UNITS: u32 = 8;

/// A frame ends within this time of its beginning, whatever its length says.
const FRAME_END_WITHIN: embassy_time::Duration = embassy_time::Duration::from_millis(6);

/// How often a receiver that hears nothing is looked at.
const LOOK_EVERY: embassy_time::Duration = embassy_time::Duration::from_millis(1_000);

/// Looks without a frame after which the receiver is started anew, in case it only seems to listen.
const SILENT_LOOKS: u8 = 30;

/// Failures in a row after which the watchdog is left to end it.
const FAILURES_MAX: u8 = 3;

/// A radio that has worked for this long since its last failure is not failing in a row.
const WORKED: Duration = Duration::from_millis(10_000);

/// Bytes of a frame, without the checksum.
#[derive(Clone)]
pub struct Frame {
    bytes: [u8; FRAME_MAX],
    length: u8,
}

impl Frame {
    /// The first bytes of a buffer; at most all of it.
    pub fn new(bytes: &[u8; FRAME_MAX], length: usize) -> Self {
        Self { bytes: *bytes, length: u8::try_from(length.min(FRAME_MAX)).unwrap_or(0) }
    }

    /// As they are.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// As they are, to be decrypted in place.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..usize::from(self.length)).unwrap_or_default()
    }
}

/// A frame that was received.
pub struct Received {
    /// When it ended.
    pub at: Instant,
    /// How strong it was.
    pub rssi_dbm: i8,
    /// The frame.
    pub frame: Frame,
}

/// What the radio is told once.
pub struct Settings {
    /// 11 to 26.
    pub channel: u8,
    /// One of the chip's.
    pub power_dbm: i8,
    /// For back-offs.
    pub seed: u64,
}

/// Frames for the node.
pub static RECEIVED: Channel<CriticalSectionRawMutex, Received, RECEIVED_MAX> = Channel::new();
/// The frame that is to be sent when the channel is clear. There is at most one: the node waits for [`SENT`].
pub static TO_SEND: Signal<CriticalSectionRawMutex, Frame> = Signal::new();
/// The acknowledgement that is to be sent at a time.
pub static TO_ACKNOWLEDGE: Signal<CriticalSectionRawMutex, (Frame, Instant)> = Signal::new();
/// Until when the node asks for the waiting frame to be held: others answer each other, or are about to answer this node.
pub static HELD_UNTIL: Mutex<CriticalSectionRawMutex, Cell<Instant>> = Mutex::new(Cell::new(Instant::ZERO));
/// What became of the frame.
pub static SENT: Signal<CriticalSectionRawMutex, Sent> = Signal::new();

/// What happened to frames on this side of the node, and how long the radio sent.
pub struct Counters {
    /// Received frames that the node had no room for.
    pub overrun: AtomicU32,
    /// Frames with a wrong checksum or an impossible length.
    pub damaged: AtomicU32,
    /// Acknowledgements that came too late and were not sent.
    pub late: AtomicU32,
    /// Times the chip did not answer and was started anew.
    pub restarts: AtomicU32,
    /// Microseconds on the air; it runs over.
    pub on_air_us: AtomicU32,
    /// Looks in a row at which nothing had been heard.
    pub silent_looks: AtomicU32,
}

/// The counters.
pub static COUNTERS: Counters = Counters {
    overrun: AtomicU32::new(0),
    damaged: AtomicU32::new(0),
    late: AtomicU32::new(0),
    restarts: AtomicU32::new(0),
    on_air_us: AtomicU32::new(0),
    silent_looks: AtomicU32::new(0),
};

pub(crate) fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Runs the radio for ever.
#[embassy_executor::task]
pub async fn run(settings: Settings) -> ! {
    let mut driver = Driver {
        radio: Radio::new(&settings),
        rng: Rng::new(settings.seed),
        waiting: None,
        quiet_until: Instant::ZERO,
        silent_looks: 0,
    };
    let mut failures = 0;
    loop {
        let began = clock::now();
        let Err(Stuck) = driver.serve().await;
        count(&COUNTERS.restarts);
        failures = if clock::now().since(began) > WORKED { 1 } else { failures + 1 };
        defmt::error!("the radio does not answer; starting it anew ({=u8} in a row)", failures);
        if failures >= FAILURES_MAX {
            // Without progress the watchdog is not fed.
            core::future::pending::<()>().await;
        }
        // A frame that was on its way is lost on the air, as far as the node is concerned: it may have been sent.
        if driver.waiting.take().is_some() {
            SENT.signal(Sent::ChannelBusy);
        }
        Radio::configure(&settings);
    }
}

/// A frame on its way to the air.
struct Waiting {
    frame: Frame,
    backoff: Backoff,
    due: Instant,
}

struct Driver {
    radio: Radio,
    rng: Rng,
    waiting: Option<Waiting>,
    /// Nothing of one's own is begun before this.
    quiet_until: Instant,
    silent_looks: u8,
}

impl Driver {
    /// Serves until the chip does not answer.
    async fn serve(&mut self) -> Result<core::convert::Infallible, Stuck> {
        self.radio.listen()?;
        loop {
            progress::tick(Part::Radio);
            match select3(Radio::frame_end(), TO_ACKNOWLEDGE.wait(), next_act(self.due())).await {
                Either3::First(()) => self.receive(),
                Either3::Second((frame, at)) => self.acknowledge(&frame, at).await?,
                Either3::Third(Act::Begin(frame)) => self.begin(frame),
                Either3::Third(Act::Due) => self.attempt().await?,
                Either3::Third(Act::Look) => self.look()?,
            }
        }
    }

    /// When the waiting frame's back-off is over.
    fn due(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.due.max(self.quiet_until))
    }

    /// Takes the frame that has ended. The receiver is on again before anything else is done.
    fn receive(&mut self) {
        let Some(received) = self.radio.take_frame() else {
            count(&COUNTERS.damaged);
            return;
        };
        self.silent_looks = 0;
        COUNTERS.silent_looks.store(0, Ordering::Relaxed);
        self.quiet_until = received.at + QUIET;
        if RECEIVED.try_send(received).is_err() {
            count(&COUNTERS.overrun);
        }
    }

    fn begin(&mut self, frame: Frame) {
        let mut backoff = Backoff::new();
        // The first wait always exists.
        let wait = backoff.next_wait(&mut self.rng).unwrap_or_default();
        self.waiting = Some(Waiting { frame, backoff, due: clock::now() + wait });
    }

    /// Looks whether the channel is clear, and sends if it is.
    async fn attempt(&mut self) -> Result<(), Stuck> {
        if Radio::is_receiving() {
            // What is coming in is received to its end; it may be for this node, and it is on the channel.
            let end = select3(Radio::frame_end(), core::future::pending::<()>(), Timer::after(FRAME_END_WITHIN)).await;
            if let Either3::First(()) = end {
                self.receive();
                return Ok(());
            }
            Radio::forget_frame_start();
        }
        let Some(mut waiting) = self.waiting.take() else { return Ok(()) };
        let held_until = HELD_UNTIL.lock(Cell::get);
        if clock::now() < held_until {
            waiting.due = held_until + UNIT.times(self.rng.below(AFTER_HOLD_UNITS));
            self.waiting = Some(waiting);
            return Ok(());
        }
        match self.radio.send_if_clear(&waiting.frame).await? {
            Outcome::Sent => {
                count_airtime(&waiting.frame);
                SENT.signal(Sent::Done);
            }
            Outcome::Busy => match waiting.backoff.next_wait(&mut self.rng) {
                Some(wait) => {
                    waiting.due = clock::now() + wait;
                    self.waiting = Some(waiting);
                }
                None => SENT.signal(Sent::ChannelBusy),
            },
        }
        self.radio.listen()
    }

    /// Sends an acknowledgement at its time. One that came too late would meet somebody else's frame.
    async fn acknowledge(&mut self, frame: &Frame, at: Instant) -> Result<(), Stuck> {
        if self.radio.send_at(frame, at).await? {
            count_airtime(frame);
            self.quiet_until = Instant::ZERO;
        } else {
            count(&COUNTERS.late);
        }
        self.radio.listen()
    }

    /// Nothing has happened for a while: is the receiver really on?
    fn look(&mut self) -> Result<(), Stuck> {
        self.silent_looks = self.silent_looks.saturating_add(1);
        count(&COUNTERS.silent_looks);
        if self.silent_looks >= SILENT_LOOKS {
            self.silent_looks = 0;
            Radio::turn_off()?;
            return self.radio.listen();
        }
        if Radio::is_listening() { Ok(()) } else { Err(Stuck) }
    }
}

fn count_airtime(frame: &Frame) {
    let micros = u32::try_from(airtime(frame.as_slice().len()).as_micros()).unwrap_or(0);
    COUNTERS.on_air_us.fetch_add(micros, Ordering::Relaxed);
}

/// What to do when neither a frame nor an acknowledgement comes first.
enum Act {
    Begin(Frame),
    Due,
    Look,
}

/// Waits for the back-off where a frame waits, otherwise for one to send; and not longer than a look takes to be due.
async fn next_act(due: Option<Instant>) -> Act {
    let look = Timer::after(LOOK_EVERY);
    if let Some(due) = due {
        Timer::at(clock::tick_at_or_after(due)).await;
        return Act::Due;
    }
    match select3(TO_SEND.wait(), look, core::future::pending::<()>()).await {
        Either3::First(frame) => Act::Begin(frame),
        _ => Act::Look,
    }
}
