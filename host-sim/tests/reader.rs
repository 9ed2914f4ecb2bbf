//! What the scenario reader refuses, with the line and a hint; whatever it accepts can be run.

use common::names::Algorithm;
use common::rng::Rng;
use sim::scenario::input::catalogue::BUILT_IN;
use sim::scenario::input::read::read;

use crate::harness;

const GOOD: &str = r#"name = "t"
duration = "60 s"
[topology]
kind = "grid"
nodes = 4
spacing = "10 m"
[radio]
model = "plain"
[protocol]
kind = "height"
[[fault]]
kind = "crash"
nodes = [2]
at = "5 s"
[expect]
agreement_within = "10 s"
"#;

/// Each change of a good text, from this to that, is refused at this line and with these words.
pub(crate) fn refused(good_text: &str, cases: &[(&str, &str, usize, &str)]) {
    assert!(read("good.toml", good_text).is_ok());
    for (good, bad, line, says) in cases {
        let text = good_text.replacen(good, bad, 1);
        assert_ne!(text, good_text, "{good}");
        let shown = read("bad.toml", &text).map_or_else(|problem| problem.to_string(), |_| "accepted".to_owned());
        let begins = format!("bad.toml:{line}: ");
        assert!(shown.starts_with(&begins) && shown.contains(says), "{bad}\n{shown}\nwanted {line}: {says}");
    }
}

#[test]
fn what_the_core_refuses_is_refused() {
    let ring = |nodes: usize, kind: &str| {
        let text = GOOD.replace("nodes = 4", &format!("nodes = {nodes}")).replace("\"height\"", &format!("\"{kind}\""));
        read("t.toml", &text).map(drop).map_err(|problem| problem.to_string())
    };
    for kind in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.needs_ring()).map(Algorithm::name) {
        assert_eq!(ring(64, kind), Ok(()));
        let problem = ring(65, kind).unwrap_err();
        assert!(
            problem.starts_with("t.toml:10: `kind` runs on rings of up to 64 nodes, and there are 65"),
            "{problem}"
        );
    }
    assert_eq!(ring(65, "hierarchy"), Ok(()));
    refused(GOOD, &[("\"height\"", "\"hierarchy\"\nradii = []", 11, "`radii` must have 1 to 3 levels")]);
}

#[test]
fn every_quantity_has_ends() {
    let time = "must be between 0 s and 30 d";
    let power = "must be between -150 dBm and 30 dBm";
    let point = "no coordinate may be beyond 100 km";
    refused(
        GOOD,
        &[
            ("duration = \"60 s\"", "duration_s = 1e300", 2, time),
            ("at = \"5 s\"", "at_s = 1e300", 14, time),
            ("at = \"5 s\"", "at = \"5 s\"\nfor_s = 1e300", 15, time),
            ("agreement_within = \"10 s\"", "agreement_within_s = 1e300", 16, time),
            ("\"60 s\"", "\"31 d\"", 2, time),
            ("spacing = \"10 m\"", "spacing_km = 1e308", 6, "must be between 0 m and 100 km"),
            ("\"plain\"", "\"plain\"\nnoise_dbm = 1e300", 9, power),
            ("\"plain\"", "\"plain\"\nnoise = \"20 dBm\"", 9, "must be between -150 dBm and 0 dBm"),
            ("\"crash\"\nnodes = [2]", "\"jam\"\nfor = \"1 s\"\nplace = [0, 0]\npower = \"1000 dBm\"", 15, power),
            ("\"crash\"\nnodes = [2]", "\"jam\"\nfor = \"1 s\"\nplace = [0, 0]\npower = \"-3000 dBm\"", 15, power),
            ("\"crash\"\nnodes = [2]", "\"jam\"\nfor = \"1 s\"\nplace = [0, 1e308]", 14, point),
            ("\"plain\"", "\"plain\"\n[radio.wifi]\nat = [0, 0]\npower = \"400 dBm\"", 11, power),
            (
                "\"plain\"",
                "\"plain\"\n[radio.wifi]\nat = [0, 0]\nburst = \"1 us\"",
                11,
                "must be between 10 us and 10 s",
            ),
            (
                "\"plain\"",
                "\"plain\"\n[radio.bursts]\nbad = \"1 s\"\nloss = \"9 dB\"\ngood = \"2 h\"",
                12,
                "must be between 1 ms and 1 h",
            ),
            (
                "\"crash\"\nnodes = [2]",
                "\"wall\"\nstart = [0, 0]\nend = [1, 1]\nloss_db = 1e300",
                15,
                "must be between 0 dB and 250 dB",
            ),
            ("kind = \"grid\"\nnodes = 4\nspacing = \"10 m\"", "positions = [[0, 0], [1e308, 0]]", 4, point),
            ("at = \"5 s\"", "every = \"1 ms\"\nuntil = \"20 d\"", 14, "strike more than 100000 times"),
            ("at = \"5 s\"", "at = \"5 s\"\nfor = \"0.4 us\"", 15, "must be more than nothing"),
        ],
    );
}

#[test]
fn what_means_nothing_is_refused() {
    refused(
        GOOD,
        &[
            ("[2]", "[]", 13, "`nodes` must name at least one node"),
            ("[2]", "[2, 3, 2]", 13, "`nodes` names node 2 twice"),
            ("\"crash\"\nnodes = [2]", "\"partition\"\nnodes = []", 13, "`nodes` must name at least one node"),
            ("at = \"5 s\"", "at = \"5 s\"\nuntil = \"9 s\"", 15, "`until` is for `every` only"),
            (
                "at = \"5 s\"",
                "every = \"2 s\"\nfrom = \"9 s\"\nuntil = \"8 s\"",
                16,
                "`until` must be later than `from`",
            ),
            ("at = \"5 s\"", "at = \"5 s\"\nflash = \"erased\"", 15, "`flash` needs `for`"),
            (
                "kind = \"grid\"\nnodes = 4\nspacing = \"10 m\"",
                "positions = [[0, 0], [9, 0]]\nnodes = 7",
                5,
                "`nodes` is for `kind` only",
            ),
            ("\"10 m\"", "\"10 m\"\nside = \"30 m\"", 7, "`side` is for kind = \"random\" only"),
            (
                "\"grid\"",
                "\"random\"\nside = \"30 m\"",
                7,
                "`spacing` is for kind = \"line\", \"ring\" and \"grid\" only",
            ),
            (
                "\"plain\"",
                "\"disc\"\nreach = \"20 m\"\nexponent = 3",
                10,
                "`exponent` means nothing to model = \"disc\"",
            ),
            (
                "[protocol]",
                "[mobility]\nkind = \"static\"\nspeed_max = \"2 m/s\"\n[protocol]",
                11,
                "`speed_max` is for kinds that move",
            ),
            (
                "[protocol]",
                "[mobility]\nkind = \"file\"\nfile = \"x\"\nuntil_s = 2\n[protocol]",
                12,
                "`until` is for kind = \"waypoint\"",
            ),
            ("\"height\"", "\"soft-state\"\nprotection = \"ascon\"", 11, "`protection` is for whole nodes only"),
        ],
    );
}

#[test]
fn a_wrong_time_is_what_is_complained_about() {
    refused(
        GOOD,
        &[
            (
                "at = \"5 s\"",
                "every = \"2 sec\"\nfrom = \"4 s\"\nuntil = \"9 s\"",
                14,
                "`every` has the wrong unit \"sec\"",
            ),
            ("at = \"5 s\"", "every = \"0 s\"\nuntil = \"9 s\"", 14, "`every` must be between 1 ms and 30 d"),
            ("at = \"5 s\"", "at = \"5\"\nfor = \"3 s\"", 14, "`at` has no unit in \"5\""),
        ],
    );
    assert!(read("t", &GOOD.replace("\"10 m\"", "\"1e1 m\"")) == read("t", GOOD));
}

/// Numbers at which something ends, and some that are none.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "11",
    "26",
    "64",
    "65",
    "128",
    "129",
    "1000",
    "1001",
    "65535",
    "0.0000001",
    "0.001",
    "1e5",
    "1e300",
    "-1",
    "-1e300",
    "nan",
    "18446744073709551615",
];

/// Replaces some number of a text by another, and some word by another word of the text.
fn changed(text: &str, rng: &mut Rng) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let kind = |c: char| (c.is_ascii_digit() || c == '.', c.is_ascii_lowercase() || c == '-');
    for c in text.chars() {
        match pieces.last_mut() {
            Some(last) if kind(c) != (false, false) && last.ends_with(|end| kind(end) == kind(c)) => last.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    let indices = |pieces: &[String], begins: fn(char) -> bool| -> Vec<usize> {
        (0..pieces.len()).filter(|&at| pieces[at].starts_with(begins)).collect()
    };
    let pick = |rng: &mut Rng, all: &[usize]| all[rng.below(u32::try_from(all.len()).unwrap()) as usize];
    for _ in 0..=rng.below(2) {
        if rng.below(3) > 0 {
            let at = pick(rng, &indices(&pieces, |c| c.is_ascii_digit()));
            NUMBERS[rng.below(20) as usize].clone_into(&mut pieces[at]);
        } else {
            let words = indices(&pieces, |c| c.is_ascii_lowercase());
            let (at, from) = (pick(rng, &words), pick(rng, &words));
            let word = pieces[from].clone();
            pieces[at] = word;
        }
    }
    pieces.concat()
}

#[test]
fn whatever_is_accepted_can_be_run() {
    let kinds = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).chain(["soft-state"]);
    let with_kinds: Vec<String> = kinds.map(|kind| GOOD.replace("height", kind)).collect();
    let texts: Vec<&str> =
        BUILT_IN.iter().map(|(_, text)| *text).chain(with_kinds.iter().map(String::as_str)).collect();
    let mut accepted = 0;
    for seed in 0..2_000 {
        let mut rng = Rng::stream(seed, 8_765);
        let text = changed(texts[rng.below(u32::try_from(texts.len()).unwrap()) as usize], &mut rng);
        let outcome = std::panic::catch_unwind(|| harness::scenario_text(text.as_bytes()));
        accepted += outcome.unwrap_or_else(|_| panic!("seed {seed}: {text}"));
    }
    assert!((200..1_800).contains(&accepted), "{accepted} were accepted: too few or too many to have tried much");
}

#[test]
fn memories_go_wrong_only_where_there_are_any() {
    let good = GOOD.replace("\"crash\"", "\"corrupt-state\"");
    refused(
        &good,
        &[
            ("at = \"5 s\"", "at = \"5 s\"\nfor = \"2 s\"", 15, "unknown key `for`"),
            ("nodes = [2]", "", 11, "needs the key `nodes` or `who`"),
            ("\"height\"", "\"soft-state\"", 12, "is for whole nodes"),
            ("[[fault]]", "[[node]]\nid = 1\nkind = \"board\"\n[[fault]]", 15, "cannot reach into boards"),
        ],
    );
}
