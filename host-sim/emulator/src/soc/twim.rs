//! TWIM0: a master on two wires (I2C), through `EasyDMA`, at the pace of its clock.
//!
//! A transfer is a start, the address and its bytes, each nine bits long, and a stop. What lies on the wires answers; an
//! address that nobody answers to, or a byte that is refused, is an error, and the bus is held until the program stops it.
//! A wire that somebody holds low, or that nothing pulls up, stops everything: there is no event, for ever, as on the chip.

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use super::gpio::Pin;
use super::sht4x::{self, Sht4x};
use crate::io::BusError;
use crate::memory::Memory;

const STOPPED: u32 = 1;
const ERROR: u32 = 9;
const SUSPENDED: u32 = 18;
const RXSTARTED: u32 = 19;
const TXSTARTED: u32 = 20;
const LASTRX: u32 = 23;
const LASTTX: u32 = 24;
const EVENTS: u32 =
    1 << STOPPED | 1 << ERROR | 1 << SUSPENDED | 1 << RXSTARTED | 1 << TXSTARTED | 1 << LASTRX | 1 << LASTTX;

const SHORT_LASTTX_STARTRX: u32 = 7;
const SHORT_LASTTX_SUSPEND: u32 = 8;
const SHORT_LASTTX_STOP: u32 = 9;
const SHORT_LASTRX_STARTTX: u32 = 10;
const SHORT_LASTRX_STOP: u32 = 12;
const SHORTS: u32 = 1 << SHORT_LASTTX_STARTRX
    | 1 << SHORT_LASTTX_SUSPEND
    | 1 << SHORT_LASTTX_STOP
    | 1 << SHORT_LASTRX_STARTTX
    | 1 << SHORT_LASTRX_STOP;

/// Bits of ERRORSRC.
const ADDRESS_REFUSED: u32 = 1 << 1;
const BYTE_REFUSED: u32 = 1 << 2;

const ENABLED: u32 = 6;
/// The only values of FREQUENCY: 100, 250 and 400 kHz.
const FREQUENCIES: [u32; 3] = [0x0198_0000, 0x0400_0000, 0x0640_0000];
/// Bits of an address or a byte, with its acknowledgement.
const BYTE_BITS: u64 = 9;
/// PSEL of a wire that is not connected.
const DISCONNECTED: u32 = 1 << 31;

/// Tasks, by the names of the product specification.
mod task {
    pub const STARTRX: u32 = 0x00;
    pub const STARTTX: u32 = 0x08;
    pub const STOP: u32 = 0x14;
    pub const SUSPEND: u32 = 0x1C;
    pub const RESUME: u32 = 0x20;
}

/// Registers, by the names of the product specification.
mod register {
    pub const ERRORSRC: u32 = 0x4C4;
    pub const ENABLE: u32 = 0x500;
    pub const PSEL_SCL: u32 = 0x508;
    pub const PSEL_SDA: u32 = 0x50C;
    pub const FREQUENCY: u32 = 0x524;
    pub const RXD_PTR: u32 = 0x534;
    pub const RXD_MAXCNT: u32 = 0x538;
    pub const RXD_AMOUNT: u32 = 0x53C;
    pub const TXD_PTR: u32 = 0x544;
    pub const TXD_MAXCNT: u32 = 0x548;
    pub const TXD_AMOUNT: u32 = 0x54C;
    pub const ADDRESS: u32 = 0x588;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Send,
    Receive,
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    pointer: u32,
    count: u32,
    amount: u32,
}

/// What is on the wires, until the time that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// A start and the address.
    Address(Direction),
    Byte(Direction),
    /// The clock is held low, until the program goes on or stops.
    Held,
    Stop,
}

/// What the program or a shortcut wants next. It happens when the byte on the wires is complete.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    stop: bool,
    suspend: bool,
    start: Option<Direction>,
}

/// A sensor, and the pins that its wires lead to.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    pub sda: Pin,
    pub scl: Pin,
    pub sensor: Sht4x,
}

#[derive(Clone, Debug)]
pub struct Twim {
    events: Events,
    enabled: u32,
    scl: u32,
    sda: u32,
    frequency: u32,
    address: u32,
    errors: u32,
    send: Buffer,
    receive: Buffer,
    phase: Phase,
    wishes: Wishes,
    at: u64,
    /// Whether both wires can rise.
    free: bool,
    attached: Option<Attached>,
}

impl Twim {
    pub fn new() -> Self {
        Self {
            events: Events::new(EVENTS, SHORTS),
            enabled: 0,
            scl: u32::MAX,
            sda: u32::MAX,
            frequency: FREQUENCIES[1],
            address: 0,
            errors: 0,
            send: Buffer::default(),
            receive: Buffer::default(),
            phase: Phase::Idle,
            wishes: Wishes::default(),
            at: NEVER,
            free: false,
            attached: None,
        }
    }

    /// The sensor stays where it is.
    pub fn after_reset(&self) -> Self {
        Self { attached: self.attached, ..Self::new() }
    }

    pub fn attach(&mut self, attached: Option<Attached>) {
        self.attached = attached;
    }

    /// The pins of the wires, data first, while the peripheral is on.
    pub fn wires(&self) -> Option<[Pin; 2]> {
        if self.enabled == ENABLED { Some([pin(self.sda)?, pin(self.scl)?]) } else { None }
    }

    /// Whether the sensor's board, with its resistors, is on these wires.
    pub fn is_pulled_up(&self) -> bool {
        self.attached.is_some_and(|one| self.wires() == Some([one.sda, one.scl]))
    }

    /// Whether both wires can rise; until they can, nothing moves.
    pub fn set_free(&mut self, now: u64, free: bool) {
        if free && !self.free && self.at != NEVER {
            self.at = self.at.max(now);
        }
        self.free = free;
    }

    fn bits(&self, bits: u64) -> u64 {
        (bits << 34) / u64::from(self.frequency)
    }

    /// The sensor that the wires and the address lead to.
    fn sensor(&mut self) -> Option<&mut Sht4x> {
        let is_there = self.is_pulled_up() && self.address == sht4x::ADDRESS;
        self.attached.as_mut().filter(|_| is_there).map(|attached| &mut attached.sensor)
    }

    fn start(&mut self, now: u64, direction: Direction) -> Served<()> {
        if self.wires().is_none() {
            return Err(Refusal::Bad("started while it is off or has no pins".into()));
        }
        match self.phase {
            Phase::Idle | Phase::Held => self.begin(now, direction),
            Phase::Address(_) | Phase::Byte(_) | Phase::Stop => self.wishes.start = Some(direction),
        }
        Ok(())
    }

    fn begin(&mut self, now: u64, direction: Direction) {
        self.phase = Phase::Address(direction);
        self.at = now + self.bits(1 + BYTE_BITS);
        match direction {
            Direction::Send => self.send.amount = 0,
            Direction::Receive => self.receive.amount = 0,
        }
    }

    fn begin_byte(&mut self, now: u64, direction: Direction) {
        let (buffer, last) = match direction {
            Direction::Send => (self.send, LASTTX),
            Direction::Receive => (self.receive, LASTRX),
        };
        if buffer.amount >= buffer.count {
            self.go_on(now, None);
            return;
        }
        self.phase = Phase::Byte(direction);
        self.at = now + self.bits(BYTE_BITS);
        if buffer.amount + 1 == buffer.count {
            self.events.fire(last);
            let (start, other) = match direction {
                Direction::Send => (SHORT_LASTTX_STARTRX, Direction::Receive),
                Direction::Receive => (SHORT_LASTRX_STARTTX, Direction::Send),
            };
            if self.events.has_short(start) {
                self.wishes.start = Some(other);
            }
            self.wishes.stop |= match direction {
                Direction::Send => self.events.has_short(SHORT_LASTTX_STOP),
                Direction::Receive => self.events.has_short(SHORT_LASTRX_STOP),
            };
            self.wishes.suspend |= direction == Direction::Send && self.events.has_short(SHORT_LASTTX_SUSPEND);
        }
    }

    /// After a byte, or an address that was answered: what is wished, then the rest, or nothing.
    fn go_on(&mut self, now: u64, rest: Option<Direction>) {
        if self.wishes.stop {
            self.wishes = Wishes::default();
            self.phase = Phase::Stop;
            self.at = now + self.bits(1);
        } else if std::mem::take(&mut self.wishes.suspend) {
            self.hold();
            self.events.fire(SUSPENDED);
        } else if let Some(direction) = rest {
            self.begin_byte(now, direction);
        } else if let Some(direction) = self.wishes.start.take() {
            self.begin(now, direction);
        } else {
            self.hold();
        }
    }

    fn hold(&mut self) {
        (self.phase, self.at) = (Phase::Held, NEVER);
    }

    /// Nobody answered. What a shortcut would have started does not happen.
    fn refuse(&mut self, now: u64, why: u32) {
        self.errors |= why;
        self.events.fire(ERROR);
        self.wishes = Wishes { stop: self.wishes.stop, ..Wishes::default() };
        self.go_on(now, None);
    }

    fn end_address(&mut self, now: u64, direction: Direction) {
        let is_there = self.sensor().is_some_and(|sensor| sensor.is_addressed(now, direction == Direction::Receive));
        if !is_there {
            self.refuse(now, ADDRESS_REFUSED);
            return;
        }
        self.events.fire(if direction == Direction::Send { TXSTARTED } else { RXSTARTED });
        self.go_on(now, Some(direction));
    }

    fn end_byte(&mut self, now: u64, direction: Direction, memory: &mut Memory) -> Result<(), BusError> {
        match direction {
            Direction::Send => {
                let mut byte = [0];
                memory.dma_read(self.send.pointer.wrapping_add(self.send.amount), &mut byte)?;
                if !self.sensor().is_some_and(|sensor| sensor.write(now, byte[0])) {
                    self.refuse(now, BYTE_REFUSED);
                    return Ok(());
                }
                self.send.amount += 1;
            }
            Direction::Receive => {
                let byte = self.sensor().map_or(0xFF, Sht4x::read);
                memory.dma_write(self.receive.pointer.wrapping_add(self.receive.amount), &[byte])?;
                self.receive.amount += 1;
            }
        }
        let buffer = if direction == Direction::Send { self.send } else { self.receive };
        self.go_on(now, (buffer.amount < buffer.count).then_some(direction));
        Ok(())
    }
}

/// The pin that a PSEL register names.
fn pin(select: u32) -> Option<Pin> {
    let number = u8::try_from(select & 0x1F).ok()?;
    (select & DISCONNECTED == 0).then_some(if select >> 5 & 1 == 0 { Pin::p0(number) } else { Pin::p1(number) })
}

impl Peripheral for Twim {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        Ok(match offset {
            register::ERRORSRC => self.errors,
            register::ENABLE => self.enabled,
            register::PSEL_SCL => self.scl,
            register::PSEL_SDA => self.sda,
            register::FREQUENCY => self.frequency,
            register::RXD_PTR => self.receive.pointer,
            register::RXD_MAXCNT => self.receive.count,
            register::RXD_AMOUNT => self.receive.amount,
            register::TXD_PTR => self.send.pointer,
            register::TXD_MAXCNT => self.send.count,
            register::TXD_AMOUNT => self.send.amount,
            register::ADDRESS => self.address,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::ERRORSRC => self.errors &= !value,
            register::ENABLE if value != 0 && value != ENABLED => {
                return Err(Refusal::Bad("only the master on two wires with EasyDMA is modelled".into()));
            }
            register::ENABLE => {
                self.enabled = value;
                // Whatever was on the wires is let go of.
                (self.phase, self.wishes, self.at) = (Phase::Idle, Wishes::default(), NEVER);
            }
            register::PSEL_SCL => self.scl = value,
            register::PSEL_SDA => self.sda = value,
            register::FREQUENCY if !FREQUENCIES.contains(&value) => {
                return Err(Refusal::Bad(format!("the frequency {value:#010x} does not exist")));
            }
            register::FREQUENCY => self.frequency = value,
            register::RXD_PTR => self.receive.pointer = value,
            register::RXD_MAXCNT => self.receive.count = value & 0xFFFF,
            register::TXD_PTR => self.send.pointer = value,
            register::TXD_MAXCNT => self.send.count = value & 0xFFFF,
            register::ADDRESS => self.address = value & 0x7F,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        match offset {
            task::STARTRX => self.start(now, Direction::Receive)?,
            task::STARTTX => self.start(now, Direction::Send)?,
            task::STOP if matches!(self.phase, Phase::Idle | Phase::Held) => {
                (self.phase, self.at) = (Phase::Stop, now + self.bits(1));
            }
            task::STOP => self.wishes.stop |= self.phase != Phase::Stop,
            task::SUSPEND => self.wishes.suspend = true,
            // A start does the same to a held bus.
            task::RESUME => {}
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        if self.free { self.at } else { NEVER }
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        match self.phase {
            Phase::Address(direction) => self.end_address(now, direction),
            Phase::Byte(direction) => self.end_byte(now, direction, memory)?,
            Phase::Stop => {
                if let Some(sensor) = self.sensor() {
                    sensor.stop();
                }
                (self.phase, self.at) = (Phase::Idle, NEVER);
                self.events.fire(STOPPED);
                if let Some(direction) = self.wishes.start.take() {
                    self.begin(now, direction);
                }
            }
            Phase::Idle | Phase::Held => self.at = NEVER,
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "twim_tests.rs"]
mod tests;
