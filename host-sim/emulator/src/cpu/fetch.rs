//! Waiting for instructions: flash is slower than the processor.
//!
//! Source: the product specification of the nRF52840, chapters CPU and NVMC: two wait states without the cache, three after
//! a miss, none after a hit; the cache holds 2,048 bytes and only instructions. How it is organised is not published; that of
//! the nRF5340 by the same maker has two ways, lines of 16 bytes, and replaces the line that was used longest ago, and so has
//! this. Without the cache, the prefetch unit reads a word in three cycles, and up to three words ahead of the program while
//! that is busy with something else. A branch throws away what was read ahead.

/// The instructions that one line of the cache holds, as a power of two of bytes.
const LINE_BITS: u32 = 4;
const WAYS: usize = 2;
const SETS: usize = 2048 / (WAYS << LINE_BITS);
/// The wait states after a miss. The flash delivers a line at once.
const MISS: u64 = 3;

/// Wait states of a fetch without the cache.
const WAIT: u64 = 2;
/// A halfword takes half of the three cycles of its word. Counted in halves of a cycle.
const HALVES_PER_HALFWORD: i64 = 3;
/// Two words ahead of the one that is being executed, in halves of a cycle.
const AHEAD_MAX: i64 = 2 * 2 * HALVES_PER_HALFWORD;

/// No instruction lies there: flash ends far below it.
const NO_LINE: u32 = u32::MAX;
/// From here on there is no flash, and code waits for nothing.
const FLASH_END: u32 = 0x1000_0000;

/// Where instructions come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// They are there at once, and each takes one cycle.
    #[default]
    Ideal,
    Cache,
    Flash,
}

#[derive(Clone)]
pub struct Fetch {
    pub source: Source,
    /// The line that the last instruction came from.
    line: u32,
    /// By set, the line that was used last comes first.
    lines: [[u32; WAYS]; SETS],
    /// How far the prefetch unit is ahead of the program, in halves of a cycle.
    ahead: i64,
}

impl Default for Fetch {
    fn default() -> Self {
        Self { source: Source::default(), line: NO_LINE, lines: [[NO_LINE; WAYS]; SETS], ahead: 0 }
    }
}

impl Fetch {
    /// Takes instructions from somewhere else from now on. The cache is empty then.
    pub fn set_source(&mut self, source: Source) {
        if self.source != source {
            *self = Self { source, ..Self::default() };
        }
    }

    /// Forgets everything: flash has changed.
    pub fn forget(&mut self) {
        *self = Self { source: self.source, ..Self::default() };
    }

    /// How long the processor waits for an instruction, with the cache.
    #[inline(always)]
    pub fn wait_for_cache(&mut self, address: u32, size: u8) -> u64 {
        // Where it crosses into another line, its end decides.
        let line = address.wrapping_add(u32::from(size) - 2) >> LINE_BITS;
        if line == self.line { 0 } else { self.enter(address >> LINE_BITS, line) }
    }

    fn enter(&mut self, first: u32, last: u32) -> u64 {
        let waited = if first == last || first == self.line { 0 } else { self.look_up(first) };
        self.line = last;
        waited + self.look_up(last)
    }

    #[inline(always)]
    fn look_up(&mut self, line: u32) -> u64 {
        if line >= FLASH_END >> LINE_BITS {
            return 0;
        }
        let set = &mut self.lines[line as usize % SETS];
        if set[0] == line {
            return 0;
        }
        let waits = if set[1] == line { 0 } else { MISS };
        *set = [line, set[0]];
        waits
    }

    /// How long the processor waits for the instruction behind this one without the cache, given what this one took.
    #[inline(always)]
    pub fn wait_for_flash(&mut self, address: u32, size: u8, cycles: u8, branches: bool) -> u64 {
        if address >= FLASH_END {
            return 0;
        }
        if branches {
            self.ahead = 0;
            return WAIT;
        }
        let ahead = self.ahead + 2 * i64::from(cycles) - HALVES_PER_HALFWORD * i64::from(size / 2);
        if ahead >= 0 {
            self.ahead = ahead.min(AHEAD_MAX);
            return 0;
        }
        let waits = (1 - ahead) / 2;
        self.ahead = ahead + 2 * waits;
        waits.cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fetch, MISS, SETS, Source, WAIT};

    fn cache() -> Fetch {
        let mut fetch = Fetch::default();
        fetch.set_source(Source::Cache);
        fetch
    }

    #[test]
    fn a_line_is_fetched_once_and_then_there() {
        let mut fetch = cache();
        assert_eq!([0, 2, 14, 16, 0].map(|address| fetch.wait_for_cache(address, 2)), [MISS, 0, 0, MISS, 0]);
        assert_eq!(fetch.wait_for_cache(46, 4), 2 * MISS, "it lies in two lines");
        assert_eq!(fetch.wait_for_cache(0x2000_0000, 4), 0, "RAM");
        fetch.forget();
        assert_eq!(fetch.wait_for_cache(0, 2), MISS);
    }

    #[test]
    fn of_three_lines_in_one_set_the_one_used_longest_ago_goes() {
        let mut fetch = cache();
        let apart = 16 * u32::try_from(SETS).expect("few");
        let waits = [0, apart, 0, 2 * apart, 0, apart].map(|address| fetch.wait_for_cache(address, 2));
        assert_eq!(waits, [MISS, MISS, 0, MISS, 0, MISS]);
    }

    #[test]
    fn without_the_cache_a_word_takes_three_cycles() {
        let mut fetch = Fetch::default();
        fetch.set_source(Source::Flash);
        let mut wait = |size, cycles| (0..100).map(|_| fetch.wait_for_flash(0, size, cycles, false)).sum::<u64>();
        assert_eq!(wait(2, 1), 50, "two short instructions take three cycles");
        assert_eq!(wait(4, 1), 200);
        assert_eq!(wait(4, 4), 0, "a slow instruction gives it time");
        assert!(wait(4, 1) < 200, "and to read ahead");
        assert_eq!(fetch.wait_for_flash(0, 2, 1, true), WAIT);
        assert_eq!(fetch.wait_for_flash(0x2000_0000, 4, 1, false), 0, "RAM");
    }
}
