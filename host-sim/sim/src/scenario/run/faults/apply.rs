//! What a scenario does to the network.

use std::collections::BTreeMap;

use common::protocol::Signal;
use common::rng::Rng;

use super::active_faults::take_out;
use super::boots::Stored;
use crate::air::flash::FlashEvent;
use crate::air::index::NodeIndex;
use crate::air::propagation::Point;
use crate::scenario::input::plan::{FaultIndex, Flash, Harm, Who};
use crate::scenario::input::units::seconds;
use crate::scenario::judge::agreement::followers;
use crate::scenario::judge::scenery::Obstacle;
use crate::scenario::run::agenda::{Action, STEP_US, StrikeId};
use crate::scenario::run::drive::{Run, id_of};
use crate::scenario::run::mirror::Mirror;
use crate::scenario::run::program::Program;

/// A driver whose write was torn tries again after this long.
const STORE_AGAIN_US: u64 = 1_000_000;

impl Run<'_> {
    pub(in crate::scenario) fn apply(&mut self, now: u64, action: Action) {
        match action {
            Action::Begin(fault) => self.begin(now, fault),
            Action::End(fault) => self.end(now, fault),
            Action::EndOutage { strike, nodes } => self.end_outage(now, strike, &nodes),
            Action::StoreAgain { node, life } => self.store_again(now, node, life),
            Action::EndHoldOff { node, life } => self.end_hold_off(now, node, life),
            Action::Stop(nodes) => self.stop(now, nodes),
            Action::Attack(fault) => self.attack(now, fault),
            Action::EndDrift { strike, nodes } => self.end_drift(now, strike, &nodes),
            Action::Move => self.move_on(now),
            Action::Remember => self.remember(),
            Action::Load(plan) => self.change_load(plan),
            Action::Command(index) => self.command(now, index),
            Action::Ask => self.ask_fleet(now),
            Action::Measure { node, since_us } => self.measure(now, node, since_us),
            Action::Wifi { begins } => self.wifi(now, begins),
            Action::Links { at_us } => self.change_links(now, at_us),
        }
    }

    fn begin(&mut self, now: u64, fault: FaultIndex) {
        match &self.scenario.faults[fault.0].harm {
            Harm::Crash { who, lasts_us, flash } => self.crash(now, who, *lasts_us, *flash),
            Harm::Restart { who, flash } => {
                let nodes = self.targets(who);
                for &node in &nodes {
                    self.faults.outages.end_all(node);
                    // One that is on goes off for no time at all.
                    if self.world.is_on(node) {
                        self.switch_off(now, node);
                    }
                    self.faults.boots.lose_power(now, node);
                }
                self.restart(now, &nodes, *flash);
            }
            Harm::Wall { wall, .. } => {
                self.world.medium_mut().change_propagation(|air| air.walls.push(wall.clone()));
                self.observer.obstacle(now, &Obstacle::wall(wall), true);
                self.change(now, format!("a wall of {} dB goes up", wall.loss_db));
            }
            Harm::Partition { group, .. } => {
                self.world.medium_mut().change_propagation(|air| air.partitions.push(group.clone()));
                self.observer.obstacle(now, &Obstacle::split(group), true);
                let cut_off: Vec<NodeIndex> = group.iter().copied().collect();
                self.change(now, format!("{} cut off", names(&cut_off)));
            }
            Harm::Jam { position, power_dbm, .. } => {
                let Some(jammer) = self.faults.outsiders.jammers.get_mut(&fault) else { return };
                jammer.active += 1;
                if jammer.on.is_none() {
                    jammer.on = Some(self.world.medium_mut().begin_noise(now, jammer.radio));
                    self.observer.obstacle(now, &Obstacle::noise(*position), true);
                    self.change(now, format!("noise of {power_dbm} dBm at ({}, {})", position.x, position.y));
                }
            }
            Harm::Drift { who, ppm, lasts_us } => self.drift(now, who, *ppm, *lasts_us),
            Harm::Corrupt { share, .. } => {
                self.faults.corruption.begin(*share);
                let together = self.faults.corruption.share();
                self.world.set_corruption(together);
                self.change(now, corrupted(together));
            }
            Harm::CorruptState { who } => self.corrupt_state(now, who),
            Harm::Lie { who, lasts_us } => self.lie(now, fault, who, *lasts_us),
            Harm::StepDown { who, off_after_us } => self.step_down(now, who, *off_after_us),
            Harm::Move { to } => {
                for (&node, &position) in to {
                    if let Some(walk) = &mut self.walk {
                        walk.put(node, self.world.medium().position(node.radio()), position);
                    }
                    self.place(now, node, position);
                }
                self.change(now, format!("{} carried elsewhere", names(&to.keys().copied().collect::<Vec<_>>())));
            }
            Harm::Attack(attack) => {
                let Some(attacker) = self.faults.outsiders.attackers.get_mut(&fault) else { return };
                attacker.active += 1;
                attacker.until_us = attacker.until_us.max(now + attack.lasts_us);
                if !std::mem::replace(&mut attacker.is_sending, true) {
                    self.agenda.add(now + attack.interval_us, Action::Attack(fault));
                }
                if attacker.active == 1 {
                    self.world.set_intruder_about(attacker.radio, true);
                    self.observer.obstacle(now, &Obstacle::attacker(attack.position), true);
                    self.change(now, format!("an attacker at ({}, {})", attack.position.x, attack.position.y));
                }
            }
        }
    }

    fn end(&mut self, now: u64, fault: FaultIndex) {
        match &self.scenario.faults[fault.0].harm {
            Harm::Wall { wall, .. } => {
                self.world.medium_mut().change_propagation(|air| take_out(&mut air.walls, wall));
                self.observer.obstacle(now, &Obstacle::wall(wall), false);
                self.change(now, "the wall comes down".to_owned());
            }
            Harm::Partition { group, .. } => {
                self.world.medium_mut().change_propagation(|air| take_out(&mut air.partitions, group));
                self.observer.obstacle(now, &Obstacle::split(group), false);
                self.change(now, "they are no longer cut off".to_owned());
            }
            Harm::Jam { position, .. } => {
                let Some(jammer) = self.faults.outsiders.jammers.get_mut(&fault) else { return };
                jammer.active = jammer.active.saturating_sub(1);
                if let Some(on) = jammer.on.take_if(|_| jammer.active == 0) {
                    self.world.medium_mut().end(now, on, |_| ());
                    self.observer.obstacle(now, &Obstacle::noise(*position), false);
                    self.change(now, "the noise ends".to_owned());
                }
            }
            Harm::Corrupt { share, .. } => {
                self.faults.corruption.end(*share);
                let left = self.faults.corruption.share();
                self.world.set_corruption(left);
                let what = if left > 0.0 { corrupted(left) } else { "frames are no longer corrupted".to_owned() };
                self.change(now, what);
            }
            Harm::Attack(attack) => {
                let Some(attacker) = self.faults.outsiders.attackers.get_mut(&fault) else { return };
                attacker.active = attacker.active.saturating_sub(1);
                if attacker.active == 0 {
                    self.world.set_intruder_about(attacker.radio, false);
                    self.observer.obstacle(now, &Obstacle::attacker(attack.position), false);
                    self.change(now, "the attacker leaves".to_owned());
                }
            }
            Harm::Crash { .. }
            | Harm::Restart { .. }
            | Harm::Drift { .. }
            | Harm::CorruptState { .. }
            | Harm::Lie { .. }
            | Harm::StepDown { .. }
            | Harm::Move { .. } => {}
        }
    }

    fn step_down(&mut self, now: u64, who: &Who, off_after: Option<u64>) {
        let told: Vec<NodeIndex> = self.targets(who).into_iter().filter(|&node| self.world.is_on(node)).collect();
        self.change(now, format!("{} to lead no more", names(&told)));
        for &node in &told {
            self.world.tell(node, &mut self.observer, |program, local| program.signal(local, Signal::StepDown));
        }
        if let Some(after) = off_after {
            self.agenda.add(now + after, Action::Stop(told));
        }
    }

    /// Nodes that have handed over lose their power. Nobody should miss them, so agreement is judged as if nothing had
    /// happened.
    fn stop(&mut self, now: u64, nodes: Vec<NodeIndex>) {
        for &node in &nodes {
            if self.world.is_on(node) {
                self.switch_off(now, node);
            }
        }
        self.observer.note(now, &format!("{} off", names(&nodes)));
        self.keep_off(now, nodes, None, Flash::Kept);
        self.judge.mark_stale();
    }

    pub(in crate::scenario) fn crash(&mut self, now: u64, who: &Who, down: Option<u64>, flash: Flash) {
        let nodes = self.targets(who);
        let were_on: Vec<NodeIndex> = nodes.iter().copied().filter(|&node| self.world.is_on(node)).collect();
        for &node in &were_on {
            self.switch_off(now, node);
        }
        // Some may have had power and kept quiet.
        for &node in &nodes {
            self.faults.boots.lose_power(now, node);
        }
        if !were_on.is_empty() {
            self.change(now, format!("{} off", names(&were_on)));
        }
        self.keep_off(now, nodes, down, flash);
    }

    /// Nodes that are off stay so for this long, or for good.
    pub(in crate::scenario) fn keep_off(&mut self, now: u64, nodes: Vec<NodeIndex>, down: Option<u64>, flash: Flash) {
        let strike = self.faults.next_strike();
        for &node in &nodes {
            self.faults.outages.begin(node, strike, flash);
        }
        if let Some(down) = down.filter(|_| !nodes.is_empty()) {
            self.agenda.add(now + down, Action::EndOutage { strike, nodes });
        }
    }

    fn end_outage(&mut self, now: u64, strike: StrikeId, nodes: &[NodeIndex]) {
        let mut back: BTreeMap<Flash, Vec<NodeIndex>> = BTreeMap::new();
        for &node in nodes {
            if let Some(flash) = self.faults.outages.end(node, strike) {
                back.entry(flash).or_default().push(node);
            }
        }
        for (flash, nodes) in back {
            self.restart(now, &nodes, flash);
        }
    }

    fn drift(&mut self, now: u64, who: &Who, ppm: i32, lasts: Option<u64>) {
        let nodes = self.targets(who);
        let strike = self.faults.next_strike();
        for &node in &nodes {
            self.faults.drifts.begin(node, strike, ppm, self.world.drift_ppm(node));
            self.set_drift(node, ppm);
        }
        let how = if ppm < 0 { "slow" } else { "fast" };
        self.change(now, format!("the clocks of {} run {} ppm {how}", names(&nodes), ppm.unsigned_abs()));
        if let Some(lasts) = lasts {
            self.agenda.add(now + lasts, Action::EndDrift { strike, nodes });
        }
    }

    fn end_drift(&mut self, now: u64, strike: StrikeId, nodes: &[NodeIndex]) {
        for &node in nodes {
            if let Some(ppm) = self.faults.drifts.end(node, strike) {
                self.set_drift(node, ppm);
            }
        }
        let drifting: Vec<NodeIndex> = nodes.iter().copied().filter(|&node| self.faults.drifts.has(node)).collect();
        let what = match drifting[..] {
            [] => "clocks run as before".to_owned(),
            _ => format!("a drift ends; another one of {} goes on", names(&drifting)),
        };
        self.change(now, what);
    }

    fn restart(&mut self, now: u64, nodes: &[NodeIndex], flash: Flash) {
        let off: Vec<NodeIndex> = nodes.iter().copied().filter(|&node| !self.world.is_on(node)).collect();
        if off.is_empty() {
            return;
        }
        for &node in &off {
            let life = self.faults.boots.begin_life(node);
            let seed = Rng::stream(self.seed ^ 0x11FE, life).next_u64();
            let program = if self.boards.has(node) {
                Program::Board(Box::new(Mirror::new(id_of(node))))
            } else {
                let epoch = self.boot(now, node, life, flash);
                self.programs.boot_flash(node, flash);
                self.programs.program(id_of(node), epoch, seed)
            };
            self.observer.reborn(node, id_of(node));
            // A board decides itself when to keep quiet, and a program that stores nothing cannot.
            let is_node = matches!(program, Program::Node(_)) && flash == Flash::Kept;
            let quiet = if is_node { self.faults.boots.hold_off(node).as_micros() } else { 0 };
            self.world.replace(node, program);
            if quiet == 0 {
                self.switch_on(now, node, flash);
            } else {
                self.faults.boots.power(now, node);
                self.agenda.add(now + quiet, Action::EndHoldOff { node, life });
            }
        }
        let found = match flash {
            Flash::Torn if off.iter().all(|&node| self.boards.has(node)) => ", to lose it again at its first write",
            Flash::Kept => "",
            Flash::Erased => ", flash erased",
            Flash::Failing => ", flash failing: it only listens",
            Flash::Torn => ", its write torn: it only listens for a second",
        };
        self.change(now, format!("{} on again{found}", names(&off)));
    }

    fn set_drift(&mut self, node: NodeIndex, ppm: i32) {
        self.world.set_drift(node, ppm);
        self.boards.set_drift(node, ppm);
    }

    /// A node that kept quiet after too many short lives joins, unless its power failed again.
    fn end_hold_off(&mut self, now: u64, node: NodeIndex, life: u64) {
        if self.faults.boots.has_power(node) && self.faults.boots.is_in_life(node, life) {
            self.switch_on(now, node, Flash::Kept);
            self.change(now, format!("{} has kept quiet after its short lives, and joins", names(&[node])));
        }
    }

    pub(in crate::scenario) fn switch_on(&mut self, now: u64, node: NodeIndex, flash: Flash) {
        self.faults.boots.power(now, node);
        self.observer.power(now, node, true);
        self.world.power_on(node, &mut self.observer);
        self.boards.power_on(node, flash);
        if flash == Flash::Erased && self.boards.has(node) {
            self.observer.note_flash_event(now, node, FlashEvent::Erased);
        }
        self.begin_measuring(now, node);
    }

    pub(in crate::scenario) fn switch_off(&mut self, now: u64, node: NodeIndex) {
        self.faults.boots.lose_power(now, node);
        self.observer.power(now, node, false);
        self.world.power_off(node, &mut self.observer);
        self.boards.power_off(node);
    }

    /// What a driver has stored when its node starts: the number of the boot, unless that failed.
    fn boot(&mut self, now: u64, node: NodeIndex, life: u64, flash: Flash) -> Option<u16> {
        match self.faults.boots.boot(node, flash) {
            Stored::Epoch(epoch) => return Some(epoch),
            Stored::Never => {}
            Stored::NotYet => self.agenda.add(now + STORE_AGAIN_US, Action::StoreAgain { node, life }),
        }
        None
    }

    fn store_again(&mut self, now: u64, node: NodeIndex, life: u64) {
        if self.world.is_on(node) && self.faults.boots.is_in_life(node, life) {
            let epoch = self.faults.boots.store_again(node);
            self.world.tell(node, &mut self.observer, |program, local| program.handle_epoch(local, epoch));
            self.change(now, format!("{} has stored its epoch", names(&[node])));
        }
    }

    /// Drivers store another epoch for nodes that have used up theirs. No fault made these mute for a moment, so agreement is
    /// judged as if nothing had happened.
    pub(in crate::scenario) fn renew_epochs(&mut self) {
        for node in NodeIndex::first(self.world.len()) {
            let program = self.world.station(node);
            let is_asking = matches!(program, Program::Node(_)) && program.is_mute() && self.world.is_on(node);
            if is_asking && let Some(epoch) = self.faults.boots.renew(node) {
                self.world.tell(node, &mut self.observer, |program, local| program.handle_epoch(local, epoch));
                self.judge.mark_stale();
            }
        }
    }

    /// Whom a fault strikes now.
    pub(in crate::scenario) fn targets(&mut self, who: &Who) -> Vec<NodeIndex> {
        match who {
            Who::Nodes(nodes) => nodes.clone(),
            Who::Leader => {
                let followed = followers(&self.world).into_iter().filter(|&(leader, _)| self.world.is_on(leader));
                followed
                    .max_by_key(|&(leader, count)| (count, std::cmp::Reverse(leader)))
                    .map(|most| most.0)
                    .into_iter()
                    .collect()
            }
            Who::Random => {
                let on: Vec<NodeIndex> =
                    NodeIndex::first(self.world.len()).filter(|&node| self.world.is_on(node)).collect();
                let lot = self.faults.rng.below(u32::try_from(on.len()).unwrap_or(u32::MAX)) as usize;
                on.get(lot).copied().into_iter().collect()
            }
        }
    }

    fn move_on(&mut self, now: u64) {
        let (Some(walk), Some(plan)) = (&mut self.walk, &self.scenario.mobility) else { return };
        for (node, position) in walk.pass(now, seconds(STEP_US)) {
            self.place(now, node, position);
        }
        self.judge.mark_stale();
        if now < plan.until_us() {
            self.agenda.add(now + STEP_US, Action::Move);
        } else {
            self.change(now, "everybody stands still".to_owned());
        }
    }

    /// Puts a node somewhere.
    pub(in crate::scenario) fn place(&mut self, now: u64, node: NodeIndex, position: Point) {
        self.world.medium_mut().set_position(node.radio(), position);
        self.observer.place(now, node, position);
    }

    fn wifi(&mut self, now: u64, begins: bool) {
        if let Some(next_door) = &mut self.faults.outsiders.wifi {
            let after = next_door.turn(now, begins, self.world.medium_mut());
            self.agenda.add(now + after, Action::Wifi { begins: !begins });
        }
    }
}

fn corrupted(share: f64) -> String {
    // Shares that are made of several have no end of digits.
    format!("{} % of the frames are corrupted", (share * 1e8).round() / 1e6)
}

pub(in crate::scenario) fn names(nodes: &[NodeIndex]) -> String {
    let ids: Vec<String> = nodes.iter().map(|&node| id_of(node).to_string()).collect();
    format!("{} {}", if ids.len() == 1 { "node" } else { "nodes" }, ids.join(", "))
}
