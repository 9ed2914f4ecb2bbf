//! The storage: opened once at boot, then kept by a task that writes rarely.
//!
//! Everything it knows how to do is in `common::board::storage`; here is the chip's flash. A write stops the processor for
//! some hundred microseconds and the erasure of a page for 85 ms, radio and all, so that neighbours see a short burst of
//! loss; the storage is laid out so that there are few.
#![expect(unsafe_code, reason = "the configuration page is read where it lies")]

use core::cell::RefCell;

use common::board::flash_map::PAGE_BYTES;
use common::board::history::next_checkpoint_s;
use common::board::storage::{Override, Store, StoreError};
use common::board::watchdog::Part;
use common::config::page;
use common::host_link::{ConfigAnswer, Page, ToHost, Warning};
use embassy_embedded_hal::adapter::BlockingAsync;
use embassy_futures::select::{Either, select};
use embassy_nrf::Peri;
use embassy_nrf::nvmc::Nvmc;
use embassy_nrf::peripherals::NVMC;
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Timer};

use crate::boards::FLASH;
use crate::{clock, host, node, progress, restart};

/// The storage in this chip's flash.
pub type Flash = Store<BlockingAsync<Nvmc<'static>>>;

/// What can be asked of the storage.
#[derive(Clone, Copy)]
pub enum Request {
    /// Take the next epoch and tell the node.
    NextEpoch,
    /// Take the configuration that came last and start again with it.
    SetConfig,
    /// Go back to the demo network and start again.
    EraseConfig,
}

static REQUESTS: Channel<CriticalSectionRawMutex, Request, 2> = Channel::new();

/// The configuration that came last, in the one place that is kept for it.
static NEW_CONFIG: Mutex<CriticalSectionRawMutex, RefCell<Option<Page>>> = Mutex::new(RefCell::new(None));

/// Asks for a configuration to be taken.
pub fn ask_for_config(page: &Page) {
    NEW_CONFIG.lock(|cell| *cell.borrow_mut() = Some(page.clone()));
    ask(Request::SetConfig);
}

/// Asks for something. Where two things are already waiting, this one is lost, and the log says so.
pub fn ask(request: Request) {
    if REQUESTS.try_send(request).is_err() {
        defmt::warn!("the storage is busy: a request is lost");
    }
}

/// Opens the storage.
pub fn open(flash: Peri<'static, NVMC>) -> Result<Flash, StoreError> {
    Store::new(BlockingAsync::new(Nvmc::new(flash)), FLASH.storage())
}

/// The configuration page as it lies in flash.
pub fn config_page() -> &'static [u8] {
    let address = FLASH.config_page() as usize;
    // SAFETY: the page is flash beyond the image, which the memory map keeps free and which nothing in this image writes.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(address), PAGE_BYTES as usize) }
}

/// Keeps the storage for ever.
#[embassy_executor::task]
pub async fn run(mut store: Flash) -> ! {
    let mut next_s = next_checkpoint_s(0);
    loop {
        progress::tick(Part::Storage);
        match select(REQUESTS.receive(), Timer::after(Duration::from_secs(1))).await {
            Either::First(request) => serve(&mut store, request).await,
            Either::Second(()) if clock::uptime_s() >= next_s => {
                let uptime_s = clock::uptime_s();
                next_s = next_checkpoint_s(uptime_s);
                if let Err(error) = store.checkpoint(uptime_s).await {
                    warn(error);
                }
            }
            Either::Second(()) => {}
        }
    }
}

async fn serve(store: &mut Flash, request: Request) {
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
    }
}

async fn set(store: &mut Flash, page: Option<&[u8]>, answer: ConfigAnswer) -> ConfigAnswer {
    let wanted = Override { replaces: page::checksum(config_page()), page };
    match store.set_override(wanted).await {
        Ok(()) => answer,
        Err(error) => {
            warn(error);
            ConfigAnswer::NotStored
        }
    }
}

/// Says what became of a configuration, and starts again where there is another one now.
fn finish(answer: ConfigAnswer) {
    let is_changed = matches!(answer, ConfigAnswer::Stored | ConfigAnswer::Erased);
    host::say(ToHost::Config(answer));
    if is_changed {
        restart::request(false);
    }
}

/// Says that storing failed.
pub fn warn(error: StoreError) {
    defmt::error!("storage: {}", error);
    host::say(ToHost::Warning(Warning::StorageFailed));
}
