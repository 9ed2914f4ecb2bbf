//! Commands of scenarios: they reach everybody on meshes and rings, and each ends with an outcome.

use host_sim::cli::scenario_file::find;
use sim::scenario::input::read::read;
use sim::scenario::report::outcome::Verdict;
use sim::scenario::run::drive::run;

#[test]
fn commands_reach_everybody_and_are_told() {
    let scenario = find("orders16").unwrap();
    for seed in 1..4 {
        let outcome = run(&scenario, seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
        let commands = outcome.commands.unwrap();
        // A node that is off when its command comes hears nothing.
        assert!(commands.submitted >= 9, "{commands:?}");
        assert_eq!(commands.applied, commands.submitted, "{commands:?}");
        assert_eq!(commands.latencies_ms.len() as u64, commands.submitted, "{commands:?}");
    }
}

#[test]
fn two_sides_of_a_wall_agree_after_it_is_gone() {
    let scenario = find("orders-partition").unwrap();
    for seed in 1..4 {
        let outcome = run(&scenario, seed);
        assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
        let commands = outcome.commands.unwrap();
        assert_eq!((commands.submitted, commands.expired, commands.open), (10, 0, 0), "{commands:?}");
    }
}

#[test]
fn a_ring_has_orders_too() {
    let text = "name = \"r\"\nduration = \"30 s\"\n[topology]\nkind = \"ring\"\nnodes = 8\nspacing = \"10 m\"\n\
        [protocol]\nkind = \"hs\"\n[[command]]\nat = \"8 s\"\nnode = 2\nset = \"lights=off\"\n[[command]]\nat = \"9 s\"\nnode = 7\nset = \"user1=9\"\n\
        [expect]\nagreement_within = \"8 s\"\n";
    let outcome = run(&read("r", text).unwrap(), 5);
    assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
    let commands = outcome.commands.unwrap();
    assert_eq!((commands.submitted, commands.applied), (2, 2), "{commands:?}");
}

#[test]
fn wrong_commands_are_refused_with_a_remedy() {
    let with = |command: &str, more: &str| {
        format!(
            "name = \"a\"\nduration = \"30 s\"\n[topology]\nkind = \"line\"\nnodes = 3\nspacing = \"10 m\"\n{more}[[command]]\n{command}\n"
        )
    };
    let refused = |text: &str| read("a", text).unwrap_err().to_string();
    let whole = "at = \"9 s\"\nnode = 1\n";
    read("a", &with(&format!("{whole}set = \"sample=1s\""), "")).unwrap();
    assert!(refused(&with(whole, "")).contains("set"));
    assert!(refused(&with("node = 1\nset = \"sample=1s\"", "")).contains("at"));
    assert!(refused(&with("at = \"9 s\"\nnode = 4\nset = \"sample=1s\"", "")).contains("node"));
    assert!(refused(&with("at = \"31 s\"\nnode = 1\nset = \"sample=1s\"", "")).contains("after the end"));
    assert!(refused(&with(&format!("{whole}set = \"channel=15\""), "")).contains("there is no register"));
    assert!(refused(&with(&format!("{whole}set = \"sample=10ms\""), "")).contains("between 1s and 3600s"));
    let soft = "[protocol]\nkind = \"soft-state\"\n";
    assert!(refused(&with(&format!("{whole}set = \"sample=1s\""), soft)).contains("whole nodes"));
}

/// Four nodes are told something, and then all lose their power; afterwards their flash is like this.
fn after_a_power_cut(flash: &str) -> u64 {
    let text = format!(
        "name = \"p\"\nduration = \"60 s\"\n[topology]\nkind = \"line\"\nnodes = 4\nspacing = \"10 m\"\n\
         [[command]]\nat = \"8 s\"\nnode = 2\nset = \"user1=9\"\n\
         [[fault]]\nkind = \"crash\"\nnodes = [1, 2, 3, 4]\nat = \"20 s\"\nfor = \"3 s\"\nflash = \"{flash}\"\n\
         [expect]\nagreement_within = \"10 s\"\n"
    );
    let outcome = run(&read("p", &text).unwrap(), 5);
    assert_eq!(outcome.verdict, Verdict::Ok, "{:?}", outcome.failure);
    let commands = outcome.commands.unwrap();
    assert_eq!((commands.submitted, commands.applied), (1, 1), "{commands:?}");
    commands.holding
}

#[test]
fn what_was_ordered_holds_after_a_power_cut_of_all_nodes_unless_their_flash_is_erased() {
    assert_eq!(after_a_power_cut("kept"), 4);
    assert_eq!(after_a_power_cut("erased"), 0);
}
