//! `[collect]`: what nodes measure, and how often.

use std::collections::{BTreeMap, BTreeSet};

use common::limits::ORIGINS_MAX;
use common::quantity::Quantity;

use super::within;
use crate::air::index::NodeIndex;
use crate::scenario::input::collect_plan::CollectPlan;
use crate::scenario::input::plan::{NodePlan, ProgramKind};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

/// The usual times between samples and between blocks.
const SAMPLE_S: f64 = 5.0;
const EVERY_S: f64 = 60.0;

/// Blocks that 64 pages of flash have room for, one of them being erased.
const STORE: usize = 63 * 36;

pub(super) fn read(
    section: &Section<'_>,
    nodes: usize,
    special: &BTreeMap<NodeIndex, NodePlan>,
    program: ProgramKind,
) -> Result<CollectPlan, Problem> {
    let every = within(section, "every", Unit::Time, &(1.0..=86_400.0))?.unwrap_or(EVERY_S);
    let sample = within(section, "sample", Unit::Time, &(0.1..=86_400.0))?;
    let series = Quantity::SERIES.map(|quantity| (quantity.describe().name, quantity));
    let quantities = section.words("quantities", &series)?;
    let quantities = quantities.unwrap_or_else(|| vec![Quantity::DieTemperature, Quantity::Supply]);
    let store = section.integer("store", 33..1_000_001)?.and_then(|blocks| usize::try_from(blocks).ok());
    let reader = section.integer("reader", 1..nodes as u64 + 1)?.and_then(|id| usize::try_from(id - 1).ok());
    let (from, from_us) = read_from(section, nodes)?;
    section.finish()?;
    let unique: BTreeSet<Quantity> = quantities.iter().copied().collect();
    if quantities.is_empty() || unique.len() < quantities.len() {
        return Err(section.problem_at("quantities", "must name at least one quantity, and none twice"));
    }
    if sample.is_some_and(|sample| sample > every) {
        return Err(section.problem_at("sample", "must not be longer than `every`, or blocks would be empty"));
    }
    if program == ProgramKind::SoftState {
        return Err(section.problem("[collect] is for whole nodes: kind = \"soft-state\" has no links to collect over"));
    }
    if let Some(board) = special.iter().find(|(_, plan)| plan.is_board) {
        let what =
            format!("[collect] is for simulated nodes: node {} is a board, which measures by itself", board.0.0 + 1);
        return Err(section.problem(what));
    }
    if let Some(reader) =
        reader.map(NodeIndex).filter(|reader| from.as_ref().is_some_and(|from| !from.contains(reader)))
    {
        let what =
            format!("must be a node that measures: its blocks say that it reads, and node {} has none", reader.0 + 1);
        return Err(section.problem_at("reader", &what));
    }
    let measuring = from.as_ref().map_or(nodes, BTreeSet::len);
    if measuring > ORIGINS_MAX {
        let what =
            format!("a leader gathers from up to {ORIGINS_MAX} nodes, and {measuring} measure; name fewer in `from`");
        return Err(section.problem_at("from", &what));
    }
    Ok(CollectPlan {
        every_us: micros(every),
        sample_us: micros(sample.unwrap_or(SAMPLE_S.min(every))),
        quantities,
        from,
        from_us,
        store: store.unwrap_or(STORE),
        reader: reader.map(NodeIndex),
    })
}

/// `from`: a list of the nodes that measure, or the time from which all do.
fn read_from(section: &Section<'_>, nodes: usize) -> Result<(Option<BTreeSet<NodeIndex>>, u64), Problem> {
    if !section.is_list("from") {
        return Ok((None, section.quantity("from", Unit::Time)?.map_or(0, micros)));
    }
    let ids = section.integers("from", 1..nodes as u64 + 1)?.unwrap_or_default();
    let from: BTreeSet<NodeIndex> = ids.iter().filter_map(|id| usize::try_from(id - 1).ok()).map(NodeIndex).collect();
    if from.is_empty() || from.len() < ids.len() {
        return Err(section.problem_at("from", "must name at least one node, and none twice"));
    }
    Ok((Some(from), 0))
}
