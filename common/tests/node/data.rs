//! Readings reach a leader's log once, through everything that happens to nodes.

use std::collections::{BTreeMap, BTreeSet};

use common::data::block::Sample;
use common::data::log_entry::{Contents, ENTRY_MAX, LogEntry};
use common::data::origin::Recovered;
use common::data::wire::{BODY_MAX, Course, Gap, Key, Records};
use common::data::{Chore, Done};
use common::link::frame::Kind;
use common::node::Node;
use common::time::Instant;
use common::types::NodeId;

use crate::ether::Ether;
use crate::insider::{LIE, say};
use crate::mesh::{mesh, seconds};
use crate::rings::ring;

/// What a board keeps over power cuts.
#[derive(Clone, Debug)]
pub struct Flash {
    pub name: u16,
    pub blocks: BTreeMap<u32, Vec<u8>>,
    /// How many blocks there is room for.
    room: usize,
    pub next: u32,
    base: u32,
    log: Vec<Vec<u8>>,
    /// Whether the log takes nothing.
    is_full: bool,
    /// Blocks that a PC at this board has seen.
    copies: BTreeSet<Key>,
}

impl Flash {
    pub fn new(name: u16, room: usize) -> Self {
        Self {
            name,
            blocks: BTreeMap::new(),
            room,
            next: 0,
            base: 0,
            log: Vec::new(),
            is_full: false,
            copies: BTreeSet::new(),
        }
    }

    pub fn recover(&self, node: &mut Node) {
        let oldest = self.blocks.keys().next().copied().unwrap_or(self.next);
        node.set_collection(Instant::ZERO, seconds(2));
        node.handle_recovered(Recovered { store: self.name, next: self.next, base: self.base, oldest });
        for entry in self.log.iter().filter_map(|entry| LogEntry::read(entry)) {
            node.handle_logged_before(&entry);
        }
    }

    pub fn work(&mut self, now: Instant, node: &mut Node) {
        let mut buf = [0; ENTRY_MAX];
        while let Some(length) = node.poll_copy(now, &mut buf) {
            let entry = LogEntry::read(&buf[..length]).expect("an entry");
            assert!(entry.clock_ms == now.as_millis() && matches!(entry.contents, Contents::Block(_)), "{entry:?}");
            assert!(self.copies.insert(entry.key), "a copy came twice");
        }
        while let Some(chore) = node.poll_chore(now, &mut buf) {
            match chore {
                Chore::Store { number, length, base } => {
                    self.base = self.base.max(base);
                    self.blocks.insert(number, buf[..length].to_vec());
                    self.next = number + 1;
                    node.handle_done(now, Done::Stored(true));
                    while self.blocks.len() > self.room {
                        self.blocks.pop_first();
                        node.handle_overwritten(*self.blocks.keys().next().expect("the new one"));
                    }
                }
                Chore::Fetch { number } => {
                    node.handle_done(now, Done::Fetched(self.blocks.get(&number).map(Vec::as_slice)));
                }
                Chore::Log { length } => {
                    if !self.is_full {
                        self.log.push(buf[..length].to_vec());
                    }
                    node.handle_done(now, Done::Logged(!self.is_full));
                }
                // As on a board, which stores it with the next block.
                Chore::Release { .. } => {}
            }
        }
    }
}

/// Lets every board collect, with room for this many blocks.
pub fn collecting(mut ether: Ether, room: usize) -> Ether {
    for board in 0..ether.boards.len() {
        let name = 100 + u16::try_from(board).expect("few");
        ether.boards[board].flash = Some(Flash::new(name, room));
        ether.switch_off(board);
        ether.switch_on(board);
    }
    ether
}

/// Lets this much time pass, with a sample at every board each second.
pub fn measure(ether: &mut Ether, length: u64) {
    for _ in 0..length {
        let now = ether.now;
        for board in ether.boards.iter_mut().filter(|board| board.is_on) {
            board
                .node
                .handle_sample(now, Sample { values: [Some(2_150), Some(3_000), None, None, None, None, None, None] });
        }
        ether.run(seconds(1));
    }
}

pub fn flash(ether: &Ether, board: usize) -> &Flash {
    ether.boards[board].flash.as_ref().expect("it collects")
}

/// The blocks in each log; the test fails where a log has one twice.
fn logged(ether: &Ether) -> (BTreeSet<Key>, Vec<(Key, u32)>) {
    let (mut all, mut gaps) = (BTreeSet::new(), Vec::new());
    for board in 0..ether.boards.len() {
        let mut own = BTreeSet::new();
        for entry in flash(ether, board).log.iter().filter_map(|entry| LogEntry::read(entry)) {
            match entry.contents {
                Contents::Block(_) => {
                    assert!(own.insert(entry.key), "{:?} is twice in the log of board {board}", entry.key);
                }
                Contents::Gap { end } => gaps.push((entry.key, end)),
            }
        }
        all.extend(own);
    }
    (all, gaps)
}

/// The stored blocks that are in no log and no gap.
fn missing(ether: &Ether) -> Vec<Key> {
    let (all, gaps) = logged(ether);
    let stored = (0..ether.boards.len()).flat_map(|board| {
        let Flash { name, next, .. } = *flash(ether, board);
        let origin = NodeId(u16::try_from(board + 1).expect("few"));
        (0..next).map(move |number| Key { origin, store: name, number })
    });
    let is_declared = |key: &Key| gaps.iter().any(|&(first, end)| (first..first.with(end)).contains(key));
    stored.filter(|key| !all.contains(key) && !is_declared(key)).collect()
}

#[test]
fn readings_are_logged_once_although_leaders_die_and_nodes_restart() {
    for seed in 0..6 {
        let mut ether = collecting(mesh(seed, 8, 200), 1_000);
        measure(&mut ether, 15);
        for _ in 0..3 {
            let leader =
                usize::from(ether.agreed((0..8).filter(|&board| ether.boards[board].is_on)).map_or(1, |id| id.0)) - 1;
            ether.switch_off(leader);
            measure(&mut ether, 12);
            // The others are cut in two meanwhile.
            ether.part(true, |board| board < 4);
            measure(&mut ether, 12);
            ether.part(false, |board| board < 4);
            ether.switch_on(leader);
            measure(&mut ether, 8);
        }
        ether.run(seconds(60));
        assert_eq!(missing(&ether), [], "seed {seed}");
        assert!(logged(&ether).0.len() > 150, "seed {seed}");
        for board in 0..8 {
            let custody = ether.boards[board].node.data().custody();
            assert!(custody.is_empty(), "board {board} still keeps {custody:?}, seed {seed}");
        }
    }
}

#[test]
fn rings_collect_too() {
    for algorithm in [common::election::Algorithm::Hs, common::election::Algorithm::Lcr] {
        let mut ether = collecting(ring(5, 9, 100, algorithm), 1_000);
        measure(&mut ether, 20);
        let leader = usize::from(ether.agreed(0..9).expect("agreement").0) - 1;
        ether.switch_off(leader);
        measure(&mut ether, 20);
        ether.switch_on(leader);
        measure(&mut ether, 20);
        ether.run(seconds(60));
        assert_eq!(missing(&ether), [], "{algorithm:?}");
    }
}

/// The blocks of others that are in a log, and how many of them a board has no copy of.
fn unseen(ether: &Ether, board: usize) -> (usize, usize) {
    let own = NodeId(u16::try_from(board + 1).expect("few"));
    let others: Vec<Key> = logged(ether).0.into_iter().filter(|key| key.origin != own).collect();
    let copies = &flash(ether, board).copies;
    (others.len(), others.iter().filter(|key| !copies.contains(key)).count())
}

#[test]
fn one_board_sees_what_all_have_measured_although_it_does_not_lead() {
    for seed in 0..4 {
        let mut ether = collecting(mesh(seed, 8, 200), 1_000);
        ether.run(seconds(10));
        let leader = usize::from(ether.agreed(0..8).expect("agreement").0) - 1;
        let reader = (leader + 5) % 8;
        measure(&mut ether, 20);
        let (before, unseen_before) = unseen(&ether, reader);
        assert_eq!(before, unseen_before, "nobody has asked");
        let read = |ether: &mut Ether| {
            let now = ether.now;
            ether.boards[reader].node.handle_reader(now);
        };
        read(&mut ether);
        measure(&mut ether, 60);
        read(&mut ether);
        ether.switch_off(leader);
        measure(&mut ether, 60);
        ether.run(seconds(20));
        let (all, never) = unseen(&ether, reader);
        let lost: u32 = ether.boards.iter().map(|board| board.node.data().counters().copies_lost).sum();
        assert!(all - before > 150, "{all} and {before}, seed {seed}");
        // Those logged before, and while neither leader knew of the reader.
        assert!(never - before < 30, "{never} of {all} unseen, {before} before, {lost} counted, seed {seed}");
        // Nobody asks any more.
        ether.run(seconds(160));
        let dead = NodeId(u16::try_from(leader + 1).expect("few"));
        assert!(missing(&ether).iter().all(|key| key.origin == dead), "seed {seed}");
        let seen = flash(&ether, reader).copies.len();
        measure(&mut ether, 20);
        assert_eq!(flash(&ether, reader).copies.len(), seen, "seed {seed}");
    }
}

#[test]
fn a_reader_on_a_ring_sees_what_others_have_measured() {
    let mut ether = collecting(ring(5, 9, 100, common::election::Algorithm::Hs), 1_000);
    ether.run(seconds(15));
    let leader = usize::from(ether.agreed(0..9).expect("agreement").0) - 1;
    let (reader, now) = ((leader + 4) % 9, ether.now);
    ether.boards[reader].node.handle_reader(now);
    measure(&mut ether, 60);
    ether.run(seconds(20));
    let (all, never) = unseen(&ether, reader);
    assert!(all > 150 && never < 30, "{never} of {all}");
}

#[test]
fn a_false_block_or_gap_costs_one_true_block_at_most() {
    let lies = [1, 4, 12, 13, 15, 16, 17, 40, 5_000, 0x00FF_FFF0]
        .into_iter()
        .flat_map(|ahead| [(ahead, false), (ahead, true)]);
    for (seed, (ahead, is_gap)) in (0..).zip(lies) {
        let mut ether = collecting(mesh(seed, 4, 0), 1_000);
        measure(&mut ether, 20);
        let leader = usize::from(ether.agreed(0..4).expect("agreement").0) - 1;
        let [liar, victim] = [(leader + 1) % 4, (leader + 2) % 4];
        let Flash { name, next, .. } = *flash(&ether, victim);
        let origin = ether.boards[victim].node.id();
        let key = Key { origin, store: name, number: next + ahead - 1 };
        let mut buf = [0; BODY_MAX];
        let length = if is_gap {
            Gap { turn: 0, hops_left: 5, key: key.with(0), end: key.number + 1 }.write(&mut buf)
        } else {
            let block = &[1, 0, 5, 0, 0, 0, 0, 1, 0, 1, 4];
            Records { course: Course::ToLeader, turn: 0, hops_left: 5, key, age: 0, block }.write(&mut buf)
        };
        let epoch = ether.boards[liar].node.links().epoch().expect("it may send");
        say(&mut ether, [liar, leader], Kind::Data, (epoch, LIE), &buf[..length.expect("it fits")]);
        ether.switch_off(liar);
        measure(&mut ether, 60);
        // The leader's marks are rebuilt from its log.
        ether.switch_off(leader);
        ether.switch_on(leader);
        measure(&mut ether, 60);
        ether.run(seconds(60));
        let (all, _) = logged(&ether);
        let lost = (0..flash(&ether, victim).next).filter(|&number| !all.contains(&key.with(number))).count();
        assert!(lost <= usize::from(is_gap), "{lost} lost by a lie {ahead} ahead, gap: {is_gap}");
    }
}

#[test]
fn a_store_that_had_to_overwrite_says_what_is_lost() {
    let mut ether = collecting(mesh(4, 4, 100), 8);
    measure(&mut ether, 10);
    ether.part(true, |board| board == 3);
    measure(&mut ether, 60);
    // Restarting in between does not make it forget that something is missing.
    ether.switch_off(3);
    ether.switch_on(3);
    measure(&mut ether, 20);
    ether.part(false, |board| board == 3);
    ether.run(seconds(60));
    let (_, gaps) = logged(&ether);
    assert!(gaps.iter().any(|(first, _)| first.origin == NodeId(4)), "{gaps:?}");
    assert_eq!(missing(&ether), []);
}

#[test]
fn a_leader_whose_log_is_full_commits_nothing_and_loses_nothing() {
    let mut ether = collecting(mesh(2, 3, 0), 1_000);
    ether.run(seconds(5));
    let leader = usize::from(ether.agreed(0..3).expect("agreement").0) - 1;
    ether.boards[leader].flash.as_mut().expect("it collects").is_full = true;
    measure(&mut ether, 20);
    let held = |ether: &Ether| (0..3).map(|board| ether.boards[board].node.data().custody().len()).sum::<usize>();
    assert!(held(&ether) > 8 && logged(&ether).0.is_empty());
    ether.boards[leader].flash.as_mut().expect("it collects").is_full = false;
    ether.run(seconds(90));
    assert_eq!((missing(&ether), held(&ether)), (Vec::new(), 0));
}

#[test]
fn a_node_alone_keeps_its_readings_for_others() {
    let mut ether = collecting(mesh(7, 2, 0), 1_000);
    ether.part(true, |board| board == 0);
    measure(&mut ether, 20);
    assert!(logged(&ether).0.is_empty());
    ether.part(false, |board| board == 0);
    ether.run(seconds(30));
    assert_eq!(missing(&ether), []);
}

#[test]
fn data_changes_no_link_and_no_leader() {
    let quiet = |with_data: bool| {
        let mut ether = mesh(9, 10, 100);
        if with_data {
            ether = collecting(ether, 1_000);
        }
        ether.run(seconds(15));
        let before: u32 = ether.boards.iter().map(|board| board.node.snapshot().counters.links_down).sum();
        if with_data {
            measure(&mut ether, 120);
        } else {
            ether.run(seconds(120));
        }
        let after: u32 = ether.boards.iter().map(|board| board.node.snapshot().counters.links_down).sum();
        after - before
    };
    assert!(quiet(true) <= quiet(false) + 1, "{} and {}", quiet(true), quiet(false));
}
