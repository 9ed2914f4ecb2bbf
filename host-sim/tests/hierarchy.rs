//! Random runs of the hierarchy through the command.

use std::process::Command;

#[test]
fn the_command_counts_what_it_played() {
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader"))
        .args(["stress", "hierarchy", "--runs", "45", "--seed", "3", "--from", "9", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((summary["runs"].as_u64(), summary["failures"].as_array().map(Vec::len)), (Some(45), Some(0)));
    for what in ["faults", "graph", "levels", "scheduler", "queueing", "rules", "nodes", "lost"] {
        let counts = summary["kinds"][what].as_object().unwrap().values();
        assert_eq!(counts.map(|count| count.as_u64().unwrap()).sum::<u64>(), 45, "{what}");
    }
    assert!(summary["kinds"]["faults"].as_object().unwrap().values().all(|count| count == 5));
}
