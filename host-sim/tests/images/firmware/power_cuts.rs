//! Power cuts in the middle of every single flash operation of a boot and of a new configuration. Afterwards the board works
//! with either the old contents or the new ones.

use common::board::flash_map::FlashMap;
use common::host_link::{Page, ToBoard, ToHost, Warning};
use common::types::NodeId;
use emulator::board::Board;
use emulator::soc::PowerCut;

use super::bench::{Bench, config, page_of, provisioned};

/// A board with the storage of another.
pub fn with_storage(storage: &[u8]) -> Board {
    let mut board = provisioned(1, &config(1));
    assert!(board.load_flash(FlashMap::NRF52840.storage().start, storage));
    board
}

fn storage_of(board: &Board) -> Vec<u8> {
    let place = FlashMap::NRF52840.storage();
    board.memory().flash()[place.start as usize..place.end as usize].to_vec()
}

/// The storage of a board that has run for so long that its end is no brown-out, and its epoch.
fn worn() -> (Vec<u8>, u16) {
    let mut bench = Bench::new(vec![provisioned(1, &config(1))]);
    for _ in 0..4 {
        bench.hello(0);
        bench.network.board(0).reset();
    }
    let epoch = bench.hello(0).epoch.expect("storage works");
    bench.run_ms(3_000);
    (storage_of(bench.network.board(0)), epoch)
}

/// Runs until the planned power cut, and says whether it came.
pub fn is_cut(bench: &mut Bench, limit_ms: u64) -> bool {
    for _ in 0..limit_ms / 10 {
        bench.run_ms(10);
        if !bench.network.boards()[0].is_on() {
            return true;
        }
    }
    false
}

pub fn next_boot(bench: &mut Bench) -> common::host_link::Hello {
    bench.said(0);
    bench.network.power_on(0);
    let hello = bench.hello(0);
    bench.run_ms(200);
    let said = bench.said(0);
    assert!(!said.contains(&ToHost::Warning(Warning::StorageFailed)), "{said:?}");
    hello
}

/// The epoch of a board that lost its power at once: it waits before it takes one.
fn awaited_epoch(bench: &mut Bench) -> u16 {
    (0..50).find_map(|_| bench.snapshot(0).epoch).expect("it may send")
}

#[test]
fn a_boot_cut_at_any_write_costs_an_epoch_at_most() {
    let (storage, epoch) = worn();
    let mut cuts = 0;
    'all: for operation in 1.. {
        for percent in [0, 50, 100] {
            let mut board = with_storage(&storage);
            board.plan_power_cut(Some(PowerCut { operation, percent }));
            let mut bench = Bench::new(vec![board]);
            if !is_cut(&mut bench, 300) {
                break 'all;
            }
            cuts += 1;
            let next = next_boot(&mut bench).epoch.unwrap_or_else(|| awaited_epoch(&mut bench));
            assert!(
                next == epoch + 1 || next == epoch + 2,
                "operation {operation} at {percent} %: {next} after {epoch}"
            );
        }
    }
    assert!(cuts > 10, "only {cuts} cuts");
}

#[test]
fn a_new_configuration_cut_at_any_write_is_there_or_is_not() {
    let page = Page::new(&page_of(&config(2))).expect("it fits");
    let (mut before, mut after) = (0, 0);
    let mut ready = Bench::new(vec![provisioned(1, &config(1))]);
    ready.hello(0);
    'all: for operation in 1.. {
        for percent in [0, 50, 100] {
            let mut bench = ready.clone();
            bench.network.board(0).plan_power_cut(Some(PowerCut { operation, percent }));
            bench.tell(0, &ToBoard::SetConfig(page.clone()));
            if !is_cut(&mut bench, 250) {
                break 'all;
            }
            match next_boot(&mut bench).id {
                NodeId(1) => before += 1,
                NodeId(2) => after += 1,
                other => panic!("operation {operation} at {percent} %: node {other}"),
            }
        }
    }
    assert!(before > 10 && after > 0, "{before} old, {after} new");
}
