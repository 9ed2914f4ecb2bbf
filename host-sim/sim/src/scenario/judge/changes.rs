//! The changes of a run, and how long the nodes took: to notice one, to let go of their leader, and to agree again.

use crate::scenario::judge::observer::Observer;
use crate::scenario::report::outcome::Change;

/// A change, and its effects so far.
#[derive(Clone, Debug)]
struct Entry {
    at_us: u64,
    what: String,
    noticed_us: Option<u64>,
    called_us: Option<u64>,
    agreed_us: Option<u64>,
}

/// All changes; the last one is not settled yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Vec<Entry>);

impl Changes {
    pub fn begin(&mut self, at_us: u64, what: String) {
        self.0.push(Entry { at_us, what, noticed_us: None, called_us: None, agreed_us: None });
    }

    /// When the last one was; none before the first.
    pub fn last_us(&self) -> Option<u64> {
        Some(self.0.last()?.at_us)
    }

    pub fn last_what(&self) -> &str {
        self.0.last().map_or("", |change| change.what.as_str())
    }

    /// Takes over what the observer has seen of the nodes' reactions to the last one.
    pub fn note_reactions(&mut self, observer: &Observer) {
        if let Some(last) = self.0.last_mut() {
            last.noticed_us = last.noticed_us.or(observer.noticed_us);
            last.called_us = last.called_us.or(observer.called_us);
        }
    }

    /// There is an agreement that lasts. The first one after a change counts.
    pub fn note_agreement(&mut self, since_us: u64) {
        if let Some(last) = self.0.last_mut() {
            last.agreed_us.get_or_insert(since_us);
        }
    }

    /// Whether the last one has led to an agreement that lasted.
    pub fn is_settled(&self) -> bool {
        self.0.last().is_some_and(|last| last.agreed_us.is_some())
    }

    pub fn report(&self) -> Vec<Change> {
        let report = |change: &Entry| {
            let after = |us: Option<u64>| us.map(|us| (us - change.at_us) / 1_000);
            Change {
                at_ms: change.at_us / 1_000,
                what: change.what.clone(),
                detected_after_ms: after(change.noticed_us),
                called_after_ms: after(change.called_us),
                agreed_after_ms: after(change.agreed_us),
            }
        };
        self.0.iter().map(report).collect()
    }
}
