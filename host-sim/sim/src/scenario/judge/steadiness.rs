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
    /// How long agreement may take.
    within_us: u64,
    /// From when on the last change must be agreed on, and the quiet time since, with its frames.
    due_us: u64,
    last: Quiet,
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
    /// Agreement must come within this time.
    pub fn new(within_us: u64) -> Self {
        Self { within_us, due_us: within_us, ..Self::default() }
    }

    /// Time has passed with this many nodes on; by now they have done this much.
    pub fn pass(&mut self, now: u64, on: usize, Done { changes, frames }: Done, is_quiet: bool) {
        let node_us = (now - self.passed_us) * on as u64;
        self.node_us += node_us;
        if is_quiet {
            self.quiet_node_us += node_us;
            self.spontaneous += changes - self.changes;
            self.quiet_frames += frames - self.frames;
            if self.passed_us >= self.due_us {
                self.last.node_us += node_us;
                self.last.frames += frames - self.frames;
            }
        }
        self.passed_us = now;
        (self.changes, self.frames) = (changes, frames);
    }

    /// Something changes.
    pub fn note_change(&mut self, now: u64) {
        self.due_us = now + self.within_us;
        self.last = Quiet::default();
    }

    pub fn report(&self, leader_changes: u64) -> Steadiness {
        Steadiness {
            leader_changes,
            node_ms: self.node_us / 1_000,
            spontaneous: self.spontaneous,
            quiet_node_ms: self.quiet_node_us / 1_000,
            quiet_frames: self.quiet_frames,
            last_quiet_node_ms: self.last.node_us / 1_000,
            last_quiet_frames: self.last.frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, Watch};

    #[test]
    fn only_what_happens_in_quiet_times_is_spontaneous() {
        let mut watch = Watch::new(1_000_000);
        let done = |changes| Done { changes, frames: 10 * changes };
        watch.pass(1_000_000, 4, done(4), false);
        watch.pass(3_000_000, 3, done(4), true);
        watch.note_change(3_000_000);
        watch.pass(4_000_000, 3, done(6), true);
        watch.pass(5_000_000, 4, done(9), false);
        watch.pass(6_000_000, 4, done(10), true);
        let found = watch.report(10);
        assert_eq!((found.leader_changes, found.spontaneous, found.quiet_frames), (10, 3, 30));
        assert_eq!((found.node_ms, found.quiet_node_ms), (21_000, 13_000));
        let last = (found.last_quiet_node_ms, found.last_quiet_frames);
        assert_eq!(last, (4_000, 10), "from when on the change must be agreed on");
        assert!((found.spontaneous_per_node_day() - 3.0 * 86_400.0 / 13.0).abs() < 1e-6, "three in thirteen seconds");
    }
}
