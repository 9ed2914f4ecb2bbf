//! docs/dependencies.md gives a reason for every crate that the project takes from others, and for no other crate.

use std::collections::BTreeSet;
use std::path::Path;

use toml::Table;

/// A heading of the document, the packages below it, and those below another heading that they share crates with.
struct Section {
    heading: &'static str,
    packages: &'static [&'static str],
    besides: &'static [&'static str],
}

const SECTIONS: [Section; 9] = [
    Section { heading: "## The core", packages: &["common"], besides: &[] },
    Section { heading: "## The tools", packages: &["host-sim"], besides: &[] },
    Section { heading: "## The gateway", packages: &["host-sim/gateway"], besides: &["## The tools"] },
    Section { heading: "## The simulator", packages: &["host-sim/sim", "host-sim/web"], besides: &[] },
    Section { heading: "## The ideal network", packages: &["host-sim/ideal", "host-sim/proofs"], besides: &[] },
    Section {
        heading: "## The board emulator",
        packages: &["host-sim/emulator", "host-sim/emulator/test-image", "host-sim/emulator/selftest"],
        besides: &["## The board: "],
    },
    Section { heading: "## The board: ", packages: &["firmware"], besides: &[] },
    Section { heading: "## Tests on boards", packages: &["firmware/on-target"], besides: &["## The board: "] },
    Section { heading: "## Fuzzing", packages: &["fuzz"], besides: &[] },
];

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(package: &str) -> Table {
    let path = root().join(package).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The crates that a package takes from others: neither a path nor one of the workspace's own.
fn foreign(package: &str) -> BTreeSet<String> {
    let manifest = manifest(package);
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(Table::values);
    let parts = std::iter::once(&manifest).chain(targets.filter_map(toml::Value::as_table));
    let lists =
        parts.flat_map(|part| ["dependencies", "dev-dependencies", "build-dependencies"].map(|key| part.get(key)));
    let is_own = |name: &str, value: &toml::Value| name == "common" || value.get("path").is_some();
    let entries = lists.flatten().filter_map(toml::Value::as_table).flatten();
    entries.filter(|(name, value)| !is_own(name, value)).map(|(name, _)| name.clone()).collect()
}

/// The text from a heading to the next one.
fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let start = document.find(heading).unwrap_or_else(|| panic!("no heading {heading:?}"));
    let text = &document[start..];
    text[2..].find("\n## ").map_or(text, |end| &text[..end + 2])
}

/// What the tables of a section name, without what they say about it in brackets.
fn named(section: &str) -> BTreeSet<String> {
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split(" (").next().unwrap_or_default().split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

#[test]
fn every_dependency_has_its_reason() {
    let document = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    for Section { heading, packages, besides } in SECTIONS {
        let own = section(&document, heading);
        let besides: Vec<&str> = besides.iter().map(|heading| section(&document, heading)).collect();
        let is_told = |name: &String| [own].iter().chain(&besides).any(|text| text.contains(&format!("`{name}`")));
        let used: BTreeSet<String> = packages.iter().flat_map(|package| foreign(package)).collect();
        let untold: Vec<&String> = used.iter().filter(|name| !is_told(name)).collect();
        assert!(untold.is_empty(), "{heading}: no reason for {untold:?}");
        let gone: Vec<String> =
            named(own).into_iter().filter(|name| name != "common" && !used.contains(name)).collect();
        assert!(gone.is_empty(), "{heading}: {gone:?} is no longer used by {packages:?}");
    }
}

#[test]
fn every_package_is_in_a_section() {
    let workspace = manifest("");
    let members = workspace["workspace"]["members"].as_array().unwrap().iter().map(|member| member.as_str().unwrap());
    let listed: Vec<&str> = SECTIONS.iter().flat_map(|section| section.packages).copied().collect();
    for member in members {
        assert!(listed.contains(&member), "{member} is in no section");
    }
}
