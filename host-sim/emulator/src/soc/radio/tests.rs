//! Tests of the radio against the times of the published model.

use super::super::events::{Peripheral, read, write};
use super::Radio;
use crate::io::Width;
use crate::memory::{Memory, RAM_START};
use crate::phy::{Frame, Input, Output, Stamped};

const PACKET: u32 = RAM_START + 0x100;
const US: u64 = 64;

const TXEN: u32 = 0x00;
const RXEN: u32 = 0x04;
const START: u32 = 0x08;
const STOP: u32 = 0x0C;
const DISABLE: u32 = 0x10;
const STATE: u32 = 0x550;
const SHORTS: u32 = 0x200;

/// The events in which these tests are interested, by name.
const NAMES: [(u32, &str); 17] = [
    (0x100, "READY"),
    (0x104, "ADDRESS"),
    (0x108, "PAYLOAD"),
    (0x10C, "END"),
    (0x110, "DISABLED"),
    (0x11C, "RSSIEND"),
    (0x130, "CRCOK"),
    (0x134, "CRCERROR"),
    (0x138, "FRAMESTART"),
    (0x13C, "EDEND"),
    (0x144, "CCAIDLE"),
    (0x148, "CCABUSY"),
    (0x14C, "CCASTOPPED"),
    (0x154, "TXREADY"),
    (0x158, "RXREADY"),
    (0x168, "SYNC"),
    (0x16C, "PHYEND"),
];

struct Bench {
    radio: Radio,
    memory: Memory,
    seen: Vec<(u64, &'static str)>,
}

impl Bench {
    /// A radio set up as embassy's driver does it.
    fn new() -> Self {
        let mut radio = Radio::new();
        radio.hfxo = true;
        for (offset, value) in [
            (0xFFC, 0),
            (0xFFC, 1),
            (0x510, 15),
            (0x534, 0x202),
            (0x538, 0x1_1021),
            (0x53C, 0),
            (0x514, 0x0600_0008),
            (0x518, 127),
            (0x508, 50),
            (0x504, PACKET),
        ] {
            write(&mut radio, 0, offset, value).unwrap();
        }
        Self { radio, memory: Memory::new(4096, 1024), seen: Vec::new() }
    }

    fn set(&mut self, us: u64, offset: u32, value: u32) {
        write(&mut self.radio, us * US, offset, value).unwrap();
        self.note(us * US);
    }

    fn get(&self, offset: u32) -> u32 {
        read(&self.radio, 0, offset).unwrap()
    }

    fn tell(&mut self, us: u64, input: Input) {
        self.radio.handle_input(us * US, input).unwrap();
        self.note(us * US);
    }

    /// Lets time pass, and writes down every event with its time.
    fn run(&mut self, until_us: u64) {
        while self.radio.due() <= until_us * US {
            let now = self.radio.due();
            self.radio.advance(now, &mut self.memory).unwrap();
            self.note(now);
        }
    }

    fn note(&mut self, now: u64) {
        for (offset, name) in NAMES {
            if self.get(offset) == 1 {
                self.seen.push((now / US, name));
                write(&mut self.radio, now, offset, 0).unwrap();
            }
        }
    }

    fn time_of(&self, name: &str) -> u64 {
        let found = self.seen.iter().find(|(_, seen)| *seen == name);
        found.unwrap_or_else(|| panic!("{name} is not among {:?}", self.seen)).0
    }

    fn saw(&self, name: &str) -> bool {
        self.seen.iter().any(|(_, seen)| *seen == name)
    }

    fn outputs(&mut self) -> Vec<Stamped> {
        std::iter::from_fn(|| self.radio.take_output()).collect()
    }

    fn packet(&mut self, payload: &[u8]) {
        let mut bytes = vec![u8::try_from(payload.len() + 2).unwrap()];
        bytes.extend_from_slice(payload);
        self.memory.dma_write(PACKET, &bytes).unwrap();
    }

    /// The shortcuts of `try_send`: assess, send, off.
    fn try_send(&mut self, us: u64) {
        self.set(us, SHORTS, 1 << 11 | 1 << 12 | 1 << 18 | 1 << 13 | 1 << 20);
        self.set(us, RXEN, 1);
    }
}

fn near(found: u64, expected: u64, what: &str) {
    assert!(found.abs_diff(expected) <= 2, "{what} at {found} us, expected at {expected} us");
}

#[test]
fn a_transmission_has_the_times_of_the_published_model() {
    let mut bench = Bench::new();
    bench.packet(&[0x55; 20]);
    bench.try_send(1_000);
    bench.run(1_200);
    near(bench.time_of("RXREADY"), 1_129, "RXREADY");
    assert_eq!(bench.get(STATE), 3, "an assessment counts as receiving");
    let Some(Stamped { output: Output::Assess { until, .. }, .. }) = bench.outputs().pop() else {
        panic!("no assessment")
    };
    bench.tell(until / US, Input::Assessed { dbm: -100, carrier: false });
    bench.run(3_000);
    for (name, us) in [
        ("CCAIDLE", 1_256),
        ("TXREADY", 1_385),
        ("FRAMESTART", 1_545),
        ("END", 2_281),
        ("PHYEND", 2_281),
        ("DISABLED", 2_302),
    ] {
        near(bench.time_of(name), us, name);
    }
    let order: Vec<&str> = bench.seen.iter().map(|(_, name)| *name).collect();
    let first =
        ["READY", "RXREADY", "CCAIDLE", "READY", "TXREADY", "ADDRESS", "FRAMESTART", "PAYLOAD", "END", "PHYEND"];
    assert_eq!(order, [&first[..], &["DISABLED"]].concat());
    assert_eq!(bench.get(STATE), 0);
    let [Stamped { at, output: Output::TransmitBegins { frame, dbm, tuning, ends } }] = &bench.outputs()[..] else {
        panic!("one frame and nothing else")
    };
    assert_eq!((frame, *dbm, tuning.channel()), (&Frame::new(&[0x55; 20]), 0, Some(20)));
    assert_eq!(ends - at, 28 * 32 * US);
}

#[test]
fn a_reception_has_the_times_of_the_published_model() {
    let mut bench = Bench::new();
    bench.set(0, SHORTS, 1 << 19);
    bench.set(0, RXEN, 1);
    bench.run(500);
    let tuned = bench.outputs();
    assert!(matches!(&tuned[..], [Stamped { output: Output::Listening { .. }, .. }]), "{tuned:?}");
    // The sender of the other test: its first bit at 1385, its last one at 2281.
    let frame = Frame::new(&[0x55; 20]);
    bench.tell(1_545, Input::FrameFound { dbm: -60 });
    bench.run(2_281);
    bench.tell(2_281, Input::FrameEnds { frame: frame.clone(), intact: true, dbm: -60 });
    bench.run(3_000);
    for (name, us) in [("FRAMESTART", 1_567), ("CRCOK", 2_303), ("PHYEND", 2_303)] {
        near(bench.time_of(name), us, name);
    }
    let order: Vec<&str> = bench.seen.iter().map(|(_, name)| *name).collect();
    assert_eq!(order, ["READY", "RXREADY", "ADDRESS", "FRAMESTART", "SYNC", "PAYLOAD", "END", "CRCOK", "PHYEND"]);
    let at = (PACKET - RAM_START) as usize;
    let stored = &bench.memory.ram()[at..at + 22];
    assert_eq!((stored[0], &stored[1..21], stored[21]), (22, &[0x55; 20][..], 32), "length, payload, quality");
    assert_eq!(bench.get(0x40C), u32::from(u16::from_le_bytes([frame.psdu[20], frame.psdu[21]])));
    assert_eq!((bench.get(STATE), bench.get(0x400)), (2, 1));
    assert_eq!(bench.outputs().last().map(|said| said.output.clone()), Some(Output::Deaf));
}

#[test]
fn a_busy_channel_switches_the_radio_off() {
    let mut bench = Bench::new();
    bench.try_send(1_000);
    bench.run(1_200);
    bench.tell(1_257, Input::Assessed { dbm: -60, carrier: true });
    bench.run(2_000);
    assert!(bench.saw("CCABUSY") && bench.saw("DISABLED") && !bench.saw("TXREADY"));
}

#[test]
fn clear_channel_follows_its_register() {
    // Mode, threshold, correlator count; loud or quiet with or without a carrier: busy?
    for (register, expected) in [
        (0x0000_1100, [true, true, false, false]),
        (0x022D_1101, [true, false, true, false]),
        (0x022D_1102, [true, false, false, false]),
        (0x022D_1103, [true, true, true, false]),
        (0x0000_0001, [false; 4]),
    ] {
        let situations = [(-60, true), (-60, false), (-90, true), (-90, false)];
        for ((dbm, carrier), busy) in situations.into_iter().zip(expected) {
            let mut bench = Bench::new();
            bench.set(0, 0x66C, register);
            bench.try_send(0);
            bench.run(200);
            bench.tell(257, Input::Assessed { dbm, carrier });
            assert_eq!(bench.saw("CCABUSY"), busy, "CCACTRL {register:#x}, {dbm} dBm, carrier {carrier}");
        }
    }
}

#[test]
fn fast_ramps_and_a_frame_at_once() {
    let mut bench = Bench::new();
    bench.packet(&[1, 2, 3]);
    bench.set(0, 0x650, 0x201);
    bench.set(0, SHORTS, 1 << 18);
    bench.set(0, TXEN, 1);
    bench.run(100);
    near(bench.time_of("TXREADY"), 40, "TXREADY");
    assert_eq!(bench.get(STATE), 11);
    bench.set(100, STOP, 1);
    assert_eq!(bench.get(STATE), 10);
    assert_eq!(bench.outputs().pop().map(|said| said.output), Some(Output::TransmitAborted));
    bench.set(200, START, 1);
    bench.run(200);
    bench.set(210, DISABLE, 1);
    bench.run(300);
    near(bench.time_of("DISABLED"), 231, "DISABLED");
    assert_eq!(bench.radio.usage(300 * US).sent, 0);
}

#[test]
fn damage_and_nonsense_lengths_fail_the_checksum() {
    let whole = Frame::new(&[9; 10]);
    let lengths = [0, 1, 2, 128, 255].map(|length| Frame { length, psdu: whole.psdu.clone() });
    let cases = lengths.into_iter().map(|frame| (frame, true)).chain([(whole.clone(), false)]);
    for (frame, intact) in cases {
        let mut bench = Bench::new();
        bench.set(0, SHORTS, 1 << 19);
        bench.set(0, RXEN, 1);
        bench.run(500);
        bench.tell(1_000, Input::FrameFound { dbm: -70 });
        bench.run(1_100);
        bench.tell(1_500, Input::FrameEnds { frame: frame.clone(), intact, dbm: -70 });
        bench.run(2_000);
        assert!(bench.saw("CRCERROR") && !bench.saw("CRCOK"), "{frame:?}");
        assert_eq!(bench.memory.read(PACKET, Width::Byte), Some(u32::from(frame.length)));
        assert_eq!(bench.radio.usage(0).damaged, 1);
    }
}

#[test]
fn a_radio_that_stops_listening_gets_no_end_of_frame() {
    let mut bench = Bench::new();
    bench.set(0, SHORTS, 1 << 19);
    bench.set(0, RXEN, 1);
    bench.run(500);
    bench.tell(1_000, Input::FrameFound { dbm: -70 });
    bench.run(1_100);
    bench.set(1_200, STOP, 1);
    bench.tell(1_500, Input::FrameEnds { frame: Frame::new(b"lost"), intact: true, dbm: -70 });
    bench.run(2_000);
    assert!(!bench.saw("PHYEND"));
    assert_eq!(bench.get(STATE), 2);
}

#[test]
fn energy_and_signal_strength() {
    let mut bench = Bench::new();
    bench.set(0, RXEN, 1);
    bench.run(200);
    bench.set(200, 0x24, 1);
    let Some(Stamped { at, output: Output::Assess { until, .. } }) = bench.outputs().pop() else {
        panic!("no assessment")
    };
    assert_eq!(until - at, 128 * US);
    bench.tell(328, Input::Assessed { dbm: -72, carrier: false });
    assert!(bench.saw("EDEND"));
    assert_eq!(bench.get(0x668), 20);
    bench.set(400, 0x14, 1);
    assert!(matches!(bench.outputs().pop(), Some(Stamped { output: Output::Measure { .. }, .. })));
    bench.tell(400, Input::Measured { dbm: -81 });
    assert!(bench.saw("RSSIEND"));
    assert_eq!(bench.get(0x548), 81);
}

#[test]
fn an_assessment_can_be_stopped() {
    let mut bench = Bench::new();
    bench.set(0, SHORTS, 1 << 11);
    bench.set(0, RXEN, 1);
    bench.run(150);
    bench.set(150, 0x30, 1);
    assert!(bench.saw("CCASTOPPED"));
    assert_eq!(bench.get(STATE), 2);
    bench.tell(257, Input::Assessed { dbm: -50, carrier: true });
    assert!(!bench.saw("CCABUSY"), "the question was withdrawn");
}

#[test]
fn it_refuses_what_it_does_not_model() {
    let mut bench = Bench::new();
    bench.radio.hfxo = false;
    assert!(write(&mut bench.radio, 0, RXEN, 1).is_err(), "without its crystal");
    bench.radio.hfxo = true;
    bench.set(0, 0x510, 3);
    assert!(write(&mut bench.radio, 0, TXEN, 1).is_err(), "Bluetooth");
    assert!(write(&mut bench.radio, 0, SHORTS, 1 << 14).is_err(), "the bit counter");
    assert!(write(&mut bench.radio, 0, 0x544, 150).is_err() && write(&mut bench.radio, 0, 0x51C, 1).is_err());
}

#[test]
fn its_time_is_counted() {
    let mut bench = Bench::new();
    bench.packet(&[7; 20]);
    bench.try_send(1_000);
    bench.run(1_200);
    bench.tell(1_257, Input::Assessed { dbm: -100, carrier: false });
    bench.run(5_000);
    let usage = bench.radio.usage(5_000 * US);
    assert_eq!((usage.receiving / US, usage.transmitting / US), (257, 129 + 28 * 32 + 21));
    assert_eq!(usage.sent, 1);
}
