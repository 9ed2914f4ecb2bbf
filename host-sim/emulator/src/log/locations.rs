//! Where log statements stand in the source: debug information describes a variable for each of them.

use std::collections::BTreeMap;

use gimli::{AttributeValue, DW_AT_decl_file, DW_AT_decl_line, DW_AT_linkage_name, DW_AT_name, DW_TAG_variable};
use gimli::{DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit};

use super::Location;
use super::table::Table;
use crate::elf::Elf;

type Bytes<'e> = EndianSlice<'e, LittleEndian>;

/// What defmt's macros call the variable of every log statement.
const STATEMENT: &[u8] = b"DEFMT_LOG_STATEMENT";

/// The places of all log statements, by their number. An image without debug information knows none.
pub fn locations(elf: &Elf<'_>, table: &Table) -> gimli::Result<BTreeMap<u16, Location>> {
    let load = |id: gimli::SectionId| Ok(EndianSlice::new(elf.contents(id.name()).unwrap_or_default(), LittleEndian));
    let dwarf: Dwarf<Bytes<'_>> = Dwarf::load(load)?;
    let mut found = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() == DW_TAG_variable
                && let Some((index, location)) = statement(&dwarf, &unit, entry, table)?
            {
                found.insert(index, location);
            }
        }
    }
    Ok(found)
}

/// The log statement that a variable stands for. The linker drops statements that cannot be reached.
fn statement(
    dwarf: &Dwarf<Bytes<'_>>,
    unit: &Unit<Bytes<'_>>,
    entry: &DebuggingInformationEntry<'_, '_, Bytes<'_>>,
    table: &Table,
) -> gimli::Result<Option<(u16, Location)>> {
    let Some(name) = entry.attr_value(DW_AT_name)? else { return Ok(None) };
    if dwarf.attr_string(unit, name)?.slice() != STATEMENT {
        return Ok(None);
    }
    let Some(symbol) = entry.attr_value(DW_AT_linkage_name)? else { return Ok(None) };
    let symbol = dwarf.attr_string(unit, symbol)?;
    let Some(index) = table.index(&symbol.to_string_lossy()) else { return Ok(None) };
    let Some(AttributeValue::FileIndex(file)) = entry.attr_value(DW_AT_decl_file)? else { return Ok(None) };
    let Some(line) = entry.attr_value(DW_AT_decl_line)?.and_then(|line| line.udata_value()) else { return Ok(None) };
    let file = path(dwarf, unit, file)?;
    Ok(file.map(|file| (index, Location { file, line })))
}

/// A file's path: the directory of its unit, its own directory and its name, as far as each is relative.
fn path(dwarf: &Dwarf<Bytes<'_>>, unit: &Unit<Bytes<'_>>, index: u64) -> gimli::Result<Option<String>> {
    let Some(header) = unit.line_program.as_ref().map(gimli::IncompleteLineProgram::header) else { return Ok(None) };
    let Some(file) = header.file(index) else { return Ok(None) };
    let text = |value| Ok(dwarf.attr_string(unit, value)?.to_string_lossy().into_owned());
    let mut path = std::path::PathBuf::new();
    if let Some(root) = &unit.comp_dir {
        path.push(&*root.to_string_lossy());
    }
    if let Some(directory) = file.directory(header) {
        path.push(text(directory)?);
    }
    path.push(text(file.path_name())?);
    Ok(Some(path.display().to_string()))
}
