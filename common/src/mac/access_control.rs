//! Channel access: when the waiting frame and the owed acknowledgement leave, and when they must not.
//!
//! Source: unslotted CSMA-CA of IEEE 802.15.4, with two additions for acknowledgements that leave at a set time without
//! carrier sensing. A frame heard may be answered, so the waiting frame is held until the node has judged what was heard, and
//! for as long after that as the node says that others answer. And a turn that comes at a bad moment is put off to a random
//! time after it, because everybody who waited for the same moment would otherwise transmit at once.
//!
//! Model: a half-duplex radio, at most one frame that waits for a clear channel and at most one acknowledgement. The MAC
//! holds no bytes and touches no radio. Its driver (the radio task of a board, or the simulated air) reports every
//! [`MacEvent`] with the time, does what the [`Decision`] says, and reports [`MacEvent::Turn`] at
//! [`poll_timeout`](Mac::poll_timeout). The same events with the same seed give the same decisions at the same times.
//!
//! ```text
//!         Send                     Turn: Attempt                    Attempted, clear
//!  idle ---------> backing off -----------------------> attempting -----------------> idle   Through(Done)
//!                   ^  |   ^                              |     |  fifth time busy
//!                   |  |   +------ longer back-off -------+     +-------------------> idle   Through(ChannelBusy)
//!                   |  | Turn during a reception, a hold, or before an owed acknowledgement
//!                   +--+ put off: a fresh draw after its end; no attempt is counted
//!
//!             Answer                Turn, shortly before its time: SendAt            Answered
//!  none owed ---------> owed -------------------------------------------> answering ---------> none owed
//!                        +--- Turn, too late: Late ---> none owed
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use super::Sent;
use super::backoff::{Backoff, UNIT};
use super::phy::{ACK_BYTES, airtime};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// From the end of a frame to the first answer to it. An emulated board takes 380 to 450 µs from the frame's end to the decision
/// to acknowledge it, and 530 to 680 µs with its instruction cache off, in the median; a frame that comes while another is being
/// judged takes longer. At 800 µs, one acknowledgement in four came too late without the cache where sixteen boards hear each
/// other; at 1,000 µs fewer than one in a hundred does.
pub const TURN_ROUND: Duration = Duration::from_micros(1_000);

/// The time that each answer has.
pub const ANSWER_SLOT: Duration = Duration::from_micros(1_000);

/// How long a frame heard holds back the waiting one while the node has not judged it: longer than the first answer takes.
pub const HEARD_HOLD: Duration = Duration::from_micros(1_800);
const _: () = assert!(HEARD_HOLD.as_micros() > TURN_ROUND.as_micros() + airtime(ACK_BYTES).as_micros());

/// A turn that was put off comes back after a random number of back-off units below this, counted from the end of what was in
/// its way.
const PUT_OFF_UNITS: u32 = 8;

/// A reception is over after this time, whatever its length byte says; the longest frame takes 4.3 ms.
const RECEPTION_MAX: Duration = Duration::from_micros(6_000);
const _: () = assert!(RECEPTION_MAX.as_micros() > airtime(super::phy::FRAME_MAX).as_micros());

/// The driver is asked to send an acknowledgement this long before its first bit is due: a driver whose timer has ticks of
/// 31 µs needs the time, and the receiver listens until then.
pub const ANSWER_LEAD: Duration = Duration::from_micros(200);

/// The least time from the decision to the first bit: setting up the transmitter, and its ramp.
pub const ANSWER_SET_UP: Duration = Duration::from_micros(60);

/// What happened at the radio or was asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MacEvent {
    /// The node gave out a frame that waits for a clear channel.
    Send,
    /// The node gave out an acknowledgement whose first bit is due at this time.
    Answer { at: Instant },
    /// The receiver found the end of a frame at the time of this event.
    FrameEnd {
        /// Its checksum is right, so that the node sees it and others may answer it.
        is_sound: bool,
    },
    /// The time that [`Mac::poll_timeout`] asked for has come.
    Turn {
        /// A frame is coming in.
        is_receiving: bool,
        /// Until when others answer each other, where the node has judged every frame heard so far.
        judged: Option<Instant>,
    },
    /// The attempt that was decided on is over: the frame was on the air, or the channel was not clear.
    Attempted { was_clear: bool },
    /// The acknowledgement that was decided on is over, or was too late for the radio.
    Answered,
    /// The radio failed and was started again; nothing that waited is sent.
    Reset,
}

/// What the driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Decision {
    /// Nothing, until the next event.
    Wait,
    /// Assess the channel and send the waiting frame if it is clear.
    Attempt,
    /// Send the acknowledgement with its first bit at this time, whatever is on the channel.
    SendAt(Instant),
    /// Drop the acknowledgement and count it: sent late, it would meet somebody else's frame.
    Late,
    /// The waiting frame is done with; tell the node.
    Through(Sent),
    /// A frame of this kind waits already; the new one is refused.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Radio {
    Free,
    Attempting,
    Answering,
}

/// The channel access of one radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac {
    rng: Rng,
    /// The hold after the last sound frame, for as long as the node has not judged it.
    heard_until: Instant,
    /// When the waiting frame has its turn; never if none waits or it is being attempted.
    turn: Instant,
    /// When the owed acknowledgement leaves; never if none is owed or it is leaving.
    answer_at: Instant,
    backoff: Backoff,
    radio: Radio,
    /// The turn came during a reception, whose end gives it back.
    is_put_off: bool,
}

impl Mac {
    pub const fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            heard_until: Instant::ZERO,
            turn: Instant::NEVER,
            answer_at: Instant::NEVER,
            backoff: Backoff::new(),
            radio: Radio::Free,
            is_put_off: false,
        }
    }

    /// Takes note of an event at its time.
    pub fn handle(&mut self, now: Instant, event: MacEvent) -> Decision {
        match event {
            MacEvent::Send => self.send(now),
            MacEvent::Answer { at } => self.answer(at),
            MacEvent::FrameEnd { is_sound } => {
                self.frame_end(now, is_sound);
                Decision::Wait
            }
            MacEvent::Turn { is_receiving, judged } => self.take_turn(now, is_receiving, judged),
            MacEvent::Attempted { was_clear } => self.attempted(now, was_clear),
            MacEvent::Answered => {
                // A driver that says so by mistake must not end an attempt: its frame would vanish.
                if self.radio == Radio::Answering {
                    self.radio = Radio::Free;
                }
                Decision::Wait
            }
            MacEvent::Reset => self.reset(),
        }
    }

    /// When [`MacEvent::Turn`] is next wanted. While the radio does what was decided there is nothing to wait for but its end.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.radio != Radio::Free {
            return None;
        }
        let answer = if self.answer_at == Instant::NEVER { Instant::NEVER } else { self.answer_at - ANSWER_LEAD };
        let next = self.turn.min(answer);
        (next != Instant::NEVER).then_some(next)
    }

    /// Whether a frame may be given to it that waits for a clear channel.
    pub fn has_room(&self) -> bool {
        self.turn == Instant::NEVER && self.radio != Radio::Attempting
    }

    /// Whether an acknowledgement may be given to it.
    pub fn has_room_for_answer(&self) -> bool {
        self.answer_at == Instant::NEVER && self.radio != Radio::Answering
    }

    /// When the hold after the last sound frame ends, for drivers that know when their node will have judged it.
    pub fn heard_until(&self) -> Instant {
        self.heard_until
    }

    /// Whether the end of a reception, whatever came of it, is waited for.
    pub fn is_put_off(&self) -> bool {
        self.is_put_off
    }

    /// A frame ended at the receiver: what [`MacEvent::FrameEnd`] does. True if the next turn has changed.
    pub fn frame_end(&mut self, now: Instant, is_sound: bool) -> bool {
        if is_sound {
            self.heard_until = now + HEARD_HOLD;
        }
        let is_given_back = core::mem::take(&mut self.is_put_off);
        if is_given_back {
            self.put_off_to(now);
        }
        is_given_back
    }

    fn send(&mut self, now: Instant) -> Decision {
        if !self.has_room() {
            return Decision::Full;
        }
        self.backoff = Backoff::new();
        self.is_put_off = false;
        self.back_off(now);
        Decision::Wait
    }

    fn answer(&mut self, at: Instant) -> Decision {
        if !self.has_room_for_answer() {
            return Decision::Full;
        }
        self.answer_at = at;
        Decision::Wait
    }

    fn take_turn(&mut self, now: Instant, is_receiving: bool, judged: Option<Instant>) -> Decision {
        if self.radio != Radio::Free {
            return Decision::Wait;
        }
        if self.answer_at != Instant::NEVER && self.answer_at <= now + ANSWER_LEAD {
            return self.take_answer(now);
        }
        if now < self.turn {
            return Decision::Wait;
        }
        // What is coming in is received to its end: it may be for this node, and it is on the channel.
        if is_receiving && !self.is_put_off {
            self.is_put_off = true;
            self.turn = now + RECEPTION_MAX;
            return Decision::Wait;
        }
        self.is_put_off = false;
        let held_until = self.held_until(judged);
        if now < held_until {
            self.put_off_to(held_until);
            return Decision::Wait;
        }
        self.turn = Instant::NEVER;
        self.radio = Radio::Attempting;
        Decision::Attempt
    }

    fn take_answer(&mut self, now: Instant) -> Decision {
        let at = core::mem::replace(&mut self.answer_at, Instant::NEVER);
        if at < now + ANSWER_SET_UP {
            return Decision::Late;
        }
        self.radio = Radio::Answering;
        Decision::SendAt(at)
    }

    /// Until when nothing of this node's own may be begun.
    fn held_until(&self, judged: Option<Instant>) -> Instant {
        let held = judged.unwrap_or(self.heard_until);
        let answered =
            if self.answer_at == Instant::NEVER { Instant::ZERO } else { self.answer_at + airtime(ACK_BYTES) };
        held.max(answered)
    }

    fn attempted(&mut self, now: Instant, was_clear: bool) -> Decision {
        if self.radio != Radio::Attempting {
            return Decision::Wait;
        }
        self.radio = Radio::Free;
        if was_clear {
            return Decision::Through(Sent::Done);
        }
        if self.back_off(now) { Decision::Wait } else { Decision::Through(Sent::ChannelBusy) }
    }

    /// Draws the next back-off; false if the frame had its last attempt.
    fn back_off(&mut self, now: Instant) -> bool {
        let wait = self.backoff.next_wait(&mut self.rng);
        self.turn = wait.map_or(Instant::NEVER, |wait| now + wait);
        wait.is_some()
    }

    fn put_off_to(&mut self, end: Instant) {
        self.turn = end + UNIT.times(self.rng.below(PUT_OFF_UNITS));
    }

    fn reset(&mut self) -> Decision {
        let had_frame = !self.has_room();
        *self = Self { rng: self.rng.clone(), heard_until: self.heard_until, ..Self::new(0) };
        if had_frame { Decision::Through(Sent::ChannelBusy) } else { Decision::Wait }
    }
}

#[cfg(test)]
mod tests;
