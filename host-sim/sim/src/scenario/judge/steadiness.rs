//! How steady leadership is: how often nodes let go of a leader, and how often while nothing changes.

use crate::scenario::report::outcome::Steadiness;

/// Adds up time and changes of leaders while the run goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    passed_us: u64,
    /// The sum over the nodes of the time that they were on.
    node_us: u64,
    /// The part of it in which the last change was settled and the next one had not come.
    quiet_node_us: u64,
    /// Changes of leaders so far, and those in the quiet time.
    changes: u64,
    spontaneous: u64,
    /// Frames of nodes so far, and those in the quiet time.
    frames: u64,
    quiet_frames: u64,
    /// The quiet time and its frames when the last change came.
    before_last: Quiet,
}

#[derive(Clone, Copy, Debug, Default)]
struct Quiet {
    node_us: u64,
    frames: u64,
}

/// What nodes have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// How often nodes have let go of a leader.
    pub changes: u64,
    /// How many frames they have sent.
    pub frames: u64,
}

impl Watch {
    /// Time has passed with this many nodes on; by now they have done this much.
    pub fn pass(&mut self, now: u64, on: usize, Done { changes, frames }: Done, is_quiet: bool) {
        let node_us = (now - self.passed_us) * on as u64;
        self.node_us += node_us;
        if is_quiet {
            self.quiet_node_us += node_us;
            self.spontaneous += changes - self.changes;
            self.quiet_frames += frames - self.frames;
        }
        self.passed_us = now;
        (self.changes, self.frames) = (changes, frames);
    }

    /// Something changes.
    pub fn note_change(&mut self) {
        self.before_last = Quiet { node_us: self.quiet_node_us, frames: self.quiet_frames };
    }

    pub fn report(&self, leader_changes: u64) -> Steadiness {
        Steadiness {
            leader_changes,
            node_ms: self.node_us / 1_000,
            spontaneous: self.spontaneous,
            quiet_node_ms: self.quiet_node_us / 1_000,
            quiet_frames: self.quiet_frames,
            last_quiet_node_ms: (self.quiet_node_us - self.before_last.node_us) / 1_000,
            last_quiet_frames: self.quiet_frames - self.before_last.frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, Watch};

    #[test]
    fn only_what_happens_in_quiet_times_is_spontaneous() {
        let mut watch = Watch::default();
        let done = |changes| Done { changes, frames: 10 * changes };
        watch.pass(1_000_000, 4, done(4), false);
        watch.pass(3_000_000, 3, done(4), true);
        watch.note_change();
        watch.pass(4_000_000, 3, done(6), true);
        watch.pass(5_000_000, 4, done(9), false);
        let found = watch.report(9);
        assert_eq!((found.leader_changes, found.spontaneous, found.quiet_frames), (9, 2, 20));
        assert_eq!((found.node_ms, found.quiet_node_ms), (17_000, 9_000));
        assert_eq!((found.last_quiet_node_ms, found.last_quiet_frames), (3_000, 20));
        assert!((found.spontaneous_per_node_day() - 19_200.0).abs() < 1e-9, "two in nine seconds");
    }
}
