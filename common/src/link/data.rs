//! DATA frames on the air: one at a time, to one linked neighbour, acknowledged at once.
//!
//! ```text
//! idle -> with the driver -> sent, answer awaited -> answered or missing -> told to the layer above -> idle
//! ```
//! They have no session, no numbers and no retries here: their contents may arrive twice or not at all, and the layer
//! above copes with that. They are sent only when the election has nothing to send, and their fate never changes a
//! link.

use super::exchange::InFlight;
use super::frame::{ACK_BYTES, Answered, HEADER_BYTES, Header, Kind, Status, tag_of};
use super::pool::Slot;
use super::receive::Arrival;
use super::security::TAG_BYTES;
use super::{Above, Links, count};
use crate::mac::phy::FRAME_MAX;
use crate::mac::{ANSWER_SLOT, Sent, TURN_ROUND};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// How long after the answer's slot a node still waits: for its end, and for clocks that differ.
const ANSWER_WAIT: Duration = Duration::from_micros(700);

/// How long DATA waits before it looks again, when a neighbouring leader has been silent for two of its hellos. Either
/// the leader is dead, and its neighbours have more urgent things to say, or the channel is too full for its hellos.
const LOOK_AGAIN: Duration = Duration::from_millis(16);

/// A frame that the driver has, or whose answer is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFlight {
    answered: Answered,
    to: NodeId,
}

/// What became of a DATA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataOutcome {
    Answered(Status),
    NoAnswer,
    /// The channel was never clear.
    Unsent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataExchange {
    Idle,
    WithDriver,
    Awaiting { flight: DataFlight, until: Instant },
    Over(DataOutcome),
}

impl Links {
    /// Writes the next DATA frame, where nothing is more urgent.
    pub(super) fn transmit_data(
        &mut self,
        now: Instant,
        buf: &mut [u8; FRAME_MAX],
        above: &mut dyn Above,
    ) -> Option<usize> {
        if self.data != DataExchange::Idle || self.has_more_urgent() || now < self.data_from {
            return None;
        }
        if self.life.is_missed(now, |leader| self.table.is_linked(leader)) {
            self.data_from = now + LOOK_AGAIN;
            return None;
        }
        let (to, length) = above.compose_data(buf.get_mut(HEADER_BYTES..FRAME_MAX - TAG_BYTES)?)?;
        if !self.table.is_linked(to) {
            self.data = DataExchange::Over(DataOutcome::NoAnswer);
            return None;
        }
        let sealed = self.next_header(to, Kind::Data).and_then(|header| {
            let Header { from: sender, device, epoch, counter, .. } = header;
            let length = self.numbering.seal(header, buf, length)?;
            let answered = Answered { sender, device, epoch, counter, tag: tag_of(buf.get(..length)?)? };
            Some((DataFlight { answered, to }, length))
        });
        let Some((flight, length)) = sealed else {
            self.data = DataExchange::Over(DataOutcome::Unsent);
            return None;
        };
        self.data = DataExchange::WithDriver;
        self.exchange.launch(InFlight::Data(flight));
        Some(length)
    }

    /// Whether the election has messages under way, or a neighbour is being asked whether it is there.
    fn has_more_urgent(&self) -> bool {
        !self.exchange.pool.is_empty() || self.table.linked().any(|(_, neighbour)| neighbour.arq.is_probe)
    }

    /// The driver is done with a DATA frame.
    pub(super) fn data_sent(&mut self, now: Instant, flight: DataFlight, sent: Sent) {
        self.data = match sent {
            Sent::Done => {
                let until = now + TURN_ROUND + ANSWER_SLOT + ANSWER_WAIT;
                self.exchange.await_answers(until);
                DataExchange::Awaiting { flight, until }
            }
            Sent::ChannelBusy => {
                count(&mut self.counters.busy);
                DataExchange::Over(DataOutcome::Unsent)
            }
        };
    }

    /// DATA was heard from a neighbour. If the neighbour is being asked whether it is there, that is an answer.
    /// Otherwise it is no sign of life: silence counts from the last hello, or the loss of a talkative node would be
    /// noticed later.
    fn may_be_there(&mut self, now: Instant, slot: Slot) {
        if let Some(neighbour) = self.table.touch(slot).filter(|neighbour| neighbour.arq.is_probe) {
            neighbour.heard_at = now;
            self.is_there(now, slot);
        }
    }

    /// Whether an acknowledgement answers the DATA frame that was sent last.
    pub(super) fn on_data_ack(&mut self, now: Instant, ack: [u8; ACK_BYTES]) -> bool {
        let DataExchange::Awaiting { flight, .. } = self.data else { return false };
        let Some(status) = self.numbering.status(flight.answered, flight.to, ack) else { return false };
        self.data = DataExchange::Over(DataOutcome::Answered(status));
        if let Some(slot) = self.table.find(flight.to) {
            self.may_be_there(now, slot);
        }
        true
    }

    /// A DATA frame for this node, accepted only from linked neighbours. Returns whether it makes sense.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        header: Header,
        slot: Option<Slot>,
        body: &[u8],
        arrival: Arrival,
        above: &mut dyn Above,
    ) -> bool {
        let neighbour = slot.and_then(|slot| self.table.touch(slot));
        let is_linked = neighbour.is_some_and(|neighbour| {
            neighbour.last = header.number();
            neighbour.quality.strengthen(arrival.rssi_dbm);
            neighbour.session.is_up()
        });
        if let Some(slot) = slot {
            self.may_be_there(now, slot);
        }
        let status = if is_linked { above.receive_data(header.from, body) } else { Some(Status::NoSession) };
        if let Some(status) = status {
            self.answer(now + TURN_ROUND, header, arrival.tag, status);
        }
        status.is_some()
    }

    /// A neighbour has answered no DATA frame for a while. If its last hello is not recent either, it is asked whether
    /// it is there, a little sooner than for silence alone. Only the outcome of that question can end the link.
    pub fn ask_whether_there(&mut self, now: Instant, id: NodeId) {
        let neighbour = self.table.find(id).and_then(|slot| self.table.get_mut(slot));
        if let Some(neighbour) = neighbour.filter(|neighbour| neighbour.session.is_up())
            && now.since(neighbour.heard_at).times(2) > neighbour.interval()
        {
            neighbour.suspect(now);
        }
    }

    /// What became of the last DATA frame, once.
    pub fn take_data_outcome(&mut self, now: Instant) -> Option<DataOutcome> {
        let outcome = match self.data {
            DataExchange::Over(outcome) => outcome,
            DataExchange::Awaiting { until, .. } if until <= now => DataOutcome::NoAnswer,
            _ => return None,
        };
        self.data = DataExchange::Idle;
        Some(outcome)
    }

    /// When a DATA frame that is due at this time could be sent, or when the answer to the last one is missing.
    pub fn data_due(&self, due: Instant) -> Instant {
        match self.data {
            DataExchange::Awaiting { until, .. } => until,
            DataExchange::WithDriver => Instant::NEVER,
            DataExchange::Over(_) => Instant::ZERO,
            DataExchange::Idle => {
                let is_free = !self.exchange.is_in_flight() && self.epoch().is_some();
                if is_free && due != Instant::NEVER && !self.has_more_urgent() {
                    due.max(self.quiet_until()).max(self.data_from)
                } else {
                    Instant::NEVER
                }
            }
        }
    }
}
