//! Files that only their owner may read: keys, and the pages that contain keys.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Creates a file, which must not exist yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// Creates or replaces a file. An existing one is closed to others before anything is written.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = options().create(true).truncate(true).open(path)?;
    close_to_others(&file)?;
    file.write_all(contents)
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

#[cfg(unix)]
fn close_to_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

/// Whether anyone but its owner may read a file.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

// Elsewhere a file inherits the permissions of its directory.
#[cfg(not(unix))]
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

#[cfg(not(unix))]
fn close_to_others(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Unknown here, so assumed closed.
#[cfg(not(unix))]
pub fn is_open_to_others(_path: &Path) -> bool {
    false
}
