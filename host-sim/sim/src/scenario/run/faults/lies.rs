//! Members that say one false thing and are gone.

use common::node::Node;

use crate::air::index::NodeIndex;
use crate::air::world::RawFrame;
use crate::insider::{Lie, lie};
use crate::scenario::input::plan::{FaultIndex, Flash, Who};
use crate::scenario::run::drive::{Run, id_of};
use crate::scenario::run::faults::names;
use crate::scenario::run::program::Program;

impl Run<'_> {
    /// Nodes lie and lose their power. Others may believe it, so from then on leaders and orders may come from
    /// anywhere.
    pub(in crate::scenario) fn lie(&mut self, now: u64, fault: FaultIndex, who: &Who, lasts_us: Option<u64>) {
        let liars: Vec<NodeIndex> = self.targets(who).into_iter().filter(|&node| self.world.is_on(node)).collect();
        for &liar in &liars {
            let Some(lie) = self.make_lie(liar) else { continue };
            let Some(&radio) = self.faults.outsiders.liars.get(&fault) else { continue };
            self.change(now, format!("{} lies about {}", names(&[liar]), lie.about));
            self.observer.note_lie();
            let position = self.world.medium().position(liar.radio());
            self.world.medium_mut().set_position(radio, position);
            self.world.inject(radio, RawFrame::honest(lie.psdu), &mut self.observer);
        }
        self.crash(now, &Who::Nodes(liars), lasts_us, Flash::Kept);
    }

    fn make_lie(&mut self, liar: NodeIndex) -> Option<Lie> {
        let others: Vec<&Node> = NodeIndex::first(self.world.len())
            .filter(|&node| node != liar)
            .filter_map(|node| self.node(node))
            .collect();
        let config = self.programs.board_config(id_of(liar), self.scenario.radio.channel, 0)?;
        // A clone, because drawing moves the faults' random numbers on.
        let mut rng = self.faults.rng.clone();
        let made = lie(&mut rng, self.node(liar)?, &config, &others);
        self.faults.rng = rng;
        made
    }

    fn node(&self, node: NodeIndex) -> Option<&Node> {
        if let Program::Node(station) = self.world.station(node) { Some(station.node()) } else { None }
    }
}
