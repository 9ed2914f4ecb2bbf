//! `[expect]`: what must hold in a run.

use super::{positive, time_us};
use crate::air::index::NodeIndex;
use crate::scenario::input::plan::Steady;
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

pub(super) struct Expectation {
    /// Agreement must come within this time.
    pub within_us: u64,
    pub steady: Option<Steady>,
    /// Who must lead its component at the end.
    pub leader: Option<NodeIndex>,
}

impl Default for Expectation {
    fn default() -> Self {
        Self { within_us: 10_000_000, steady: None, leader: None }
    }
}

pub(super) fn read(section: &Section<'_>, nodes: usize) -> Result<Expectation, Problem> {
    let within = positive(section, "agreement_within", Unit::Time)?;
    let changes_max = section.integer("leader_changes", 0..1_000)?;
    let from_us = time_us(section, "steady_from")?;
    let leader = section.integer("leader", 1..nodes as u64 + 1)?;
    section.finish()?;
    let steady = match (changes_max, from_us) {
        (Some(changes_max), Some(from_us)) => Some(Steady { from_us, changes_max }),
        (None, None) => None,
        (Some(_), None) => {
            return Err(section.problem_at("leader_changes", "needs steady_from: the time from which on they count"));
        }
        (None, Some(_)) => {
            return Err(
                section.problem_at("steady_from", "needs leader_changes: how many a node may make from then on")
            );
        }
    };
    let within_us = micros(within.ok_or_else(|| section.missing("agreement_within"))?);
    let leader = leader.and_then(|id| usize::try_from(id - 1).ok()).map(NodeIndex);
    Ok(Expectation { within_us, steady, leader })
}
