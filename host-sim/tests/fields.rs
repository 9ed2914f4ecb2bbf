//! A hundred simulated fields, recorded and replayed: what is inferred of them against what is true. The table of
//! docs/field-test.md is what `RINGLEADER_DEEP=1 cargo test -p host-sim --test tests fields -- --nocapture` prints.

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

#[expect(clippy::cast_precision_loss, reason = "there are thousands")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
    let (mut before, mut after, mut fields, mut links) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // Links whose loss is known to three points by their own account, and links that are as strong as they are said to be.
    let (mut known, mut covered) = (Vec::new(), 0);
    for seed in 0..FIELDS {
        let (outcome, trace) = recorded(&scenario, seed);
        let matrix = Matrix::of(&trace);
        before.push(elected(&outcome));
        after.push(elected(&replayed(&trace, &matrix, seed)));
        // What noise takes from each link, as inferred and in truth.
        let off = matrix.links.iter().map(|link| {
            let truth = strength(&scenario, seed, link.from, link.to);
            let lost = |strength_dbm| 100.0 * matrix.channel.lost_at(strength_dbm);
            let off = lost(link.strength_dbm) - lost(truth);
            let [weakest, strongest] = [-1.0, 1.0].map(|sign| link.strength_dbm + sign * link.within_db);
            covered += usize::from((weakest..=strongest).contains(&truth));
            if (lost(weakest) - lost(strongest)) / 2.0 <= 3.0 {
                known.push(off.abs());
            }
            off
        });
        let off: Vec<f64> = off.collect();
        fields.push(mean(&off).abs());
        links.extend(off.into_iter().map(f64::abs));
    }
    let worst = fields.iter().copied().fold(0.0, f64::max);
    assert!(worst <= 3.0, "the losses of a field are inferred {worst:.1} points off");
    assert!(mean(&links) <= 3.0, "the loss of a link is inferred {:.1} points off on average", mean(&links));
    links.sort_by(f64::total_cmp);
    let within = links.iter().filter(|off| **off <= 3.0).count();
    let [half, most, last] = [50, 90, 100].map(|percent| links[(links.len() - 1) * percent / 100]);
    println!("loss of a field, inferred - true: worst {worst:.2} points, mean {:.2}", mean(&fields));
    println!(
        "loss of a link, inferred - true: mean {:.2} points, p50 {half:.2}, p90 {most:.2}, worst {last:.1}; {within} of \
         {} links within 3",
        mean(&links),
        links.len()
    );
    let sure = known.iter().filter(|off| **off <= 3.0).count();
    println!("of {} links whose confidence is 3 points or better, {sure} are within them", known.len());
    println!("{covered} links are as strong as inferred, within their 95 % confidence");
    assert!(sure * 1_000 >= known.len() * 995, "{sure} of {}", known.len());
    assert!(covered * 100 >= links.len() * 93, "{covered} of {}", links.len());
    before.sort_unstable();
    after.sort_unstable();
    for percent in [50, 90] {
        let (before, after) = (before[percent], after[percent]);
        println!("time without a leader, p{percent}: {before} ms in the field, {after} ms replayed");
        assert!(after.abs_diff(before) * 10 <= before, "p{percent}: {before} ms in the field, {after} ms replayed");
    }
}

#[test]
fn the_radio_of_a_field_is_calibrated_from_its_links() {
    let scenario = field(36, "15 s", "");
    let (mut exponents, mut sigmas, mut at_1m) = (Vec::new(), Vec::new(), 0);
    for seed in 0..if std::env::var_os("RINGLEADER_DEEP").is_some() { FIELDS } else { 3 } {
        let (_, trace) = recorded(&scenario, seed);
        let positions = scenario.topology.positions(seed);
        let positions = positions.iter().zip(1..).map(|(position, id)| (id, [position.x, position.y])).collect();
        let found = calibrate::fit(&Matrix::of(&trace), &positions, 0.0).unwrap();
        let Estimate { value, within } = found.loss_at_1m_db;
        at_1m += usize::from((value - 40.2).abs() <= within);
        exponents.push((found.exponent.value - 3.0).abs());
        sigmas.push((found.sigma_db.value - 4.0).abs());
    }
    let count = exponents.len();
    for (what, off, bar) in [("exponent", &exponents, 0.2), ("sigma, dB", &sigmas, 0.5)] {
        let worst = off.iter().copied().fold(0.0, f64::max);
        let within = off.iter().filter(|off| **off <= bar).count();
        println!("{what}: {:.2} off on average, worst {worst:.2}; {within} of {count} fields within {bar}", mean(off));
        assert!(mean(off) <= bar, "{what} is {:.2} off on average", mean(off));
        assert!(within * 100 >= count * 80, "{what} is within {bar} in {within} of {count} fields");
    }
    println!("loss at 1 m: within its confidence interval in {at_1m} of {count} fields");
    assert!(at_1m * 100 >= count * 90, "{at_1m} of {count}");
}
