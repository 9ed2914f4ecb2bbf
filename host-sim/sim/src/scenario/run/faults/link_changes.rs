//! Measured links that change in time. Only where that takes a usable link away or brings one has the network changed.

use super::long_fades::told;
use crate::air::propagation::Spreading;
use crate::scenario::input::plan::Model;
use crate::scenario::run::drive::Run;

impl Run<'_> {
    /// Applies the rows of the table that hold from this time on.
    pub(in crate::scenario) fn change_links(&mut self, now: u64, at_us: u64) {
        let Model::Table(table) = &self.scenario.radio.model else { return };
        let due: Vec<_> = table.changes.iter().filter(|change| change.at_us == at_us).collect();
        self.world.medium_mut().change_propagation(|air| {
            if let Spreading::Table(losses) = &mut air.spreading {
                losses.extend(due.iter().map(|change| ((change.from, change.to), change.loss_db)));
            }
        });
        let found = self.find_components();
        match told(&self.judge.components().links, &found.links, ["gone", "there"]) {
            Some(what) => self.change(now, what),
            None => drop(self.judge.set_components(now, found, &mut self.observer)),
        }
    }
}
