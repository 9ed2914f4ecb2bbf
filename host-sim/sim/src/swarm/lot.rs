//! Drawing lots: the few distributions that strangers are drawn from.

use common::rng::Rng;

use crate::air::index::NodeIndex;
use crate::scenario::input::plan::unit;

pub(super) struct Lot(Rng);

impl Lot {
    /// What is drawn for one purpose does not depend on how much is drawn for another.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self(Rng::stream(seed, 0x0053_7741_5200 ^ purpose))
    }

    /// True in this many of a hundred cases.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.0.below(100) < chance
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    pub fn index(&mut self, count: usize) -> usize {
        self.0.below(u32::try_from(count).unwrap_or(u32::MAX)) as usize
    }

    /// From the least to the greatest, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let wide = u32::try_from(most.saturating_sub(least).saturating_add(1)).unwrap_or(u32::MAX);
        least + u64::from(self.0.below(wide))
    }

    pub fn share(&mut self) -> f64 {
        unit(&mut self.0)
    }

    /// Between the least and the greatest, evenly by order of magnitude.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times and counts are far below 2^52"
    )]
    pub fn magnitude(&mut self, least: u64, most: u64) -> u64 {
        let (least, most) = (least.max(1), most.max(least.max(1)));
        let factor = crate::maths::pow(most as f64 / least as f64, self.share());
        ((least as f64 * factor).round() as u64).clamp(least, most)
    }

    /// This many different ones of the first `count` nodes, in order.
    pub fn some_of(&mut self, count: usize, wanted: usize) -> Vec<NodeIndex> {
        let mut all: Vec<NodeIndex> = NodeIndex::first(count).collect();
        self.shuffle(&mut all);
        all.truncate(wanted);
        all.sort_unstable();
        all
    }

    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.index(at + 1));
        }
    }
}
