//! The registers of the radio, in its mode for IEEE 802.15.4 at 250 kbit/s.
//!
//! Shortcuts and wires do as much as they can while the processor sleeps until an interrupt. The only busy waits are those for
//! the receiver to be off, which takes less than two microseconds, and they are bounded.

use core::future::poll_fn;
use core::sync::atomic::{Ordering, compiler_fence};
use core::task::Poll;

use common::mac::ANSWER_SET_UP;
use common::mac::phy::{ACK_BYTES, FCS_BYTES, PSDU_MAX, airtime, received};
use common::time::{Duration, Instant};
use embassy_nrf::interrupt;
use embassy_nrf::interrupt::{InterruptExt, Priority};
use embassy_nrf::pac::RADIO;
use embassy_nrf::pac::radio::{regs, vals};
use embassy_sync::waitqueue::AtomicWaker;
use embassy_time::with_timeout;
use static_cell::ConstStaticCell;

use super::buffers::{self, Buffer};
use super::{Received, Settings, wiring};
use crate::{clock, stopwatch};

/// An acknowledgement with its length and its checksum.
const ANSWER_BUFFER: usize = 1 + ACK_BYTES + FCS_BYTES;

/// From starting the transmitter or receiver to the first bit, with the fast ramp-up.
const RAMP: Duration = Duration::from_micros(40);

/// The rest of the time that the MAC leaves: from the decision to send at a time until everything is set up for it.
const SET_UP_US: i64 = (ANSWER_SET_UP.as_micros() - RAMP.as_micros()).cast_signed();

/// What a send may take beyond its ramps, its look at the channel and its airtime before the chip counts as stuck.
const SLACK: Duration = Duration::from_millis(2);

/// Looks at the state before the chip counts as stuck: some hundred microseconds, of which it needs two.
const STATE_LOOKS: u32 = 4_000;

/// The energy from which on the channel counts as busy: about -75 dBm.
const ENERGY_BUSY: u8 = 17;
/// How alike to a carrier the signal must be, and how often, for the channel to be busy.
const CARRIER_LIKENESS: u8 = 45;
const CARRIER_COUNT: u8 = 2;

static WAKER: AtomicWaker = AtomicWaker::new();

/// The chip did not answer.
pub struct Stuck;

/// Why a frame that ended does not reach the node.
pub enum Dropped {
    /// Its checksum is wrong or its length impossible.
    Damaged,
    /// It is sound, but the node is so far behind that every buffer is in use.
    Overrun,
}

/// One moment by the node's clock and by the stopwatch, to convert times of one to the other.
struct Anchor {
    at: Instant,
    count: u32,
}

/// The radio and the memory it reads and writes by itself.
pub struct Radio {
    /// The buffer that is being filled.
    input: &'static mut Buffer,
    answer: &'static mut [u8; ANSWER_BUFFER],
    /// The end of the last frame.
    anchor: Anchor,
}

#[interrupt]
fn RADIO() {
    // The waiting task checks the events and enables interrupts again if it needs them.
    RADIO.intenclr().write(|w| w.0 = u32::MAX);
    WAKER.wake();
}

impl Radio {
    /// Takes the radio into use.
    pub fn new(settings: &Settings) -> Self {
        static ANSWER: ConstStaticCell<[u8; ANSWER_BUFFER]> = ConstStaticCell::new([0; ANSWER_BUFFER]);
        let radio = Self {
            input: buffers::first_input(),
            answer: ANSWER.take(),
            anchor: Anchor { at: clock::now(), count: stopwatch::for_radio() },
        };
        wiring::lay();
        Self::configure(settings);
        interrupt::RADIO.set_priority(Priority::P1);
        enable_interrupt();
        radio
    }

    /// Switches the radio off and on, which forgets everything, and sets it up.
    pub fn configure(settings: &Settings) {
        wiring::disarm();
        RADIO.power().write(|w| w.set_power(false));
        RADIO.power().write(|w| w.set_power(true));
        RADIO.mode().write(|w| w.set_mode(vals::Mode::Ieee802154250kbit));
        RADIO.modecnf0().write(|w| {
            w.set_ru(vals::Ru::Fast);
            w.set_dtx(vals::Dtx::Center);
        });
        RADIO.crccnf().write(|w| {
            w.set_len(vals::Len::Two);
            w.set_skipaddr(vals::Skipaddr::Ieee802154);
        });
        RADIO.crcpoly().write(|w| w.set_crcpoly(0x1_1021));
        RADIO.crcinit().write(|w| w.set_crcinit(0));
        RADIO.pcnf0().write(|w| {
            w.set_lflen(8);
            w.set_plen(vals::Plen::_32bitZero);
            w.set_crcinc(vals::Crcinc::Include);
        });
        // The chip itself never writes beyond the buffer, whatever length comes from the air.
        RADIO.pcnf1().write(|w| w.set_maxlen(u8::try_from(PSDU_MAX).unwrap_or(u8::MAX)));
        RADIO.sfd().write(|w| w.set_sfd(0xA7));
        // Written whole: a register built from zero would leave the correlator off.
        RADIO.ccactrl().write(|w| {
            w.set_ccamode(vals::Ccamode::CarrierOrEdMode);
            w.set_ccaedthres(ENERGY_BUSY);
            w.set_ccacorrthres(CARRIER_LIKENESS);
            w.set_ccacorrcnt(CARRIER_COUNT);
        });
        // Channel 11 is 2405 MHz, and each further one 5 MHz higher; the register counts from 2400.
        RADIO.frequency().write(|w| w.set_frequency(settings.channel.saturating_sub(10).saturating_mul(5)));
        // The register takes the power in dBm as a signed byte. The configuration was checked to name one that exists.
        RADIO.txpower().write_value(regs::Txpower(u32::from(settings.power_dbm.cast_unsigned())));
    }

    /// Turns the receiver on, if it is not.
    pub fn listen(&mut self) -> Result<(), Stuck> {
        if Self::is_listening() {
            return Ok(());
        }
        Self::turn_off()?;
        clear_events();
        RADIO.shorts().write(|w| {
            w.set_rxready_start(true);
            w.set_address_rssistart(true);
        });
        self.point_at_input();
        RADIO.tasks_rxen().write_value(1);
        Ok(())
    }

    /// Whether the receiver is on or about to be.
    pub fn is_listening() -> bool {
        let is_receiver_on = matches!(state(), vals::State::RxRu | vals::State::RxIdle | vals::State::Rx);
        is_receiver_on && RADIO.shorts().read().rxready_start()
    }

    /// Turns the radio off.
    pub fn turn_off() -> Result<(), Stuck> {
        RADIO.shorts().write(|_| {});
        RADIO.intenclr().write(|w| w.0 = u32::MAX);
        RADIO.tasks_disable().write_value(1);
        let is_off = (0..STATE_LOOKS).any(|_| state() == vals::State::Disabled);
        compiler_fence(Ordering::Acquire);
        if is_off { Ok(()) } else { Err(Stuck) }
    }

    /// Waits for the end of a frame. It may be given up without losing anything.
    pub async fn frame_end() {
        event(|| RADIO.events_phyend().read() != 0, |w| w.set_phyend(true)).await;
    }

    /// Whether a frame is coming in.
    pub fn is_receiving() -> bool {
        RADIO.events_framestart().read() != 0 && RADIO.events_phyend().read() == 0
    }

    /// Takes the frame that has ended, and when it ended. The receiver is on again first, with another buffer.
    pub fn take_frame(&mut self) -> (Instant, Result<Received, Dropped>) {
        let is_sound = RADIO.crcstatus().read().crcstatus() == vals::Crcstatus::CrcOk;
        let strength = RADIO.rssisample().read().rssisample();
        let count = stamp();
        clear_events();
        // Without a spare buffer the same one is filled again, and the frame in it is lost.
        let spare = if is_sound { buffers::spare() } else { None };
        let filled = spare.map(|spare| core::mem::replace(&mut self.input, spare));
        self.point_at_input();
        RADIO.tasks_start().write_value(1);

        let since = stopwatch::for_radio().wrapping_sub(count);
        let at = clock::now() - Duration::from_micros(u64::from(since));
        self.anchor = Anchor { at, count };
        // The sample is the strength in dBm without its sign, and at most 127.
        let rssi_dbm = i8::try_from(-i16::from(strength)).unwrap_or(i8::MIN);
        let taken = match filled {
            Some(buffer) if received(buffer).is_some() => Ok(Received { at, rssi_dbm, buffer }),
            Some(buffer) => {
                buffers::give_back(buffer);
                Err(Dropped::Damaged)
            }
            None if is_sound => Err(Dropped::Overrun),
            None => Err(Dropped::Damaged),
        };
        (at, taken)
    }

    /// Assesses the channel and sends if it is clear: whether it was. The chip does both by itself; the radio is off
    /// afterwards.
    pub async fn send_if_clear(&mut self, frame: &mut Buffer) -> Result<bool, Stuck> {
        Self::turn_off()?;
        clear_events();
        point_at(frame);
        RADIO.shorts().write(|w| {
            w.set_rxready_ccastart(true);
            w.set_ccaidle_txen(true);
            w.set_txready_start(true);
            w.set_ccabusy_disable(true);
            w.set_phyend_disable(true);
        });
        RADIO.tasks_rxen().write_value(1);
        within(buffers::airtime(frame) + SLACK, off_again()).await?;
        Ok(RADIO.events_phyend().read() != 0)
    }

    /// Gets an acknowledgement ready that is to be sent at a time. None may be under way.
    pub fn prepare_answer(&mut self, bytes: [u8; ACK_BYTES], at: Instant) {
        let wait = at.since(self.anchor.at).as_micros().saturating_sub(RAMP.as_micros());
        // A time hours away, which has no place in 32 bits, is too late at once.
        wiring::set_start(self.anchor.count.wrapping_add(u32::try_from(wait).unwrap_or(0)));
        let [length, contents @ .., _, _] = &mut *self.answer;
        *length = u8::try_from(ACK_BYTES + FCS_BYTES).unwrap_or(0);
        *contents = bytes;
    }

    /// Sends the acknowledgement that is ready at its time, whatever is on the channel; false if it is too late for
    /// that. The radio is off afterwards.
    pub async fn send_answer(&mut self) -> Result<bool, Stuck> {
        let ahead = || wiring::start().wrapping_sub(stopwatch::for_radio()).cast_signed();
        if i64::from(ahead()) < SET_UP_US {
            return Ok(false);
        }
        Self::turn_off()?;
        clear_events();
        point_at(self.answer);
        RADIO.shorts().write(|w| {
            w.set_txready_start(true);
            w.set_phyend_disable(true);
        });
        wiring::arm();
        if ahead() <= 0 && !wiring::has_started() {
            wiring::disarm();
            return Ok(false);
        }
        let left = Duration::from_micros(u64::from(ahead().max(0).cast_unsigned()));
        let done = within(left + airtime(ACK_BYTES) + SLACK, off_again()).await;
        wiring::disarm();
        done.map(|()| true)
    }

    fn point_at_input(&mut self) {
        point_at(self.input);
    }
}

/// Tells the chip where its memory is. The caller holds the buffer until the chip is done with it.
fn point_at(buffer: &mut [u8]) {
    compiler_fence(Ordering::Release);
    RADIO.packetptr().write_value(buffer.as_mut_ptr() as u32);
}

fn state() -> vals::State {
    RADIO.state().read().state()
}

fn stamp() -> u32 {
    embassy_nrf::pac::TIMER0.cc(stopwatch::FRAME_END).read()
}

fn clear_events() {
    RADIO.events_framestart().write_value(0);
    RADIO.events_phyend().write_value(0);
    RADIO.events_disabled().write_value(0);
    compiler_fence(Ordering::Acquire);
}

/// Waits until a send is through: the shortcuts then turn the radio off.
async fn off_again() {
    event(|| RADIO.events_disabled().read() != 0, |w| w.set_disabled(true)).await;
}

/// Waits for an event of the chip.
async fn event(has_come: impl Fn() -> bool, interrupt: impl Fn(&mut regs::Int)) {
    poll_fn(|cx| {
        WAKER.register(cx.waker());
        if has_come() {
            return Poll::Ready(());
        }
        RADIO.intenset().write(&interrupt);
        Poll::Pending
    })
    .await;
}

async fn within(limit: Duration, done: impl Future<Output = ()>) -> Result<(), Stuck> {
    with_timeout(embassy_time::Duration::from_micros(limit.as_micros()), done).await.map_err(|_| Stuck)
}

#[expect(unsafe_code, reason = "enabling an interrupt")]
fn enable_interrupt() {
    interrupt::RADIO.unpend();
    // SAFETY: its handler is above, and shares nothing with a critical section.
    unsafe { interrupt::RADIO.enable() };
}
