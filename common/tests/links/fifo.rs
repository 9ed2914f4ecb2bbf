//! Messages over lossy links: what is delivered in an up-interval is a prefix of what was handed over in it, and where the
//! link stays up, everything is delivered.

use std::collections::BTreeMap;

use common::link::LinkEvent;
use common::rng::Rng;
use common::time::Duration;
use common::types::NodeId;

use crate::net::Net;

const BOARDS: u16 = 4;

/// A message handed over: its number, which no other message has, and whether a newer one may replace it.
type Handed = (u32, bool);

/// What was handed over or delivered in each up-interval between two boards, the present one last.
type Intervals<T> = BTreeMap<(usize, NodeId), Vec<Vec<T>>>;

struct Traffic {
    net: Net,
    rng: Rng,
    handed: Intervals<Handed>,
    delivered: Intervals<u32>,
    seen: [usize; BOARDS as usize],
    next: u32,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        let (net, rng) = (Net::new(seed, BOARDS), Rng::stream(seed, 77));
        Self { net, rng, handed: BTreeMap::new(), delivered: BTreeMap::new(), seen: [0; 4], next: 0 }
    }

    /// Takes note of what happened since.
    fn note(&mut self) {
        for board in 0..usize::from(BOARDS) {
            for event in &self.net.events[board][self.seen[board]..] {
                match event {
                    LinkEvent::Up(peer) => {
                        self.handed.entry((board, *peer)).or_default().push(Vec::new());
                        self.delivered.entry((board, *peer)).or_default().push(Vec::new());
                    }
                    LinkEvent::Down(..) => {}
                    LinkEvent::Message(from, bytes) => {
                        let number = u32::from_le_bytes(bytes.as_slice().try_into().expect("four bytes"));
                        let intervals = self.delivered.get_mut(&(board, *from)).expect("it came up");
                        intervals.last_mut().expect("it came up").push(number);
                    }
                }
            }
            self.seen[board] = self.net.events[board].len();
        }
    }

    fn send(&mut self) {
        let board = self.rng.below(u32::from(BOARDS)) as usize;
        let (set, is_state) = (self.rng.below(16), self.rng.below(3) == 0);
        let to = |id: NodeId| set >> (id.0 - 1) & 1 == 1;
        let linked: Vec<_> =
            self.net.links[board].table().linked().map(|(_, peer)| peer.id).filter(|&id| to(id)).collect();
        let number = self.next;
        self.next += 1;
        for peer in linked {
            let intervals = self.handed.get_mut(&(board, peer)).expect("it came up");
            intervals.last_mut().expect("it came up").push((number, is_state));
        }
        self.net.send(board, to, &number.to_le_bytes(), is_state);
        self.note();
    }

    /// A while in which frames are lost; `pause` is the mean time between messages in milliseconds.
    fn run(&mut self, messages: u32, pause: u32, loss: u32) {
        for _ in 0..messages {
            let mut air = Rng::new(self.rng.next_u64());
            let length = Duration::from_millis(u64::from(self.rng.below(pause * 2)));
            let until = self.net.now + length;
            // Noted after every step, since a message belongs to the interval in which it comes.
            while self.net.step(until, &mut |_| air.below(1_000) >= loss) {
                self.note();
            }
            self.send();
        }
    }

    fn check(&self, seed: u64) {
        for ((board, from), intervals) in &self.delivered {
            for delivered in intervals.iter().filter(|delivered| !delivered.is_empty()) {
                let sender = usize::from(from.0 - 1);
                let me = self.net.links[*board].id();
                let sent = self.handed[&(sender, me)].iter().find(|sent| sent.iter().any(|&(n, _)| n == delivered[0]));
                let sent = sent.unwrap_or_else(|| panic!("seed {seed}: {delivered:?} was never sent"));
                assert!(is_prefix(delivered, sent), "seed {seed}: {from} sent {sent:?}, {me} got {delivered:?}");
            }
        }
    }

    /// Everything handed over since both ends last came up is delivered.
    fn check_complete(&self, seed: u64) {
        for ((board, peer), sent) in &self.handed {
            let other = usize::from(peer.0 - 1);
            if !self.net.is_linked(*board, other) {
                continue;
            }
            let wanted = sent.last().and_then(|sent| sent.last()).map(|&(number, _)| number);
            let got = self.delivered[&(other, self.net.links[*board].id())].last().and_then(|got| got.last()).copied();
            assert_eq!(got, wanted, "seed {seed}: the last message of board {board} to {peer}");
        }
    }
}

/// Whether these are the first of those that were sent, but for states that a newer one replaced.
fn is_prefix(delivered: &[u32], sent: &[Handed]) -> bool {
    let mut rest = sent.iter();
    delivered.iter().all(|number| {
        rest.by_ref().find(|&&(n, is_state)| n == *number || !is_state).is_some_and(|found| found.0 == *number)
    })
}

#[test]
fn deliveries_are_a_prefix_of_what_was_sent_whatever_is_lost() {
    for seed in 0..60 {
        let mut traffic = Traffic::new(seed);
        traffic.run(40, 100, 100);
        for (pause, loss) in [(20, 200), (400, 500), (5, 300), (900, 700), (30, 0)] {
            traffic.run(60, pause, loss);
        }
        traffic.check(seed);
        let until = traffic.net.now + Duration::from_millis(3_000);
        while traffic.net.step(until, &mut |_| true) {
            traffic.note();
        }
        traffic.check(seed);
        traffic.check_complete(seed);
    }
}
