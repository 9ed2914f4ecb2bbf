//! The radio's driver: it listens whenever it does not send.
//!
//! The task runs above the node. A received frame is handed on by its buffer, and the receiver is on again before anybody
//! looks at it. When to send what is decided by [`Mac`], the same as in the simulator; here is what the chip does about
//! it. No send is ever cancelled, and every wait for the chip has an end: a radio that does not answer is started again,
//! and one that does not answer then either is left to the watchdog.

mod buffers;
mod chip;
mod wiring;

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use common::board::watchdog::Part;
use common::host_link::Call;
use common::mac::phy::{ACK_BYTES, airtime};
use common::mac::{Decision, Mac, MacEvent, Sent};
use common::time::{Duration, Instant};
use embassy_futures::select::{Either4, select4};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::signal::Signal;
use embassy_time::Timer;

use self::buffers::RECEIVED_MAX;
pub use self::buffers::{Buffer, fill, give_back, output};
use self::chip::{Dropped, Radio, Stuck};
use crate::{clock, progress, record};

/// How often a receiver that hears nothing is checked.
const CHECK_EVERY: embassy_time::Duration = embassy_time::Duration::from_millis(1_000);

/// Checks without a frame after which the receiver is started again, in case it only seems to listen.
const SILENT_CHECKS: u8 = 30;

/// Failures in a row after which the watchdog is left to end it.
const FAILURES_MAX: u8 = 3;

/// A radio that has worked for this long since its last failure is not failing in a row.
const WORKED: Duration = Duration::from_millis(10_000);

/// A frame for the node, which returns the buffer when it has read it.
pub struct Received {
    /// When it ended.
    pub at: Instant,
    pub rssi_dbm: i8,
    /// The frame behind its length byte, which was checked.
    pub buffer: &'static mut Buffer,
}

/// An acknowledgement, and when its first bit leaves.
pub struct Answer {
    pub bytes: [u8; ACK_BYTES],
    pub at: Instant,
}

/// What the node makes of the frames it was handed.
#[derive(Clone, Copy)]
pub struct Verdict {
    /// How many it has judged; this runs over.
    pub judged: u32,
    /// Others answer each other until then, or are about to answer this node.
    pub quiet_until: Instant,
}

/// What the radio is told once.
pub struct Settings {
    /// 11 to 26.
    pub channel: u8,
    /// One of the chip's.
    pub power_dbm: i8,
    /// For the MAC.
    pub seed: u64,
}

/// Frames for the node.
pub static RECEIVED: Channel<CriticalSectionRawMutex, Received, RECEIVED_MAX> = Channel::new();
/// The frame that is to be sent when the channel is clear. There is at most one: its buffer comes back with [`SENT`].
pub static TO_SEND: Signal<CriticalSectionRawMutex, &'static mut Buffer> = Signal::new();
/// The acknowledgement that is to be sent at a time.
pub static TO_ANSWER: Signal<CriticalSectionRawMutex, Answer> = Signal::new();
/// The node's latest verdict.
pub static VERDICT: Mutex<CriticalSectionRawMutex, Cell<Verdict>> =
    Mutex::new(Cell::new(Verdict { judged: 0, quiet_until: Instant::ZERO }));
/// What became of the frame, and its buffer.
pub static SENT: Signal<CriticalSectionRawMutex, (Sent, &'static mut Buffer)> = Signal::new();

/// What happened to frames on this side of the node, and how long the radio sent.
pub struct Counters {
    /// Received frames that the node had no room for.
    pub overrun: AtomicU32,
    /// Frames with a wrong checksum or an impossible length.
    pub damaged: AtomicU32,
    /// Acknowledgements that came too late and were not sent.
    pub late: AtomicU32,
    /// Times the chip did not answer and was restarted.
    pub restarts: AtomicU32,
    /// Microseconds on the air; it runs over.
    pub on_air_us: AtomicU32,
    /// Checks in a row at which nothing had been heard.
    pub silent_checks: AtomicU32,
}

pub static COUNTERS: Counters = Counters {
    overrun: AtomicU32::new(0),
    damaged: AtomicU32::new(0),
    late: AtomicU32::new(0),
    restarts: AtomicU32::new(0),
    on_air_us: AtomicU32::new(0),
    silent_checks: AtomicU32::new(0),
};

pub(crate) fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Runs the radio for ever.
#[embassy_executor::task]
pub async fn run(settings: Settings) -> ! {
    let mut driver =
        Driver { radio: Radio::new(&settings), mac: Mac::new(settings.seed), frame: None, handed: 0, silent_checks: 0 };
    record::call(clock::now(), || Call::MacStart { seed: settings.seed });
    let mut failures = 0;
    loop {
        let began = clock::now();
        let Err(Stuck) = driver.serve().await;
        count(&COUNTERS.restarts);
        failures = if clock::now().since(began) > WORKED { 1 } else { failures + 1 };
        defmt::error!("the radio does not answer; starting it again ({=u8} in a row)", failures);
        if failures >= FAILURES_MAX {
            // Without progress the watchdog is not fed.
            core::future::pending::<()>().await;
        }
        driver.tell(clock::now(), MacEvent::Reset);
        Radio::configure(&settings);
    }
}

struct Driver {
    radio: Radio,
    mac: Mac,
    /// The frame that waits for a clear channel.
    frame: Option<&'static mut Buffer>,
    /// Frames handed to the node; this runs over.
    handed: u32,
    silent_checks: u8,
}

impl Driver {
    /// Serves until the chip does not answer.
    async fn serve(&mut self) -> Result<core::convert::Infallible, Stuck> {
        self.radio.listen()?;
        loop {
            progress::tick(Part::Radio);
            let turn = self.mac.poll_timeout();
            let wake = turn.map_or_else(|| embassy_time::Instant::now() + CHECK_EVERY, clock::tick_at_or_after);
            match select4(Radio::frame_end(), TO_ANSWER.wait(), TO_SEND.wait(), Timer::at(wake)).await {
                Either4::First(()) => self.receive(),
                Either4::Second(answer) => self.take_answer(&answer),
                Either4::Third(frame) => {
                    self.frame = Some(frame);
                    self.tell(clock::now(), MacEvent::Send);
                }
                Either4::Fourth(()) if turn.is_some() => self.turn().await?,
                Either4::Fourth(()) => self.check_receiver()?,
            }
        }
    }

    /// Tells the MAC what happened, and the node if its frame is through.
    fn tell(&mut self, now: Instant, event: MacEvent) -> Decision {
        let decision = self.mac.handle(now, event);
        record::call(now, || Call::Mac { event, decision, next: self.mac.poll_timeout() });
        if let Decision::Through(sent) = decision
            && let Some(frame) = self.frame.take()
        {
            SENT.signal((sent, frame));
        }
        decision
    }

    /// Hands on the frame that has ended.
    fn receive(&mut self) {
        let (at, taken) = self.radio.take_frame();
        let is_sound = !matches!(taken, Err(Dropped::Damaged));
        match taken {
            Ok(received) => {
                self.handed = self.handed.wrapping_add(1);
                // There are no more buffers than places for them.
                if let Err(full) = RECEIVED.try_send(received) {
                    self.handed = self.handed.wrapping_sub(1);
                    let embassy_sync::channel::TrySendError::Full(received) = full;
                    give_back(received.buffer);
                    count(&COUNTERS.overrun);
                }
            }
            Err(Dropped::Overrun) => count(&COUNTERS.overrun),
            Err(Dropped::Damaged) => count(&COUNTERS.damaged),
        }
        if is_sound {
            self.silent_checks = 0;
            COUNTERS.silent_checks.store(0, Ordering::Relaxed);
        }
        self.tell(at, MacEvent::FrameEnd { is_sound });
    }

    fn take_answer(&mut self, answer: &Answer) {
        if self.tell(clock::now(), MacEvent::Answer { at: answer.at }) == Decision::Full {
            count(&COUNTERS.late);
        } else {
            self.radio.prepare_answer(answer.bytes, answer.at);
        }
    }

    /// Does what the MAC decides on at the time that it asked for.
    async fn turn(&mut self) -> Result<(), Stuck> {
        let Verdict { judged, quiet_until } = VERDICT.lock(Cell::get);
        let judged = (judged == self.handed).then_some(quiet_until);
        match self.tell(clock::now(), MacEvent::Turn { is_receiving: Radio::is_receiving(), judged }) {
            Decision::Attempt => self.attempt().await,
            Decision::SendAt(_) => self.send_answer().await,
            Decision::Late => {
                count(&COUNTERS.late);
                Ok(())
            }
            Decision::Wait | Decision::Through(_) | Decision::Full => Ok(()),
        }
    }

    async fn attempt(&mut self) -> Result<(), Stuck> {
        let was_clear = match &mut self.frame {
            Some(frame) => {
                let was_clear = self.radio.send_if_clear(frame).await?;
                if was_clear {
                    count_airtime(buffers::airtime(frame));
                }
                was_clear
            }
            None => true,
        };
        self.radio.listen()?;
        self.tell(clock::now(), MacEvent::Attempted { was_clear });
        Ok(())
    }

    async fn send_answer(&mut self) -> Result<(), Stuck> {
        if self.radio.send_answer().await? {
            count_airtime(airtime(ACK_BYTES));
        } else {
            count(&COUNTERS.late);
        }
        self.radio.listen()?;
        self.tell(clock::now(), MacEvent::Answered);
        Ok(())
    }

    /// Nothing has happened for a while: is the receiver really on?
    fn check_receiver(&mut self) -> Result<(), Stuck> {
        self.silent_checks = self.silent_checks.saturating_add(1);
        count(&COUNTERS.silent_checks);
        if self.silent_checks >= SILENT_CHECKS {
            self.silent_checks = 0;
            Radio::turn_off()?;
            return self.radio.listen();
        }
        if Radio::is_listening() { Ok(()) } else { Err(Stuck) }
    }
}

fn count_airtime(airtime: Duration) {
    COUNTERS.on_air_us.fetch_add(u32::try_from(airtime.as_micros()).unwrap_or(0), Ordering::Relaxed);
}
