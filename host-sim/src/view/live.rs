//! Boards on cables, as a page sees them: what they reported so far and what comes, and orders to them.
//!
//! One thread owns the cables. Threads that serve a page wait for news here, and pass orders to that thread.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sim::air::trace::{NodeNumber, Record};

use crate::field::command::Order;
use crate::field::monitor::line::Endpoint;
use crate::field::monitor::watch::{Options, Watch};

/// How long to listen to the cables before checking for orders.
const STEP: Duration = Duration::from_millis(50);
/// How long an order may take to get on its way.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is kept for pages that open later: days of what boards report by themselves, or hours with every frame.
const RECORDS_MAX: usize = 2_000_000;

/// What has happened so far.
#[derive(Debug, Default)]
struct Story {
    lines: Vec<String>,
    /// Since the watch began.
    now_us: u64,
    /// Records for which there was no room.
    dropped: u64,
}

struct Told {
    node: NodeNumber,
    order: Order,
    outcome: Sender<Result<(), String>>,
}

#[derive(Debug)]
pub struct Live {
    story: Mutex<Story>,
    news: Condvar,
    orders: Mutex<Sender<Told>>,
}

/// What is new since somebody last looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub lines: String,
    /// How many lines are known now.
    pub known: usize,
    pub now_us: u64,
    pub dropped: u64,
}

impl Live {
    /// Watches these boards until the program ends.
    pub fn watch(endpoints: Vec<Endpoint>, options: Options) -> std::io::Result<Arc<Self>> {
        let (orders, told) = mpsc::channel();
        let live = Arc::new(Self { story: Mutex::default(), news: Condvar::new(), orders: Mutex::new(orders) });
        let kept = Arc::clone(&live);
        thread::Builder::new()
            .name("boards".into())
            .spawn(move || kept.serve(&mut Watch::new(endpoints, options), &told))?;
        Ok(live)
    }

    fn serve(&self, watch: &mut Watch, told: &Receiver<Told>) {
        loop {
            let happened = watch.step(STEP);
            let lines = happened.iter().flat_map(|one| &one.records).map(Record::to_line);
            self.add(watch.now_us(), lines);
            for Told { node, order, outcome } in told.try_iter() {
                let port = watch.boards().port_of(node);
                let sent = port.map(|port| watch.send(port, &order.message()));
                // The caller may be gone.
                let _ = outcome.send(match sent {
                    Some(true) => Ok(()),
                    Some(false) => Err("the board accepts nothing: its cable may be out".to_owned()),
                    None => Err("this board is on no cable".to_owned()),
                });
            }
        }
    }

    fn add(&self, now_us: u64, lines: impl Iterator<Item = String>) {
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            if story.lines.len() < RECORDS_MAX {
                story.lines.push(line);
            } else {
                story.dropped += 1;
            }
        }
        story.now_us = story.now_us.max(now_us);
        drop(story);
        self.news.notify_all();
    }

    /// Waits for what follows the first `known` lines, but no longer than this.
    pub fn news(&self, known: usize, at_most: Duration) -> News {
        let story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.news.wait_timeout_while(story, at_most, |story| story.lines.len() <= known);
        let (story, _) = waited.unwrap_or_else(PoisonError::into_inner);
        News {
            lines: story.lines.get(known..).unwrap_or_default().concat(),
            known: story.lines.len(),
            now_us: story.now_us,
            dropped: story.dropped,
        }
    }

    /// Tells a board, by its number in the trace, to do something.
    pub fn tell(&self, node: NodeNumber, order: Order) -> Result<(), String> {
        let (outcome, answer) = mpsc::channel();
        let told = Told { node, order, outcome };
        let sent = self.orders.lock().unwrap_or_else(PoisonError::into_inner).send(told);
        sent.map_err(|_| "the boards are no longer watched".to_owned())?;
        answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("the board has not accepted it".to_owned()))
    }
}
