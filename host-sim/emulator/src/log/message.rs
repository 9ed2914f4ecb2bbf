//! One frame of a log: the number of a format string, then the arguments that the string asks for, little-endian and
//! without gaps. Reads the arguments and renders the text.
//!
//! Hints that only change how a number looks are followed, except for dates and bit flags, which stay numbers, and CBOR,
//! which stays bytes: no image here logs any.

use std::collections::BTreeMap;
use std::ops::Range;

use defmt_parser::{DisplayHint, Fragment, Parameter, ParserMode, TimePrecision, Type};

use super::table::{Entry, Table};

/// Elements of a list. Some types take no bytes, so the end of the frame does not bound them.
const ELEMENTS_MAX: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// More bytes are needed.
    Incomplete,
    Malformed,
}

/// A frame as text.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The number of its log statement.
    pub index: u16,
    pub time: String,
    pub level: String,
    pub text: String,
}

/// Decodes the frame at the start of `bytes`, and leaves what follows it.
pub fn decode(table: &Table, bytes: &mut &[u8]) -> Result<Decoded, Undecodable> {
    let mut input = Input { table, bytes };
    let index = u16::from_le_bytes(input.take()?);
    let entry = table.entry(index).ok_or(Undecodable::Malformed)?;
    let time = match &table.timestamp {
        Some(format) => input.message(format)?.text(None),
        None => String::new(),
    };
    let text = input.message(&entry.format)?.text(None);
    *bytes = input.bytes;
    Ok(Decoded { index, time, level: entry.level().unwrap_or_default().to_owned(), text })
}

/// A format string with its arguments.
struct Message<'t> {
    fragments: Vec<Fragment<'t>>,
    arguments: BTreeMap<usize, Argument<'t>>,
}

enum Argument<'t> {
    Bool(bool),
    Char(char),
    Float(f32),
    Double(f64),
    Unsigned(u128),
    Signed {
        value: i128,
        bits: u32,
    },
    Text(String),
    Bytes(Vec<u8>),
    /// A value that formats itself, or several in a row.
    Nested(Vec<Message<'t>>),
    List(Vec<Message<'t>>),
}

struct Input<'t, 'b> {
    table: &'t Table,
    bytes: &'b [u8],
}

impl<'t, 'b> Input<'t, 'b> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Undecodable> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Undecodable::Incomplete)?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn take_slice(&mut self, length: usize) -> Result<&'b [u8], Undecodable> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Undecodable::Incomplete)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, Undecodable> {
        Ok(u32::from_le_bytes(self.take()?) as usize)
    }

    /// An unsigned number of `size` bytes.
    fn unsigned(&mut self, size: usize) -> Result<u128, Undecodable> {
        let mut wide = [0; 16];
        wide[..size].copy_from_slice(self.take_slice(size)?);
        Ok(u128::from_le_bytes(wide))
    }

    fn signed(&mut self, size: usize) -> Result<Argument<'t>, Undecodable> {
        let bits = 8 * u32::try_from(size).map_err(|_| Undecodable::Malformed)?;
        // The sign is moved to the top and back.
        let value = (self.unsigned(size)?.cast_signed() << (128 - bits)) >> (128 - bits);
        Ok(Argument::Signed { value, bits })
    }

    fn text(&mut self, length: usize) -> Result<String, Undecodable> {
        String::from_utf8(self.take_slice(length)?.to_vec()).map_err(|_| Undecodable::Malformed)
    }

    fn entry(&mut self) -> Result<&'t Entry, Undecodable> {
        let index = u16::from_le_bytes(self.take()?);
        self.table.entry(index).ok_or(Undecodable::Malformed)
    }

    /// The arguments of a format string. They follow in the order of their indices, each once, wherever they are used.
    fn message(&mut self, format: &'t str) -> Result<Message<'t>, Undecodable> {
        let fragments =
            defmt_parser::parse(format, ParserMode::ForwardsCompatible).map_err(|_| Undecodable::Malformed)?;
        let mut asked: BTreeMap<usize, Type> = BTreeMap::new();
        for fragment in &fragments {
            let Fragment::Parameter(Parameter { index, ty, .. }) = fragment else { continue };
            asked
                .entry(*index)
                .and_modify(|known| *known = joined(known.clone(), ty.clone()))
                .or_insert_with(|| ty.clone());
        }
        let mut arguments = BTreeMap::new();
        for (index, kind) in asked {
            arguments.insert(index, self.argument(&kind)?);
        }
        Ok(Message { fragments, arguments })
    }

    fn argument(&mut self, kind: &Type) -> Result<Argument<'t>, Undecodable> {
        Ok(match kind {
            Type::Bool => Argument::Bool(match self.take()? {
                [0] => false,
                [1] => true,
                _ => return Err(Undecodable::Malformed),
            }),
            Type::Char => {
                Argument::Char(char::from_u32(u32::from_le_bytes(self.take()?)).ok_or(Undecodable::Malformed)?)
            }
            Type::F32 => Argument::Float(f32::from_le_bytes(self.take()?)),
            Type::F64 => Argument::Double(f64::from_le_bytes(self.take()?)),
            Type::U8 => Argument::Unsigned(self.unsigned(1)?),
            Type::U16 => Argument::Unsigned(self.unsigned(2)?),
            Type::U32 | Type::Usize => Argument::Unsigned(self.unsigned(4)?),
            Type::U64 => Argument::Unsigned(self.unsigned(8)?),
            Type::U128 => Argument::Unsigned(self.unsigned(16)?),
            Type::I8 => self.signed(1)?,
            Type::I16 => self.signed(2)?,
            Type::I32 | Type::Isize => self.signed(4)?,
            Type::I64 => self.signed(8)?,
            Type::I128 => self.signed(16)?,
            Type::BitField(range) => {
                let octets = octets(range);
                let size = octets.len().next_power_of_two();
                Argument::Unsigned(self.unsigned(size)? << (8 * octets.start))
            }
            Type::Str => {
                let length = self.length()?;
                Argument::Text(self.text(length)?)
            }
            Type::IStr => Argument::Text(self.entry()?.format.clone()),
            Type::Debug | Type::Display => {
                let end = self.bytes.iter().position(|&byte| byte == 0xFF).ok_or(Undecodable::Incomplete)?;
                let text = self.text(end)?;
                let [_end] = self.take()?;
                Argument::Text(text)
            }
            Type::U8Slice => {
                let length = self.length()?;
                Argument::Bytes(self.take_slice(length)?.to_vec())
            }
            Type::U8Array(length) => Argument::Bytes(self.take_slice(*length)?.to_vec()),
            Type::Format => {
                let entry = self.entry()?;
                Argument::Nested(vec![self.value(entry)?])
            }
            Type::FormatSlice => {
                let length = self.length()?;
                Argument::List(self.values(length)?)
            }
            Type::FormatArray(length) => Argument::List(self.values(*length)?),
            Type::FormatSequence => Argument::Nested(self.sequence()?),
        })
    }

    /// Elements of one type: their format string comes first.
    fn values(&mut self, count: usize) -> Result<Vec<Message<'t>>, Undecodable> {
        let entry = self.entry()?;
        if count > ELEMENTS_MAX {
            return Err(Undecodable::Malformed);
        }
        (0..count).map(|_| self.value(entry)).collect()
    }

    /// Values that each name their format string, up to a zero.
    fn sequence(&mut self) -> Result<Vec<Message<'t>>, Undecodable> {
        let mut values = Vec::new();
        loop {
            let index = u16::from_le_bytes(self.take()?);
            if index == 0 {
                return Ok(values);
            }
            let entry = self.table.entry(index).ok_or(Undecodable::Malformed)?;
            values.push(self.message(&entry.format)?);
        }
    }

    /// The arguments of a value whose type is known. An enumeration says first which variant it is.
    fn value(&mut self, entry: &'t Entry) -> Result<Message<'t>, Undecodable> {
        let Some(mut variants) = entry.variants() else { return self.message(&entry.format) };
        let last = variants.clone().count() - 1;
        let size = if u8::try_from(last).is_ok() { 1 } else { 2 };
        let chosen = usize::try_from(self.unsigned(size)?).map_err(|_| Undecodable::Malformed)?;
        self.message(variants.nth(chosen).ok_or(Undecodable::Malformed)?)
    }
}

/// The type under which an argument that is used twice is sent. Parts of one bit field are sent once, from the first bit
/// to the last; other types agree, since the compiler refuses those that do not.
fn joined(known: Type, other: Type) -> Type {
    match (known, other) {
        (Type::BitField(one), Type::BitField(two)) => Type::BitField(one.start.min(two.start)..one.end.max(two.end)),
        (known, _) => known,
    }
}

/// The bytes that hold a range of bits.
fn octets(bits: &Range<u8>) -> Range<usize> {
    usize::from(bits.start) / 8..usize::from(bits.end).div_ceil(8)
}

impl Message<'_> {
    /// A hint that a value's own format string does not give comes from the message that prints the value.
    fn text(&self, outer: Option<&DisplayHint>) -> String {
        let mut text = String::new();
        for fragment in &self.fragments {
            match fragment {
                Fragment::Literal(literal) => text.push_str(literal),
                Fragment::Parameter(Parameter { index, ty, hint }) => {
                    let Some(argument) = self.arguments.get(index) else { continue };
                    // Derived formats ask for `Debug`, which says nothing of numbers.
                    let is_open = hint.as_ref() == Some(&DisplayHint::Debug) && !matches!(argument, Argument::Text(_));
                    let hint = if is_open { outer.or(hint.as_ref()) } else { hint.as_ref().or(outer) };
                    text.push_str(&argument.text(ty, hint));
                }
            }
        }
        text
    }
}

impl Argument<'_> {
    fn text(&self, kind: &Type, hint: Option<&DisplayHint>) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Char(value) => value.to_string(),
            Self::Float(value) => format!("{value:?}"),
            Self::Double(value) => format!("{value:?}"),
            Self::Unsigned(value) => match kind {
                Type::BitField(range) => {
                    unsigned((value << (128 - range.end)) >> (128 - range.end + range.start), hint)
                }
                _ => unsigned(*value, hint),
            },
            Self::Signed { value, bits } => signed(*value, *bits, hint),
            Self::Text(value) if hint == Some(&DisplayHint::Debug) => format!("{value:?}"),
            Self::Text(value) => value.clone(),
            Self::Bytes(value) => bytes(value, hint),
            Self::Nested(messages) => messages.iter().map(|message| message.text(hint)).collect(),
            Self::List(messages) => {
                let items: Vec<String> = messages.iter().map(|message| message.text(hint)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

fn unsigned(value: u128, hint: Option<&DisplayHint>) -> String {
    match hint {
        Some(&DisplayHint::NoHint { zero_pad }) => format!("{value:0zero_pad$}"),
        Some(&DisplayHint::Binary { alternate: true, zero_pad }) => format!("{value:#0zero_pad$b}"),
        Some(&DisplayHint::Binary { alternate: false, zero_pad }) => format!("{value:0zero_pad$b}"),
        Some(&DisplayHint::Octal { alternate: true, zero_pad }) => format!("{value:#0zero_pad$o}"),
        Some(&DisplayHint::Octal { alternate: false, zero_pad }) => format!("{value:0zero_pad$o}"),
        Some(&DisplayHint::Hexadecimal { alternate, uppercase, zero_pad }) => match (alternate, uppercase) {
            (true, true) => format!("{value:#0zero_pad$X}"),
            (true, false) => format!("{value:#0zero_pad$x}"),
            (false, true) => format!("{value:0zero_pad$X}"),
            (false, false) => format!("{value:0zero_pad$x}"),
        },
        Some(DisplayHint::Seconds(precision)) => {
            let (seconds, fraction) = split(value, precision);
            format!("{seconds}{fraction}")
        }
        Some(DisplayHint::Time(precision)) => {
            let (seconds, fraction) = split(value, precision);
            let (minutes, hours) = (seconds / 60, seconds / 3600);
            let days = if hours >= 24 { format!("{}:", hours / 24) } else { String::new() };
            format!("{days}{:02}:{:02}:{:02}{fraction}", hours % 24, minutes % 60, seconds % 60)
        }
        _ => value.to_string(),
    }
}

/// Whole seconds, and the digits after them with their point.
fn split(value: u128, precision: &TimePrecision) -> (u128, String) {
    match precision {
        TimePrecision::Micros => (value / 1_000_000, format!(".{:06}", value % 1_000_000)),
        TimePrecision::Millis => (value / 1000, format!(".{:03}", value % 1000)),
        TimePrecision::Seconds => (value, String::new()),
    }
}

fn signed(value: i128, bits: u32, hint: Option<&DisplayHint>) -> String {
    match hint {
        Some(&DisplayHint::NoHint { zero_pad }) => format!("{value:0zero_pad$}"),
        // As the compiler does it: the bits of a negative number of this size.
        Some(DisplayHint::Binary { .. } | DisplayHint::Octal { .. } | DisplayHint::Hexadecimal { .. }) => {
            unsigned(value.cast_unsigned() & (u128::MAX >> (128 - bits)), hint)
        }
        _ => value.to_string(),
    }
}

fn bytes(values: &[u8], hint: Option<&DisplayHint>) -> String {
    if hint == Some(&DisplayHint::Ascii) {
        return format!("b\"{}\"", values.escape_ascii());
    }
    let items: Vec<String> = values.iter().map(|&byte| unsigned(byte.into(), hint)).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
