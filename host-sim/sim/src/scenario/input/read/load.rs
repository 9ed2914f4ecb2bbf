//! `[[load]]`: how loaded nodes are, and how likely to fail.

use std::collections::BTreeMap;

use common::coefficient::{Load, Share, WHOLE};
use common::names::Algorithm;

use super::fault::read_who;
use super::time_us;
use crate::air::index::NodeIndex;
use crate::scenario::input::plan::{LoadPlan, NodePlan, ProgramKind, Who};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::Unit;

pub(super) fn read(
    section: &Section<'_>,
    nodes: usize,
    special: &BTreeMap<NodeIndex, NodePlan>,
    program: ProgramKind,
) -> Result<LoadPlan, Problem> {
    let at_us = time_us(section, "at")?.unwrap_or(0);
    let shares = ["cpu", "memory", "bandwidth", "failure"].map(|key| share(section, key));
    let [cpu, memory, bandwidth, failure] = shares;
    let load = Load { cpu: cpu?, memory: memory?, bandwidth: bandwidth? };
    let failure = failure?;
    let who = read_who(section, nodes)?;
    section.finish()?;
    if !matches!(program, ProgramKind::Node(Algorithm::Frlle | Algorithm::Hierarchy)) {
        return Err(
            section.problem("[[load]] has no effect here: only kind = \"frlle\" and \"hierarchy\" rank nodes by it")
        );
    }
    if let Who::Nodes(named) = &who
        && let Some(board) = named.iter().find(|node| special.get(node).is_some_and(|plan| plan.is_board))
    {
        let what = format!("names node {}, which is a board: boards measure their own load", board.0 + 1);
        return Err(section.problem_at("nodes", &what));
    }
    Ok(LoadPlan { at_us, who, load, failure })
}

fn share(section: &Section<'_>, key: &str) -> Result<Share, Problem> {
    let share = section.quantity(key, Unit::Share)?.unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is at most one")]
    Ok(Share::new((share * f64::from(WHOLE)).round() as u16))
}
