//! What the view is made of: runs that are played piece by piece, and actions as faults.

mod actions;
mod pictures;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use sim::scenario::input::plan::Scenario;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::run::boards::NoBoards;
use sim::scenario::run::session::Session;

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The trace with details of the beginning of a run that stops this often on the way.
pub fn beginning(scenario: &Scenario, seed: u64, until_us: u64, step_us: u64) -> String {
    let trace = Shared::default();
    let recorders = Recorders { trace: Some(Box::new(trace.clone())), detail: true, ..Recorders::default() };
    let mut boards = NoBoards;
    let mut session = Session::new(scenario, seed, recorders, &mut boards);
    let mut at = 0;
    while at < until_us {
        at = (at + step_us).min(until_us);
        session.advance(at);
    }
    drop(session);
    String::from_utf8(trace.0.take()).unwrap()
}
