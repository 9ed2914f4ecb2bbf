//! The USB cable of a board.

use super::Board;
use crate::usb::UsbHost;

impl Board {
    /// Plugs a PC into the USB of the chip, now.
    pub fn plug_usb(&mut self) {
        self.set_usb(Some(UsbHost::default()));
    }

    pub fn unplug_usb(&mut self) {
        self.set_usb(None);
    }

    fn set_usb(&mut self, host: Option<UsbHost>) {
        let plugged = self.soc.plug_usb(self.cpu.now(), host);
        self.asleep = false;
        self.give_up_on_error(plugged.map(drop));
    }

    /// The PC at the other end of the USB cable.
    pub fn usb_host(&self) -> Option<&UsbHost> {
        self.soc.usb_host()
    }

    /// Does something at the PC at the other end of the USB cable; the closure also gets the present cycle. `None` if nothing
    /// is plugged in.
    pub fn at_usb_host<T>(&mut self, act: impl FnOnce(&mut UsbHost, u64) -> T) -> Option<T> {
        let now = self.cpu.now();
        self.soc.at_usb_host(|host| act(host, now))
    }
}
