//! The report of `stress` as text.

use std::fmt::{self, Write};

use ideal::stress::hierarchy::Summary;

use crate::output::counted;

/// Every failure with its replay command, then how many runs had what.
pub fn text(summary: &Summary) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_summary(&mut text, summary);
    text
}

fn write_summary(text: &mut String, summary: &Summary) -> fmt::Result {
    let Summary { seed, from, runs, delivered, longest, kinds, failures } = summary;
    for failure in failures {
        writeln!(text, "FAILED {}\n  {}", failure.plan, failure.what)?;
        if !failure.last_events.is_empty() {
            writeln!(text, "  last events: {}", failure.last_events.join(", "))?;
        }
        writeln!(text, "  replay: {}\n", failure.replay)?;
    }
    let runs = counted(*runs, "run");
    writeln!(text, "{runs} of seed {seed} from number {from}: {} failed", failures.len())?;
    for (what, counts) in kinds {
        let list: Vec<String> = counts.iter().map(|(which, count)| format!("{which} {count}")).collect();
        writeln!(text, "  {what:<10} {}", list.join("; "))?;
    }
    let (delivered, steps) = (counted(*delivered, "Update"), counted(longest.steps, "event"));
    writeln!(text, "  {delivered} delivered; the longest run, {}, had {steps}", longest.run)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ideal::stress::hierarchy::{Failure, FailureKind, Longest, Summary};

    use super::text;

    #[test]
    fn a_failure_is_reported_with_everything_needed_to_replay_it() {
        let failure = Failure {
            run: 72,
            kind: FailureKind::Violation,
            plan: "run 72".into(),
            what: "condition (b) fails".into(),
            last_events: vec!["down 1 2".into(), "deliver 1 3".into()],
            replay: "ringleader stress hierarchy --seed 5 --from 72 --runs 1".into(),
        };
        let kinds = BTreeMap::from([("lost", BTreeMap::from([("none".to_owned(), 1)]))]);
        let longest = Longest { run: 72, steps: 3 };
        let summary = Summary { seed: 5, from: 72, runs: 1, delivered: 2, longest, kinds, failures: vec![failure] };
        assert_eq!(
            text(&summary),
            "FAILED run 72\n  condition (b) fails\n  last events: down 1 2, deliver 1 3\n  \
             replay: ringleader stress hierarchy --seed 5 --from 72 --runs 1\n\n\
             1 run of seed 5 from number 72: 1 failed\n  lost       none 1\n  \
             2 Updates delivered; the longest run, 72, had 3 events\n"
        );
    }
}
