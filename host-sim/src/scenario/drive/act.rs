//! What a scenario does to the network.

use common::rng::Rng;

use super::super::agenda::{Action, STEP_US, exponential};
use super::super::plan::{Flash, Harm, Who, Wifi};
use super::super::player::Player;
use super::super::units::{micros, seconds};
use super::{Run, id_of};
use crate::board::mirror::Mirror;

/// A driver whose write was torn tries again after this long.
const STORE_AGAIN_US: u64 = 1_000_000;

impl Run<'_> {
    pub(super) fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::Begin(index) => self.begin(now, index),
            Action::End(index) => self.end(now, index),
            Action::Restart(who, flash) => {
                let nodes = self.strike(&who);
                self.restart(now, &nodes, flash);
            }
            Action::StoreAgain(node, life) => self.store_again(now, node, life),
            Action::Attack(index, until) => self.attack(now, index, until),
            Action::EndDrift(drifts) => {
                for (node, ppm) in drifts {
                    self.set_drift(node, ppm);
                }
                self.change(now, "clocks run as before".to_owned());
            }
            Action::Move => self.move_on(now),
            Action::Wifi(begins) => self.wifi(now, begins),
        }
    }

    fn begin(&mut self, now: u64, index: usize) {
        match &self.scenario.faults[index].harm {
            Harm::Crash(who, down, flash) => self.crash(now, who, *down, *flash),
            Harm::Restart(who, flash) => {
                let nodes = self.strike(who);
                self.restart(now, &nodes, *flash);
            }
            Harm::Wall(wall, _) => {
                self.world.medium_mut().change_propagation(|air| air.walls.push(wall.clone()));
                self.change(now, format!("a wall of {} dB goes up", wall.loss_db));
            }
            Harm::Partition(group, _) => {
                self.world.medium_mut().change_propagation(|air| air.partitions.push(group.clone()));
                let cut_off: Vec<usize> = group.iter().copied().collect();
                self.change(now, format!("{} cut off", names(&cut_off)));
            }
            Harm::Jam(place, power, _) => {
                if let Some((radio, on @ None)) = self.jammers.get_mut(&index) {
                    *on = Some(self.world.medium_mut().begin_noise(now, *radio));
                    self.change(now, format!("noise of {power} dBm at ({}, {})", place.0, place.1));
                }
            }
            Harm::Drift(who, ppm, lasts) => {
                let nodes = self.strike(who);
                let before = nodes.iter().map(|&node| (node, self.world.drift_ppm(node))).collect();
                for &node in &nodes {
                    self.set_drift(node, *ppm);
                }
                self.change(now, format!("the clocks of {} run {ppm} ppm fast", names(&nodes)));
                if let Some(lasts) = lasts {
                    self.agenda.add(now + lasts, Action::EndDrift(before));
                }
            }
            Harm::Corrupt(share, _) => {
                self.world.set_corruption(*share);
                self.change(now, format!("{} % of the frames are corrupted", share * 100.0));
            }
            Harm::Attack(attack) => {
                if let Some(&radio) = self.attackers.get(&index) {
                    self.world.medium_mut().listen(radio, true);
                    self.agenda.add(now + attack.interval_us, Action::Attack(index, now + attack.lasts_us));
                    self.change(now, format!("an attacker at ({}, {})", attack.place.0, attack.place.1));
                }
            }
        }
    }

    fn end(&mut self, now: u64, index: usize) {
        match &self.scenario.faults[index].harm {
            Harm::Wall(wall, _) => {
                self.world.medium_mut().change_propagation(|air| take_out(&mut air.walls, wall));
                self.change(now, "the wall comes down".to_owned());
            }
            Harm::Partition(group, _) => {
                self.world.medium_mut().change_propagation(|air| take_out(&mut air.partitions, group));
                self.change(now, "they are no longer cut off".to_owned());
            }
            Harm::Jam(..) => {
                if let Some(on) = self.jammers.get_mut(&index).and_then(|jammer| jammer.1.take()) {
                    self.world.medium_mut().end(now, on, |_| ());
                    self.change(now, "the noise ends".to_owned());
                }
            }
            Harm::Corrupt(..) => {
                self.world.set_corruption(0.0);
                self.change(now, "frames are no longer corrupted".to_owned());
            }
            Harm::Attack(_) => {
                if let Some(&radio) = self.attackers.get(&index) {
                    self.world.medium_mut().listen(radio, false);
                    self.change(now, "the attacker leaves".to_owned());
                }
            }
            Harm::Crash(..) | Harm::Restart(..) | Harm::Drift(..) => {}
        }
    }

    fn crash(&mut self, now: u64, who: &Who, down: Option<u64>, flash: Flash) {
        let mut nodes = self.strike(who);
        nodes.retain(|&node| self.world.is_on(node));
        if nodes.is_empty() {
            return;
        }
        for &node in &nodes {
            self.switch_off(now, node);
        }
        self.change(now, format!("{} off", names(&nodes)));
        if let Some(down) = down {
            self.agenda.add(now + down, Action::Restart(Who::Nodes(nodes), flash));
        }
    }

    fn restart(&mut self, now: u64, nodes: &[usize], flash: Flash) {
        let off: Vec<usize> = nodes.iter().copied().filter(|&node| !self.world.is_on(node)).collect();
        if off.is_empty() {
            return;
        }
        for &node in &off {
            let life = self.lives.entry(node).or_default();
            *life += 1;
            let (life, seed) = (*life, Rng::stream(self.seed ^ 0x11FE, *life).next_u64());
            let player = if self.fleet.has(node) {
                Player::Board(Box::new(Mirror::new(id_of(node))))
            } else {
                let epoch = self.boot(now, node, life, flash);
                self.cast.player(id_of(node), epoch, seed)
            };
            self.observer.reborn(node, id_of(node));
            self.world.replace(node, player);
            self.switch_on(now, node, flash);
        }
        let found = match flash {
            Flash::Torn if off.iter().all(|&node| self.fleet.has(node)) => ", to lose it again at its first write",
            Flash::Kept => "",
            Flash::Erased => ", flash erased",
            Flash::Failing => ", flash failing: it only listens",
            Flash::Torn => ", its write torn: it only listens for a second",
        };
        self.change(now, format!("{} on again{found}", names(&off)));
    }

    fn set_drift(&mut self, node: usize, ppm: i32) {
        self.world.set_drift(node, ppm);
        self.fleet.set_drift(node, ppm);
    }

    pub(super) fn switch_on(&mut self, now: u64, node: usize, flash: Flash) {
        self.observer.power(now, node, true);
        self.world.power_on(node, &mut self.observer);
        self.fleet.power_on(node, flash);
    }

    pub(super) fn switch_off(&mut self, now: u64, node: usize) {
        self.observer.power(now, node, false);
        self.world.power_off(node, &mut self.observer);
        self.fleet.power_off(node);
    }

    /// What a driver makes of its flash at a boot: the number of the boot, stored, unless that fails.
    fn boot(&mut self, now: u64, node: usize, life: u64, flash: Flash) -> Option<u16> {
        let stored = self.epochs.entry(node).or_default();
        match flash {
            Flash::Kept => *stored = stored.saturating_add(1),
            Flash::Erased => *stored = 1,
            Flash::Failing => return None,
            Flash::Torn => {
                self.agenda.add(now + STORE_AGAIN_US, Action::StoreAgain(node, life));
                return None;
            }
        }
        Some(*stored)
    }

    fn store_again(&mut self, now: u64, node: usize, life: u64) {
        if self.world.is_on(node) && self.lives.get(&node) == Some(&life) {
            let stored = self.epochs.entry(node).or_default();
            *stored = stored.saturating_add(1);
            let epoch = *stored;
            self.world.tell(node, &mut self.observer, |player, local| player.handle_epoch(local, epoch));
            self.change(now, format!("{} has stored its epoch", names(&[node])));
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
        let (Some(walk), Some(plan)) = (&mut self.walk, &self.scenario.mobility) else { return };
        for (node, place) in walk.pass(now, seconds(STEP_US)) {
            self.world.medium_mut().set_place(node, place);
        }
        self.moved = true;
        if now < plan.until_us() {
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
}

/// Takes one of several equal things out.
fn take_out<T: PartialEq>(all: &mut Vec<T>, one: &T) {
    if let Some(at) = all.iter().position(|other| other == one) {
        all.remove(at);
    }
}

pub(super) fn names(nodes: &[usize]) -> String {
    let ids: Vec<String> = nodes.iter().map(|&node| id_of(node).to_string()).collect();
    format!("{} {}", if ids.len() == 1 { "node" } else { "nodes" }, ids.join(", "))
}
