//! A line of a recording: refused, or read and written as it was understood.

#![no_main]

use sim::air::trace::parse_line;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(record) = parse_line(1, &text) {
        let again = parse_line(1, &record.to_line());
        assert!(again.is_ok_and(|again| again.to_line() == record.to_line()), "{text:?}");
    }
});
