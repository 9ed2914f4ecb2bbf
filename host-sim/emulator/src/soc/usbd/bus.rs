//! The device's side of the cable: what the host does to it, and what it answers.

use super::{Control, SHORT_EP0DATADONE_EP0STATUS, Usbd, cause, event};
use crate::usb::{Action, Answer, UsbHost};

const DIRECTION_IN: u8 = 0x80;
const STANDARD_TO_DEVICE: u8 = 0;
const SET_ADDRESS: u8 = 5;

impl Usbd {
    /// Plugs a host in or out. With the cable the bus has power.
    pub fn plug(&mut self, now: u64, host: Option<UsbHost>) -> Option<UsbHost> {
        let mut before = std::mem::replace(&mut self.host, host);
        if let Some(before) = &mut before {
            before.notice(now, false);
        }
        self.lose_bus();
        self.power_up(now);
        self.tell_host(now);
        before
    }

    pub fn host(&self) -> Option<&UsbHost> {
        self.host.as_ref()
    }

    pub fn host_mut(&mut self) -> Option<&mut UsbHost> {
        self.host.as_mut()
    }

    /// The host sees a device while that pulls up its wire.
    pub(super) fn tell_host(&mut self, now: u64) {
        let is_attached = self.is_enabled && self.has_pull_up;
        if let Some(host) = &mut self.host {
            host.notice(now, is_attached);
        }
    }

    pub(super) fn serve_host(&mut self, now: u64) {
        let Some(mut host) = self.host.take_if(|host| host.due() <= now) else { return };
        if let Some(action) = host.act(now) {
            let answer = self.answer(action);
            host.answered(now, answer);
        }
        self.host = Some(host);
    }

    pub(super) fn answer(&mut self, action: Action) -> Answer {
        if !(self.is_enabled && self.has_pull_up) {
            return Answer::Silence;
        }
        match action {
            Action::Reset => {
                self.lose_bus();
                self.is_low_power = false;
                self.events.fire(event::USBRESET);
                Answer::Silence
            }
            Action::Suspend => {
                self.set_cause(cause::SUSPEND);
                Answer::Silence
            }
            Action::Resume => {
                // Nobody writes LOWPOWER when the host resumes, neither embassy nor Nordic, so it must fall by itself.
                self.is_low_power = false;
                self.set_cause(cause::RESUME);
                Answer::Silence
            }
            Action::Setup(setup) => {
                self.begin_control(setup);
                Answer::Ack
            }
            Action::In { endpoint: 0 } => self.control_in(),
            Action::Out { endpoint: 0, bytes } => self.control_out(bytes),
            Action::In { endpoint } => self.bulk_in(endpoint & 7),
            Action::Out { endpoint, bytes } => self.bulk_out(endpoint & 7, bytes),
        }
    }

    fn begin_control(&mut self, setup: [u8; 8]) {
        // A new address needs no program: the peripheral acknowledges it by itself.
        let has_status = setup[..2] == [STANDARD_TO_DEVICE, SET_ADDRESS];
        self.control = Control { setup, has_status, ..Control::default() };
        (self.ins[0].packet, self.outs[0].packet) = (None, None);
        self.events.fire(event::EP0SETUP);
    }

    fn control_in(&mut self) -> Answer {
        let Control { setup, has_status, is_stalled, .. } = self.control;
        if is_stalled {
            return Answer::Stall;
        }
        if setup[0] & DIRECTION_IN == 0 {
            // The status stage.
            if !has_status {
                return Answer::Nak;
            }
            if setup[..2] == [STANDARD_TO_DEVICE, SET_ADDRESS] {
                self.address = setup[2];
            }
            return Answer::Data(Vec::new());
        }
        // A packet that is still on its way to the buffer does not count.
        if self.dma.is_some_and(|dma| dma.endpoint == 0) {
            return Answer::Nak;
        }
        let Some(packet) = self.ins[0].packet.take() else { return Answer::Nak };
        self.end_data_packet();
        Answer::Data(packet)
    }

    fn control_out(&mut self, bytes: Vec<u8>) -> Answer {
        let Control { setup, has_status, is_stalled, receives } = self.control;
        if is_stalled {
            return Answer::Stall;
        }
        if setup[0] & DIRECTION_IN != 0 {
            return if has_status { Answer::Ack } else { Answer::Nak };
        }
        if !receives {
            return Answer::Nak;
        }
        self.control.receives = false;
        self.outs[0].size = u32::try_from(bytes.len()).unwrap_or(0);
        self.outs[0].packet = Some(bytes);
        self.end_data_packet();
        Answer::Ack
    }

    fn end_data_packet(&mut self) {
        self.events.fire(event::EP0DATADONE);
        if self.events.has_short(SHORT_EP0DATADONE_EP0STATUS) {
            self.control.has_status = true;
        }
    }

    fn bulk_in(&mut self, number: u8) -> Answer {
        let endpoint = &mut self.ins[usize::from(number)];
        if self.in_enabled >> number & 1 == 0 {
            return Answer::Silence;
        }
        if endpoint.is_halted {
            return Answer::Stall;
        }
        if self.dma.is_some_and(|dma| dma.endpoint == usize::from(number)) {
            return Answer::Nak;
        }
        let Some(packet) = endpoint.packet.take() else { return Answer::Nak };
        self.data_status |= 1 << number;
        self.events.fire(event::EPDATA);
        Answer::Data(packet)
    }

    fn bulk_out(&mut self, number: u8, bytes: Vec<u8>) -> Answer {
        let endpoint = &mut self.outs[usize::from(number)];
        if self.out_enabled >> number & 1 == 0 {
            return Answer::Silence;
        }
        if endpoint.is_halted {
            return Answer::Stall;
        }
        if !endpoint.accepts || self.dma.is_some_and(|dma| dma.endpoint == usize::from(number)) {
            return Answer::Nak;
        }
        endpoint.accepts = false;
        endpoint.size = u32::try_from(bytes.len()).unwrap_or(0);
        endpoint.packet = Some(bytes);
        self.data_status |= 1 << (16 + number);
        self.events.fire(event::EPDATA);
        Answer::Ack
    }
}
