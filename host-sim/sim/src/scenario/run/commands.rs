//! Gives nodes the commands of a scenario, and looks at what becomes of them.

use crate::air::index::NodeIndex;
use crate::scenario::input::commands::{CommandIndex, CommandPlan};
use crate::scenario::run::drive::{Run, id_of};
use crate::scenario::run::program::Program;

impl Run<'_> {
    /// A node without power hears nothing, and so there is no command.
    pub(super) fn command(&mut self, now: u64, index: CommandIndex) {
        let CommandPlan { node, command, .. } = self.scenario.commands[index.0];
        let mut submitted = None;
        self.world.tell(node, &mut self.observer, |program, local| {
            if let Program::Node(station) = program {
                submitted = station.submit(local, command).map(|number| station.node().orders().key(number));
            }
        });
        if let Some(key) = submitted {
            self.observer.orders.track(now, node, key, command);
            self.observer.note(now, &format!("node {} is told {command}", id_of(node)));
        }
    }

    /// Compares what the nodes of each component know.
    pub(super) fn check_orders(&mut self, now: u64) {
        if self.observer.orders.is_idle() {
            return;
        }
        let world = &self.world;
        let orders = |node: NodeIndex| match world.station(node) {
            Program::Node(station) if world.is_on(node) => Some((node, station.node().orders())),
            _ => None,
        };
        let components: Vec<Vec<_>> = self
            .judge
            .components()
            .usable
            .iter()
            .map(|members| members.iter().filter_map(|&node| orders(node)).collect())
            .collect();
        self.observer.orders.compare(now, &components);
    }
}
