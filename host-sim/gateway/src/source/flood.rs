//! Made-up readings, as fast as the gateway accepts them, to measure what a machine and its disk can do.

use std::time::Duration;

use host_sim::field::utc::Utc;

use super::{Batch, Source};
use crate::reading::{Key, Reading};

/// How many arrive at once, as from a hub full of boards.
const AT_ONCE: u64 = 50;

/// Readings of ten nodes.
const NODES: u64 = 10;

#[derive(Clone, Debug)]
pub struct Flood {
    network: String,
    began: Utc,
    next: u64,
    end: u64,
    committed: u64,
}

impl Flood {
    /// A source of this many readings, of a network with this name.
    pub fn new(network: String, count: u64) -> Self {
        Self { network, began: Utc::now(), next: 0, end: count, committed: 0 }
    }

    /// How many have been reported as committed.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    fn reading(&self, number: u64) -> Reading {
        let node = u16::try_from(number % NODES).unwrap_or(0) + 1;
        // A later run starts at a later time, so its readings have other keys.
        let seq = u64::try_from(self.began.0).unwrap_or(0) + number;
        let key = Key { network: self.network.clone(), node, device: node, epoch: 1, seq };
        let value = f64::from(u32::try_from(number % 4_000).unwrap_or(0)) / 100.0;
        let time = self.began.after_us(number);
        Reading { key, quantity: "air_temperature".into(), value, unit: "°C".into(), time, is_known: true }
    }
}

impl Source for Flood {
    fn read(&mut self, _: Duration) -> anyhow::Result<Batch> {
        let from = self.next;
        self.next = (from + AT_ONCE).min(self.end);
        Ok((from..self.next).map(|number| self.reading(number)).collect::<Vec<_>>().into())
    }

    fn committed(&mut self, batch: &Batch) -> anyhow::Result<()> {
        self.committed += batch.readings.len() as u64;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.next == self.end
    }
}
