//! When the watchdog is fed: only while every part of the board makes progress.
//!
//! Each part counts up whenever it gets somewhere; whoever feeds the watchdog looks once a second. A part that has not
//! moved for longer than it may is stuck: the watchdog is no longer fed and resets the board.

/// The parts that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// The radio's driver: it listens, and turns its receiver off and on now and then even when there is nothing to hear.
    Radio,
    /// The driver of the node.
    Node,
    /// The storage.
    Storage,
    /// The thread that does everything else.
    Thread,
}

/// How many there are.
pub const PARTS: usize = 4;

impl Part {
    /// All of them, in the order of their places.
    pub const ALL: [Self; PARTS] = [Self::Radio, Self::Node, Self::Storage, Self::Thread];

    /// Its name, for the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Radio => "the radio",
            Self::Node => "the node",
            Self::Storage => "the storage",
            Self::Thread => "the thread",
        }
    }

    /// Looks without progress after which a part is stuck. The storage may be busy with pages that take long to erase.
    const fn patience(self) -> u8 {
        match self {
            Self::Radio | Self::Node | Self::Thread => 8,
            Self::Storage => 15,
        }
    }
}

/// What was seen at the last look.
#[derive(Clone, Debug, Default)]
pub struct Vigil {
    seen: [u32; PARTS],
    still: [u8; PARTS],
}

impl Vigil {
    /// A vigil that has seen nothing.
    pub const fn new() -> Self {
        Self { seen: [0; PARTS], still: [0; PARTS] }
    }

    /// Looks at the counts of all parts, in the order of [`Part::ALL`]. The first stuck part, if there is one.
    pub fn look(&mut self, counts: [u32; PARTS]) -> Option<Part> {
        let mut stuck = None;
        let places = self.seen.iter_mut().zip(&mut self.still).zip(counts).zip(Part::ALL);
        for (((seen, still), count), part) in places {
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
    use super::{Part, Vigil};

    #[test]
    fn whoever_moves_is_not_stuck() {
        let mut vigil = Vigil::new();
        for count in 1..100 {
            assert_eq!(vigil.look([count; 4]), None);
        }
    }

    #[test]
    fn each_part_has_its_own_patience() {
        for (place, part) in Part::ALL.into_iter().enumerate() {
            let mut vigil = Vigil::new();
            let looks = (1..100).find(|&look| {
                let mut counts = [look; 4];
                counts[place] = 0;
                vigil.look(counts) == Some(part)
            });
            assert_eq!(looks, Some(u32::from(part.patience())));
        }
    }

    #[test]
    fn a_part_that_moves_again_is_forgiven() {
        let mut vigil = Vigil::new();
        for look in 0..50_u32 {
            let slow = look / 5;
            assert_eq!(vigil.look([slow + 1, look + 1, look + 1, look + 1]), None, "look {look}");
        }
    }
}
