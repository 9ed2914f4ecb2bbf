//! Builds images for boards, for tests and for the command that runs boards.
//!
//! Images have a target directory of their own, because the cargo that runs the caller may hold the lock of the usual one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub const TARGET: &str = "thumbv7em-none-eabihf";

/// Builds a package of the workspace at `root` for the board and returns the path of the ELF file. `profile` is one of that
/// workspace, usually `firmware`. The binary has the name of the package.
pub fn build(root: &Path, package: &str, profile: &str) -> Result<PathBuf, String> {
    Ok(build_with(root, package, TARGET, profile, None)?.join(package))
}

/// Builds a package for any target and returns the directory of what came of it.
pub fn build_for(root: &Path, package: &str, target: &str, profile: &str) -> Result<PathBuf, String> {
    build_with(root, package, target, profile, None)
}

/// Builds with these features instead of the default ones, if there are any. All images of one package have the same path, so
/// the last one built is there.
fn build_with(
    root: &Path,
    package: &str,
    target: &str,
    profile: &str,
    features: Option<&str>,
) -> Result<PathBuf, String> {
    have_target(root, target)?;
    let usual = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let directory = usual.join("images");
    let arguments = ["build", "--quiet", "--locked", "--package", package, "--target", target, "--profile", profile];
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(arguments).arg("--target-dir").arg(&directory);
    if let Some(features) = features {
        cargo.args(["--no-default-features", "--features", features]);
    }
    // Flags for coverage or sanitizers are meant for the PC, and an image that is built bit by bit is a slower one.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_INCREMENTAL");
    run(cargo)?;
    Ok(directory.join(target).join(profile))
}

/// The ELF file of a package of this workspace, as it is flashed. The first call builds it; concurrent calls wait.
pub fn elf(package: &'static str) -> Result<Arc<[u8]>, String> {
    elf_with(package, None)
}

/// The same with these features instead of the default ones, if there are any.
pub fn elf_with(package: &'static str, features: Option<&'static str>) -> Result<Arc<[u8]>, String> {
    type Built = Arc<OnceLock<Result<Arc<[u8]>, String>>>;
    static BUILT: Mutex<BTreeMap<(&str, Option<&str>), Built>> = Mutex::new(BTreeMap::new());
    // Held until the file is read, because the next build replaces it.
    static BUILDER: Mutex<()> = Mutex::new(());
    let mut images = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let image = Arc::clone(images.entry((package, features)).or_default());
    drop(images);
    let bytes = image.get_or_init(|| {
        let _alone = BUILDER.lock().unwrap_or_else(PoisonError::into_inner);
        let path = build_with(&workspace(), package, TARGET, "firmware", features)?.join(package);
        let bytes = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(bytes.into())
    });
    bytes.clone()
}

/// The workspace that this crate was built in.
pub fn workspace() -> PathBuf {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_directory.ancestors().nth(2).unwrap_or(crate_directory).to_path_buf()
}

/// Installs the target if it is missing. Not every rustup does that by itself.
fn have_target(root: &Path, target: &str) -> Result<(), String> {
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.current_dir(root).args(arguments);
        command
    };
    // Without rustup, the compiler reports a missing target.
    let Ok(installed) = run(rustup(&["target", "list", "--installed"])) else { return Ok(()) };
    if installed.lines().any(|line| line.trim() == target) {
        return Ok(());
    }
    run(rustup(&["target", "add", target])).map(drop)
}

fn run(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)))
}
