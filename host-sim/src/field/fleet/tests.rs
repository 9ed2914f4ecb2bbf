use common::config::{NetworkKey, Protection};
use common::names::{Algorithm, Board};

use super::{parse, with_keys};
use crate::field::provision::network::pan;

const FLEET: &str = r#"network = "garden"
key_file = "garden.key"
ring = [1, 2, 3]
channel = 20

[[node]]
id = 1
probe = "1366:1015:1"

[[node]]
id = 2
probe = "0d28:0204:2"
board = "microbit-v2"
power = "4 dBm"

[[node]]
id = 3
port = "/dev/ttyACM0"
channel = 21
cipher = "aes-ccm"
"#;

#[test]
fn boards_get_what_all_have_and_what_is_their_own() {
    let fleet = parse("fleet.toml", FLEET).unwrap();
    assert_eq!(fleet.key_file, "garden.key");
    let [a, b, c] = &fleet.members[..] else { panic!("three boards") };
    assert!(fleet.members.iter().all(|member| member.config.pan == pan("garden")));
    assert_eq!(
        (a.config.id.0, a.config.algorithm, a.config.channel, a.board),
        (1, Algorithm::Hs, 20, Board::Nrf52840Dk)
    );
    assert_eq!((b.config.power_dbm, b.board, b.probe.as_deref()), (4, Board::MicrobitV2, Some("0d28:0204:2")));
    assert_eq!((c.config.channel, c.port.as_deref()), (21, Some("/dev/ttyACM0")));
    assert!(format!("{:?}", c.config).contains("AesCcm(NetworkKey(hidden))"));
}

#[test]
fn a_fleet_on_its_way_to_another_key_keeps_the_former_one() {
    let moving = "key_file = \"garden.key\"\nkey_id = 1\nformer_key_file = \"old.key\"\n";
    let fleet = parse("fleet.toml", &FLEET.replacen("key_file = \"garden.key\"\n", moving, 1)).unwrap();
    assert_eq!(fleet.former_key_file.as_deref(), Some("old.key"));
    let keys = |key: &str| NetworkKey::new(*key.as_bytes().first_chunk().unwrap());
    for member in fleet.members {
        let config = with_keys(member, &keys("the new key, new!"), Some(&keys("the old key, old!"))).config;
        let former = config.former.expect("it was named");
        assert_eq!((config.key_id, former.key_id), (1, 0));
        let is_aes = config.id.0 == 3;
        let protection = |key| if is_aes { Protection::AesCcm(key) } else { Protection::Ascon(key) };
        assert_eq!(config.protection, protection(keys("the new key, new!")));
        assert_eq!(former.protection, protection(keys("the old key, old!")));
    }
    assert!(
        problem("ring =", "former_key_file = \"old.key\"\nring =").contains("`former.key_id` must be from 0 to 3 and")
    );
    assert!(problem("ring =", "former_key_id = 1\nring =").contains("needs the key `former_key_file`"));
}

/// The error for the file with one change.
fn problem(from: &str, to: &str) -> String {
    assert!(FLEET.contains(from), "{from}");
    parse("fleet.toml", &FLEET.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn everything_wrong_is_told_with_its_line() {
    let wrong = [
        ("network = \"garden\"", "", "fleet.toml:1: the file needs the key `network`"),
        ("key_file", "keyfile", "fleet.toml:2: unknown key `keyfile`; did you mean `key_file`?"),
        ("ring = [1, 2, 3]", "ring = [1, 2, 2]", "`ring` is not a ring: 2 is on it twice"),
        ("ring = [1, 2, 3]", "ring = [1, 2]", "fleet.toml:16: node 3: `ring` must be a list with this node's id on it"),
        ("ring = [1, 2, 3]", "ring = [1, 2, 3, 4]", "fleet.toml:3: `ring` has 4, but no [[node]] has that id"),
        ("\"garden\"", "\"\"", "fleet.toml:1: `network` is empty"),
        ("1366:1015:1", "hello", "fleet.toml:8: `probe` must be VID:PID:SERIAL"),
        ("1366:1015:1", "1366:1015:", "fleet.toml:8: `probe` must be VID:PID:SERIAL"),
        ("channel = 20", "channel = 27", "fleet.toml:4: `channel` must be a whole number from 11 to 26"),
        ("id = 2", "id = 1", "fleet.toml:11: `id` 1 is already taken"),
        ("id = 2", "id = 0", "fleet.toml:11: `id` must be a whole number from 1 to 65533"),
        ("id = 2", "", "[node] needs the key `id`"),
        ("0d28:0204:2", "1366:1015:1", "fleet.toml:12: `probe` is already used by node 1"),
        (
            "microbit-v2",
            "microbit-v1",
            "fleet.toml:13: `board` cannot be \"microbit-v1\"; did you mean \"microbit-v2\"?",
        ),
        ("4 dBm", "1 dBm", "node 2: `power_dbm` must be one of -40"),
        ("4 dBm", "0.5 dBm", "fleet.toml:14: `power` must be whole dBm"),
        ("4 dBm", "4", "has no unit"),
        ("aes-ccm", "des", "`cipher` cannot be \"des\"; it may be ascon, aes-ccm"),
        ("[[node]]\nid = 1", "[[nodes]]\nid = 1", "did you mean `node`?"),
        ("channel = 20", "channel = ", "fleet.toml:4: not TOML"),
    ];
    for (from, to, expected) in wrong {
        let said = problem(from, to);
        assert!(said.starts_with("fleet.toml:") && said.contains(expected), "{said}");
    }
    let empty = parse("f.toml", "network = \"a\"\nkey_file = \"b\"\n").unwrap_err().to_string();
    assert!(empty.contains("the fleet has no boards"), "{empty}");
}
