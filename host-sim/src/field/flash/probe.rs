//! A board on a debug probe, through probe-rs: what is in its flash, and writing it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use common::board::flash_map::FlashMap;
use common::names::Board;

use crate::cli::shell::quoted;
use crate::note;

#[derive(Clone, Debug)]
pub struct Probe<'f> {
    pub board: Board,
    /// As `probe-rs list` shows it. Without it probe-rs would take any board that is plugged in.
    pub selector: &'f str,
}

impl Probe<'_> {
    /// Bytes of its flash.
    pub fn read(&self, address: u32, count: usize) -> anyhow::Result<Vec<u8>> {
        let at = format!("{address:#x}");
        let said = self.call("read", &["b8".into(), at.into(), count.to_string().into()])?;
        let bytes: Option<Vec<u8>> = said.split_whitespace().map(|word| u8::from_str_radix(word, 16).ok()).collect();
        let bytes = bytes.filter(|bytes| bytes.len() == count);
        bytes.with_context(|| format!("`probe-rs read` said {:?} instead of {count} bytes", said.trim()))
    }

    /// Writes an ELF or Intel HEX file.
    pub fn write(&self, file: &Path, is_hex: bool) -> anyhow::Result<()> {
        let mut args: Vec<OsString> = Vec::new();
        if is_hex {
            args.extend(["--binary-format".into(), "hex".into()]);
        }
        args.push(file.into());
        self.call("download", &args).map(drop)
    }

    pub fn reset(&self) -> anyhow::Result<()> {
        self.call("reset", &[]).map(drop)
    }

    fn call(&self, step: &str, args: &[OsString]) -> anyhow::Result<String> {
        let chip = FlashMap::of(self.board).chip;
        let mut command = Command::new("probe-rs");
        command.args([step, "--chip", chip, "--probe", self.selector]).args(args);
        let words = command.get_args().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
        note!("$ probe-rs {words}");
        let output = command.output().context("probe-rs is not on the path: install it (https://probe.rs)")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`probe-rs {words}` failed ({}): {}", output.status, said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
