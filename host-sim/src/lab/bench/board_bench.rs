//! How fast boards are emulated, and the load of an idle board.

use std::time::Instant;

use anyhow::ensure;
use common::election::Algorithm;
use serde::Serialize;
use sim::scenario::input::read::read;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Verdict;

use super::machine::processor_seconds;
use crate::emulated::fleet::{Fleet, Image};
use crate::emulated::run::{Hooks, run_boards};

/// Measuring begins here, once the boards have started and elected.
pub const SETTLED_US: u64 = 20_000_000;

/// Cycles in a second.
const HZ: f64 = 64e6;

pub struct Case {
    pub name: &'static str,
    boards: u32,
    seconds: u64,
    algorithm: Algorithm,
    /// The speed it should reach, as a multiple of real time.
    pace_bar: Option<f64>,
    /// The highest acceptable load of a board's processor, in per cent.
    awake_bar: Option<f64>,
}

pub const CASES: [Case; 3] = [
    Case {
        name: "sixteen in range, heights",
        boards: 16,
        seconds: 60,
        algorithm: Algorithm::Height,
        pace_bar: Some(10.0),
        awake_bar: None,
    },
    Case {
        name: "five elected and quiet, HS",
        boards: 5,
        seconds: 120,
        algorithm: Algorithm::Hs,
        pace_bar: None,
        awake_bar: Some(2.0),
    },
    Case {
        name: "one alone, heights",
        boards: 1,
        seconds: 1_200,
        algorithm: Algorithm::Height,
        pace_bar: Some(1_000.0),
        awake_bar: Some(2.0),
    },
];

/// The result of one measurement, after the election.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub name: &'static str,
    pub boards: u32,
    pub emulated_s: f64,
    /// Processor time of this machine, in seconds.
    pub processor_s: f64,
    /// Emulated seconds per second of processor time.
    pub times_real_time: f64,
    /// What that is meant to reach.
    pub pace_bar: Option<f64>,
    /// How much a board works.
    pub instructions_per_board_and_second: f64,
    /// The share of its time in which it is awake.
    pub awake_percent: f64,
    /// The most that this may be.
    pub awake_bar: Option<f64>,
    /// How much this machine emulates in a second.
    pub million_instructions_per_second: f64,
}

/// How far a run has come.
#[derive(Clone, Copy, Default)]
struct Mark {
    processor_s: f64,
    instructions: u64,
    /// In cycles, all boards together.
    awake: u64,
}

/// Makes one measurement. All nodes are boards that run this image.
pub fn measure(case: &Case, image: &Image) -> anyhow::Result<Measured> {
    let Case { name, boards, seconds: length, algorithm, pace_bar, awake_bar } = *case;
    let text = format!(
        "name = \"bench\"\nduration = \"{} s\"\n[topology]\nkind = \"ring\"\nnodes = {boards}\nspacing = \"2 m\"\n\
         [radio]\nmodel = \"plain\"\n[protocol]\nkind = \"{}\"\n[expect]\nagreement_within = \"15 s\"\n",
        length + SETTLED_US / 1_000_000,
        algorithm.name(),
    );
    let scenario = read(name, &text)?;
    let clock = {
        let started = Instant::now();
        move || processor_seconds().unwrap_or_else(|| started.elapsed().as_secs_f64())
    };
    let (mut from, mut to) = (Mark::default(), Mark::default());
    let mut progress = |now_us: u64, fleet: &Fleet| {
        let mark = if now_us == SETTLED_US {
            &mut from
        } else if now_us == scenario.duration_us {
            &mut to
        } else {
            return;
        };
        *mark = Mark { processor_s: clock(), instructions: fleet.instructions(), awake: fleet.awake() };
    };
    let hooks = Hooks { progress: Some(&mut progress), ..Hooks::default() };
    let (outcome, _) = run_boards(&scenario, 1, Recorders::default(), image, hooks)?;
    ensure!(outcome.verdict == Verdict::Ok, "{name}: {:?}", outcome.failure);
    #[expect(clippy::cast_precision_loss, reason = "2^53 instructions take years")]
    let (instructions, awake, emulated_s) =
        ((to.instructions - from.instructions) as f64, (to.awake - from.awake) as f64, length as f64);
    let processor_s = (to.processor_s - from.processor_s).max(1e-9);
    let per_board = instructions / f64::from(boards) / emulated_s;
    Ok(Measured {
        name,
        boards,
        emulated_s,
        processor_s,
        times_real_time: emulated_s / processor_s,
        pace_bar,
        instructions_per_board_and_second: per_board,
        awake_percent: 100.0 * awake / f64::from(boards) / emulated_s / HZ,
        awake_bar,
        million_instructions_per_second: instructions / processor_s / 1e6,
    })
}
