//! The levels of the leaders' hierarchy.

use crate::limits::{LEVELS_MAX, RADIUS_MAX};

/// Radii that do not describe a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum RadiiError {
    /// More levels than [`LEVELS_MAX`].
    TooMany,
    /// A radius of 0 or beyond [`RADIUS_MAX`]; this is the level, counted from 1.
    OutOfRange(u8),
}

/// How far a head may be from those it leads, per level. No levels is a hierarchy of the global leader alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Radii([u8; LEVELS_MAX]);

impl Radii {
    /// One radius per level, level 1 first.
    pub fn new(radii: &[u8]) -> Result<Self, RadiiError> {
        let mut checked = Self::default();
        if radii.len() > LEVELS_MAX {
            return Err(RadiiError::TooMany);
        }
        for ((slot, &radius), level) in checked.0.iter_mut().zip(radii).zip(1..) {
            if !(1..=RADIUS_MAX).contains(&radius) {
                return Err(RadiiError::OutOfRange(level));
            }
            *slot = radius;
        }
        Ok(checked)
    }

    /// The radii, level 1 first.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().take_while(|&radius| radius > 0)
    }

    pub fn levels(self) -> u8 {
        self.iter().fold(0, |count, _| count + 1)
    }
}
