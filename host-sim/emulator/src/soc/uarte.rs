//! UARTE0 and UARTE1: bytes in and out at the pace of the line, through `EasyDMA`.
//!
//! What is sent appears outside when the transfer ends. What is received arrives byte by byte; the receiver holds six bytes
//! until they go to RAM. Flow control, parity errors and the pins are not modelled: the line is connected, whatever pins
//! the program chooses.

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
/// The first two, CTS and NCTS, never fire.
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
/// Bytes that may wait outside; more are lost.
const INCOMING_MAX: usize = 4096;

/// Tasks, by the names of the product specification.
mod task {
    pub const STARTRX: u32 = 0x00;
    pub const STOPRX: u32 = 0x04;
    pub const STARTTX: u32 = 0x08;
    pub const STOPTX: u32 = 0x0C;
    pub const FLUSHRX: u32 = 0x2C;
}

/// Registers, by the names of the product specification.
mod register {
    pub const ERRORSRC: u32 = 0x480;
    pub const ENABLE: u32 = 0x500;
    pub const PSEL: u32 = 0x508;
    pub const PSEL_END: u32 = PSEL + 4 * 4;
    pub const BAUDRATE: u32 = 0x524;
    pub const RXD_PTR: u32 = 0x534;
    pub const RXD_MAXCNT: u32 = 0x538;
    pub const RXD_AMOUNT: u32 = 0x53C;
    pub const TXD_PTR: u32 = 0x544;
    pub const TXD_MAXCNT: u32 = 0x548;
    pub const TXD_AMOUNT: u32 = 0x54C;
    pub const CONFIG: u32 = 0x56C;
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    pointer: u32,
    count: u32,
    amount: u32,
}

#[derive(Clone, Debug)]
enum Sending {
    Idle,
    /// Started by a task. The bytes are fetched as soon as RAM can be accessed.
    Fetch,
    Busy {
        bytes: Vec<u8>,
        since: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Off,
    On {
        has_buffer: bool,
    },
    /// A byte on the line still arrives until then.
    Stopping {
        until: u64,
    },
}

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
    /// The buffer that the running reception was started with. A driver that receives without a gap writes the next one
    /// into the registers meanwhile.
    filling: Buffer,
    sending: Sending,
    stop_sending: bool,
    receiving: Receiving,
    flush: bool,
    fifo: VecDeque<u8>,
    /// Bytes on their way to the board.
    incoming: VecDeque<u8>,
    /// When the first of them is complete.
    byte_at: u64,
    sent: Vec<u8>,
    lost: u64,
    now: u64,
}

impl Uarte {
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
            incoming: VecDeque::new(),
            byte_at: NEVER,
            sent: Vec::new(),
            lost: 0,
            now: 0,
        }
    }

    /// After a reset, whatever was sent stays sent. A transfer that was running ends after its last complete byte.
    pub fn after_reset(&self, now: u64) -> Self {
        let mut sent = self.sent.clone();
        if let Sending::Busy { bytes, since } = &self.sending {
            let complete = usize::try_from((now - since) / self.byte_cycles()).unwrap_or(usize::MAX);
            sent.extend(bytes.iter().take(complete));
        }
        Self { sent, lost: self.lost, ..Self::new() }
    }

    /// Sends bytes to the board, after those that are still on their way.
    pub fn put(&mut self, now: u64, bytes: &[u8]) {
        if self.incoming.is_empty() && !bytes.is_empty() {
            self.byte_at = now + self.byte_cycles();
        }
        let room = INCOMING_MAX - self.incoming.len();
        self.incoming.extend(bytes.iter().take(room));
        self.lost += bytes.len().saturating_sub(room) as u64;
    }

    /// What the board has sent since the last call.
    pub fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// Bytes that the board did not receive.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How long a byte takes: a start bit, eight bits, parity, one or two stop bits. BAUDRATE is in units of 16 MHz / 2^32.
    fn byte_cycles(&self) -> u64 {
        let bits = 10 + u64::from(self.config >> 1 & 7 != 0) + u64::from(self.config >> 4 & 1);
        (bits << 34) / u64::from(self.baud.max(1))
    }

    fn end_receive(&mut self, now: u64) {
        self.receiving = Receiving::On { has_buffer: false };
        self.events.fire(ENDRX);
        if self.events.has_short(SHORT_ENDRX_STARTRX) {
            self.start_receive();
        }
        if self.events.has_short(SHORT_ENDRX_STOPRX) {
            self.stop_receive(now);
        }
    }

    fn start_receive(&mut self) {
        self.receive.amount = 0;
        self.filling = self.receive;
        self.receiving = Receiving::On { has_buffer: true };
        self.events.fire(RXSTARTED);
    }

    fn stop_receive(&mut self, now: u64) {
        if let Receiving::On { has_buffer } = self.receiving {
            self.receiving = Receiving::Stopping { until: now + self.byte_cycles() };
            if has_buffer {
                self.events.fire(ENDRX);
            }
        }
    }

    /// Moves bytes from the receiver to RAM, as long as there is a buffer.
    fn drain(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        while self.receiving == (Receiving::On { has_buffer: true }) {
            if self.receive.amount >= self.filling.count {
                self.end_receive(now);
                // An empty buffer would be full for ever.
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
        let Some(byte) = self.incoming.pop_front() else { return };
        self.byte_at = if self.incoming.is_empty() { NEVER } else { now + self.byte_cycles() };
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
            register::ERRORSRC => self.errors,
            register::ENABLE => self.enabled,
            register::PSEL..register::PSEL_END => self.pins[(offset - register::PSEL) as usize / 4],
            register::BAUDRATE => self.baud,
            register::RXD_PTR => self.receive.pointer,
            register::RXD_MAXCNT => self.receive.count,
            register::RXD_AMOUNT => self.receive.amount,
            register::TXD_PTR => self.transmit.pointer,
            register::TXD_MAXCNT => self.transmit.count,
            register::TXD_AMOUNT => self.transmit.amount,
            register::CONFIG => self.config,
            _ => return Err(Refusal::Unknown),
        })
    }

    fn set_register(&mut self, _now: u64, offset: u32, value: u32) -> Served<()> {
        match offset {
            register::ERRORSRC => self.errors &= !value,
            register::ENABLE if value != 0 && value != ENABLED => {
                return Err(Refusal::Bad("only the port with EasyDMA is modelled".into()));
            }
            register::ENABLE => self.enabled = value,
            register::PSEL..register::PSEL_END => self.pins[(offset - register::PSEL) as usize / 4] = value,
            register::BAUDRATE => self.baud = value,
            register::RXD_PTR => self.receive.pointer = value,
            register::RXD_MAXCNT => self.receive.count = value & 0xFFFF,
            register::TXD_PTR => self.transmit.pointer = value,
            register::TXD_MAXCNT => self.transmit.count = value & 0xFFFF,
            register::CONFIG => self.config = value,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        self.now = now;
        match offset {
            task::STARTRX => self.start_receive(),
            task::STOPRX => self.stop_receive(now),
            task::STARTTX => {
                self.sending = Sending::Fetch;
                self.events.fire(TXSTARTED);
            }
            task::STOPTX => self.stop_sending = true,
            task::FLUSHRX => self.flush = true,
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
            Receiving::On { has_buffer: true } if !self.fifo.is_empty() => self.now,
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
#[path = "uarte_tests.rs"]
mod tests;
