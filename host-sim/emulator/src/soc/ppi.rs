//! PPI: wires from events to tasks, without the processor.
//!
//! Twenty channels can be wired freely, each to a task and a second one; six groups switch channels on and off. The
//! channels with fixed ends (20 to 31) are not modelled.

use super::events::{Refusal, Served, index};

const CHANNELS: u32 = 20;
const GROUPS: u32 = 6;

/// The wires.
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
    pub fn watched(&self, page_address: u32) -> u32 {
        self.live().fold(0, |mask, channel| {
            let event = self.events[channel].wrapping_sub(page_address + 0x100);
            if event < 0x80 { mask | 1 << (event / 4) } else { mask }
        })
    }

    /// The addresses of the tasks that hang on an event.
    pub fn tasks(&self, event_address: u32) -> Vec<u32> {
        let channels = self.live().filter(|&channel| self.events[channel] == event_address);
        channels.flat_map(|channel| [self.tasks[channel], self.forks[channel]]).filter(|&task| task != 0).collect()
    }

    /// Whether writing this to a register switches on a channel that leads to a task.
    pub fn switches_on(&self, offset: u32, value: u32, task: u32) -> bool {
        let fresh = if offset == 0x504 { value & !self.enabled } else { 0 };
        (0..CHANNELS).any(|channel| fresh >> channel & 1 != 0 && self.tasks[channel as usize] == task)
    }

    fn live(&self) -> impl Iterator<Item = usize> {
        let enabled = self.enabled;
        (0..CHANNELS).filter(move |channel| enabled >> channel & 1 != 0).map(|channel| channel as usize)
    }

    /// Switches a group; the task is named by its offset.
    pub fn task(&mut self, offset: u32) -> Served<()> {
        let which = index(offset, 0, 2 * GROUPS).ok_or(Refusal::Unknown)?;
        let group = self.groups[which / 2];
        self.enabled = if which.is_multiple_of(2) { self.enabled | group } else { self.enabled & !group };
        Ok(())
    }

    /// Reads a register.
    pub fn read(&self, offset: u32) -> Served<u32> {
        if let Some(n) = index(offset, 0x510, 2 * CHANNELS) {
            return Ok(if n.is_multiple_of(2) { self.events[n / 2] } else { self.tasks[n / 2] });
        }
        if let Some(n) = index(offset, 0x910, CHANNELS) {
            return Ok(self.forks[n]);
        }
        if let Some(n) = index(offset, 0x800, GROUPS) {
            return Ok(self.groups[n]);
        }
        if let 0x500 | 0x504 | 0x508 = offset { Ok(self.enabled) } else { Err(Refusal::Unknown) }
    }

    /// Writes a register.
    pub fn write(&mut self, offset: u32, value: u32) -> Served<()> {
        if offset < 0x100 {
            return if value & 1 == 0 { Ok(()) } else { self.task(offset) };
        }
        if let Some(n) = index(offset, 0x510, 2 * CHANNELS) {
            let ends = if n.is_multiple_of(2) { &mut self.events } else { &mut self.tasks };
            ends[n / 2] = value;
            return Ok(());
        }
        if let Some(n) = index(offset, 0x910, CHANNELS) {
            self.forks[n] = value;
            return Ok(());
        }
        if let Some(n) = index(offset, 0x800, GROUPS) {
            self.groups[n] = value;
            return Ok(());
        }
        let enabled = match offset {
            0x500 => value,
            0x504 => self.enabled | value,
            // Switching off what is not there is harmless.
            0x508 => self.enabled & !value,
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
        assert_eq!((ppi.watched(0x4000_8000), ppi.watched(0x4000_9000)), (1 << 16, 0));
        ppi.write(0x00C, 1).unwrap();
        assert_eq!(ppi.read(0x500), Ok(0));
        assert!(ppi.write(0x504, 1 << 20).is_err());
    }
}
