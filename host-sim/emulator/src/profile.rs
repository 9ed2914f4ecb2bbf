//! Where a board's instructions go: every so many of them, the place of the next one is noted.

use std::collections::BTreeMap;

use crate::loader::Image;

/// Notes places.
#[derive(Clone, Debug)]
pub struct Profile {
    every: u64,
    next: u64,
    places: BTreeMap<u32, u64>,
}

impl Profile {
    /// Notes one place in this many instructions. A prime keeps it out of step with loops.
    pub fn every(instructions: u64) -> Self {
        Self { every: instructions.max(1), next: 0, places: BTreeMap::new() }
    }

    /// How many instructions may be executed before it wants to look.
    pub fn patience(&self, executed: u64) -> u64 {
        self.next.saturating_sub(executed).max(1)
    }

    /// Looks, where it is time to.
    pub fn look(&mut self, executed: u64, place: u32) {
        if executed >= self.next {
            self.next = executed + self.every;
            *self.places.entry(place).or_default() += 1;
        }
    }

    /// Each function with its share of the instructions in percent, the greatest first.
    pub fn functions(&self, image: &Image) -> Vec<(String, f64)> {
        let mut symbols: Vec<(u32, &str)> = (image.symbols.iter())
            // Functions have an odd address: the bit says that they are Thumb code.
            .filter(|(_, address)| address & 1 == 1)
            .map(|(name, address)| (address & !1, name.as_str()))
            .collect();
        symbols.sort_unstable();
        let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
        for (&place, &count) in &self.places {
            let after = symbols.partition_point(|&(address, _)| address <= place);
            let name = after.checked_sub(1).map_or("?", |at| symbols[at].1);
            *functions.entry(name).or_default() += count;
        }
        let all: u64 = self.places.values().sum();
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
        let share = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        let mut shares: Vec<_> = functions.into_iter().map(|(name, count)| (name.to_owned(), share(count))).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
    use crate::loader::Image;

    #[test]
    fn places_belong_to_the_function_before_them() {
        let symbols = vec![("second".to_owned(), 0x141), ("first".to_owned(), 0x101), ("data".to_owned(), 0x120)];
        let image = Image { segments: Vec::new(), symbols };
        let mut profile = Profile::every(10);
        for (executed, place) in [(0, 0x100), (5, 0x140), (10, 0x122), (20, 0x150), (30, 0x104)] {
            profile.look(executed, place);
        }
        assert_eq!(profile.patience(33), 7);
        assert_eq!(profile.functions(&image), [("first".to_owned(), 75.0), ("second".to_owned(), 25.0)]);
    }
}
