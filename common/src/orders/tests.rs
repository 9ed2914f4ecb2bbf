//! Networks of orders alone: links deliver at once and in order, and tests say who leads and which way leads there.

use std::collections::{BTreeMap, VecDeque};
use std::format;
use std::vec::Vec;

use super::{Action, Bytes, Command, Mandate, Message, Orders, Outcome, Register, Stamp, Standing, SubmitError};
use crate::time::{Duration, Instant};
use crate::types::NodeId;

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
const C: NodeId = NodeId(3);

struct Net {
    now: Instant,
    nodes: BTreeMap<NodeId, Orders>,
    links: BTreeMap<(NodeId, NodeId), VecDeque<Bytes>>,
    outcomes: Vec<(NodeId, u8, Outcome)>,
    deeds: Vec<(NodeId, Action)>,
    sent: usize,
}

impl Net {
    fn new(ids: &[NodeId]) -> Self {
        let mut net = Self {
            now: Instant::from_millis(100_000),
            nodes: BTreeMap::new(),
            links: BTreeMap::new(),
            outcomes: Vec::new(),
            deeds: Vec::new(),
            sent: 0,
        };
        for &id in ids {
            net.boot(id, 1);
        }
        net
    }

    fn boot(&mut self, id: NodeId, epoch: u16) {
        let mut node = Orders::new(id, Some(epoch), id.0);
        node.start(self.now);
        self.nodes.insert(id, node);
    }

    fn at(&mut self, id: NodeId) -> &mut Orders {
        self.nodes.get_mut(&id).unwrap()
    }

    fn link(&mut self, one: NodeId, other: NodeId) {
        let now = self.now;
        for (from, to) in [(one, other), (other, one)] {
            self.links.insert((from, to), VecDeque::new());
            self.at(from).link_up(now, to);
        }
        self.settle();
    }

    fn cut(&mut self, one: NodeId, other: NodeId) {
        for (from, to) in [(one, other), (other, one)] {
            self.links.remove(&(from, to));
            self.at(from).link_down(to);
        }
    }

    /// Says who leads whom: each node with the next on its way.
    fn lead(&mut self, ways: &[(NodeId, Option<NodeId>)]) {
        let now = self.now;
        for &(id, next_hop) in ways {
            let standing = Standing { leads: next_hop.is_none(), elected_at: 0, next_hop, population: 0 };
            self.at(id).set_standing(now, standing);
        }
        self.settle();
    }

    fn submit(&mut self, at: NodeId, command: Command) -> u8 {
        let now = self.now;
        let number = self.at(at).submit(now, command).unwrap();
        self.settle();
        number
    }

    /// Delivers until nobody has anything to say.
    fn settle(&mut self) {
        let now = self.now;
        for round in 0.. {
            assert!(round < 1_000, "they talk without end");
            let mut is_quiet = true;
            for (&id, node) in &mut self.nodes {
                node.timeout(now);
                while let Some(outgoing) = node.poll_transmit(now) {
                    is_quiet = false;
                    for ((from, to), queue) in &mut self.links {
                        if *from == id && node.is_for(&outgoing, *to) {
                            queue.push_back(outgoing.bytes.clone());
                            self.sent += 1;
                        }
                    }
                }
                while let Some((number, outcome)) = node.poll_outcome() {
                    self.outcomes.push((id, number, outcome));
                }
                while let Some(action) = node.poll_deed(now) {
                    self.deeds.push((id, action));
                }
            }
            for ((from, to), queue) in &mut self.links {
                while let Some(bytes) = queue.pop_front() {
                    self.nodes.get_mut(to).unwrap().receive(now, *from, &bytes);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    fn pass(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        loop {
            self.settle();
            let next = self.nodes.values().map(Orders::poll_timeout).min().unwrap().max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
        }
    }

    fn values(&self, register: Register) -> Vec<u32> {
        self.nodes.values().map(|node| node.register(register)).collect()
    }

    fn digests(&self) -> Vec<u32> {
        self.nodes.values().map(Orders::digest).collect()
    }
}

fn set(register: Register, value: u32) -> Command {
    Command::Set { register, value }
}

fn sample(value: u32) -> Command {
    set(Register::SAMPLE, value)
}

fn restart(target: NodeId) -> Command {
    Command::Act { action: Action::Restart, target }
}

/// Three in a line, led by the first.
fn line() -> Net {
    let mut net = Net::new(&[A, B, C]);
    net.link(A, B);
    net.link(B, C);
    net.lead(&[(A, None), (B, Some(A)), (C, Some(B))]);
    net.pass(1_000);
    net
}

#[test]
fn a_network_without_orders_says_nothing() {
    let mut net = line();
    net.pass(60_000);
    assert_eq!(net.sent, 0);
}

#[test]
fn a_command_given_anywhere_is_applied_everywhere_and_told() {
    let mut net = line();
    let number = net.submit(C, sample(1_000));
    assert_eq!(net.values(Register::SAMPLE), [1_000; 3]);
    assert_eq!(net.outcomes, [(C, number, Outcome::Ordered)]);
    net.pass(5_000);
    assert_eq!(net.outcomes.last(), Some(&(C, number, Outcome::Applied { by: 3, of: 3 })));
    assert_eq!(net.at(A).submit(Instant::ZERO, sample(1)), Err(SubmitError::NotAllowed));
}

#[test]
fn of_two_commands_the_later_order_stands_and_the_other_is_told_so() {
    let mut net = line();
    let early = net.submit(C, sample(1_000));
    let late = net.submit(B, sample(2_000));
    assert_eq!(net.values(Register::SAMPLE), [2_000; 3]);
    assert!(net.outcomes.contains(&(C, early, Outcome::Superseded { leader: A, index: 2 })), "{:?}", net.outcomes);
    net.pass(12_000);
    assert!(net.outcomes.contains(&(B, late, Outcome::Applied { by: 3, of: 3 })), "{:?}", net.outcomes);
}

#[test]
fn a_command_without_a_leader_expires() {
    let mut net = Net::new(&[A, B]);
    net.link(A, B);
    let number = net.submit(A, sample(1_000));
    net.pass(40_000);
    assert_eq!(net.outcomes, [(A, number, Outcome::Expired)]);
    net.lead(&[(B, None), (A, Some(B))]);
    net.pass(40_000);
    assert_eq!(net.values(Register::SAMPLE), [5_000; 2], "and nobody orders it later");
}

#[test]
fn two_parts_order_on_their_own_and_agree_after_the_merge() {
    let mut net = line();
    net.submit(A, set(Register::SEND, 20_000));
    net.cut(B, C);
    net.lead(&[(C, None)]);
    net.submit(B, sample(1_000));
    net.submit(A, set(Register::LIGHTS, 0));
    net.submit(C, sample(3_000));
    assert_eq!(net.values(Register::SAMPLE), [1_000, 1_000, 3_000]);
    net.link(B, C);
    let digests = net.digests();
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    assert_eq!(net.values(Register::SAMPLE), [3_000; 3], "the later mandate");
    assert_eq!(net.values(Register::LIGHTS), [0; 3], "what only one side ordered");
    net.lead(&[(C, Some(B))]);
    net.submit(C, sample(4_000));
    assert_eq!(net.values(Register::SAMPLE), [4_000; 3]);
    assert_eq!(net.at(C).newest(), Stamp { mandate: Mandate { number: 3, leader: A, epoch: 1 }, index: 1 });
}

#[test]
fn a_stale_leader_cannot_overrule_the_next_one() {
    let mut net = line();
    net.submit(A, sample(1_000));
    net.cut(A, B);
    net.lead(&[(B, None), (C, Some(B))]);
    net.submit(C, sample(2_000));
    // The old leader comes back, has not heard of the new one, and orders.
    let now = net.now;
    net.at(A).submit(now, sample(9_000)).unwrap();
    net.link(A, B);
    assert_eq!(net.values(Register::SAMPLE), [2_000; 3]);
    let fenced = Message::Run {
        mandate: Mandate { number: 1, leader: A, epoch: 1 },
        after: 0,
        upto: 9,
        chunk: [super::Told { index: 9, command: sample(7_000), age: 0, key: super::Key::default() }]
            .into_iter()
            .collect(),
    };
    let bytes = fenced.encode().unwrap();
    net.at(B).receive(now, A, &bytes);
    net.settle();
    assert_eq!(net.values(Register::SAMPLE), [2_000; 3]);
    assert_eq!(net.at(B).counters().fenced, 1);
}

#[test]
fn a_board_restarts_once() {
    let mut net = line();
    net.submit(A, restart(C));
    net.pass(3_000);
    assert_eq!(net.deeds, [(C, Action::Restart)]);
    net.cut(B, C);
    net.boot(C, 2);
    net.pass(1);
    net.link(B, C);
    net.lead(&[(C, Some(B))]);
    net.pass(60_000);
    assert_eq!(net.deeds.len(), 1, "it was not there when that was ordered");
    assert_eq!(net.digests()[0], net.digests()[2], "but it knows");
    net.submit(A, restart(NodeId(0)));
    net.pass(3_000);
    assert_eq!(net.deeds.len(), 4, "now everybody");
}

#[test]
fn an_action_that_comes_late_is_not_carried_out() {
    let mut net = line();
    net.submit(A, sample(1_000));
    net.cut(B, C);
    net.submit(A, Command::Act { action: Action::Identify, target: NodeId(0) });
    net.pass(70_000);
    net.link(B, C);
    net.pass(1_000);
    assert_eq!(net.deeds, [(A, Action::Identify), (B, Action::Identify)]);
}

#[test]
fn a_retry_is_not_ordered_twice() {
    let mut net = line();
    net.submit(C, sample(1_000));
    net.submit(B, sample(2_000));
    let retry = super::Submit {
        hops: 5,
        only_asks: false,
        age: 1,
        key: super::Key { origin: C, device: 3, epoch: 1, number: 1 },
        command: sample(1_000),
    };
    let bytes = Message::Submit(retry).encode().unwrap();
    let now = net.now;
    net.at(A).receive(now, B, &bytes);
    net.settle();
    assert_eq!(net.values(Register::SAMPLE), [2_000; 3]);
    assert_eq!(net.at(A).newest().index, 2);
}

#[test]
fn full_registers_and_actions_reach_a_newcomer() {
    let mut net = line();
    for value in 0..3 {
        for register in 0..16 {
            let register = Register::new(register).unwrap();
            let value = register.description().map_or(value, |known| known.least + value % 2);
            net.pass(20_000);
            net.submit(B, set(register, value));
        }
    }
    for _ in 0..9 {
        net.pass(20_000);
        net.submit(B, Command::Act { action: Action::Identify, target: A });
    }
    assert_eq!(net.deeds.len(), 9);
    net.boot(C, 2);
    net.cut(B, C);
    net.link(B, C);
    assert_eq!(net.digests()[0], net.digests()[2]);
    assert_eq!(net.at(C).book().iter().count(), 24);
    assert_eq!(net.at(C).newest(), net.nodes[&A].newest());
}

#[test]
fn the_newest_stamp_only_rises_and_unknown_neighbours_are_not_heard() {
    let mut net = line();
    net.submit(A, sample(1_000));
    let newest = net.at(B).newest();
    let stale = Message::Sync { newest: Stamp::default(), digest: 7 }.encode().unwrap();
    let now = net.now;
    net.at(B).receive(now, A, &stale);
    net.at(B).receive(now, NodeId(9), &stale);
    net.at(B).receive(now, A, &[9, 9]);
    assert_eq!(net.at(B).newest(), newest);
    assert_eq!(net.at(B).counters().malformed, 3, "nobody's mandate, a stranger, and nonsense");
}

/// A member says this to another and is gone.
fn lie(net: &mut Net, to: NodeId, message: &Message) {
    let (now, liar) = (net.now, NodeId(9));
    net.at(to).link_up(now, liar);
    net.at(to).receive(now, liar, &message.encode().unwrap());
    net.at(to).link_down(liar);
    net.pass(5_000);
}

/// After a lie all know the same, and the next command is applied by all.
fn is_over(net: &mut Net, what: &str) {
    let digests = net.digests();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{what}: {digests:?}");
    net.submit(C, sample(7_000));
    net.pass(5_000);
    assert_eq!(net.values(Register::SAMPLE), [7_000; 3], "{what}");
}

#[test]
fn no_mandate_is_the_last_and_none_goes_round_for_ever() {
    for number in [2, 1 << 29, 1 << 30, (1 << 30) + 2, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX] {
        for to in [A, B, C] {
            let mandate = Mandate { number, leader: NodeId(77), epoch: 5 };
            let newest = Stamp { mandate, index: 3 };
            let what = format!("mandate {number} told to {to}");
            let mut net = line();
            net.submit(B, sample(1_000));
            lie(&mut net, to, &Message::Sync { newest, digest: 7 });
            assert_eq!(net.values(Register::SAMPLE), [1_000; 3], "{what}");
            is_over(&mut net, &what);
            // A run that does not follow on anything tells of its mandate, too, and nobody has its orders.
            let mut net = line();
            net.submit(B, sample(1_000));
            let told = super::Told { index: 9, command: sample(2_000), age: 0, key: net.at(A).key(1) };
            let chunk = [told].into_iter().collect();
            lie(&mut net, to, &Message::Run { mandate, after: 8, upto: 9, chunk });
            is_over(&mut net, &what);
            // To whoever knows of no order at all, any is the first.
            let mut net = line();
            lie(&mut net, to, &Message::Sync { newest, digest: 7 });
            is_over(&mut net, &what);
        }
    }
}

#[test]
fn orders_that_nobody_gave_use_up_no_mandate() {
    for to in [A, B, C] {
        let mut net = line();
        net.submit(B, sample(1_000));
        let mandate = net.at(A).newest().mandate;
        let told = super::Told { index: 2, command: sample(2_000), age: 0, key: net.at(A).key(1) };
        let chunk = [told].into_iter().collect();
        lie(&mut net, to, &Message::Run { mandate, after: 1, upto: u16::MAX, chunk });
        is_over(&mut net, &format!("the last index told to {to}"));
    }
}

#[test]
fn whoever_knows_of_another_past_goes_by_the_way_to_the_leader() {
    let mut net = line();
    net.cut(B, C);
    net.submit(B, sample(1_000));
    let mandate = Mandate { number: 1 << 31, leader: NodeId(77), epoch: 5 };
    lie(&mut net, C, &Message::Sync { newest: Stamp { mandate, index: 0 }, digest: 7 });
    assert_eq!(net.at(C).newest().mandate, mandate, "alone it has no reason to doubt that");
    net.link(B, C);
    net.pass(5_000);
    is_over(&mut net, "two pasts");
}
