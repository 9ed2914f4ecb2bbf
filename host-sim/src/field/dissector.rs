//! A dissector for Wireshark: Lua, with tables made from the list that the wire format's tests read frames by.

use std::fmt::Write as _;

use common::link::fields::{ACK, BODIES, Count, Field, Group, HEADER, KINDS, Shown, Unit};
use common::link::frame::{ACK_BYTES, VERSION};
use common::link::security::TAG_BYTES;

/// Everything but the tables, which take the place of this mark.
const SCRIPT: &str = include_str!("dissector/ringleader.lua");
const MARK: &str = "@TABLES@";

/// The script as Wireshark loads it.
pub fn script() -> String {
    SCRIPT.replacen(MARK, tables().trim_end(), 1)
}

fn tables() -> String {
    let own: usize = HEADER.iter().map(|unit| unit.bytes).sum();
    let mut text = format!(
        "local VERSION, TAG_BYTES, HEADER_OWN, ACK_BYTES = {VERSION}, {TAG_BYTES}, {own}, {ACK_BYTES}\nlocal HEADER = {}\nlocal ACK = {}\nlocal BODIES = {{\n",
        units(HEADER, ""),
        units(ACK, "")
    );
    for body in BODIES {
        let _ = writeln!(text, "  [{}] = {{ name = {:?}, groups = {{", body.kind, body.name);
        body.groups.iter().for_each(|one| text.push_str(&group(one)));
        text.push_str("  } },\n");
    }
    debug_assert_eq!(BODIES.len(), KINDS.len());
    text.push_str("}\n");
    text
}

fn group(Group { title, count, to_all, units: own, contents, when }: &Group) -> String {
    let count = match count {
        Count::Once => "once",
        Count::Said(key) => key,
        Count::IfAny => "if any",
        Count::Rest => "rest",
    };
    let contents = contents.map_or("nil".to_owned(), |key| format!("{key:?}"));
    let when = when.map_or("nil".to_owned(), |(key, values)| {
        let values: Vec<String> = values.iter().map(|value| format!("[{value}] = true")).collect();
        format!("{{ key = {key:?}, values = {{ {} }} }}", values.join(", "))
    });
    format!(
        "    {{ title = {title:?}, count = {count:?}, contents = {contents}, when = {when},\n      to_all = {},\n      units = {} }},\n",
        units(to_all, "      "),
        units(own, "      ")
    )
}

fn units(units: &[Unit], indent: &str) -> String {
    let mut text = String::from("{\n");
    for unit in units {
        let fields: Vec<String> = unit.fields.iter().map(|one| field(one, indent)).collect();
        let _ = writeln!(text, "{indent}  {{ bytes = {}, fields = {{\n{}{indent}  }} }},", unit.bytes, fields.concat());
    }
    text + indent + "}"
}

fn field(Field { key, title, mask, shown }: &Field, indent: &str) -> String {
    let style = if *shown == Shown::Hex { "hex" } else { "dec" };
    let names = match shown {
        Shown::Decimal | Shown::Hex => "nil".to_owned(),
        Shown::Flag => r#"{ [0] = "no", [1] = "yes" }"#.to_owned(),
        Shown::Named(names) => {
            let names: Vec<String> = names.iter().map(|(value, name)| format!("[{value}] = {name:?}")).collect();
            format!("{{ {} }}", names.join(", "))
        }
    };
    let unit = 1_u32 << mask.trailing_zeros();
    format!(
        "{indent}    {{ key = {key:?}, title = {title:?}, mask = {mask:#x}, unit = {unit}, shown = {style:?}, names = {names} }},\n"
    )
}

#[cfg(test)]
mod tests {
    use common::link::fields::BODIES;

    #[test]
    fn every_field_of_the_list_is_in_the_script() {
        let script = super::script();
        assert!(!script.contains(super::MARK));
        for body in BODIES {
            for unit in body.groups.iter().flat_map(|group| group.to_all.iter().chain(group.units)) {
                for field in unit.fields {
                    let line = format!("key = {:?}, title = {:?}, mask = {:#x}", field.key, field.title, field.mask);
                    assert!(script.contains(&line), "{line}");
                }
            }
        }
    }
}
