//! Readings, with the image: what boards measure is in flash and reaches the leader's log once, whatever loses its power.

use std::collections::{BTreeMap, BTreeSet};

use common::data::block::{Block, Sample, Taken};
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::Key;
use common::host_link::{Quantity, ToBoard, ToHost};
use common::orders::{Command, Register};
use common::types::NodeId;
use emulator::soc::PowerCut;

use super::bench::{Bench, config, provisioned};
use super::prefilled::full_store;

/// What boards said that they have stored, and what their logs hold.
#[derive(Default)]
struct Books {
    stored: BTreeMap<Key, Vec<u8>>,
    /// Stored so late that it need not be logged at the end.
    late: BTreeSet<Key>,
    is_late: bool,
    /// By board.
    logs: BTreeMap<usize, BTreeMap<u32, Vec<u8>>>,
}

impl Books {
    /// Takes down what boards have said since the last time.
    fn listen(&mut self, bench: &mut Bench, boards: usize) {
        for number in 0..boards {
            for message in bench.said(number) {
                self.note(number, message);
            }
        }
    }

    fn note(&mut self, board: usize, message: ToHost) {
        match message {
            ToHost::Stored { store, number, block } => {
                let origin = NodeId(u16::try_from(board).unwrap_or(0) + 1);
                let key = Key { origin, store, number };
                let before = self.stored.insert(key, block.as_slice().to_vec());
                assert!(before.is_none(), "block {number} of node {origin} was stored twice");
                if self.is_late {
                    self.late.insert(key);
                }
            }
            ToHost::Logged { position, entry } => {
                let log = self.logs.entry(board).or_default();
                let before = log.insert(position, entry.as_slice().to_vec());
                assert!(before.is_none_or(|before| before == entry.as_slice()), "entry {position} has changed");
            }
            _ => {}
        }
    }

    /// Reads a board's log from the beginning, as a PC does that comes later.
    fn read_log(&mut self, bench: &mut Bench, board: usize) {
        self.logs.remove(&board);
        let mut from = 0;
        loop {
            bench.tell(board, &ToBoard::ReadLog { from });
            let told = bench.wait_for(board, 2_000, |message| {
                self.note(board, message.clone());
                if let ToHost::LogTold { next, end } = message { Some((*next, *end)) } else { None }
            });
            from = told.0;
            if told.0 >= told.1 {
                break;
            }
        }
    }

    /// Checks that every stored block is in some log as it was stored, or in a gap, and in no log twice.
    fn are_complete(&self, place: &str) {
        let entries = |board: &usize| self.logs[board].values().filter_map(|bytes| LogEntry::read(bytes));
        for board in self.logs.keys() {
            let mut keys: Vec<Key> = entries(board).map(|entry| entry.key).collect();
            let all = keys.len();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), all, "{place}: board {board} has logged a block twice");
        }
        for (key, block) in self.stored.iter().filter(|(key, _)| !self.late.contains(key)) {
            let is_logged = |entry: LogEntry<'_>| match entry.contents {
                Contents::Block(bytes) => entry.key == *key && bytes == block,
                Contents::Gap { end } => entry.key.is_of_store(*key) && (entry.key.number..end).contains(&key.number),
            };
            assert!(self.logs.keys().any(|board| entries(board).any(is_logged)), "{place}: {key:?} is in no log");
        }
    }
}

fn boards(count: u16) -> Bench {
    Bench::new((1..=count).map(|id| provisioned(u64::from(id), &config(id))).collect())
}

/// Has all boards measure each second, and send every ten.
fn hurry(bench: &mut Bench) {
    for (register, value) in [(Register::SAMPLE, 1_000), (Register::SEND, 10_000)] {
        let ticket = value;
        bench.tell(0, &ToBoard::Submit { ticket, command: Command::Set { register, value } });
        bench.wait_for(0, 45_000, |message| match message {
            ToHost::Submitted { ticket: told, outcome } if *told == ticket && outcome.is_final() => Some(()),
            _ => None,
        });
    }
}

fn index(node: NodeId) -> usize {
    usize::from(node.0) - 1
}

/// Long enough for what was stored to be logged: boards rest after a change, and wait for commits.
const SETTLE_MS: u64 = 20_000;

/// What was stored until now must be logged afterwards; boards go on measuring.
fn settle(bench: &mut Bench, boards: usize, books: &mut Books) {
    books.listen(bench, boards);
    books.is_late = true;
    bench.run_ms(SETTLE_MS);
    books.listen(bench, boards);
}

#[test]
fn readings_of_five_boards_are_complete_although_the_leader_loses_its_power() {
    let (mut bench, mut books) = (boards(5), Books::default());
    let leader = bench.elect(30);
    hurry(&mut bench);
    let mut listen = |bench: &mut Bench, seconds: u64| {
        for _ in 0..seconds {
            bench.run_ms(1_000);
            books.listen(bench, 5);
        }
    };
    listen(&mut bench, 15);
    bench.network.power_off(index(leader));
    listen(&mut bench, 20);
    bench.network.power_on(index(leader));
    listen(&mut bench, 15);
    settle(&mut bench, 5, &mut books);
    assert!(books.logs.len() >= 2, "another board led meanwhile");
    let told = books.logs.clone();
    for board in 0..5 {
        books.read_log(&mut bench, board);
        let told = told.get(&board).cloned().unwrap_or_default();
        let read = books.logs.get(&board).cloned().unwrap_or_default();
        assert!(
            told.iter().all(|(position, entry)| read.get(position) == Some(entry)),
            "board {board}: as it was told"
        );
    }
    books.logs.retain(|_, log| !log.is_empty());
    books.are_complete("at the end");
    let origins = |quantity| {
        let entries = books.logs.values().flat_map(BTreeMap::values).filter_map(|bytes| LogEntry::read(bytes));
        let measured = entries.filter(|entry| entry.readings().any(|one| one.quantity == quantity));
        measured.map(|entry| entry.key.origin).collect::<BTreeSet<_>>().len()
    };
    assert_eq!((origins(Quantity::DieTemperature), origins(Quantity::Supply)), (5, 5));
    assert!(books.stored.len() >= 15, "{} blocks", books.stored.len());
}

#[test]
fn a_leader_cut_at_any_write_of_a_reading_loses_none() {
    let mut cuts = 0;
    let mut ready = boards(2);
    let leader = index(ready.elect(30));
    hurry(&mut ready);
    // Every seventh of them; the others are cut on a PC, where flash is quick.
    for operation in (1..).step_by(7) {
        let (mut bench, mut books) = (ready.clone(), Books::default());
        books.listen(&mut bench, 2);
        bench.network.board(leader).plan_power_cut(Some(PowerCut { operation, percent: 50 }));
        for _ in 0..120 {
            bench.run_ms(100);
            books.listen(&mut bench, 2);
            if !bench.network.boards()[leader].is_on() {
                break;
            }
        }
        if bench.network.boards()[leader].is_on() {
            break;
        }
        cuts += 1;
        bench.network.power_on(leader);
        bench.run_ms(5_000);
        settle(&mut bench, 2, &mut books);
        (0..2).for_each(|board| books.read_log(&mut bench, board));
        books.are_complete(&format!("cut at operation {operation}"));
    }
    assert!(cuts > 8, "only {cuts} cuts");
}

#[test]
fn a_full_store_declares_what_it_has_lost() {
    let mut block = Block::new();
    let sample = Sample { values: [Some(2_100), None, None, None, None, None, None, None] };
    block.push(1, Taken { clock_ms: 5_000, sample }).expect("it fits");
    let (flash, kept) = full_store(0x77, block.bytes());
    assert!(kept.start > 0, "the oldest page was overwritten");
    let mut full = provisioned(1, &config(1));
    assert!(full.load_flash(common::board::flash_map::FlashMap::NRF52840.block_store().start, &flash));
    let mut bench = Bench::new(vec![full, provisioned(2, &config(2))]);
    let leader = index(bench.elect(30));
    let mut entries = Vec::new();
    for _ in 0..30 {
        bench.run_ms(1_000);
        for message in bench.said(leader) {
            if let ToHost::Logged { entry, .. } = message {
                let entry = LogEntry::read(entry.as_slice()).expect("it is whole");
                let end = if let Contents::Gap { end } = entry.contents { Some(end) } else { None };
                entries.extend((entry.key.store == 0x77).then_some((entry.key.number, end)));
            }
        }
        if entries.len() > 3 {
            break;
        }
    }
    assert_eq!(entries.first(), Some(&(0, Some(kept.start))), "the gap comes first: {entries:?}");
    assert!(entries[1..].iter().all(|&(number, end)| kept.contains(&number) && end.is_none()), "{entries:?}");
    assert!(entries.len() > 3, "{entries:?}");
}

#[test]
fn a_pc_at_a_board_that_does_not_lead_is_told_what_all_measure() {
    let mut bench = boards(4);
    let leader = bench.elect(30);
    hurry(&mut bench);
    let reader = (index(leader) + 1) % 4;
    (0..4).for_each(|number| _ = bench.said(number));
    bench.tell(reader, &ToBoard::ReadAll);
    let (mut seen, mut stored) = (BTreeMap::new(), BTreeMap::new());
    for second in 0..50 {
        bench.run_ms(1_000);
        for board in 0..4 {
            for message in bench.said(board) {
                match message {
                    ToHost::Copied { entry } if board == reader => {
                        let entry = LogEntry::read(entry.as_slice()).expect("an entry");
                        let Contents::Block(block) = entry.contents else { panic!("{entry:?}") };
                        assert!(entry.age < 2_000, "it is seconds old: {entry:?}");
                        seen.insert(entry.key, block.to_vec());
                    }
                    // Long enough before the end, and after the leader has heard of the reader.
                    ToHost::Stored { store, number, block } if (12..40).contains(&second) && board != reader => {
                        let origin = NodeId(u16::try_from(board).unwrap_or(0) + 1);
                        stored.insert(Key { origin, store, number }, block.as_slice().to_vec());
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(stored.len() >= 6, "{} blocks", stored.len());
    for (key, block) in &stored {
        assert_eq!(seen.get(key), Some(block), "{key:?}");
    }
}
