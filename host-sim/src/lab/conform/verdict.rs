//! The result of a replay.

use std::fmt::{Debug, Write};
use std::path::Path;

use serde::Serialize;

use crate::output::{counted, counted_as};

/// The first thing in a case that was not as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Counted from 1 in the file's order; none if the field is about the whole case.
    pub step: Option<usize>,
    pub field: String,
    /// What the file says.
    pub expected: String,
    /// What the core did.
    pub got: String,
}

/// One case of a golden file.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The file it came from, once several files are reported together.
    pub file: Option<String>,
    pub name: String,
    /// What was wrong, if anything.
    pub mismatch: Option<Mismatch>,
}

/// All cases of a golden file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub cases: Vec<Case>,
}

impl Report {
    pub fn push(&mut self, name: impl Into<String>, verdict: Verdict) {
        self.cases.push(Case { file: None, name: name.into(), mismatch: verdict.mismatch });
    }

    /// How many cases were not as expected.
    pub fn mismatches(&self) -> usize {
        self.cases.iter().filter(|case| case.mismatch.is_some()).count()
    }

    /// Adds the cases of a file.
    pub fn absorb(&mut self, path: &Path, other: Self) {
        let file = Some(path.display().to_string());
        self.cases.extend(other.cases.into_iter().map(|case| Case { file: file.clone(), ..case }));
    }

    /// Every mismatch as text.
    pub fn text(&self, path: &Path) -> String {
        let mut text = String::new();
        for Case { name, mismatch, .. } in &self.cases {
            let Some(Mismatch { step, field, expected, got }) = mismatch else { continue };
            let step = step.map_or_else(String::new, |step| format!(" step {step},"));
            let location = format!("{}: case \"{name}\":{step} field {field}", path.display());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "MISMATCH {location}\n  expected {expected}\n  got      {got}");
        }
        let mismatches = counted_as(self.mismatches(), "mismatch", "mismatches");
        let _ = writeln!(text, "{}: {}, {mismatches}", path.display(), counted(self.cases.len(), "case"));
        text
    }

    /// The same as JSON, with the files that could not be read.
    pub fn json(&self, errors: &[String]) -> serde_json::Value {
        serde_json::json!({
            "cases": self.cases.len(),
            "mismatches": self.mismatches(),
            "mismatched": self.cases.iter().filter(|case| case.mismatch.is_some()).collect::<Vec<_>>(),
            "errors": errors,
        })
    }
}

/// Compares fields of one case and remembers the first that differs.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    step: Option<usize>,
    mismatch: Option<Mismatch>,
}

impl Verdict {
    /// What follows belongs to this step, counted from 1.
    pub fn at_step(&mut self, step: usize) {
        self.step = Some(step);
    }

    /// What follows is about the case as a whole.
    pub fn at_end(&mut self) {
        self.step = None;
    }

    pub fn compare<T: PartialEq + Debug>(&mut self, field: &str, expected: &T, got: &T) {
        if self.mismatch.is_none() && expected != got {
            self.mismatch = Some(Mismatch {
                step: self.step,
                field: field.to_owned(),
                expected: format!("{expected:?}"),
                got: format!("{got:?}"),
            });
        }
    }

    /// Whether everything compared so far was equal.
    pub fn is_clean(&self) -> bool {
        self.mismatch.is_none()
    }
}
