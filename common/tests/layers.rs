//! The modules of this crate stand in an order, and each imports only from those before it. Read from the sources, so that
//! a circle fails here before it grows.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Every module of the crate, lowest first. What stands at the crate's root (`Full`) is below all of them.
const ORDER: &[&str] = &[
    // Words and numbers.
    "limits",
    "types",
    "bits",
    "time",
    "rng",
    "short_list",
    "members",
    "peers",
    "coefficient",
    "causal_clock",
    "checksum",
    "names",
    "quantity",
    "notice",
    // What a node is told, and how its frames get on the air.
    "config",
    "mac",
    // The election.
    "timer",
    "outbox",
    "protocol",
    "engine",
    "election",
    // The node, from the radio up.
    "link",
    "ring",
    "orders",
    "data",
    "node",
    // What is built on nodes.
    "host_link",
    "board",
    "layout",
    "log",
];

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == module)
}

/// All sources below a directory.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The module at the crate's root that a source belongs to; none for the root itself.
fn module_of(source: &Path, root: &Path) -> Option<String> {
    let first = source.strip_prefix(root).unwrap().components().next().unwrap();
    let name = Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap();
    (name != "lib").then(|| name.to_owned())
}

/// The lines of a source with their numbers from 1, without comments and without the tests at its end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_test_module = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ");
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| is_test_module(pair) && pair[1].trim_end().ends_with('{'));
    let end = tests.unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().filter_map(|(at, line)| {
        let code = line.split("//").next().unwrap_or_default();
        (!code.trim().is_empty()).then_some((at + 1, code))
    })
}

/// The modules that a line names by a path from the crate's root. What is not a module (`crate::Full`, `crate::Result`) is
/// left out: names of modules begin with a small letter.
fn named(line: &str) -> Vec<&str> {
    let after = line.split("crate::").skip(1);
    let names =
        after.map(|path| path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

/// What is wrong with the imports of one source of a module.
fn upwards(module: &str, path: &str, text: &str) -> Vec<String> {
    let Some(own) = rank(module) else { return vec![format!("{path}: module `{module}` has no place in the order")] };
    let mut wrong = Vec::new();
    for (line, code) in code(text) {
        for import in named(code) {
            match rank(import) {
                None => wrong.push(format!("{path}:{line}: module `{import}` has no place in the order")),
                Some(other) if other > own => wrong.push(format!("{path}:{line}: `{module}` imports from `{import}`")),
                Some(_) => {}
            }
        }
        if code.contains("crate::{") {
            wrong.push(format!("{path}:{line}: one module an import, or this test cannot read it"));
        }
    }
    wrong
}

#[test]
fn no_module_imports_from_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    found.sort();
    let mut wrong = Vec::new();
    for source in &found {
        // Tests may use whatever helps them.
        if source.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let Some(module) = module_of(source, &root) else { continue };
        let path = source.strip_prefix(&root).unwrap().display().to_string();
        wrong.extend(upwards(&module, &path, &fs::read_to_string(source).unwrap()));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for module in ORDER {
        let is_there = found.iter().any(|source| module_of(source, &root).as_deref() == Some(*module));
        assert!(is_there, "`{module}` is in the order, but not in the crate");
    }
}

#[test]
fn an_import_that_goes_up_is_found() {
    let wrong = upwards("link", "link/mod.rs", "use crate::time::Instant;\nuse crate::node::Node;\n");
    assert_eq!(wrong, ["link/mod.rs:2: `link` imports from `node`"]);
    let wrong =
        upwards("time", "time.rs", "fn f() {\n    let x = crate::rng::Rng::new(1) + crate::link::count();\n}\n");
    assert_eq!(wrong, ["time.rs:2: `time` imports from `rng`", "time.rs:2: `time` imports from `link`"]);
    assert_eq!(upwards("news", "news.rs", "").len(), 1, "a module that nobody placed");
    assert_eq!(upwards("link", "link/mod.rs", "use crate::news::News;").len(), 1, "nor where it is imported");
    assert_eq!(upwards("ring", "ring.rs", "use crate::{link, time};").len(), 1);
    let innocent =
        "//! See [`crate::node`].\nuse crate::Full;\n#[cfg(test)]\nmod tests {\n    use crate::node::Node;\n}\n";
    assert_eq!(upwards("link", "link/mod.rs", innocent), [""; 0]);
}
