//! Boards on cables: what each tells of its own sensors.
//!
//! A board says when it measured by its own clock, which is the reading's number within its boot: microseconds since the
//! start. It does not keep what it has told, so nothing is to be said about what was committed.

use std::time::Duration;

use common::board::demo::tag;
use common::host_link::ToHost;
use host_sim::field::monitor::boards::Known;
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::watch::{Happening, Options, Watch, What};
use host_sim::field::provision::network::pan;
use host_sim::field::quantity::{self, Description};
use host_sim::field::utc::Utc;
use host_sim::note;

use super::{Batch, Source};
use crate::reading::{Key, Reading};

#[derive(Debug)]
pub struct Cables {
    watch: Watch,
    began: Utc,
    /// Names of networks; boards only know their numbers.
    networks: Vec<String>,
}

impl Cables {
    pub fn new(endpoints: Vec<Endpoint>, networks: Vec<String>) -> Self {
        Self { watch: Watch::new(endpoints, Options::default()), began: Utc::now(), networks }
    }

    /// The name of a board's network.
    fn network(&self, board: &Known) -> String {
        let is_it = |name: &&String| pan(name) == board.hello.pan;
        match self.networks.iter().find(is_it) {
            Some(name) => name.clone(),
            None if board.hello.demo => "demo".to_owned(),
            None => format!("pan-{:04x}", board.hello.pan),
        }
    }

    fn reading(&self, happening: &Happening) -> Option<Reading> {
        let What::Said(ToHost::Reading { at_us, quantity, value }) = &happening.what else { return None };
        let board = self.watch.boards().at(happening.port)?;
        let time_us = happening.records.first().map_or(happening.time_us, |record| record.time_us);
        let Description { name, unit, per_unit } = quantity::describe(*quantity);
        let key = Key {
            network: self.network(board),
            node: board.id.0,
            device: tag(board.hello.chip),
            epoch: board.hello.epoch.unwrap_or(0),
            seq: *at_us,
        };
        let value = f64::from(*value) / f64::from(per_unit);
        let time = self.began.after_us(time_us);
        Some(Reading { key, quantity: name, value, unit: unit.to_owned(), time, is_known: true })
    }

    fn tell(&self, happening: &Happening) {
        let Some(port) = self.watch.endpoint(happening.port) else { return };
        match &happening.what {
            What::Waiting(error) => note!("{port}: {error}; waiting for it"),
            What::Gone(error) => note!("{port}: gone ({error}); waiting for it"),
            What::Said(ToHost::Hello(hello)) => note!("{port}: node {}, {}", hello.id, hello.board.title()),
            What::Said(ToHost::Lost(count)) => note!("{port}: the board dropped {count} messages"),
            _ => {}
        }
    }
}

impl Source for Cables {
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch> {
        let happened = self.watch.step(at_most);
        for happening in &happened {
            self.tell(happening);
        }
        Ok(happened.iter().filter_map(|happening| self.reading(happening)).collect::<Vec<_>>().into())
    }

    fn committed(&mut self, _: &Batch) -> anyhow::Result<()> {
        Ok(())
    }
}
