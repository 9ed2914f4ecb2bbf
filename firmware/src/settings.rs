//! What the network's registers say, for the parts of the firmware that follow them.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::node::Node;
use common::orders::Register;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Duration;

static SAMPLE_MS: AtomicU32 = AtomicU32::new(5_000);
static LIGHTS: AtomicBool = AtomicBool::new(true);
static SAMPLING_CHANGED: Signal<CriticalSectionRawMutex, ()> = Signal::new();

/// Takes over what the node's registers say now.
pub fn take(node: &Node) {
    let sample_ms = node.register(Register::SAMPLE);
    if SAMPLE_MS.swap(sample_ms, Ordering::Relaxed) != sample_ms {
        defmt::info!("measuring every {=u32} ms", sample_ms);
        SAMPLING_CHANGED.signal(());
    }
    LIGHTS.store(node.register(Register::LIGHTS) != 0, Ordering::Relaxed);
}

/// How often the board measures.
pub fn sample() -> Duration {
    Duration::from_millis(u64::from(SAMPLE_MS.load(Ordering::Relaxed)))
}

/// Waits until the board is to measure at another pace.
pub async fn sampling_changed() {
    SAMPLING_CHANGED.wait().await;
}

/// Whether the lights show who leads.
pub fn lights() -> bool {
    LIGHTS.load(Ordering::Relaxed)
}
