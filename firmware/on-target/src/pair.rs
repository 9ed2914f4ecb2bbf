//! Two boards with this test: each calls until the other answers.
//!
//! A call is an ordinary frame after a look at the channel. The answer is timed by the chip, as acknowledgements are: its
//! first bit leaves a turn-round after the end of the call. The caller measures when it arrives.

use common::mac::TURN_ROUND;
use common::mac::phy::{ACK_BYTES, airtime, received};
use common::time::Duration;
use embassy_futures::block_on;
use embassy_nrf::pac::FICR;
use embassy_time::{Instant, Timer, with_deadline};

use crate::clock;
use crate::radio::buffers::{self, Buffer};
use crate::radio::chip::{Radio, Stuck};
use crate::radio::{Received, Settings};

/// A channel that the demo network does not use.
const CHANNEL: u8 = 26;

/// How long a partner is waited for.
pub const PATIENCE_S: u64 = 20;

/// A board is satisfied after this many answers. It goes on answering for a while, for the sake of the other.
const ENOUGH: u32 = 20;
const LINGER_S: u64 = 3;

/// What a call and an answer begin with. No frame of a network does: its type would be reserved.
const CALL: u8 = 0x07;
const ANSWER: u8 = 0x17;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, defmt::Format)]
pub struct Outcome {
    pub calls: u32,
    pub answers: u32,
    /// Calls of the partner that were answered in time, and that were not.
    pub answered: u32,
    pub late: u32,
    /// Frames whose checksum was wrong.
    pub damaged: u32,
    /// Calls that found the channel busy.
    pub busy: u32,
    pub strongest_dbm: i8,
    pub weakest_dbm: i8,
    /// From the end of a call to the end of its answer, in microseconds: the shortest and the longest.
    pub shortest_us: u32,
    pub longest_us: u32,
}

/// What the time from the end of a call to the end of its answer should be.
pub fn expected_us() -> u32 {
    let expected: Duration = TURN_ROUND + airtime(ACK_BYTES);
    u32::try_from(expected.as_micros()).unwrap_or(u32::MAX)
}

/// Calls and answers until there were enough of both, or the partner's patience is over.
pub fn run() -> Result<Outcome, Stuck> {
    let settings = Settings { channel: CHANNEL, power_dbm: 0 };
    let mut side = Side {
        radio: Radio::new(&settings),
        output: buffers::output(),
        chip: FICR.deviceid(0).read().to_le_bytes(),
        number: 0,
        called: None,
        outcome: Outcome { strongest_dbm: i8::MIN, shortest_us: u32::MAX, ..Outcome::default() },
    };
    block_on(side.converse())?;
    Ok(side.outcome)
}

struct Side {
    radio: Radio,
    output: &'static mut Buffer,
    /// Tells two boards apart, and their calls.
    chip: [u8; 4],
    number: u8,
    /// When the last call ended, while its answer is missing.
    called: Option<common::time::Instant>,
    outcome: Outcome,
}

impl Side {
    async fn converse(&mut self) -> Result<(), Stuck> {
        let mut deadline = Instant::now() + embassy_time::Duration::from_secs(PATIENCE_S);
        let mut is_content = false;
        self.radio.listen()?;
        while Instant::now() < deadline {
            // Two boards that were started together must not call in step: the chip's number spreads them.
            let spread = u64::from(self.chip[usize::from(self.number % 4)]);
            let next_call = Instant::now() + embassy_time::Duration::from_micros(20_000 + spread * 100);
            while with_deadline(next_call, Radio::frame_end()).await.is_ok() {
                self.receive().await?;
            }
            self.call().await?;
            if !is_content && self.outcome.answers >= ENOUGH && self.outcome.answered >= ENOUGH {
                is_content = true;
                deadline = Instant::now() + embassy_time::Duration::from_secs(LINGER_S);
            }
        }
        Radio::turn_off()
    }

    async fn call(&mut self) -> Result<(), Stuck> {
        self.number = self.number.wrapping_add(1);
        let [a, b, c, d] = self.chip;
        buffers::fill(self.output, &[CALL, self.number, a, b, c, d]);
        let was_clear = self.radio.send_if_clear(self.output).await?;
        let ended = clock::now();
        self.radio.listen()?;
        self.outcome.calls += 1;
        self.called = was_clear.then_some(ended);
        if !was_clear {
            self.outcome.busy += 1;
            Timer::after_micros(500).await;
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<(), Stuck> {
        let (at, taken) = self.radio.take_frame();
        let Ok(Received { rssi_dbm, buffer, .. }) = taken else {
            self.outcome.damaged += 1;
            return Ok(());
        };
        let frame: [u8; 6] = received(buffer).and_then(|frame| frame.first_chunk().copied()).unwrap_or_default();
        buffers::give_back(buffer);
        let [kind, number, from @ ..] = frame;
        let outcome = &mut self.outcome;
        match kind {
            CALL => {
                let mut answer = [0; ACK_BYTES];
                let header = [ANSWER, number, from[0], from[1], from[2], from[3]];
                for (byte, value) in answer.iter_mut().zip(header) {
                    *byte = value;
                }
                self.radio.prepare_answer(answer, at + TURN_ROUND);
                let is_sent = self.radio.send_answer().await?;
                outcome.answered += u32::from(is_sent);
                outcome.late += u32::from(!is_sent);
                self.radio.listen()?;
            }
            ANSWER if from == self.chip && number == self.number => {
                let Some(called) = self.called.take() else { return Ok(()) };
                let took = u32::try_from(at.since(called).as_micros()).unwrap_or(u32::MAX);
                outcome.weakest_dbm = if outcome.answers == 0 { rssi_dbm } else { outcome.weakest_dbm.min(rssi_dbm) };
                outcome.strongest_dbm = outcome.strongest_dbm.max(rssi_dbm);
                outcome.shortest_us = outcome.shortest_us.min(took);
                outcome.longest_us = outcome.longest_us.max(took);
                outcome.answers += 1;
            }
            _ => {}
        }
        Ok(())
    }
}
