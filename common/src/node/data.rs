//! Collection, as a node does it: what its driver stores and logs, and which way DATA frames go.

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
    /// What the driver has found in its store after the boot, before it calls [`handle_start`](Self::handle_start). Without
    /// this the node gathers no samples; it passes on those of others all the same.
    pub fn handle_recovered(&mut self, recovered: Recovered) {
        self.data.recover(recovered);
    }

    /// An entry of this board's log, found after the boot. All of them are told, in any order.
    pub fn handle_logged_before(&mut self, entry: &LogEntry<'_>) {
        self.data.recover_log(entry);
    }

    /// How often samples become a block that is stored and sent, whether it is full or not. What the network orders
    /// ([`Register::SEND`]) stands above it.
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

    /// A PC wants to see the readings of all nodes here, for the next two minutes and a half.
    pub fn handle_reader(&mut self, now: Instant) {
        self.finish();
        self.data.read(now);
        self.work(now);
    }

    /// The next copy for that PC, as an entry of a log by this node's clock: how many bytes of `buf` it takes.
    pub fn poll_copy(&mut self, now: Instant, buf: &mut [u8; ENTRY_MAX]) -> Option<usize> {
        self.data.poll_copy(now, buf)
    }

    /// The next thing to do with the flash, after every call and until there is nothing more; what it needs is in `buf`.
    pub fn poll_chore(&mut self, now: Instant, buf: &mut [u8; ENTRY_MAX]) -> Option<Chore> {
        self.finish();
        self.data.poll_chore(now, buf)
    }

    /// What came of the last [chore](Self::poll_chore).
    pub fn handle_done(&mut self, now: Instant, done: Done<'_>) {
        self.data.done(now, done);
    }

    /// The store had to overwrite blocks that no leader has: it has none before this one any more.
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
