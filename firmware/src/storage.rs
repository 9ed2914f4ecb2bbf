//! The storage: opened once at boot, then owned by a task that does everything in flash, readings included ([`crate::collection`]).
//!
//! The logic is in `common::board::storage`, and the chip's flash in [`crate::flash`]. A write halts the processor for some
//! hundred microseconds, and the erasure of a page, in slices, for 90 ms. The layout of the storage keeps erasures rare.
#![expect(unsafe_code, reason = "the configuration page is read in place")]

use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};

use common::board::flash_map::PAGE_BYTES;
use common::board::history::next_checkpoint_s;
use common::board::storage::{ORDERS_MAX, Override, Store, StoreError};
use common::board::watchdog::Part;
use common::config::{Config, page};
use common::host_link::{ConfigAnswer, Page, ToHost, Warning};
use common::node::Node;
use embassy_futures::select::{Either3, select3};
use embassy_futures::yield_now;
use embassy_nrf::Peri;
use embassy_nrf::peripherals::NVMC;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer};
use heapless::Vec;

use crate::boards::FLASH;
use crate::collection::{self, Shelf};
use crate::flash::Flash;
use crate::{clock, host, node, progress, restart};

pub type Storage = Store<Flash>;

#[derive(Clone, Copy)]
pub enum Request {
    /// Reserve the next epoch and tell the node.
    NextEpoch,
    /// Store the last configuration received and restart with it.
    SetConfig,
    /// Return to the demo network and restart.
    EraseConfig,
    /// Tell the host what is in the log, from a position on.
    ReadLog { from: u32 },
    /// A host has everything before this position safe.
    ReleaseLog { before: u32 },
    /// Tell the host what is in the journal, from an item on.
    #[cfg(feature = "journal")]
    ReadJournal { from: u32 },
}

static REQUESTS: Channel<CriticalSectionRawMutex, Request, 4> = Channel::new();

/// The last configuration received. It is too large for the queue of requests.
static NEW_CONFIG: Mutex<CriticalSectionRawMutex, RefCell<Option<Page>>> = Mutex::new(RefCell::new(None));

/// What the node keeps of orders, behind the number of its network; at boot, what it has kept before.
static ORDERS: Mutex<CriticalSectionRawMutex, RefCell<Vec<u8, ORDERS_MAX>>> = Mutex::new(RefCell::new(Vec::new()));
/// Whether that is to be stored.
static ORDERS_CHANGED: AtomicBool = AtomicBool::new(false);

/// Has the node's orders stored within a second.
pub fn keep_orders(network: u32, node: &Node) {
    ORDERS.lock(|cell| {
        let mut kept = cell.borrow_mut();
        kept.clear();
        // There is room for all of it.
        let mut put = |bytes: &[u8]| _ = kept.extend_from_slice(bytes);
        put(&network.to_le_bytes());
        node.orders().keep(&mut put);
    });
    ORDERS_CHANGED.store(true, Ordering::Relaxed);
}

pub fn orders() -> Vec<u8, ORDERS_MAX> {
    ORDERS.lock(|cell| cell.borrow().clone())
}

/// Looks up the orders that an earlier boot has kept, for the node.
pub async fn recover_orders(store: &mut Storage, config: &Config) {
    match store.orders(config).await {
        Ok(pieces) => ORDERS.lock(|cell| pieces.for_each(|piece| _ = cell.borrow_mut().extend_from_slice(piece))),
        Err(error) => warn(error),
    }
}

/// Requests that a configuration be stored.
pub fn ask_for_config(page: &Page) {
    NEW_CONFIG.lock(|cell| *cell.borrow_mut() = Some(page.clone()));
    ask(Request::SetConfig);
}

/// If four requests are already waiting, this one is dropped and logged.
pub fn ask(request: Request) {
    if REQUESTS.try_send(request).is_err() {
        defmt::warn!("the storage is busy: a request is lost");
    }
}

pub fn open(flash: Peri<'static, NVMC>) -> Result<Storage, StoreError> {
    Store::new(Flash::new(flash), FLASH.storage())
}

/// The configuration page, in place in flash.
pub fn config_page() -> &'static [u8] {
    let address = FLASH.config_page() as usize;
    // SAFETY: the page is flash outside the image, which the memory map keeps free and which this image never writes.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(address), PAGE_BYTES as usize) }
}

/// Serves everybody who wants something of the flash. An empty store of blocks gets this name.
pub async fn run(store: &mut Storage, name: u16) -> ! {
    let mut next_s = next_checkpoint_s(0);
    let mut shelf = Shelf::new(name);
    #[cfg(feature = "journal")]
    let mut ring = crate::journal::Ring::new();
    loop {
        progress::tick(Part::Storage);
        if ORDERS_CHANGED.swap(false, Ordering::Relaxed)
            && let Err(error) = store.set_orders(&orders()).await
        {
            warn(error);
        }
        #[cfg(feature = "journal")]
        ring.serve(store.flash()).await;
        // A node with much to do for the flash has the next chore ready at once; others have their turn all the same.
        yield_now().await;
        match select3(REQUESTS.receive(), collection::wanted(), Timer::after(Duration::from_secs(1))).await {
            Either3::First(Request::ReadLog { from }) => shelf.tell_log(store.flash(), from).await,
            Either3::First(Request::ReleaseLog { before }) => shelf.release_log(store.flash(), before).await,
            #[cfg(feature = "journal")]
            Either3::First(Request::ReadJournal { from }) => ring.tell(store.flash(), from).await,
            Either3::First(request) => serve(store, request).await,
            Either3::Second(work) => shelf.serve(store.flash(), work).await,
            Either3::Third(()) if clock::uptime_s() >= next_s => {
                let uptime_s = clock::uptime_s();
                next_s = next_checkpoint_s(uptime_s);
                if let Err(error) = store.checkpoint(uptime_s).await {
                    warn(error);
                }
            }
            Either3::Third(()) => {}
        }
    }
}

async fn serve(store: &mut Storage, request: Request) {
    match request {
        Request::NextEpoch => match store.next_epoch().await {
            Ok(epoch) => node::tell(node::Told::Epoch(epoch)),
            Err(error) => warn(error),
        },
        Request::SetConfig => {
            let Some(page) = NEW_CONFIG.lock(|cell| cell.borrow_mut().take()) else { return };
            let refusal = page::decode(page.as_slice()).err();
            finish(match refusal {
                None => set(store, Some(page.as_slice()), ConfigAnswer::Stored).await,
                Some(error) => ConfigAnswer::Refused(error.into()),
            });
        }
        Request::EraseConfig => finish(set(store, None, ConfigAnswer::Erased).await),
        Request::ReadLog { .. } | Request::ReleaseLog { .. } => {}
        #[cfg(feature = "journal")]
        Request::ReadJournal { .. } => {}
    }
}

async fn set(store: &mut Storage, page: Option<&[u8]>, answer: ConfigAnswer) -> ConfigAnswer {
    let wanted = Override { replaces: page::checksum(config_page()), page };
    match store.set_override(wanted).await {
        Ok(()) => answer,
        Err(error) => {
            warn(error);
            ConfigAnswer::NotStored
        }
    }
}

/// Answers a request for a configuration, and restarts if there is a new one.
fn finish(answer: ConfigAnswer) {
    let is_changed = matches!(answer, ConfigAnswer::Stored | ConfigAnswer::Erased);
    host::say(ToHost::Config(answer));
    if is_changed {
        restart::request(false);
    }
}

/// Reports a failure of the storage.
pub fn warn(error: StoreError) {
    defmt::error!("storage: {}", error);
    host::say(ToHost::Warning(Warning::StorageFailed));
}
