//! An image, prepared for the boards that run it.

use std::fmt;
use std::sync::Arc;

use crate::cpu::{Slots, decode_all};
use crate::loader::{Image, LoadError};
use crate::log::Dictionary;

/// An image with its decoded instructions and its log dictionary, shared by all boards that run it.
#[derive(Clone)]
pub struct Program {
    image: Arc<Image>,
    decoded: Slots,
    dictionary: Option<Arc<Dictionary>>,
}

impl Program {
    pub fn parse(elf: &[u8]) -> Result<Self, ProgramError> {
        let image = Image::parse(elf).map_err(ProgramError::Image)?;
        let dictionary = Dictionary::parse(elf).map_err(ProgramError::Log)?;
        Ok(Self { dictionary: dictionary.map(Arc::new), ..Self::new(image) })
    }

    /// For boards whose logs nobody reads: they are not decoded.
    pub fn without_log(elf: &[u8]) -> Result<Self, ProgramError> {
        let image = Image::parse(elf).map_err(ProgramError::Image)?;
        Ok(Self::new(image))
    }

    fn new(image: Image) -> Self {
        let decoded = decode_all(&image.beginning_of_flash());
        Self { image: Arc::new(image), decoded, dictionary: None }
    }

    pub(crate) fn decoded(&self) -> &Slots {
        &self.decoded
    }

    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.dictionary.as_deref()
    }

    pub fn image(&self) -> &Image {
        &self.image
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    Image(LoadError),
    /// The dictionary of the log cannot be read.
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
