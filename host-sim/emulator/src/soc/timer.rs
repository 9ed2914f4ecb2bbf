//! TIMER0 to TIMER4: they count 16 MHz divided by a power of two, or COUNT tasks.

use super::events::{EVENTS, Events, NEVER, Peripheral, Refusal, Served, index};
use super::map::{page, page_address};
use crate::io::BusError;
use crate::memory::Memory;

const COMPARE0: u32 = 16;
/// The first shortcut that stops the timer. Those that clear it begin at 0.
const SHORT_STOP: u32 = 8;

const CHANNELS_MAX: u32 = 6;

/// Tasks, by the names of the product specification.
mod task {
    pub const START: u32 = 0x00;
    pub const STOP: u32 = 0x04;
    pub const COUNT: u32 = 0x08;
    pub const CLEAR: u32 = 0x0C;
    pub const SHUTDOWN: u32 = 0x10;
    pub const CAPTURE: u32 = 0x40;
}

/// Registers, by the names of the product specification.
mod register {
    pub const MODE: u32 = 0x504;
    pub const BITMODE: u32 = 0x508;
    pub const PRESCALER: u32 = 0x510;
    pub const CC: u32 = 0x540;
}

/// The address of the event that a compare register fires, where the register at this place of the memory map is one.
pub fn compare_event(page: usize, offset: u32) -> Option<u32> {
    let (page::TIMER0..=page::TIMER2 | page::TIMER3 | page::TIMER4) = page else { return None };
    let channel = u32::try_from(index(offset, register::CC, CHANNELS_MAX)?).ok()?;
    Some(page_address(page) + EVENTS + 4 * (COMPARE0 + channel))
}

#[derive(Clone, Debug)]
pub struct Timer {
    events: Events,
    /// TIMER3 and TIMER4 have six compare registers, the others four.
    channels: u32,
    mode: u32,
    bit_mode: u32,
    prescaler: u32,
    running: bool,
    /// The cycle at which the counter stood at `count`.
    since: u64,
    count: u64,
    /// The last count whose events have fired. It goes on beyond the width of the counter.
    handled: u64,
    compares: [u32; 6],
}

impl Timer {
    pub fn new(channels: u32) -> Self {
        let all = (1 << channels) - 1;
        Self {
            events: Events::new(all << COMPARE0, all | all << SHORT_STOP),
            channels,
            mode: 0,
            bit_mode: 0,
            prescaler: 4,
            running: false,
            since: 0,
            count: 0,
            handled: 0,
            compares: [0; 6],
        }
    }

    fn cycles_per_count(&self) -> u64 {
        4 << self.prescaler
    }

    fn wrap(&self) -> u64 {
        match self.bit_mode {
            0 => 1 << 16,
            1 => 1 << 8,
            2 => 1 << 24,
            _ => 1 << 32,
        }
    }

    fn is_counter(&self) -> bool {
        self.mode != 0
    }

    fn count(&self, now: u64) -> u64 {
        if !self.running || self.is_counter() {
            return self.count;
        }
        self.count + now.saturating_sub(self.since) / self.cycles_per_count()
    }

    fn set_count(&mut self, now: u64, count: u64) {
        (self.count, self.since, self.handled) = (count, now, count);
    }

    fn stop(&mut self, now: u64) {
        self.count = self.count(now);
        self.running = false;
    }

    fn next_match(&self, channel: usize) -> u64 {
        let wrap = self.wrap();
        let candidate = self.handled / wrap * wrap + u64::from(self.compares[channel]) % wrap;
        if candidate > self.handled { candidate } else { candidate + wrap }
    }

    /// Whether a match would change anything.
    fn matters(&self, channel: u32) -> bool {
        self.events.matters(COMPARE0 + channel)
            || self.events.has_short(channel)
            || self.events.has_short(SHORT_STOP + channel)
    }

    /// Fires every match up to now, in the order of the channels.
    fn fire_matches(&mut self, now: u64) {
        let count = self.count(now);
        if count == self.handled {
            return;
        }
        let is_reached = |channel: &u32| self.next_match(*channel as usize) <= count;
        let matched = (0..self.channels).filter(is_reached).fold(0_u32, |mask, channel| mask | 1 << channel);
        self.handled = count;
        for channel in (0..self.channels).filter(|channel| matched >> channel & 1 != 0) {
            self.events.fire(COMPARE0 + channel);
            if self.events.has_short(SHORT_STOP + channel) {
                self.stop(now);
            }
            if self.events.has_short(channel) {
                self.set_count(now, 0);
            }
        }
    }
}

impl Peripheral for Timer {
    fn events(&self) -> &Events {
        &self.events
    }

    fn events_mut(&mut self) -> &mut Events {
        &mut self.events
    }

    fn register(&self, _now: u64, offset: u32) -> Served<u32> {
        if let Some(n) = index(offset, register::CC, self.channels) {
            return Ok(self.compares[n]);
        }
        match offset {
            register::MODE => Ok(self.mode),
            register::BITMODE => Ok(self.bit_mode),
            register::PRESCALER => Ok(self.prescaler),
            _ => Err(Refusal::Unknown),
        }
    }

    fn set_register(&mut self, now: u64, offset: u32, value: u32) -> Served<()> {
        self.fire_matches(now);
        if let Some(n) = index(offset, register::CC, self.channels) {
            self.compares[n] = value;
            return Ok(());
        }
        let setting = match offset {
            register::MODE => &mut self.mode,
            register::BITMODE => &mut self.bit_mode,
            register::PRESCALER => &mut self.prescaler,
            _ => return Err(Refusal::Unknown),
        };
        if self.running && *setting != value {
            return Err(Refusal::Bad("the timer is set up while it runs".into()));
        }
        *setting = value & 0xF;
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "a count within the timer's width")]
    fn task(&mut self, now: u64, offset: u32) -> Served<()> {
        self.fire_matches(now);
        if let Some(n) = index(offset, task::CAPTURE, self.channels) {
            self.compares[n] = (self.count(now) % self.wrap()) as u32;
            return Ok(());
        }
        match offset {
            task::START => {
                if !self.running {
                    self.running = true;
                    self.since = now;
                }
            }
            task::STOP => self.stop(now),
            task::COUNT => {
                if self.running && self.is_counter() {
                    self.count += 1;
                    self.fire_matches(now);
                }
            }
            task::CLEAR => self.set_count(now, 0),
            task::SHUTDOWN => {
                self.running = false;
                self.set_count(now, 0);
            }
            _ => return Err(Refusal::Unknown),
        }
        Ok(())
    }

    fn catch_up(&mut self, now: u64) {
        self.fire_matches(now);
    }

    fn due(&self) -> u64 {
        if !self.running || self.is_counter() {
            return NEVER;
        }
        let next = (0..self.channels).filter(|&channel| self.matters(channel));
        let next = next.map(|channel| self.next_match(channel as usize)).min();
        next.map_or(NEVER, |count| self.since + (count - self.count) * self.cycles_per_count())
    }

    fn advance(&mut self, now: u64, _memory: &mut Memory) -> Result<(), BusError> {
        self.fire_matches(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::{NEVER, Peripheral, read, write};
    use super::Timer;
    use crate::memory::Memory;

    /// A timer at 1 MHz with 32 bits.
    fn microseconds() -> Timer {
        let mut timer = Timer::new(4);
        write(&mut timer, 0, 0x508, 3).unwrap();
        write(&mut timer, 0, 0x510, 4).unwrap();
        timer
    }

    fn capture(timer: &mut Timer, now: u64) -> u32 {
        write(timer, now, 0x4C, 1).unwrap();
        read(timer, now, 0x54C).unwrap()
    }

    #[test]
    fn it_counts_captures_stops_and_clears() {
        let mut timer = microseconds();
        write(&mut timer, 64, 0x000, 1).unwrap();
        assert_eq!(capture(&mut timer, 64 * 1_001), 1_000);
        write(&mut timer, 64 * 2_001, 0x004, 1).unwrap();
        assert_eq!(capture(&mut timer, 64 * 9_000), 2_000);
        write(&mut timer, 64 * 9_000, 0x00C, 1).unwrap();
        assert_eq!(capture(&mut timer, 64 * 9_000), 0);
    }

    #[test]
    fn compare_clears_and_stops_by_shortcut() {
        let (mut timer, mut memory) = (microseconds(), Memory::new(4096, 64));
        write(&mut timer, 0, 0x540, 100).unwrap();
        write(&mut timer, 0, 0x544, 30).unwrap();
        write(&mut timer, 0, 0x200, 0x001).unwrap();
        write(&mut timer, 0, 0x000, 1).unwrap();
        assert_eq!(timer.due(), 30 * 64);
        timer.advance(30 * 64, &mut memory).unwrap();
        assert_eq!(timer.due(), 100 * 64);
        timer.advance(100 * 64, &mut memory).unwrap();
        assert_eq!(capture(&mut timer, 105 * 64), 5, "cleared by the first channel");
        assert_eq!(timer.due(), 200 * 64, "the other one fired already and nothing hangs on it");
        write(&mut timer, 110 * 64, 0x200, 0x101).unwrap();
        timer.advance(200 * 64, &mut memory).unwrap();
        assert_eq!((timer.due(), capture(&mut timer, 300 * 64)), (NEVER, 0));
    }

    #[test]
    fn narrow_counters_wrap() {
        let mut timer = Timer::new(6);
        write(&mut timer, 0, 0x508, 1).unwrap();
        write(&mut timer, 0, 0x510, 0).unwrap();
        write(&mut timer, 0, 0x554, 3).unwrap();
        write(&mut timer, 0, 0x000, 1).unwrap();
        assert_eq!(capture(&mut timer, 4 * 300), 300 - 256);
        assert!(read(&timer, 0, 0x154).is_ok() && read(&Timer::new(4), 0, 0x150).is_err());
    }

    #[test]
    fn a_counter_counts_what_it_is_told() {
        let mut timer = microseconds();
        write(&mut timer, 0, 0x504, 1).unwrap();
        write(&mut timer, 0, 0x540, 2).unwrap();
        write(&mut timer, 0, 0x000, 1).unwrap();
        for expected in [0, 1] {
            write(&mut timer, 0, 0x008, 1).unwrap();
            assert_eq!(read(&timer, 0, 0x140), Ok(expected));
        }
        assert_eq!(timer.due(), NEVER);
    }
}
