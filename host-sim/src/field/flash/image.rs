//! The image for a kind of board: built from the sources or named, and kept under its build id.
//!
//! All images are built to one path, and a board's log can only be read with the very ELF file that it runs. So each file
//! that goes onto a board is first copied to an archive, as `BUILD_ID.elf`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use common::host_link::BuildId;
use common::names::Board;
use emulator::elf::{Elf, Segment};
use emulator::images;

use crate::output;

/// Before the digest in the linker's note: three lengths and the name.
const NOTE_HEADER: u32 = 16;

/// An image that can be proven to be on a board.
#[derive(Clone, Debug)]
pub struct Image {
    pub elf: Vec<u8>,
    pub build: BuildId,
    /// Where in flash the build id lies.
    pub build_address: u32,
    pub segments: Vec<Segment>,
}

impl Image {
    /// The ELF file of a linker.
    pub fn parse(elf: Vec<u8>) -> anyhow::Result<Self> {
        let file = Elf::parse(&elf)?;
        let symbols = file.symbols()?;
        let note = symbols.iter().find(|symbol| symbol.name == "__build_id");
        let build_address = note.context("it has no build id: is it this firmware?")?.address + NOTE_HEADER;
        let segments = file.segments()?;
        let build = segments.iter().find_map(|segment| {
            let at = usize::try_from(build_address.checked_sub(segment.address)?).ok()?;
            segment.bytes.get(at..)?.first_chunk().copied()
        });
        let build = BuildId(build.context("its build id is not in flash")?);
        Ok(Self { elf, build, build_address, segments })
    }

    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read the image {}", path.display()))?;
        Self::parse(bytes).with_context(|| format!("{} is not a firmware image", path.display()))
    }

    /// Builds it from the sources, if it is missing or outdated.
    pub fn build(board: Board) -> anyhow::Result<Self> {
        output::progress(&format!("building the image for the {} if it is outdated ...", board.title()));
        let built = images::elf_with("firmware", features(board));
        output::clear_progress();
        let bytes = built.map_err(|why| {
            anyhow::anyhow!("{why}\ncannot build the image here; name one with --image {}=FILE", board.name())
        })?;
        Self::parse(bytes.to_vec()).with_context(|| format!("the image for the {}", board.title()))
    }

    /// Keeps it in the archive; its place there.
    pub fn archive(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        let path = folder.join(format!("{}.elf", self.build));
        // Under a name of its own first, so that nobody ever finds half a file.
        let half = folder.join(format!("{}.elf.part", self.build));
        let kept = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            if std::fs::read(&path).is_ok_and(|kept| kept == self.elf) {
                return Ok(());
            }
            std::fs::write(&half, &self.elf)?;
            std::fs::rename(&half, &path)
        };
        kept().with_context(|| format!("cannot keep the image as {}", path.display()))?;
        Ok(path)
    }
}

/// Those of the package `firmware` for a board. The nRF52840-DK's are the default and must be asked for as such, or its image
/// would be another one, with a build id of its own, than `cargo run-dk` flashes and emulated boards run.
fn features(board: Board) -> Option<&'static str> {
    match board {
        Board::Nrf52840Dk => None,
        Board::Nrf52840Dongle => Some("board-nrf52840-dongle"),
        Board::Nrf52833Dk => Some("board-nrf52833-dk"),
        Board::MicrobitV2 => Some("board-microbit-v2"),
        Board::XiaoNrf52840 => Some("board-xiao-nrf52840"),
        Board::FeatherNrf52840 => Some("board-feather-nrf52840"),
    }
}

/// Whether the board comes with a bootloader that takes UF2 files.
pub fn takes_uf2(board: Board) -> bool {
    crate::field::uf2::SOFT_DEVICES.iter().any(|device| device.board == board)
}

#[cfg(test)]
mod tests {
    use common::names::Board;

    #[test]
    fn every_board_is_built_with_its_own_feature() {
        for board in Board::ALL {
            let name = format!("board-{}", board.name());
            assert_eq!(super::features(board).unwrap_or("board-nrf52840-dk"), name);
        }
    }
}
