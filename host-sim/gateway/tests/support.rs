//! Folders, readings, and waiting for what must come.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gateway::reading::{Key, Reading};
use host_sim::field::utc::Utc;

/// Longer than anything takes that happens at all.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Each test has its own empty directory.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gateway").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The reading with this number, of one of ten nodes.
pub fn reading(seq: u64) -> Reading {
    let node = u16::try_from(seq % 10).unwrap() + 1;
    let key = Key { network: "garden".into(), node, device: 1_000 + node, epoch: 3, seq };
    let value = f64::from(u32::try_from(seq % 4_000).unwrap()) / 100.0;
    let time = Utc(1_795_080_600_000_000).after_us(seq * 1_000);
    Reading { key, quantity: "air_temperature".into(), value, unit: "°C".into(), time, is_known: true }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}
