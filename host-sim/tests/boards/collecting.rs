//! Emulated boards collect their readings, and the checker of simulated nodes finds them complete.

use super::support::{Heights, hold, image};

const LINE: Heights =
    Heights { name: "collecting", seconds: 200, topology: "line", nodes: 4, spacing_m: 20, agreement_within_s: 15 };

#[test]
fn readings_of_boards_are_complete_by_the_checker_of_scenarios() {
    let scenario = LINE.with(
        r#"
[collect]
[[fault]]
kind = "crash"
who = "leader"
at = "80 s"
for = "15 s"
"#,
    );
    let (outcome, boards) = hold(&scenario, 3, &image(true));
    let collected = outcome.collect.expect("it collects");
    assert_eq!((collected.lost, collected.duplicates), (0, 0), "{collected:?}");
    assert_eq!(collected.stored, collected.committed + collected.declared + collected.pending, "{collected:?}");
    assert!(collected.stored >= 60 && collected.pending <= 24, "{collected:?}");
    assert!(boards.iter().all(|board| board.lost_messages == 0), "the boards said everything");
}
