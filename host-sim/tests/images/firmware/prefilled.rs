//! A store of blocks as a board finds it that was without a leader for days, made on the PC with the board's own code.

use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use common::board::block_store::BlockStore;
use common::board::flash_map::{FlashMap, PAGE_BYTES};
use common::board::flash_queue::ITEM_MAX;
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};

struct Flash(Vec<u8>);

fn index(address: u32) -> usize {
    (address - FlashMap::NRF52840.block_store().start) as usize
}

impl ErrorType for Flash {
    type Error = std::convert::Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.copy_from_slice(&self.0[index(offset)..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        FlashMap::NRF52840.block_store().end as usize
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE_BYTES as usize;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), Self::Error> {
        self.0[index(from)..index(to)].fill(0xFF);
        Ok(())
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0[index(offset)..].iter_mut().zip(bytes).for_each(|(place, byte)| *place &= byte);
        Ok(())
    }
}

impl MultiwriteNorFlash for Flash {}

/// Memory is never late, so nothing is ever pending.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the flash is in memory"),
    }
}

/// The bytes of a store with this name that has just overwritten its oldest page, and the numbers of the blocks that are left. No
/// leader has any of them.
pub fn full_store(name: u16, block: &[u8]) -> (Vec<u8>, Range<u32>) {
    let place = FlashMap::NRF52840.block_store();
    let mut flash = Flash(vec![0xFF; place.len()]);
    let mut buffer = [0; ITEM_MAX];
    let mut store = done(BlockStore::open(&mut flash, place, name, &mut buffer)).expect("it is blank");
    for number in 0.. {
        let oldest = done(store.store(&mut flash, number, 0, block, &mut buffer)).expect("it overwrites");
        if oldest > 0 {
            return (flash.0, oldest..number + 1);
        }
    }
    unreachable!("every store is full some time")
}
