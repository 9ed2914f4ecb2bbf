//! Builds and measures the images of all boards.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use common::names::Board;
use serde::Serialize;

use super::{Footprint, Report};
use crate::note;

const TARGET: &str = "thumbv7em-none-eabihf";
const PROFILE: &str = "firmware";

/// An image and the firmware features that it is built with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variant {
    name: String,
    features: String,
    /// Whether users are told to flash it, so that the budget applies.
    is_usual: bool,
}

/// One image per board, one more for the dongle's bootloader, and for comparison one with the other cipher and one with a
/// sensor.
fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for board in Board::ALL {
        let (name, features) = (board.to_string(), format!("board-{board}"));
        variants.push(Variant { name, features, is_usual: true });
        if board == Board::Nrf52840Dongle {
            let (name, features) = (format!("{board}, USB bootloader"), format!("board-{board},usb-bootloader"));
            variants.push(Variant { name, features, is_usual: true });
        }
    }
    let board = Board::Nrf52840Dk;
    let (name, features) = (format!("{board} with AES-CCM"), format!("board-{board},aes-ccm"));
    variants.push(Variant { name, features, is_usual: false });
    let board = Board::XiaoNrf52840;
    let (name, features) = (format!("{board} with a sensor"), format!("board-{board},sensor-sht4x"));
    variants.push(Variant { name, features, is_usual: false });
    variants
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Whether every image that the budget applies to is within it.
    pub within_budget: bool,
    pub images: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The board, and what is special about the image.
    pub name: String,
    pub features: String,
    /// Whether the budget applies.
    pub is_usual: bool,
    #[serde(flatten)]
    pub report: Report,
}

impl Table {
    /// Builds and measures every image. Progress goes to standard error, since this can take minutes.
    pub fn measure(max_flash: Option<u64>, max_ram: Option<u64>) -> anyhow::Result<Self> {
        let root = workspace()?;
        let mut images = Vec::new();
        let variants = variants();
        for (number, Variant { name, features, is_usual }) in (1..).zip(variants.clone()) {
            note!("{name} ({number} of {}): building its image if it is outdated", variants.len());
            let path = build(&root, &features)?;
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
                (false, false) => "  over the budget, which does not apply to it",
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
        bail!("the sources are no longer in {}: rebuild this program where they are, or name an image", root.display());
    }
    Ok(root.to_path_buf())
}

/// Builds an image in its own target directory: the default one may be locked by the cargo that runs this program.
fn build(root: &Path, features: &str) -> anyhow::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let directory = target.join("images");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--package", "firmware", "--no-default-features"]);
    cargo.args(["--features", features, "--target", TARGET, "--profile", PROFILE, "--target-dir"]).arg(&directory);
    let status = cargo.status().with_context(|| format!("cannot run {cargo:?}"))?;
    if !status.success() {
        bail!("{cargo:?} failed; if the target is missing, run `rustup target add {TARGET}`");
    }
    Ok(directory.join(TARGET).join(PROFILE).join("firmware"))
}

#[cfg(test)]
mod tests {
    use super::{Row, Table};
    use crate::field::size::{Report, tests::footprint};

    fn row(name: &str, is_usual: bool, max_flash: u64) -> Row {
        let report = Report::new(footprint(), Some(max_flash), None);
        Row { name: name.to_owned(), features: String::new(), is_usual, report }
    }

    #[test]
    fn only_the_usual_images_are_held_to_the_budget() {
        let table = Table::of(vec![row("one", true, 24), row("special", false, 23)]);
        assert!(table.within_budget);
        let text = table.to_string();
        assert!(text.contains("one                                       24         128\n"), "{text}");
        assert!(text.contains("over the budget"), "{text}");
        assert!(!Table::of(vec![row("one", true, 23)]).within_budget);
    }
}
