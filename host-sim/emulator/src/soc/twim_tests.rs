//! Tests of the bus on two wires, with the offsets of the registers as a program writes them.

use super::super::events::{Peripheral, read, write};
use super::super::gpio::Pin;
use super::super::sht4x::Sht4x;
use super::{Attached, Twim};
use crate::memory::{Memory, RAM_START};

const STARTRX: u32 = 0x000;
const STARTTX: u32 = 0x008;
const STOP: u32 = 0x014;
const RESUME: u32 = 0x020;
const STOPPED: u32 = 0x104;
const ERROR: u32 = 0x124;
const SUSPENDED: u32 = 0x148;
const LASTRX: u32 = 0x15C;
const LASTTX: u32 = 0x160;
const SHORTS: u32 = 0x200;
const ERRORSRC: u32 = 0x4C4;
const RX_AMOUNT: u32 = 0x53C;
const TX_COUNT: u32 = 0x548;
const TX_AMOUNT: u32 = 0x54C;
const ADDRESS: u32 = 0x588;

/// At 100 kHz, as the register says it: 99.6 kHz.
const BIT: u64 = (1 << 34) / 0x0198_0000;

/// A bus on P0.26 and P0.27 at 100 kHz, six bytes to receive and one to send, with a sensor.
fn bus() -> (Twim, Memory) {
    let mut twim = Twim::new();
    let settings = [
        (0x500, 6),
        (0x508, 27),
        (0x50C, 26),
        (0x524, 0x0198_0000),
        (0x534, RAM_START),
        (0x538, 6),
        (0x544, RAM_START + 32),
        (TX_COUNT, 1),
        (ADDRESS, 0x44),
    ];
    for (offset, value) in settings {
        write(&mut twim, 0, offset, value).unwrap();
    }
    twim.attach(Some(Attached { sda: Pin::p0(26), scl: Pin::p0(27), sensor: Sht4x::new(25_000, 50_000) }));
    twim.set_free(0, true);
    (twim, Memory::new(4096, 64))
}

/// Lets the bus work until nothing is due, and says when that was.
fn run(twim: &mut Twim, memory: &mut Memory, from: u64) -> u64 {
    let mut now = from;
    while twim.due() != u64::MAX {
        now = twim.due();
        twim.advance(now, memory).unwrap();
    }
    now
}

fn fired(twim: &Twim, events: &[u32]) -> Vec<bool> {
    events.iter().map(|event| read(twim, 0, *event) == Ok(1)).collect()
}

fn set(twim: &mut Twim, now: u64, offset: u32, value: u32) {
    write(twim, now, offset, value).unwrap();
}

#[test]
fn a_byte_is_sent_and_stopped_by_a_shortcut() {
    let (mut twim, mut memory) = bus();
    memory.dma_write(RAM_START + 32, &[0xFD]).unwrap();
    set(&mut twim, 0, SHORTS, 1 << 9);
    set(&mut twim, 0, STARTTX, 1);
    let took = run(&mut twim, &mut memory, 0);
    assert!(took.abs_diff(20 * BIT) < 20, "start, two bytes and a stop take 20 bits, not {took} cycles");
    assert_eq!(fired(&twim, &[LASTTX, STOPPED, ERROR]), [true, true, false]);
    assert_eq!(read(&twim, 0, TX_AMOUNT), Ok(1));
}

#[test]
fn a_measurement_is_read_after_its_time_and_refused_before() {
    let (mut twim, mut memory) = bus();
    memory.dma_write(RAM_START + 32, &[0xFD]).unwrap();
    set(&mut twim, 0, SHORTS, 1 << 9);
    set(&mut twim, 0, STARTTX, 1);
    let now = run(&mut twim, &mut memory, 0);

    set(&mut twim, now, STOPPED, 0);
    set(&mut twim, now, SHORTS, 1 << 12);
    set(&mut twim, now, STARTRX, 1);
    let now = run(&mut twim, &mut memory, now);
    assert_eq!(fired(&twim, &[LASTRX, STOPPED, ERROR]), [false, false, true], "it does not answer yet");
    assert_eq!((read(&twim, 0, ERRORSRC), read(&twim, 0, RX_AMOUNT)), (Ok(2), Ok(0)));
    set(&mut twim, now, STOP, 1);
    let now = run(&mut twim, &mut memory, now);
    assert_eq!(fired(&twim, &[STOPPED]), [true], "and the bus is let go of");

    let now = now + 8_300 * 64;
    set(&mut twim, now, ERRORSRC, 7);
    set(&mut twim, now, STOPPED, 0);
    set(&mut twim, now, ERROR, 0);
    set(&mut twim, now, STARTRX, 1);
    let took = run(&mut twim, &mut memory, now) - now;
    assert!(took.abs_diff((1 + 7 * 9 + 1) * BIT) < 65, "{took} cycles");
    assert_eq!(fired(&twim, &[LASTRX, STOPPED, ERROR]), [true, true, false]);
    assert_eq!((read(&twim, 0, ERRORSRC), read(&twim, 0, RX_AMOUNT)), (Ok(0), Ok(6)));
    assert_eq!(memory.ram()[..2], [0x66, 0x66], "25 degrees are 0.4 of the span");
}

#[test]
fn sending_turns_into_receiving_without_a_stop() {
    let (mut twim, mut memory) = bus();
    memory.dma_write(RAM_START + 32, &[0x89]).unwrap();
    set(&mut twim, 0, SHORTS, 1 << 7 | 1 << 12);
    set(&mut twim, 0, STARTTX, 1);
    let took = run(&mut twim, &mut memory, 0);
    assert!(took.abs_diff((1 + 2 * 9 + 1 + 7 * 9 + 1) * BIT) < 84, "{took} cycles, with a second start and one stop");
    assert_eq!(fired(&twim, &[LASTTX, LASTRX, STOPPED, ERROR]), [true, true, true, false]);
    assert_eq!((&memory.ram()[..2], &memory.ram()[3..5]), (&[0x12, 0x34][..], &[0x56, 0x78][..]));
}

#[test]
fn nobody_at_an_address_and_a_refused_byte_are_told_apart() {
    let (mut twim, mut memory) = bus();
    set(&mut twim, 0, ADDRESS, 0x45);
    set(&mut twim, 0, SHORTS, 1 << 9);
    set(&mut twim, 0, STARTTX, 1);
    run(&mut twim, &mut memory, 0);
    assert_eq!((read(&twim, 0, ERRORSRC), read(&twim, 0, TX_AMOUNT)), (Ok(2), Ok(0)));
    set(&mut twim, 0, STOP, 1);
    run(&mut twim, &mut memory, 0);

    set(&mut twim, 0, ADDRESS, 0x44);
    set(&mut twim, 0, ERRORSRC, 7);
    memory.dma_write(RAM_START + 32, &[0x00]).unwrap();
    set(&mut twim, 0, STARTTX, 1);
    run(&mut twim, &mut memory, 0);
    assert_eq!((read(&twim, 0, ERRORSRC), read(&twim, 0, TX_AMOUNT)), (Ok(4), Ok(0)));
}

#[test]
fn the_sensor_is_reached_only_at_its_own_pins() {
    let (mut twim, mut memory) = bus();
    set(&mut twim, 0, 0x50C, 25);
    set(&mut twim, 0, STARTTX, 1);
    run(&mut twim, &mut memory, 0);
    assert_eq!(read(&twim, 0, ERRORSRC), Ok(2));
}

#[test]
fn a_bus_that_is_held_low_says_nothing_until_it_is_free() {
    let (mut twim, mut memory) = bus();
    memory.dma_write(RAM_START + 32, &[0xFD]).unwrap();
    twim.set_free(0, false);
    set(&mut twim, 0, SHORTS, 1 << 9);
    set(&mut twim, 0, STARTTX, 1);
    set(&mut twim, 1_000, STOP, 1);
    assert_eq!(twim.due(), u64::MAX);
    assert_eq!(fired(&twim, &[LASTTX, STOPPED, ERROR]), [false; 3]);
    twim.set_free(1_000_000, true);
    assert_eq!(twim.due(), 1_000_000);
    run(&mut twim, &mut memory, 0);
    assert_eq!(fired(&twim, &[STOPPED]), [true]);

    twim.set_free(0, false);
    set(&mut twim, 0, STARTTX, 1);
    set(&mut twim, 0, 0x500, 0);
    set(&mut twim, 0, 0x500, 6);
    twim.set_free(0, true);
    assert_eq!(twim.due(), u64::MAX, "switched off, it lets go of what was on the wires");
}

#[test]
fn a_suspended_bus_goes_on_with_the_next_start() {
    let (mut twim, mut memory) = bus();
    memory.dma_write(RAM_START + 32, &[0xFD]).unwrap();
    set(&mut twim, 0, SHORTS, 1 << 8);
    set(&mut twim, 0, STARTTX, 1);
    let now = run(&mut twim, &mut memory, 0);
    assert_eq!(fired(&twim, &[SUSPENDED, STOPPED]), [true, false]);
    let now = now + 8_300 * 64;
    set(&mut twim, now, SHORTS, 1 << 12);
    set(&mut twim, now, STARTRX, 1);
    set(&mut twim, now, RESUME, 1);
    run(&mut twim, &mut memory, now);
    assert_eq!((fired(&twim, &[STOPPED, ERROR]), read(&twim, 0, RX_AMOUNT)), (vec![true, false], Ok(6)));
}

#[test]
fn what_is_not_modelled_is_refused() {
    let (mut twim, _) = bus();
    assert!(write(&mut twim, 0, 0x500, 5).is_err(), "the old peripheral without EasyDMA");
    assert!(write(&mut twim, 0, 0x524, 1).is_err(), "a frequency that does not exist");
    assert!(write(&mut twim, 0, 0x550, 1).is_err(), "lists");
    set(&mut twim, 0, 0x508, u32::MAX);
    assert!(write(&mut twim, 0, STARTTX, 1).is_err(), "a start without pins");
}
