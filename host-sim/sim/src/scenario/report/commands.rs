//! What became of the commands of a run, or of many.

use serde::{Deserialize, Serialize};

use super::spread::Spread;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commands {
    pub submitted: u64,
    /// Their origins were told by how many nodes they were applied.
    pub applied: u64,
    /// A later order took their place first.
    pub superseded: u64,
    /// No leader was known to have ordered them in time.
    pub expired: u64,
    /// Their origins had not been told the end: the run was over, or they had lost their power.
    pub open: u64,
    /// Nodes that know of an order at the end.
    #[serde(default)]
    pub holding: u64,
    /// From the submission until every node of the origin's component had applied it, or a later order for the same register.
    pub latency_ms: Option<Spread>,
    /// Every such time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies_ms: Vec<u64>,
}

impl Commands {
    /// All in one line.
    pub fn text(&self) -> String {
        let Self { submitted, applied, superseded, expired, open, .. } = self;
        let latency = match &self.latency_ms {
            Some(Spread { p50, p99, max, .. }) => {
                format!("; until all had applied it, p50 {p50} ms, p99 {p99} ms, max {max} ms")
            }
            None => String::new(),
        };
        format!(
            "Commands: {submitted} submitted, {applied} applied, {superseded} superseded, {expired} expired, {open} without an end{latency}"
        )
    }

    /// Those of several runs together; `None` where no run had any.
    pub fn of_all<'c>(runs: impl Iterator<Item = &'c Self>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for run in runs {
            let sum = all.get_or_insert_default();
            sum.submitted += run.submitted;
            sum.applied += run.applied;
            sum.superseded += run.superseded;
            sum.expired += run.expired;
            sum.open += run.open;
            sum.holding += run.holding;
            sum.latencies_ms.extend(&run.latencies_ms);
        }
        all.map(|all| Self { latency_ms: Spread::of(all.latencies_ms), latencies_ms: Vec::new(), ..all })
    }
}
