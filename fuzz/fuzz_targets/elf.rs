//! A file that claims to be an image: refused, or read without harm.

#![no_main]

use emulator::elf::Elf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(elf) = Elf::parse(bytes) {
        let _ = (elf.segments(), elf.sections(), elf.symbols());
    }
});
