//! How much flash and static RAM a firmware image takes, read from its ELF file.

pub mod boards;

use std::fmt;

use emulator::elf::{self, Elf, ElfError};
use serde::Serialize;

/// The bytes that one section takes in each memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    pub name: String,
    /// Its address at run time.
    pub address: u32,
    pub flash: u64,
    pub ram: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Footprint {
    /// Bytes written to flash, including padding and the initial values of variables.
    pub flash: u64,
    /// Bytes of RAM for static variables, without the stack.
    pub ram: u64,
    /// The sections that take memory.
    pub sections: Vec<Section>,
}

impl Footprint {
    pub fn of(bytes: &[u8]) -> Result<Self, ElfError> {
        let elf = Elf::parse(bytes)?;
        let flash = elf.segments()?.iter().map(|segment| segment.bytes.len() as u64).sum();
        Ok(Self::new(flash, elf.sections()?))
    }

    fn new(flash: u64, sections: Vec<elf::Section>) -> Self {
        let taken = sections.into_iter().filter(|section| section.in_memory && section.size > 0);
        let sections: Vec<Section> = taken
            .map(|section| Section {
                name: section.name,
                address: section.address,
                flash: if section.in_file { u64::from(section.size) } else { 0 },
                ram: if section.writable { u64::from(section.size) } else { 0 },
            })
            .collect();
        let ram = sections.iter().map(|section| section.ram).sum();
        Self { flash, ram, sections }
    }
}

/// A footprint held against a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// A missing limit is always kept.
    pub within_budget: bool,
    pub max_flash: Option<u64>,
    pub max_ram: Option<u64>,
    #[serde(flatten)]
    pub footprint: Footprint,
}

impl Report {
    pub fn new(footprint: Footprint, max_flash: Option<u64>, max_ram: Option<u64>) -> Self {
        let fits = |used: u64, limit: Option<u64>| limit.is_none_or(|limit| used <= limit);
        let within_budget = fits(footprint.flash, max_flash) && fits(footprint.ram, max_ram);
        Self { within_budget, max_flash, max_ram, footprint }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<16}{:>10}{:>10}{:>10}", "section", "address", "flash", "RAM")?;
        for Section { name, address, flash, ram } in &self.footprint.sections {
            writeln!(f, "{name:<16}{address:>#10x}{flash:>10}{ram:>10}")?;
        }
        write_total(f, "flash", self.footprint.flash, self.max_flash)?;
        write_total(f, "static RAM", self.footprint.ram, self.max_ram)
    }
}

fn write_total(f: &mut fmt::Formatter<'_>, name: &str, used: u64, limit: Option<u64>) -> fmt::Result {
    match limit {
        None => writeln!(f, "{name}: {used} bytes"),
        Some(limit) if used <= limit => writeln!(f, "{name}: {used} of {limit} bytes, {} left", limit - used),
        Some(limit) => writeln!(f, "{name}: {used} of {limit} bytes, {} TOO MANY", used - limit),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use emulator::elf;

    use super::{Footprint, Report};

    /// 16 bytes of code, 8 of initialised and 120 of other variables.
    pub(crate) fn footprint() -> Footprint {
        let code = |name: &str, size| elf::Section {
            name: name.to_owned(),
            address: 0x100,
            size,
            in_memory: true,
            writable: false,
            in_file: true,
        };
        let variables =
            |name, address, size, in_file| elf::Section { address, writable: true, in_file, ..code(name, size) };
        let sections = vec![
            code("", 0),
            code(".text", 16),
            variables(".data", 0x2000_0000, 8, true),
            variables(".bss", 0x2000_0008, 100, false),
            variables(".uninit", 0x2000_006C, 20, false),
            elf::Section { in_memory: false, ..code(".comment", 9) },
        ];
        Footprint::new(16 + 8, sections)
    }

    #[test]
    fn initial_values_count_in_flash_and_in_ram() {
        let footprint = footprint();
        assert_eq!(footprint.flash, 16 + 8);
        assert_eq!(footprint.ram, 8 + 100 + 20);
        let names: Vec<&str> = footprint.sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, [".text", ".data", ".bss", ".uninit"], "what is not loaded takes nothing");
        let data = &footprint.sections[1];
        assert_eq!((data.address, data.flash, data.ram), (0x2000_0000, 8, 8));
    }

    #[test]
    fn a_budget_is_kept_up_to_its_last_byte() {
        let fits = |flash, ram| Report::new(footprint(), flash, ram).within_budget;
        assert!(fits(None, None));
        assert!(fits(Some(24), Some(128)));
        assert!(!fits(Some(23), Some(128)));
        assert!(!fits(Some(24), Some(127)));
        assert!(!fits(None, Some(127)));
    }

    #[test]
    fn the_text_names_sections_limits_and_excess() {
        let text = Report::new(footprint(), Some(30), Some(100)).to_string();
        assert!(text.contains(".bss            0x20000008         0       100\n"), "{text}");
        assert!(text.contains("flash: 24 of 30 bytes, 6 left\n"), "{text}");
        assert!(text.contains("static RAM: 128 of 100 bytes, 28 TOO MANY\n"), "{text}");
        assert!(Report::new(footprint(), None, None).to_string().ends_with("flash: 24 bytes\nstatic RAM: 128 bytes\n"));
    }

    #[test]
    fn the_json_has_totals_limits_and_verdict_at_its_top() {
        let json = serde_json::to_value(Report::new(footprint(), Some(30), None)).expect("numbers and names");
        assert_eq!(json["flash"], 24);
        assert_eq!(json["ram"], 128);
        assert_eq!(json["max_flash"], 30);
        assert!(json["max_ram"].is_null());
        assert_eq!(json["within_budget"], true);
        assert_eq!(json["sections"][3]["name"], ".uninit");
    }
}
