//! What is under way between this node and its neighbours: messages that wait, the frame in flight, who is still to
//! acknowledge it, the acknowledgement that is owed, and messages that have arrived.

use heapless::Vec;

use super::body::Parcel;
use super::data::DataFlight;
use super::frame::{ACK_BYTES, Answered};
use super::pool::{Pool, Slot, Slots};
use crate::limits::BUNDLE_MAX;
use crate::short_list::retain;
use crate::time::Instant;
use crate::types::NodeId;

/// A frame that the driver has and has not reported as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InFlight {
    Hello { is_brief: bool },
    Rel(Flight),
    Data(DataFlight),
}

/// A frame with messages, or with a question, that neighbours may acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    pub answered: Answered,
    /// Who has not acknowledged it yet.
    pub to: Slots,
    /// How many neighbours answer right away, one after the other.
    pub answers: u8,
}

/// An acknowledgement to be sent at a set time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub bytes: [u8; ACK_BYTES],
    pub at: Instant,
}

impl Reply {
    const NONE: Self = Self { bytes: [0; ACK_BYTES], at: Instant::NEVER };
}

#[derive(Clone, Debug)]
pub struct Exchange {
    pub pool: Pool,
    in_flight: Option<InFlight>,
    /// The last frame that asked for answers.
    asked: Option<Flight>,
    /// The acknowledgement that this node owes.
    reply: Reply,
    /// This node keeps off the channel until then, because others are answering.
    quiet_until: Instant,
    /// What arrived with the last frame. The node collects it at once, so one frame's worth is enough.
    inbox: Vec<(NodeId, Parcel), BUNDLE_MAX, u8>,
}

impl Exchange {
    pub const fn new() -> Self {
        Self {
            pool: Pool::new(),
            in_flight: None,
            asked: None,
            reply: Reply::NONE,
            quiet_until: Instant::ZERO,
            inbox: Vec::new(),
        }
    }

    /// Whether a frame is with the driver.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Whether the driver has a frame for all of these.
    pub fn is_under_way(&self, to: Slots) -> bool {
        matches!(&self.in_flight, Some(InFlight::Rel(flight)) if to.without(flight.to).is_empty())
    }

    /// Keeps off the channel no longer than until then.
    pub fn audit(&mut self, latest: Instant) {
        self.quiet_until = self.quiet_until.min(latest);
    }

    /// Gives a frame to the driver.
    pub fn launch(&mut self, frame: InFlight) {
        if let InFlight::Rel(_) = frame {
            // An answer to an earlier frame that comes only now must not be taken for one to these messages.
            self.asked = None;
        }
        self.in_flight = Some(frame);
    }

    /// The driver is done with the frame in flight.
    pub fn land(&mut self) -> Option<InFlight> {
        self.in_flight.take()
    }

    /// Waits for answers to this frame.
    pub fn ask(&mut self, flight: Flight) {
        self.asked = Some(flight);
    }

    /// The frame that still waits for answers.
    pub fn asked(&self) -> Option<&Flight> {
        self.asked.as_ref()
    }

    pub fn has_answered(&mut self, slot: Slot) {
        if let Some(asked) = &mut self.asked {
            asked.to = asked.to.without(Slots::of(slot));
        }
    }

    /// Ignores an answer that a neighbour may still send: it would seem to answer the messages that replace these.
    pub fn no_longer_asked(&mut self, slot: Slot) {
        if let Some(InFlight::Rel(flight)) = &mut self.in_flight {
            flight.to = flight.to.without(Slots::of(slot));
        }
        self.has_answered(slot);
    }

    /// The link to a neighbour is down: drops what waits for it, and what arrived over it and belongs to a session that is
    /// over.
    pub fn forget(&mut self, slot: Slot, id: NodeId) {
        retain(&mut self.inbox, |(from, _)| *from != id);
        self.pool.forget(slot);
        self.no_longer_asked(slot);
    }

    /// Drops older states that wait for a neighbour, of whose messages the first `sent` are not acknowledged yet. Where those
    /// are states as well, they go too, and this returns true: it does not matter then whether they arrived, and all
    /// neighbours get the same frame again.
    pub fn replace_states(&mut self, slot: Slot, sent: u8) -> bool {
        let are_replaced = sent > 0 && self.pool.are_states(slot, sent);
        if are_replaced {
            self.pool.delivered(slot, sent);
            self.no_longer_asked(slot);
        }
        self.pool.replace_older(slot, if are_replaced { 0 } else { sent });
        are_replaced
    }

    pub fn owe(&mut self, reply: Reply) {
        self.reply = reply;
    }

    pub fn take_reply(&mut self) -> Option<Reply> {
        let reply = core::mem::replace(&mut self.reply, Reply::NONE);
        (reply.at != Instant::NEVER).then_some(reply)
    }

    pub fn quiet_until(&self) -> Instant {
        self.quiet_until
    }

    /// Keeps off the channel at least until then, because others answer each other.
    pub fn keep_quiet(&mut self, until: Instant) {
        self.quiet_until = self.quiet_until.max(until);
    }

    /// Keeps off the channel until then, because others answer this node.
    pub fn await_answers(&mut self, until: Instant) {
        self.quiet_until = until;
    }

    /// How many more messages may arrive before they are collected.
    pub fn inbox_room(&self) -> usize {
        BUNDLE_MAX - self.inbox.len()
    }

    /// Puts a message into the inbox; false where it has no room.
    pub fn deliver(&mut self, from: NodeId, message: &[u8]) -> bool {
        Parcel::from_slice(message).is_ok_and(|parcel| self.inbox.push((from, parcel)).is_ok())
    }

    pub fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// The oldest message that has arrived.
    pub fn take_mail(&mut self) -> Option<(NodeId, Parcel)> {
        self.has_mail().then(|| self.inbox.remove(0))
    }
}
