//! What pressing a button asks for. A board with two has one for each wish; a board with one tells them apart by length.

use crate::time::Duration;

/// What the person at the board wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Wish {
    Elect,
    /// To see which board this is.
    Identify,
}

/// A press shorter than this is the bouncing of the contact.
pub const DEBOUNCE: Duration = Duration::from_millis(20);

/// From here on a press is a long one.
pub const LONG: Duration = Duration::from_millis(800);

/// What a press of the only button means: a short one asks which board this is, a long one, which takes intent, for an
/// election.
pub fn wish_of_press(held: Duration) -> Option<Wish> {
    if held < DEBOUNCE {
        None
    } else if held < LONG {
        Some(Wish::Identify)
    } else {
        Some(Wish::Elect)
    }
}

#[cfg(test)]
mod tests {
    use super::{Wish, wish_of_press};
    use crate::time::Duration;

    #[test]
    fn length_decides() {
        let wish = |millis| wish_of_press(Duration::from_millis(millis));
        assert_eq!(wish(5), None);
        assert_eq!(wish(20), Some(Wish::Identify));
        assert_eq!(wish(799), Some(Wish::Identify));
        assert_eq!(wish(800), Some(Wish::Elect));
        assert_eq!(wish(60_000), Some(Wish::Elect));
    }
}
