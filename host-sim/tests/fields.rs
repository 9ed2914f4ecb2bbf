//! A hundred simulated fields, recorded and replayed: what is inferred of them against what is true.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use host_sim::field::calibrate::{self, Estimate};
use host_sim::field::check::trace_file::{Trace, in_order};
use host_sim::field::links::Matrix;
use host_sim::field::rebuild;
use sim::air::index::{NodeIndex, RadioIndex};
use sim::air::trace::parse_line;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::{read, read_with};
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::drive::{run, run_recorded};

const FIELDS: u64 = 100;

/// What was written to it stays.
#[derive(Clone, Default)]
struct Page(Rc<RefCell<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn field(nodes: u32, duration: &str, faults: &str) -> Scenario {
    let text = format!(
        "name = \"field\"\nduration = \"{duration}\"\n[topology]\nkind = \"grid\"\nnodes = {nodes}\nspacing = \"18 m\"\n\
         [radio]\nmodel = \"usual\"\n[protocol]\nkind = \"height\"\n{faults}"
    );
    read("field.toml", &text).unwrap()
}

fn recorded(scenario: &Scenario, seed: u64) -> (Outcome, Trace) {
    let page = Page::default();
    let recorders = Recorders { trace: Some(Box::new(page.clone())), ..Recorders::default() };
    let outcome = run_recorded(scenario, seed, recorders).unwrap();
    let text = String::from_utf8(page.0.take()).unwrap();
    let records = text.lines().zip(1..).map(|(line, number)| parse_line(number, line).unwrap());
    (outcome, in_order(records.collect()))
}

fn replayed(trace: &Trace, matrix: &Matrix, seed: u64) -> Outcome {
    let text = rebuild::scenario("again", trace, matrix, "links.csv", 0.0);
    let again = read_with("again.toml", &text, &|_| Ok(matrix.csv_in_time(0.0)));
    run(&again.unwrap_or_else(|problem| panic!("{problem}: {text}")), seed)
}

fn elected(outcome: &Outcome) -> u64 {
    outcome.changes.last().and_then(|change| change.agreed_after_ms).unwrap_or_else(|| panic!("{:?}", outcome.changes))
}

/// The truth: how strongly a node arrives at another.
fn strength(scenario: &Scenario, seed: u64, from: u16, to: u16) -> f64 {
    let (air, positions) = (scenario.radio.propagation(seed), scenario.topology.positions(seed));
    let at = |id: u16| {
        let node = NodeIndex(usize::from(id) - 1);
        (RadioIndex(node.0), positions[node.0])
    };
    air.gain_db(at(from), at(to)).unwrap()
}

#[test]
fn a_replayed_field_loses_and_elects_as_the_field_did() {
    let scenario = field(9, "45 s", "[[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"20 s\"\n");
    let (mut before, mut after, mut worst) = (Vec::new(), Vec::new(), 0.0_f64);
    for seed in 0..FIELDS {
        let (outcome, trace) = recorded(&scenario, seed);
        let matrix = Matrix::of(&trace);
        before.push(elected(&outcome));
        after.push(elected(&replayed(&trace, &matrix, seed)));
        // What noise takes from each link, as inferred and in truth.
        let off = matrix.links.iter().map(|link| {
            let truth = strength(&scenario, seed, link.from, link.to);
            matrix.channel.lost_at(link.strength_dbm) - matrix.channel.lost_at(truth)
        });
        let mean = 100.0 * off.sum::<f64>() / f64::from(u32::try_from(matrix.links.len()).unwrap());
        worst = worst.max(mean.abs());
    }
    assert!(worst <= 3.0, "the losses of a field are inferred {worst:.1} points off");
    before.sort_unstable();
    after.sort_unstable();
    for percent in [50, 90] {
        let (before, after) = (before[percent], after[percent]);
        assert!(after.abs_diff(before) * 10 <= before, "p{percent}: {before} ms in the field, {after} ms replayed");
    }
}

#[test]
fn the_radio_of_a_field_is_calibrated_from_its_links() {
    let scenario = field(36, "15 s", "");
    for seed in 0..3 {
        let (_, trace) = recorded(&scenario, seed);
        let positions = scenario.topology.positions(seed);
        let positions = positions.iter().zip(1..).map(|(position, id)| (id, [position.x, position.y])).collect();
        let found = calibrate::fit(&Matrix::of(&trace), &positions, 0.0).unwrap();
        let Estimate { value, within } = found.loss_at_1m_db;
        assert!((value - 40.2).abs() <= within, "{found:?}");
        assert!((found.exponent.value - 3.0).abs() <= 0.2, "{found:?}");
        assert!((found.sigma_db.value - 4.0).abs() <= 0.5, "{found:?}");
    }
}
