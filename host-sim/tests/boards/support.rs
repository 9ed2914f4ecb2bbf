//! The firmware image, and scenarios that run it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::rc::Rc;

use emulator::board::Program;
use emulator::cpu::Cycles;
use emulator::images;
use emulator::soc::Chip;
use host_sim::cli::run::failure_with;
use host_sim::emulated::fleet::Image;
use host_sim::emulated::report::BoardReport;
use host_sim::emulated::run::{Hooks, run_boards};
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::{Outcome, Reign, Verdict};

use crate::ahead;

/// The image without its log. Every node is a board, or only those that the scenario marks.
pub fn image(all: bool) -> Image {
    ahead::begin();
    let elf = images::elf("firmware").expect("the image builds");
    let program = Program::without_log(&elf).expect("an image");
    Image { program, chip: Chip::Nrf52840, cycles: Cycles::Cached, all, record: BTreeSet::new() }
}

pub fn scenario(text: &str) -> Scenario {
    read("test.toml", text).expect("a scenario")
}

/// A few boards that elect by heights on an air without fading.
pub struct Heights {
    pub name: &'static str,
    pub seconds: u32,
    pub topology: &'static str,
    pub nodes: u32,
    pub spacing_m: u32,
    pub agreement_within_s: u32,
}

impl Heights {
    /// The scenario with these additions.
    pub fn with(&self, rest: &str) -> Scenario {
        let Self { name, seconds, topology, nodes, spacing_m, agreement_within_s } = self;
        scenario(&format!(
            r#"
name = "{name}"
duration = "{seconds} s"
[topology]
kind = "{topology}"
nodes = {nodes}
spacing = "{spacing_m} m"
[radio]
model = "plain"
[protocol]
kind = "height"
[expect]
agreement_within = "{agreement_within_s} s"
{rest}"#
        ))
    }
}

/// Runs a scenario, which must succeed.
pub fn hold(scenario: &Scenario, seed: u64, image: &Image) -> (Outcome, Vec<BoardReport>) {
    let (outcome, boards) = run(scenario, seed, image, Recorders::default());
    let again = format!("the scenario {} of this test with seed {seed}", scenario.name);
    assert_eq!(outcome.verdict, Verdict::Ok, "{}", failure_with(&outcome, &again));
    for board in &boards {
        assert_eq!(board.trouble, None, "node {}", board.id);
        assert_eq!((board.watchdog_resets, board.lockups), (0, 0), "node {}", board.id);
    }
    (outcome, boards)
}

/// Runs a scenario and records it.
pub fn run(scenario: &Scenario, seed: u64, image: &Image, recorders: Recorders) -> (Outcome, Vec<BoardReport>) {
    run_boards(scenario, seed, recorders, image, Hooks::default()).expect("the boards can be made")
}

/// The last leaders, with the number of their followers.
pub fn last_reign(outcome: &Outcome) -> Vec<(u16, usize)> {
    outcome.reigns.last().map(pairs).unwrap_or_default()
}

/// The leaders just before a time in seconds.
pub fn reign_before(outcome: &Outcome, second: u64) -> Vec<(u16, usize)> {
    let before = outcome.reigns.iter().take_while(|reign| reign.at_ms < second * 1_000).last();
    before.map(pairs).unwrap_or_default()
}

fn pairs(reign: &Reign) -> Vec<(u16, usize)> {
    reign.leaders.iter().map(|&each| each.into()).collect()
}

/// A file in memory with two owners.
#[derive(Clone, Debug, Default)]
pub struct Paper(Rc<RefCell<Vec<u8>>>);

impl Paper {
    /// What was written.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.borrow().clone()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
