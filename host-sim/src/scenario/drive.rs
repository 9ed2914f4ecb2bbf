//! Runs a scenario.

use std::collections::BTreeMap;

use common::election::hierarchy::{HierarchyOptions, Radii};
use common::rng::Rng;
use common::types::NodeId;

use super::agenda::{Action, Agenda, STEP_US, Walk, exponential};
use super::checker::{Components, HOLD_US};
use super::observer::Observer;
use super::outcome::{Change, Failure, NodeUse, Outcome, Reign, Verdict};
use super::plan::{Harm, Scenario, Who, Wifi};
use super::units::{micros, seconds};
use crate::air::csma::RadioTiming;
use crate::air::medium::{Medium, OnAir, Tuning};
use crate::air::soft_state::{SoftState, SoftStateOptions};
use crate::air::world::World;

/// Agreement is looked for this often.
const SLICE_US: u64 = 10_000;

/// Peers come up from this far above the noise on.
const ADMISSION_DB: f64 = 5.5;

/// A change that is being dealt with.
#[derive(Clone, Debug)]
struct Open {
    at_us: u64,
    what: String,
    /// Links that had gone up or down by then.
    links: u64,
    detected_us: Option<u64>,
    agreed_us: Option<u64>,
}

struct Run<'s> {
    scenario: &'s Scenario,
    options: SoftStateOptions,
    seed: u64,
    world: World<SoftState>,
    nodes: usize,
    observer: Observer,
    agenda: Agenda,
    walk: Option<Walk>,
    rng: Rng,
    lives: BTreeMap<usize, u64>,
    /// The radio of each jamming fault, and its noise while it is on.
    jammers: BTreeMap<usize, (usize, Option<OnAir>)>,
    wifi: Option<(usize, Option<OnAir>)>,
    components: Components,
    moved: bool,
    dissenters: Vec<usize>,
    /// Since when there has been agreement.
    agreed_since: Option<u64>,
    open: Vec<Open>,
    relapses: u64,
    reigns: Vec<Reign>,
}

/// Runs a scenario with a seed.
pub fn run(scenario: &Scenario, seed: u64) -> Outcome {
    let mut run = Run::new(scenario, seed);
    run.start();
    while run.world.now_us() < scenario.duration_us && run.observer.violation.is_none() {
        let now = run.world.now_us();
        let due = run.agenda.next_us().unwrap_or(u64::MAX).max(now);
        let next = (now + SLICE_US).min(due).min(scenario.duration_us);
        run.world.run_until(next, &mut run.observer);
        while let Some(action) = run.agenda.pop(next) {
            run.act(next, action);
        }
        run.look(next);
    }
    run.finish()
}

impl<'s> Run<'s> {
    fn new(scenario: &'s Scenario, seed: u64) -> Self {
        let plan = &scenario.radio;
        let propagation = plan.propagation(seed);
        // The reader has checked the radii.
        let radii = Radii::new(&scenario.radii).unwrap_or_default();
        let hierarchy = HierarchyOptions { radii, ..HierarchyOptions::default() };
        let options = SoftStateOptions { hierarchy, least_rssi_dbm: propagation.noise_dbm + ADMISSION_DB };
        let timing = if plan.is_fast { RadioTiming::FAST } else { RadioTiming::EMBASSY };
        let mut world = World::new(Medium::new(propagation, plan.bursts, seed), timing, seed);
        let places = scenario.topology.places(seed);
        let tuning = Tuning { channel: plan.channel, tx_dbm: plan.tx_dbm };
        let mut drifts = Rng::stream(seed, 0xD21F);
        for (id, &place) in (1..).zip(&places) {
            let wide = i32::try_from(drifts.below(2 * plan.drift_ppm + 1)).unwrap_or(0);
            let drift = wide - i32::try_from(plan.drift_ppm).unwrap_or(0);
            world.add(place, tuning, drift, SoftState::new(NodeId(id), options, seed));
        }
        let mut noise = |place, tx_dbm| world.medium_mut().add(place, Tuning { channel: plan.channel, tx_dbm });
        let mut jammers = BTreeMap::new();
        for (index, fault) in scenario.faults.iter().enumerate() {
            if let Harm::Jam(place, power, _) = fault.harm {
                jammers.insert(index, (noise(place, power), None));
            }
        }
        let wifi = plan.wifi.map(|wifi| (noise(wifi.at, wifi.power_dbm), None));
        Self {
            scenario,
            options,
            seed,
            nodes: places.len(),
            world,
            observer: Observer::new(scenario.radii.clone()),
            agenda: Agenda::new(scenario, seed),
            walk: scenario.mobility.map(|plan| Walk::new(plan, &places, seed)),
            rng: Rng::stream(seed, 0xFA17),
            lives: BTreeMap::new(),
            jammers,
            wifi,
            components: Components::default(),
            moved: true,
            dissenters: Vec::new(),
            agreed_since: None,
            open: Vec::new(),
            relapses: 0,
            reigns: Vec::new(),
        }
    }

    fn start(&mut self) {
        self.change(0, "start".to_owned());
        for node in 0..self.nodes {
            self.world.power_on(node, &mut self.observer);
        }
        self.look(0);
    }

    fn links(&self) -> u64 {
        let per_node = |node| self.world.station(node).tally();
        (0..self.nodes).map(per_node).map(|tally| tally.ups + tally.downs).sum()
    }

    /// Something has changed, from which on agreement must be found anew.
    fn change(&mut self, now: u64, what: String) {
        self.observer.note(now, &what);
        let links = self.links();
        self.open.push(Open { at_us: now, what, links, detected_us: None, agreed_us: None });
        self.agreed_since = None;
        self.moved = true;
    }

    fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::Begin(index) => self.begin(now, index),
            Action::End(index) => self.end(now, index),
            Action::Restart(who) => {
                let nodes = self.strike(&who);
                self.restart(now, &nodes);
            }
            Action::Move => self.move_on(now),
            Action::Wifi(begins) => self.wifi(now, begins),
        }
    }

    fn begin(&mut self, now: u64, index: usize) {
        match &self.scenario.faults[index].harm {
            Harm::Crash(who, down) => {
                let mut nodes = self.strike(who);
                nodes.retain(|&node| self.world.is_on(node));
                if nodes.is_empty() {
                    return;
                }
                for &node in &nodes {
                    self.world.power_off(node, &mut self.observer);
                }
                self.change(now, format!("{} off", names(&nodes)));
                if let Some(down) = down {
                    self.agenda.add(now + down, Action::Restart(Who::Nodes(nodes)));
                }
            }
            Harm::Restart(who) => {
                let nodes = self.strike(who);
                self.restart(now, &nodes);
            }
            Harm::Wall(wall, _) => {
                self.world.medium_mut().change_propagation(|air| air.walls.push(wall.clone()));
                self.change(now, format!("a wall of {} dB goes up", wall.loss_db));
            }
            Harm::Jam(place, power, _) => {
                if let Some((radio, on @ None)) = self.jammers.get_mut(&index) {
                    *on = Some(self.world.medium_mut().begin_noise(now, *radio));
                    self.change(now, format!("noise of {power} dBm at ({}, {})", place.0, place.1));
                }
            }
        }
    }

    fn end(&mut self, now: u64, index: usize) {
        if let Harm::Wall(wall, _) = &self.scenario.faults[index].harm {
            self.world.medium_mut().change_propagation(|air| {
                if let Some(at) = air.walls.iter().position(|other| other == wall) {
                    air.walls.remove(at);
                }
            });
            self.change(now, "the wall comes down".to_owned());
        }
        if let Some(on) = self.jammers.get_mut(&index).and_then(|jammer| jammer.1.take()) {
            self.world.medium_mut().end(now, on, |_| ());
            self.change(now, "the noise ends".to_owned());
        }
    }

    fn restart(&mut self, now: u64, nodes: &[usize]) {
        let off: Vec<usize> = nodes.iter().copied().filter(|&node| !self.world.is_on(node)).collect();
        if off.is_empty() {
            return;
        }
        for &node in &off {
            let life = self.lives.entry(node).or_default();
            *life += 1;
            let seed = Rng::stream(self.seed ^ 0x11FE, *life).next_u64();
            let station = SoftState::new(id_of(node), self.options, seed);
            self.observer.reborn(node, &station);
            self.world.replace(node, station);
        }
        // Only now, as the new lives have counted no links yet.
        self.change(now, format!("{} on again", names(&off)));
        for node in off {
            self.world.power_on(node, &mut self.observer);
        }
    }

    /// Whom a fault strikes now.
    fn strike(&mut self, who: &Who) -> Vec<usize> {
        match who {
            Who::Nodes(nodes) => nodes.clone(),
            Who::Leader => {
                let followed = self.followers().into_iter().filter(|&(leader, _)| self.world.is_on(leader));
                followed
                    .max_by_key(|&(leader, count)| (count, std::cmp::Reverse(leader)))
                    .map(|most| most.0)
                    .into_iter()
                    .collect()
            }
            Who::Random => {
                let on: Vec<usize> = (0..self.nodes).filter(|&node| self.world.is_on(node)).collect();
                let lot = self.rng.below(u32::try_from(on.len()).unwrap_or(u32::MAX)) as usize;
                on.get(lot).copied().into_iter().collect()
            }
        }
    }

    fn move_on(&mut self, now: u64) {
        let (Some(walk), Some(plan)) = (&mut self.walk, self.scenario.mobility) else { return };
        for (node, place) in walk.pass(seconds(STEP_US)).enumerate() {
            self.world.medium_mut().set_place(node, place);
        }
        self.moved = true;
        if now + STEP_US <= plan.until_us {
            self.agenda.add(now + STEP_US, Action::Move);
        } else {
            self.change(now, "everybody stands still".to_owned());
        }
    }

    fn wifi(&mut self, now: u64, begins: bool) {
        let (Some(Wifi { duty, burst_us, .. }), Some((radio, on))) = (self.scenario.radio.wifi, &mut self.wifi) else {
            return;
        };
        if let Some(on) = on.take() {
            self.world.medium_mut().end(now, on, |_| ());
        }
        let mut mean = burst_us;
        if begins {
            *on = Some(self.world.medium_mut().begin_noise(now, *radio));
        } else {
            mean = micros(seconds(burst_us) * (1.0 - duty) / duty);
        }
        self.agenda.add(now + exponential(&mut self.rng, mean), Action::Wifi(!begins));
    }

    /// Each leader that is followed, by index, and by how many.
    fn followers(&self) -> BTreeMap<usize, usize> {
        let mut followers = BTreeMap::new();
        for node in (0..self.nodes).filter(|&node| self.world.is_on(node)) {
            *followers.entry(usize::from(self.world.station(node).leader().0) - 1).or_insert(0) += 1;
        }
        followers
    }

    /// Finds out whether there is agreement, if that may have changed.
    fn look(&mut self, now: u64) {
        if std::mem::take(&mut self.moved) {
            self.components = Components::find(self.world.medium(), self.nodes, |node| self.world.is_on(node));
            self.observer.leaders_changed = true;
        }
        if std::mem::take(&mut self.observer.leaders_changed) {
            let world = &self.world;
            let leader = |node: usize| world.is_on(node).then(|| usize::from(world.station(node).leader().0) - 1);
            self.dissenters = self.components.dissenters(leader);
            let leaders = self.followers().into_iter().map(|(leader, count)| (id_of(leader).0, count)).collect();
            if self.reigns.last().is_none_or(|last| last.leaders != leaders) {
                self.reigns.push(Reign { at_ms: now / 1_000, leaders });
            }
        }
        let links = self.links();
        let Some(open) = self.open.last_mut() else { return };
        if open.detected_us.is_none() && links != open.links {
            open.detected_us = Some(now);
        }
        if self.dissenters.is_empty() {
            let since = *self.agreed_since.get_or_insert(now);
            if open.agreed_us.is_none() && now >= since + HOLD_US {
                open.agreed_us = Some(since);
            }
        } else if self.agreed_since.take().is_some() && open.agreed_us.is_some() {
            self.relapses += 1;
        }
    }

    fn finish(self) -> Outcome {
        let now = self.world.now_us();
        let changes: Vec<Change> = self.open.iter().map(Open::closed).collect();
        let (verdict, failure) = self.judge(now, &changes);
        let usage: Vec<_> = (0..self.nodes).map(|node| self.world.usage(node)).collect();
        let tally = |of: fn(&SoftState) -> u64| (0..self.nodes).map(|node| of(self.world.station(node))).sum();
        let share = |tx_us: u64| tx_us * 1_000_000 / now.max(1);
        Outcome {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            verdict,
            failure,
            ran_ms: now / 1_000,
            components: self.components.usable.len(),
            changes,
            relapses: self.relapses,
            sent: usage.iter().map(|usage| usage.sent).sum(),
            received: usage.iter().map(|usage| usage.received).sum(),
            damaged: usage.iter().map(|usage| usage.damaged).sum(),
            busy: usage.iter().map(|usage| usage.busy).sum(),
            elections: tally(|station| station.tally().elections),
            searches: tally(|station| station.tally().searches),
            events: self.world.events(),
            nodes: (usage.iter().enumerate())
                .map(|(node, usage)| NodeUse { id: id_of(node).0, sent: usage.sent, airtime_ppm: share(usage.tx_us) })
                .collect(),
            digest: self.observer.digest(),
            reigns: self.reigns,
        }
    }

    fn judge(&self, now: u64, changes: &[Change]) -> (Verdict, Option<Failure>) {
        let last_events = self.observer.last_events();
        if let Some((at, node, what)) = &self.observer.violation {
            let nodes = vec![id_of(*node).0];
            return (Verdict::Safety, Some(Failure { at_ms: at / 1_000, what: what.clone(), nodes, last_events }));
        }
        let Some(last) = changes.last() else { return (Verdict::Ok, None) };
        let within_ms = self.scenario.within_us / 1_000;
        let what = match last.agreed_after_ms {
            Some(took) if took <= within_ms => return (Verdict::Ok, None),
            Some(took) => format!("agreement took {took} ms after the last change ({}), not {within_ms} ms", last.what),
            None => {
                format!("no lasting agreement {} ms after the last change ({})", now / 1_000 - last.at_ms, last.what)
            }
        };
        let nodes = self.dissenters.iter().map(|&node| id_of(node).0).collect();
        (Verdict::Liveness, Some(Failure { at_ms: now / 1_000, what, nodes, last_events }))
    }
}

impl Open {
    fn closed(&self) -> Change {
        let after = |us: Option<u64>| us.map(|us| (us - self.at_us) / 1_000);
        let (detected_after_ms, agreed_after_ms) = (after(self.detected_us), after(self.agreed_us));
        Change { at_ms: self.at_us / 1_000, what: self.what.clone(), detected_after_ms, agreed_after_ms }
    }
}

fn id_of(node: usize) -> NodeId {
    NodeId(u16::try_from(node + 1).unwrap_or(u16::MAX))
}

fn names(nodes: &[usize]) -> String {
    let ids: Vec<String> = nodes.iter().map(|&node| id_of(node).to_string()).collect();
    format!("{} {}", if ids.len() == 1 { "node" } else { "nodes" }, ids.join(", "))
}
