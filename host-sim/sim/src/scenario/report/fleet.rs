//! What became of the questions of a run, or of many: who listed whom, and how soon.

use serde::{Deserialize, Serialize};

use super::spread::Spread;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// How often all nodes were asked for their state.
    pub asked: u64,
    /// Those after which all nodes of the asker's component were listed within ten seconds.
    pub complete: u64,
    /// Answers that came.
    pub listed: u64,
    /// Nodes of the askers' components that were not listed.
    pub missing: u64,
    /// From the question until all were listed, where they were.
    pub latency_ms: Option<Spread>,
    /// Every such time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies_ms: Vec<u64>,
}

impl Fleet {
    /// All in one line.
    pub fn text(&self) -> String {
        let Self { asked, complete, listed, missing, .. } = self;
        let latency = match &self.latency_ms {
            Some(Spread { p50, p99, max, .. }) => format!("; until all were, p50 {p50} ms, p99 {p99} ms, max {max} ms"),
            None => String::new(),
        };
        format!("Fleet: asked {asked} times, {complete} times all listed; {listed} answers, {missing} missing{latency}")
    }

    /// Those of several runs together; `None` where no run had any.
    pub fn of_all<'f>(runs: impl Iterator<Item = &'f Self>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for run in runs {
            let sum = all.get_or_insert_default();
            sum.asked += run.asked;
            sum.complete += run.complete;
            sum.listed += run.listed;
            sum.missing += run.missing;
            sum.latencies_ms.extend(&run.latencies_ms);
        }
        all.map(|all| Self { latency_ms: Spread::of(all.latencies_ms), latencies_ms: Vec::new(), ..all })
    }
}
