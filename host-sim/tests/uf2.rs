//! The `uf2` command: what it writes, and what it refuses.

use std::path::PathBuf;
use std::process::{Command, Output};

fn uf2(arguments: &[&str]) -> Output {
    let ringleader = env!("CARGO_BIN_EXE_ringleader");
    Command::new(ringleader).arg("uf2").args(arguments).output().expect("the program was built for this test")
}

/// The smallest ELF file of an image: its header, and one segment at this address.
fn image(address: u32, bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let halves = |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|value| file.extend(value.to_le_bytes()));
    let words = |file: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|value| file.extend(value.to_le_bytes()));
    let length = u32::try_from(bytes.len()).unwrap();
    // An executable for an ARM; the program header follows at 52, and there are no sections.
    halves(&mut file, &[2, 40]);
    words(&mut file, &[1, address, 52, 0, 0]);
    halves(&mut file, &[52, 32, 1, 40, 0, 0]);
    words(&mut file, &[1, 84, address, address, length, length, 5, 4]);
    file.extend(bytes);
    file
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a file for the test");
    path
}

#[test]
fn the_file_lies_beside_the_image_unless_it_is_named() {
    let elf = written("uf2-beside.elf", &image(0x2_7000, &[7; 257]));
    let elf = elf.to_str().unwrap();
    let output = uf2(&[elf]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("uf2-beside.uf2: 2 blocks, flash from 0x27000 to 0x27200"), "{text}");
    assert!(text.contains("S140 version 7, as the Seeed XIAO nRF52840"), "{text}");
    let beside = std::fs::read(elf.replace(".elf", ".uf2")).unwrap();
    assert_eq!((beside.len(), &beside[..4]), (1_024, &b"UF2\n"[..]));

    let named = written("uf2-named.uf2", &[]);
    assert!(uf2(&[elf, "--out", named.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::read(named).unwrap(), beside);
}

#[test]
fn an_image_for_a_probe_is_refused_and_nothing_is_written() {
    let elf = written("uf2-probe.elf", &image(0, &[7; 4]));
    let output = uf2(&[elf.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("would overwrite the master boot record"), "{text}");
    assert!(!elf.with_extension("uf2").exists());
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let output = uf2(&[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Cargo.toml: not an ELF file"));
}
