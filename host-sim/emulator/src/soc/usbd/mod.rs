//! USBD: a full-speed USB device, as far as embassy's driver uses it. [`bus`](self::bus) is its side of the cable.
//!
//! The control endpoint and seven endpoints each way have a buffer of 64 bytes. `EasyDMA` moves a packet between RAM and a
//! buffer, one endpoint at a time; the bus empties and fills the buffers. Isochronous endpoints, remote wake-up and the
//! driving of single wires are left out.
//!
//! A transfer of `EasyDMA` never ends while the peripheral is off or in its low-power state (Nordic says so of the
//! latter), and drivers wait for its end without a bound. So to start one is an error here.

mod bus;
pub mod errata;
mod registers;
#[cfg(test)]
mod tests;

pub use registers::USBPULLUP;

use super::events::{Events, NEVER, Peripheral, Refusal, Served};
use crate::io::{BusError, CYCLES_PER_US};
use crate::memory::Memory;
use crate::usb::UsbHost;

/// Endpoints each way, the control endpoint included.
const ENDPOINTS: usize = 8;

/// Events, by the names of the product specification.
mod event {
    pub const USBRESET: u32 = 0;
    pub const STARTED: u32 = 1;
    pub const ENDEPIN0: u32 = 2;
    pub const EP0DATADONE: u32 = 10;
    pub const ENDEPOUT0: u32 = 12;
    pub const USBEVENT: u32 = 22;
    pub const EP0SETUP: u32 = 23;
    pub const EPDATA: u32 = 24;
    /// All but the isochronous ones and the start of a frame.
    pub const KNOWN: u32 = 1 << USBRESET
        | 1 << STARTED
        | 0xFF << ENDEPIN0
        | 1 << EP0DATADONE
        | 0xFF << ENDEPOUT0
        | 1 << USBEVENT
        | 1 << EP0SETUP
        | 1 << EPDATA;
}

const SHORT_EP0DATADONE_EP0STATUS: u32 = 2;

/// Bits of EVENTCAUSE.
mod cause {
    pub const SUSPEND: u32 = 1 << 8;
    pub const RESUME: u32 = 1 << 9;
    pub const READY: u32 = 1 << 11;
}

/// Tasks, by the names of the product specification.
mod task {
    pub const STARTEPIN: u32 = 0x004;
    pub const STARTEPOUT: u32 = 0x028;
    pub const EP0RCVOUT: u32 = 0x04C;
    pub const EP0STATUS: u32 = 0x050;
    pub const EP0STALL: u32 = 0x054;
}

/// From ENABLE to READY: "a few microseconds", says Nordic's driver.
const READY_AFTER: u64 = 10 * CYCLES_PER_US;
/// A transfer of `EasyDMA`: this long, and a cycle for every byte. An assumption.
const DMA_BASE: u64 = CYCLES_PER_US;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// To the host.
    In,
    /// From the host.
    Out,
}

/// An endpoint in one direction.
#[derive(Clone, Debug, Default)]
struct Endpoint {
    pointer: u32,
    count: u32,
    amount: u32,
    is_halted: bool,
    /// What waits for the host, or for the program.
    packet: Option<Vec<u8>>,
    /// From the host: whether the buffer takes a packet.
    accepts: bool,
    /// From the host: the size of the last packet.
    size: u32,
}

/// A transfer of `EasyDMA`.
#[derive(Clone, Copy, Debug)]
struct Dma {
    direction: Direction,
    endpoint: usize,
    /// Ends then. RAM is accessed when it starts.
    until: u64,
    has_moved: bool,
}

/// Where a transfer on the control endpoint stands.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    setup: [u8; 8],
    /// The program lets the status stage happen.
    has_status: bool,
    /// The program waits for a packet of the data stage.
    receives: bool,
    is_stalled: bool,
}

#[derive(Clone, Debug)]
pub struct Usbd {
    events: Events,
    is_enabled: bool,
    ready_at: u64,
    has_pull_up: bool,
    is_low_power: bool,
    cause: u32,
    /// EPDATASTATUS: endpoints that the host has filled or emptied.
    data_status: u32,
    /// EPSTATUS: endpoints that `EasyDMA` has served.
    dma_status: u32,
    address: u8,
    in_enabled: u32,
    out_enabled: u32,
    ins: [Endpoint; ENDPOINTS],
    outs: [Endpoint; ENDPOINTS],
    control: Control,
    dma: Option<Dma>,
    host: Option<UsbHost>,
}

impl Usbd {
    pub fn new() -> Self {
        Self {
            events: Events::new(event::KNOWN, 1 << SHORT_EP0DATADONE_EP0STATUS),
            is_enabled: false,
            ready_at: NEVER,
            has_pull_up: false,
            is_low_power: false,
            cause: 0,
            data_status: 0,
            dma_status: 0,
            address: 0,
            in_enabled: 1,
            out_enabled: 1,
            ins: Default::default(),
            outs: Default::default(),
            control: Control::default(),
            dma: None,
            host: None,
        }
    }

    /// After a reset the cable is where it was, but the host sees no device.
    pub fn after_reset(&mut self, now: u64) -> Self {
        let mut host = self.host.take();
        if let Some(host) = &mut host {
            host.notice(now, false);
        }
        Self { host, ..Self::new() }
    }

    /// Sets the bit of a cause. The event fires only when a bit is new.
    fn set_cause(&mut self, bit: u32) {
        if self.cause & bit == 0 {
            self.cause |= bit;
            self.events.fire(event::USBEVENT);
        }
    }

    fn set_enabled(&mut self, now: u64, is_enabled: bool) {
        if is_enabled == self.is_enabled {
            return;
        }
        self.is_enabled = is_enabled;
        self.lose_bus();
        (self.has_pull_up, self.is_low_power, self.dma) = (false, false, None);
        self.power_up(now);
        self.tell_host(now);
    }

    /// It becomes ready as soon as it is enabled and has power.
    fn power_up(&mut self, now: u64) {
        let has_power = self.is_enabled && self.host.is_some();
        self.ready_at = if has_power { now + READY_AFTER } else { NEVER };
    }

    /// What the bus was in the middle of is over. Which endpoints are enabled is the program's to say.
    fn lose_bus(&mut self) {
        self.address = 0;
        self.control = Control::default();
        for endpoint in self.ins.iter_mut().chain(&mut self.outs) {
            (endpoint.packet, endpoint.accepts, endpoint.is_halted) = (None, false, false);
        }
    }

    fn start_dma(&mut self, now: u64, direction: Direction, endpoint: usize) -> Served<()> {
        let refuse = |why: &str| Err(Refusal::Bad(format!("EasyDMA is started {why}, and never ends")));
        if !self.is_enabled {
            return refuse("while the peripheral is off");
        }
        if self.is_low_power {
            return refuse("in the low-power state");
        }
        if self.dma.is_some() {
            return refuse("while it serves another endpoint");
        }
        self.dma = Some(Dma { direction, endpoint, until: now, has_moved: false });
        Ok(())
    }

    /// Moves the bytes at once, and says when that is over.
    fn move_packet(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        let Some(dma) = &mut self.dma else { return Ok(()) };
        let number = dma.endpoint;
        let moved = match dma.direction {
            Direction::In => {
                let endpoint = &mut self.ins[number];
                let mut bytes = vec![0; endpoint.count as usize];
                // An empty packet has no place in RAM, and its pointer may be anything.
                if !bytes.is_empty() {
                    memory.dma_read(endpoint.pointer, &mut bytes)?;
                }
                endpoint.amount = endpoint.count;
                self.dma_status |= 1 << number;
                endpoint.packet = Some(bytes);
                endpoint.count
            }
            Direction::Out => {
                let endpoint = &mut self.outs[number];
                let mut bytes = endpoint.packet.take().unwrap_or_default();
                bytes.truncate(endpoint.count as usize);
                if !bytes.is_empty() {
                    memory.dma_write(endpoint.pointer, &bytes)?;
                }
                endpoint.amount = u32::try_from(bytes.len()).unwrap_or(0);
                self.dma_status |= 1 << (16 + number);
                endpoint.accepts = number != 0;
                endpoint.amount
            }
        };
        (dma.has_moved, dma.until) = (true, now + DMA_BASE + u64::from(moved));
        self.events.fire(event::STARTED);
        Ok(())
    }

    fn end_dma(&mut self) {
        if let Some(Dma { direction, endpoint, .. }) = self.dma.take() {
            let first = if direction == Direction::In { event::ENDEPIN0 } else { event::ENDEPOUT0 };
            self.events.fire(first + u32::try_from(endpoint).unwrap_or(0));
        }
    }
}

impl Peripheral for Usbd {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        self.read_register(offset)
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        self.write_register(now, offset, value)
    }

    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        let endpoint_of = |first| super::events::index(offset, first, 8);
        if let Some(endpoint) = endpoint_of(task::STARTEPIN) {
            if endpoint != 0 && self.ins[endpoint].packet.is_some() {
                return Err(Refusal::Bad("the packet before has not left yet".into()));
            }
            return self.start_dma(now, Direction::In, endpoint);
        }
        if let Some(endpoint) = endpoint_of(task::STARTEPOUT) {
            return self.start_dma(now, Direction::Out, endpoint);
        }
        match offset {
            task::EP0RCVOUT => self.control.receives = true,
            task::EP0STATUS => self.control.has_status = true,
            task::EP0STALL => self.control.is_stalled = true,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn due(&self) -> u64 {
        let dma = self.dma.map_or(NEVER, |dma| dma.until);
        let host = self.host.as_ref().map_or(NEVER, UsbHost::due);
        self.ready_at.min(dma).min(host)
    }

    fn advance(&mut self, now: u64, memory: &mut Memory) -> Result<(), BusError> {
        if self.ready_at <= now {
            self.ready_at = NEVER;
            self.set_cause(cause::READY);
        }
        if let Some(dma) = self.dma
            && dma.until <= now
        {
            if dma.has_moved { self.end_dma() } else { self.move_packet(now, memory)? }
        }
        self.serve_host(now);
        Ok(())
    }
}
