//! UARTE0 and UARTE1: bytes in and out at the pace of the line, through `EasyDMA`.
//!
//! What is sent shows outside when the transfer ends, in order. What comes in takes its time byte by byte; six bytes fit
//! into the receiver before they must go to RAM. Flow control, parity errors and the pins are not modelled: whatever pins
//! are chosen, the line is connected.

use std::collections::VecDeque;

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::BusError;
use crate::memory::Memory;

const RXDRDY: u32 = 2;
const ENDRX: u32 = 4;
const TXDRDY: u32 = 7;
const ENDTX: u32 = 8;
const ERROR: u32 = 9;
const RXTO: u32 = 17;
const RXSTARTED: u32 = 19;
const TXSTARTED: u32 = 20;
const TXSTOPPED: u32 = 22;
/// Clear and request to send are events that never come.
const EVENTS: u32 = 0b11
    | 1 << RXDRDY
    | 1 << ENDRX
    | 1 << TXDRDY
    | 1 << ENDTX
    | 1 << ERROR
    | 1 << RXTO
    | 1 << RXSTARTED
    | 1 << TXSTARTED
    | 1 << TXSTOPPED;
const SHORT_ENDRX_STARTRX: u32 = 5;
const SHORT_ENDRX_STOPRX: u32 = 6;
const FIFO_BYTES: usize = 6;
const OVERRUN: u32 = 1;
const ENABLED: u32 = 8;
/// Bytes that wait outside for their turn; more are lost.
const LINE_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    pointer: u32,
    count: u32,
    amount: u32,
}

/// What the transmitter is at.
#[derive(Clone, Debug)]
enum Sending {
    Idle,
    /// Started by a task; the bytes are fetched as soon as there is access to RAM.
    Fetch,
    Busy {
        bytes: Vec<u8>,
        since: u64,
    },
}

/// What the receiver is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Off,
    /// On, with or without a buffer.
    On {
        buffer: bool,
    },
    /// Stopped; what is on the line still arrives until then.
    Stopping {
        until: u64,
    },
}

/// One serial port.
#[derive(Clone, Debug)]
pub struct Uarte {
    events: Events,
    enabled: u32,
    pins: [u32; 4],
    baud: u32,
    config: u32,
    errors: u32,
    transmit: Buffer,
    receive: Buffer,
    /// What the running reception was started with. A driver that receives without a gap writes the next buffer into the
    /// registers meanwhile.
    filling: Buffer,
    sending: Sending,
    stop_sending: bool,
    receiving: Receiving,
    flush: bool,
    fifo: VecDeque<u8>,
    /// Bytes on their way in, and when the first of them is complete.
    line: VecDeque<u8>,
    byte_at: u64,
    sent: Vec<u8>,
    lost: u64,
    now: u64,
}

impl Uarte {
    /// A port that is off.
    pub fn new() -> Self {
        Self {
            events: Events::new(EVENTS, 1 << SHORT_ENDRX_STARTRX | 1 << SHORT_ENDRX_STOPRX),
            enabled: 0,
            pins: [u32::MAX; 4],
            baud: 0x0400_0000,
            config: 0,
            errors: 0,
            transmit: Buffer::default(),
            receive: Buffer::default(),
            filling: Buffer::default(),
            sending: Sending::Idle,
            stop_sending: false,
            receiving: Receiving::Off,
            flush: false,
            fifo: VecDeque::new(),
            line: VecDeque::new(),
            byte_at: NEVER,
            sent: Vec::new(),
            lost: 0,
            now: 0,
        }
    }

    /// The port after a reset. What it has sent is out of its hands; a transfer that was under way has got so far.
    pub fn after_reset(&self, now: u64) -> Self {
        let mut sent = self.sent.clone();
        if let Sending::Busy { bytes, since } = &self.sending {
            let complete = usize::try_from((now - since) / self.byte_cycles()).unwrap_or(usize::MAX);
            sent.extend(bytes.iter().take(complete));
        }
        Self { sent, lost: self.lost, ..Self::new() }
    }

    /// Puts bytes on the line to the board, behind those that are still on it.
    pub fn put(&mut self, now: u64, bytes: &[u8]) {
        if self.line.is_empty() && !bytes.is_empty() {
            self.byte_at = now + self.byte_cycles();
        }
        let room = LINE_MAX - self.line.len();
        self.line.extend(bytes.iter().take(room));
        self.lost += bytes.len().saturating_sub(room) as u64;
    }

    /// What the board has sent since the last call.
    pub fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// Bytes to the board that nobody took.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How long a byte takes: start, eight bits, parity, one or two stops. The register is the rate in 2^-32 of 16 MHz.
    fn byte_cycles(&self) -> u64 {
        let bits = 10 + u64::from(self.config >> 1 & 7 != 0) + u64::from(self.config >> 4 & 1);
        (bits << 34) / u64::from(self.baud.max(1))
    }

    fn end_receive(&mut self, now: u64) {
        self.receiving = Receiving::On { buffer: false };
        self.events.fire(ENDRX);
        if self.events.short(SHORT_ENDRX_STARTRX) {
            self.start_receive();
        }
        if self.events.short(SHORT_ENDRX_STOPRX) {
            self.stop_receive(now);
        }
    }

    fn start_receive(&mut self) {
        self.receive.amount = 0;
        self.filling = self.receive;
        self.receiving = Receiving::On { buffer: true };
        self.events.fire(RXSTARTED);
    }

    fn stop_receive(&mut self, now: u64) {
        if let Receiving::On { buffer } = self.receiving {
            self.receiving = Receiving::Stopping { until: now + self.byte_cycles() };
            if buffer {
                self.events.fire(ENDRX);
            }
        }
    }

    /// Moves bytes from the receiver to RAM, as long as there is a buffer for them.
    fn drain(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        while self.receiving == (Receiving::On { buffer: true }) {
            if self.receive.amount >= self.filling.count {
                self.end_receive(now);
                // A buffer of no bytes would be full for ever.
                if self.filling.count == 0 {
                    break;
                }
                continue;
            }
            let Some(byte) = self.fifo.pop_front() else { break };
            memory.dma_write(self.filling.pointer.wrapping_add(self.receive.amount), &[byte])?;
            self.receive.amount += 1;
            if self.receive.amount == self.filling.count {
                self.end_receive(now);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, now: u64) {
        let Some(byte) = self.line.pop_front() else { return };
        self.byte_at = if self.line.is_empty() { NEVER } else { now + self.byte_cycles() };
        if self.enabled != ENABLED || self.receiving == Receiving::Off {
            self.lost += 1;
        } else if self.fifo.len() == FIFO_BYTES {
            self.lost += 1;
            self.errors |= OVERRUN;
            self.events.fire(ERROR);
        } else {
            self.fifo.push_back(byte);
            self.events.fire(RXDRDY);
        }
    }

    fn send(&mut self, now: u64, memory: &Memory) -> Result<(), BusError> {
        match &self.sending {
            Sending::Fetch => {
                let mut bytes = vec![0; self.transmit.count as usize];
                memory.dma_read(self.transmit.pointer, &mut bytes)?;
                self.sending = Sending::Busy { bytes, since: now };
            }
            Sending::Busy { bytes, since } => {
                let complete = ((now - since) / self.byte_cycles()).min(bytes.len() as u64);
                if !self.stop_sending && complete < bytes.len() as u64 {
                    return Ok(());
                }
                self.sent.extend_from_slice(&bytes[..usize::try_from(complete).unwrap_or(0)]);
                self.transmit.amount = u32::try_from(complete).unwrap_or(0);
                self.sending = Sending::Idle;
                if complete > 0 {
                    self.events.fire(TXDRDY);
                }
                self.events.fire(ENDTX);
            }
            Sending::Idle => {}
        }
        if std::mem::take(&mut self.stop_sending) {
            self.events.fire(TXSTOPPED);
        }
        Ok(())
    }
}

impl Peripheral for Uarte {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        Ok(match offset {
            0x480 => self.errors,
            0x500 => self.enabled,
            0x508..0x518 => self.pins[(offset - 0x508) as usize / 4],
            0x524 => self.baud,
            0x534 => self.receive.pointer,
            0x538 => self.receive.count,
            0x53C => self.receive.amount,
            0x544 => self.transmit.pointer,
            0x548 => self.transmit.count,
            0x54C => self.transmit.amount,
            0x56C => self.config,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            0x480 => self.errors &= !value,
            0x500 if value != 0 && value != ENABLED => {
                return Err(Refusal::Bad("only the port with EasyDMA is modelled".into()));
            }
            0x500 => self.enabled = value,
            0x508..0x518 => self.pins[(offset - 0x508) as usize / 4] = value,
            0x524 => self.baud = value,
            0x534 => self.receive.pointer = value,
            0x538 => self.receive.count = value & 0xFFFF,
            0x544 => self.transmit.pointer = value,
            0x548 => self.transmit.count = value & 0xFFFF,
            0x56C => self.config = value,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        self.now = now;
        match offset {
            0x00 => self.start_receive(),
            0x04 => self.stop_receive(now),
            0x08 => {
                self.sending = Sending::Fetch;
                self.events.fire(TXSTARTED);
            }
            0x0C => self.stop_sending = true,
            0x2C => self.flush = true,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        let sending = match &self.sending {
            _ if self.stop_sending => self.now,
            Sending::Idle => NEVER,
            Sending::Fetch => self.now,
            Sending::Busy { bytes, since } => since + bytes.len() as u64 * self.byte_cycles(),
        };
        let receiving = match self.receiving {
            _ if self.flush => self.now,
            Receiving::On { buffer: true } if !self.fifo.is_empty() => self.now,
            Receiving::Stopping { until } => until,
            Receiving::Off | Receiving::On { .. } => NEVER,
        };
        sending.min(receiving).min(self.byte_at)
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        self.send(now, memory)?;
        if self.byte_at <= now {
            self.arrive(now);
        }
        self.drain(now, memory)?;
        if let Receiving::Stopping { until } = self.receiving
            && until <= now
        {
            self.receiving = Receiving::Off;
            self.events.fire(RXTO);
        }
        if std::mem::take(&mut self.flush) {
            let room = self.fifo.len().min(self.receive.count as usize);
            let bytes: Vec<u8> = self.fifo.drain(..room).collect();
            memory.dma_write(self.receive.pointer, &bytes)?;
            self.receive.amount = u32::try_from(room).unwrap_or(0);
            self.events.fire(ENDRX);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{NEVER, Peripheral, read, write};
    use super::Uarte;
    use crate::memory::{Memory, RAM_START};

    /// 115,200 baud: 10 bits are 5555 cycles, give or take what the register rounds.
    const BAUD_115200: u32 = 0x01D6_0000;

    fn port() -> (Uarte, Memory) {
        let mut uarte = Uarte::new();
        for (offset, value) in
            [(0x500, 8), (0x524, BAUD_115200), (0x534, RAM_START), (0x538, 4), (0x544, RAM_START + 32)]
        {
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
        assert_eq!(
            (uarte.take_sent(), read(&uarte, 0, 0x120), read(&uarte, 0, 0x54C)),
            (b"hello".to_vec(), Ok(1), Ok(5))
        );

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
}
