//! What pressing a button asks for. A board with two has one for each wish; a board with one tells them apart by length. On
//! either, holding the button for elections asks the board to lead no more.

use crate::time::Duration;

/// What the person at the board wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Wish {
    Elect,
    /// To see which board this is.
    Identify,
    /// That another board leads.
    StepDown,
}

/// A press shorter than this is the bouncing of the contact.
pub const DEBOUNCE: Duration = Duration::from_millis(20);

/// From here on a press is a long one.
pub const LONG: Duration = Duration::from_millis(800);

/// From here on the button is held.
pub const HELD: Duration = Duration::from_millis(3_000);

/// What a press means, where a short one has this meaning; a long one, which takes intent, asks for an election, and one that
/// takes patience for another leader. A button to identify the board has one meaning only if the board has another for
/// elections.
pub fn wish_of_press(held: Duration, short: Wish, is_only: bool) -> Option<Wish> {
    if held < DEBOUNCE {
        None
    } else if held < LONG || (short == Wish::Identify && !is_only) {
        Some(short)
    } else if held < HELD {
        Some(Wish::Elect)
    } else {
        Some(Wish::StepDown)
    }
}

#[cfg(test)]
mod tests {
    use super::{Wish, wish_of_press};
    use crate::time::Duration;

    #[test]
    fn length_decides() {
        let wish = |millis, short, is_only| wish_of_press(Duration::from_millis(millis), short, is_only);
        let lengths = [5, 20, 799, 800, 2_999, 3_000, 60_000];
        let wishes = |short, is_only| lengths.map(|millis| wish(millis, short, is_only));
        let (elect, identify, leave) = (Some(Wish::Elect), Some(Wish::Identify), Some(Wish::StepDown));
        assert_eq!(wishes(Wish::Identify, true), [None, identify, identify, elect, elect, leave, leave]);
        assert_eq!(wishes(Wish::Elect, false), [None, elect, elect, elect, elect, leave, leave]);
        assert_eq!(wishes(Wish::Identify, false), [None, identify, identify, identify, identify, identify, identify]);
    }
}
