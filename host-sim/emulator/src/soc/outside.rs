//! What the board around the chip does to it and sees of it.

use super::events::Peripheral;
use super::{Pin, PowerCut, RadioUse, Soc};
use crate::io::BusError;

impl Soc {
    /// The board drives a pin, or lets go of it.
    pub fn drive(&mut self, now: u64, pin: Pin, level: Option<bool>) -> Result<(), BusError> {
        self.gpio.drive(pin, level);
        self.observe_pins(now, 0)
    }

    /// Whether a pin is high.
    pub fn is_high(&self, pin: Pin) -> bool {
        self.gpio.is_high(pin)
    }

    /// Whether the chip drives a pin.
    pub fn is_output(&self, pin: Pin) -> bool {
        self.gpio.is_output(pin)
    }

    /// Sets the temperature in quarters of a degree Celsius.
    pub fn set_temperature(&mut self, quarters: i32) {
        self.temp.set(quarters);
    }

    /// Sets the supply voltage.
    pub fn set_supply(&mut self, millivolts: i32) {
        self.saadc.set_supply(millivolts);
    }

    /// Sets the voltage at an analogue pin, 0 to 7.
    pub fn set_analogue(&mut self, input: usize, millivolts: i32) {
        self.saadc.set_input(input, millivolts);
    }

    /// Puts bytes on the serial line to the board; port 0 or 1.
    pub fn put_serial(&mut self, now: u64, port: usize, bytes: &[u8]) {
        self.uartes[port & 1].put(now, bytes);
        let page = if port & 1 == 0 { 2 } else { 40 };
        self.set_due(page, self.uartes[port & 1].due());
    }

    /// What the board sent on a serial line since the last call.
    pub fn take_serial(&mut self, port: usize) -> Vec<u8> {
        self.uartes[port & 1].take_sent()
    }

    /// Bytes on a serial line to the board that nobody took.
    pub fn lost_serial(&self, port: usize) -> u64 {
        self.uartes[port & 1].lost()
    }

    /// What the radio was used for.
    pub fn radio_use(&self, now: u64) -> RadioUse {
        self.radio.usage(now)
    }

    /// Whether the DC/DC converter is on.
    pub fn dcdc(&self) -> bool {
        self.clock.power.dcdc()
    }

    /// Writes and erases of flash so far.
    pub fn flash_operations(&self) -> u64 {
        self.nvmc.operations()
    }

    /// From now on flash is worn out and keeps what it has, or works again.
    pub fn set_flash_worn(&mut self, worn: bool) {
        self.nvmc.set_worn(worn);
    }

    /// Plans a power cut in the middle of a write or an erase, or none.
    pub fn plan_power_cut(&mut self, cut: Option<PowerCut>) {
        self.nvmc.plan(cut);
    }
}
