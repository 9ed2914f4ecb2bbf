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

/// A board of a network, counted from 0. Its radio has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoardIndex(pub usize);

impl From<usize> for BoardIndex {
    fn from(number: usize) -> Self {
        Self(number)
    }
}

/// An air: it is told what radios do, and says what reaches them.
pub trait Ether {
    /// Calls come in the order of time.
    fn tell(&mut self, radio: BoardIndex, said: Stamped);

    /// When the air next has something for a radio.
    fn next_event(&self) -> u64;

    /// Adds what reaches radios at this cycle, in order.
    fn advance(&mut self, now: u64, deliver: &mut Vec<(BoardIndex, Input)>);
}

/// What a radio did that the air has not been told yet.
#[derive(Clone, PartialEq, Eq)]
struct Message {
    board: BoardIndex,
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
#[derive(Clone, Default)]
pub struct Boards {
    all: Vec<Board>,
    messages: BinaryHeap<Reverse<Message>>,
    /// The number of messages so far.
    sequence: u64,
    /// The time of the last message that the air was told.
    told_until: u64,
    now: u64,
    inputs: Vec<(BoardIndex, Input)>,
}

impl Boards {
    pub fn add(&mut self, board: Board) -> BoardIndex {
        self.all.push(board);
        BoardIndex(self.all.len() - 1)
    }

    pub fn all(&self) -> &[Board] {
        &self.all
    }

    /// A board, brought up to the present cycle.
    pub fn board(&mut self, index: BoardIndex) -> &mut Board {
        let (now, board) = (self.now, &mut self.all[index.0]);
        if board.now() < now {
            board.run_until(now);
        }
        board
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn power_on(&mut self, index: BoardIndex) {
        let now = self.now;
        self.board(index).power_on(now);
    }

    pub fn power_off(&mut self, index: BoardIndex) {
        self.board(index).power_off();
        self.collect(index);
    }

    fn indices(&self) -> impl Iterator<Item = BoardIndex> + use<> {
        (0..self.all.len()).map(BoardIndex)
    }

    pub fn run_until(&mut self, cycle: u64, ether: &mut impl Ether) {
        // The caller may have done something to a board since the last call.
        self.indices().for_each(|board| self.collect(board));
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
            self.all[board.0].run_until(limit);
            self.collect(board);
        }
        self.now = cycle;
        for index in self.indices() {
            self.board(index);
        }
    }

    /// The board that is furthest behind runs next.
    #[inline]
    fn next_turn(&self) -> Turn {
        let mut turn = Turn { board: BoardIndex(usize::MAX), starts: u64::MAX, others_start: u64::MAX };
        for (board, next) in self.indices().zip(self.all.iter().map(Board::next_event)) {
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
    fn collect(&mut self, board: BoardIndex) {
        while let Some(said) = self.all[board.0].take_radio() {
            self.sequence += 1;
            self.messages.push(Reverse(Message { board, sequence: self.sequence, said }));
        }
    }

    /// Every board has reached this cycle: tells the air what happened, and passes on its answers.
    fn exchange(&mut self, now: u64, ether: &mut impl Ether) {
        while self.messages.peek().is_some_and(|Reverse(first)| first.said.at <= now) {
            if let Some(Reverse(Message { board, said, .. })) = self.messages.pop() {
                let told = self.told_until;
                debug_assert!(said.at >= told, "{board:?} did something at {}, told after {told}", said.at);
                self.told_until = said.at;
                ether.tell(board, said);
            }
        }
        if ether.next_event() > now {
            return;
        }
        let mut inputs = std::mem::take(&mut self.inputs);
        ether.advance(now, &mut inputs);
        for (index, input) in inputs.drain(..) {
            self.deliver(index, now, input);
        }
        self.inputs = inputs;
    }

    fn deliver(&mut self, index: BoardIndex, now: u64, input: Input) {
        let Some(board) = self.all.get_mut(index.0) else { return };
        // The board may be asleep and behind. Nothing of its own is due before now.
        while board.now() < now && board.run_until(now) == Pause::Radio {}
        board.handle_input(input);
        self.collect(index);
    }
}

/// Which board runs next, and how far.
struct Turn {
    board: BoardIndex,
    /// The next event of that board.
    starts: u64,
    /// The earliest next event of all other boards.
    others_start: u64,
}

/// Boards with an air of their own. Its builder knows the boards by their order, and may name one by a plain number.
#[derive(Clone)]
pub struct Network<E> {
    boards: Boards,
    ether: E,
}

impl<E: Ether> Network<E> {
    pub fn new(ether: E) -> Self {
        Self { boards: Boards::default(), ether }
    }

    pub fn add(&mut self, board: Board) -> BoardIndex {
        self.boards.add(board)
    }

    pub fn boards(&self) -> &[Board] {
        self.boards.all()
    }

    /// A board, brought up to the present cycle.
    pub fn board(&mut self, index: impl Into<BoardIndex>) -> &mut Board {
        self.boards.board(index.into())
    }

    pub fn ether_mut(&mut self) -> &mut E {
        &mut self.ether
    }

    pub fn now(&self) -> u64 {
        self.boards.now()
    }

    pub fn power_on(&mut self, index: impl Into<BoardIndex>) {
        self.boards.power_on(index.into());
    }

    pub fn power_off(&mut self, index: impl Into<BoardIndex>) {
        self.boards.power_off(index.into());
    }

    pub fn run_until(&mut self, cycle: u64) {
        self.boards.run_until(cycle, &mut self.ether);
    }
}
