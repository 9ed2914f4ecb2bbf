//! The format strings of an image. defmt leaves them out of the image and names symbols after them: a frame carries the
//! address of such a symbol, and the symbol's name is a JSON object with the text.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::elf::Symbol;

/// The versions of defmt's wire format that [`super::message`] reads. They differ only in what the tools may ask for.
const VERSIONS: [&str; 2] = ["3", "4"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Frames follow each other without a mark between them.
    Raw,
    /// Frames end with a zero byte and contain no other.
    Rzcobs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the string is for: `defmt_info`, `defmt_prim` and so on.
    tag: String,
    pub format: String,
}

impl Entry {
    /// The level of a log statement; other strings have none.
    pub fn level(&self) -> Option<&str> {
        let name = self.tag.strip_prefix("defmt_")?;
        ["trace", "debug", "info", "warn", "error"].contains(&name).then_some(name)
    }

    /// The variants of an enumeration, if the string stands for one. A user's own text may contain the separator too.
    pub fn variants(&self) -> Option<std::str::Split<'_, char>> {
        let is_generated = matches!(self.tag.as_str(), "defmt_prim" | "defmt_derived");
        (is_generated && self.format.contains('|')).then(|| self.format.split('|'))
    }
}

#[derive(Debug)]
pub struct Table {
    pub encoding: Encoding,
    /// How the board formats the time, if its frames carry any.
    pub timestamp: Option<String>,
    /// By the number that a frame carries.
    entries: BTreeMap<u16, Entry>,
    /// The symbols of log statements, by which debug information knows them.
    indices: BTreeMap<String, u16>,
}

impl Table {
    /// `None` if the image does not log with defmt.
    pub fn parse(symbols: Vec<Symbol>) -> Result<Option<Self>, String> {
        let Some(version) = setting(&symbols, "_defmt_version_ = ")? else { return Ok(None) };
        if !VERSIONS.contains(&version) {
            let known = VERSIONS.join(" and ");
            return Err(format!("it uses version {version} of defmt's wire format; this program reads {known}"));
        }
        let encoding = match setting(&symbols, "_defmt_encoding_ = ")? {
            Some("rzcobs") => Encoding::Rzcobs,
            Some("raw") => Encoding::Raw,
            Some(other) => return Err(format!("its frames are encoded as {other:?}, which this program cannot read")),
            None => return Err("the image does not say how its frames are encoded".to_owned()),
        };
        let mut table = Self { encoding, timestamp: None, entries: BTreeMap::new(), indices: BTreeMap::new() };
        for symbol in symbols.into_iter().filter(|symbol| symbol.name.starts_with('{')) {
            table.add(symbol)?;
        }
        Ok(Some(table))
    }

    pub fn entry(&self, index: u16) -> Option<&Entry> {
        self.entries.get(&index)
    }

    /// The number of the log statement whose symbol has this name.
    pub fn index(&self, symbol: &str) -> Option<u16> {
        self.indices.get(symbol).copied()
    }

    fn add(&mut self, symbol: Symbol) -> Result<(), String> {
        let Symbol { name, address } = symbol;
        let described: Value =
            serde_json::from_str(&name).map_err(|error| format!("the symbol {name:?} is not defmt's: {error}"))?;
        let (Some(tag), Some(data)) = (described["tag"].as_str(), described["data"].as_str()) else {
            return Err(format!("the symbol {name:?} names no format string"));
        };
        match tag {
            "defmt_timestamp" if self.timestamp.is_some() => return Err("the image formats its time twice".to_owned()),
            "defmt_timestamp" => self.timestamp = Some(data.to_owned()),
            // Bit flags are shown as numbers. Tags of others are theirs.
            "defmt_bitflags_value" => {}
            _ if !tag.starts_with("defmt_") => {}
            _ => {
                let index = u16::try_from(address).map_err(|_| format!("{name:?} is at {address:#x}, out of reach"))?;
                self.entries.insert(index, Entry { tag: tag.to_owned(), format: data.to_owned() });
                self.indices.insert(name, index);
            }
        }
        Ok(())
    }
}

/// What follows `prefix` in the name of a symbol. The linker may leave quotes around it.
fn setting<'s>(symbols: &'s [Symbol], prefix: &str) -> Result<Option<&'s str>, String> {
    let mut found = symbols.iter().filter_map(|symbol| symbol.name.trim_matches('"').strip_prefix(prefix));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) if one != other => Err(format!("both {prefix}{one} and {prefix}{other} are in it")),
        (first, _) => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Table};
    use crate::elf::Symbol;

    fn symbol(address: u32, name: &str) -> Symbol {
        Symbol { name: name.to_owned(), address }
    }

    fn string(address: u32, tag: &str, data: &str) -> Symbol {
        let name =
            format!(r#"{{"package":"p","tag":"{tag}","data":"{data}","disambiguator":"{address}","crate_name":"c"}}"#);
        symbol(address, &name)
    }

    fn settings() -> Vec<Symbol> {
        vec![symbol(1, "_defmt_version_ = 4"), symbol(1, "_defmt_encoding_ = rzcobs")]
    }

    #[test]
    fn an_image_without_defmt_has_no_table() {
        assert!(Table::parse(vec![symbol(0x101, "main")]).expect("nothing to refuse").is_none());
    }

    #[test]
    fn strings_are_found_by_address_and_log_statements_by_symbol() {
        let mut symbols = settings();
        let warning = string(7, "defmt_warn", "too hot: {=u8}");
        let name = warning.name.clone();
        symbols.extend([warning, string(9, "defmt_derived", "Cold|Hot"), string(0, "defmt_timestamp", "{=u64:us}")]);
        let table = Table::parse(symbols).expect("well-formed").expect("it logs");
        assert_eq!(table.encoding, Encoding::Rzcobs);
        assert_eq!(table.timestamp.as_deref(), Some("{=u64:us}"));
        assert_eq!(table.index(&name), Some(7));
        let entry = table.entry(7).expect("it is there");
        assert_eq!((entry.level(), entry.variants().is_none()), (Some("warn"), true));
        let variants: Vec<_> = table.entry(9).and_then(super::Entry::variants).expect("two").collect();
        assert_eq!(variants, ["Cold", "Hot"]);
    }

    #[test]
    fn what_cannot_be_decoded_is_refused_with_the_reason() {
        let refused = |change: &dyn Fn(&mut Vec<Symbol>)| {
            let mut symbols = settings();
            change(&mut symbols);
            Table::parse(symbols).expect_err("refused")
        };
        assert!(refused(&|symbols| symbols[0] = symbol(1, "_defmt_version_ = 9")).contains("version 9"));
        assert!(refused(&|symbols| symbols[1] = symbol(1, "_defmt_encoding_ = morse")).contains("morse"));
        assert!(refused(&|symbols| drop(symbols.pop())).contains("does not say"));
        assert!(refused(&|symbols| symbols.push(symbol(1, "_defmt_encoding_ = raw"))).contains("both"));
        assert!(refused(&|symbols| symbols.push(symbol(4, "{broken"))).contains("{broken"));
        assert!(refused(&|symbols| symbols.push(string(0x1_0000, "defmt_info", "far"))).contains("out of reach"));
    }
}
