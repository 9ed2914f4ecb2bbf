//! The registers of USBD, by the names of the product specification.

use super::super::events::{Refusal, Served, index};
use super::{ENDPOINTS, Endpoint, Usbd};

mod register {
    pub const EVENTCAUSE: u32 = 0x400;
    pub const HALTED_EPIN: u32 = 0x420;
    pub const HALTED_EPOUT: u32 = 0x444;
    pub const EPSTATUS: u32 = 0x468;
    pub const EPDATASTATUS: u32 = 0x46C;
    pub const USBADDR: u32 = 0x470;
    /// The eight bytes of a setup packet, a register each.
    pub const BMREQUESTTYPE: u32 = 0x480;
    pub const SIZE_EPOUT: u32 = 0x4A0;
    pub const ENABLE: u32 = 0x500;
    pub const USBPULLUP: u32 = 0x504;
    pub const EPINEN: u32 = 0x510;
    pub const EPOUTEN: u32 = 0x514;
    pub const EPSTALL: u32 = 0x518;
    pub const LOWPOWER: u32 = 0x52C;
    pub const EPIN: u32 = 0x600;
    pub const EPOUT: u32 = 0x700;
    /// From one endpoint to the next: pointer, count, amount and two words that do not exist.
    pub const EP_BYTES: u32 = 20;
}

/// The chip looks at this one, too: it needs the fast crystal.
pub const USBPULLUP: u32 = register::USBPULLUP;

/// Seven endpoints and the control endpoint.
const ENABLES: u32 = 0xFF;
const COUNT_MAX: u32 = 0x7F;
const EPSTALL_IN: u32 = 1 << 7;
const EPSTALL_STALL: u32 = 1 << 8;

/// A word of the registers for `EasyDMA` of an endpoint.
enum Word {
    Pointer,
    Count,
    Amount,
}

fn endpoint_word(offset: u32, first: u32) -> Option<(usize, Word)> {
    let distance = offset.checked_sub(first)?;
    let endpoint = (distance / register::EP_BYTES) as usize;
    let word = match distance % register::EP_BYTES {
        0 => Word::Pointer,
        4 => Word::Count,
        8 => Word::Amount,
        _ => return None,
    };
    (endpoint < ENDPOINTS).then_some((endpoint, word))
}

fn read_word(endpoint: &Endpoint, word: &Word) -> u32 {
    match word {
        Word::Pointer => endpoint.pointer,
        Word::Count => endpoint.count,
        Word::Amount => endpoint.amount,
    }
}

fn write_word(endpoint: &mut Endpoint, word: &Word, value: u32) -> Served<()> {
    match word {
        Word::Pointer => endpoint.pointer = value,
        Word::Count => endpoint.count = value & COUNT_MAX,
        Word::Amount => return Err(Refusal::Bad("AMOUNT is read-only".into())),
    }
    Ok(())
}

impl Usbd {
    pub(super) fn read_register(&self, offset: u32) -> Served<u32> {
        let of = |first, count| index(offset, first, count);
        if let Some(endpoint) = of(register::HALTED_EPIN, 8) {
            return Ok(u32::from(self.ins[endpoint].is_halted));
        }
        if let Some(endpoint) = of(register::HALTED_EPOUT, 8) {
            return Ok(u32::from(self.outs[endpoint].is_halted));
        }
        if let Some(byte) = of(register::BMREQUESTTYPE, 8) {
            return Ok(self.control.setup[byte].into());
        }
        if let Some(endpoint) = of(register::SIZE_EPOUT, 8) {
            return Ok(self.outs[endpoint].size);
        }
        if let Some((endpoint, word)) = endpoint_word(offset, register::EPOUT) {
            return Ok(read_word(&self.outs[endpoint], &word));
        }
        if let Some((endpoint, word)) = endpoint_word(offset, register::EPIN) {
            return Ok(read_word(&self.ins[endpoint], &word));
        }
        Ok(match offset {
            register::EVENTCAUSE => self.cause,
            register::EPSTATUS => self.dma_status,
            register::EPDATASTATUS => self.data_status,
            register::USBADDR => self.address.into(),
            register::ENABLE => u32::from(self.is_enabled),
            register::USBPULLUP => u32::from(self.has_pull_up),
            register::EPINEN => self.in_enabled,
            register::EPOUTEN => self.out_enabled,
            register::LOWPOWER => u32::from(self.is_low_power),
            _ => return Err(Refusal::Unknown),
        })
    }

    pub(super) fn write_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        if let Some(endpoint) = index(offset, register::SIZE_EPOUT, 8) {
            // Any value makes room for the next packet; the control endpoint has a task for that.
            let endpoint_out = &mut self.outs[endpoint];
            (endpoint_out.accepts, endpoint_out.size, endpoint_out.packet) = (endpoint != 0, 0, None);
            return Ok(());
        }
        if let Some((endpoint, word)) = endpoint_word(offset, register::EPOUT) {
            return write_word(&mut self.outs[endpoint], &word, value);
        }
        if let Some((endpoint, word)) = endpoint_word(offset, register::EPIN) {
            return write_word(&mut self.ins[endpoint], &word, value);
        }
        match offset {
            register::EVENTCAUSE => self.cause &= !value,
            register::EPSTATUS => self.dma_status &= !value,
            register::EPDATASTATUS => self.data_status &= !value,
            register::ENABLE => self.set_enabled(now, value & 1 != 0),
            register::USBPULLUP => {
                self.has_pull_up = value & 1 != 0;
                self.tell_host(now);
            }
            register::EPINEN => {
                self.in_enabled = value & ENABLES;
                for (number, endpoint) in self.ins.iter_mut().enumerate() {
                    if value >> number & 1 == 0 {
                        endpoint.packet = None;
                    }
                }
            }
            register::EPOUTEN => self.out_enabled = value & ENABLES,
            register::EPSTALL => self.stall(value)?,
            register::LOWPOWER => self.is_low_power = value & 1 != 0,
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn stall(&mut self, value: u32) -> Served<()> {
        let number = (value & 7) as usize;
        if number == 0 {
            return Err(Refusal::Bad("the control endpoint is stalled by its task".into()));
        }
        let endpoint = if value & EPSTALL_IN == 0 { &mut self.outs[number] } else { &mut self.ins[number] };
        endpoint.is_halted = value & EPSTALL_STALL != 0;
        Ok(())
    }
}
