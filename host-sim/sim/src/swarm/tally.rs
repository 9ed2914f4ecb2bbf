//! The results of many strangers, by class.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finding::{Fate, Row};
use crate::scenario::report::outcome::Verdict;
use crate::scenario::report::shard::{Seeds, Shard};

/// All strangers of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Class {
    pub name: String,
    pub runs: u64,
    /// How many fared how.
    pub fates: BTreeMap<Fate, u64>,
    /// The longest time that an agreement took, in milliseconds, and the largest part of its bound, in per cent.
    pub worst_ms: u64,
    pub worst_percent: u64,
    /// The most that a node sent, in millionths of the time.
    pub airtime_ppm: u64,
}

impl Class {
    fn add(&mut self, row: &Row) {
        self.runs += 1;
        *self.fates.entry(row.fate).or_default() += 1;
        self.airtime_ppm = self.airtime_ppm.max(row.airtime_ppm);
        if row.forbids.is_none() {
            let worst = row.worst_ms.unwrap_or(0);
            self.worst_ms = self.worst_ms.max(worst);
            self.worst_percent = self.worst_percent.max(worst * 100 / row.bound_ms.max(1));
        }
    }

    pub fn count(&self, fate: Fate) -> u64 {
        self.fates.get(&fate).copied().unwrap_or(0)
    }

    pub fn failures(&self) -> u64 {
        Fate::ALL.into_iter().filter(|fate| fate.is_failure()).map(|fate| self.count(fate)).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tally {
    pub version: String,
    pub seeds: Seeds,
    pub shard: Shard,
    /// By algorithm, by size, by feature; first of all, everything.
    pub classes: Vec<Class>,
    /// The seeds that failed.
    pub failed: Vec<u64>,
    pub rows: Vec<Row>,
}

impl Tally {
    pub fn new(seeds: Seeds, shard: Shard, rows: BTreeMap<u64, Row>) -> Self {
        let rows: Vec<Row> = rows.into_values().collect();
        // The first number keeps the groups in order.
        let mut classes: BTreeMap<(u8, String), Class> = BTreeMap::new();
        for row in &rows {
            let mut names = vec![(0, "all".to_owned()), (1, row.algorithm.clone()), (2, band(row.nodes).to_owned())];
            names.extend(row.features.iter().map(|feature| (3, feature.name().to_owned())));
            for key in names {
                let name = key.1.clone();
                classes.entry(key).or_insert_with(|| Class { name, ..Class::default() }).add(row);
            }
        }
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seeds,
            shard,
            classes: classes.into_values().collect(),
            failed: rows.iter().filter(|row| row.fate.is_failure()).map(|row| row.seed).collect(),
            rows,
        }
    }

    pub fn worst(&self) -> Verdict {
        let has = |verdict| self.rows.iter().any(|row| row.fate.verdict() == verdict);
        let worst = [Verdict::Safety, Verdict::Liveness].into_iter().find(|&verdict| has(verdict));
        worst.unwrap_or(Verdict::Ok)
    }
}

const fn band(nodes: usize) -> &'static str {
    match nodes {
        1 => "  1 node",
        2..=4 => "  2 to 4",
        5..=16 => "  5 to 16",
        17..=64 => " 17 to 64",
        65..=128 => " 65 to 128",
        _ => "129 to 300",
    }
}
