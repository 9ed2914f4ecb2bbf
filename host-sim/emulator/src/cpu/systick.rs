//! The system timer. It counts cycles of the processor clock, which is stopped while the processor sleeps.

const ENABLE: u32 = 1;
const INTERRUPT: u32 = 1 << 1;
const COUNTED: u32 = 1 << 16;
const VALUE: u32 = 0x00FF_FFFF;

#[derive(Clone, Default)]
pub struct SysTick {
    control: u32,
    reload: u32,
    /// The counter while it is switched off.
    held: u32,
    /// The cycle at which the counter reaches zero next.
    zero_at: Option<u64>,
}

impl SysTick {
    /// The cycle at which [`SysTick::advance`] must be called again.
    pub fn next(&self) -> Option<u64> {
        self.zero_at
    }

    /// Counts up to a cycle and says whether the exception becomes pending.
    pub fn advance(&mut self, cycle: u64) -> bool {
        let Some(zero_at) = self.zero_at.filter(|&at| at <= cycle) else { return false };
        self.control |= COUNTED;
        let period = u64::from(self.reload) + 1;
        let missed = (cycle - zero_at) / period;
        self.zero_at = (self.reload != 0).then_some(zero_at + (missed + 1) * period);
        self.control & INTERRUPT != 0
    }

    pub fn read(&mut self, register: u32, cycle: u64) -> u32 {
        match register {
            0x10 => {
                let control = self.control;
                self.control &= !COUNTED;
                // The clock is always the processor's own.
                control | 1 << 2
            }
            0x14 => self.reload,
            0x18 => self.value(cycle),
            // No reference clock, and no calibration value.
            _ => 0xC000_0000,
        }
    }

    fn value(&self, cycle: u64) -> u32 {
        if self.control & ENABLE == 0 {
            return self.held;
        }
        let left = self.zero_at.map_or(0, |at| at.saturating_sub(cycle));
        // For one cycle the counter is zero, before it starts again.
        u32::try_from(left).ok().filter(|&left| left <= self.reload).unwrap_or(0)
    }

    pub fn write(&mut self, register: u32, value: u32, cycle: u64) {
        match register {
            0x10 => {
                let held = self.value(cycle);
                self.control = self.control & COUNTED | value & (ENABLE | INTERRUPT);
                self.start(held, cycle);
            }
            0x14 => {
                let was_idle = self.zero_at.is_none();
                self.reload = value & VALUE;
                if was_idle {
                    self.start(self.held, cycle);
                }
            }
            0x18 => {
                self.control &= !COUNTED;
                self.start(0, cycle);
            }
            _ => {}
        }
    }

    fn start(&mut self, value: u32, cycle: u64) {
        self.held = value;
        let running = self.control & ENABLE != 0 && (value != 0 || self.reload != 0);
        let left = if value == 0 { self.reload + 1 } else { value };
        self.zero_at = running.then_some(cycle + u64::from(left));
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNTED, SysTick};

    #[test]
    fn it_counts_down_and_starts_again() {
        let mut timer = SysTick::default();
        timer.write(0x14, 9, 0);
        timer.write(0x18, 0, 0);
        timer.write(0x10, 3, 0);
        assert_eq!(timer.next(), Some(10));
        assert_eq!(timer.read(0x18, 4), 6);
        assert!(!timer.advance(9));
        assert!(timer.advance(10));
        assert_eq!(timer.next(), Some(20));
        assert_eq!(timer.read(0x10, 11) & COUNTED, COUNTED);
        assert_eq!(timer.read(0x10, 11) & COUNTED, 0, "reading clears it");
        timer.write(0x10, 0, 15);
        assert_eq!((timer.next(), timer.read(0x18, 99)), (None, 5));
    }
}
