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
}

impl Watch {
    /// Time has passed with this many nodes on; by now nodes have let go of a leader so often.
    pub fn pass(&mut self, now: u64, on: usize, changes: u64, is_quiet: bool) {
        let node_us = (now - self.passed_us) * on as u64;
        self.node_us += node_us;
        if is_quiet {
            self.quiet_node_us += node_us;
            self.spontaneous += changes - self.changes;
        }
        self.passed_us = now;
        self.changes = changes;
    }

    pub fn report(&self, leader_changes: u64) -> Steadiness {
        Steadiness {
            leader_changes,
            node_ms: self.node_us / 1_000,
            spontaneous: self.spontaneous,
            quiet_node_ms: self.quiet_node_us / 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;

    #[test]
    fn only_what_happens_in_quiet_times_is_spontaneous() {
        let mut watch = Watch::default();
        watch.pass(1_000_000, 4, 4, false);
        watch.pass(3_000_000, 3, 4, true);
        watch.pass(4_000_000, 3, 6, true);
        watch.pass(5_000_000, 4, 9, false);
        let found = watch.report(9);
        assert_eq!((found.leader_changes, found.spontaneous), (9, 2));
        assert_eq!((found.node_ms, found.quiet_node_ms), (17_000, 9_000));
        assert!((found.spontaneous_per_node_day() - 19_200.0).abs() < 1e-9, "two in nine seconds");
    }
}
