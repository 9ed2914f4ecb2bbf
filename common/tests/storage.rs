//! A board's storage loses its power at every byte it writes: what is read afterwards is the old value or the new one.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test stops where it fails; its flash is small"
)]

mod flash;

use common::board::history::{Ending, History, Run};
use common::board::storage::{ORDERS_MAX, Override, Store, StoreError};
use common::config::{Config, FormerKey, NetworkKey, Protection};
use common::orders::kept::KEPT_PIECE_MAX;
use common::types::NodeId;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

use self::flash::{PowerLost, done};

/// Pages are smaller than a chip's, so that the log runs round them often; a configuration still fits.
const PAGE: usize = 1_024;
const PAGES: usize = 3;
const RANGE: std::ops::Range<u32> = 0..(PAGE * PAGES) as u32;

/// How far an interrupted erasure can have come, in quarters of a page.
const ERASE_STEPS: usize = 4;

const CRASH: Run = Run { lasted_s: 70, ending: Ending::Failed };

/// Flash in memory: writing can only clear bits, and the power may fail after this many steps.
#[derive(Clone)]
struct Flash {
    bytes: Vec<u8>,
    /// Steps until the power fails: bytes written, quarters of pages erased.
    steps_left: usize,
    steps_done: usize,
    erasures: usize,
}

impl Flash {
    fn blank() -> Self {
        Self { bytes: vec![0xFF; PAGE * PAGES], steps_left: usize::MAX, steps_done: 0, erasures: 0 }
    }

    fn step(&mut self) -> Result<(), PowerLost> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(PowerLost)?;
        self.steps_done += 1;
        Ok(())
    }

    /// The same flash when the power is back, and for how long it stays.
    fn powered(self, steps_left: usize) -> Self {
        Self { steps_left, steps_done: 0, erasures: 0, ..self }
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
        self.erasures += 1;
        for start in (from as usize..to as usize).step_by(PAGE / ERASE_STEPS) {
            self.step()?;
            self.bytes[start..][..PAGE / ERASE_STEPS].fill(0xFF);
        }
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), PowerLost> {
        assert!(offset.is_multiple_of(4) && bytes.len().is_multiple_of(4), "whole words only");
        for (at, byte) in (offset as usize..).zip(bytes) {
            self.step()?;
            self.bytes[at] &= byte;
        }
        Ok(())
    }
}

fn store(flash: &Flash, steps: usize) -> Store<Flash> {
    Store::new(flash.clone().powered(steps), RANGE).expect("the pages are aligned")
}

/// Everything that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contents {
    history: History,
    config: Option<(Option<u32>, Option<Vec<u8>>)>,
    /// Orders of the network, piece by piece.
    orders: Vec<Vec<u8>>,
}

fn network() -> Config {
    Config::ad_hoc(NodeId(1), 7, Protection::Ascon(NetworkKey::new([3; 16])))
}

/// What a board keeps of this many orders, after the number of its network.
fn kept(network: &Config, orders: u8) -> Vec<u8> {
    let pieces = (0..orders).flat_map(|order| [order; KEPT_PIECE_MAX]);
    network.network().to_le_bytes().into_iter().chain(pieces).chain([0xEE; 15]).collect()
}

fn contents(flash: &Flash) -> Result<Contents, StoreError> {
    let mut store = store(flash, usize::MAX);
    let history = done(store.history())?;
    let config = done(store.config_override())?.map(|stored| (stored.replaces, stored.page.map(<[u8]>::to_vec)));
    let orders = done(store.orders(&network()))?.map(<[u8]>::to_vec).collect();
    Ok(Contents { history, config, orders })
}

/// What a board does to its storage.
#[derive(Clone, Copy, Debug)]
enum Act {
    Boot,
    Checkpoint(u32),
    Configure(u8, usize),
    Forget,
    NextEpoch,
    Keep(u8),
}

fn act(store: &mut Store<Flash>, act: Act) -> Result<(), StoreError> {
    match act {
        Act::Boot => done(store.begin_boot(CRASH)).map(|_| ()),
        Act::Checkpoint(uptime_s) => done(store.checkpoint(uptime_s)),
        Act::Configure(fill, length) => {
            let page = vec![fill; length];
            done(store.set_override(Override { replaces: Some(u32::from(fill)), page: Some(&page) }))
        }
        Act::Forget => done(store.set_override(Override { replaces: None, page: None })),
        Act::NextEpoch => done(store.next_epoch()).map(|_| ()),
        Act::Keep(orders) => done(store.set_orders(&kept(&network(), orders))),
    }
}

/// Enough to run round the pages several times.
fn acts() -> Vec<Act> {
    let round = |n: u8| {
        [
            Act::Boot,
            Act::Checkpoint(60 * u32::from(n)),
            Act::Configure(n, 40 + usize::from(n) * 7),
            Act::Boot,
            Act::Checkpoint(4_000_000),
            Act::NextEpoch,
            Act::Keep(n % 7),
            Act::Forget,
            Act::Boot,
        ]
    };
    (1..=40).flat_map(round).collect()
}

#[test]
fn a_power_cut_at_any_byte_leaves_the_old_or_the_new_value() {
    let (mut flash, mut cuts) = (Flash::blank(), 0);
    for (number, step) in acts().into_iter().enumerate() {
        let before = contents(&flash).expect("sound before");
        let mut whole = store(&flash, usize::MAX);
        act(&mut whole, step).expect("the power stays on");
        let after_flash = whole.into_flash();
        let after = contents(&after_flash).expect("sound after");
        for cut in 0..after_flash.steps_done {
            let at = format!("act {number} ({step:?}) cut after {cut} steps");
            let mut torn = store(&flash, cut);
            let _ = act(&mut torn, step);
            let torn = torn.into_flash();
            let seen = contents(&torn).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert!(seen == before || seen == after, "{at}: {seen:?} is neither {before:?} nor {after:?}");
            // Life goes on, with an epoch that was never used.
            let mut revived = store(&torn, usize::MAX);
            done(revived.begin_boot(CRASH)).unwrap_or_else(|error| panic!("{at}, next boot: {error}"));
            let epoch = done(revived.next_epoch()).unwrap_or_else(|error| panic!("{at}, next epoch: {error}"));
            assert!(epoch > before.history.epoch, "{at}: epoch {epoch} again");
            assert_eq!(contents(&revived.into_flash()).map(|seen| seen.config), Ok(seen.config), "{at}");
            cuts += 1;
        }
        flash = after_flash;
    }
    assert!(cuts > 5_000, "only {cuts} cuts");
}

#[test]
fn a_second_cut_during_the_repair_does_no_harm_either() {
    let (mut flash, mut moves) = (Flash::blank(), 0);
    for step in acts() {
        let mut whole = store(&flash, usize::MAX);
        act(&mut whole, step).expect("the power stays on");
        let after = whole.into_flash();
        // Only where the log moves to another page there is something to repair.
        if after.erasures > 0 && moves < 12 {
            moves += 1;
            let before = contents(&flash).expect("sound before");
            for cut in (0..after.steps_done).step_by(3) {
                let mut torn = store(&flash, cut);
                let _ = act(&mut torn, step);
                let torn = torn.into_flash();
                for second in (0..600).step_by(7) {
                    let mut again = store(&torn, second);
                    let _ = done(again.begin_boot(CRASH));
                    let last = again.into_flash().powered(usize::MAX);
                    let seen = contents(&last).unwrap_or_else(|error| panic!("{step:?} cut {cut}, {second}: {error}"));
                    assert!(seen.history.epoch >= before.history.epoch, "{step:?} cut {cut}, {second}: an old epoch");
                }
            }
        }
        flash = after;
    }
    assert_eq!(moves, 12, "the log ran round its pages");
}

#[test]
fn an_empty_flash_is_a_new_board_and_a_full_one_a_broken_one() {
    let empty = contents(&Flash::blank()).expect("blank flash is sound");
    assert_eq!(empty, Contents { history: History::default(), config: None, orders: Vec::new() });
    let zeroed = Flash { bytes: vec![0; PAGE * PAGES], ..Flash::blank() };
    let mut broken = store(&zeroed, usize::MAX);
    assert!(done(broken.begin_boot(CRASH)).is_err(), "an epoch must not start over");
}

#[test]
fn the_longer_account_of_a_run_counts() {
    let mut store = store(&Flash::blank(), usize::MAX);
    done(store.begin_boot(CRASH)).expect("room");
    done(store.checkpoint(3_600)).expect("room");
    let second = done(store.begin_boot(Run { lasted_s: 10, ending: Ending::PowerLost })).expect("room").history;
    assert_eq!(second.runs.as_slice(), [Run { lasted_s: 3_600, ending: Ending::PowerLost }]);
    let third = done(store.begin_boot(Run { lasted_s: 10, ending: Ending::PowerLost })).expect("room").history;
    assert_eq!(third.runs[1].lasted_s, 10, "a checkpoint of the run before says nothing about this one");
}

#[test]
fn a_board_that_waits_before_it_joins_takes_its_epoch_only_then() {
    let mut store = store(&Flash::blank(), usize::MAX);
    let brown_out = Run { lasted_s: 1, ending: Ending::PowerLost };
    assert_eq!(done(store.begin_boot(brown_out)).expect("room").epoch, Some(1), "the first boot");
    done(store.checkpoint(3_600)).expect("room");
    assert_eq!(done(store.begin_boot(brown_out)).expect("room").epoch, Some(2), "after an hour");
    // From here on the supply breaks down each second, and every boot ends while the board still waits.
    for boot in 0..2_000 {
        let begun = done(store.begin_boot(brown_out)).expect("room");
        assert_eq!((begun.epoch, begun.history.epoch), (None, 2), "boot {boot}");
    }
    // The long run before is not taken for one of these.
    assert!(done(store.history()).expect("sound").runs.iter().all(|run| run.lasted_s == 1));
    assert_eq!(done(store.next_epoch()), Ok(3), "a board that got through its wait");
}

#[test]
fn the_orders_of_one_network_do_not_count_in_another() {
    let mut store = store(&Flash::blank(), usize::MAX);
    let longest = kept(&network(), 24);
    assert_eq!(longest.len(), ORDERS_MAX);
    done(store.set_orders(&longest)).expect("room");
    let mut pieces = |config: &Config| done(store.orders(config)).expect("sound").count();
    assert_eq!(pieces(&network()), 25);
    let moved = |key| Config { protection: Protection::Ascon(NetworkKey::new([key; 16])), ..network() };
    assert_eq!(pieces(&moved(4)), 0, "another key");
    assert_eq!(pieces(&Config { pan: 8, ..network() }), 0, "another number");
    let former = Some(FormerKey { key_id: 0, protection: network().protection });
    assert_eq!(pieces(&Config { key_id: 1, former, ..moved(4) }), 25, "the same network under its next key");
}

#[test]
fn pages_that_are_none_are_refused() {
    for range in [0..1_000_u32, 4..2_052, 0..1_024] {
        assert_eq!(Store::new(Flash::blank(), range).err(), Some(StoreError::Range));
    }
}
