//! One page with everything in it: nothing is fetched from anywhere.

use std::fmt::Write as _;

use miniz_oxide::deflate::compress_to_vec_zlib;
use serde::Serialize;
use sim::scenario::input::catalogue::BUILT_IN;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SOURCE: &str = include_str!("page/source.js");
const SCRIPTS: [&str; 6] = [
    include_str!("page/store.js"),
    include_str!("page/draw.js"),
    include_str!("page/charts.js"),
    include_str!("page/actions.js"),
    include_str!("page/main.js"),
    include_str!("page/controls.js"),
];

/// The strongest compression: a page is written once and read often.
const COMPRESSION: u8 = 9;

/// Where a page gets its records from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'p> {
    /// The simulator, which the page carries along as WebAssembly.
    Module(&'p [u8]),
    /// The program that serves the page, below this path.
    Stream { address: &'p str },
    /// Boards on cables, which the program that serves the page watches.
    Live { address: &'p str },
    /// A recording, line by line.
    Trace(&'p str),
}

/// What a page is to show.
#[derive(Clone, Copy, Debug)]
pub struct Show<'p> {
    pub name: &'p str,
    /// The scenario; empty for recordings.
    pub text: &'p str,
    /// The scenario's own, unless given.
    pub seed: Option<u64>,
    pub origin: Origin<'p>,
}

#[derive(Serialize)]
struct Config<'p> {
    mode: &'static str,
    name: &'p str,
    text: &'p str,
    /// As text: numbers in a script are exact up to 2^53 only.
    seed: Option<String>,
    address: &'p str,
    scenarios: Vec<Known>,
}

#[derive(Serialize)]
struct Known {
    name: &'static str,
    text: &'static str,
}

pub fn html(show: Show<'_>) -> String {
    let Show { name, text, seed, origin } = show;
    let (mode, address, data) = match origin {
        Origin::Module(bytes) => ("wasm", "", Some(("module", bytes))),
        Origin::Stream { address } => ("stream", address, None),
        Origin::Live { address } => ("live", address, None),
        Origin::Trace(lines) => ("trace", "", Some(("trace", lines.as_bytes()))),
    };
    let known = |&(name, text): &(&'static str, &'static str)| Known { name, text };
    // The module brings its own.
    let scenarios = if mode == "stream" { BUILT_IN.iter().map(known).collect() } else { Vec::new() };
    let config = Config { mode, name, text, seed: seed.map(|seed| seed.to_string()), address, scenarios };
    let config = serde_json::to_string(&config).unwrap_or_default();
    let mut blocks = block("config", "application/json", &config.replace('<', "\\u003c"));
    if let Some((id, bytes)) = data {
        blocks += &block(id, "text/plain", &base64(&compress_to_vec_zlib(bytes, COMPRESSION)));
    }
    // Each goes where its mark stands; a text that is put in is not searched again.
    let mut page = String::new();
    let mut rest = PAGE;
    let scripts = SCRIPTS.map(|script| script.replace("\"use strict\";\n", "")).join("\n");
    for (mark, with) in [
        ("/*STYLE*/", STYLE.to_owned()),
        ("<!--DATA-->", blocks),
        ("/*SOURCE*/", SOURCE.to_owned()),
        ("/*SCRIPT*/", format!("\"use strict\";\n{scripts}")),
    ] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(&with);
        rest = after;
    }
    page + rest
}

fn block(id: &str, kind: &str, text: &str) -> String {
    format!("<script type=\"{kind}\" id=\"{id}\">{text}</script>\n")
}

/// Bytes as letters, four for every three.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = three.iter().enumerate().fold(0_u32, |word, (at, &byte)| word | u32::from(byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = char::from(LETTERS[(word >> (18 - 6 * at) & 63) as usize]);
            let _ = write!(text, "{}", if at <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Origin, Show, base64, html};

    #[test]
    fn letters_are_those_of_the_standard() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, letters) in cases {
            assert_eq!(base64(bytes.as_bytes()), letters);
        }
        assert_eq!(base64(&[0xFB, 0xFF, 0xFE]), "+//+");
    }

    #[test]
    fn a_page_holds_everything_and_nothing_in_it_can_break_out() {
        let text = "name = \"</script><script>alert(1)</script>\"\n# /*SCRIPT*/";
        let page = html(Show { name: "t", text, seed: Some(u64::MAX), origin: Origin::Module(b"\0asm") });
        assert!(!page.contains("alert(1)</script>"));
        assert!(page.contains("\"seed\":\"18446744073709551615\""));
        for mark in ["/*STYLE*/", "<!--DATA-->", "/*SOURCE*/"] {
            assert!(!page.contains(mark), "{mark}");
        }
        for foreign in ["http://", "https://", "//cdn", "@import", "src="] {
            assert!(!page.contains(foreign), "a page fetches nothing: {foreign}");
        }
        let recorded = html(Show { name: "t", text: "", seed: None, origin: Origin::Trace("{}\n") });
        assert!(recorded.contains("\"mode\":\"trace\"") && recorded.contains("id=\"trace\""));
    }
}
