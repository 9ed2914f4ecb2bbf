//! What a fuzzer does with the text of a scenario. Shared by the tests and the target in `fuzz/`.

use host_sim::scenario::read::read;

/// Reads bytes as a scenario: it is accepted, or what is wrong is said with its line. How many were accepted.
pub fn scenario_text(bytes: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(bytes);
    match read("changed.toml", &text) {
        Ok(scenario) => {
            assert!(scenario.topology.nodes() > 0 && scenario.duration_us > 0);
            1
        }
        Err(problem) => {
            let lines = text.lines().count();
            assert!((1..=lines + 1).contains(&problem.line), "line {} of {lines}", problem.line);
            assert!(!problem.what.is_empty());
            0
        }
    }
}
