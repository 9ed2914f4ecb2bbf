//! The pieces that all pictures share. Written by hand, since the pictures need little of SVG.

use std::fmt::{Arguments, Display, Write as _};

/// A spot in a picture, in its own units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    pub x: f64,
    pub y: f64,
}

impl Spot {
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// The opening tag with a title and the default font.
pub(super) fn head(width: f64, height: impl Display, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"13\" fill=\"#222222\">\n<title>{}</title>\n",
        escape(title)
    )
}

pub(super) fn background(width: f64, height: impl Display, fill: &str) -> String {
    format!("<rect width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>\n")
}

/// Escapes a text for use between tags or in attributes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub(super) fn push(out: &mut String, piece: Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(piece).unwrap_or_default();
}

pub(super) fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
