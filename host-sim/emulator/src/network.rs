//! Several boards at once, with their radios joined by an air.
//!
//! The boards take turns, and none gets further ahead than [`LOOKAHEAD`]: nothing that one radio does reaches another
//! sooner than that. What the radios say reaches the air in the order of its time, whichever board ran first, and what the
//! air answers finds every board at that very cycle. So the result does not depend on whose turn it was.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::board::{Board, Pause};
use crate::io::CYCLES_PER_US;
use crate::phy::{Input, SYNC, Stamped};

/// How far a board may run ahead of the others. Shorter than a look at the channel and than a preamble, which are the
/// fastest ways for one board to matter to another.
pub const LOOKAHEAD: u64 = 100 * CYCLES_PER_US;
const _: () = assert!(LOOKAHEAD < SYNC && LOOKAHEAD < 128 * CYCLES_PER_US);

/// An air: it is told what radios do, and says what that does to them. Radios are numbered from 0.
pub trait Ether {
    /// A radio does something. The calls come in the order of time.
    fn tell(&mut self, radio: usize, said: Stamped);

    /// When the air next has something for a radio.
    fn next_event(&self) -> u64;

    /// What it has for radios at this cycle, in order.
    fn advance(&mut self, now: u64, deliver: &mut Vec<(usize, Input)>);
}

/// Something a radio said that the air does not know yet, ordered by time, then board, then order.
#[derive(PartialEq, Eq)]
struct Said {
    key: (u64, usize, u64),
    said: Stamped,
}

impl Ord for Said {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Said {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Boards on one clock, without the air between them: whoever has one lends it to every step.
#[derive(Default)]
pub struct Boards {
    all: Vec<Board>,
    said: BinaryHeap<Reverse<Said>>,
    order: u64,
    /// The time of what the air was told last.
    told: u64,
    now: u64,
    inputs: Vec<(usize, Input)>,
}

impl Boards {
    /// Adds a board and gives its number.
    pub fn add(&mut self, board: Board) -> usize {
        self.all.push(board);
        self.all.len() - 1
    }

    /// The boards.
    pub fn all(&self) -> &[Board] {
        &self.all
    }

    /// A board, brought to the present and ready to be acted on.
    pub fn board(&mut self, number: usize) -> &mut Board {
        let (now, board) = (self.now, &mut self.all[number]);
        if board.now() < now {
            board.run_until(now);
        }
        board
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Gives a board its power, now.
    pub fn power_on(&mut self, number: usize) {
        let now = self.now;
        self.board(number).power_on(now);
    }

    /// Takes it away, now.
    pub fn power_off(&mut self, number: usize) {
        self.board(number).power_off();
        self.collect(number);
    }

    /// Runs everything until a cycle.
    pub fn run_until(&mut self, cycle: u64, ether: &mut impl Ether) {
        // What was done to boards from outside comes first.
        (0..self.all.len()).for_each(|number| self.collect(number));
        loop {
            let event = self.next_event(ether);
            let mut first = (u64::MAX, usize::MAX);
            let mut second = u64::MAX;
            for (number, board) in self.all.iter().enumerate() {
                let next = board.next_event();
                if next < first.0 {
                    second = first.0;
                    first = (next, number);
                } else {
                    second = second.min(next);
                }
            }
            if event.min(first.0) > cycle {
                break;
            }
            if first.0 >= event {
                self.now = event;
                self.happen(event, ether);
                continue;
            }
            let limit = event.min(second.saturating_add(LOOKAHEAD)).min(cycle + 1);
            self.all[first.1].run_until(limit);
            self.collect(first.1);
        }
        self.now = cycle;
        for number in 0..self.all.len() {
            self.board(number);
        }
    }

    fn next_event(&self, ether: &impl Ether) -> u64 {
        let said = self.said.peek().map_or(u64::MAX, |Reverse(first)| first.key.0);
        said.min(ether.next_event())
    }

    /// Takes what a radio says, for its turn.
    fn collect(&mut self, number: usize) {
        while let Some(said) = self.all[number].take_radio() {
            self.order += 1;
            self.said.push(Reverse(Said { key: (said.at, number, self.order), said }));
        }
    }

    /// Every board has reached this cycle: the air hears of it, and answers.
    fn happen(&mut self, now: u64, ether: &mut impl Ether) {
        while self.said.peek().is_some_and(|Reverse(first)| first.key.0 <= now) {
            if let Some(Reverse(Said { key, said })) = self.said.pop() {
                debug_assert!(said.at >= self.told, "board {} speaks of cycle {} at {}", key.1, said.at, self.told);
                self.told = said.at;
                ether.tell(key.1, said);
            }
        }
        if ether.next_event() > now {
            return;
        }
        let mut inputs = std::mem::take(&mut self.inputs);
        ether.advance(now, &mut inputs);
        for (number, input) in inputs.drain(..) {
            self.deliver(number, now, input);
        }
        self.inputs = inputs;
    }

    fn deliver(&mut self, number: usize, now: u64, input: Input) {
        let Some(board) = self.all.get_mut(number) else { return };
        // It may have slept through the time until now; nothing of its own is due before.
        while board.now() < now && board.run_until(now) == Pause::Radio {}
        board.hear(input);
        self.collect(number);
    }
}

/// Boards and an air of their own.
pub struct Network<E> {
    boards: Boards,
    ether: E,
}

impl<E: Ether> Network<E> {
    /// An air without boards.
    pub fn new(ether: E) -> Self {
        Self { boards: Boards::default(), ether }
    }

    /// Adds a board and gives its number.
    pub fn add(&mut self, board: Board) -> usize {
        self.boards.add(board)
    }

    /// The boards.
    pub fn boards(&self) -> &[Board] {
        self.boards.all()
    }

    /// A board, brought to the present and ready to be acted on.
    pub fn board(&mut self, number: usize) -> &mut Board {
        self.boards.board(number)
    }

    /// The air.
    pub fn ether_mut(&mut self) -> &mut E {
        &mut self.ether
    }

    /// The present cycle.
    pub fn now(&self) -> u64 {
        self.boards.now()
    }

    /// Gives a board its power, now.
    pub fn power_on(&mut self, number: usize) {
        self.boards.power_on(number);
    }

    /// Takes it away, now.
    pub fn power_off(&mut self, number: usize) {
        self.boards.power_off(number);
    }

    /// Runs everything until a cycle.
    pub fn run_until(&mut self, cycle: u64) {
        self.boards.run_until(cycle, &mut self.ether);
    }
}
