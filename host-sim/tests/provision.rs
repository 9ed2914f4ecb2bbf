//! Keys, pages and fleets as the command line creates them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::config::{NetworkKey, Protection, page};

/// Each test has its own empty directory.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("provision").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn ringleader(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    // An empty search path, so that no tool can flash anything.
    command.args(args.split_whitespace()).current_dir(folder).env("PATH", folder).output().unwrap()
}

fn ok(folder: &Path, args: &str) -> String {
    let output = ringleader(folder, args);
    assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fails(folder: &Path, args: &str) -> String {
    let output = ringleader(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args}");
    String::from_utf8(output.stderr).unwrap()
}

const KEY_DIGITS: &str = "00112233445566778899aabbccddeeff";

fn known_key(folder: &Path) -> NetworkKey {
    std::fs::write(folder.join("known.key"), format!("# a test's\n{KEY_DIGITS}\n")).unwrap();
    NetworkKey::new(std::array::from_fn(|i| u8::try_from(i * 0x11).unwrap()))
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_key_is_random_secret_and_never_overwritten() {
    let folder = folder("key");
    let said = ok(&folder, "key new a.key") + &ok(&folder, "key new b.key");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (a, b) = (read("a.key"), read("b.key"));
    assert_ne!(a, b);
    let digits = |text: &str| text.lines().last().unwrap().to_owned();
    assert_eq!(digits(&a).len(), 32);
    assert!(!said.contains(&digits(&a)) && !said.contains(&digits(&b)), "a key was printed");
    #[cfg(unix)]
    assert_eq!(mode(&folder.join("a.key")), 0o600);
    assert!(fails(&folder, "key new a.key").contains("already exists; not overwritten"));
    assert_eq!(read("a.key"), a);
}

/// The page of one configuration, byte for byte. Boards in the field read it: the bytes may only change with its version.
#[test]
fn the_bytes_of_a_page_are_frozen() {
    let folder = folder("golden");
    let key = known_key(&folder);
    ok(&folder, "provision --id 2 --network garden --key-file known.key --ring 1,2,3 --power -4 -o page.bin");
    let bytes = std::fs::read(folder.join("page.bin")).unwrap();
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let header = "524c6366010031000200";
    let network = "8f96010ffc";
    let key_and_ring = format!("00{KEY_DIGITS}000000010301020300");
    let radii_timings_sum = "00008001030ed00f0ae80703a01fe8072204cf1c";
    assert_eq!(digits.concat(), [header, network, &key_and_ring, radii_timings_sum].concat());
    let config = page::decode(&bytes).unwrap();
    assert_eq!((config.id.0, config.power_dbm, config.channel), (2, -4, 15));
    assert_eq!(config.protection, Protection::Ascon(key));
}

#[test]
fn a_hex_file_carries_the_same_page_to_its_address() {
    let folder = folder("hex");
    known_key(&folder);
    let said = ok(&folder, "provision --id 7 --network garden --key-file known.key");
    assert!(said.contains("node 7: PAN 0x") && said.contains("channel 15, 0 dBm, Ascon-AEAD128, Height"), "{said}");
    assert!(said.contains("$ probe-rs download --chip nRF52840_xxAA --binary-format hex node-7.hex"), "{said}");
    ok(&folder, "provision --id 7 --network garden --key-file known.key -o page.bin");
    let hex = std::fs::read_to_string(folder.join("node-7.hex")).unwrap();
    let lines: Vec<&str> = hex.lines().collect();
    assert_eq!((lines[0], *lines.last().unwrap()), (":02000004000DED", ":00000001FF"));
    let data: String = lines[1..lines.len() - 1].iter().map(|line| &line[9..line.len() - 2]).collect();
    let bytes = std::fs::read(folder.join("page.bin")).unwrap();
    assert_eq!(data, bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat());
    assert!(lines[1].starts_with(":10F00000"), "address 0xdf000: {}", lines[1]);
    #[cfg(unix)]
    assert_eq!(mode(&folder.join("node-7.hex")), 0o600, "it contains a key");
    let said =
        ok(&folder, "provision --id 7 --network x --key-file known.key --board microbit-v2 --probe 0d28:0204:99");
    assert!(said.contains("--chip nRF52833_xxAA --probe 0d28:0204:99") && said.contains("0x7f000"), "{said}");
}

#[test]
fn a_file_that_others_could_read_is_closed_before_a_key_is_in_it() {
    let folder = folder("closed");
    known_key(&folder);
    std::fs::write(folder.join("page.bin"), "old").unwrap();
    ok(&folder, "provision --id 1 --network a --key-file known.key -o page.bin");
    #[cfg(unix)]
    assert_eq!(mode(&folder.join("page.bin")), 0o600);
    assert!(page::decode(&std::fs::read(folder.join("page.bin")).unwrap()).is_ok());
}

#[test]
fn bad_input_is_told_and_no_key_is() {
    let folder = folder("bad");
    known_key(&folder);
    let with = |more: &str| fails(&folder, &format!("provision --id 1 --network a --key-file known.key {more}"));
    let wrong = [
        (with("--channel 9"), "node 1: `channel` must be from 11 to 26"),
        (with("--power 1"), "`power_dbm` must be one of"),
        (with("--ring 2,3"), "a list with this node's id on it"),
        (with("--algorithm frlle"), "`ring` must be given"),
        (with("--algorithm raft"), "possible values: hs, height"),
        (with("-o page.elf"), "must end in .hex"),
        (with("--flash"), "probe-rs is not on the path"),
        (with("--port nowhere"), "cannot open nowhere"),
        (with("--port known.key"), "not a serial port"),
        (fails(&folder, "provision --id 0 --network a --unprotected"), "`id` must be from 1 to 65533"),
        (fails(&folder, "provision --id 1 --network a --key-file none"), "`ringleader key new none` creates one"),
        (fails(&folder, "provision --id 1 --network a"), "--key-file"),
    ];
    for (said, expected) in wrong {
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(!said.contains(KEY_DIGITS), "{said}");
    }
}

const FLEET: &str = "network = \"garden\"\nkey_file = \"known.key\"\nring = [1, 2]\n
[[node]]\nid = 1\nprobe = \"1366:1015:1\"\n
[[node]]\nid = 2\nprobe = \"1366:1015:2\"\nboard = \"nrf52833-dk\"\n";

#[test]
fn a_fleet_gets_a_page_for_each_board() {
    let folder = folder("fleet");
    let key = known_key(&folder);
    std::fs::write(folder.join("fleet.toml"), FLEET).unwrap();
    let said = ok(&folder, "provision --fleet fleet.toml --out pages");
    for line in [
        "$ probe-rs download --chip nRF52840_xxAA --probe 1366:1015:1 --binary-format hex pages/node-1.hex",
        "$ probe-rs download --chip nRF52833_xxAA --probe 1366:1015:2 --binary-format hex pages/node-2.hex",
        "2 boards.",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(folder.join("pages/node-1.hex").exists() && folder.join("pages/node-2.hex").exists());
    let members = host_sim::field::fleet::read(&folder.join("fleet.toml")).unwrap();
    assert!(members.iter().all(|member| member.config.protection == Protection::Ascon(key.clone())));
}

#[test]
fn a_board_on_a_port_is_never_flashed_through_somebody_elses_probe() {
    let folder = folder("fleet_port");
    known_key(&folder);
    std::fs::write(folder.join("fleet.toml"), FLEET.replace("probe = \"1366:1015:2\"", "port = \"nowhere\"")).unwrap();
    let said = ok(&folder, "provision --fleet fleet.toml --out pages --only 2");
    assert!(said.contains("$ ringleader provision --fleet fleet.toml --only 2 --out pages --flash"), "{said}");
    assert!(!said.contains("probe-rs") && said.ends_with("1 board.\n"), "{said}");
    let said = fails(&folder, "provision --fleet fleet.toml --out pages --only 2 --flash");
    let told = "done: none\nleft: 2\nto continue: ringleader provision --fleet fleet.toml --only 2 --out pages --flash";
    assert!(said.contains(told) && said.contains("cannot open nowhere"), "{said}");
    let said = fails(&folder, "provision --fleet fleet.toml --only 2,9");
    assert!(said.contains("no [[node]] has the id 9 that --only names"), "{said}");
}

#[test]
fn a_wrong_fleet_is_told_with_file_and_line() {
    let folder = folder("wrong_fleet");
    known_key(&folder);
    let with = |from: &str, to: &str| {
        std::fs::write(folder.join("fleet.toml"), FLEET.replace(from, to)).unwrap();
        fails(&folder, "provision --fleet fleet.toml --flash")
    };
    assert!(with("id = 2", "id = 1").contains("fleet.toml:10: `id` 1 is already taken"));
    assert!(with("known.key", "none.key").contains("cannot read the key file none.key"));
    assert!(with("probe = \"1366:1015:2\"", "").contains("node 2 has neither `probe` nor `port`"));
    assert!(fails(&folder, "provision --fleet none.toml").contains("cannot read the fleet file none.toml"));
}

#[test]
fn a_board_on_its_way_to_another_key_gets_both() {
    let folder = folder("former");
    let former = known_key(&folder);
    ok(&folder, "key new next.key");
    let both = "provision --id 2 --network garden --key-file next.key --key-id 1 --former-key-file known.key";
    let said = ok(&folder, &format!("{both} -o page.bin"));
    assert!(said.contains("(key 1, still accepting key 0)"), "{said}");
    let config = page::decode(&std::fs::read(folder.join("page.bin")).unwrap()).unwrap();
    let kept = config.former.expect("the former key");
    assert_eq!((config.key_id, kept.key_id, kept.protection), (1, 0, Protection::Ascon(former.clone())));
    assert_ne!(config.protection, Protection::Ascon(former.clone()));

    ok(&folder, &format!("{both} --former-cipher aes-ccm -o page.bin"));
    let config = page::decode(&std::fs::read(folder.join("page.bin")).unwrap()).unwrap();
    assert_eq!(config.former.map(|kept| kept.protection), Some(Protection::AesCcm(former)));
    assert!(
        fails(&folder, &format!("{both} --former-key-id 1"))
            .contains("`former.key_id` must be from 0 to 3 and another")
    );
}
