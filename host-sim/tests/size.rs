//! The `size` command: its exit code, and its errors for files it cannot measure.

use std::process::{Command, Output};

fn size(arguments: &[&str]) -> Output {
    let ringleader = env!("CARGO_BIN_EXE_ringleader");
    Command::new(ringleader).arg("size").args(arguments).output().expect("the program was built for this test")
}

fn complaint(arguments: &[&str]) -> String {
    let output = size(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    assert!(output.stdout.is_empty(), "a result was printed for {arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let complaint = complaint(&["no-such-image"]);
    assert!(complaint.contains("cannot read no-such-image"), "{complaint}");
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let complaint = complaint(&[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(complaint.contains("Cargo.toml: not an ELF file"), "{complaint}");
}

#[test]
fn the_image_of_another_machine_is_refused() {
    // Whatever this PC's format is, it is not the board's.
    let complaint = complaint(&[env!("CARGO_BIN_EXE_ringleader")]);
    assert!(complaint.contains("cannot measure"), "{complaint}");
}
