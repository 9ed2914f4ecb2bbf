//! Links that break down for long.
//!
//! Where links break down in bursts, most fades are short, and nodes have to live with them. One that lasts longer than
//! agreement may take leaves no time for any: until it is over the link is not there, and both its beginning and its end
//! are changes.

use std::collections::{BTreeMap, BTreeSet};

use crate::air::index::NodeIndex;
use crate::scenario::run::drive::{Run, id_of};

/// Long fades are looked for this often.
const CHECK_US: u64 = 100_000;

#[derive(Clone, Debug, Default)]
pub(super) struct LongFades {
    /// When each ends, by the sender and the receiver.
    until_us: BTreeMap<(NodeIndex, NodeIndex), u64>,
    /// What a link loses in one.
    loss_db: f64,
    next_check_us: u64,
}

impl LongFades {
    /// What a link loses at present.
    pub fn loss_db(&self, from: NodeIndex, to: NodeIndex) -> f64 {
        if self.until_us.contains_key(&(from, to)) { self.loss_db } else { 0.0 }
    }
}

impl Run<'_> {
    /// Finds the links whose fade lasts longer than agreement may take.
    pub(in crate::scenario) fn update_long_fades(&mut self, now: u64) {
        let Some(bursts) = self.scenario.radio.bursts else { return };
        if now < self.faults.long_fades.next_check_us {
            return;
        }
        let (known, medium) = (&self.faults.long_fades.until_us, self.world.medium());
        let mut until_us: BTreeMap<(NodeIndex, NodeIndex), u64> = BTreeMap::new();
        for from in NodeIndex::first(self.world.len()) {
            for to in NodeIndex::first(self.world.len()).filter(|&to| to != from) {
                let known = known.get(&(from, to)).copied();
                let end = || medium.fade_end(from.radio(), to.radio());
                let found = || end().filter(|&end| end > now + self.scenario.within_us);
                if let Some(end) = known.filter(|&end| end > now).or_else(found) {
                    until_us.insert((from, to), end);
                }
            }
        }
        let is_same = known.keys().eq(until_us.keys());
        let next_check_us = now + CHECK_US;
        self.faults.long_fades = LongFades { until_us, loss_db: bursts.loss_db, next_check_us };
        if is_same {
            return;
        }
        let found = self.find_components();
        if let Some(what) = told(&self.judge.components().links, &found.links, ["down for long", "no longer down"]) {
            self.judge.begin_change(now, what, found, &self.world, &mut self.observer);
        }
    }
}

/// What has become of the links, if anything: those that are missing now, and those that are new.
pub(super) fn told(
    before: &BTreeSet<(NodeIndex, NodeIndex)>,
    after: &BTreeSet<(NodeIndex, NodeIndex)>,
    [missing, new]: [&str; 2],
) -> Option<String> {
    let list = |links: Vec<String>, what: &str| {
        (!links.is_empty()).then(|| {
            let plural = if links.len() == 1 { "" } else { "s" };
            format!("link{plural} {} {what}", links.join(", "))
        })
    };
    let name = |&(a, b): &(NodeIndex, NodeIndex)| format!("{}-{}", id_of(a), id_of(b));
    let gone = list(before.difference(after).map(name).collect(), missing);
    let back = list(after.difference(before).map(name).collect(), new);
    let parts: Vec<String> = gone.into_iter().chain(back).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
