//! The images of all boards: built where they are missing or old, and measured one after the other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Serialize;

use super::{Footprint, Report};
use crate::note;

const TARGET: &str = "thumbv7em-none-eabihf";
const PROFILE: &str = "firmware";

/// An image: what it is for, and the features of the firmware that make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    name: &'static str,
    features: &'static str,
    /// Whether it is what people are told to flash, and held to the budget.
    is_usual: bool,
}

const VARIANTS: [Variant; 6] = [
    Variant { name: "nrf52840-dk", features: "board-nrf52840-dk", is_usual: true },
    Variant { name: "nrf52840-dongle", features: "board-nrf52840-dongle", is_usual: true },
    Variant {
        name: "nrf52840-dongle, USB bootloader",
        features: "board-nrf52840-dongle,usb-bootloader",
        is_usual: true,
    },
    Variant { name: "nrf52833-dk", features: "board-nrf52833-dk", is_usual: true },
    Variant { name: "microbit-v2", features: "board-microbit-v2", is_usual: true },
    Variant { name: "nrf52840-dk with AES-CCM", features: "board-nrf52840-dk,aes-ccm", is_usual: false },
];

/// What all images take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Whether all that have to keep to the budget do.
    pub within_budget: bool,
    /// One line for each image.
    pub images: Vec<Row>,
}

/// What one image takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The board, and what is special about the image.
    pub name: &'static str,
    /// The features it was built with.
    pub features: &'static str,
    /// Whether it is held to the budget.
    pub is_usual: bool,
    /// What it takes.
    #[serde(flatten)]
    pub report: Report,
}

impl Table {
    /// Builds and measures every image. Progress goes to the error output, since it can take minutes.
    pub fn measure(max_flash: Option<u64>, max_ram: Option<u64>) -> anyhow::Result<Self> {
        let root = workspace()?;
        let mut images = Vec::new();
        for (number, Variant { name, features, is_usual }) in (1..).zip(VARIANTS) {
            note!("{name} ({number} of {}): cargo looks whether its image is there and builds it", VARIANTS.len());
            let path = build(&root, features)?;
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let footprint = Footprint::of(&bytes).with_context(|| format!("cannot measure {}", path.display()))?;
            images.push(Row { name, features, is_usual, report: Report::new(footprint, max_flash, max_ram) });
        }
        Ok(Self::of(images))
    }

    fn of(images: Vec<Row>) -> Self {
        Self { within_budget: images.iter().all(|row| !row.is_usual || row.report.within_budget), images }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34}{:>10}{:>12}", "image", "flash", "static RAM")?;
        for Row { name, report, is_usual, .. } in &self.images {
            let verdict = match (report.within_budget, is_usual) {
                (true, _) => "",
                (false, true) => "  TOO MUCH",
                (false, false) => "  beyond the budget, to which it is not held",
            };
            writeln!(f, "{name:<34}{:>10}{:>12}{verdict}", report.footprint.flash, report.footprint.ram)?;
        }
        Ok(())
    }
}

/// The sources that this program was built from.
fn workspace() -> anyhow::Result<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().unwrap_or(package);
    if !root.join("firmware/Cargo.toml").is_file() {
        bail!(
            "the sources in {} are not there any more: build this program again where they are, or name an image",
            root.display()
        );
    }
    Ok(root.to_path_buf())
}

/// Builds an image in a directory of its own: the usual one may be locked by the cargo that runs this.
fn build(root: &Path, features: &str) -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let directory = target.join("images");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--package", "firmware", "--no-default-features"]);
    cargo.args(["--features", features, "--target", TARGET, "--profile", PROFILE, "--target-dir"]).arg(&directory);
    let status = cargo.status().with_context(|| format!("cannot run {cargo:?}"))?;
    if !status.success() {
        bail!("{cargo:?} failed; `rustup target add {TARGET}` installs the target where it is missing");
    }
    Ok(directory.join(TARGET).join(PROFILE).join("firmware"))
}

#[cfg(test)]
mod tests {
    use common::names::Board;

    use super::{Row, Table, VARIANTS};
    use crate::elf32::tests::small_image;
    use crate::size::{Footprint, Report};

    fn row(name: &'static str, is_usual: bool, max_flash: u64) -> Row {
        let footprint = Footprint::of(&small_image()).expect("a well-formed image");
        Row { name, features: "", is_usual, report: Report::new(footprint, Some(max_flash), None) }
    }

    #[test]
    fn every_board_has_an_image() {
        for board in Board::ALL {
            let feature = format!("board-{board}");
            assert!(VARIANTS.iter().any(|variant| variant.is_usual && variant.features == feature), "{board}");
        }
    }

    #[test]
    fn only_the_usual_images_are_held_to_the_budget() {
        let table = Table::of(vec![row("one", true, 24), row("special", false, 23)]);
        assert!(table.within_budget);
        let text = table.to_string();
        assert!(text.contains("one                                       24         128\n"), "{text}");
        assert!(text.contains("beyond the budget"), "{text}");
        assert!(!Table::of(vec![row("one", true, 23)]).within_budget);
    }
}
