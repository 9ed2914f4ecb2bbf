//! Which exceptions are pending, enabled and active, and which of them comes next: the NVIC and the system exceptions.
//!
//! An nRF52 has 48 interrupts and 16 system exceptions. A set of these 64 is a `u64` with one bit per exception *number*:
//! interrupt n has number 16 + n.

pub const INTERRUPTS: u32 = 48;

/// The exception number of interrupt 0.
pub const FIRST_INTERRUPT: u32 = 16;

pub const NMI: u8 = 2;
pub const HARD_FAULT: u8 = 3;
pub const MEM_MANAGE: u8 = 4;
pub const USAGE_FAULT: u8 = 6;
pub const SV_CALL: u8 = 11;
pub const PEND_SV: u8 = 14;
pub const SYS_TICK: u8 = 15;

/// The priority of thread mode, which every exception preempts. Lower numbers are more urgent.
pub const THREAD_PRIORITY: i16 = 256;

/// The nRF52 keeps the highest three bits of a priority.
const PRIORITY_BITS: u8 = 0xE0;

/// The system exceptions that SHCSR can switch off.
const SWITCHABLE: u64 = 0b0111_0000;

pub const fn bit(number: u8) -> u64 {
    1 << (number & 63)
}

#[derive(Clone)]
pub struct Interrupts {
    pub pending: u64,
    pub active: u64,
    pub enabled: u64,
    priority: [u8; 64],
    /// The lines from the peripherals as last sampled, one bit per exception number.
    lines: u64,
    /// PRIGROUP: the number, less one, of low priority bits that decide who goes first but not who preempts.
    pub group: u8,
    pub primask: bool,
    pub faultmask: bool,
    pub basepri: u8,
}

impl Default for Interrupts {
    fn default() -> Self {
        Self {
            pending: 0,
            active: 0,
            enabled: 0xFFFF & !SWITCHABLE,
            priority: [0; 64],
            lines: 0,
            group: 0,
            primask: false,
            faultmask: false,
            basepri: 0,
        }
    }
}

impl Interrupts {
    /// Takes the present state of the lines and returns the exceptions that became pending. A line makes its interrupt
    /// pending when it rises, and while it is high unless the interrupt is being handled.
    pub fn sample_lines(&mut self, lines: u64) -> u64 {
        let lines = lines << FIRST_INTERRUPT;
        let rising = lines & !self.lines;
        let before = self.pending;
        self.pending |= rising | lines & !self.active;
        self.lines = lines;
        self.pending & !before
    }

    pub fn priority(&self, number: u8) -> u8 {
        self.priority[usize::from(number & 63)]
    }

    pub fn set_priority(&mut self, number: u8, value: u8) {
        self.priority[usize::from(number & 63)] = value & PRIORITY_BITS;
    }

    pub fn set_basepri(&mut self, value: u8) {
        self.basepri = value & PRIORITY_BITS;
    }

    /// The part of a priority that decides about preemption.
    fn group_priority(&self, number: u8) -> i16 {
        match number {
            NMI => -2,
            HARD_FAULT => -1,
            _ => self.grouped(self.priority(number)),
        }
    }

    fn grouped(&self, priority: u8) -> i16 {
        i16::from(priority) >> (self.group + 1) << (self.group + 1)
    }

    /// The priority of the running code, ignoring PRIMASK.
    fn unmasked_priority(&self) -> i16 {
        let mut priority = THREAD_PRIORITY;
        if self.basepri != 0 {
            priority = self.grouped(self.basepri);
        }
        for number in numbers(self.active) {
            priority = priority.min(self.group_priority(number));
        }
        if self.faultmask { priority.min(-1) } else { priority }
    }

    /// The priority of the running code: only a more urgent exception preempts it.
    pub fn execution_priority(&self) -> i16 {
        let priority = self.unmasked_priority();
        if self.primask { priority.min(0) } else { priority }
    }

    /// The most urgent exception that is pending and enabled.
    fn first_waiting(&self) -> Option<u8> {
        let waiting = self.pending & self.enabled;
        if waiting == 0 {
            return None;
        }
        let urgency = |&number: &u8| match number {
            NMI => -2,
            HARD_FAULT => -1,
            _ => i16::from(self.priority(number)),
        };
        // Of equals the one with the lowest number goes first, and `min_by_key` keeps the first.
        numbers(waiting).min_by_key(urgency)
    }

    /// The exception that preempts the running code.
    pub fn preempting(&self) -> Option<u8> {
        let number = self.first_waiting()?;
        (self.group_priority(number) < self.execution_priority()).then_some(number)
    }

    /// Whether an exception may be entered at once by an instruction that asks for it.
    pub fn can_enter(&self, number: u8) -> bool {
        self.enabled & bit(number) != 0 && self.group_priority(number) < self.execution_priority()
    }

    /// Whether an exception ends WFI, for which PRIMASK does not count.
    pub fn wakes(&self) -> bool {
        self.first_waiting().is_some_and(|number| self.group_priority(number) < self.unmasked_priority())
    }

    pub fn activate(&mut self, number: u8) {
        self.pending &= !bit(number);
        self.active |= bit(number);
    }

    /// The exception that ICSR shows as pending.
    pub fn shown_pending(&self) -> u8 {
        self.first_waiting().unwrap_or(0)
    }
}

fn numbers(set: u64) -> impl Iterator<Item = u8> {
    let mut left = set;
    std::iter::from_fn(move || {
        let number = u8::try_from(left.trailing_zeros()).ok().filter(|&number| number < 64)?;
        left &= left - 1;
        Some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::{HARD_FAULT, Interrupts, NMI, bit};

    fn with_enabled(numbers: &[(u8, u8)]) -> Interrupts {
        let mut interrupts = Interrupts::default();
        for &(number, priority) in numbers {
            interrupts.enabled |= bit(number);
            interrupts.pending |= bit(number);
            interrupts.set_priority(number, priority);
        }
        interrupts
    }

    #[test]
    fn the_lowest_number_of_the_most_urgent_goes_first() {
        let mut interrupts = with_enabled(&[(20, 0x40), (18, 0x40), (17, 0x80)]);
        assert_eq!(interrupts.preempting(), Some(18));
        interrupts.pending |= bit(HARD_FAULT) | bit(NMI);
        assert_eq!(interrupts.preempting(), Some(NMI));
    }

    #[test]
    fn equals_do_not_preempt_each_other() {
        let mut interrupts = with_enabled(&[(20, 0x40), (18, 0x40)]);
        interrupts.activate(18);
        assert_eq!(interrupts.preempting(), None);
        interrupts.set_priority(20, 0x20);
        assert_eq!(interrupts.preempting(), Some(20));
    }

    #[test]
    fn grouped_bits_order_but_do_not_preempt() {
        let mut interrupts = with_enabled(&[(20, 0x40), (18, 0x60)]);
        interrupts.group = 6;
        assert_eq!(interrupts.preempting(), Some(20), "0x40 before 0x60");
        interrupts.activate(18);
        assert_eq!(interrupts.preempting(), None, "both are in the group of 0x00 to 0x7F");
    }

    #[test]
    fn a_line_that_stays_high_pends_again_only_after_the_handler() {
        let mut interrupts = with_enabled(&[]);
        interrupts.enabled |= bit(16);
        assert_eq!(interrupts.sample_lines(1), bit(16));
        interrupts.activate(16);
        assert_eq!(interrupts.sample_lines(1), 0);
        assert_eq!(interrupts.sample_lines(0), 0);
        assert_eq!(interrupts.sample_lines(1), bit(16), "it rose again meanwhile");
        interrupts.pending = 0;
        interrupts.active = 0;
        assert_eq!(interrupts.sample_lines(1), bit(16), "it is still high after the handler");
    }

    #[test]
    fn the_masks_hold_back_what_they_should() {
        let mut interrupts = with_enabled(&[(20, 0x40)]);
        interrupts.primask = true;
        assert_eq!(interrupts.preempting(), None);
        assert!(interrupts.wakes());
        interrupts.set_basepri(0x40);
        assert!(!interrupts.wakes(), "BASEPRI holds back even the wake-up");
        interrupts.primask = false;
        interrupts.set_basepri(0x60);
        assert_eq!(interrupts.preempting(), Some(20));
    }
}
