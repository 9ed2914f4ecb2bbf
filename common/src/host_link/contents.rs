//! Bytes and texts of bounded length, as they lie in a message.

use core::fmt;

use heapless::Vec;
use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::Full;
use crate::config::page::PAGE_MAX;

/// At most `N` bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Bytes<const N: usize>(Vec<u8, N, u16>);

impl<const N: usize> Bytes<N> {
    pub fn new(bytes: &[u8]) -> Result<Self, Full> {
        Vec::from_slice(bytes).map(Self).map_err(|_| Full)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl<const N: usize> MaxSize for Bytes<N> {
    const POSTCARD_MAX_SIZE: usize = length_bytes(N) + N;
}

/// A configuration page on its way to a board. There is a key in it, so it is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
pub struct Page(Bytes<PAGE_MAX>);

impl Page {
    /// These bytes, as [`crate::config::page::encode`] made them.
    pub fn new(bytes: &[u8]) -> Result<Self, Full> {
        Bytes::new(bytes).map(Self)
    }

    /// As they are, key and all.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Page(hidden)")
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for Page {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Page(hidden)");
    }
}

/// A text of at most `N` bytes in UTF-8.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Text<const N: usize>(heapless::String<N, u8>);

impl<const N: usize> Text<N> {
    /// The first `N` bytes of a text, less what would be half a character.
    pub fn start_of(text: &str) -> Self {
        let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|&end| end <= N).last().unwrap_or(0);
        Self(text.get(..end).and_then(|start| heapless::String::try_from(start).ok()).unwrap_or_default())
    }

    /// The last `N` bytes of a text, less what would be half a character: of a path the end says more.
    pub fn end_of(text: &str) -> Self {
        let start = text.char_indices().map(|(at, _)| at).find(|at| text.len() - at <= N).unwrap_or(text.len());
        Self::start_of(text.get(start..).unwrap_or_default())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<const N: usize> MaxSize for Text<N> {
    const POSTCARD_MAX_SIZE: usize = length_bytes(N) + N;
}

/// Seven bits of a length go into each byte.
const fn length_bytes(length: usize) -> usize {
    match length {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::{Bytes, Page, Text};

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(Text::<8>::start_of("short").as_str(), "short");
        assert_eq!(Text::<4>::start_of("länge").as_str(), "län");
        assert_eq!(Text::<2>::start_of("aä").as_str(), "a");
        assert_eq!(Text::<5>::end_of("src/radio.rs").as_str(), "io.rs");
        assert_eq!(Text::<2>::end_of("äb").as_str(), "b");
        assert_eq!(Text::<0>::end_of("x").as_str(), "");
    }

    #[test]
    fn a_page_is_not_shown() {
        assert_eq!(Page::new(&[42; 30]).map(|page| format!("{page:?}")), Ok("Page(hidden)".into()));
    }

    #[test]
    fn bytes_that_do_not_fit_are_refused() {
        assert!(Bytes::<2>::new(&[1, 2, 3]).is_err());
        assert_eq!(Bytes::<3>::new(&[1, 2, 3]).map(|bytes| bytes.as_slice().len()), Ok(3));
    }
}
