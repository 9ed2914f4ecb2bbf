//! Fuzzing the text of a scenario. Shared by the tests and the target in `fuzz/`.

use sim::scenario::input::plan::{Fault, Scenario, When};
use sim::scenario::input::read::read;
use sim::scenario::run::drive::run;

/// Reads bytes as a scenario, which is either accepted and can be run, or refused with a line. Returns how many were accepted.
pub fn scenario_text(bytes: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(bytes);
    match read("changed.toml", &text) {
        Ok(scenario) => {
            assert!(scenario.topology.nodes() > 0 && scenario.duration_us > 0);
            begin(scenario, 1_000);
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

/// Runs the beginning of a scenario with all of its faults. Whatever the reader accepts must survive that.
pub fn begin(scenario: Scenario, duration_us: u64) {
    let at_once = |(index, fault): (usize, Fault)| {
        let at_us = duration_us / 2 + index as u64 % (duration_us / 2);
        Fault { when: When::Once { at_us }, ..fault }
    };
    let faults = scenario.faults.into_iter().enumerate().map(at_once).collect();
    let outcome = run(&Scenario { duration_us, faults, ..scenario }, 1);
    assert!(outcome.ran_ms <= duration_us.div_ceil(1_000));
}
