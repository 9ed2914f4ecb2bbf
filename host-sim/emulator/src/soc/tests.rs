//! Tests of the peripherals together, on the bus.

use super::{Chip, Identity, Pin, PowerCut, ResetCause, Soc, Surroundings};
use crate::io::{CYCLES_PER_US, Io, Width};
use crate::memory::{Memory, RAM_START};

const CLOCK: u32 = 0x4000_0000;
const GPIOTE: u32 = 0x4000_6000;
const TIMER0: u32 = 0x4000_8000;
const RTC1: u32 = 0x4001_1000;
const WDT: u32 = 0x4001_0000;
const EGU0: u32 = 0x4001_4000;
const EGU1: u32 = 0x4001_5000;
const TIMER3: u32 = 0x4001_A000;
const NVMC: u32 = 0x4001_E000;
const PPI: u32 = 0x4001_F000;
const P0: u32 = 0x5000_0000;

fn chip() -> (Soc, Memory) {
    let soc = Soc::new(Chip::Nrf52840, Identity { device_id: 7 }, Surroundings::default(), 1);
    (soc, Chip::Nrf52840.memory())
}

fn set(soc: &mut Soc, now: u64, address: u32, value: u32) {
    soc.write(now, address, Width::Word, value).unwrap();
}

fn get(soc: &mut Soc, now: u64, address: u32) -> u32 {
    soc.read(now, address, Width::Word).unwrap()
}

#[test]
fn what_is_not_modelled_is_an_error_with_its_name() {
    let (mut soc, _) = chip();
    for (address, name) in [
        (0x4000_16A0, "RADIO"),
        (0x4002_0000, "MWU"),
        (0x4001_E600, "NVMC/ACL"),
        (0x5002_A500, "CRYPTOCELL"),
        (0x4002_750C, "USBD"),
        (0x4000_E000, "ECB"),
        (0x6000_0000, "nothing"),
    ] {
        let read = soc.read(0, address, Width::Word).unwrap_err();
        assert!(read.address == address && read.what.starts_with(name), "{read}");
        let written = soc.write(0, address, Width::Word, 0x10).unwrap_err();
        assert!(written.what.starts_with(name), "{written}");
    }
    let part = soc.write(0, WDT + 0x504, Width::Byte, 1).unwrap_err();
    assert!(part.what.contains("whole words"), "{part}");
}

#[test]
fn factory_information_is_read_in_any_width() {
    let (mut soc, _) = chip();
    assert_eq!(get(&mut soc, 0, 0x1000_0100), 0x5_2840);
    assert_eq!(soc.read(0, 0x1000_0060, Width::Byte), Ok(7));
    assert!(soc.write(0, 0x1000_0060, Width::Word, 1).is_err());
}

#[test]
fn the_next_event_is_the_earliest_of_all_peripherals() {
    let (mut soc, mut memory) = chip();
    set(&mut soc, 0, CLOCK, 1);
    set(&mut soc, 0, 0x4000_C000, 1);
    assert_eq!(soc.next_event(), 36 * 64, "the thermometer");
    soc.advance(36 * 64, &mut memory).unwrap();
    assert_eq!(soc.next_event(), 360 * 64, "the crystal");
    soc.set_horizon(360 * 64);
    assert!(!soc.wants_stop());
    set(&mut soc, 100 * 64, 0x4000_C000, 1);
    assert!(soc.wants_stop(), "something comes before what the processor was told to run to");
}

#[test]
fn counters_need_their_clock() {
    let (mut soc, mut memory) = chip();
    assert!(soc.write(0, RTC1, Width::Word, 1).is_err());
    set(&mut soc, 0, CLOCK + 0x08, 1);
    soc.advance(600 * CYCLES_PER_US, &mut memory).unwrap();
    set(&mut soc, 600 * CYCLES_PER_US, RTC1, 1);
    set(&mut soc, 600 * CYCLES_PER_US, RTC1 + 0x540, 10);
    set(&mut soc, 600 * CYCLES_PER_US, RTC1 + 0x304, 1 << 16);
    let due = soc.next_event();
    soc.advance(due, &mut memory).unwrap();
    assert_eq!(soc.interrupt_lines(), 1 << 17, "the interrupt number is that of the page");
}

#[test]
fn wires_lead_from_events_to_tasks_and_on() {
    let (mut soc, mut memory) = chip();
    // A comparison toggles a pin and triggers an event, which captures in another timer.
    set(&mut soc, 0, GPIOTE + 0x510, 3 << 16 | 13 << 8 | 3);
    set(&mut soc, 0, TIMER0 + 0x540, 50);
    set(&mut soc, 0, TIMER0 + 0x200, 1);
    let wires = [(TIMER0 + 0x140, GPIOTE, EGU0 + 0x08), (EGU0 + 0x108, TIMER3 + 0x54, 0)];
    for (channel, (event, task, fork)) in (0_u32..).zip(wires) {
        set(&mut soc, 0, PPI + 0x510 + 8 * channel, event);
        set(&mut soc, 0, PPI + 0x514 + 8 * channel, task);
        set(&mut soc, 0, PPI + 0x910 + 4 * channel, fork);
    }
    set(&mut soc, 0, PPI + 0x504, 0b11);
    set(&mut soc, 0, TIMER3 + 0x510, 4);
    set(&mut soc, 0, TIMER3, 1);
    set(&mut soc, 0, TIMER0, 1);
    let led = Pin::p0(13);
    for round in 1..=4 {
        soc.advance(round * 50 * 64, &mut memory).unwrap();
        assert_eq!(soc.is_high(led), round % 2 == 1, "although its event was never cleared");
        assert_eq!(get(&mut soc, 0, TIMER3 + 0x554), u32::try_from(round).unwrap() * 50);
    }
}

#[test]
fn wires_in_a_circle_are_found() {
    let (mut soc, _) = chip();
    for (channel, (event, task)) in (0..).zip([(EGU0 + 0x100, EGU1), (EGU1 + 0x100, EGU0)]) {
        set(&mut soc, 0, PPI + 0x510 + 8 * channel, event);
        set(&mut soc, 0, PPI + 0x514 + 8 * channel, task);
    }
    set(&mut soc, 0, PPI + 0x500, 0b11);
    let error = soc.write(0, EGU0, Width::Word, 1).unwrap_err();
    assert!(error.what.contains("circle"), "{error}");
}

#[test]
fn a_button_is_an_edge_and_a_level() {
    let (mut soc, _) = chip();
    let button = Pin::p0(11);
    set(&mut soc, 0, P0 + 0x524, 1);
    set(&mut soc, 0, P0 + 0x700 + 4 * 11, 3 << 16 | 3 << 2);
    set(&mut soc, 0, GPIOTE + 0x510, 2 << 16 | 11 << 8 | 1);
    set(&mut soc, 0, GPIOTE + 0x304, 1 << 31);
    assert_eq!(soc.interrupt_lines(), 0);
    soc.drive(500, button, Some(false)).unwrap();
    assert_eq!(soc.interrupt_lines(), 1 << 6);
    assert_eq!((get(&mut soc, 0, GPIOTE + 0x100), get(&mut soc, 0, P0 + 0x520)), (1, 1 << 11));
}

#[test]
fn flash_is_written_with_the_processor_standing_still() {
    let (mut soc, mut memory) = chip();
    assert!(soc.write(0, 0xF_0000, Width::Word, 0).is_err());
    set(&mut soc, 0, NVMC + 0x504, 1);
    soc.set_horizon(1_000_000);
    set(&mut soc, 100, 0xF_0000, 0x1234_5678);
    assert!(soc.wants_stop());
    assert_eq!(soc.halts_until(), Some(100 + 41 * 64));
    soc.advance(100 + 41 * 64, &mut memory).unwrap();
    assert_eq!((memory.read(0xF_0000, Width::Word), soc.halts_until()), (Some(0x1234_5678), None));
    assert!(soc.write(0, 0x10_0000, Width::Word, 0).is_err(), "behind the end of flash");
    soc.set_horizon(20_000);
    set(&mut soc, 10_000, NVMC + 0x504, 2);
    assert!(!soc.wants_stop());
    set(&mut soc, 10_000, NVMC + 0x508, 0xF_0000);
    assert!(soc.wants_stop(), "although the erase ends long after the horizon");
}

#[test]
fn uicr_survives_everything_and_ram_registers_do_not() {
    let (mut soc, mut memory) = chip();
    set(&mut soc, 0, NVMC + 0x504, 1);
    set(&mut soc, 0, 0x1000_1200, 18);
    soc.advance(41 * 64, &mut memory).unwrap();
    set(&mut soc, 3_000, CLOCK + 0x51C, 0x42);
    soc.reset(3_000, ResetCause::Software);
    assert_eq!([0x1000_1200, CLOCK + 0x51C, CLOCK + 0x400].map(|at| get(&mut soc, 0, at)), [18, 0x42, 4]);
    soc.lose_power(3_000, &mut memory);
    assert_eq!([0x1000_1200, CLOCK + 0x51C, CLOCK + 0x400].map(|at| get(&mut soc, 0, at)), [18, 0, 0]);
}

#[test]
fn the_watchdog_outlives_a_reset_but_not_its_own() {
    let (mut soc, mut memory) = chip();
    set(&mut soc, 0, WDT + 0x504, 327);
    set(&mut soc, 0, WDT, 1);
    soc.reset(1_000, ResetCause::Software);
    assert_eq!(get(&mut soc, 1_000, WDT + 0x400), 1);
    soc.advance(2_000_000, &mut memory).unwrap();
    assert!(soc.watchdog_expired());
    soc.reset(2_000_000, ResetCause::Watchdog);
    assert_eq!((get(&mut soc, 0, WDT + 0x400), get(&mut soc, 0, CLOCK + 0x400)), (0, 0b110));
}

#[test]
fn a_planned_cut_stops_time() {
    let (mut soc, mut memory) = chip();
    soc.plan_power_cut(Some(PowerCut { operation: 1, percent: 50 }));
    set(&mut soc, 0, NVMC + 0x504, 2);
    set(&mut soc, 0, NVMC + 0x508, 0x8000);
    assert_eq!(soc.next_event(), 85_000 * 64 / 2);
    soc.advance(85_000 * 64 / 2, &mut memory).unwrap();
    assert!(soc.power_fails(85_000 * 64 / 2));
    assert_eq!(soc.flash_operations(), 1);
}

#[test]
fn easy_dma_outside_ram_ends_the_run() {
    let (mut soc, mut memory) = chip();
    for (offset, value) in [(0x500, 8), (0x544, RAM_START + 256 * 1024 - 2), (0x548, 4), (0x008, 1)] {
        set(&mut soc, 0, 0x4000_2000 + offset, value);
    }
    assert_eq!(soc.next_event(), 0, "due at once");
    assert!(soc.advance(0, &mut memory).unwrap_err().what.contains("EasyDMA"));
}
