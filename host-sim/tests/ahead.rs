//! Builds images and the simulator for a browser in the background.
//!
//! Each build mostly takes a single core, and together they take longer than most tests. So they run beside the tests that
//! compute or wait, and not before them.

use std::sync::{LazyLock, Once};

use crate::images::models;
use crate::webassembly::MODULE;

/// Begins with both, unless single tests were asked for: those build what they need. A failure is reported by the test that
/// needs what was not built.
pub fn begin() {
    static BEGUN: Once = Once::new();
    if std::env::args().len() == 1 {
        BEGUN.call_once(|| {
            std::thread::spawn(models::build_all);
            std::thread::spawn(|| LazyLock::force(&MODULE).is_ok());
        });
    }
}
