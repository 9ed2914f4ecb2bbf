//! What the outcome of a run is held against.

use std::collections::BTreeMap;

use common::election::Algorithm;
use common::protocol::Protocol;
use common::time::Duration;
use common::types::{NodeId, RingPlace};

use super::world::{World, pair};

impl World {
    /// The living nodes of each component, by index.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.nodes.len()).filter(|&index| self.nodes[index].is_some()).collect();
        let mut components = Vec::new();
        while let Some(first) = left.pop() {
            let mut component = vec![first];
            let mut next = 0;
            while let Some(&index) = component.get(next) {
                next += 1;
                for peer in self.around(index) {
                    if self.edges[&pair(index, peer)].is_whole && left.contains(&peer) {
                        left.retain(|&other| other != peer);
                        component.push(peer);
                    }
                }
            }
            components.push(component);
        }
        components
    }

    /// Who should lead a component; nobody in particular where the algorithm draws lots.
    fn rightful(&self, component: &[usize]) -> Option<NodeId> {
        let by_fitness = |&&index: &&usize| (core::cmp::Reverse(self.coefficients[index]), self.id(index));
        match self.algorithm {
            Algorithm::Abraham => None,
            Algorithm::Frlle => component.iter().max_by_key(by_fitness).and_then(|&index| self.id(index)),
            _ => component.iter().filter_map(|&index| self.id(index)).max(),
        }
    }

    /// Holds the outcome against what it must be.
    pub fn check(&self, calm: Duration) -> Result<(), String> {
        for component in self.components() {
            let leaders: Vec<_> = component.iter().map(|&index| self.leader(index)).collect();
            let ids: Vec<_> = component.iter().filter_map(|&index| self.id(index)).collect();
            let agreed = leaders.first().copied().flatten();
            if agreed.is_none() || leaders.iter().any(|&leader| leader != agreed) {
                return Err(format!("{ids:?} follow {leaders:?}"));
            }
            let is_rightful = self
                .rightful(&component)
                .map_or_else(|| agreed.is_some_and(|id| ids.contains(&id)), |id| agreed == Some(id));
            if !is_rightful {
                return Err(format!("{ids:?} all follow {agreed:?}, not {:?}", self.rightful(&component)));
            }
            for &index in &component {
                self.check_place(index, &ids)?;
            }
        }
        if self.last_started + calm > self.now {
            return Err(format!("an election began at {:?}, {calm:?} before {:?}", self.last_started, self.now));
        }
        Ok(())
    }

    fn check_place(&self, index: usize, component: &[NodeId]) -> Result<(), String> {
        let Some(node) = &self.nodes[index] else { return Ok(()) };
        let id = node.engine.id();
        let members: Vec<NodeId> = self.order.after(id).filter(|member| component.contains(member)).collect();
        let right = members.first().copied().unwrap_or(id);
        let left = members.last().copied().unwrap_or(id);
        let place = node.keeper.place();
        let alive = self.order.ids().iter().filter(|&&member| node.keeper.is_alive(member)).count();
        if (place != RingPlace { left, right }) || alive != component.len() {
            return Err(format!("{id} stands at {place:?} with {alive} alive, {component:?} are there"));
        }
        Ok(())
    }

    fn leader(&self, index: usize) -> Option<NodeId> {
        self.nodes[index].as_ref().and_then(|node| node.engine.protocol().leader())
    }

    /// Whether somebody's way to a member comes back to itself.
    pub fn has_loop(&self) -> bool {
        let by_id: BTreeMap<NodeId, usize> =
            (0..self.nodes.len()).filter_map(|index| Some((self.id(index)?, index))).collect();
        self.order.ids().iter().any(|&member| {
            by_id.keys().any(|&start| {
                let mut at = start;
                for _ in 0..self.nodes.len() {
                    let Some(node) = by_id.get(&at).and_then(|&index| self.nodes[index].as_ref()) else { return false };
                    match node.keeper.next_hop(member) {
                        Some(next) if at != member => at = next,
                        _ => return false,
                    }
                }
                true
            })
        })
    }
}
