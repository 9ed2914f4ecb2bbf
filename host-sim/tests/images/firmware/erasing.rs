//! A page of the storage is erased while the board is on the air.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use common::board::flash_map::{FlashMap, PAGE_BYTES};
use common::board::history::{Ending, Run};
use common::board::storage::{Override, Store};
use common::config::page::checksum;
use common::host_link::{Page, ToBoard};
use common::types::NodeId;
use embedded_storage_async::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use emulator::board::Board;
use emulator::soc::PowerCut;

use super::bench::{Bench, MS, config, page_of, provisioned};
use super::power_cuts::{is_cut, next_boot, with_storage};

/// How long a board may take to search a full storage for what must be kept, and to erase a page.
const SEARCH_MS: u64 = 4_000;

/// The storage of a board, in the memory of the PC.
#[derive(Clone)]
struct Flash {
    bytes: Vec<u8>,
    erasures: usize,
}

fn index(address: u32) -> usize {
    (address - FlashMap::NRF52840.storage().start) as usize
}

impl ErrorType for Flash {
    type Error = std::convert::Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.copy_from_slice(&self.bytes[index(offset)..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        FlashMap::NRF52840.storage().end as usize
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE_BYTES as usize;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        self.erasures += 1;
        self.bytes[index(from)..index(to)].fill(0xFF);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.bytes[index(offset)..].iter_mut().zip(bytes).for_each(|(place, byte)| *place &= byte);
        Ok(())
    }
}

/// Memory is never late, so nothing is ever pending.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the flash is in memory"),
    }
}

fn store(flash: Flash) -> Store<Flash> {
    Store::new(flash, FlashMap::NRF52840.storage()).expect("the pages are aligned")
}

/// A boot with its first checkpoint.
fn boot(flash: Flash) -> Flash {
    let mut store = store(flash);
    done(store.begin_boot(Run { lasted_s: 70, ending: Ending::Failed })).expect("it works");
    done(store.checkpoint(2)).expect("it works");
    store.into_flash()
}

/// A storage so full that a boot still fits, and a new configuration takes an erasure.
fn nearly_full(page: &Page) -> Vec<u8> {
    let blank = vec![0xFF; FlashMap::NRF52840.storage().len()];
    let mut flash = Flash { bytes: blank, erasures: 0 };
    loop {
        let booted = boot(flash.clone());
        let wanted = Override { replaces: checksum(&page_of(&config(1))), page: Some(page.as_slice()) };
        let mut configured = store(booted.clone());
        done(configured.set_override(wanted)).expect("it works");
        if booted.erasures == flash.erasures && configured.into_flash().erasures > flash.erasures {
            return flash.bytes;
        }
        flash = booted;
    }
}

fn other_page() -> Page {
    Page::new(&page_of(&config(2))).expect("it fits")
}

/// The longest time for which a board was halted without a break, in milliseconds.
fn longest_halt_ms(bench: &mut Bench, number: usize, millis: u64) -> u64 {
    let (mut longest, mut halt) = (0, 0);
    for _ in 0..millis {
        let before = bench.network.boards()[number].counts().halted;
        bench.run_ms(1);
        let halted = bench.network.boards()[number].counts().halted - before;
        halt = if halted >= MS * 9 / 10 { halt + 1 } else { 0 };
        longest = longest.max(halt);
    }
    longest
}

fn writes(board: &Board) -> u64 {
    board.soc().flash_operations()
}

#[test]
fn no_erasure_makes_a_board_deaf_for_longer_than_a_frame() {
    let page = other_page();
    let mut bench = Bench::new(vec![with_storage(&nearly_full(&page)), provisioned(3, &config(3))]);
    bench.elect(30);
    // By then it has stored that it runs.
    bench.run_ms(4_000);
    let before = writes(&bench.network.boards()[0]);
    bench.tell(0, &ToBoard::SetConfig(page));
    let halted = bench.network.boards()[0].counts().halted;
    let longest = longest_halt_ms(&mut bench, 0, SEARCH_MS);
    let halted = (bench.network.boards()[0].counts().halted - halted) / MS;
    let operations = writes(&bench.network.boards()[0]) - before;
    println!("halted for {halted} ms in {operations} operations, for {longest} ms at most");
    assert!(halted >= 85, "a page was erased: {halted} ms");
    assert!(longest <= 4, "deaf for {longest} ms");
    let hello = bench.hello(0);
    assert_eq!((hello.id, hello.demo), (NodeId(2), false), "and the configuration is there");
}

#[test]
fn an_erasure_cut_in_any_slice_costs_nothing() {
    let page = other_page();
    let storage = nearly_full(&page);
    let (mut before, mut after) = (0, 0);
    let mut ready = Bench::new(vec![with_storage(&storage)]);
    ready.hello(0);
    ready.run_ms(4_000);
    // Every third of them, which takes a third of the time.
    for operation in (1..).step_by(3) {
        let mut bench = ready.clone();
        bench.network.board(0).plan_power_cut(Some(PowerCut { operation, percent: 50 }));
        bench.tell(0, &ToBoard::SetConfig(page.clone()));
        if !is_cut(&mut bench, SEARCH_MS) {
            break;
        }
        match next_boot(&mut bench).id {
            NodeId(1) => before += 1,
            NodeId(2) => after += 1,
            other => panic!("operation {operation}: node {other}"),
        }
    }
    assert!(before > 10 && after > 0, "{before} old, {after} new");
}
