//! What a board keeps of orders through a power cut, and when it writes that.
//!
//! When a whole network loses power there is nobody left to ask, so every board keeps its book and its newest stamp in
//! flash. They are kept as the messages in which neighbours tell them, one piece after the other:
//!
//! ```text
//! a MERGE of one entry (22 bytes) for each order of the book, ascending | a SYNC (15 bytes): newest stamp, and the book's digest
//! ```
//!
//! What is kept is a complete state that the node once had. So a board that comes back is no different from one that
//! has heard nothing since, and its neighbours tell it the rest. Actions are kept only because the digest covers them;
//! they have expired.
//!
//! Only a new order for a register is worth a write. It is written a second later, with whatever else has come by then;
//! after `BURST` writes in a row there is at most one every `EVERY`. With one or two registers in use, a page is erased
//! once in about fifty writes.

use super::book::Order;
use super::command::Command;
use super::flood::told;
use super::links::Peers;
use super::stamp::Stamp;
use super::wire::Message;
use super::{BOOK_MAX, Book, Orders};
use crate::bits::fold;
use crate::time::{Duration, Instant};

/// Bytes of a piece, but for the last, which has fewer.
pub const KEPT_PIECE_MAX: usize = 22;

/// Bytes of all that a board keeps of orders.
pub const KEPT_MAX: usize = BOOK_MAX * KEPT_PIECE_MAX + 15;

/// How long a change waits for others, to share a write.
const SETTLE: Duration = Duration::from_millis(1_000);

/// How far apart writes are in the long run.
const EVERY: Duration = Duration::from_millis(60_000);

/// How many writes may follow each other more quickly.
const BURST: u32 = 8;

/// Decides when the orders are written to flash.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// What was looked at last.
    revision: u32,
    /// The registers' stamps that were written last.
    digest: u32,
    /// When to write; never, where nothing has changed.
    at: Instant,
    /// Up to when the writes so far use up what is allowed in the long run.
    paid_until: Instant,
}

impl Default for Keeping {
    fn default() -> Self {
        Self { revision: 0, digest: EMPTY, at: Instant::NEVER, paid_until: Instant::ZERO }
    }
}

impl Keeping {
    /// When to look again; never, where there is nothing to write.
    pub const fn at(&self) -> Instant {
        self.at
    }

    /// What is known now is in flash.
    pub fn settle(&mut self, orders: &Orders) {
        (self.revision, self.digest, self.at) = (orders.revision, orders.registers_digest(), Instant::NEVER);
    }

    /// Whether what is known is to be written now.
    pub fn is_due(&mut self, now: Instant, orders: &Orders) -> bool {
        // Whatever a memory that went wrong says, no write is further away.
        let latest = now + EVERY.times(BURST);
        self.paid_until = self.paid_until.min(latest);
        if self.at > latest {
            self.at = Instant::NEVER;
        }
        if self.at == Instant::NEVER && orders.revision != self.revision {
            self.at = (now + SETTLE).max(self.paid_until - EVERY.times(BURST - 1));
        }
        if now < self.at {
            return false;
        }
        let before = self.digest;
        self.settle(orders);
        let is_new = self.digest != before;
        if is_new {
            self.paid_until = self.paid_until.max(now) + EVERY;
        }
        is_new
    }
}

/// The digest of registers none of which was ever set.
const EMPTY: u32 = 0x811C_9DC5;

impl Orders {
    /// Gives out what a board keeps over a power cut, piece by piece.
    pub fn keep(&self, each: &mut dyn FnMut(&[u8])) {
        let merges = self.book.iter().map(|order| {
            let chunk = core::iter::once(told(Instant::ZERO, order)).collect();
            Message::Merge { mandate: order.stamp.mandate, chunk }
        });
        let sync = Message::Sync { newest: self.newest, digest: self.digest() };
        merges.chain([sync]).flat_map(|message| message.encode()).for_each(|piece| each(&piece));
    }

    /// Takes in a piece of what was kept, before the start. Where the pieces turn out not to be all of them, none counts.
    pub fn recover(&mut self, piece: &[u8]) {
        match Message::decode(piece) {
            Some(Message::Merge { mandate, chunk }) => {
                for told in chunk {
                    let stamp = Stamp { mandate, index: told.index };
                    let (command, key) = (told.command, told.key);
                    self.book.take(Order { stamp, command, key, at: Instant::ZERO, needs: Peers::NOBODY });
                }
            }
            Some(Message::Sync { newest, digest }) if self.book.digest(newest) == digest => {
                self.newest = newest;
                self.revision = 1;
            }
            _ => self.book = Book::new(),
        }
    }

    /// A number that stands for the last orders of all registers.
    fn registers_digest(&self) -> u32 {
        let set = self.book.iter().filter(|order| matches!(order.command, Command::Set { .. }));
        fold(set.flat_map(|Order { stamp: Stamp { mandate, index }, .. }| {
            [mandate.number, u32::from(mandate.leader.0) << 16 | u32::from(mandate.epoch), u32::from(*index)]
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::{KEPT_MAX, KEPT_PIECE_MAX, Keeping};
    use crate::orders::{Action, BOOK_MAX, Command, Key, Mandate, Message, Orders, Register, Standing, Told};
    use crate::time::{Duration, Instant};
    use crate::types::NodeId;

    const NOW: Instant = Instant::from_millis(5_000);

    fn leader() -> Orders {
        let mut orders = Orders::new(NodeId(1), Some(1), 7);
        orders.set_standing(NOW, Standing { leads: true, elected_at: 40, next_hop: None, population: 0 });
        orders
    }

    fn set(now: Instant, orders: &mut Orders, number: u8, value: u32) {
        let register = Register::new(number).expect("there is one");
        assert!(orders.submit(now, Command::Set { register, value }).is_ok(), "{value}");
        while orders.poll_outcome().is_some() {}
    }

    fn pieces(orders: &Orders) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        orders.keep(&mut |piece| all.push(piece.to_vec()));
        all
    }

    /// The same board at its next boot.
    fn rebooted<'p>(pieces: impl IntoIterator<Item = &'p Vec<u8>>) -> Orders {
        let mut orders = Orders::new(NodeId(1), Some(2), 7);
        pieces.into_iter().for_each(|piece| orders.recover(piece));
        orders
    }

    #[test]
    fn what_is_kept_comes_back_and_nothing_is_done_again() {
        let mut orders = leader();
        set(NOW, &mut orders, 0, 1_000);
        assert!(orders.submit(NOW, Command::Act { action: Action::Restart, target: NodeId(0) }).is_ok());
        set(NOW, &mut orders, 2, 0);
        let again = rebooted(&pieces(&orders));
        assert_eq!((again.newest(), again.digest()), (orders.newest(), orders.digest()));
        assert_eq!(again.register(Register::SAMPLE), 1_000);
        let mut again = again;
        again.start(NOW);
        assert_eq!(again.poll_deed(NOW + Duration::from_millis(60_000)), None, "it has restarted");
        again.set_standing(NOW, Standing { leads: true, elected_at: 3, next_hop: None, population: 0 });
        assert!(again.newest().mandate > orders.newest().mandate, "another boot orders under another mandate");
    }

    #[test]
    fn a_whole_book_fits_and_a_part_of_it_counts_for_nothing() {
        let mut orders = leader();
        let mandate = Mandate { number: 50, leader: NodeId(9), epoch: 1 };
        orders.link_up(NOW, NodeId(9));
        for index in 1..=u16::try_from(BOOK_MAX).expect("small") {
            let command = match Register::new(u8::try_from(index - 1).expect("small")) {
                Some(register) => Command::Set { register, value: 70_000 },
                None => Command::Act { action: Action::Identify, target: NodeId(5) },
            };
            let told = Told { index, command, age: 9, key: Key::default() };
            let run = Message::Run { mandate, after: index - 1, upto: index, chunk: [told].into_iter().collect() };
            orders.receive(NOW, NodeId(9), &run.encode().expect("it fits"));
        }
        let pieces = pieces(&orders);
        assert_eq!(pieces.len(), BOOK_MAX + 1);
        assert_eq!(pieces.iter().map(Vec::len).sum::<usize>(), KEPT_MAX);
        assert!(pieces[..BOOK_MAX].iter().all(|piece| piece.len() == KEPT_PIECE_MAX));
        assert_eq!(rebooted(&pieces).digest(), orders.digest());
        for missing in 0..BOOK_MAX {
            let part = pieces.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, piece)| piece);
            assert_eq!(rebooted(part).digest(), 0, "without piece {missing}");
        }
    }

    #[test]
    fn only_registers_are_written_and_not_for_ever() {
        let (mut orders, mut keeping) = (leader(), Keeping::default());
        assert!(!keeping.is_due(NOW, &orders));
        assert!(orders.submit(NOW, Command::Act { action: Action::Identify, target: NodeId(0) }).is_ok());
        assert!(!keeping.is_due(NOW, &orders));
        assert!(!keeping.is_due(NOW + Duration::from_millis(1_000), &orders), "an action is not worth a write");
        let (mut now, mut writes) = (NOW, 0_u32);
        for step in 0..36_000_u32 {
            set(now, &mut orders, 0, 1_000 + step);
            writes += u32::from(keeping.is_due(now, &orders));
            if step == 100 {
                assert_eq!(writes, 8, "a few at once");
            }
            now = now + Duration::from_millis(100);
        }
        assert!((60..=70).contains(&writes), "{writes} writes in an hour");
        let due = keeping.at();
        assert!(keeping.is_due(due, &orders) && !keeping.is_due(due, &orders), "the last order is written once");
    }
}
