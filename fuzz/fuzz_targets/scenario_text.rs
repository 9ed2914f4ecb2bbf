//! See `harness::scenario_text`.

#![no_main]

#[path = "../../host-sim/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    harness::scenario_text(bytes);
});
