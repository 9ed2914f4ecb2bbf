//! The program under test, started in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder for one test of `group`.
pub fn folder(group: &str, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(group).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn ringleader(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(args.split_whitespace()).current_dir(folder).output().unwrap()
}
