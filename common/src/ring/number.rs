//! The number of an announcement: the boot of the member that made it, and the count since.
//!
//! A member that restarts counts from the beginning, but its boot is newer, so that everything it says is newer than what it
//! said before. Both parts wrap around and are compared as such (RFC 1982): of two boots less than 128 apart, and of two counts
//! of one boot less than 32,768 apart, it is clear which is newer. Memories older than that, and those of a board whose flash was
//! erased, are put right by asking the member for a number newer than the one remembered (`receive`).

/// Bytes of a number on the air.
pub const NUMBER_BYTES: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Number {
    /// The last eight bits of the member's epoch.
    pub epoch: u8,
    pub count: u16,
}

impl Number {
    /// The first number of a boot.
    pub fn of_boot(epoch: u16) -> Self {
        let [low, _] = epoch.to_le_bytes();
        Self { epoch: low, count: 0 }
    }

    pub fn is_newer_than(self, other: Self) -> bool {
        match self.epoch.wrapping_sub(other.epoch) {
            0 => (1..0x8000).contains(&self.count.wrapping_sub(other.count)),
            // Of two boots exactly half the range apart one must be newer, or neither would ever give way.
            0x80 => self.epoch > other.epoch,
            boots => boots < 0x80,
        }
    }

    /// The next number of the same boot.
    #[must_use]
    pub fn next(self) -> Self {
        Self { count: self.count.wrapping_add(1), ..self }
    }

    pub fn to_bytes(self) -> [u8; NUMBER_BYTES] {
        let [low, high] = self.count.to_le_bytes();
        [self.epoch, low, high]
    }

    pub fn from_bytes([epoch, low, high]: [u8; NUMBER_BYTES]) -> Self {
        Self { epoch, count: u16::from_le_bytes([low, high]) }
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    fn number(epoch: u8, count: u16) -> Number {
        Number { epoch, count }
    }

    #[test]
    fn a_newer_boot_is_newer_whatever_it_counts() {
        assert!(number(3, 0).is_newer_than(number(2, 40_000)));
        assert!(!number(2, 40_000).is_newer_than(number(3, 0)));
        assert!(number(0, 0).is_newer_than(number(255, 9)), "boots wrap around");
        assert_eq!(Number::of_boot(0x0104), number(4, 0));
    }

    #[test]
    fn counts_of_one_boot_wrap_around() {
        let is_newer = |count, than| number(7, count).is_newer_than(number(7, than));
        assert!(is_newer(1, 0) && is_newer(0, 0xFFFF) && is_newer(0x7FFF, 0));
        assert!(!is_newer(0, 0) && !is_newer(0, 1) && !is_newer(0x8000, 0) && !is_newer(0xFFFF, 0));
        assert_eq!(number(7, 0xFFFF).next(), number(7, 0));
    }

    #[test]
    fn of_two_numbers_never_both_are_newer() {
        for (a, b) in [(0_u8, 0_u16), (1, 9), (128, 0), (255, 0x8000)]
            .iter()
            .flat_map(|a| [(0, 1), (127, 3), (130, 0xFFFF)].map(|b| (*a, b)))
        {
            let (a, b) = (number(a.0, a.1), number(b.0, b.1));
            assert!(!(a.is_newer_than(b) && b.is_newer_than(a)), "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let sent = number(0x12, 0x3456);
        assert_eq!((Number::from_bytes(sent.to_bytes()), sent.to_bytes()), (sent, [0x12, 0x56, 0x34]));
    }
}
