//! A stand-in for what lies below an image that does not start at address 0: a master boot record and a bootloader. It runs
//! for a while, writes registers as such programs do, and hands over.
//!
//! It is a few instructions and a list: words to write, waits, and at the end the address of the image.

use common::host_link::ToBoard;
use common::names::Board as Name;
use emulator::usb::{HostState, UsbHost};

use super::desk::Desk;
use super::model::Model;

const DONGLE: Model = Model::of(Name::Nrf52840Dongle).with("board-nrf52840-dongle,usb-bootloader");
const XIAO: Model = Model::of(Name::XiaoNrf52840).with("board-xiao-nrf52840");
const FEATHER: Model = Model::of(Name::FeatherNrf52840).with("board-feather-nrf52840");

/// In its own part of RAM, below that of the image's variables.
const STACK: u32 = 0x2000_0400;
/// The vector table has 16 exceptions and 48 interrupts.
const VECTORS: usize = 64;
const CODE: u32 = 4 * 64;
const CODE_BYTES: u32 = 36;

/// In place of an address: wait for as many turns of a loop as the value says.
const WAIT: u32 = 1;
/// In place of an address: the end of the list. The value is the address of the image.
const END: u32 = 0;

const LDR_R0_LIST: u16 = 0x4807;
const NOP: u16 = 0xBF00;
const CPSID_I: u16 = 0xB672;

/// The instructions. The address of the list follows them.
fn code(has_interrupts: bool) -> [u16; CODE_BYTES as usize / 2] {
    let mask = if has_interrupts { NOP } else { CPSID_I };
    [
        LDR_R0_LIST, // ldr r0, list
        mask,        // cpsid i, or nothing
        // next:
        0xC806, // ldmia r0!, {r1, r2}
        0xB131, // cbz r1, done
        0x2901, // cmp r1, #1
        0xD001, // beq wait
        0x600A, // str r2, [r1]
        0xE7F9, // b next
        // wait:
        0x3A01, // subs r2, #1
        0xD1FD, // bne wait
        0xE7F6, // b next
        // done:
        0x6810, // ldr r0, [r2]
        0xF380,
        0x8808, // msr msp, r0
        0x6850, // ldr r0, [r2, #4]
        0x4700, // bx r0
        // list:
        0,
        0,
    ]
}

/// The bytes from address 0 on. Every exception but the reset hangs: the image must have its own.
pub fn stand_in(origin: u32, writes: &[(u32, u32)], has_interrupts: bool) -> Vec<u8> {
    let mut code = code(has_interrupts);
    let hang = CODE + CODE_BYTES;
    let list = hang + 4;
    code[16] = u16::try_from(list).expect("it is short");
    let mut vectors = [hang | 1; VECTORS];
    (vectors[0], vectors[1]) = (STACK, CODE | 1);
    let mut bytes: Vec<u8> = vectors.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
    bytes.extend([0xFE, 0xE7, 0x00, 0xBF]);
    let list = writes.iter().copied().chain([(END, origin)]);
    bytes.extend(list.flat_map(|(address, value)| [address, value]).flat_map(u32::to_le_bytes));
    assert!(bytes.len() <= origin as usize);
    bytes
}

const CLOCK: u32 = 0x4000_0000;
const WDT: u32 = 0x4001_0000;
const RTC1: u32 = 0x4001_1000;
const USBD: u32 = 0x4002_7000;
const NVIC_ISER: u32 = 0xE000_E100;
const NVIC_ISPR: u32 = 0xE000_E200;

/// As Nordic's bootloader for the dongle leaves the chip, and worse: the clocks run, the slow one from the internal
/// oscillator; a timer counts at a pace of its own; USB is pulled up; and a retained byte is set.
const LEFT_BEHIND: [(u32, u32); 20] = [
    // Both clocks.
    (CLOCK, 1),
    (CLOCK + 0x518, 0),
    (CLOCK + 0x008, 1),
    (WAIT, 30_000),
    // GPREGRET, and the interrupts of the supply over USB.
    (CLOCK + 0x51C, 0xB1),
    (CLOCK + 0x304, 0b11_1000_0000),
    // A timer for lights, eight times slower than its clock, whose interrupt is due.
    (RTC1 + 0x508, 7),
    (RTC1 + 0x540, 3),
    (RTC1 + 0x304, 1 << 16),
    (RTC1 + 0x344, 1 << 16),
    (RTC1, 1),
    (WAIT, 30_000),
    // USB.
    (USBD + 0x500, 1),
    (WAIT, 1_000),
    (USBD + 0x400, 1 << 11),
    (USBD + 0x300, 0x1C0_0401),
    (USBD + 0x510, 0b11),
    (USBD + 0x514, 0b11),
    (USBD + 0x504, 1),
    // The host notices.
    (WAIT, 1_000_000),
];

#[test]
fn an_image_behind_a_bootloader_leaves_it_in_place() {
    for (model, origin) in [(DONGLE, 0x1000), (XIAO, 0x2_7000), (FEATHER, 0x2_6000)] {
        let segments = model.program().image().segments.clone();
        let end = segments.iter().map(|segment| segment.address as usize + segment.bytes.len()).max();
        assert!(model.origin() == origin && end < Some(0xD_7000), "{:#x} to {end:x?}", model.origin());
    }
}

#[test]
fn what_survives_a_reset_lies_where_a_uf2_bootloader_has_nothing() {
    for model in [XIAO, FEATHER] {
        let program = model.program();
        let symbol = |name| program.image().symbol(name).expect("the linker's own");
        // Its variables begin at 0x20008000, and its stack at the end of RAM.
        assert!(symbol("__sdata") >= 0x2001_8000 && symbol("__euninit") <= 0x2003_8000);
        assert!(symbol("_stack_end") >= 0x2000_0008, "the master boot record has eight bytes");
    }
}

/// Boots, enumerates and elects.
fn take_over(writes: &[(u32, u32)], has_interrupts: bool) -> Desk {
    let mut desk = Desk::of([1, 2].map(|device_id| (DONGLE, DONGLE.board_behind(device_id, writes, has_interrupts))));
    for number in 0..2 {
        let hello = desk.hello(number);
        assert_eq!((hello.board, hello.crash), (Name::Nrf52840Dongle, None), "{:?}", desk.log(number));
        assert_eq!(desk.network.boards()[number].usb_host().map(UsbHost::state), Some(HostState::Configured));
    }
    desk.elect();
    assert_eq!((desk.resets(0), desk.resets(1)), (0, 0));
    desk
}

#[test]
fn a_dongle_takes_over_from_its_bootloader() {
    let mut desk = take_over(&LEFT_BEHIND, true);
    // The clock of the node has the right pace.
    let times: Vec<u64> = (0..2)
        .map(|_| {
            desk.run_ms(800);
            desk.hello(0).at_us
        })
        .collect();
    assert!((990_000..1_010_000).contains(&(times[1] - times[0])), "{times:?}");
}

#[test]
fn interrupts_that_a_bootloader_left_pending_or_masked_do_no_harm() {
    let mut writes = LEFT_BEHIND.to_vec();
    for word in [0, 4] {
        writes.extend([(NVIC_ISER + word, u32::MAX), (NVIC_ISPR + word, u32::MAX)]);
    }
    take_over(&writes, false);
}

#[test]
fn a_watchdog_that_already_runs_is_fed() {
    // Two channels, both of which have to ask, and four seconds.
    let watchdog = [(WDT + 0x504, 4 * 32_768), (WDT + 0x508, 0b11), (WDT, 1)];
    let mut desk = take_over(&[LEFT_BEHIND.as_slice(), &watchdog].concat(), true);
    desk.run_ms(20_000);
    desk.ask(0, &ToBoard::Ping(1));
    assert_eq!((desk.resets(0), desk.resets(1)), (0, 0), "{:?}", desk.log(0));
}
