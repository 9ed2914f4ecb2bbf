//! Orders: every order of deliveries among three nodes, through submissions, lost and returning leaders, links that fall and come
//! back, and restarts.
//!
//! The election is left to chance: any node may begin or cease to lead at any time, so there are stale leaders, several at once,
//! and none. Time stands still, so nothing is sent again for want of an answer; what holds here needs no timer.
//!
//! After every step: one stamp is one order, everywhere and for ever; the newest stamp and those of registers only rise within
//! a life; and a node that has applied a mandate up to an index lacks nothing up to there that still matters. Whenever nothing is
//! under way and links join all, all know the same.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use common::orders::{Bytes, Command, Key, Orders, Register, Stamp, Standing};
use common::time::Instant;
use common::types::NodeId;

use super::walk::{Space, Walk};

const NODES: usize = 3;
const NOW: Instant = Instant::from_millis(1_000_000);

/// All pairs of nodes.
const PAIRS: [(usize, usize); 3] = [(0, 1), (1, 2), (0, 2)];

#[derive(Clone, Copy, Debug)]
enum Action {
    Deliver(usize, usize),
    Submit(usize),
    Promote(usize),
    Depose(usize),
    Cut(usize, usize),
    Join(usize, usize),
    Restart(usize),
}

#[derive(Clone, Hash)]
struct Life {
    orders: Orders,
    leads: bool,
    epoch: u16,
    newest: Stamp,
    registers: BTreeMap<Register, Stamp>,
}

#[derive(Clone, Hash)]
struct State {
    nodes: [Life; NODES],
    /// What is under way between nodes whose link is up.
    links: BTreeMap<(usize, usize), VecDeque<Bytes>>,
    log: BTreeMap<Stamp, (Command, Key)>,
    /// Makes every value another.
    submitted: u32,
    fault: Option<String>,
}

struct Three;

fn id(node: usize) -> NodeId {
    NodeId(u16::try_from(node + 1).expect("three nodes"))
}

fn life(node: usize, epoch: u16) -> Life {
    let mut orders = Orders::new(id(node), Some(epoch), id(node).0);
    orders.start(NOW);
    Life { orders, leads: false, epoch, newest: Stamp::default(), registers: BTreeMap::new() }
}

impl State {
    /// A line that its first node leads.
    fn line() -> Self {
        let nodes = [0, 1, 2].map(|node| life(node, 1));
        let mut state = Self { nodes, links: BTreeMap::new(), log: BTreeMap::new(), submitted: 0, fault: None };
        state.join(0, 1);
        state.join(1, 2);
        state.nodes[0].leads = true;
        state.update();
        state
    }

    fn join(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            self.links.insert((from, to), VecDeque::new());
            self.nodes[from].orders.link_up(NOW, id(to));
        }
    }

    fn cut(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            if self.links.remove(&(from, to)).is_some() {
                self.nodes[from].orders.link_down(id(to));
            }
        }
    }

    /// Tells everybody how it stands, collects what they send, and checks.
    fn update(&mut self) {
        for node in 0..NODES {
            let leads = self.nodes[node].leads;
            let next = (0..NODES).filter(|&other| other != node && self.links.contains_key(&(node, other)));
            // Towards a leader where there is one beside it, and otherwise towards the others.
            let next_hop = next.min_by_key(|&other| (!self.nodes[other].leads, other)).map(id).filter(|_| !leads);
            let orders = &mut self.nodes[node].orders;
            orders.set_standing(NOW, Standing { leads, elected_at: 0, next_hop, population: 0 });
            while let Some(outgoing) = orders.poll_transmit(NOW) {
                let peers = self.links.iter_mut().filter(|((from, _), _)| *from == node);
                for ((_, to), queue) in peers {
                    if orders.is_for(&outgoing, id(*to)) {
                        queue.push_back(outgoing.bytes.clone());
                    }
                }
            }
            while orders.poll_outcome().is_some() {}
            while orders.poll_deed(NOW).is_some() {}
        }
        for node in 0..NODES {
            if let Err(fault) = self.check(node) {
                self.fault.get_or_insert(fault);
            }
        }
    }

    fn check(&mut self, node: usize) -> Result<(), String> {
        let Life { orders, newest, registers, .. } = &mut self.nodes[node];
        for order in orders.book().iter() {
            let told = (order.command, order.key);
            if *self.log.entry(order.stamp).or_insert(told) != told {
                return Err(format!("two orders are {}", order.stamp));
            }
            if let Command::Set { register, .. } = order.command
                && registers.insert(register, order.stamp).is_some_and(|before| before > order.stamp)
            {
                return Err(format!("node {node} let {} overrule a later order", order.stamp));
            }
            if order.stamp.mandate > orders.newest().mandate {
                return Err(format!("node {node} has applied {} before it has heard of its mandate", order.stamp));
            }
        }
        if orders.newest() < *newest {
            return Err(format!("the newest stamp of node {node} went back"));
        }
        *newest = orders.newest();
        let of_newest = |stamp: &&Stamp| stamp.mandate == newest.mandate;
        for stamp in self.log.keys().filter(of_newest).filter(|stamp| stamp.index <= newest.index) {
            let (command, _) = self.log[stamp];
            let Command::Set { register, .. } = command else { continue };
            let is_moot = self.log.iter().any(|(later, (other, _))| {
                later.mandate == newest.mandate
                    && later.index > stamp.index
                    && matches!(other, Command::Set { register: same, .. } if *same == register)
            });
            let has = orders.book().of_register(register).map(|order| order.stamp);
            if !is_moot && has.is_none_or(|has| has < *stamp) {
                return Err(format!("node {node} is at {newest} and lacks {stamp}"));
            }
        }
        Ok(())
    }

    fn joins_all(&self) -> bool {
        PAIRS.iter().filter(|pair| self.links.contains_key(pair)).count() >= 2
    }
}

/// A state, and how many more events may befall it.
#[derive(Clone)]
struct Budgeted(State, u8);

impl Space for Three {
    type State = Budgeted;
    type Action = Action;

    fn actions(&self, Budgeted(state, left): &Budgeted, actions: &mut Vec<Action>) {
        actions.clear();
        if state.fault.is_some() {
            return;
        }
        let busy = state.links.iter().filter(|(_, queue)| !queue.is_empty());
        actions.extend(busy.map(|(&(from, to), _)| Action::Deliver(from, to)));
        if *left == 0 {
            return;
        }
        for node in 0..NODES {
            let is_leading = state.nodes[node].leads;
            actions.push(Action::Submit(node));
            actions.push(if is_leading { Action::Depose(node) } else { Action::Promote(node) });
            actions.push(Action::Restart(node));
        }
        for (one, other) in PAIRS {
            let is_up = state.links.contains_key(&(one, other));
            actions.push(if is_up { Action::Cut(one, other) } else { Action::Join(one, other) });
        }
    }

    fn apply(&self, Budgeted(state, left): &mut Budgeted, action: Action) {
        match action {
            Action::Deliver(from, to) => {
                let bytes = state.links.get_mut(&(from, to)).and_then(VecDeque::pop_front);
                if let Some(bytes) = bytes {
                    state.nodes[to].orders.receive(NOW, id(from), &bytes);
                }
                state.update();
                return;
            }
            Action::Submit(node) => {
                state.submitted += 1;
                // Two registers, so that orders make some of the others moot.
                let register = if state.submitted.is_multiple_of(3) { Register::SEND } else { Register::SAMPLE };
                let command = Command::Set { register, value: 10_000 + state.submitted };
                // A node that has too many commands without an outcome takes no more.
                let _ = state.nodes[node].orders.submit(NOW, command);
            }
            Action::Promote(node) => state.nodes[node].leads = true,
            Action::Depose(node) => state.nodes[node].leads = false,
            Action::Cut(one, other) => state.cut(one, other),
            Action::Join(one, other) => state.join(one, other),
            Action::Restart(node) => {
                let others: Vec<usize> = (0..NODES).filter(|other| state.links.contains_key(&(node, *other))).collect();
                for &other in &others {
                    state.cut(node, other);
                }
                state.nodes[node] = life(node, state.nodes[node].epoch + 1);
                for &other in &others {
                    state.join(node, other);
                }
            }
        }
        *left -= 1;
        state.update();
    }

    fn key(&self, Budgeted(state, _): &Budgeted) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }

    fn left(&self, Budgeted(_, left): &Budgeted) -> u8 {
        *left
    }

    fn end(&self, Budgeted(state, _): &Budgeted) -> Option<Result<(), String>> {
        if let Some(fault) = &state.fault {
            return Some(Err(fault.clone()));
        }
        if !state.links.values().all(VecDeque::is_empty) {
            return None;
        }
        let digests = [0, 1, 2].map(|node| state.nodes[node].orders.digest());
        let agree = digests.iter().all(|digest| *digest == digests[0]);
        let stamps = || state.nodes.iter().map(|life| life.orders.newest().to_string()).collect::<Vec<_>>();
        Some(if agree || !state.joins_all() {
            Ok(())
        } else {
            Err(format!("they know different orders: {:?}", stamps()))
        })
    }
}

/// How many events befall the three.
fn events() -> u8 {
    if std::env::var_os("RINGLEADER_DEEP").is_some() { 4 } else { 3 }
}

#[test]
fn three_nodes_hold_one_order_through_everything() {
    let mut walk = Walk::new(Three);
    if let Err(fault) = walk.explore(Budgeted(State::line(), events())) {
        panic!("{fault}");
    }
    let seen = walk.seen();
    assert!(seen.states > 1_000, "{seen:?}");
    println!("{} states, {} events, {} ends", seen.states, seen.events, seen.ends.len());
}
