//! Files as bootloaders read them: by a reader that knows the format but not the writer.

use std::collections::BTreeMap;

use emulator::elf::Segment;
use proptest::prelude::*;

use super::{Refusal, SOFT_DEVICES, Uf2};

fn segment(address: u32, bytes: impl Into<Vec<u8>>) -> Segment {
    Segment { address, bytes: bytes.into() }
}

/// What a bootloader would flash: every block is looked at on its own, and refused unless all of its header is right.
fn flashed(file: &[u8]) -> BTreeMap<u32, u8> {
    assert_eq!(file.len() % 512, 0, "whole blocks only");
    let mut flash = BTreeMap::new();
    for (index, block) in file.chunks(512).enumerate() {
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!(
            (word(0), word(4), word(508)),
            (0x0A32_4655, 0x9E5D_5157, 0x0AB1_6F30),
            "the magic of block {index}"
        );
        assert_eq!(word(8) & 0x2000, 0x2000, "block {index} names a family");
        assert_eq!(word(8) & 1, 0, "block {index} is to be flashed");
        assert_eq!(word(28), 0xADA5_2840, "the family of block {index}");
        assert_eq!(word(16), 256, "the bootloader takes no other size");
        assert_eq!(word(12) % 256, 0, "nor other addresses");
        assert_eq!((word(20) as usize, word(24) as usize), (index, file.len() / 512));
        for (at, &byte) in (word(12)..).zip(&block[32..32 + 256]) {
            assert_eq!(flash.insert(at, byte), None, "{at:#x} is written once");
        }
    }
    flash
}

#[test]
fn the_header_of_a_block_is_as_published() {
    let file = Uf2::of(&[segment(0x2_7000, [0xAB; 300])]).unwrap().bytes;
    assert_eq!(file.len(), 2 * 512);
    let header = [
        0x55, 0x46, 0x32, 0x0A, 0x57, 0x51, 0x5D, 0x9E, 0x00, 0x20, 0x00, 0x00, 0x00, 0x71, 0x02, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x40, 0x28, 0xA5, 0xAD,
    ];
    assert_eq!(file[512..544], header, "the second of two blocks, for 0x27100");
    assert_eq!(file[544..544 + 44], [0xAB; 44]);
    assert_eq!(file[588..544 + 256], [0xFF; 212], "the rest of the block stays erased");
    assert_eq!(file[544 + 256..1020], [0; 220]);
    assert_eq!(file[1020..], [0x30, 0x6F, 0xB1, 0x0A]);
}

#[test]
fn the_start_tells_the_board() {
    for soft_device in SOFT_DEVICES {
        let file = Uf2::of(&[segment(soft_device.end, [1; 4])]).unwrap();
        assert_eq!(file.soft_device, soft_device);
        assert_eq!((file.blocks, file.end), (1, soft_device.end + 256));
    }
}

#[test]
fn what_would_ruin_a_board_is_refused() {
    let refusal = |address, length: usize| Uf2::of(&[segment(address, vec![0; length])]).expect_err("refused");
    assert_eq!(refusal(0, 0x2_8000), Refusal::OverBootRecord { start: 0 });
    assert_eq!(refusal(0x1000, 4), Refusal::OverSoftDevice { start: 0x1000 });
    assert_eq!(refusal(0x2_5FFC, 4), Refusal::OverSoftDevice { start: 0x2_5FFC });
    assert_eq!(refusal(0x2_8000, 4), Refusal::NotBehindSoftDevice { start: 0x2_8000 });
    assert_eq!(refusal(0x2_7000, 0x4_0001), Refusal::OverStorage { end: 0x6_7001 });
    assert_eq!(refusal(0x2_7000, 0xC_D001), Refusal::OverBootloader { end: 0xF_4001 });
    assert_eq!(refusal(0x1000_1014, 4), Refusal::OverBootloader { end: 0x1000_1018 }, "nor is UICR flashed");
    assert_eq!(Uf2::of(&[]), Err(Refusal::Empty));
    assert_eq!(Uf2::of(&[segment(0, [])]), Err(Refusal::Empty));
    let apart = [segment(0x2_7000, [0; 4]), segment(0, [0; 4])];
    assert_eq!(Uf2::of(&apart), Err(Refusal::OverBootRecord { start: 0 }), "whichever segment it is");
    assert!(Uf2::of(&[segment(0x2_7000, vec![0; 0x4_0000])]).is_ok(), "up to the readings");
    let text = refusal(0, 4).to_string();
    assert!(text.contains("master boot record") && text.contains("cargo fw-xiao"), "{text}");
}

proptest! {
    /// Segments with gaps: what a bootloader flashes is what a probe would, and erased flash between.
    #[test]
    fn what_is_flashed_is_the_image(
        which in 0..2_usize,
        first in proptest::collection::vec(any::<u8>(), 1..2_000),
        rest in proptest::collection::vec((0..3_000_u32, proptest::collection::vec(any::<u8>(), 0..1_200)), 0..6),
    ) {
        let start = SOFT_DEVICES[which].end;
        let mut end = start + u32::try_from(first.len()).unwrap();
        let mut segments = vec![segment(start, first)];
        for (gap, bytes) in rest {
            let address = end + gap;
            end = address + u32::try_from(bytes.len()).unwrap();
            segments.push(segment(address, bytes));
        }
        let file = Uf2::of(&segments).unwrap();
        let mut flash = flashed(&file.bytes);
        prop_assert_eq!(file.blocks * 256, flash.len());
        prop_assert_eq!(flash.last_key_value().map(|(at, _)| at + 1), Some(file.end));
        for Segment { address, bytes } in &segments {
            for (at, byte) in (*address..).zip(bytes) {
                prop_assert_eq!(flash.remove(&at), Some(*byte));
            }
        }
        prop_assert!(flash.into_values().all(|byte| byte == 0xFF), "everything else stays erased");
    }
}
