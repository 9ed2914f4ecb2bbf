//! What somebody types to flash a board: cargo's configuration, with which nobody builds here.

use std::path::Path;

use toml::Table;

fn file(path: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// An alias in one line.
fn aliases() -> Vec<(String, String)> {
    let config = file(".cargo/config.toml");
    let aliases = config["alias"].as_table().unwrap();
    let words = |value: &toml::Value| match value {
        toml::Value::Array(words) => words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" "),
        line => line.as_str().unwrap().to_owned(),
    };
    aliases.iter().map(|(name, value)| (name.clone(), words(value))).collect()
}

#[test]
fn no_alias_hides_a_command_of_cargo_or_of_its_plugins() {
    // Cargo's own, probe-rs's, those of cargo-binutils, and others that people with boards have.
    let taken = "add bench build check clean clippy config doc fetch fix fmt info init install metadata new \
                 package publish remove report run rustc search test tree update vendor version flash embed nm \
                 objcopy objdump profdata readobj size strip asm audit batch binstall bloat call-stack deny dfu \
                 expand geiger generate hack hf2 llvm-cov make miri nextest outdated watch xtask";
    for (name, _) in aliases() {
        assert!(taken.split(' ').all(|other| other != name), "`cargo {name}` is somebody else's");
    }
}

#[test]
fn a_session_outlives_resets_and_shows_the_log_alone() {
    let config = file(".cargo/config.toml");
    let runner = config["target"]["thumbv7em-none-eabihf"]["runner"].as_str().unwrap().to_owned();
    let own: Vec<String> = aliases()
        .into_iter()
        .map(|(_, line)| line)
        .filter(|line| line.starts_with("run") && line.contains("probe-rs"))
        .collect();
    assert_eq!(own.len(), 2, "{own:?}");
    for line in own.iter().chain([&runner]) {
        for flag in ["--no-catch-reset", "--no-catch-hardfault", "--rtt-up-channels 0"] {
            assert!(line.contains(flag), "{flag} is missing in {line}");
        }
    }
}

#[test]
fn every_board_can_be_built_and_run_by_name() {
    let aliases = aliases();
    for board in common::names::Board::ALL {
        let feature = format!("board-{}", board.name());
        let is_default = board == common::names::Board::default();
        for command in ["build", "run"] {
            let is_for_it = |line: &str| {
                line.starts_with(command)
                    && (line.split([' ', ',']).any(|word| word == feature) || is_default && !line.contains("board-"))
                    && line.contains("--package firmware")
            };
            assert!(aliases.iter().any(|(_, line)| is_for_it(line)), "no alias to {command} {}", board.title());
        }
        let chip = common::board::flash_map::FlashMap::of(board).chip;
        let runs = aliases.iter().filter(|(_, line)| line.starts_with("run --config") && line.ends_with(&feature));
        runs.for_each(|(name, line)| assert!(line.contains(chip), "{name} flashes another chip"));
    }
}

#[test]
fn plain_cargo_inside_the_firmware_builds_the_same_image() {
    let manifest = file("Cargo.toml");
    let inside = file("firmware/.cargo/config.toml");
    let mut shipped = manifest["profile"]["firmware"].as_table().unwrap().clone();
    assert_eq!(shipped.remove("inherits").as_ref().and_then(toml::Value::as_str), Some("dev"));
    assert_eq!(inside["profile"]["dev"].as_table(), Some(&shipped));
    assert_eq!(inside["build"]["target"].as_str(), Some("thumbv7em-none-eabihf"));
    let embed = file("firmware/Embed.toml");
    assert_eq!(embed["default"]["general"]["chip"].as_str(), Some(common::board::flash_map::FlashMap::NRF52840.chip));
}
