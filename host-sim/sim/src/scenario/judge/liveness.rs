//! Whether agreement comes in time, and comes back in time where it is lost.
//!
//! A component is in dispute from a change on that concerns it, and from the moment at which it loses an agreement that had
//! lasted. The dispute is over when an agreement begins that lasts. No dispute that is left alone may go on for longer than
//! the bound. While faint links hold a component it is not in dispute; when they let go of it, one begins.

use super::components::ComponentIndex;
use crate::scenario::judge::checker::HOLD_US;

/// One component's agreement.
#[derive(Clone, Debug)]
struct Accord {
    /// Since when there has been no agreement that lasted.
    disputed_since: Option<u64>,
    /// Whether there was one before, since the last change.
    had_one: bool,
    /// Since when its nodes agree, perhaps not for long.
    agreed_since: Option<u64>,
}

/// A dispute that has gone on for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) struct Overdue {
    pub component: ComponentIndex,
    pub since_us: u64,
    /// Whether there had been an agreement since the last change.
    pub was_lost: bool,
}

/// Watches every component's agreement.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Liveness {
    within_us: u64,
    accords: Vec<Accord>,
}

impl Liveness {
    /// Agreement must come within this time.
    pub fn new(within_us: u64) -> Self {
        Self { within_us, accords: Vec::new() }
    }

    /// The network has changed. There is an entry for each component now: which one it was before, if the change does not
    /// concern it.
    pub fn restart(&mut self, now: u64, kept: &[Option<ComponentIndex>]) {
        let fresh = Accord { disputed_since: Some(now), had_one: false, agreed_since: None };
        let accord = |before: Option<ComponentIndex>| before.and_then(|before| self.accords.get(before.0));
        self.accords = kept.iter().map(|&before| accord(before).unwrap_or(&fresh).clone()).collect();
    }

    /// Faint links hold this component, so that it has neither agreed nor to agree.
    pub fn hold(&mut self, component: ComponentIndex) {
        if let Some(accord) = self.accords.get_mut(component.0) {
            accord.disputed_since = None;
            accord.agreed_since = None;
        }
    }

    /// Assesses a component whose nodes have agreed since then, or do not agree. Some if it has taken too long.
    pub fn assess(&mut self, now: u64, component: ComponentIndex, agrees_since: Option<u64>) -> Option<Overdue> {
        let accord = self.accords.get_mut(component.0)?;
        accord.agreed_since = agrees_since.map(|since| accord.agreed_since.unwrap_or(since));
        let Some(since_us) = accord.disputed_since else {
            if accord.agreed_since.is_none() {
                accord.disputed_since = Some(now);
                accord.had_one = true;
            }
            return None;
        };
        // Until a present agreement has lasted, it may still turn out to be none.
        let until = accord.agreed_since.unwrap_or(now);
        if accord.agreed_since.is_some_and(|since| now >= since + HOLD_US) {
            accord.disputed_since = None;
        }
        (until > since_us + self.within_us).then_some(Overdue { component, since_us, was_lost: accord.had_one })
    }

    /// Since when a component has had an agreement that lasts.
    pub fn settled_since(&self, component: ComponentIndex) -> Option<u64> {
        let accord = self.accords.get(component.0)?;
        accord.agreed_since.filter(|_| accord.disputed_since.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::{ComponentIndex, Liveness, Overdue};

    const FIRST: ComponentIndex = ComponentIndex(0);
    const SECOND: ComponentIndex = ComponentIndex(1);

    const SECOND_US: u64 = 1_000_000;

    /// What is overdue first, with the second in which that is found, where nodes agree in these seconds and the bound is ten.
    fn overdue(seconds: u64, agree: impl Fn(u64) -> bool) -> Option<(u64, Overdue)> {
        let mut liveness = Liveness::new(10 * SECOND_US);
        liveness.restart(0, &[None]);
        (0..seconds).find_map(|second| {
            let now = second * SECOND_US;
            Some((second, liveness.assess(now, FIRST, agree(second).then_some(now))?))
        })
    }

    #[test]
    fn agreement_must_come_in_time_and_last() {
        assert_eq!(overdue(60, |second| second >= 10), None);
        let late = Overdue { component: FIRST, since_us: 0, was_lost: false };
        assert_eq!(overdue(60, |second| second >= 12), Some((11, late)));
        assert_eq!(overdue(60, |second| second % 3 != 0), Some((12, late)), "two seconds are no agreement");
        assert_eq!(overdue(10, |_| false), None, "the end of the run comes first");
    }

    #[test]
    fn an_agreement_that_is_lost_must_come_back_in_time() {
        assert_eq!(overdue(60, |second| !(20..30).contains(&second)), None);
        let lost = Overdue { component: FIRST, since_us: 20 * SECOND_US, was_lost: true };
        assert_eq!(overdue(60, |second| second < 20), Some((31, lost)));
        assert_eq!(overdue(31, |second| second < 20), None, "cut off before the bound");
    }

    #[test]
    fn components_are_looked_at_one_by_one_and_changes_begin_anew() {
        let mut liveness = Liveness::new(10 * SECOND_US);
        liveness.restart(0, &[None; 2]);
        for second in 0..=20 {
            let now = second * SECOND_US;
            assert_eq!(liveness.assess(now, FIRST, (!(8..=14).contains(&second)).then_some(0)), None);
            assert_eq!(liveness.assess(now, SECOND, (second > 6).then_some(now)), None, "never both at once");
        }
        assert_eq!(liveness.settled_since(SECOND), Some(7 * SECOND_US));
        liveness.restart(20 * SECOND_US, &[None]);
        assert_eq!(liveness.assess(30 * SECOND_US, FIRST, None), None);
        assert!(liveness.assess(30 * SECOND_US + 1, FIRST, None).is_some());
        assert!(liveness.assess(31 * SECOND_US, ComponentIndex(7), None).is_none(), "there is no such component");
    }

    #[test]
    fn a_change_elsewhere_gives_nobody_more_time() {
        let mut liveness = Liveness::new(10 * SECOND_US);
        liveness.restart(0, &[None; 2]);
        assert_eq!(liveness.assess(6 * SECOND_US, SECOND, None), None);
        // What was the second component is the first one now.
        liveness.restart(8 * SECOND_US, &[Some(SECOND), None]);
        assert!(liveness.assess(11 * SECOND_US, FIRST, None).is_some());
        assert_eq!(liveness.assess(11 * SECOND_US, SECOND, None), None);
    }

    #[test]
    fn a_node_that_faint_links_held_has_the_whole_time_once_they_let_go() {
        let mut liveness = Liveness::new(10 * SECOND_US);
        liveness.restart(0, &[None]);
        (0..60).for_each(|_| liveness.hold(FIRST));
        assert_eq!(liveness.settled_since(FIRST), None, "that is no agreement");
        assert_eq!(liveness.assess(60 * SECOND_US, FIRST, None), None);
        assert_eq!(liveness.assess(70 * SECOND_US, FIRST, None), None);
        let lost = Overdue { component: FIRST, since_us: 60 * SECOND_US, was_lost: true };
        assert_eq!(liveness.assess(71 * SECOND_US, FIRST, None), Some(lost));
    }
}
