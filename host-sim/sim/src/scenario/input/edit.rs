//! Changes to the text of a scenario, as a viewer makes them.

use toml::de::DeTable;

use super::read::{Files, parse_with, read_with};
use super::toml_section::Problem;
use super::units::seconds;

/// The text with one more fault at its end; `fault` begins with `[[fault]]`. The scenario is made longer where the fault
/// would leave too little time to judge what comes of it. Messages refer to it as `file`.
pub fn append(file: &str, text: &str, fault: &str, files: Files<'_>) -> Result<String, Problem> {
    let gap = if text.ends_with('\n') { "\n" } else { "\n\n" };
    let mut longer = format!("{text}{gap}{fault}");
    let scenario = parse_with(file, &longer, files)?;
    if scenario.duration_us < scenario.needed_us() {
        // Whole seconds: people read it.
        let needed_s = seconds(scenario.needed_us()).ceil();
        set_duration(&mut longer, needed_s);
    }
    read_with(file, &longer, files).map(|_| longer)
}

fn set_duration(text: &mut String, seconds: f64) {
    let Ok(document) = DeTable::parse(text) else { return };
    // The unit may be in the key.
    let span = document
        .get_ref()
        .iter()
        .find_map(|(key, value)| key.get_ref().starts_with("duration").then(|| key.span().start..value.span().end));
    if let Some(span) = span {
        text.replace_range(span, &format!("duration = \"{seconds} s\""));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use crate::scenario::input::catalogue::BUILT_IN;
    use crate::scenario::input::read::read;
    use crate::scenario::input::toml_section::Problem;

    fn append(text: &str, fault: &str) -> Result<String, Problem> {
        super::append("t.toml", text, fault, &|_: &Path| Err(io::Error::other("no files")))
    }

    #[test]
    fn a_late_fault_makes_the_scenario_longer() {
        for (name, text) in BUILT_IN {
            let before = read(name, text).unwrap();
            let late = before.duration_us / 1_000 - 10;
            let after =
                append(text, &format!("[[fault]]\nat = \"{late} ms\"\nkind = \"crash\"\nnodes = [1]\n")).unwrap();
            let after = read(name, &after).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(after.faults.len(), before.faults.len() + 1);
            assert!(after.duration_us > before.duration_us && after.duration_us >= after.needed_us());
        }
        let text = BUILT_IN[0].1;
        let soon = append(text, "[[fault]]\nat = \"1 s\"\nkind = \"crash\"\nnodes = [1]\n").unwrap();
        assert_eq!(read("t", &soon).unwrap().duration_us, read("t", text).unwrap().duration_us);
    }

    #[test]
    fn units_in_the_key_are_understood_and_nonsense_is_refused() {
        let text = "name = \"t\"\nduration_s = 20\n[topology]\nkind = \"line\"\nnodes = 2\nspacing = \"9 m\"";
        let after = append(text, "[[fault]]\nat = \"19 s\"\nkind = \"crash\"\nnodes = [1]\n").unwrap();
        assert!(after.contains("duration = \"32 s\"\n") && !after.contains("duration_s"), "{after}");
        assert!(append(text, "[[fault]]\nat = \"19 s\"\nkind = \"crash\"\nnodes = [3]\n").is_err());
        assert!(append(text, "oh").is_err());
    }
}
