//! What is under way between this node and its neighbours: messages that wait, the frame in flight, who is still to
//! acknowledge it, the acknowledgement that is owed, and messages that have arrived.

use heapless::Vec;

use super::body::Parcel;
use super::frame::{ACK_BYTES, Answered};
use super::pool::{Pool, Slots};
use crate::limits::BUNDLE_MAX;
use crate::time::Instant;
use crate::types::NodeId;

/// A frame that was given to the driver and is not through yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InFlight {
    Hello,
    Rel(Flight),
}

/// A frame with messages, or with a question, that neighbours may acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    pub answered: Answered,
    /// Who is to acknowledge.
    pub to: Slots,
    /// How many answer at once.
    pub answers: u8,
}

/// An acknowledgement to be sent at a time.
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
    /// The acknowledgement that is owed, at a time that comes.
    reply: Reply,
    /// Others are answering until then.
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

    /// Gives a frame to the driver.
    pub fn launch(&mut self, frame: InFlight) {
        if let InFlight::Rel(_) = frame {
            // An answer to an earlier frame that comes only now must not be taken for one to these messages.
            self.asked = None;
        }
        self.in_flight = Some(frame);
    }

    /// The frame in flight is through.
    pub fn land(&mut self) -> Option<InFlight> {
        self.in_flight.take()
    }

    /// Answers to this frame are waited for.
    pub fn ask(&mut self, flight: Flight) {
        self.asked = Some(flight);
    }

    /// The frame whose answers are waited for.
    pub fn asked(&self) -> Option<&Flight> {
        self.asked.as_ref()
    }

    /// A neighbour has answered.
    pub fn has_answered(&mut self, slot: usize) {
        if let Some(asked) = &mut self.asked {
            asked.to = asked.to.without(Slots::of(slot));
        }
    }

    /// An answer that still comes from a neighbour is not about what it is now to get.
    pub fn no_longer_asked(&mut self, slot: usize) {
        if let Some(InFlight::Rel(flight)) = &mut self.in_flight {
            flight.to = flight.to.without(Slots::of(slot));
        }
        self.has_answered(slot);
    }

    /// The link to a neighbour is down: nothing is sent to it, and what arrived over it belongs to an interval that is over.
    pub fn forget(&mut self, slot: usize, id: NodeId) {
        self.inbox.retain(|(from, _)| *from != id);
        self.pool.forget(slot);
        self.no_longer_asked(slot);
    }

    /// Takes older states for a neighbour out, `sent` of its messages being sent and not acknowledged. Whether they were
    /// all states and went, too: whether they arrived does not matter then, and all neighbours get the same one again.
    pub fn replace_states(&mut self, slot: usize, sent: u8) -> bool {
        let are_replaced = sent > 0 && self.pool.are_states(slot, sent);
        if are_replaced {
            self.pool.delivered(slot, sent);
            self.no_longer_asked(slot);
        }
        self.pool.replace_older(slot, if are_replaced { 0 } else { sent });
        are_replaced
    }

    /// Owes an acknowledgement.
    pub fn owe(&mut self, reply: Reply) {
        self.reply = reply;
    }

    /// Takes the acknowledgement that is owed.
    pub fn take_reply(&mut self) -> Option<Reply> {
        let reply = core::mem::replace(&mut self.reply, Reply::NONE);
        (reply.at != Instant::NEVER).then_some(reply)
    }

    /// Others answer each other until then.
    pub fn quiet_until(&self) -> Instant {
        self.quiet_until
    }

    /// Others answer each other at least until then.
    pub fn keep_quiet(&mut self, until: Instant) {
        self.quiet_until = self.quiet_until.max(until);
    }

    /// Others answer this node until then.
    pub fn await_answers(&mut self, until: Instant) {
        self.quiet_until = until;
    }

    /// How many more messages may arrive before they are collected.
    pub fn inbox_room(&self) -> usize {
        BUNDLE_MAX - self.inbox.len()
    }

    /// A message has arrived; whether there was room for it.
    pub fn deliver(&mut self, from: NodeId, message: &[u8]) -> bool {
        Parcel::from_slice(message).is_ok_and(|parcel| self.inbox.push((from, parcel)).is_ok())
    }

    /// Whether messages wait to be collected.
    pub fn has_mail(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// The oldest message that has arrived.
    pub fn take_mail(&mut self) -> Option<(NodeId, Parcel)> {
        self.has_mail().then(|| self.inbox.remove(0))
    }
}
