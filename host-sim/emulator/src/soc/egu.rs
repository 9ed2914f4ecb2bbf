//! EGU0 to EGU5: events that software triggers, and through them interrupts.

use super::events::{Events, Peripheral, Refusal, Served, index};

const CHANNELS: u32 = 16;

#[derive(Clone, Debug)]
pub struct Egu {
    events: Events,
}

impl Egu {
    pub fn new() -> Self {
        Self { events: Events::new((1 << CHANNELS) - 1, 0) }
    }
}

impl Peripheral for Egu {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, _offset: u32) -> Served<u32> {
        Err(Refusal::Unknown)
    }

    fn set_register(&mut self, _now: u64, _offset: u32, _value: u32) -> Served<()> {
        Err(Refusal::Unknown)
    }

    fn task(&mut self, _now: u64, offset: u32) -> Served<()> {
        let channel = index(offset, 0, CHANNELS).ok_or(Refusal::Unknown)?;
        self.events.fire(u32::try_from(channel).unwrap_or(0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{Peripheral, read, write};
    use super::Egu;

    #[test]
    fn a_trigger_is_an_event_and_an_interrupt() {
        let mut egu = Egu::new();
        write(&mut egu, 0, 0x300, 1 << 5).unwrap();
        write(&mut egu, 0, 4 * 5, 1).unwrap();
        assert_eq!((read(&egu, 0, 0x114), egu.events().interrupt_line()), (Ok(1), true));
        assert!(write(&mut egu, 0, 0x40, 1).is_err() && read(&egu, 0, 0x140).is_err());
    }
}
