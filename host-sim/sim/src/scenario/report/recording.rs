//! Compares two runs event by event.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;

use serde::Serialize;

use crate::fnv;
use crate::scenario::input::plan::Scenario;
use crate::scenario::judge::observer::Recorders;
use crate::scenario::report::outcome::Outcome;
use crate::scenario::run::drive;

/// Computes a fingerprint of whatever passes through it on the way to a file, if there is one.
struct Fingerprint {
    hash: Rc<Cell<u64>>,
    file: Option<Box<dyn Write>>,
}

impl Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))?;
        self.hash.set(fnv::extend(self.hash.get(), bytes.iter().take(written).copied()));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// How two runs of the same scenario and seed compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Whether both runs had the same events and the same outcome.
    pub same: bool,
    /// The fingerprint of each run's trace.
    pub traces: [String; 2],
    /// The fingerprint of each run's frames.
    pub frames: [String; 2],
}

impl Comparison {
    fn of(first: &(Outcome, u64), second: &(Outcome, u64)) -> Self {
        let shown = |hash: u64| format!("{hash:016x}");
        Self {
            same: first == second,
            traces: [shown(first.1), shown(second.1)],
            frames: [first.0.digest.clone(), second.0.digest.clone()],
        }
    }

    pub fn text(&self) -> String {
        let [first, second] = &self.traces;
        if self.same {
            return format!("Two runs were the same, event by event ({first}).");
        }
        let [frames, other_frames] = &self.frames;
        format!(
            "DETERMINISM VIOLATED: two runs with the same seed differ: traces {first} and {second}, frames {frames} and {other_frames}"
        )
    }
}

/// Runs a scenario twice, records the first run, and compares both. Fails only if writing fails.
pub fn run_twice(scenario: &Scenario, seed: u64, recorders: Recorders) -> io::Result<(Outcome, Comparison)> {
    let traced = |recorders: Recorders| -> io::Result<(Outcome, u64)> {
        let hash = Rc::new(Cell::new(fnv::EMPTY));
        let trace: Box<dyn Write> = Box::new(Fingerprint { hash: Rc::clone(&hash), file: recorders.trace });
        let outcome = drive::run_recorded(scenario, seed, Recorders { trace: Some(trace), ..recorders })?;
        Ok((outcome, hash.get()))
    };
    let again = Recorders { detail: recorders.detail, ..Recorders::default() };
    let (first, second) = (traced(recorders)?, traced(again)?);
    let comparison = Comparison::of(&first, &second);
    Ok((first.0, comparison))
}

#[cfg(test)]
mod tests {
    use super::{Comparison, run_twice};
    use crate::scenario::input::catalogue::built_in;
    use crate::scenario::input::plan::Scenario;
    use crate::scenario::judge::observer::Recorders;

    #[test]
    fn runs_that_differ_are_told_apart() {
        let short = Scenario { duration_us: 300_000, ..built_in("mesh16").unwrap().unwrap() };
        let (outcome, comparison) = run_twice(&short, 3, Recorders::default()).unwrap();
        assert!(comparison.same && comparison.text().contains("the same"), "{comparison:?}");
        let other = Comparison::of(&(outcome.clone(), 1), &(outcome, 2));
        assert!(!other.same && other.text().starts_with("DETERMINISM VIOLATED"), "{other:?}");
    }
}
