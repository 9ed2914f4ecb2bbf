//! Golden files of HS: message and round counts on synchronous rings, and the exact extremes.

use anyhow::{Context, ensure};
use common::election::circle::RingConfig;
use common::election::hs::Hs;
use common::time::Duration;
use common::types::NodeId;
use ideal::index::NodeIndex;
use ideal::net::{Net, ROUND};
use ideal::ring;
use serde::Deserialize;

use super::verdict::{Report, Verdict};
use crate::lab::hs_extremes;

/// The largest ring whose extremes are derived; the time for it grows with the square of its size.
const DERIVED_MAX: usize = 5_000;

/// A file of the format `hs-golden-1`.
#[derive(Deserialize)]
pub(super) struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    uids: Vec<u32>,
    leader: u32,
    phases: Vec<PhaseCount>,
    election_messages: u64,
    announce_messages: u64,
    total_messages: u64,
    rounds_election: u64,
    rounds_total: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
struct PhaseCount {
    phase: u8,
    out: u64,
    back: u64,
}

/// A file of the format `hs-extremes-1`.
#[derive(Deserialize)]
pub(super) struct Extremes {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    n: usize,
    worst_election: u64,
    worst_uids: Vec<u32>,
    best_election: u64,
    best_uids: Vec<u32>,
}

/// What one election did.
struct Run {
    leaders: Vec<Option<u32>>,
    phases: Vec<PhaseCount>,
    announcements: u64,
    rounds_election: u64,
    rounds_total: u64,
}

impl Run {
    fn election_messages(&self) -> u64 {
        self.phases.iter().map(|phase| phase.out + phase.back).sum()
    }
}

pub(super) fn replay_cases(file: &Cases) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for (index, case) in file.cases.iter().enumerate() {
        let run = elect(&case.uids).with_context(|| format!("cases[{index}].uids"))?;
        let mut verdict = Verdict::default();
        verdict.compare("leader", &vec![Some(case.leader); case.uids.len()], &run.leaders);
        verdict.compare("phases", &case.phases, &run.phases);
        verdict.compare("election_messages", &case.election_messages, &run.election_messages());
        verdict.compare("announce_messages", &case.announce_messages, &run.announcements);
        verdict.compare("total_messages", &case.total_messages, &(run.election_messages() + run.announcements));
        verdict.compare("rounds_election", &case.rounds_election, &run.rounds_election);
        verdict.compare("rounds_total", &case.rounds_total, &run.rounds_total);
        report.push(&case.name, verdict);
    }
    Ok(report)
}

pub(super) fn replay_extremes(file: &Extremes) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for (index, row) in file.rows.iter().enumerate() {
        let mut verdict = Verdict::default();
        for (which, uids, expected) in
            [("worst", &row.worst_uids, row.worst_election), ("best", &row.best_uids, row.best_election)]
        {
            let path = format!("rows[{index}].{which}_uids");
            ensure!(uids.len() == row.n, "{path}: {} uids for n = {}", uids.len(), row.n);
            let run = elect(uids).context(path)?;
            verdict.compare(&format!("{which}_election"), &expected, &run.election_messages());
        }
        ensure!(row.n <= DERIVED_MAX, "rows[{index}].n: extremes are derived for rings of up to {DERIVED_MAX} nodes");
        let (worst, best) = (hs_extremes::worst(row.n), hs_extremes::best(row.n));
        verdict.compare("worst_election of all arrangements", &row.worst_election, &worst.election_messages);
        verdict.compare("best_election of all arrangements", &row.best_election, &best.election_messages);
        report.push(format!("n = {}", row.n), verdict);
    }
    Ok(report)
}

/// Runs HS on a ring of these uids, all nodes starting in round 1.
fn elect(uids: &[u32]) -> anyhow::Result<Run> {
    let count = uids.len();
    ensure!(count > 0, "a ring needs at least one node");
    ensure!(u16::try_from(count).is_ok(), "a ring of {count} nodes has no room for addresses");
    let mut seen = std::collections::BTreeSet::new();
    for (at, uid) in uids.iter().enumerate() {
        ensure!(seen.insert(uid), "[{at}]: uid {uid} is on the ring twice");
    }
    let addresses: Vec<NodeId> = (0..).take(count).map(NodeId).collect();
    let mut net = Net::<Hs<u32>, 2>::default();
    for at in NodeIndex::first(count) {
        let place = ring::place(&addresses, at);
        net.add(addresses[at], 0, Hs::new(uids[at], RingConfig { place, patience: Duration::ZERO }));
    }
    ring::join(&mut net);
    net.start_all();
    let mut elected_at = None;
    loop {
        if elected_at.is_none() && net.nodes().any(|at| net.node(at).winner().is_some()) {
            elected_at = Some(net.now());
        }
        if !net.step_round() {
            break;
        }
    }
    let rounds = |micros: u64| micros / ROUND.as_micros();
    let counts = net.counts();
    let last_phase = counts.by_kind.keys().map(|kind| kind.phase).max().unwrap_or(0);
    let phases = (0..=last_phase).map(|phase| PhaseCount {
        phase,
        out: counts.in_phase("out", phase),
        back: counts.in_phase("back", phase),
    });
    Ok(Run {
        leaders: net.nodes().map(|at| net.node(at).winner()).collect(),
        phases: phases.filter(|phase| phase.out + phase.back > 0).collect(),
        announcements: counts.of("leader"),
        rounds_election: rounds(elected_at.unwrap_or_default().as_micros()),
        rounds_total: rounds(net.now().as_micros()),
    })
}
