//! Runs a scenario.

use std::io;

use common::data::Counters;
use common::rng::Rng;
use common::types::NodeId;

use super::boards::{Boards, NoBoards};
use super::faults::Faults;
use super::loads::Loads;
use crate::air::energy::Activity;
use crate::air::index::NodeIndex;
use crate::air::medium::{Medium, Tuning};
use crate::air::world::World;
use crate::scenario::input::plan::{Flash, NodePlan, Scenario};
use crate::scenario::judge::agreement::Judge;
use crate::scenario::judge::collection::CollectionCheck;
use crate::scenario::judge::components::Components;
use crate::scenario::judge::observer::{DataSent, Observer, Recorders};
use crate::scenario::report::collected::Collected;
use crate::scenario::report::commands::Commands;
use crate::scenario::report::outcome::{NodeUse, Outcome};
use crate::scenario::run::agenda::Agenda;
use crate::scenario::run::fleet::Questions;
use crate::scenario::run::program::{Program, Programs};
use crate::scenario::run::walk::Walk;

/// Agreement is checked this often.
pub(in crate::scenario) const SLICE_US: u64 = 10_000;

/// What nodes have used is recorded this often.
const METERED_US: u64 = 1_000_000;

/// A scenario that is being played. The faults know what is wrong at the moment, and the judge knows what must hold.
pub(in crate::scenario) struct Run<'s> {
    pub(super) scenario: &'s Scenario,
    pub(super) programs: Programs,
    pub(super) seed: u64,
    pub(super) world: World<Program>,
    /// The nodes that run somewhere else.
    pub(super) boards: &'s mut dyn Boards,
    pub(super) observer: Observer,
    pub(super) agenda: Agenda,
    pub(super) walk: Option<Walk>,
    pub(super) faults: Faults,
    pub(super) loads: Loads,
    pub(super) judge: Judge,
    pub(super) questions: Questions,
}

/// Runs a scenario with a seed. Nodes that are marked as boards are simulated too, since there is no image for them
/// here.
pub fn run(scenario: &Scenario, seed: u64) -> Outcome {
    let mut boards = NoBoards;
    let mut run = Run::new(scenario, seed, Recorders::default(), &mut boards);
    run.play();
    run.finish()
}

/// The same, and records it; only recording can fail.
pub fn run_recorded(scenario: &Scenario, seed: u64, recorders: Recorders) -> io::Result<Outcome> {
    let mut boards = NoBoards;
    let mut run = Run::new(scenario, seed, recorders, &mut boards);
    run.play();
    run.observer.finish()?;
    Ok(run.finish())
}

impl<'s> Run<'s> {
    pub(super) fn new(scenario: &'s Scenario, seed: u64, recorders: Recorders, boards: &'s mut dyn Boards) -> Self {
        let plan = &scenario.radio;
        let propagation = plan.propagation(seed);
        let mut positions = scenario.topology.positions(seed);
        let programs = Programs::of(scenario);
        let medium = Medium::with_rules(propagation, plan.bursts, seed, plan.cca.rules());
        let mut world = World::new(medium, plan.timing, seed);
        world.set_loss(plan.loss);
        world.set_wake_jitter(plan.wake_jitter_us);
        let mut drifts = Rng::stream(seed, 0xD21F);
        for (node, position) in NodeIndex::first(positions.len()).zip(&mut positions) {
            let wide = i32::try_from(drifts.below(2 * plan.drift_ppm + 1)).unwrap_or(0);
            let lot = wide - i32::try_from(plan.drift_ppm).unwrap_or(0);
            let NodePlan { at, channel, tx_dbm, drift_ppm, .. } =
                scenario.nodes.get(&node).copied().unwrap_or_default();
            *position = at.unwrap_or(*position);
            let tuning = Tuning { channel: channel.unwrap_or(plan.channel), tx_dbm: tx_dbm.unwrap_or(plan.tx_dbm) };
            world.add(*position, tuning, drift_ppm.unwrap_or(lot), programs.program(id_of(node), Some(1), seed));
        }
        let mut observer = Observer::new(positions.len(), scenario.protocol.radii.clone(), recorders);
        observer.collection = scenario.collect.as_ref().map(|_| CollectionCheck::default());
        Self {
            scenario,
            programs,
            seed,
            faults: Faults::new(scenario, seed, &mut world),
            loads: Loads::new(scenario),
            world,
            boards,
            observer,
            agenda: Agenda::new(scenario, seed),
            walk: scenario.mobility.as_ref().map(|plan| Walk::new(plan, &positions, seed)),
            judge: Judge::new(scenario.within_us),
            questions: Questions::default(),
        }
    }

    pub(super) fn play(&mut self) {
        self.start();
        self.advance(u64::MAX);
    }

    /// Switches everything on.
    pub(super) fn start(&mut self) {
        for node in NodeIndex::first(self.world.len()) {
            self.observer.place(0, node, self.world.medium().position(node.radio()));
        }
        self.change(0, "start".to_owned());
        for node in NodeIndex::first(self.world.len()) {
            self.switch_on(0, node, Flash::Kept);
        }
        // Only now is there anything that could be joined.
        self.update_components();
        self.judge.watch_links(&Components::default(), &self.world, &mut self.observer);
        self.check_agreement(0);
    }

    /// Lets time pass until about then. Where it stops on the way changes nothing of the run.
    pub(super) fn advance(&mut self, until_us: u64) {
        while self.world.now_us() < until_us && !self.is_over() {
            let now = self.world.now_us();
            let due = self.agenda.next_us().unwrap_or(u64::MAX).max(now);
            let next = (now + SLICE_US).min(due).min(self.scenario.duration_us);
            self.boards.run_until(next, &mut self.world, &mut self.observer);
            self.listen_to_boards(next);
            while let Some(action) = self.agenda.pop(next) {
                self.apply(next, action);
            }
            self.note_measured(next);
            self.update_long_fades(next);
            self.check_agreement(next);
            if next / METERED_US != now / METERED_US {
                self.check_collection(next);
                self.renew_epochs();
            }
            self.check_orders(next);
            self.gather_fleet(next);
            if self.observer.has_details() && next / METERED_US != now / METERED_US {
                self.read_meters(next);
            }
        }
    }

    /// Whether the run is over: played to its end, stopped, or ended by something that must never happen.
    pub(super) fn is_over(&self) -> bool {
        self.world.now_us() >= self.scenario.duration_us
            || self.observer.violation.is_some()
            || self.boards.is_stopped()
    }

    fn read_meters(&mut self, now: u64) {
        for node in NodeIndex::first(self.world.len()) {
            let charge_uah = self.node_use(node, now).charge_uah;
            self.observer.energy(now, node, charge_uah, self.world.usage(node).tx_us);
        }
    }

    /// Something has changed, so agreement must be found again.
    pub(super) fn change(&mut self, now: u64, what: String) {
        let found = self.find_components();
        self.observer.orders.note_change(now);
        self.judge.begin_change(now, what, found, &self.world, &mut self.observer);
    }

    /// Checks that every reading gets where it must.
    fn check_collection(&mut self, now: u64) {
        let Some(check) = &mut self.observer.collection else { return };
        let missing = check.assess(now, &self.judge.followers_of_agreed(&self.world));
        if let Err((node, what)) = missing {
            self.observer.object(now, node, what);
        }
    }

    fn update_components(&mut self) {
        let found = self.find_components();
        self.judge.set_components(self.world.now_us(), found, &mut self.observer);
    }

    fn check_agreement(&mut self, now: u64) {
        if self.judge.is_stale() {
            self.update_components();
        }
        self.judge.check_agreement(now, &self.world, &mut self.observer);
    }

    pub(super) fn find_components(&self) -> Components {
        let (world, medium) = (&self.world, self.world.medium());
        Components::find(
            |from, to| self.faults.power_dbm(medium, from, to),
            world.len(),
            |node| world.is_on(node) && !world.station(node).is_mute(),
            |node| self.faults.noise_dbm(medium, node),
            self.programs.admission(),
        )
    }

    pub(super) fn finish(self) -> Outcome {
        let now = self.world.now_us();
        let (verdict, failure) = self.judge.verdict(&self.observer, self.scenario, &self.world);
        let all = NodeIndex::first(self.world.len());
        let usage: Vec<_> = all.clone().map(|node| self.world.usage(node)).collect();
        let tallies: Vec<_> = all.clone().map(|node| self.world.station(node).tally()).collect();
        let nodes: Vec<_> = all.map(|node| self.node_use(node, now)).collect();
        Outcome {
            scenario: self.scenario.name.clone(),
            seed: self.seed,
            verdict,
            failure,
            ran_ms: now / 1_000,
            components: self.judge.components().usable.len(),
            changes: self.judge.changes(),
            relapses: self.judge.relapses(),
            steadiness: self.judge.steadiness(&self.observer),
            sent: usage.iter().map(|usage| usage.sent).sum(),
            received: usage.iter().map(|usage| usage.received).sum(),
            damaged: usage.iter().map(|usage| usage.damaged).sum(),
            busy: usage.iter().map(|usage| usage.busy).sum(),
            elections: tallies.iter().map(|tally| tally.elections).sum(),
            searches: tallies.iter().map(|tally| tally.searches).sum(),
            link_changes: tallies.iter().map(|tally| tally.ups + tally.downs).sum(),
            refused: tallies.iter().map(|t| t.foreign + t.malformed + t.forged + t.replayed).sum(),
            retries: tallies.iter().map(|tally| tally.retries).sum(),
            events: self.world.events(),
            collect: self.collected(&nodes, now),
            nodes,
            digest: self.observer.digest(),
            commands: self.observer.orders.commands().map(|commands| Commands { holding: self.holding(), ..commands }),
            fleet: self.fleet(),
            reigns: self.judge.into_reigns(),
            follows: self.observer.follows,
        }
    }

    /// How many nodes know of an order.
    fn holding(&self) -> u64 {
        let knows = |node: &NodeIndex| match self.world.station(*node) {
            Program::Node(station) => self.world.is_on(*node) && !station.node().orders().book().is_empty(),
            Program::Soft(_) | Program::Board(_) => false,
        };
        NodeIndex::first(self.world.len()).filter(knows).count() as u64
    }

    /// What became of readings, and what that cost.
    fn collected(&self, nodes: &[NodeUse], now: u64) -> Option<Collected> {
        let count = nodes.len().max(1) as u64;
        let sent = &self.observer.data_sent;
        let airtime_us: u64 = sent.iter().map(|sent| sent.airtime_us).sum();
        #[expect(clippy::cast_precision_loss, reason = "a share of what a battery holds")]
        let charge = |(node, sent): (&NodeUse, &DataSent)| {
            let share = sent.airtime_us as f64 * 1e6 / now.max(1) as f64 / node.airtime_ppm.max(1) as f64;
            node.tx_uah * 1e3 * share.min(1.0)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a battery holds far less")]
        let tx_nah = nodes.iter().zip(sent).map(charge).sum::<f64>().round() as u64 / count;
        let counters: Vec<_> =
            NodeIndex::first(self.world.len()).filter_map(|node| self.world.station(node).data_counters()).collect();
        let flashes = NodeIndex::first(self.world.len()).filter_map(|node| self.world.station(node).flash());
        let sum = |of: fn(&Counters) -> u32| counters.iter().map(|one| u64::from(of(one))).sum();
        self.observer.collection.as_ref().map(|check| Collected {
            missed: sum(|one| one.missed),
            not_taken: sum(|one| one.not_taken),
            repeated: sum(|one| one.repeated),
            dropped: sum(|one| one.dropped.saturating_add(one.commits_dropped)),
            copies_dropped: sum(|one| one.copies_lost),
            shown: flashes.map(|flash| flash.borrow().shown().len() as u64).sum(),
            frames: sent.iter().map(|sent| sent.frames).sum(),
            airtime_ppm: airtime_us * 1_000_000 / now.max(1) / count,
            tx_nah,
            ..check.report()
        })
    }

    fn node_use(&self, node: NodeIndex, now: u64) -> NodeUse {
        let usage = self.world.usage(node);
        let tx_dbm = self.world.medium().tuning(node.radio()).tx_dbm;
        let energy = Activity::new(usage, tx_dbm, self.scenario.radio.timing, usage.on_us).cost();
        NodeUse {
            id: id_of(node).0,
            sent: usage.sent,
            received: usage.received,
            damaged: usage.damaged,
            corrupted: usage.corrupted,
            malformed: usage.malformed,
            airtime_ppm: usage.tx_us * 1_000_000 / now.max(1),
            charge_uah: energy.charge_uah,
            tx_uah: energy.tx_uah,
            rx_uah: energy.rx_uah,
            idle_uah: energy.idle_uah,
            cpu_uah: energy.cpu_uah,
            sleep_uah: energy.sleep_uah,
            mean_ua: energy.mean_ua,
        }
    }
}

/// The id of a node; ids count from 1.
pub(in crate::scenario) fn id_of(node: NodeIndex) -> NodeId {
    NodeId(u16::try_from(node.0 + 1).unwrap_or(u16::MAX))
}
