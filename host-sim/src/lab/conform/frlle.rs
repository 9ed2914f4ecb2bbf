//! Golden files of FRLLE on synchronous rings.

use std::collections::BTreeMap;

use anyhow::ensure;
use common::coefficient::Coefficient;
use common::types::NodeId;
use serde::Deserialize;

use super::verdict::{Report, Verdict};
use crate::lab::ring_steps::{self, Member, Mode, Script, Timed};

/// A file of the format `frlle-golden-1`.
#[derive(Deserialize)]
pub(super) struct File {
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    name: String,
    mode: ModeName,
    ring: Vec<u16>,
    lc: Vec<u16>,
    failed: u16,
    detect: Vec<At>,
    responses: Vec<At>,
    expect: Expect,
}

/// `[step, node]`
#[derive(Clone, Copy, Deserialize)]
struct At {
    step: u64,
    node: u16,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModeName {
    Joint,
    Sequential,
}

#[derive(Deserialize)]
struct Expect {
    leader_by_node: Vec<u16>,
    messages: BTreeMap<String, u64>,
    total: u64,
    sent_per_time: Vec<u64>,
    declarers: Vec<u16>,
    recovery_creators: Vec<u16>,
    t_agree: u64,
    t_quiet: u64,
    agreed: bool,
}

pub(super) fn replay(file: &File) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for (index, scenario) in file.scenarios.iter().enumerate() {
        check(scenario, &format!("scenarios[{index}]"))?;
        report.push(&scenario.name, compare(scenario));
    }
    Ok(report)
}

fn check(scenario: &Scenario, path: &str) -> anyhow::Result<()> {
    let Scenario { ring, lc, detect, responses, .. } = scenario;
    ensure!(ring.len() >= 2, "{path}.ring: a ring needs at least two nodes");
    ensure!(lc.len() == ring.len(), "{path}.lc: {} coefficients for {} nodes", lc.len(), ring.len());
    for (at, id) in ring.iter().enumerate() {
        ensure!(!ring[..at].contains(id), "{path}.ring[{at}]: node {id} is on the ring twice");
    }
    for (field, entries) in [("detect", detect), ("responses", responses)] {
        for (at, At { node, .. }) in entries.iter().enumerate() {
            ensure!(ring.contains(node), "{path}.{field}[{at}]: node {node} is not on the ring");
        }
    }
    Ok(())
}

fn compare(scenario: &Scenario) -> Verdict {
    let timed = |list: &[At]| list.iter().map(|&At { step, node }| Timed { step, node: NodeId(node) }).collect();
    let member = |(&id, &lc): (&u16, &u16)| Member { id: NodeId(id), coefficient: Coefficient(lc) };
    let outcome = ring_steps::run(&Script {
        ring: scenario.ring.iter().zip(&scenario.lc).map(member).collect(),
        failed: NodeId(scenario.failed),
        detections: timed(&scenario.detect),
        responses: timed(&scenario.responses),
        mode: match scenario.mode {
            ModeName::Joint => Mode::Joint,
            ModeName::Sequential => Mode::Sequential,
        },
    });
    let expect = &scenario.expect;
    let mut verdict = Verdict::default();
    let leaders: Vec<_> = expect.leader_by_node.iter().map(|&id| Some(id)).collect();
    verdict.compare("leader_by_node", &leaders, &outcome.leaders.iter().map(|id| id.map(|id| id.0)).collect());
    for (kind, count) in &expect.messages {
        let sent = outcome.messages.get(kind.as_str()).copied().unwrap_or(0);
        verdict.compare(&format!("messages.{kind}"), count, &sent);
    }
    verdict.compare("total", &expect.total, &outcome.total());
    verdict.compare("sent_per_time", &expect.sent_per_time, &outcome.sent_per_step);
    let plain = |list: &[NodeId]| list.iter().map(|id| id.0).collect::<Vec<_>>();
    verdict.compare("declarers", &expect.declarers, &plain(&outcome.declarers));
    verdict.compare("recovery_creators", &expect.recovery_creators, &plain(&outcome.recovery_creators));
    verdict.compare("t_agree", &expect.t_agree, &outcome.agreed_at);
    verdict.compare("t_quiet", &expect.t_quiet, &outcome.quiet_at);
    verdict.compare("agreed", &expect.agreed, &outcome.is_agreed());
    verdict
}
