//! Acknowledgements leave in time: nearly all with the instruction cache, most without it.

use emulator::cpu::Cycles;
use host_sim::emulated::fleet::Image;
use host_sim::emulated::report::BoardReport;
use sim::air::timing::RadioTiming;
use sim::scenario::judge::observer::Recorders;

use super::support::{Heights, image, run};

/// The least share of acknowledgements at a set time that leave then, in per cent.
const IN_TIME_CACHED: u64 = 99;
const IN_TIME_UNCACHED: u64 = 90;

const LOSSES: [f64; 2] = [0.0, 0.2];

const CRASH: &str = r#"
[[fault]]
kind = "crash"
who = "leader"
at = "7 s"
"#;

/// Boards start, elect, lose their leader and elect again. Most are in reach of each other.
fn boards(nodes: u32, loss: f64, cycles: Cycles) -> Vec<BoardReport> {
    let heights =
        Heights { name: "answers", seconds: 20, topology: "grid", nodes, spacing_m: 12, agreement_within_s: 10 };
    let mut scenario = heights.with(CRASH);
    scenario.radio.loss = loss;
    run(&scenario, 3, &Image { cycles, ..image(true) }, Recorders::default()).1
}

fn hold_in_time(nodes: u32, cycles: Cycles, percent: u64) {
    for loss in LOSSES {
        let reports = boards(nodes, loss, cycles);
        let sum = |of: fn(&BoardReport) -> u64| reports.iter().map(of).sum::<u64>();
        let (all, late) = (sum(|report| report.answers), sum(|report| report.late_answers));
        println!("{nodes} boards, {loss} lost, {cycles:?}: {late} of {all} late");
        assert!(all >= 20, "{all} acknowledgements of {nodes} boards");
        assert!(100 * (all - late) >= percent * all, "{late} of {all} late: {nodes} boards, {loss} lost, {cycles:?}");
        if cycles == Cycles::Cached {
            let mut medians: Vec<u64> =
                reports.iter().filter_map(|report| Some(report.turnaround?.median_us)).collect();
            medians.sort_unstable();
            // What the simulator's nodes are given is about what a board takes. Sixteen boards were measured at 471 us: giving the
            // nodes as much would change every simulated result, so some slack is left until those are made again.
            let (median, given) = (medians[medians.len() / 2], RadioTiming::FIRMWARE.judging_us);
            assert!((given / 2..=given + 31).contains(&median), "{median} us, and the simulator's nodes {given}");
        }
    }
}

#[test]
fn acknowledgements_of_five_boards_leave_in_time() {
    hold_in_time(5, Cycles::Cached, IN_TIME_CACHED);
    hold_in_time(5, Cycles::Uncached, IN_TIME_UNCACHED);
}

#[test]
fn acknowledgements_of_sixteen_boards_leave_in_time_with_the_cache() {
    hold_in_time(16, Cycles::Cached, IN_TIME_CACHED);
}

#[test]
fn acknowledgements_of_sixteen_boards_mostly_leave_in_time_without_the_cache() {
    hold_in_time(16, Cycles::Uncached, IN_TIME_UNCACHED);
}
