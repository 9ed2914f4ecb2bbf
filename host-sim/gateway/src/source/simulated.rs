//! Simulated nodes that collect (`[collect]` in a scenario), with the gateway attached to their leader.
//!
//! As with boards, a leader commits a block to its origin only when the gateway has it on the disk. No simulated time
//! passes while the network waits for that.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use host_sim::field::utc::Utc;
use host_sim::{note, output::counted};
use sim::air::flash::Desk;
use sim::scenario::input::plan::Scenario;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::report::outcome::Outcome;
use sim::scenario::run::boards::NoBoards;
use sim::scenario::run::session::Session;

use super::block::{self, When};
use super::{Batch, Source};

/// The steps in which the network advances: how precisely an entry's time is known, and how often a network in real
/// time waits for the wall clock.
const SLICE_US: u64 = 10_000;

/// An entry of a log, and when it was logged, counted from the start.
struct Logged {
    at_us: u64,
    entry: Vec<u8>,
}

#[derive(Debug)]
pub struct Simulated {
    network: String,
    began: Utc,
    entries: Receiver<Logged>,
    committed: Sender<()>,
    /// Whether the network waits to hear what is committed.
    is_waiting: bool,
    /// Until it has ended.
    nodes: Option<JoinHandle<std::io::Result<Outcome>>>,
}

/// How a simulated network is run.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub seed: u64,
    /// As fast as it goes, instead of in real time.
    pub is_fast: bool,
}

impl Simulated {
    pub fn start(scenario: Scenario, network: Option<String>, pace: Pace) -> anyhow::Result<Self> {
        if scenario.collect.is_none() {
            bail!("{} collects nothing: it has no [collect]", scenario.name);
        }
        let network = network.unwrap_or_else(|| scenario.name.clone());
        let (tell, entries) = channel();
        let (committed, answers) = channel();
        let play = move || play(&scenario, pace, &tell, answers);
        let nodes = std::thread::Builder::new().spawn(play).context("cannot start the simulated nodes")?;
        Ok(Self { network, began: Utc::now(), entries, committed, is_waiting: false, nodes: Some(nodes) })
    }

    /// The network has ended, with this result.
    fn finish(&mut self) -> anyhow::Result<()> {
        let Some(nodes) = self.nodes.take() else { return Ok(()) };
        let outcome = nodes.join().map_err(|_| anyhow!("the simulated nodes stopped"))??;
        if let Some(failure) = outcome.failure {
            bail!("the scenario {} failed: {}", outcome.scenario, failure.what);
        }
        let seconds = counted(usize::try_from(outcome.ran_ms / 1_000)?, "second");
        note!("the scenario {} is over after {seconds}", outcome.scenario);
        Ok(())
    }
}

fn play(scenario: &Scenario, pace: Pace, tell: &Sender<Logged>, answers: Receiver<()>) -> std::io::Result<Outcome> {
    let mut boards = NoBoards;
    let mut session = Session::new(scenario, pace.seed, Recorders::default(), &mut boards);
    let (now_us, is_heard) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
    let desk = {
        let (now_us, is_heard, tell) = (now_us.clone(), is_heard.clone(), tell.clone());
        Desk::new(move |entry| {
            let logged = Logged { at_us: now_us.get(), entry: entry.to_vec() };
            let is_kept = tell.send(logged).is_ok() && answers.recv().is_ok();
            is_heard.set(is_kept);
            is_kept
        })
    };
    session.attach(&desk);
    let began = Instant::now();
    loop {
        now_us.set(session.now_us() + SLICE_US);
        let is_more = session.advance(now_us.get());
        // The gateway is gone, so nobody wants to know.
        if !is_more || !is_heard.get() {
            return session.finish();
        }
        if !pace.is_fast {
            std::thread::sleep(Duration::from_micros(now_us.get()).saturating_sub(began.elapsed()));
        }
    }
}

impl Source for Simulated {
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch> {
        if self.is_waiting {
            return Ok(Batch::default());
        }
        match self.entries.recv_timeout(at_most) {
            Ok(Logged { at_us, entry }) => {
                self.is_waiting = true;
                let batch = block::logged(&self.network, &entry, When::At(self.began.after_us(at_us)));
                batch.context("a leader logged something that is no entry of a log")
            }
            Err(RecvTimeoutError::Timeout) => Ok(Batch::default()),
            Err(RecvTimeoutError::Disconnected) => self.finish().map(|()| Batch::default()),
        }
    }

    fn committed(&mut self, _: &Batch) -> anyhow::Result<()> {
        // A network that has ended needs no answer.
        if std::mem::take(&mut self.is_waiting) {
            let _ = self.committed.send(());
        }
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    fn is_over(&self) -> bool {
        self.nodes.is_none()
    }
}
