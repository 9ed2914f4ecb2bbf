//! What the board around the chip does to it and can see of it.

use super::events::Peripheral;
use super::twim::Attached;
use super::{Pin, PowerCut, RadioUse, Sht4x, Soc, map};
use crate::io::BusError;
use crate::usb::UsbHost;

impl Soc {
    /// Drives a pin from outside, or releases it.
    pub fn drive(&mut self, now: u64, pin: Pin, level: Option<bool>) -> Result<(), BusError> {
        self.gpio.drive(pin, level);
        self.observe_pins(now, 0)
    }

    /// A word of UICR, as a probe reads it; none if there is no such register.
    pub fn uicr(&self, offset: u32) -> Option<u32> {
        self.uicr.read(offset).ok()
    }

    pub fn is_high(&self, pin: Pin) -> bool {
        self.gpio.is_high(pin)
    }

    /// Whether the chip drives a pin.
    pub fn is_output(&self, pin: Pin) -> bool {
        self.gpio.is_output(pin)
    }

    /// Connects a sensor to two pins, with resistors that pull them up, or takes it away.
    pub fn attach(&mut self, now: u64, sda: Pin, scl: Pin, sensor: Option<Sht4x>) {
        self.twim.attach(sensor.map(|sensor| Attached { sda, scl, sensor }));
        self.feel_wires(now);
    }

    /// Tells the bus whether its two wires can rise: nobody holds them low, and something pulls them up.
    pub(super) fn feel_wires(&mut self, now: u64) {
        let Some(wires) = self.twim.wires() else { return };
        let pulled_up = self.twim.is_pulled_up();
        let can_rise = |pin: Pin| self.gpio.driven(pin).unwrap_or(pulled_up || self.gpio.is_high(pin));
        self.twim.set_free(now, wires.into_iter().all(can_rise));
        self.set_due(map::page::TWIM0, self.twim.due());
    }

    /// In quarters of a degree Celsius.
    pub fn set_temperature(&mut self, quarters: i32) {
        self.temp.set_quarters(quarters);
    }

    pub fn set_supply(&mut self, millivolts: i32) {
        self.saadc.set_supply(millivolts);
    }

    /// Sets the voltage at analogue input 0 to 7.
    pub fn set_analogue(&mut self, input: usize, millivolts: i32) {
        self.saadc.set_input(input, millivolts);
    }

    /// Sends bytes to the board over serial port 0 or 1.
    pub fn put_serial(&mut self, now: u64, port: usize, bytes: &[u8]) {
        self.uartes[port & 1].put(now, bytes);
        self.set_due(map::page::UARTES[port & 1], self.uartes[port & 1].due());
    }

    /// What the board sent over a serial port since the last call.
    pub fn take_serial(&mut self, port: usize) -> Vec<u8> {
        self.uartes[port & 1].take_sent()
    }

    /// Bytes sent to the board that it did not receive.
    pub fn lost_serial(&self, port: usize) -> u64 {
        self.uartes[port & 1].lost()
    }

    /// Plugs a host into the USB of the chip, or unplugs it. Returns the host that was there.
    pub fn plug_usb(&mut self, now: u64, host: Option<UsbHost>) -> Result<Option<UsbHost>, BusError> {
        let is_plugged = host.is_some();
        let before = self.usbd.plug(now, host);
        self.clock.set_usb_power(now, is_plugged);
        self.propagate(now, map::page::USBD, 0)?;
        self.propagate(now, map::page::CLOCK, 0)?;
        Ok(before)
    }

    /// The host at the other end of the USB cable.
    pub fn usb_host(&self) -> Option<&UsbHost> {
        self.usbd.host()
    }

    /// Does something at the host at the other end of the USB cable, if there is one.
    pub fn at_usb_host<T>(&mut self, act: impl FnOnce(&mut UsbHost) -> T) -> Option<T> {
        let done = self.usbd.host_mut().map(act);
        self.set_due(map::page::USBD, self.usbd.due());
        done
    }

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

    /// Worn-out flash keeps its contents, whatever is done to it.
    pub fn set_flash_worn(&mut self, worn: bool) {
        self.nvmc.set_worn(worn);
    }

    /// Plans a power cut in the middle of a later write or erase, or cancels the plan.
    pub fn plan_power_cut(&mut self, cut: Option<PowerCut>) {
        self.nvmc.plan_power_cut(cut);
    }
}
