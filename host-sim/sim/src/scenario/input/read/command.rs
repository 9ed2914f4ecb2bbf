//! `[[command]]`: what a node is told at some time, for the leader to order.

use std::collections::BTreeMap;

use super::time_us;
use crate::air::index::NodeIndex;
use crate::scenario::input::commands::{CommandPlan, parse_set};
use crate::scenario::input::plan::{NodePlan, ProgramKind};
use crate::scenario::input::toml_section::{Problem, Section};

pub(super) fn read(
    section: &Section<'_>,
    nodes: usize,
    special: &BTreeMap<NodeIndex, NodePlan>,
    program: ProgramKind,
    duration_us: u64,
) -> Result<CommandPlan, Problem> {
    let at_us = time_us(section, "at")?;
    let node = section.integer("node", 1..nodes as u64 + 1)?;
    let set = section.text("set")?;
    section.finish()?;
    let at_us = at_us.ok_or_else(|| section.missing("at"))?;
    let node = node.ok_or_else(|| section.missing("node"))?;
    let set = set.ok_or_else(|| section.missing("set"))?;
    let command = parse_set(set).map_err(|what| section.problem_at("set", &format!("is wrong: {what}")))?;
    if program == ProgramKind::SoftState {
        return Err(section.problem("[[command]] is for whole nodes: kind = \"soft-state\" has no orders"));
    }
    if at_us >= duration_us {
        return Err(section.problem_at("at", "is after the end of the scenario"));
    }
    let node = NodeIndex(usize::try_from(node - 1).unwrap_or(usize::MAX));
    if special.get(&node).is_some_and(|plan| plan.is_board) {
        return Err(section.problem_at("node", "is a board, which is told by its cable; name a simulated node"));
    }
    Ok(CommandPlan { at_us, node, command })
}
