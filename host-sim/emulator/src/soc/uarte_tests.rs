//! Tests of the serial ports, with the offsets of the registers as a program writes them.

use super::super::events::{NEVER, Peripheral, read, write};
use super::Uarte;
use crate::memory::{Memory, RAM_START};

/// 115,200 baud: 10 bits are 5555 cycles, give or take what the register rounds.
const BAUD_115200: u32 = 0x01D6_0000;

fn port() -> (Uarte, Memory) {
    let mut uarte = Uarte::new();
    for (offset, value) in [(0x500, 8), (0x524, BAUD_115200), (0x534, RAM_START), (0x538, 4), (0x544, RAM_START + 32)] {
        write(&mut uarte, 0, offset, value).unwrap();
    }
    (uarte, Memory::new(4096, 64))
}

fn run(uarte: &mut Uarte, memory: &mut Memory, until: u64) -> u64 {
    let mut now = 0;
    while uarte.due() <= until {
        now = uarte.due();
        uarte.advance(now, memory).unwrap();
    }
    now
}

#[test]
fn sending_takes_its_time_and_can_be_stopped() {
    let (mut uarte, mut memory) = port();
    memory.dma_write(RAM_START + 32, b"hello").unwrap();
    write(&mut uarte, 0, 0x548, 5).unwrap();
    write(&mut uarte, 0, 0x008, 1).unwrap();
    let took = run(&mut uarte, &mut memory, NEVER - 1);
    assert!((27_600..27_900).contains(&took), "{took} cycles for 50 bits");
    assert_eq!((uarte.take_sent(), read(&uarte, 0, 0x120), read(&uarte, 0, 0x54C)), (b"hello".to_vec(), Ok(1), Ok(5)));

    write(&mut uarte, 0, 0x008, 1).unwrap();
    uarte.advance(0, &mut memory).unwrap();
    write(&mut uarte, 12_000, 0x00C, 1).unwrap();
    uarte.advance(12_000, &mut memory).unwrap();
    assert_eq!((uarte.take_sent(), read(&uarte, 0, 0x158)), (b"he".to_vec(), Ok(1)));
}

#[test]
fn a_full_buffer_ends_and_the_rest_waits_in_the_receiver() {
    let (mut uarte, mut memory) = port();
    write(&mut uarte, 0, 0x000, 1).unwrap();
    uarte.put(0, b"abcdef");
    run(&mut uarte, &mut memory, 100_000);
    assert_eq!((&memory.ram()[..4], read(&uarte, 0, 0x110), uarte.lost()), (&b"abcd"[..], Ok(1), 0));
    write(&mut uarte, 100_000, 0x004, 1).unwrap();
    run(&mut uarte, &mut memory, 200_000);
    assert_eq!(read(&uarte, 0, 0x144), Ok(1), "the receiver is off");
    write(&mut uarte, 200_000, 0x02C, 1).unwrap();
    run(&mut uarte, &mut memory, 300_000);
    assert_eq!((&memory.ram()[..2], read(&uarte, 0, 0x53C)), (&b"ef"[..], Ok(2)));
}

#[test]
fn a_reset_leaves_what_was_sent_and_half_of_what_was_not() {
    let (mut uarte, mut memory) = port();
    memory.dma_write(RAM_START + 32, b"hello").unwrap();
    write(&mut uarte, 0, 0x548, 5).unwrap();
    write(&mut uarte, 0, 0x008, 1).unwrap();
    uarte.advance(0, &mut memory).unwrap();
    assert_eq!(uarte.after_reset(12_000).take_sent(), b"he");
    run(&mut uarte, &mut memory, NEVER - 1);
    assert_eq!(uarte.after_reset(100_000).take_sent(), b"hello");
}

#[test]
fn the_next_buffer_is_named_while_the_first_is_filled() {
    let (mut uarte, mut memory) = port();
    write(&mut uarte, 0, 0x200, 1 << 5).unwrap();
    write(&mut uarte, 0, 0x000, 1).unwrap();
    write(&mut uarte, 0, 0x534, RAM_START + 16).unwrap();
    uarte.put(0, b"abcdef");
    run(&mut uarte, &mut memory, 100_000);
    assert_eq!((&memory.ram()[..4], &memory.ram()[16..18]), (&b"abcd"[..], &b"ef"[..]));
}

#[test]
fn nobody_listens_and_too_much_comes() {
    let (mut uarte, mut memory) = port();
    uarte.put(0, b"xy");
    run(&mut uarte, &mut memory, 100_000);
    assert_eq!(uarte.lost(), 2);
    write(&mut uarte, 100_000, 0x000, 1).unwrap();
    uarte.put(100_000, &[7; 12]);
    run(&mut uarte, &mut memory, 1_000_000);
    assert_eq!((uarte.lost(), read(&uarte, 0, 0x480)), (4, Ok(1)), "four to RAM, six in the receiver");
}

#[test]
fn easy_dma_outside_ram_is_an_error() {
    let (mut uarte, mut memory) = port();
    for (offset, value) in [(0x544, 0x1000), (0x548, 4), (0x008, 1)] {
        write(&mut uarte, 0, offset, value).unwrap();
    }
    assert!(uarte.advance(0, &mut memory).is_err());
}
