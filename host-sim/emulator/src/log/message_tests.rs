//! Tests of decoded log frames: a table of one log statement, and the bytes that a board would send.

use super::{Undecodable, decode};
use crate::elf::Symbol;
use crate::log::table::Table;

const STATEMENT: u8 = 3;

fn table(strings: &[(u32, &str, &str)]) -> Table {
    let mut symbols: Vec<Symbol> = ["_defmt_version_ = 4", "_defmt_encoding_ = raw"]
        .into_iter()
        .map(|name| Symbol { name: name.to_owned(), address: 1 })
        .collect();
    for (address, tag, data) in strings {
        let data = serde_json::Value::from(*data);
        symbols.push(Symbol { name: format!(r#"{{"tag":"{tag}","data":{data}}}"#), address: *address });
    }
    Table::parse(symbols).expect("well-formed").expect("it logs")
}

/// What a log statement with this format string and these arguments says. 10 to 12 are strings that arguments may name.
fn said(format: &str, arguments: &[u8]) -> Result<String, Undecodable> {
    let strings = [
        (STATEMENT.into(), "defmt_info", format),
        (10, "defmt_prim", "{=u8}"),
        (11, "defmt_derived", "Cold|Hot {{ degrees: {=u8} }}"),
        (12, "defmt_str", "interned"),
    ];
    let bytes = [&[STATEMENT, 0], arguments].concat();
    let mut rest = bytes.as_slice();
    let decoded = decode(&table(&strings), &mut rest)?;
    assert!(rest.is_empty(), "{rest:?} is left of {format}");
    Ok(decoded.text)
}

#[test]
fn arguments_of_every_type_are_read() {
    for (format, arguments, expected) in [
        ("{=bool} {=char}", &[1, 0x41, 0, 0, 0][..], "true A"),
        ("{=u8} {=u16} {=u32}", &[1, 2, 0, 3, 0, 0, 0], "1 2 3"),
        ("{=u64} {=usize}", &[4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0], "4 5"),
        ("{=i8} {=i16} {=isize}", &[0xFF, 0xFE, 0xFF, 0xFD, 0xFF, 0xFF, 0xFF], "-1 -2 -3"),
        ("{=i128}", &[0xFF; 16], "-1"),
        ("{=f32}", &[0, 0, 0xC0, 0x3F], "1.5"),
        ("{=str}!", &[2, 0, 0, 0, b'h', b'i'], "hi!"),
        ("{=istr}", &[12, 0], "interned"),
        ("{=[u8]} {=[u8; 2]}", &[1, 0, 0, 0, 7, 8, 9], "[7] [8, 9]"),
        ("{=__internal_Display}.", &[b'o', b'k', 0xFF], "ok."),
    ] {
        assert_eq!(said(format, arguments).as_deref(), Ok(expected), "{format}");
    }
}

#[test]
fn values_name_their_own_format_strings() {
    assert_eq!(said("{} {=?}", &[10, 0, 7, 11, 0, 0]).as_deref(), Ok("7 Cold"));
    assert_eq!(said("{=[?]}", &[2, 0, 0, 0, 11, 0, 1, 30, 0]).as_deref(), Ok("[Hot { degrees: 30 }, Cold]"));
    assert_eq!(said("{=[?; 2]:#04x}", &[10, 0, 7, 8]).as_deref(), Ok("[0x07, 0x08]"));
    assert_eq!(said("{=__internal_FormatSequence}", &[10, 0, 4, 10, 0, 2, 0, 0]).as_deref(), Ok("42"));
}

#[test]
fn hints_change_how_a_number_looks() {
    for (format, arguments, expected) in [
        ("{=u8:#x} {=u8:04X} {=u8:b}", &[0xAB, 0xAB, 5][..], "0xab 00AB 101"),
        ("{=i8:x}", &[0xFE], "fe"),
        ("{=u32:us}", &[0x40, 0x42, 0x0F, 0], "1.000000"),
        ("{=u32:ms}", &[0xE9, 3, 0, 0], "1.001"),
        ("{=u32:ts}", &[0x91, 0x51, 1, 0], "1:00:00:17"),
        ("{=str:?}", &[1, 0, 0, 0, b'"'], r#""\"""#),
        ("{=[u8]:a}", &[2, 0, 0, 0, b'x', 0xFF], r#"b"x\xff""#),
        ("{0=0..4} {0=4..12}", &[0xBA, 0x0C], "10 203"),
    ] {
        assert_eq!(said(format, arguments).as_deref(), Ok(expected), "{format}");
    }
}

#[test]
fn arguments_may_be_used_twice_and_in_any_order() {
    assert_eq!(said("{1=u8} {0=u8} {1=u8}", &[4, 5]).as_deref(), Ok("5 4 5"));
}

#[test]
fn the_time_comes_before_the_arguments() {
    let table = table(&[(3, "defmt_warn", "late by {=u8}"), (0, "defmt_timestamp", "{=u16:ms}")]);
    let mut bytes = &[3, 0, 0xE8, 3, 9, 77][..];
    let decoded = decode(&table, &mut bytes).expect("complete");
    assert_eq!((decoded.time.as_str(), decoded.level.as_str(), decoded.text.as_str()), ("1.000", "warn", "late by 9"));
    assert_eq!(bytes, [77], "the next frame is left");
}

#[test]
fn frames_cut_short_are_incomplete_and_others_malformed() {
    assert_eq!(said("{=u32}", &[1, 2]), Err(Undecodable::Incomplete));
    assert_eq!(said("{=str}", &[9, 0, 0, 0, b'h']), Err(Undecodable::Incomplete));
    assert_eq!(said("{=str}", &[0xFF, 0xFF, 0xFF, 0xFF]), Err(Undecodable::Incomplete));
    assert_eq!(said("{=bool}", &[2]), Err(Undecodable::Malformed));
    assert_eq!(said("{=?}", &[99, 0]), Err(Undecodable::Malformed), "no such string");
    assert_eq!(said("{=?}", &[11, 0, 2]), Err(Undecodable::Malformed), "no such variant");
    assert_eq!(said("{=[?]}", &[0xFF, 0xFF, 0, 0, 10, 0]), Err(Undecodable::Incomplete));
    assert_eq!(said("{=[?]}", &[0xFF, 0xFF, 0xFF, 0xFF, 10, 0]), Err(Undecodable::Malformed), "no frame is so long");
}
