//! The part of a simulated driver that measures, stores and logs, as a board's does.

use common::data::block::Sample;
use common::data::log_entry::ENTRY_MAX;
use common::data::{Chore, Done};
use common::node::Node;
use common::quantity::Quantity;
use common::rng::Rng;
use common::time::{Duration, Instant};

use super::flash::SharedFlash;

/// How a node measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    pub every: Duration,
    /// The first sample, by the node's own clock.
    pub from: Instant,
    pub quantities: Vec<Quantity>,
}

#[derive(Clone, Debug)]
pub struct Collector {
    flash: SharedFlash,
    /// How often a block is closed.
    block_every: Duration,
    /// None if this node only gathers what others measure.
    sampling: Option<Sampling>,
    next_sample: Instant,
    /// When its PC asks for the readings of all; never, where it has none.
    next_read: Instant,
    rng: Rng,
}

/// How often a PC asks for them.
const READ_EVERY: Duration = Duration::from_millis(60_000);

impl Collector {
    pub fn new(flash: SharedFlash, block_every: Duration, sampling: Option<Sampling>, seed: u64) -> Self {
        Self {
            flash,
            block_every,
            sampling,
            next_sample: Instant::NEVER,
            next_read: Instant::NEVER,
            rng: Rng::stream(seed, 0x5A3E),
        }
    }

    /// The same, with a PC that reads what all measure.
    #[must_use]
    pub fn reading(self) -> Self {
        Self { next_read: Instant::ZERO, ..self }
    }

    pub fn flash(&self) -> &SharedFlash {
        &self.flash
    }

    /// The board has booted: tells its node what is in its flash.
    pub fn start(&mut self, now: Instant, node: &mut Node) {
        let flash = self.flash.borrow();
        node.set_collection(now, self.block_every);
        node.handle_recovered(flash.recovered());
        for entry in flash.log() {
            node.handle_logged_before(&entry);
        }
        if let Some(Sampling { every, from, .. }) = &self.sampling {
            let phase = every.as_micros() * u64::from(self.rng.below(1_024)) / 1_024;
            self.next_sample = (*from).max(now) + Duration::from_micros(phase);
        }
    }

    pub fn due(&self) -> Instant {
        self.next_sample.min(self.next_read)
    }

    pub fn measure(&mut self, now: Instant, node: &mut Node) {
        if self.next_read <= now {
            self.next_read = now + READ_EVERY;
            node.handle_reader(now);
        }
        let Some(Sampling { every, quantities, .. }) = self.sampling.as_ref().filter(|_| self.next_sample <= now)
        else {
            return;
        };
        let mut sample = Sample::default();
        for quantity in quantities {
            let noise = i32::try_from(self.rng.below(21)).unwrap_or(0) - 10;
            let usual = if *quantity == Quantity::Supply { 3_000 } else { 2_150 };
            if let Some(value) = quantity.series().and_then(|at| sample.values.get_mut(at)) {
                *value = Some(usual + noise);
            }
        }
        self.next_sample = self.next_sample + *every;
        node.handle_sample(now, sample);
    }

    /// Does everything that the node wants done with the flash.
    pub fn work(&mut self, now: Instant, node: &mut Node) {
        let mut buf = [0; ENTRY_MAX];
        while let Some(length) = node.poll_copy(now, &mut buf) {
            self.flash.borrow_mut().show(buf.get(..length).unwrap_or_default());
        }
        while let Some(chore) = node.poll_chore(now, &mut buf) {
            let mut flash = self.flash.borrow_mut();
            match chore {
                Chore::Store { number, length, base } => {
                    let oldest = buf.get(..length).and_then(|block| flash.store(number, block));
                    flash.release(base);
                    node.handle_done(now, Done::Stored(oldest.is_some()));
                    if let Some(oldest) = oldest {
                        node.handle_overwritten(oldest);
                    }
                }
                Chore::Fetch { number } => node.handle_done(now, Done::Fetched(flash.fetch(number))),
                Chore::Log { length } => {
                    let is_logged = buf.get(..length).is_some_and(|entry| flash.append(entry));
                    node.handle_done(now, Done::Logged(is_logged));
                }
                Chore::Release { base } => flash.release(base),
            }
        }
    }
}
