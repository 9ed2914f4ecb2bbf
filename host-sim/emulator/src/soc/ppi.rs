//! PPI: wires from events to tasks, without the processor.
//!
//! Each of twenty channels connects an event to one or two tasks. Six groups switch channels on and off. The channels
//! whose ends are fixed (20 to 31) are not modelled.

use super::events::{EVENTS, EVENTS_BYTES, Refusal, Served, index};

const CHANNELS: u32 = 20;
const GROUPS: u32 = 6;

/// Registers, by the names of the product specification.
mod register {
    pub const CHEN: u32 = 0x500;
    pub const CHENSET: u32 = 0x504;
    pub const CHENCLR: u32 = 0x508;
    pub const CH: u32 = 0x510;
    pub const CHG: u32 = 0x800;
    pub const FORK: u32 = 0x910;
}

#[derive(Clone, Debug, Default)]
pub struct Ppi {
    enabled: u32,
    events: [u32; CHANNELS as usize],
    tasks: [u32; CHANNELS as usize],
    forks: [u32; CHANNELS as usize],
    groups: [u32; GROUPS as usize],
}

impl Ppi {
    /// The events of a page that are wired, one bit each.
    pub fn wired(&self, page_address: u32) -> u32 {
        self.enabled_channels().fold(0, |mask, channel| {
            let event = self.events[channel].wrapping_sub(page_address + EVENTS);
            if event < EVENTS_BYTES { mask | 1 << (event / 4) } else { mask }
        })
    }

    /// The addresses of the tasks that an event is wired to.
    pub fn tasks(&self, event_address: u32) -> Vec<u32> {
        let channels = self.enabled_channels().filter(|&channel| self.events[channel] == event_address);
        channels.flat_map(|channel| [self.tasks[channel], self.forks[channel]]).filter(|&task| task != 0).collect()
    }

    /// Whether a channel, switched on or not, leads from an event to a task.
    pub fn connects(&self, event: u32, task: u32) -> bool {
        self.events.iter().zip(&self.tasks).any(|ends| ends == (&event, &task))
    }

    fn enabled_channels(&self) -> impl Iterator<Item = usize> {
        let enabled = self.enabled;
        (0..CHANNELS).filter(move |channel| enabled >> channel & 1 != 0).map(|channel| channel as usize)
    }

    /// Switches a group of channels on or off; the task is named by its offset.
    pub fn task(&mut self, offset: u32) -> Served<()> {
        let which = index(offset, 0, 2 * GROUPS).ok_or(Refusal::Unknown)?;
        let group = self.groups[which / 2];
        self.enabled = if which.is_multiple_of(2) { self.enabled | group } else { self.enabled & !group };
        Ok(())
    }

    pub fn read(&self, offset: u32) -> Served<u32> {
        if let Some(n) = index(offset, register::CH, 2 * CHANNELS) {
            return Ok(if n.is_multiple_of(2) { self.events[n / 2] } else { self.tasks[n / 2] });
        }
        if let Some(n) = index(offset, register::FORK, CHANNELS) {
            return Ok(self.forks[n]);
        }
        if let Some(n) = index(offset, register::CHG, GROUPS) {
            return Ok(self.groups[n]);
        }
        if let register::CHEN | register::CHENSET | register::CHENCLR = offset {
            Ok(self.enabled)
        } else {
            Err(Refusal::Unknown)
        }
    }

    pub fn write(&mut self, offset: u32, value: u32) -> Served<()> {
        if offset < EVENTS {
            return if value & 1 == 0 { Ok(()) } else { self.task(offset) };
        }
        if let Some(n) = index(offset, register::CH, 2 * CHANNELS) {
            let ends = if n.is_multiple_of(2) { &mut self.events } else { &mut self.tasks };
            ends[n / 2] = value;
            return Ok(());
        }
        if let Some(n) = index(offset, register::FORK, CHANNELS) {
            self.forks[n] = value;
            return Ok(());
        }
        if let Some(n) = index(offset, register::CHG, GROUPS) {
            self.groups[n] = value;
            return Ok(());
        }
        let enabled = match offset {
            register::CHEN => value,
            register::CHENSET => self.enabled | value,
            // Switching off a channel that is not modelled is harmless.
            register::CHENCLR => self.enabled & !value,
            _ => return Err(Refusal::Unknown),
        };
        if enabled >> CHANNELS != 0 {
            return Err(Refusal::Bad("channels 20 to 31, whose ends are fixed, are not modelled".into()));
        }
        self.enabled = enabled;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Ppi;

    #[test]
    fn channels_forks_and_groups() {
        let mut ppi = Ppi::default();
        ppi.write(0x510 + 8 * 3, 0x4000_8140).unwrap();
        ppi.write(0x514 + 8 * 3, 0x4000_1000).unwrap();
        ppi.write(0x910 + 4 * 3, 0x4000_6000).unwrap();
        assert!(ppi.tasks(0x4000_8140).is_empty());
        ppi.write(0x804, 1 << 3).unwrap();
        ppi.write(0x008, 1).unwrap();
        assert_eq!(ppi.tasks(0x4000_8140), [0x4000_1000, 0x4000_6000]);
        assert_eq!((ppi.wired(0x4000_8000), ppi.wired(0x4000_9000)), (1 << 16, 0));
        ppi.write(0x00C, 1).unwrap();
        assert_eq!(ppi.read(0x500), Ok(0));
        assert!(ppi.write(0x504, 1 << 20).is_err());
    }
}
