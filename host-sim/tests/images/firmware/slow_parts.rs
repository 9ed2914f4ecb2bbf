//! The same boot and election whatever the parts of a board are like: crystals that say when they are started again and
//! crystals that do not, and processors with the cost of every instruction, with and without the cache.

use common::types::NodeId;
use emulator::cpu::Cycles;
use emulator::soc::{CrystalRestart, Surroundings};

use super::bench::{Bench, any, config, provisioned_in, surroundings};

fn boot_and_elect(surroundings: Surroundings) {
    let boards = [1, 2, 3].map(|id| provisioned_in(surroundings, u64::from(id), &config(id)));
    let mut bench = Bench::new(boards.into());
    let leader = bench.elect(30);
    assert!((1..=3).contains(&leader.0), "{leader:?}");
    bench.network.power_off(usize::from(leader.0 - 1));
    bench.run_ms(10_000);
    let others = [1, 2, 3].map(NodeId).into_iter().filter(|&id| id != leader);
    let second: Vec<_> = others.map(|id| bench.snapshot(usize::from(id.0 - 1)).leader).collect();
    assert!(second[0].is_some_and(|second| second != leader) && second[0] == second[1], "{second:?}");
    for number in 0..3 {
        let counts = bench.network.boards()[number].counts();
        assert_eq!(counts.watchdog_resets + counts.lockups, 0, "{surroundings:?}");
        assert!(!any(&bench.log(number), "crystal"), "{surroundings:?}");
    }
}

#[test]
fn boards_start_whether_or_not_a_running_crystal_says_that_it_was_started() {
    for crystal_restart in [CrystalRestart::Event, CrystalRestart::Silent] {
        boot_and_elect(Surroundings { crystal_restart, ..surroundings() });
    }
}

#[test]
fn boards_elect_at_whatever_speed_instructions_come() {
    for cycles in [Cycles::Ideal, Cycles::Cached, Cycles::Uncached] {
        boot_and_elect(Surroundings { cycles, ..surroundings() });
    }
}
