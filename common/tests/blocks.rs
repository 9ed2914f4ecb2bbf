//! A board's store of blocks and its log lose their power at every word they write and in every erasure: what was said to be stored
//! is there afterwards, unless the store had to overwrite it and says so.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test stops where it fails; its flash is small"
)]

mod flash;

use std::collections::BTreeMap;

use common::board::block_log::BlockLog;
use common::board::block_store::BlockStore;
use common::board::flash_queue::{ITEM_MAX, Then};
use common::board::journal::Journal;
use common::board::storage::StoreError;
use common::rng::Rng;
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

use self::flash::{PowerLost, done};

/// Pages are smaller than a chip's, so that few blocks run round them.
const PAGE: usize = 512;
const PAGES: usize = 4;
const RANGE: std::ops::Range<u32> = 0..(PAGE * PAGES) as u32;

/// Flash in memory that tears whatever is under way when its power fails: some bits of a word are written and some are not; of a
/// page, some words are erased, some are not, and some hold anything.
#[derive(Clone)]
struct Flash {
    bytes: Vec<u8>,
    /// Words to write and pages to erase until the power fails.
    steps_left: usize,
    rng: Rng,
}

impl Flash {
    fn blank() -> Self {
        Self { bytes: vec![0xFF; PAGE * PAGES], steps_left: usize::MAX, rng: Rng::new(7) }
    }

    fn powered(&self, steps_left: usize, seed: u64) -> Self {
        Self { steps_left, rng: Rng::new(seed), ..self.clone() }
    }

    /// Whether the next step is done whole.
    fn has_power(&mut self) -> bool {
        let has_power = self.steps_left > 0;
        self.steps_left = self.steps_left.saturating_sub(1);
        has_power
    }

    fn byte(&mut self) -> u8 {
        self.rng.below(256) as u8
    }
}

impl ErrorType for Flash {
    type Error = PowerLost;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), PowerLost> {
        bytes.copy_from_slice(&self.bytes[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.bytes.len()
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), PowerLost> {
        for page in (from as usize..to as usize).step_by(PAGE) {
            let is_whole = self.has_power();
            for word in (page..page + PAGE).step_by(4) {
                let fate = if is_whole { 0 } else { self.rng.below(3) };
                let bytes = [0; 4].map(|_| if fate == 0 { 0xFF } else { self.byte() });
                if fate != 1 {
                    self.bytes[word..][..4].copy_from_slice(&bytes);
                }
            }
            if !is_whole {
                return Err(PowerLost);
            }
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), PowerLost> {
        assert!(offset.is_multiple_of(4) && bytes.len().is_multiple_of(4), "whole words only");
        for (word, bytes) in (offset as usize..).step_by(4).zip(bytes.chunks(4)) {
            let is_whole = self.has_power();
            for (at, byte) in (word..).zip(bytes) {
                let kept = if is_whole { 0 } else { self.byte() };
                self.bytes[at] &= byte | kept;
            }
            if !is_whole {
                return Err(PowerLost);
            }
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

/// A block of this number: its bytes and their count tell it from others.
fn block(number: u32) -> Vec<u8> {
    (0..60 + number % 30).map(|at| (number * 7 + at) as u8).collect()
}

fn open_store(flash: &mut Flash, name: u16) -> Result<BlockStore, StoreError> {
    done(BlockStore::open(flash, RANGE, name, &mut [0; ITEM_MAX]))
}

fn put(store: &mut BlockStore, flash: &mut Flash, number: u32) -> Result<u32, StoreError> {
    done(store.store(flash, number, number / 2, &block(number), &mut [0; ITEM_MAX]))
}

fn fetch(store: &BlockStore, flash: &mut Flash, number: u32) -> Option<Vec<u8>> {
    let mut buffer = [0; ITEM_MAX];
    done(store.fetch(flash, number, &mut buffer)).expect("it can be read").map(<[u8]>::to_vec)
}

/// A flash in which this many blocks were stored.
fn stored(blocks: u32) -> Flash {
    let mut flash = Flash::blank();
    let mut store = open_store(&mut flash, 5).expect("it is blank");
    (0..blocks).for_each(|number| _ = put(&mut store, &mut flash, number).expect("it fits"));
    flash
}

#[test]
fn blocks_come_back_after_a_boot_and_a_full_store_says_what_is_left() {
    let mut flash = stored(60);
    let store = open_store(&mut flash, 9).expect("it is sound");
    let found = store.recovered();
    assert_eq!((found.store, found.next, found.base), (5, 60, 29), "its name stays");
    assert!((30..60).contains(&found.oldest), "{found:?}");
    for number in 0..60 {
        let expected = (number >= found.oldest).then(|| block(number));
        assert_eq!(fetch(&store, &mut flash, number), expected, "block {number}");
    }
    let fresh = open_store(&mut Flash::blank(), 9).expect("it is blank").recovered();
    assert_eq!((fresh.store, fresh.next, fresh.base, fresh.oldest), (9, 0, 0, 0));
}

#[test]
fn power_cuts_at_any_step_cost_no_stored_block() {
    // Enough blocks to begin a new page, and to erase the oldest one.
    for (before, seed) in [(0, 1), (3, 2), (9, 3), (30, 4), (41, 5), (57, 6)] {
        let flash = stored(before);
        for steps in 0.. {
            let mut cut = flash.powered(steps, seed * 1_000 + steps as u64);
            let Ok(mut store) = open_store(&mut cut, 5) else { panic!("nothing is written yet") };
            let put_until_cut: Vec<u32> =
                (before..before + 8).take_while(|&number| put(&mut store, &mut cut, number).is_ok()).collect();
            let oldest_told = store.recovered().oldest;
            // The power is back, fails once more while the board boots, and is back for good.
            let mut again = cut.powered(steps % 3, steps as u64);
            let _ = open_store(&mut again, 6);
            let mut back = again.powered(usize::MAX, 0);
            let mut store = open_store(&mut back, 6).expect("it is sound");
            let found = store.recovered();
            let end = before + put_until_cut.len() as u32;
            let case = format!("{before} blocks, cut at step {steps}: {found:?}");
            assert!(found.next == end || found.next == end + 1, "{case}");
            assert!(end == 0 || found.store == 5, "{case}");
            assert!(found.oldest >= oldest_told.min(end), "{case}");
            for number in found.oldest..end {
                assert_eq!(fetch(&store, &mut back, number), Some(block(number)), "{case}: block {number}");
            }
            // At most the page that was being erased is gone, and that is told.
            assert!(found.oldest <= oldest_told + 8, "{case}, {oldest_told} before");
            for number in found.next..found.next + 12 {
                put(&mut store, &mut back, number).expect("it goes on");
                assert_eq!(fetch(&store, &mut back, number), Some(block(number)), "{case}: later");
            }
            let reopened = open_store(&mut back, 6).expect("it is sound").recovered();
            assert_eq!(reopened.next, found.next + 12, "{case}");
            if put_until_cut.len() == 8 {
                break;
            }
        }
    }
}

fn open_log(flash: &mut Flash) -> Result<(BlockLog, Vec<Vec<u8>>), StoreError> {
    let mut entries = Vec::new();
    let mut see = |entry: &[u8]| entries.push(entry.to_vec());
    let log = done(BlockLog::open(flash, RANGE, &mut [0; ITEM_MAX], &mut see))?;
    Ok((log, entries))
}

fn append(log: &mut BlockLog, flash: &mut Flash, entry: &[u8]) -> Result<u32, StoreError> {
    done(log.append(flash, entry, &mut [0; ITEM_MAX]))
}

fn read_log(log: &BlockLog, flash: &mut Flash, from: u32) -> BTreeMap<u32, Vec<u8>> {
    let mut entries = BTreeMap::new();
    let mut see = |position, entry: &[u8]| {
        assert_eq!(entries.insert(position, entry.to_vec()), None, "each once");
        Then::Continue
    };
    done(log.read(flash, from, &mut [0; ITEM_MAX], &mut see)).expect("it can be read");
    entries
}

#[test]
fn a_full_log_takes_no_more_until_a_host_has_what_is_in_it() {
    let mut flash = Flash::blank();
    let (mut log, _) = open_log(&mut flash).expect("it is blank");
    let mut end = 0;
    while append(&mut log, &mut flash, &block(end)).is_ok() {
        end += 1;
    }
    assert!((16..32).contains(&end), "{end}");
    assert_eq!(append(&mut log, &mut flash, &block(end)), Err(StoreError::Full));
    let all: BTreeMap<u32, Vec<u8>> = (0..end).map(|position| (position, block(position))).collect();
    assert_eq!(read_log(&log, &mut flash, 0), all, "nothing is overwritten");
    done(log.release(&mut flash, 10, &mut [0; ITEM_MAX])).expect("there is room now");
    assert!(read_log(&log, &mut flash, 0).keys().copied().eq(10..end), "a host has the others");
    let mut last = end;
    while append(&mut log, &mut flash, &block(last)).is_ok() {
        last += 1;
    }
    assert!(last > end, "the place of those that a host has");
    let (log, entries) = open_log(&mut flash).expect("it is sound");
    assert!(entries.len() >= (last - 10) as usize, "what was not overwritten makes marks");
    assert_eq!((log.end(), log.released()), (last, 10));
    assert!(read_log(&log, &mut flash, 0).keys().copied().eq(10..last));
}

#[test]
fn power_cuts_at_any_step_cost_no_entry_of_a_log() {
    for (before, seed) in [(0_u32, 1), (7, 2), (13, 3), (19, 4)] {
        let mut flash = Flash::blank();
        let (mut log, _) = open_log(&mut flash).expect("it is blank");
        (0..before).for_each(|entry| _ = append(&mut log, &mut flash, &block(entry)).expect("it fits"));
        for steps in 0.. {
            let mut cut = flash.powered(steps, seed * 1_000 + steps as u64);
            let (mut log, _) = open_log(&mut cut).expect("nothing is written yet");
            let released = before.saturating_sub(4);
            let mut end = before;
            let mut is_through = done(log.release(&mut cut, released, &mut [0; ITEM_MAX])).is_ok();
            for entry in before..before + 10 {
                is_through = is_through && append(&mut log, &mut cut, &block(entry)).is_ok();
                end += u32::from(is_through);
            }
            let mut again = cut.powered(steps % 3, steps as u64);
            let _ = open_log(&mut again);
            let mut back = again.powered(usize::MAX, 0);
            let (mut log, _) = open_log(&mut back).expect("it is sound");
            let case = format!("{before} entries, cut at step {steps}");
            let entries = read_log(&log, &mut back, released);
            assert!((released..end).all(|at| entries.get(&at) == Some(&block(at))), "{case}: {:?}", entries.keys());
            assert!(log.end() == end || log.end() == end + 1, "{case}: {} for {end}", log.end());
            let position = append(&mut log, &mut back, &block(99)).expect("there is room");
            assert_eq!(read_log(&log, &mut back, released).get(&position), Some(&block(99)), "{case}");
            if is_through {
                break;
            }
        }
    }
}

fn open_journal(flash: &mut Flash) -> Result<Journal, StoreError> {
    done(Journal::open(flash, RANGE, &mut [0; ITEM_MAX]))
}

/// An item with the number that the journal will give it, and its bytes.
fn item(number: u32) -> Vec<u8> {
    [&number.to_le_bytes()[..], &[7, 0, 0], &block(number)].concat()
}

/// The items of a journal from a number on.
fn items(journal: &Journal, flash: &mut Flash, from: u32) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut see = |_, item: &[u8]| {
        found.push(item.to_vec());
        Then::Continue
    };
    done(journal.read(flash, from, &mut [0; ITEM_MAX], &mut see)).expect("it can be read");
    found
}

#[test]
fn a_journal_goes_round_and_keeps_the_newest_items_whatever_loses_its_power() {
    let mut flash = Flash::blank();
    let mut journal = open_journal(&mut flash).expect("it is blank");
    for number in 0..60 {
        done(journal.append(&mut flash, &mut item(number))).expect("the oldest make room");
    }
    let kept = items(&journal, &mut flash, 0);
    assert!((10..60).contains(&kept.len()), "{}", kept.len());
    assert!(kept.iter().cloned().eq((60 - kept.len() as u32..60).map(item)), "the newest, in order");
    assert_eq!(items(&journal, &mut flash, 58), [item(58), item(59)]);
    for steps in 0.. {
        let mut cut = flash.powered(steps, steps as u64);
        let mut journal = open_journal(&mut cut).expect("nothing is written yet");
        let written = (60..68).take_while(|&number| done(journal.append(&mut cut, &mut item(number))).is_ok()).count();
        let mut back = cut.powered(usize::MAX, 0);
        let mut journal = open_journal(&mut back).expect("it is sound");
        let newest = 60 + written as u32;
        assert!((newest..=newest + 1).contains(&journal.end()), "cut at step {steps}: {}", journal.end());
        assert!(
            items(&journal, &mut back, 50).iter().cloned().eq((50..journal.end()).map(item)),
            "cut at step {steps}"
        );
        done(journal.append(&mut back, &mut item(journal.end()))).expect("it goes on");
        if written == 8 {
            break;
        }
    }
}
