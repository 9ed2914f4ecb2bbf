//! Whether orders keep their promises, at every node after every step, and what became of the commands of a scenario.
//!
//! Safety:
//! - One stamp is one order: all nodes that know an order of that stamp know the same command of the same origin.
//! - Prefix: a node that has applied a mandate up to an index has applied, for every register, the last order up to
//!   there or a later one. It may lack only what a later order has superseded.
//! - Fencing: within a life, the newest stamp and those of registers only rise.
//!
//! Liveness: ten seconds after the last change of the network or the last command, all nodes of a component know the same.

use std::collections::BTreeMap;

use common::orders::{Command, Key, Orders, Outcome, Register, Stamp};

use crate::air::index::NodeIndex;
use crate::scenario::report::commands::Commands;
use crate::scenario::report::spread::Spread;
use crate::scenario::run::drive::id_of;
use crate::scenario::run::program::Program;

/// How long nodes of a component may know different orders.
pub const CONVERGED_US: u64 = 10_000_000;

/// What a node looked like.
#[derive(Clone, Debug, Default)]
struct Seen {
    revision: u32,
    outcomes: usize,
    newest: Stamp,
    registers: BTreeMap<Register, Stamp>,
}

/// A command of the scenario.
#[derive(Clone, Debug)]
struct Tracked {
    at_us: u64,
    node: NodeIndex,
    key: Key,
    command: Command,
    /// What it was first ordered as.
    stamp: Option<Stamp>,
    latency_us: Option<u64>,
    outcome: Option<Outcome>,
}

#[derive(Clone, Debug, Default)]
pub struct OrdersWatch {
    /// Every order that was ever seen.
    log: BTreeMap<Stamp, (Command, Key)>,
    seen: BTreeMap<NodeIndex, Seen>,
    tracked: Vec<Tracked>,
    /// The last change or command, or the last time at which all agreed since.
    agreed_us: u64,
    /// Whether a member has lied: then there may be orders that nobody gave, and only agreement is required.
    is_lied_to: bool,
    pub failure: Option<(u64, String)>,
}

impl OrdersWatch {
    /// A node has no power any more, and forgets.
    pub fn forget(&mut self, node: NodeIndex) {
        self.seen.remove(&node);
    }

    pub fn note_lie(&mut self) {
        self.is_lied_to = true;
    }

    /// The network has changed.
    pub fn note_change(&mut self, now_us: u64) {
        self.agreed_us = now_us;
    }

    /// A node was given a command.
    pub fn track(&mut self, at_us: u64, node: NodeIndex, key: Key, command: Command) {
        self.note_change(at_us);
        // A leader has ordered it on the spot.
        let stamp = self.log.iter().find(|(_, (_, known))| *known == key).map(|(stamp, _)| *stamp);
        self.tracked.push(Tracked { at_us, node, key, command, stamp, latency_us: None, outcome: None });
    }

    /// Looks at a node; the error says what is wrong.
    pub fn look(&mut self, node: NodeIndex, program: &Program) -> Result<(), String> {
        let Program::Node(station) = program else { return Ok(()) };
        let (orders, outcomes) = (station.node().orders(), station.outcomes());
        if orders.revision() == 0 && outcomes.is_empty() {
            return Ok(());
        }
        let seen = self.seen.entry(node).or_default();
        for &(number, outcome) in outcomes.get(seen.outcomes..).unwrap_or_default() {
            let key = orders.key(number);
            if let Some(tracked) = self.tracked.iter_mut().rev().find(|tracked| tracked.key == key) {
                tracked.outcome = Some(outcome);
            }
        }
        seen.outcomes = outcomes.len();
        if seen.revision == orders.revision() {
            return Ok(());
        }
        seen.revision = orders.revision();
        if self.is_lied_to {
            return Ok(());
        }
        self.inspect(node, orders)
    }

    fn inspect(&mut self, node: NodeIndex, orders: &Orders) -> Result<(), String> {
        self.learn(node, orders)?;
        self.check_rising(node, orders)?;
        self.check_prefix(node, orders)
    }

    fn learn(&mut self, node: NodeIndex, orders: &Orders) -> Result<(), String> {
        for order in orders.book().iter() {
            let told = (order.command, order.key);
            let known = *self.log.entry(order.stamp).or_insert(told);
            if known != told {
                let (id, stamp) = (id_of(node), order.stamp);
                return Err(format!("node {id} knows {stamp} as {}, others as {}", told.0, known.0));
            }
            for tracked in self.tracked.iter_mut().filter(|tracked| tracked.key == order.key) {
                tracked.stamp.get_or_insert(order.stamp);
            }
        }
        Ok(())
    }

    fn check_rising(&mut self, node: NodeIndex, orders: &Orders) -> Result<(), String> {
        let seen = self.seen.entry(node).or_default();
        let (id, newest) = (id_of(node), orders.newest());
        if newest < seen.newest {
            return Err(format!("node {id} went back from {} to {newest}", seen.newest));
        }
        seen.newest = newest;
        for order in orders.book().iter() {
            let Command::Set { register, .. } = order.command else { continue };
            if let Some(before) = seen.registers.insert(register, order.stamp).filter(|before| *before > order.stamp) {
                return Err(format!("node {id} let {} overrule {before} for {register}", order.stamp));
            }
        }
        Ok(())
    }

    fn check_prefix(&self, node: NodeIndex, orders: &Orders) -> Result<(), String> {
        let newest = orders.newest();
        let mut last: BTreeMap<Register, Stamp> = BTreeMap::new();
        let mut is_moot: BTreeMap<Register, bool> = BTreeMap::new();
        // Mandates have an order of their own, which wraps around, so this looks at all of them.
        for (stamp, (command, _)) in self.log.iter().filter(|(stamp, _)| stamp.mandate == newest.mandate) {
            let Command::Set { register, .. } = *command else { continue };
            if stamp.index <= newest.index {
                last.insert(register, *stamp);
            } else {
                is_moot.insert(register, true);
            }
        }
        for (register, wanted) in last {
            let has = orders.book().of_register(register).map(|order| order.stamp);
            if has.is_none_or(|has| has < wanted) && !is_moot.contains_key(&register) {
                let id = id_of(node);
                return Err(format!("node {id} has applied up to {newest}, but lacks {wanted} for {register}"));
            }
        }
        Ok(())
    }

    pub fn is_idle(&self) -> bool {
        self.tracked.is_empty()
    }

    /// Looks at all nodes of a component at this time. Boards do not show their orders.
    pub fn compare(&mut self, now_us: u64, components: &[Vec<(NodeIndex, &Orders)>]) {
        for tracked in self.tracked.iter_mut().filter(|tracked| tracked.latency_us.is_none()) {
            let Some(stamp) = tracked.stamp else { continue };
            let has = |orders: &Orders| match tracked.command {
                Command::Set { register, .. } => {
                    orders.book().of_register(register).is_some_and(|order| order.stamp >= stamp)
                }
                Command::Act { .. } => orders.newest() >= stamp,
            };
            let own = components.iter().find(|members| members.iter().any(|(node, _)| *node == tracked.node));
            if own.is_some_and(|members| members.iter().all(|(_, orders)| has(orders))) {
                tracked.latency_us = Some(now_us - tracked.at_us);
            }
        }
        let differing = components.iter().find(|members| {
            members.windows(2).any(|pair| matches!(pair, [(_, one), (_, other)] if one.digest() != other.digest()))
        });
        match differing {
            None => self.agreed_us = now_us,
            Some(members) if now_us > self.agreed_us + CONVERGED_US && self.failure.is_none() => {
                let ids: Vec<String> = members.iter().map(|(node, _)| id_of(*node).to_string()).collect();
                let knows = |(node, orders): &(NodeIndex, &Orders)| {
                    let book: Vec<String> = orders.book().iter().map(|order| order.stamp.to_string()).collect();
                    format!("node {} is at {} and has {}", id_of(*node), orders.newest(), book.join(", "))
                };
                let all: Vec<String> = members.iter().map(knows).collect();
                let what = format!(
                    "nodes {} know different orders 10 s after the last change: {}",
                    ids.join(", "),
                    all.join("; ")
                );
                self.failure = Some((now_us, what));
            }
            Some(_) => {}
        }
    }

    pub fn commands(&self) -> Option<Commands> {
        let count =
            |is: fn(Option<Outcome>) -> bool| self.tracked.iter().filter(|tracked| is(tracked.outcome)).count() as u64;
        let latencies_ms: Vec<u64> =
            self.tracked.iter().filter_map(|tracked| tracked.latency_us).map(|us| us / 1_000).collect();
        (!self.tracked.is_empty()).then(|| Commands {
            submitted: self.tracked.len() as u64,
            applied: count(|outcome| matches!(outcome, Some(Outcome::Applied { .. }))),
            superseded: count(|outcome| matches!(outcome, Some(Outcome::Superseded { .. }))),
            expired: count(|outcome| matches!(outcome, Some(Outcome::Expired | Outcome::Refused))),
            open: count(|outcome| outcome.is_none_or(|outcome| !outcome.is_final())),
            holding: 0,
            latency_ms: Spread::of(latencies_ms.clone()),
            latencies_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use common::orders::{Command, Key, Mandate, Message, Orders, Register, Told};
    use common::time::Instant;
    use common::types::NodeId;

    use super::OrdersWatch;
    use crate::air::index::NodeIndex;

    const NOW: Instant = Instant::from_millis(5_000);

    /// A node that was told these orders by a neighbour: index, register and value.
    fn node(id: u16, number: u32, after: u16, told: &[(u16, Register, u32)]) -> Orders {
        let mut orders = Orders::new(NodeId(id), Some(1), id);
        orders.link_up(NOW, NodeId(9));
        tell(&mut orders, number, after, told);
        orders
    }

    fn tell(orders: &mut Orders, number: u32, after: u16, told: &[(u16, Register, u32)]) {
        let mandate = Mandate { number, leader: NodeId(9), epoch: 1 };
        let told = told.iter().map(|&(index, register, value)| Told {
            index,
            command: Command::Set { register, value },
            age: 0,
            key: Key { origin: NodeId(9), device: 0, epoch: 1, number: u8::try_from(value % 256).unwrap() },
        });
        let chunk: common::orders::Chunk = told.collect();
        let upto = chunk.last().unwrap().index;
        let run = Message::Run { mandate, after, upto, chunk };
        orders.receive(NOW, NodeId(9), &run.encode().unwrap());
    }

    #[test]
    fn two_orders_with_one_stamp_are_found() {
        let mut watch = OrdersWatch::default();
        watch.inspect(NodeIndex(0), &node(1, 1, 0, &[(1, Register::SAMPLE, 1_000)])).unwrap();
        watch.inspect(NodeIndex(1), &node(2, 1, 0, &[(1, Register::SAMPLE, 1_000)])).unwrap();
        let wrong = watch.inspect(NodeIndex(2), &node(3, 1, 0, &[(1, Register::SAMPLE, 2_000)])).unwrap_err();
        assert!(wrong.contains("as sample=2000, others as sample=1000"), "{wrong}");
    }

    #[test]
    fn a_gap_in_a_prefix_is_found_unless_it_is_moot() {
        let mut watch = OrdersWatch::default();
        let both = [(1, Register::SAMPLE, 1_000), (2, Register::SEND, 20_000)];
        watch.inspect(NodeIndex(0), &node(1, 1, 0, &both)).unwrap();
        let gap = node(2, 1, 0, &both[1..]);
        let wrong = watch.inspect(NodeIndex(1), &gap).unwrap_err();
        assert!(wrong.contains("but lacks order 1 of leader 9, mandate 1 for sample"), "{wrong}");
        let mut later = node(1, 1, 0, &both);
        tell(&mut later, 1, 2, &[(3, Register::SAMPLE, 3_000)]);
        watch.inspect(NodeIndex(0), &later).unwrap();
        watch.inspect(NodeIndex(1), &gap).unwrap();
    }

    #[test]
    fn a_newest_stamp_that_goes_back_is_found() {
        let mut watch = OrdersWatch::default();
        watch.inspect(NodeIndex(0), &node(1, 2, 0, &[(1, Register::SAMPLE, 1_000)])).unwrap();
        assert!(
            watch.inspect(NodeIndex(0), &node(1, 1, 0, &[(1, Register::SEND, 20_000)])).unwrap_err().contains("back")
        );
        watch.forget(NodeIndex(0));
        watch.inspect(NodeIndex(0), &node(1, 1, 0, &[(1, Register::SEND, 20_000)])).unwrap();
    }
}
