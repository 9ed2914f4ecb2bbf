//! Tests of the flash controller, with the offsets of the registers as a program writes them.

use common::rng::Rng;

use super::{Nvmc, PowerCut};
use crate::io::Width;
use crate::memory::{Memory, PAGE_BYTES};
use crate::soc::info::Uicr;
use crate::soc::map::UICR;

const FLASH: u32 = 4 * PAGE_BYTES;

struct Chip {
    nvmc: Nvmc,
    memory: Memory,
    uicr: Uicr,
    now: u64,
}

impl Chip {
    fn new() -> Self {
        let memory = Memory::new(FLASH as usize, 64);
        Self { nvmc: Nvmc::new(Rng::new(1)), memory, uicr: Uicr::blank(), now: 0 }
    }

    fn finish(&mut self) -> u64 {
        let took = self.nvmc.halts_until().unwrap() - self.now;
        self.now += took;
        self.nvmc.advance(self.now, &mut self.memory, &mut self.uicr);
        took
    }

    fn set(&mut self, offset: u32, value: u32) -> bool {
        self.nvmc.write(self.now, offset, value, FLASH).is_ok()
    }

    fn store(&mut self, address: u32, value: u32) -> bool {
        self.nvmc.store(self.now, address, value).is_ok()
    }

    fn word(&self, address: u32) -> u32 {
        self.memory.read(address, Width::Word).unwrap()
    }
}

#[test]
fn writing_clears_bits_and_takes_41_microseconds() {
    let mut chip = Chip::new();
    assert!(!chip.store(0x1000, 0), "not allowed yet");
    assert!(chip.set(0x504, 1));
    for (value, expected) in [(0xFFFF_00FF, 0xFFFF_00FF), (0xFFFF_0F0F, 0xFFFF_000F)] {
        assert!(chip.store(0x1000, value));
        assert_eq!(chip.finish(), 41 * 64);
        assert_eq!(chip.word(0x1000), expected);
    }
    assert!(!chip.store(0x1002, 0), "no whole word");
    assert!(!chip.set(0x508, 0x1000), "writing is allowed, erasing is not");
}

#[test]
fn erasing_takes_85_milliseconds_in_one_piece_or_in_parts() {
    let mut chip = Chip::new();
    assert!(chip.set(0x504, 1) && chip.store(0x1FFC, 0));
    chip.finish();
    assert!(chip.set(0x504, 2) && chip.set(0x508, 0x1000));
    assert_eq!(chip.finish(), 85_000 * 64);
    assert_eq!(chip.word(0x1FFC), u32::MAX);
    assert!(!chip.set(0x508, FLASH), "no such page");

    assert!(chip.set(0x504, 1) && chip.store(0x2000, 0));
    chip.finish();
    assert!(chip.set(0x504, 2) && chip.set(0x51C, 30));
    for _ in 0..3 {
        assert!(chip.set(0x518, 0x2000));
        assert_eq!(chip.finish(), 30_000 * 64);
    }
    assert_eq!(chip.word(0x2000), u32::MAX);
}

#[test]
fn a_page_that_is_erased_in_parts_is_torn_until_the_last() {
    let mut chip = Chip::new();
    assert!(chip.set(0x504, 1));
    for word in 0..64 {
        assert!(chip.store(0x2000 + 4 * word, 0));
        chip.finish();
    }
    assert!(chip.set(0x504, 2) && chip.set(0x51C, 17));
    let mut erased = Vec::new();
    for _ in 0..5 {
        assert!(chip.set(0x518, 0x2000));
        chip.finish();
        erased.push((0..64).filter(|word| chip.word(0x2000 + 4 * word) == u32::MAX).count());
    }
    assert!(erased.is_sorted() && erased[0] > 0 && erased[3] < 64, "{erased:?}");
    assert_eq!(erased[4], 64);
}

#[test]
fn uicr_is_written_and_erased_like_flash() {
    let mut chip = Chip::new();
    assert!(chip.set(0x504, 1) && chip.store(UICR + 0x200, 18));
    chip.finish();
    assert_eq!(chip.uicr.read(0x200), Ok(18));
    assert!(chip.set(0x504, 2) && chip.set(0x514, 1));
    chip.finish();
    assert_eq!(chip.uicr.read(0x200), Ok(u32::MAX));
}

#[test]
fn a_planned_cut_tears_the_word_it_hits() {
    for percent in [0, 50, 100] {
        let mut chip = Chip::new();
        assert!(chip.set(0x504, 1));
        chip.nvmc.plan_power_cut(Some(PowerCut { operation: 2, percent }));
        assert!(chip.store(0x1000, 0x1111_1111));
        chip.finish();
        assert!(chip.store(0x1004, 0));
        chip.now += u64::from(percent) * 41 * 64 / 100;
        assert!(chip.nvmc.due() == chip.now && chip.nvmc.power_fails(chip.now));
        chip.nvmc.lose_power(chip.now, &mut chip.memory, &mut chip.uicr);
        assert_eq!(chip.word(0x1000), 0x1111_1111, "the first write is whole");
        let cleared = chip.word(0x1004).count_zeros();
        assert!(
            match percent {
                0 => cleared == 0,
                50 => (4..29).contains(&cleared),
                _ => cleared == 32,
            },
            "{cleared} bits cleared after {percent} %"
        );
        assert!(!chip.nvmc.power_fails(u64::MAX - 1), "one cut, once");
    }
}

#[test]
fn a_torn_erase_leaves_a_mixture() {
    let mut chip = Chip::new();
    assert!(chip.memory.load_flash(0x1000, &[0x5A; PAGE_BYTES as usize]));
    assert!(chip.set(0x504, 2) && chip.set(0x508, 0x1000));
    chip.now += 40_000 * 64;
    chip.nvmc.lose_power(chip.now, &mut chip.memory, &mut chip.uicr);
    let words = (0..PAGE_BYTES / 4).map(|n| chip.word(0x1000 + 4 * n));
    let (mut erased, mut kept, mut between) = (0, 0, 0);
    for word in words {
        match word {
            u32::MAX => erased += 1,
            0x5A5A_5A5A => kept += 1,
            _ => between += 1,
        }
    }
    assert!(erased > 200 && kept > 200 && between > 50, "{erased} erased, {kept} kept, {between} in between");
    assert_eq!(chip.word(0x0FFC), u32::MAX);
}
