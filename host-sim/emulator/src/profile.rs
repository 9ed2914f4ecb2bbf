//! Where a board's instructions go: a sampling profiler.

use std::collections::BTreeMap;

use crate::loader::Image;

#[derive(Clone, Debug)]
pub struct Profile {
    every: u64,
    next: u64,
    /// How often each program counter was sampled.
    samples: BTreeMap<u32, u64>,
    /// Samples since the last frame ended, where only those count that lead to an answer.
    since_frame: Option<Vec<u32>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FunctionShare {
    pub name: String,
    /// Percent of all instructions.
    pub percent: f64,
}

impl Profile {
    /// Samples one in this many instructions. A prime keeps the samples out of step with loops.
    pub fn every(instructions: u64) -> Self {
        Self { every: instructions.max(1), next: 0, samples: BTreeMap::new(), since_frame: None }
    }

    /// The same, but only from the end of a frame to the decision to answer it at a set time.
    pub fn of_answers(instructions: u64) -> Self {
        Self { since_frame: Some(Vec::new()), ..Self::every(instructions) }
    }

    pub(crate) fn frame_ends(&mut self) {
        if let Some(since_frame) = &mut self.since_frame {
            since_frame.clear();
        }
    }

    pub(crate) fn send_timed(&mut self) {
        for program_counter in self.since_frame.iter_mut().flat_map(|since_frame| since_frame.drain(..)) {
            *self.samples.entry(program_counter).or_default() += 1;
        }
    }

    /// How many instructions may be executed before the next sample.
    pub fn patience(&self, executed: u64) -> u64 {
        self.next.saturating_sub(executed).max(1)
    }

    /// Takes a sample if one is due.
    pub fn sample(&mut self, executed: u64, program_counter: u32) {
        if executed >= self.next {
            self.next = executed + self.every;
            match &mut self.since_frame {
                Some(since_frame) => since_frame.push(program_counter),
                None => *self.samples.entry(program_counter).or_default() += 1,
            }
        }
    }

    /// The functions that were sampled, the greatest share first.
    pub fn functions(&self, image: &Image) -> Vec<FunctionShare> {
        let mut symbols: Vec<(u32, &str)> = (image.symbols.iter())
            // Functions have an odd address: the bit says that they are Thumb code.
            .filter(|symbol| symbol.address & 1 == 1)
            .map(|symbol| (symbol.address & !1, symbol.name.as_str()))
            .collect();
        symbols.sort_unstable();
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for (&program_counter, &count) in &self.samples {
            let after = symbols.partition_point(|&(address, _)| address <= program_counter);
            let name = after.checked_sub(1).map_or("?", |at| symbols[at].1);
            *functions.entry(name).or_default() += count;
        }
        let all: u64 = self.samples.values().sum();
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        let share = |(name, count): (&str, u64)| FunctionShare { name: name.to_owned(), percent: percent(count) };
        let mut shares: Vec<_> = functions.into_iter().map(share).collect();
        shares.sort_by(|a, b| b.percent.total_cmp(&a.percent).then_with(|| a.name.cmp(&b.name)));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::{FunctionShare, Profile};
    use crate::elf::Symbol;
    use crate::loader::Image;

    #[test]
    fn samples_belong_to_the_function_before_them() {
        let symbol = |name: &str, address| Symbol { name: name.to_owned(), address };
        let symbols = vec![symbol("second", 0x141), symbol("first", 0x101), symbol("data", 0x120)];
        let image = Image { segments: Vec::new(), symbols };
        let mut profile = Profile::every(10);
        for (executed, program_counter) in [(0, 0x100), (5, 0x140), (10, 0x122), (20, 0x150), (30, 0x104)] {
            profile.sample(executed, program_counter);
        }
        assert_eq!(profile.patience(33), 7);
        let share = |name: &str, percent| FunctionShare { name: name.to_owned(), percent };
        assert_eq!(profile.functions(&image), [share("first", 75.0), share("second", 25.0)]);
    }
}
