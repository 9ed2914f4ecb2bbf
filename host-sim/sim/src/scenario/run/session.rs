//! A run that is played piece by piece, to be shown as it grows: by a page, or as a stream.

use std::io;

use super::boards::Boards;
use super::drive::Run;
use crate::air::flash::Desk;
use crate::scenario::input::plan::Scenario;
use crate::scenario::judge::observer::Recorders;
use crate::scenario::report::outcome::Outcome;

/// However often and wherever it stops on the way, the run is the one that [`run`](super::drive::run) plays.
#[must_use = "a session only plays when it is asked to"]
pub struct Session<'s> {
    run: Run<'s>,
}

impl<'s> Session<'s> {
    /// Everything is switched on and no time has passed. Boards must be as [`run_boards`](super::boards::run_boards) wants them.
    pub fn new(scenario: &'s Scenario, seed: u64, recorders: Recorders, boards: &'s mut dyn Boards) -> Self {
        let mut run = Run::new(scenario, seed, recorders, boards);
        run.join_boards();
        run.start();
        Self { run }
    }

    /// A desk beside the leaders, as a gateway is: what they log counts only once it has it.
    pub fn attach(&mut self, desk: &Desk) {
        self.run.programs.attach(desk);
    }

    pub fn now_us(&self) -> u64 {
        self.run.world.now_us()
    }

    /// Plays on until about this time, and hands on what was recorded. True while there is more to come.
    pub fn advance(&mut self, until_us: u64) -> bool {
        self.run.advance(until_us);
        self.run.observer.flush();
        !self.run.is_over()
    }

    /// The verdict on what was played; only recording can fail.
    pub fn finish(mut self) -> io::Result<Outcome> {
        self.run.observer.finish()?;
        Ok(self.run.finish())
    }
}
