//! Faults that are active. Several may affect one thing at the same time; this file knows their combined effect, and
//! what is left when one of them ends.

use std::collections::{BTreeMap, BTreeSet};

use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::OnAir;
use crate::scenario::input::plan::Flash;
use crate::scenario::run::agenda::StrikeId;

/// Everything that keeps nodes without power.
#[derive(Clone, Debug, Default)]
pub(in crate::scenario) struct Outages(BTreeMap<NodeIndex, Outage>);

#[derive(Clone, Debug)]
struct Outage {
    /// What cut its power and is not over.
    strikes: BTreeSet<StrikeId>,
    /// The worst that any of them, over or not, has done to its flash.
    flash: Flash,
}

impl Outages {
    /// A node's power is cut, perhaps once more.
    pub fn begin(&mut self, node: NodeIndex, strike: StrikeId, flash: Flash) {
        let outage = self.0.entry(node).or_insert(Outage { strikes: BTreeSet::new(), flash });
        outage.strikes.insert(strike);
        outage.flash = outage.flash.max(flash);
    }

    /// One cause is over. Where it was the last one, power is back, and this is what the node finds in its flash.
    pub fn end(&mut self, node: NodeIndex, strike: StrikeId) -> Option<Flash> {
        let outage = self.0.get_mut(&node)?;
        let was_cause = outage.strikes.remove(&strike);
        let flash = outage.flash;
        (was_cause && outage.strikes.is_empty()).then(|| {
            self.0.remove(&node);
            flash
        })
    }

    /// Power is back whatever had cut it.
    pub fn end_all(&mut self, node: NodeIndex) {
        self.0.remove(&node);
    }
}

#[derive(Clone, Debug, Default)]
pub(in crate::scenario) struct Drifts(BTreeMap<NodeIndex, Drift>);

#[derive(Clone, Debug)]
struct Drift {
    /// How fast it runs otherwise, in millionths.
    usual_ppm: i32,
    /// What is not over, in order of its beginning.
    strikes: Vec<(StrikeId, i32)>,
}

impl Drifts {
    /// A clock that has run as fast as `present_ppm` is made to drift.
    pub fn begin(&mut self, node: NodeIndex, strike: StrikeId, ppm: i32, present_ppm: i32) {
        let drift = self.0.entry(node).or_insert(Drift { usual_ppm: present_ppm, strikes: Vec::new() });
        drift.strikes.push((strike, ppm));
    }

    /// One cause is over; how fast the clock runs from now on. The latest of what is left counts.
    pub fn end(&mut self, node: NodeIndex, strike: StrikeId) -> Option<i32> {
        let drift = self.0.get_mut(&node)?;
        drift.strikes.retain(|&(other, _)| other != strike);
        if let Some(&(_, ppm)) = drift.strikes.last() {
            return Some(ppm);
        }
        self.0.remove(&node).map(|drift| drift.usual_ppm)
    }

    /// Whether a clock is made to drift.
    pub fn has(&self, node: NodeIndex) -> bool {
        self.0.contains_key(&node)
    }
}

/// The shares of frames that are corrupted, one for each cause.
#[derive(Clone, Debug, Default)]
pub(in crate::scenario) struct Corruption(Vec<f64>);

impl Corruption {
    pub fn begin(&mut self, share: f64) {
        self.0.push(share);
    }

    pub fn end(&mut self, share: f64) {
        take_out(&mut self.0, &share);
    }

    /// The combined share: each corrupts its share of what the others leave intact.
    pub fn share(&self) -> f64 {
        self.0.iter().fold(0.0, |all, share| all + share * (1.0 - all))
    }
}

/// The source of noise of a fault. Strikes that overlap are one longer noise.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Jammer {
    pub radio: RadioIndex,
    /// How many strikes are not over.
    pub active: u32,
    /// Its noise while there are any.
    pub on: Option<OnAir>,
}

/// The attacker of a fault. Strikes that overlap are one longer stay.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct Attacker {
    pub radio: RadioIndex,
    /// How many strikes are not over.
    pub active: u32,
    /// When the last of them is.
    pub until_us: u64,
    /// Whether its next frame is on the agenda.
    pub is_sending: bool,
}

/// Takes one of several equal things out.
pub(in crate::scenario) fn take_out<T: PartialEq>(all: &mut Vec<T>, one: &T) {
    if let Some(at) = all.iter().position(|other| other == one) {
        all.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::{Corruption, Drifts, Flash, NodeIndex, Outages, StrikeId};

    #[test]
    fn power_is_back_when_nothing_cuts_it_any_more() {
        let mut outages = Outages::default();
        outages.begin(NodeIndex(3), StrikeId(1), Flash::Erased);
        outages.begin(NodeIndex(3), StrikeId(2), Flash::Kept);
        assert_eq!(outages.end(NodeIndex(3), StrikeId(1)), None);
        assert_eq!(outages.end(NodeIndex(3), StrikeId(1)), None, "it is over already");
        assert_eq!(
            outages.end(NodeIndex(3), StrikeId(2)),
            Some(Flash::Erased),
            "the other one has erased it all the same"
        );
        outages.begin(NodeIndex(3), StrikeId(4), Flash::Kept);
        outages.end_all(NodeIndex(3));
        assert_eq!(outages.end(NodeIndex(3), StrikeId(4)), None);
        outages.begin(NodeIndex(3), StrikeId(5), Flash::Kept);
        assert_eq!(
            outages.end(NodeIndex(3), StrikeId(5)),
            Some(Flash::Kept),
            "what was erased long ago is written again"
        );
    }

    #[test]
    fn clocks_run_by_the_latest_drift_that_is_left() {
        let mut drifts = Drifts::default();
        drifts.begin(NodeIndex(0), StrikeId(1), 10_000, 7);
        drifts.begin(NodeIndex(0), StrikeId(2), -500, 10_000);
        drifts.begin(NodeIndex(0), StrikeId(3), 900, -500);
        assert_eq!(drifts.end(NodeIndex(0), StrikeId(1)), Some(900));
        assert_eq!(drifts.end(NodeIndex(0), StrikeId(3)), Some(-500));
        assert!(drifts.has(NodeIndex(0)));
        assert_eq!(drifts.end(NodeIndex(0), StrikeId(2)), Some(7));
        assert!(!drifts.has(NodeIndex(0)) && drifts.end(NodeIndex(0), StrikeId(2)).is_none());
    }

    #[test]
    fn shares_of_corruption_add_up_as_independent_chances_do() {
        let mut corruption = Corruption::default();
        corruption.begin(0.3);
        assert!((corruption.share() - 0.3).abs() < 1e-15);
        corruption.begin(0.1);
        corruption.begin(0.1);
        assert!((corruption.share() - (1.0 - 0.7 * 0.9 * 0.9)).abs() < 1e-12);
        corruption.end(0.1);
        corruption.end(0.3);
        assert!((corruption.share() - 0.1).abs() < 1e-15);
    }
}
