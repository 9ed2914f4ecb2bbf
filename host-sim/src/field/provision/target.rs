//! The probe-rs commands that write a page to a board.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use common::board::flash_map::FlashMap;
use common::names::Board;

use crate::cli::shell::quoted;
use crate::note;

/// The format of a page file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Intel HEX: the address is in the file.
    Hex,
    /// The bytes of the page alone.
    Binary,
}

impl Format {
    /// The format that a file's extension asks for.
    pub fn of(path: &Path) -> anyhow::Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("hex" | "ihex") => Ok(Self::Hex),
            Some("bin") => Ok(Self::Binary),
            _ => bail!("{}: the name must end in .hex (with the address) or .bin (without)", path.display()),
        }
    }
}

/// The steps that get a page onto a board: write it, then reset the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlashSteps {
    steps: [Vec<OsString>; 2],
}

impl FlashSteps {
    /// For this file and board; `probe` chooses one of several probes.
    pub fn new(file: &Path, format: Format, board: Board, probe: Option<&str>) -> Self {
        let map = FlashMap::of(board);
        let target = |step: &str| {
            let mut args: Vec<OsString> = ["probe-rs", step, "--chip", map.chip].map(OsString::from).into();
            if let Some(probe) = probe {
                args.extend(["--probe".into(), probe.into()]);
            }
            args
        };
        let mut write = target("download");
        match format {
            Format::Hex => write.extend(["--binary-format", "hex"].map(OsString::from)),
            Format::Binary => {
                let address = format!("{:#x}", map.config_page());
                write.extend(["--binary-format", "bin", "--base-address", &address].map(OsString::from));
            }
        }
        write.push(file.into());
        Self { steps: [write, target("reset")] }
    }

    /// The steps as shell commands.
    pub fn lines(&self) -> [String; 2] {
        self.steps.each_ref().map(|step| {
            let words: Vec<String> = step.iter().map(|word| quoted(&word.to_string_lossy())).collect();
            words.join(" ")
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        for (step, line) in self.steps.iter().zip(self.lines()) {
            let [program, args @ ..] = step.as_slice() else { continue };
            note!("$ {line}");
            let status = Command::new(program).args(args).status().with_context(|| {
                "probe-rs is not on the path: install it (https://probe.rs), or run the commands elsewhere".to_owned()
            })?;
            ensure!(status.success(), "`{line}` failed ({status})");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use common::names::Board;

    use super::{FlashSteps, Format};

    #[test]
    fn the_commands_name_chip_address_and_probe() {
        let steps = FlashSteps::new(Path::new("node-1.hex"), Format::Hex, Board::Nrf52840Dk, Some("1366:1015:0010"));
        assert_eq!(
            steps.lines(),
            [
                "probe-rs download --chip nRF52840_xxAA --probe 1366:1015:0010 --binary-format hex node-1.hex",
                "probe-rs reset --chip nRF52840_xxAA --probe 1366:1015:0010",
            ]
        );
        let steps = FlashSteps::new(Path::new("my page's.bin"), Format::Binary, Board::MicrobitV2, None);
        assert_eq!(
            steps.lines()[0],
            r"probe-rs download --chip nRF52833_xxAA --binary-format bin --base-address 0x7f000 'my page'\''s.bin'"
        );
    }

    #[test]
    fn names_of_files_choose_the_format() {
        assert_eq!(Format::of(Path::new("a/b.hex")).unwrap(), Format::Hex);
        assert_eq!(Format::of(Path::new("b.bin")).unwrap(), Format::Binary);
        assert!(Format::of(Path::new("b.elf")).unwrap_err().to_string().contains("must end in .hex"));
    }
}
