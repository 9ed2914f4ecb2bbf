//! The node's side of collection: what its driver stores and logs, and which way DATA frames go.

use super::Node;
use crate::data::block::Sample;
use crate::data::log_entry::{ENTRY_MAX, LogEntry};
use crate::data::origin::Recovered;
use crate::data::ways::Ways;
use crate::data::{Answer, Chore, Data, Done};
use crate::election::Election;
use crate::link::data::DataOutcome;
use crate::link::frame::Status;
use crate::orders::Register;
use crate::ring::RingKeeper;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// The ways that a node knows.
pub struct NodeWays<'n> {
    pub election: &'n Election,
    pub ring: Option<&'n RingKeeper>,
    pub leader: Option<NodeId>,
}

impl Ways for NodeWays<'_> {
    fn up(&self, each: &mut dyn FnMut(NodeId, u8)) {
        match (self.election, self.ring) {
            (Election::Height(height), _) => height.lower_neighbours(each),
            (Election::Hierarchy(hierarchy), _) => hierarchy.lower_neighbours(each),
            (_, Some(ring)) => {
                if let Some(next) = self.leader.and_then(|leader| ring.next_hop(leader)) {
                    each(next, 0);
                }
            }
            _ => {}
        }
    }

    fn to(&self, node: NodeId) -> Option<NodeId> {
        self.ring.and_then(|ring| ring.next_hop(node))
    }
}

impl Node {
    /// Tells the node what the driver found in its store after boot. To be called before
    /// [`handle_start`](Self::handle_start); otherwise the node collects no samples of its own, but still passes on
    /// those of others.
    pub fn handle_recovered(&mut self, recovered: Recovered) {
        self.data.recover(recovered);
    }

    /// Tells the node of an entry that was found in this board's log after boot. To be called for every entry, in any
    /// order.
    pub fn handle_logged_before(&mut self, entry: &LogEntry<'_>) {
        self.data.recover_log(entry);
    }

    /// Sets how often samples become a block that is stored and sent, full or not. An order of the network
    /// ([`Register::SEND`]) takes precedence.
    pub fn set_collection(&mut self, now: Instant, every: Duration) {
        self.data.set_every(now, every);
    }

    /// The driver has measured.
    pub fn handle_sample(&mut self, now: Instant, sample: Sample) {
        self.finish();
        if let Some(send_ms) = self.orders.ordered(Register::SEND) {
            self.data.set_every(now, Duration::from_millis(u64::from(send_ms)));
        }
        self.data.sample(now, sample);
    }

    /// A PC wants to see the readings of all nodes here. Holds for two and a half minutes.
    pub fn handle_reader(&mut self, now: Instant) {
        self.finish();
        self.data.read(now);
        self.work(now);
    }

    /// Writes the next copy for that PC to `buf`, as a log entry by this node's clock, and returns its length.
    pub fn poll_copy(&mut self, now: Instant, buf: &mut [u8; ENTRY_MAX]) -> Option<usize> {
        self.data.poll_copy(now, buf)
    }

    /// The next thing to do with the flash, after every call and until there is nothing more; what it needs is in `buf`.
    pub fn poll_chore(&mut self, now: Instant, buf: &mut [u8; ENTRY_MAX]) -> Option<Chore> {
        self.finish();
        self.data.poll_chore(now, buf)
    }

    /// Reports the result of the last [chore](Self::poll_chore).
    pub fn handle_done(&mut self, now: Instant, done: Done<'_>) {
        self.data.done(now, done);
    }

    /// The store had to overwrite blocks that no leader has; this is the first that it still has.
    pub fn handle_overwritten(&mut self, oldest: u32) {
        self.data.overwritten(oldest);
    }

    /// Collection, for checkers and displays.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Tells collection what happened to the last DATA frame, and whom the node follows.
    pub(super) fn collect_data(&mut self, now: Instant) {
        if let Some(outcome) = self.links.take_data_outcome(now) {
            self.data.answered(
                now,
                match outcome {
                    DataOutcome::Answered(Status::Accepted) => Answer::Taken,
                    DataOutcome::Answered(Status::NoRoom) => Answer::NotTaken,
                    DataOutcome::Answered(Status::NoSession) | DataOutcome::NoAnswer => Answer::Missing,
                    DataOutcome::Unsent => Answer::Unsent,
                },
            );
        }
        if let Some(doubted) = self.data.take_doubted() {
            self.links.ask_whether_there(now, doubted);
        }
        self.data.set_identity(self.links.id(), self.links.epoch());
        self.data.follow(now, self.leader, self.links.table().links() == 0);
        self.data.tick(now);
    }

    /// When collection next needs a call.
    pub(super) fn data_due(&self) -> Option<Instant> {
        let due = self.links.data_due(self.data.due_to_send()).min(self.data.due());
        (due != Instant::NEVER).then_some(due)
    }
}
