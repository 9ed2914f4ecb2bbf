//! `[fleet]`: how often somebody asks all nodes for their state.

use std::collections::BTreeMap;

use super::within;
use crate::air::index::NodeIndex;
use crate::scenario::input::plan::{FleetPlan, NodePlan, ProgramKind};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

/// The usual times of the first question, and between questions.
const FROM_S: f64 = 10.0;
const EVERY_S: f64 = 30.0;

pub(super) fn read(
    section: &Section<'_>,
    nodes: usize,
    special: &BTreeMap<NodeIndex, NodePlan>,
    program: ProgramKind,
    duration_us: u64,
) -> Result<FleetPlan, Problem> {
    let every = within(section, "every", Unit::Time, &(10.0..=86_400.0))?.unwrap_or(EVERY_S);
    let from = within(section, "from", Unit::Time, &(0.0..=86_400.0))?.unwrap_or(FROM_S);
    let node = section.integer("node", 1..nodes as u64 + 1)?;
    section.finish()?;
    if program == ProgramKind::SoftState {
        return Err(section.problem("[fleet] is for whole nodes: kind = \"soft-state\" answers no questions"));
    }
    if micros(from) >= duration_us {
        return Err(section.problem_at("from", "is after the end of the scenario, so nobody would be asked"));
    }
    let node = node.and_then(|node| usize::try_from(node - 1).ok()).map(NodeIndex);
    if node.is_some_and(|node| special.get(&node).is_some_and(|plan| plan.is_board)) {
        return Err(section.problem_at("node", "is a board, which is asked by its cable; name a simulated node"));
    }
    Ok(FleetPlan { every_us: micros(every), from_us: micros(from), node })
}
