//! Tests of USBD alone, by its registers and by what comes over the cable.

use super::super::events::{Peripheral, read, write};
use super::Usbd;
use crate::memory::{Memory, RAM_START};
use crate::usb::{Action, Answer, UsbHost};

const STARTEPIN: u32 = 0x004;
const STARTEPOUT: u32 = 0x028;
const EP0RCVOUT: u32 = 0x04C;
const EP0STATUS: u32 = 0x050;
const EP0STALL: u32 = 0x054;
const USBRESET: u32 = 0x100;
const ENDEPIN: u32 = 0x108;
const EP0DATADONE: u32 = 0x128;
const ENDEPOUT: u32 = 0x130;
const USBEVENT: u32 = 0x158;
const EP0SETUP: u32 = 0x15C;
const EPDATA: u32 = 0x160;
const SHORTS: u32 = 0x200;
const EVENTCAUSE: u32 = 0x400;
const EPDATASTATUS: u32 = 0x46C;
const USBADDR: u32 = 0x470;
const SETUP: u32 = 0x480;
const SIZE_EPOUT: u32 = 0x4A0;
const EPINEN: u32 = 0x510;
const EPOUTEN: u32 = 0x514;
const EPSTALL: u32 = 0x518;
const LOWPOWER: u32 = 0x52C;
const EPIN: u32 = 0x600;
const EPOUT: u32 = 0x700;

const GET_DEVICE: [u8; 8] = [0x80, 6, 0, 1, 0, 0, 18, 0];
const SET_LINE_CODING: [u8; 8] = [0x21, 0x20, 0, 0, 0, 0, 7, 0];
const IN0: Action = Action::In { endpoint: 0 };

fn out(endpoint: u8, bytes: &[u8]) -> Action {
    Action::Out { endpoint, bytes: bytes.to_vec() }
}

fn set(usbd: &mut Usbd, offset: u32, value: u32) {
    write(usbd, 0, offset, value).unwrap();
}

fn get(usbd: &Usbd, offset: u32) -> u32 {
    read(usbd, 0, offset).unwrap()
}

/// Plugged in, enabled and pulled up.
fn attached() -> (Usbd, Memory) {
    let (mut usbd, mut memory) = (Usbd::new(), Memory::new(4096, 256));
    assert!(usbd.plug(0, Some(UsbHost::default())).is_none());
    set(&mut usbd, 0x500, 1);
    usbd.advance(usbd.due(), &mut memory).unwrap();
    set(&mut usbd, EVENTCAUSE, u32::MAX);
    set(&mut usbd, USBEVENT, 0);
    set(&mut usbd, 0x504, 1);
    (usbd, memory)
}

/// Starts a transfer of `EasyDMA` with the beginning of RAM, and lets it end.
fn dma(usbd: &mut Usbd, memory: &mut Memory, endpoint: u32, is_in: bool, count: u32) {
    let (registers, task) = if is_in { (EPIN, STARTEPIN) } else { (EPOUT, STARTEPOUT) };
    set(usbd, registers + 20 * endpoint, RAM_START);
    set(usbd, registers + 20 * endpoint + 4, count);
    set(usbd, task + 4 * endpoint, 1);
    for _ in 0..2 {
        usbd.advance(usbd.due(), memory).unwrap();
    }
    let end = if is_in { ENDEPIN } else { ENDEPOUT } + 4 * endpoint;
    assert_eq!((get(usbd, end), get(usbd, registers + 20 * endpoint + 8)), (1, count));
    set(usbd, end, 0);
}

#[test]
fn it_is_ready_with_power_and_says_so_once() {
    let (mut usbd, mut memory) = (Usbd::new(), Memory::new(4096, 64));
    set(&mut usbd, 0x500, 1);
    assert_eq!(usbd.due(), u64::MAX, "no cable, no power");
    usbd.plug(0, Some(UsbHost::default()));
    usbd.advance(usbd.due(), &mut memory).unwrap();
    assert_eq!((get(&usbd, EVENTCAUSE), get(&usbd, USBEVENT)), (1 << 11, 1));
    set(&mut usbd, USBEVENT, 0);
    set(&mut usbd, EVENTCAUSE, 1 << 11);
    assert_eq!((get(&usbd, EVENTCAUSE), get(&usbd, USBEVENT)), (0, 0));
    assert_eq!(usbd.answer(Action::Setup(GET_DEVICE)), Answer::Silence, "not pulled up");
}

#[test]
fn a_request_is_answered_when_the_packet_is_in_its_buffer() {
    let (mut usbd, mut memory) = attached();
    assert_eq!(usbd.answer(Action::Setup(GET_DEVICE)), Answer::Ack);
    let setup: Vec<u32> = (0..8).map(|byte| get(&usbd, SETUP + 4 * byte)).collect();
    assert_eq!((get(&usbd, EP0SETUP), setup), (1, GET_DEVICE.map(u32::from).to_vec()));
    assert_eq!(usbd.answer(IN0), Answer::Nak);
    memory.dma_write(RAM_START, b"12345678").unwrap();
    dma(&mut usbd, &mut memory, 0, true, 8);
    assert_eq!((usbd.answer(IN0), get(&usbd, EP0DATADONE)), (Answer::Data(b"12345678".to_vec()), 1));
    assert_eq!(usbd.answer(out(0, &[])), Answer::Nak, "the status stage waits for the program");
    set(&mut usbd, EP0STATUS, 1);
    assert_eq!(usbd.answer(out(0, &[])), Answer::Ack);

    usbd.answer(Action::Setup(GET_DEVICE));
    set(&mut usbd, SHORTS, 1 << 2);
    dma(&mut usbd, &mut memory, 0, true, 0);
    assert_eq!((usbd.answer(IN0), usbd.answer(out(0, &[]))), (Answer::Data(Vec::new()), Answer::Ack));
    assert!(write(&mut usbd, 0, SHORTS, 1).is_err(), "embassy does not use that shortcut");
}

#[test]
fn a_request_with_data_waits_until_the_program_takes_it() {
    let (mut usbd, mut memory) = attached();
    usbd.answer(Action::Setup(SET_LINE_CODING));
    assert_eq!(usbd.answer(out(0, b"abcdefg")), Answer::Nak);
    set(&mut usbd, EP0RCVOUT, 1);
    assert_eq!((usbd.answer(out(0, b"abcdefg")), get(&usbd, SIZE_EPOUT)), (Answer::Ack, 7));
    dma(&mut usbd, &mut memory, 0, false, 7);
    assert_eq!((&memory.ram()[..7], usbd.answer(IN0)), (&b"abcdefg"[..], Answer::Nak));
    set(&mut usbd, EP0STATUS, 1);
    assert_eq!(usbd.answer(IN0), Answer::Data(Vec::new()));
}

#[test]
fn an_address_needs_no_program_and_a_reset_takes_it_away() {
    let (mut usbd, _) = attached();
    usbd.answer(Action::Setup([0, 5, 42, 0, 0, 0, 0, 0]));
    assert_eq!(get(&usbd, USBADDR), 0, "until the host has the answer");
    assert_eq!((usbd.answer(IN0), get(&usbd, USBADDR)), (Answer::Data(Vec::new()), 42));
    usbd.answer(Action::Reset);
    assert_eq!((get(&usbd, USBRESET), get(&usbd, USBADDR)), (1, 0));
}

#[test]
fn a_refused_request_stays_refused_until_the_next() {
    let (mut usbd, _) = attached();
    usbd.answer(Action::Setup(GET_DEVICE));
    set(&mut usbd, EP0STALL, 1);
    assert_eq!([usbd.answer(IN0), usbd.answer(out(0, &[]))], [Answer::Stall, Answer::Stall]);
    usbd.answer(Action::Setup(GET_DEVICE));
    assert_eq!(usbd.answer(IN0), Answer::Nak);
}

#[test]
fn a_packet_leaves_when_the_host_asks() {
    let (mut usbd, mut memory) = attached();
    let ask = Action::In { endpoint: 2 };
    assert_eq!(usbd.answer(ask.clone()), Answer::Silence, "not enabled");
    set(&mut usbd, EPINEN, 0b101);
    assert_eq!(usbd.answer(ask.clone()), Answer::Nak);
    memory.dma_write(RAM_START, b"hello").unwrap();
    dma(&mut usbd, &mut memory, 2, true, 5);
    assert!(write(&mut usbd, 0, STARTEPIN + 8, 1).is_err(), "the buffer is taken");
    assert_eq!(get(&usbd, EPDATA), 0);
    assert_eq!(usbd.answer(ask.clone()), Answer::Data(b"hello".to_vec()));
    assert_eq!((get(&usbd, EPDATA), get(&usbd, EPDATASTATUS)), (1, 1 << 2));
    set(&mut usbd, EPDATASTATUS, 1 << 2);
    assert_eq!((usbd.answer(ask), get(&usbd, EPDATASTATUS)), (Answer::Nak, 0));
}

#[test]
fn a_packet_arrives_when_there_is_room() {
    let (mut usbd, mut memory) = attached();
    set(&mut usbd, EPOUTEN, 0b11);
    assert_eq!(usbd.answer(out(1, b"one")), Answer::Nak, "until SIZE is written");
    set(&mut usbd, SIZE_EPOUT + 4, 0);
    assert_eq!([usbd.answer(out(1, b"one")), usbd.answer(out(1, b"more"))], [Answer::Ack, Answer::Nak]);
    assert_eq!((get(&usbd, EPDATASTATUS), get(&usbd, SIZE_EPOUT + 4)), (1 << 17, 3));
    dma(&mut usbd, &mut memory, 1, false, 3);
    assert_eq!((&memory.ram()[..3], usbd.answer(out(1, b"more"))), (&b"one"[..], Answer::Ack));
}

#[test]
fn an_endpoint_is_halted_and_goes_on() {
    let (mut usbd, _) = attached();
    set(&mut usbd, EPINEN, 0b10);
    for (value, answer, halted) in [(0x181, Answer::Stall, 1), (0x081, Answer::Nak, 0)] {
        set(&mut usbd, EPSTALL, value);
        assert_eq!((usbd.answer(Action::In { endpoint: 1 }), get(&usbd, 0x424)), (answer, halted));
    }
}

#[test]
fn a_silent_bus_is_suspended_and_wakes_the_peripheral() {
    let (mut usbd, _) = attached();
    usbd.answer(Action::Suspend);
    assert_eq!((get(&usbd, EVENTCAUSE), get(&usbd, USBEVENT)), (1 << 8, 1));
    set(&mut usbd, LOWPOWER, 1);
    usbd.answer(Action::Resume);
    assert_eq!((get(&usbd, EVENTCAUSE), get(&usbd, LOWPOWER)), (1 << 8 | 1 << 9, 0));
}

#[test]
fn a_transfer_that_would_never_end_is_an_error() {
    let (mut usbd, _) = attached();
    set(&mut usbd, LOWPOWER, 1);
    let refusal = write(&mut usbd, 0, STARTEPIN, 1).unwrap_err();
    assert!(format!("{refusal:?}").contains("low-power"), "{refusal:?}");
    set(&mut usbd, LOWPOWER, 0);
    set(&mut usbd, STARTEPIN, 1);
    assert!(write(&mut usbd, 0, STARTEPOUT + 4, 1).is_err(), "one at a time");
    set(&mut usbd, 0x500, 0);
    assert!(write(&mut usbd, 0, STARTEPOUT, 1).is_err(), "it is off");
}

#[test]
fn easy_dma_outside_ram_ends_the_run() {
    let (mut usbd, mut memory) = attached();
    for (offset, value) in [(EPIN, 0x1000), (EPIN + 4, 4), (STARTEPIN, 1)] {
        set(&mut usbd, offset, value);
    }
    assert!(usbd.advance(usbd.due(), &mut memory).is_err());
}

#[test]
fn what_embassy_does_not_use_is_left_out() {
    let (usbd, _) = attached();
    // DTOGGLE, ISOSPLIT, FRAMECNTR, SOF, and the registers of isochronous endpoints.
    for offset in [0x50C, 0x51C, 0x520, 0x154, 0x6A0, 0x7A0, 0x4C0] {
        assert!(read(&usbd, 0, offset).is_err(), "{offset:#x}");
    }
}
