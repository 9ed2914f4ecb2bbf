//! Runs a scenario.

use std::collections::BTreeMap;
use std::io;

use common::rng::Rng;
use common::types::NodeId;

use super::boards::{Boards, NoBoards};
use super::faults::{Attacker, Corruption, Drifts, Jammer, LongFades, Outages};
use crate::air::energy::Activity;
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::{Medium, OnAir, Tuning};
use crate::air::power::Power;
use crate::air::timing::RadioTiming;
use crate::air::world::World;
use crate::scenario::input::plan::{Flash, Harm, NodePlan, Scenario};
use crate::scenario::judge::checker::{Components, HOLD_US};
use crate::scenario::judge::liveness::Liveness;
use crate::scenario::judge::observer::{Observer, Recorders};
use crate::scenario::judge::verdict::Late;
use crate::scenario::report::outcome::{Change, NodeUse, Outcome, Reign};
use crate::scenario::run::agenda::{Agenda, StrikeId};
use crate::scenario::run::program::{Program, Programs};
use crate::scenario::run::walk::Walk;

/// Agreement is looked for this often.
const SLICE_US: u64 = 10_000;

/// A change that is being dealt with.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Open {
    pub(in crate::scenario) at_us: u64,
    pub(in crate::scenario) what: String,
    pub(in crate::scenario) noticed_us: Option<u64>,
    pub(in crate::scenario) called_us: Option<u64>,
    pub(in crate::scenario) agreed_us: Option<u64>,
}

/// A scenario that is being played.
pub(in crate::scenario) struct Run<'s> {
    pub(in crate::scenario) scenario: &'s Scenario,
    pub(in crate::scenario) programs: Programs,
    pub(in crate::scenario) seed: u64,
    pub(in crate::scenario) world: World<Program>,
    pub(in crate::scenario) timing: RadioTiming,
    pub(in crate::scenario) nodes: usize,
    /// The nodes that run somewhere else.
    pub(in crate::scenario) boards: &'s mut dyn Boards,
    pub(in crate::scenario) observer: Observer,
    pub(in crate::scenario) agenda: Agenda,
    pub(in crate::scenario) walk: Option<Walk>,
    pub(in crate::scenario) rng: Rng,
    /// Of the network next door: the same numbers as above, but neither moves the other on.
    pub(in crate::scenario) wifi_rng: Rng,
    pub(in crate::scenario) lives: BTreeMap<NodeIndex, u64>,
    /// What each node's driver has stored: the number of its last boot.
    pub(in crate::scenario) epochs: BTreeMap<NodeIndex, u16>,
    /// How often a fault has struck so far.
    pub(in crate::scenario) last_strike: StrikeId,
    pub(in crate::scenario) outages: Outages,
    pub(in crate::scenario) drifts: Drifts,
    pub(in crate::scenario) corruption: Corruption,
    /// By the number of the fault.
    pub(in crate::scenario) jammers: BTreeMap<usize, Jammer>,
    /// By the number of the fault.
    pub(in crate::scenario) attackers: BTreeMap<usize, Attacker>,
    pub(in crate::scenario) wifi: Option<(RadioIndex, Option<OnAir>)>,
    pub(in crate::scenario) components: Components,
    pub(in crate::scenario) moved: bool,
    /// Who spoils the agreement of each component.
    pub(in crate::scenario) dissenters: Vec<Vec<NodeIndex>>,
    /// Since when there has been agreement.
    pub(in crate::scenario) agreed_since: Option<u64>,
    pub(in crate::scenario) liveness: Liveness,
    /// The first agreement since the last change that did not come in time.
    pub(in crate::scenario) late: Option<Late>,
    pub(in crate::scenario) long_fades: LongFades,
    pub(in crate::scenario) open: Vec<Open>,
    pub(in crate::scenario) relapses: u64,
    pub(in crate::scenario) reigns: Vec<Reign>,
}

/// Runs a scenario with a seed. Boards are nodes like others here: there is no image for them.
pub fn run(scenario: &Scenario, seed: u64) -> Outcome {
    let mut boards = NoBoards;
    let mut run = Run::new(scenario, seed, Recorders::default(), &mut boards);
    run.play();
    run.finish()
}

/// Runs a scenario with a seed and writes it down; fails only where writing does. Boards are nodes like others here.
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
        let timing = plan.timing;
        let medium = Medium::with_rules(propagation, plan.bursts, seed, plan.cca.rules());
        let mut world = World::new(medium, timing, seed);
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
        let (jammers, attackers, wifi) = add_outsiders(scenario, &mut world);
        Self {
            scenario,
            programs,
            seed,
            nodes: positions.len(),
            boards,
            world,
            timing,
            observer: Observer::new(scenario.protocol.radii.clone(), recorders),
            agenda: Agenda::new(scenario, seed),
            walk: scenario.mobility.as_ref().map(|plan| Walk::new(plan, &positions, seed)),
            rng: Rng::stream(seed, 0xFA17),
            wifi_rng: Rng::stream(seed, 0xFA17),
            lives: BTreeMap::new(),
            epochs: NodeIndex::first(positions.len()).map(|node| (node, 1)).collect(),
            last_strike: StrikeId::default(),
            outages: Outages::default(),
            drifts: Drifts::default(),
            corruption: Corruption::default(),
            jammers,
            attackers,
            wifi,
            components: Components::default(),
            moved: true,
            dissenters: Vec::new(),
            agreed_since: None,
            liveness: Liveness::new(scenario.within_us),
            late: None,
            long_fades: LongFades::default(),
            open: Vec::new(),
            relapses: 0,
            reigns: Vec::new(),
        }
    }

    pub(super) fn play(&mut self) {
        self.change(0, "start".to_owned());
        for node in NodeIndex::first(self.nodes) {
            self.switch_on(0, node, Flash::Kept);
        }
        // Only now is there anything that could be joined.
        self.update_components();
        self.concern(&Components::default());
        self.check_agreement(0);
        while self.world.now_us() < self.scenario.duration_us && self.observer.violation.is_none() {
            let now = self.world.now_us();
            let due = self.agenda.next_us().unwrap_or(u64::MAX).max(now);
            let next = (now + SLICE_US).min(due).min(self.scenario.duration_us);
            self.boards.run_until(next, &mut self.world, &mut self.observer);
            self.listen_to_boards(next);
            while let Some(action) = self.agenda.pop(next) {
                self.apply(next, action);
            }
            self.update_long_fades(next);
            self.check_agreement(next);
        }
    }

    /// Something has changed, from which on agreement must be found anew.
    pub(super) fn change(&mut self, now: u64, what: String) {
        if let Some(open) = self.open.last_mut() {
            open.note_reactions(&self.observer);
        }
        self.observer.note(now, &what);
        let before = std::mem::take(&mut self.components);
        self.update_components();
        self.concern(&before);
        self.open.push(Open { at_us: now, what, noticed_us: None, called_us: None, agreed_us: None });
        self.agreed_since = None;
        self.restart_liveness(now);
        self.late = None;
    }

    /// Watches the ends of every link that was made or broken since: how they see it now.
    fn concern(&mut self, before: &Components) {
        let mut concerned: BTreeMap<NodeIndex, Vec<(NodeId, bool)>> = BTreeMap::new();
        for &(a, b) in before.links.symmetric_difference(&self.components.links) {
            for (end, other) in [(a, b), (b, a)] {
                let is_linked = self.world.station(end).is_linked(id_of(other));
                concerned.entry(end).or_default().push((id_of(other), is_linked));
            }
        }
        self.observer.watch(concerned);
    }

    pub(super) fn update_components(&mut self) {
        let found = self.find_components();
        let before = std::mem::replace(&mut self.components, found);
        // Nodes that move, and boards that begin to send, are not told as changes each time.
        if before.usable != self.components.usable {
            self.restart_liveness(self.world.now_us());
        }
        self.observer.leaders_changed = true;
        self.moved = false;
    }

    /// From now on there is as much time as ever to agree. What was too late before stays too late, and nobody knows any more
    /// when it was settled: its component may be another one now.
    fn restart_liveness(&mut self, now: u64) {
        self.liveness.restart(now, self.components.usable.len());
        if let Some(late) = &mut self.late {
            late.forget_component();
        }
    }

    /// The components as they are now.
    pub(super) fn find_components(&self) -> Components {
        let (world, medium) = (&self.world, self.world.medium());
        let floor = Power::from_dbm(medium.propagation().noise_dbm);
        let noise_at = |node: NodeIndex| {
            let on = self.jammers.values().filter(|jammer| jammer.on.is_some());
            let jammed = on.filter_map(|jammer| medium.mean_dbm(jammer.radio, node.radio())).map(Power::from_dbm);
            (floor + jammed.sum()).dbm()
        };
        let takes_part = |node: NodeIndex| world.is_on(node) && !world.station(node).is_mute();
        let power_dbm = |from: NodeIndex, to: NodeIndex| {
            Some(medium.mean_dbm(from.radio(), to.radio())? - self.long_fades.loss_db(from, to))
        };
        Components::find(power_dbm, self.nodes, takes_part, noise_at, self.programs.admission())
    }

    /// Each leader that is followed, by index, and by how many.
    pub(super) fn followers(&self) -> BTreeMap<NodeIndex, usize> {
        let mut followers = BTreeMap::new();
        for node in NodeIndex::first(self.nodes).filter(|&node| self.world.is_on(node)) {
            if let Some(leader) = self.leader(node) {
                *followers.entry(leader).or_insert(0) += 1;
            }
        }
        followers
    }

    /// Whom a node that is on follows, as an index. A leader that is no node of the scenario is nobody.
    pub(in crate::scenario) fn leader(&self, node: NodeIndex) -> Option<NodeIndex> {
        let leader = self.world.station(node).leader().filter(|_| self.world.is_on(node))?;
        usize::from(leader.0).checked_sub(1).filter(|&leader| leader < self.nodes).map(NodeIndex)
    }

    /// Finds out whether there is agreement, if that may have changed.
    fn check_agreement(&mut self, now: u64) {
        if self.moved {
            self.update_components();
        }
        if std::mem::take(&mut self.observer.leaders_changed) {
            self.dissenters = self.components.dissenters_by_component(|node| self.leader(node));
            let leaders = self.followers().into_iter().map(|(leader, count)| (id_of(leader).0, count)).collect();
            if self.reigns.last().is_none_or(|last| last.leaders != leaders) {
                self.reigns.push(Reign { at_ms: now / 1_000, leaders });
            }
        }
        let Some(open) = self.open.last_mut() else { return };
        open.note_reactions(&self.observer);
        // Where the last node has just come to agree, that moment and not the end of the slice.
        let leader_us = self.observer.leader_us;
        let began = if leader_us + SLICE_US > now { leader_us.max(open.at_us) } else { now };
        if self.dissenters.iter().all(Vec::is_empty) {
            let since = *self.agreed_since.get_or_insert(began);
            if open.agreed_us.is_none() && now >= since + HOLD_US {
                open.agreed_us = Some(since);
            }
        } else if self.agreed_since.take().is_some() && open.agreed_us.is_some() {
            self.relapses += 1;
        }
        self.assess_components(now, began);
    }

    pub(super) fn finish(self) -> Outcome {
        let now = self.world.now_us();
        let changes: Vec<Change> = self.open.iter().map(Open::closed).collect();
        let (verdict, failure) = self.judge();
        let usage: Vec<_> = NodeIndex::first(self.nodes).map(|node| self.world.usage(node)).collect();
        let tallies: Vec<_> = NodeIndex::first(self.nodes).map(|node| self.world.station(node).tally()).collect();
        let nodes = NodeIndex::first(self.nodes).map(|node| self.node_use(node, now)).collect();
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
            elections: tallies.iter().map(|tally| tally.elections).sum(),
            searches: tallies.iter().map(|tally| tally.searches).sum(),
            link_changes: tallies.iter().map(|tally| tally.ups + tally.downs).sum(),
            refused: tallies.iter().map(|t| t.foreign + t.malformed + t.forged + t.replayed).sum(),
            retries: tallies.iter().map(|tally| tally.retries).sum(),
            events: self.world.events(),
            nodes,
            digest: self.observer.digest(),
            reigns: self.reigns,
            follows: self.observer.follows,
        }
    }

    fn node_use(&self, node: NodeIndex, now: u64) -> NodeUse {
        let usage = self.world.usage(node);
        let tx_dbm = self.world.medium().tuning(node.radio()).tx_dbm;
        let energy = Activity::new(usage, tx_dbm, self.timing, usage.on_us).cost();
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

/// The jammers and the attackers of a scenario by their faults, and the network next door with its noise.
type Outsiders = (BTreeMap<usize, Jammer>, BTreeMap<usize, Attacker>, Option<(RadioIndex, Option<OnAir>)>);

/// Adds every radio that is no node.
fn add_outsiders(scenario: &Scenario, world: &mut World<Program>) -> Outsiders {
    let plan = &scenario.radio;
    let (mut jammers, mut attackers) = (BTreeMap::new(), BTreeMap::new());
    let tuned = |tx_dbm, channel: Option<u8>| Tuning { channel: channel.unwrap_or(plan.channel), tx_dbm };
    // From here on radios are no nodes.
    let nodes = world.len();
    world.medium_mut().change_propagation(|air| air.nodes = nodes);
    for (index, fault) in scenario.faults.iter().enumerate() {
        match &fault.harm {
            Harm::Jam { position, power_dbm, channel, .. } => {
                let radio = world.medium_mut().add(*position, tuned(*power_dbm, *channel));
                jammers.insert(index, Jammer { radio, active: 0, on: None });
            }
            Harm::Attack(attack) => {
                let radio = world.add_intruder(attack.position, tuned(attack.tx_dbm, attack.channel));
                attackers.insert(index, Attacker { radio, active: 0, until_us: 0, is_sending: false });
            }
            _ => {}
        }
    }
    let wifi = plan.wifi.map(|wifi| (world.medium_mut().add(wifi.at, tuned(wifi.power_dbm, wifi.channel)), None));
    (jammers, attackers, wifi)
}

impl Open {
    fn note_reactions(&mut self, observer: &Observer) {
        self.noticed_us = self.noticed_us.or(observer.noticed_us);
        self.called_us = self.called_us.or(observer.called_us);
    }

    fn closed(&self) -> Change {
        let after = |us: Option<u64>| us.map(|us| (us - self.at_us) / 1_000);
        Change {
            at_ms: self.at_us / 1_000,
            what: self.what.clone(),
            detected_after_ms: after(self.noticed_us),
            called_after_ms: after(self.called_us),
            agreed_after_ms: after(self.agreed_us),
        }
    }
}

/// The id of a node, which are numbered from 1.
pub(in crate::scenario) fn id_of(node: NodeIndex) -> NodeId {
    NodeId(u16::try_from(node.0 + 1).unwrap_or(u16::MAX))
}
