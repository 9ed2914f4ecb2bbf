//! How long whole nodes on the air go without a leader, and what an election costs.
//!
//! Rings of 8 to 64 with HS and meshes of 16 to 64 with heights lose their leader while 0, 10 and 20 % of all frames are
//! lost. Two more scenarios have a partition with its merge, and mobile nodes. The time without a leader has three parts: until
//! the first link to it is given up, from there until the first node lets go of the leader (a successor hears objections, a ring
//! looks for a detour), and the wave of the election. The first and the last have a floor; the factor is the median wave over its
//! floor, which is what the radio alone needs.

use std::fmt::Write as _;

use anyhow::Context;
use common::election::Algorithm;
use serde::Serialize;
use sim::scenario::input::catalogue::built_in;
use sim::scenario::input::plan::Scenario;
use sim::scenario::input::read::read;
use sim::scenario::report::shard::{Seeds, Shard};
use sim::scenario::report::spread::Spread;
use sim::scenario::report::sweep::{Origin, Sweep};

use crate::lab::many_seeds::run_seeds;
use crate::output;

/// One hop of an HS message without header, back-off or acknowledgement, in microseconds.
const HS_HOP_US: u64 = 456;

/// One hop of a height, likewise.
const HEIGHT_HOP_US: u64 = 872;

/// No leader is missed sooner: its successors ask after 320 ms of silence, of which no more than the longest time between two of
/// its hellos, 144 ms, have passed when it fails.
const DETECT_US: u64 = 176_000;

/// Frames lost besides those that the radio model loses, in per cent.
const LOSSES: [u32; 3] = [0, 10, 20];

const RINGS: [u64; 4] = [8, 16, 32, 64];

/// Nodes along one side of a square.
const MESHES: [u64; 4] = [4, 5, 6, 8];

/// Scenarios that have their own changes.
pub const OTHERS: [&str; 2] = ["partition-merge", "mobile40"];

/// A network, and the shortest time that its wave can take.
pub struct Case {
    pub name: String,
    scenario: Scenario,
    floor_us: Option<u64>,
}

/// What the seeds of one case came to.
#[derive(Debug, Serialize)]
pub struct Row {
    name: String,
    seeds: u64,
    failed: usize,
    detected_ms: Option<Spread>,
    /// From the first link that was given up to the first node that let go of its leader.
    let_go_ms: Option<Spread>,
    elected_ms: Option<Spread>,
    /// From the first node that let go of its leader to agreement.
    wave_ms: Option<Spread>,
    agreed_ms: Option<Spread>,
    frames: Option<Spread>,
    airtime_ppm: Option<Spread>,
    charge_nah: Option<Spread>,
    /// The least time to detect the loss of a leader.
    detect_floor_us: Option<u64>,
    /// The least time of a wave.
    floor_us: Option<u64>,
    /// The median wave over the floor.
    factor: Option<u64>,
}

fn text(name: &str, topology: &str, algorithm: Algorithm, loss: u32) -> String {
    let kind = algorithm.name();
    format!(
        "name = \"{name}\"\nsummary = \"the leader fails\"\nseed = 1\nduration = \"41 s\"\n[topology]\n{topology}\n\
         [radio]\nmodel = \"usual\"\nloss = \"{loss} %\"\n[protocol]\nkind = \"{kind}\"\n\
         [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"20 s\"\n[expect]\nagreement_within = \"18 s\"\n"
    )
}

pub fn cases() -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    let mut add = |name: String, topology: &str, algorithm, loss, floor_us| -> anyhow::Result<()> {
        let scenario = read(&name, &text(&name, topology, algorithm, loss))?;
        cases.push(Case { name, scenario, floor_us: Some(floor_us) });
        Ok(())
    };
    for loss in LOSSES {
        for nodes in RINGS {
            let topology = format!("kind = \"ring\"\nnodes = {nodes}\nspacing = \"15 m\"");
            add(format!("ring{nodes}, {loss} %"), &topology, Algorithm::Hs, loss, nodes * HS_HOP_US)?;
        }
        for side in MESHES {
            let (nodes, diameter) = (side * side, 2 * (side - 1));
            let topology = format!("kind = \"grid\"\nnodes = {nodes}\nspacing = \"20 m\"");
            add(format!("mesh{nodes}, {loss} %"), &topology, Algorithm::Height, loss, 3 * diameter * HEIGHT_HOP_US)?;
        }
    }
    for name in OTHERS {
        let scenario = built_in(name).with_context(|| format!("there is no scenario \"{name}\""))??;
        cases.push(Case { name: name.to_owned(), scenario, floor_us: None });
    }
    Ok(cases)
}

impl Row {
    /// Runs these seeds of a case.
    pub fn measure(case: &Case, seeds: Seeds, jobs: usize) -> Self {
        let count = usize::try_from(seeds.count(Shard::WHOLE)).unwrap_or(usize::MAX);
        let rows = run_seeds(&case.scenario, seeds.of(Shard::WHOLE), jobs.min(count), |done| {
            output::progress(&format!("{}: {done} of {count}", case.name));
        });
        let Sweep {
            detected_ms,
            elected_ms,
            wave_ms,
            agreed_ms,
            sent,
            airtime_ppm,
            charge_nah,
            failed,
            started_ms,
            rows,
            ..
        } = Sweep::new(Origin::new(case.name.clone(), &case.scenario, seeds, Shard::WHOLE), rows);
        // Motion alone seldom disturbs an agreement; if there were few changes, report the start instead.
        let agreed_ms = agreed_ms.filter(|spread| spread.count * 2 >= count).or(started_ms);
        let is_leaders = case.floor_us.is_some();
        let wave_ms = wave_ms.filter(|_| is_leaders);
        let later = rows.iter().flat_map(|row| row.changes.iter().skip(1));
        let let_go = later.filter_map(|change| change.called_after_ms?.checked_sub(change.detected_after_ms?));
        let let_go_ms = Spread::of(let_go.collect()).filter(|_| is_leaders);
        let median = wave_ms.as_ref().map(|spread| spread.p50);
        let factor = median.zip(case.floor_us).map(|(millis, floor)| (millis * 1_000).div_ceil(floor.max(1)));
        let (name, seeds) = (case.name.clone(), count as u64);
        let (failed, floor_us) = (failed.len(), case.floor_us);
        Self {
            name,
            seeds,
            failed,
            detected_ms,
            let_go_ms,
            elected_ms,
            wave_ms,
            agreed_ms,
            frames: sent,
            airtime_ppm,
            charge_nah,
            detect_floor_us: floor_us.map(|_| DETECT_US),
            floor_us,
            factor,
        }
    }

    pub fn line(&self) -> String {
        let seconds = |spread: &Option<Spread>| {
            spread.as_ref().map_or_else(String::new, |Spread { p50, p99, .. }| {
                format!("{}.{:02} / {}.{:02}", p50 / 1_000, p50 % 1_000 / 10, p99 / 1_000, p99 % 1_000 / 10)
            })
        };
        let median = |spread: &Option<Spread>| spread.as_ref().map_or(0, |spread| spread.p50);
        let (airtime, charge) = (median(&self.airtime_ppm), median(&self.charge_nah));
        let mut line = format!(
            "{:<16} {:>6} {:>15} {:>15} {:>15} {:>15} {:>7} {:>5}.{:02} % {:>5}.{:01}",
            self.name,
            self.failed,
            seconds(&self.detected_ms),
            seconds(&self.let_go_ms),
            seconds(&self.wave_ms),
            seconds(&self.agreed_ms),
            median(&self.frames),
            airtime / 10_000,
            airtime % 10_000 / 100,
            charge / 1_000,
            charge % 1_000 / 100,
        );
        if let Some((floor, factor)) = self.floor_us.zip(self.factor) {
            // Writing to a string cannot fail.
            let detect = self.detect_floor_us.unwrap_or(0);
            let _ = write!(
                line,
                " {:>4} {:>4} {:>4} ms {factor:>4}",
                detect / 1_000,
                floor / 1_000,
                (detect + floor) / 1_000
            );
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{OTHERS, Row, Seeds, cases};

    #[test]
    fn every_row_is_a_scenario_and_small_ones_agree() {
        let all = cases().unwrap();
        assert_eq!(all.len(), 3 * 8 + OTHERS.len());
        let ring = all.iter().find(|case| case.name == "ring8, 0 %").unwrap();
        assert_eq!(ring.floor_us, Some(3_648), "half a ring out, half a ring back");
        let row = Row::measure(ring, Seeds { from: 0, to: 2 }, 1);
        assert_eq!((row.failed, row.seeds), (0, 2));
        let (wave, factor) = (row.wave_ms.as_ref().unwrap().p50, row.factor.unwrap());
        assert!((factor - 1) * 3_648 < wave * 1_000 && wave * 1_000 <= factor * 3_648);
        assert!(wave <= row.elected_ms.as_ref().unwrap().p50, "the wave is a part of it");
        let detected = row.detected_ms.as_ref().unwrap().p50;
        assert!(row.detect_floor_us.unwrap() <= detected * 1_000, "nothing is detected sooner: {detected}");
        assert!(row.line().starts_with("ring8, 0 %"), "{}", row.line());
    }
}
