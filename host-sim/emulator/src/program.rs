//! An image as boards run it.

use std::fmt;
use std::rc::Rc;

use crate::cpu::{Slots, decode_all};
use crate::loader::{Image, LoadError};
use crate::log::Dictionary;

/// An image with what belongs to it, shared by all boards that run it.
#[derive(Clone)]
pub struct Program {
    image: Rc<Image>,
    decoded: Slots,
    dictionary: Option<Rc<Dictionary>>,
}

impl Program {
    /// Reads an ELF file.
    pub fn parse(elf: &[u8]) -> Result<Self, ProgramError> {
        let image = Image::parse(elf).map_err(ProgramError::Image)?;
        let dictionary = Dictionary::parse(elf).map_err(ProgramError::Log)?;
        Ok(Self { dictionary: dictionary.map(Rc::new), ..Self::new(image) })
    }

    /// Reads an ELF file for boards whose logs nobody reads, which are then not decoded.
    pub fn without_log(elf: &[u8]) -> Result<Self, ProgramError> {
        let image = Image::parse(elf).map_err(ProgramError::Image)?;
        Ok(Self::new(image))
    }

    fn new(image: Image) -> Self {
        let decoded = decode_all(&image.beginning_of_flash());
        Self { image: Rc::new(image), decoded, dictionary: None }
    }

    /// Its instructions.
    pub(crate) fn decoded(&self) -> &Slots {
        &self.decoded
    }

    /// What it takes to read its logs, where somebody wants to.
    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.dictionary.as_deref()
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }
}

/// Why a program cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// It is no image for this board.
    Image(LoadError),
    /// Its log cannot be decoded.
    Log(String),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(error) => error.fmt(f),
            Self::Log(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for ProgramError {}
