//! A reading with its key, as it is stored and passed to outputs.

use host_sim::field::utc::Utc;

/// Identifies a reading, together with its quantity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The network's name, where it is known.
    pub network: String,
    /// The id of the node that measured.
    pub node: u16,
    /// Part of its chip's serial number, or the name of its store. The id is not enough: a replaced board may get the
    /// same one.
    pub device: u16,
    /// The number of its boot.
    pub epoch: u16,
    /// Rises within a boot.
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub key: Key,
    /// Its name, in lower case with underscores.
    pub quantity: String,
    pub value: f64,
    /// Empty for plain numbers.
    pub unit: String,
    /// When it was measured.
    pub time: Utc,
    /// If false, the time is an upper bound: the reading was taken before a reboot of unknown length.
    pub is_known: bool,
}

/// Blocks of a node's store that were overwritten before any leader had them, as the node itself reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub network: String,
    pub node: u16,
    /// The name of its store.
    pub device: u16,
    pub first: u32,
    /// The first block after them.
    pub end: u32,
}

/// Makes foreign text fit for a topic, a tag or a label: letters, digits, `-` and `_`.
pub fn plain(text: &str) -> String {
    let word = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    text.chars().map(word).collect()
}
