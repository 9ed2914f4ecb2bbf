//! See `harness::rings`.

#![no_main]

#[path = "../../common/tests/harness/mod.rs"]
#[allow(dead_code, reason = "each target uses one of its functions")]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    harness::rings(bytes);
});
