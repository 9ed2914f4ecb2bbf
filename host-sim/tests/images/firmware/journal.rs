//! The journal, with the image that has one: what a board without a cable keeps is there when a PC comes, over boots.

use std::collections::BTreeMap;

use common::board::flash_map::{FlashMap, NRF52840_CONFIG_PAGE};
use common::board::journal::{Entry, Kept};
use common::host_link::{ToBoard, ToHost};
use common::notice::Notice;
use common::types::NodeId;
use emulator::board::{Board, Program};
use emulator::images;
use emulator::soc::Chip;

use super::bench::{Bench, config, page_of, surroundings};

fn boards(count: u16) -> Bench {
    let elf = images::elf_with("firmware", Some("board-nrf52840-dk,journal")).expect("the image builds");
    let program = Program::parse(&elf).expect("an image with a log");
    let end = program
        .image()
        .segments
        .iter()
        .map(|segment| segment.address + u32::try_from(segment.bytes.len()).unwrap())
        .max();
    assert!(end.is_some_and(|end| end <= FlashMap::NRF52840.journal().start), "the image leaves the journal alone");
    let board = |id: u16| {
        let number = u64::from(id);
        let mut board = Board::with_surroundings(Chip::Nrf52840, &program, number, number, surroundings()).unwrap();
        assert!(board.load_flash(NRF52840_CONFIG_PAGE, &page_of(&config(id))));
        board
    };
    Bench::new((1..=count).map(board).collect())
}

/// All items by their numbers, asked for some at a time, as a PC does.
fn read(bench: &mut Bench, board: usize) -> BTreeMap<u32, Vec<u8>> {
    let (mut items, mut from) = (BTreeMap::new(), 0);
    loop {
        bench.tell(board, &ToBoard::ReadJournal { from });
        let (next, end) = bench.wait_for(board, 2_000, |message| match message {
            ToHost::Journal(item) => {
                let kept = Kept::read(item.as_slice()).expect("an item");
                items.insert(kept.number, item.as_slice().to_vec());
                None
            }
            ToHost::JournalTold { next, end } => Some((*next, *end)),
            _ => None,
        });
        from = next;
        if next >= end {
            return items;
        }
    }
}

#[test]
fn a_board_keeps_who_led_and_how_it_heard_others_over_boots() {
    let mut bench = boards(3);
    let leader = bench.elect(30);
    bench.run_ms(125_000);
    let before = read(&mut bench, 1);
    let entries = |items: &BTreeMap<u32, Vec<u8>>| -> Vec<Entry> {
        items.values().flat_map(|item| Kept::read(item).unwrap().entries().collect::<Vec<_>>()).collect()
    };
    let told = entries(&before);
    let has = |told: &[Entry], wanted: Notice| {
        told.iter().any(|entry| matches!(entry, Entry::Notice { notice, .. } if *notice == wanted))
    };
    assert!(has(&told, Notice::Leader(Some(leader))) && has(&told, Notice::LinkUp(NodeId(1))), "{told:?}");
    let neighbours = |told: &[Entry]| -> Vec<u16> {
        let newest = told.iter().rev().find_map(|entry| match entry {
            Entry::Neighbours { neighbours, .. } => Some(neighbours.clone()),
            Entry::Notice { .. } => None,
        });
        let newest = newest.unwrap_or_else(|| panic!("no neighbours: {told:?}"));
        assert!(newest.iter().all(|one| 0 < one.heard && one.heard <= one.expected && one.rssi_dbm < 0), "{newest:?}");
        let mut ids: Vec<u16> = newest.iter().map(|one| one.id.0).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(neighbours(&told), [1, 3]);

    // What is in flash stays, the numbers go on, and the boot is another.
    bench.network.power_off(1);
    bench.run_ms(1_000);
    bench.network.power_on(1);
    bench.run_ms(130_000);
    let after = read(&mut bench, 1);
    assert!(before.iter().all(|(number, item)| after.get(number) == Some(item)), "{before:?} {after:?}");
    assert!(after.keys().copied().eq(0..u32::try_from(after.len()).unwrap()) && after.len() > before.len());
    let mut epochs: Vec<u16> = after.values().map(|item| Kept::read(item).unwrap().epoch).collect();
    epochs.dedup();
    assert_eq!(epochs.len(), 2, "{epochs:?}");
    assert_eq!(neighbours(&entries(&after)), [1, 3]);
    // Neighbours every two minutes and few words else: within what the flash is meant to take.
    let bytes: usize = after.values().map(Vec::len).sum();
    assert!(bytes * 3_600 / 255 <= 4_096, "{bytes} bytes in 255 s");
}
