//! Several boards at once, whose radios share an air.
//!
//! The boards take turns. None gets further ahead than [`LOOKAHEAD`], because nothing that one radio does reaches another
//! sooner. The air is told everything in the order of time, whichever board ran first, and its answers reach every board at
//! exactly their cycle. So the result does not depend on whose turn it was.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::board::{Board, Pause};
use crate::io::CYCLES_PER_US;
use crate::phy::{ASSESSMENT, Input, SYNC, Stamped};

/// How far a board may run ahead of the others. It is shorter than a channel assessment and than a preamble, which are the
/// fastest ways for one board to affect another.
pub const LOOKAHEAD: u64 = 100 * CYCLES_PER_US;
const _: () = assert!(LOOKAHEAD < SYNC && LOOKAHEAD < ASSESSMENT);

/// An air: it is told what radios do, and says what reaches them. A radio has the number of its board.
pub trait Ether {
    /// Calls come in the order of time.
    fn tell(&mut self, radio: usize, said: Stamped);

    /// When the air next has something for a radio.
    fn next_event(&self) -> u64;

    /// Adds what reaches radios at this cycle, in order.
    fn advance(&mut self, now: u64, deliver: &mut Vec<(usize, Input)>);
}

/// What a radio did that the air has not been told yet.
#[derive(PartialEq, Eq)]
struct Message {
    board: usize,
    /// Counts all messages, so that those of one board at one cycle keep their order.
    sequence: u64,
    said: Stamped,
}

impl Ord for Message {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |message: &Self| (message.said.at, message.board, message.sequence);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Message {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Boards on one clock, without an air: the caller lends one to every step.
#[derive(Default)]
pub struct Boards {
    all: Vec<Board>,
    messages: BinaryHeap<Reverse<Message>>,
    /// The number of messages so far.
    sequence: u64,
    /// The time of the last message that the air was told.
    told_until: u64,
    now: u64,
    inputs: Vec<(usize, Input)>,
}

impl Boards {
    /// Returns the number of the board.
    pub fn add(&mut self, board: Board) -> usize {
        self.all.push(board);
        self.all.len() - 1
    }

    pub fn all(&self) -> &[Board] {
        &self.all
    }

    /// A board, brought up to the present cycle.
    pub fn board(&mut self, number: usize) -> &mut Board {
        let (now, board) = (self.now, &mut self.all[number]);
        if board.now() < now {
            board.run_until(now);
        }
        board
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn power_on(&mut self, number: usize) {
        let now = self.now;
        self.board(number).power_on(now);
    }

    pub fn power_off(&mut self, number: usize) {
        self.board(number).power_off();
        self.collect(number);
    }

    pub fn run_until(&mut self, cycle: u64, ether: &mut impl Ether) {
        // The caller may have done something to a board since the last call.
        (0..self.all.len()).for_each(|number| self.collect(number));
        loop {
            let event = self.next_event(ether);
            let Turn { board, starts, others_start } = self.next_turn();
            if event.min(starts) > cycle {
                break;
            }
            if starts >= event {
                self.now = event;
                self.exchange(event, ether);
                continue;
            }
            let limit = event.min(others_start.saturating_add(LOOKAHEAD)).min(cycle + 1);
            self.all[board].run_until(limit);
            self.collect(board);
        }
        self.now = cycle;
        for number in 0..self.all.len() {
            self.board(number);
        }
    }

    /// The board that is furthest behind runs next.
    #[inline]
    fn next_turn(&self) -> Turn {
        let mut turn = Turn { board: usize::MAX, starts: u64::MAX, others_start: u64::MAX };
        for (board, next) in self.all.iter().map(Board::next_event).enumerate() {
            if next < turn.starts {
                turn = Turn { board, starts: next, others_start: turn.starts };
            } else {
                turn.others_start = turn.others_start.min(next);
            }
        }
        turn
    }

    fn next_event(&self, ether: &impl Ether) -> u64 {
        let message = self.messages.peek().map_or(u64::MAX, |Reverse(first)| first.said.at);
        message.min(ether.next_event())
    }

    /// Keeps what a radio did until all boards have reached that cycle.
    fn collect(&mut self, board: usize) {
        while let Some(said) = self.all[board].take_radio() {
            self.sequence += 1;
            self.messages.push(Reverse(Message { board, sequence: self.sequence, said }));
        }
    }

    /// Every board has reached this cycle: tells the air what happened, and passes on its answers.
    fn exchange(&mut self, now: u64, ether: &mut impl Ether) {
        while self.messages.peek().is_some_and(|Reverse(first)| first.said.at <= now) {
            if let Some(Reverse(Message { board, said, .. })) = self.messages.pop() {
                let told = self.told_until;
                debug_assert!(said.at >= told, "board {board} did something at {}, told after {told}", said.at);
                self.told_until = said.at;
                ether.tell(board, said);
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
        // The board may be asleep and behind. Nothing of its own is due before now.
        while board.now() < now && board.run_until(now) == Pause::Radio {}
        board.handle_input(input);
        self.collect(number);
    }
}

/// Which board runs next, and how far.
struct Turn {
    board: usize,
    /// The next event of that board.
    starts: u64,
    /// The earliest next event of all other boards.
    others_start: u64,
}

/// Boards with an air of their own.
pub struct Network<E> {
    boards: Boards,
    ether: E,
}

impl<E: Ether> Network<E> {
    pub fn new(ether: E) -> Self {
        Self { boards: Boards::default(), ether }
    }

    /// Returns the number of the board.
    pub fn add(&mut self, board: Board) -> usize {
        self.boards.add(board)
    }

    pub fn boards(&self) -> &[Board] {
        self.boards.all()
    }

    /// A board, brought up to the present cycle.
    pub fn board(&mut self, number: usize) -> &mut Board {
        self.boards.board(number)
    }

    pub fn ether_mut(&mut self) -> &mut E {
        &mut self.ether
    }

    pub fn now(&self) -> u64 {
        self.boards.now()
    }

    pub fn power_on(&mut self, number: usize) {
        self.boards.power_on(number);
    }

    pub fn power_off(&mut self, number: usize) {
        self.boards.power_off(number);
    }

    pub fn run_until(&mut self, cycle: u64) {
        self.boards.run_until(cycle, &mut self.ether);
    }
}
