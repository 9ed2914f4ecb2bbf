//! What is connected to a board, and what can be seen of it: pins, serial lines, the debug probe, the log, and counts.

use super::{Board, Counts, StackLimits, StackUse};
use crate::log::Line;
use crate::memory::Memory;
use crate::profile::{FunctionShare, Profile};
use crate::soc::{Pin, Soc};
use crate::turnaround::Turnaround;

impl Board {
    /// Drives a pin from outside, as a pressed button does, or releases it.
    pub fn drive(&mut self, pin: Pin, level: Option<bool>) {
        let driven = self.soc.drive(self.cpu.now(), pin, level);
        self.asleep = false;
        self.give_up_on_error(driven);
    }

    /// Whether a pin is high; a light, for example, is on or off.
    pub fn is_high(&self, pin: Pin) -> bool {
        self.soc.is_high(pin)
    }

    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    /// For temperature, supply and everything else that can be set from outside.
    pub fn soc_mut(&mut self) -> &mut Soc {
        &mut self.soc
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Replaces the contents of flash, as a debug probe does. Returns false if the bytes do not fit.
    #[must_use]
    pub fn load_flash(&mut self, address: u32, bytes: &[u8]) -> bool {
        self.memory.load_flash(address, bytes)
    }

    /// Sends bytes to the board over a serial port.
    pub fn put_serial(&mut self, port: usize, bytes: &[u8]) {
        self.soc.put_serial(self.cpu.now(), port, bytes);
    }

    /// What the board sent over a serial port since the last call.
    pub fn take_serial(&mut self, port: usize) -> Vec<u8> {
        self.soc.take_serial(port)
    }

    /// What the program wrote to a channel of the debug probe since the last call. If the image has a log, it is on channel
    /// 0, and [`Board::take_log`] returns it decoded.
    pub fn take_probe(&mut self, channel: usize) -> Vec<u8> {
        self.rtt.take(channel)
    }

    /// Plugs the debug probe in or out. Without it, nobody empties the channels of the program.
    pub fn set_probe(&mut self, is_there: bool) {
        self.has_probe = is_there;
    }

    /// Asks the program to wait whenever its log is full, as debug tools do.
    pub fn ask_log_to_wait(&mut self) {
        self.rtt.set_mode(&mut self.memory, 0, 2);
    }

    /// Sends bytes to the program through a channel of the debug probe.
    pub fn send_probe(&mut self, channel: usize, bytes: &[u8]) {
        self.rtt.send(channel, bytes);
        self.rtt.poll(&mut self.memory);
    }

    /// The lines of the log since the last call.
    pub fn take_log(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.log)
    }

    /// Samples from now on where the instructions go.
    pub fn set_profile(&mut self, profile: Profile) {
        self.profile = Some(profile);
    }

    /// Where the instructions went; empty unless [`Board::set_profile`] was called.
    pub fn profile(&self) -> Vec<FunctionShare> {
        self.profile.as_ref().map(|profile| profile.functions(self.program.image())).unwrap_or_default()
    }

    /// Answers at a set time that were decided on, but so late that the transmitter did not start. One whose time is still to
    /// come counts, too.
    pub fn late_answers(&self) -> u64 {
        self.turnaround.decided().saturating_sub(self.soc.timed_sends())
    }

    /// How many cycles its timed answers took.
    pub fn turnaround(&self) -> &Turnaround {
        &self.turnaround
    }

    /// Whether the processor sleeps with an interrupt of its floating-point unit pending, which keeps a real one awake.
    pub fn sleeps_badly(&self) -> bool {
        self.asleep && self.cpu.is_fpu_pending()
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Unknown if the image does not name the limits of its stack.
    pub fn stack(&self) -> Option<StackUse> {
        self.stack_limits.map(|StackLimits { top, bottom }| StackUse { used: self.stack_used, size: top - bottom })
    }
}
