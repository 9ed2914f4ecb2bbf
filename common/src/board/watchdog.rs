//! When the watchdog is fed: only while every part of the board makes progress.
//!
//! Each part counts its progress, and the task that feeds the watchdog checks the counts once a second. A part that has
//! not moved for longer than its patience is stuck: the watchdog is no longer fed and resets the board.

/// The parts that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// The radio's driver. It restarts its receiver now and then, so it makes progress even when there is nothing to hear.
    Radio,
    /// The driver of the node.
    Node,
    Storage,
    /// The thread that does everything else.
    Thread,
}

pub const PARTS: usize = 4;

impl Part {
    /// All of them, in the order of their counts.
    pub const ALL: [Self; PARTS] = [Self::Radio, Self::Node, Self::Storage, Self::Thread];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Radio => "the radio",
            Self::Node => "the node",
            Self::Storage => "the storage",
            Self::Thread => "the thread",
        }
    }

    /// Checks without progress after which a part is stuck. Erasing pages can keep the storage busy for long.
    const fn patience(self) -> u8 {
        match self {
            Self::Radio | Self::Node | Self::Thread => 8,
            Self::Storage => 15,
        }
    }
}

/// The counts at the last check.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    seen: [u32; PARTS],
    still: [u8; PARTS],
}

impl Watchdog {
    pub const fn new() -> Self {
        Self { seen: [0; PARTS], still: [0; PARTS] }
    }

    /// Compares the counts of all parts, in the order of [`Part::ALL`], with those of the last check. Returns the first
    /// stuck part.
    pub fn check(&mut self, counts: [u32; PARTS]) -> Option<Part> {
        let mut stuck = None;
        let parts = self.seen.iter_mut().zip(&mut self.still).zip(counts).zip(Part::ALL);
        for (((seen, still), count), part) in parts {
            *still = if *seen == count { still.saturating_add(1) } else { 0 };
            *seen = count;
            if *still >= part.patience() {
                stuck = stuck.or(Some(part));
            }
        }
        stuck
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Watchdog};

    #[test]
    fn whoever_moves_is_not_stuck() {
        let mut watchdog = Watchdog::new();
        for count in 1..100 {
            assert_eq!(watchdog.check([count; 4]), None);
        }
    }

    #[test]
    fn each_part_has_its_own_patience() {
        for (at, part) in Part::ALL.into_iter().enumerate() {
            let mut watchdog = Watchdog::new();
            let checks = (1..100).find(|&check| {
                let mut counts = [check; 4];
                counts[at] = 0;
                watchdog.check(counts) == Some(part)
            });
            assert_eq!(checks, Some(u32::from(part.patience())));
        }
    }

    #[test]
    fn a_part_that_moves_again_is_forgiven() {
        let mut watchdog = Watchdog::new();
        for round in 0..50_u32 {
            let slow = round / 5;
            assert_eq!(watchdog.check([slow + 1, round + 1, round + 1, round + 1]), None, "round {round}");
        }
    }
}
