//! Boards on cables: what each reports of its own sensors, and what leaders have collected from all nodes.
//!
//! What a board collects stays in its log until the gateway has it on the disk. Where no board on a cable leads, the
//! leader sends copies of what it logs to one that does not: they have the keys of what is in the log, so what comes
//! both ways is stored once, and a copy lets nobody overwrite anything. Blocks that came neither way, because they were
//! logged elsewhere or before, are asked for from their origins ([`super::catch_up`]). What a board only reports over the
//! cable is kept nowhere else: there, a reading's number is the time by the board's clock, in microseconds since its boot.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use common::board::demo::tag;
use common::data::block::BlockBytes;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::Key as BlockKey;
use common::host_link::{ToBoard, ToHost};
use host_sim::field::monitor::boards::{Known, PortIndex};
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::watch::{Happening, Options, Watch, What};
use host_sim::field::provision::network::pan;
use host_sim::field::quantity::{self, Description};
use host_sim::field::utc::Utc;
use host_sim::note;
use host_sim::output::counted;

use super::block::{self, SAMPLES_MAX, When};
use super::catch_up::{CatchUp, StoreKey};
use super::lead::{Lead, Wanted};
use super::{Batch, Source};
use crate::reading::{Key, Reading};
use crate::spool::Spool;

#[derive(Debug)]
pub struct Cables {
    watch: Watch,
    ports: usize,
    began: Utc,
    /// Names of networks; boards only know their numbers.
    networks: Vec<String>,
    /// Boards that collect. Their samples come with the log, so what they report besides is ignored.
    collecting: BTreeSet<PortIndex>,
    lead: Option<Lead>,
    catch_up: CatchUp,
    /// Blocks that have come, or were declared lost, and are not in the database yet.
    arrived: Vec<(StoreKey, Range<u32>)>,
}

impl Cables {
    /// With `is_to_lead`, makes the board at the first port lead its network.
    pub fn new(endpoints: Vec<Endpoint>, networks: Vec<String>, is_to_lead: bool) -> Self {
        Self {
            ports: endpoints.len(),
            watch: Watch::keeping_logs(endpoints, Options { copies: true, ..Options::default() }),
            began: Utc::now(),
            networks,
            collecting: BTreeSet::new(),
            lead: is_to_lead.then(Lead::default),
            catch_up: CatchUp::default(),
            arrived: Vec::new(),
        }
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
        if quantity.series().is_some() && self.collecting.contains(&happening.port) {
            return None;
        }
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

    /// What a board has collected or stored, or was sent by the leader.
    fn collected(&mut self, happening: &Happening) -> Batch {
        let port = happening.port;
        let Some(board) = self.watch.boards().at(port) else { return Batch::default() };
        let network = self.network(board);
        let batch = match &happening.what {
            What::Said(ToHost::Logged { entry, .. } | ToHost::Copied { entry }) => {
                let when = |entry: LogEntry<'_>| {
                    let is_of_this_boot = board.hello.epoch == Some(entry.epoch);
                    // A leader's former boots ended before this one began.
                    let clock_us = if is_of_this_boot { entry.clock_ms * 1_000 } else { 0 };
                    let at = board.utc(self.began, clock_us);
                    if is_of_this_boot { When::At(at) } else { When::Before(at) }
                };
                LogEntry::read(entry.as_slice()).and_then(|read| {
                    let end = match read.contents {
                        Contents::Block(_) => read.key.number + 1,
                        Contents::Gap { end } => end,
                    };
                    self.arrived.push((store_of(&network, read.key), read.key.number..end));
                    block::logged(&network, entry.as_slice(), when(read))
                })
            }
            What::Said(ToHost::Stored { store, number, block: bytes }) => {
                self.collecting.insert(port);
                let key = BlockKey { origin: board.id, store: *store, number: *number };
                let stored = |read: BlockBytes<'_>| {
                    let first = When::At(board.utc(self.began, read.clock_ms * 1_000));
                    block::stored(&network, key, read, first)
                };
                self.arrived.push((store_of(&network, key), *number..*number + 1));
                BlockBytes::read(bytes.as_slice()).map(stored)
            }
            What::Said(ToHost::Answer { number, from, report }) => {
                let given = self.catch_up.hear(Instant::now(), &network, *from, *number, report.as_slice());
                given.and_then(|(key, age, bytes)| {
                    let now = When::At(self.began.after_us(happening.time_us));
                    block::aged(&network, key, bytes, age, now)
                })
            }
            _ => None,
        };
        batch.unwrap_or_default()
    }

    /// Makes the board at the first port lead, if that is wanted.
    fn lead(&mut self) {
        let (port, Some(lead)) = (PortIndex(0), &mut self.lead) else { return };
        let Some(board) = self.watch.boards().at(port) else { return };
        let (id, algorithm) = (board.id, board.hello.algorithm);
        match lead.look(Instant::now(), id, algorithm, board.leader) {
            Wanted::Nothing => {}
            Wanted::Refuse(algorithm) => {
                note!("--lead: node {id} elects by {}, which chooses its leader itself", algorithm.title());
            }
            Wanted::Say(messages) => {
                note!("--lead: node {id} elects itself");
                for message in &messages {
                    self.watch.send(port, message);
                }
            }
        }
    }

    /// Asks origins for what the database lacks, through the first board of their network.
    fn catch_up(&mut self) {
        let there = (0..self.ports).map(PortIndex).filter(|&port| !self.watch.boards().is_spare(port));
        let there = there.filter_map(|port| Some((self.network(self.watch.boards().at(port)?), port)));
        let there: Vec<(String, PortIndex)> = there.collect();
        let port_of = |network: &str| there.iter().find(|(name, _)| name == network).map(|&(_, port)| port);
        let Some((to, question)) = self.catch_up.poll(Instant::now(), |network| port_of(network).is_some()) else {
            return;
        };
        if let Some(port) = port_of(&to.network) {
            self.watch.send(port, &ToBoard::Ask(question));
        }
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

fn store_of(network: &str, key: BlockKey) -> StoreKey {
    StoreKey { network: network.to_owned(), node: key.origin.0, device: key.store }
}

impl Source for Cables {
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch> {
        let happened = self.watch.step(at_most);
        let mut batch = Batch::default();
        for happening in &happened {
            self.tell(happening);
            batch.readings.extend(self.reading(happening));
            batch.extend(self.collected(happening));
        }
        self.lead();
        self.catch_up();
        Ok(batch)
    }

    fn stored(&mut self, spool: &Spool) -> anyhow::Result<()> {
        let now = Instant::now();
        for (store, numbers) in std::mem::take(&mut self.arrived) {
            if self.catch_up.knows(&store) {
                self.catch_up.note(now, &store, numbers);
                continue;
            }
            let StoreKey { network, node, device } = &store;
            let stored = spool.blocks(network, *node, *device, SAMPLES_MAX)?;
            let node = *node;
            let missing = self.catch_up.begin(now, store, stored.into_iter());
            if missing > 0 {
                let blocks = counted(usize::try_from(missing)?, "block");
                note!("node {node}: {blocks} before this not stored yet; asking for what it still has");
            }
        }
        Ok(())
    }

    fn committed(&mut self, _: &Batch) -> anyhow::Result<()> {
        self.watch.release_logs();
        Ok(())
    }
}
