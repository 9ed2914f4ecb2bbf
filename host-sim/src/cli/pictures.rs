//! The pictures that `run`, `board` and `check` draw alike.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, ensure};
use sim::air::trace::{Event, parse_line};
use sim::scenario::report::story::Story;
use sim::scenario::report::timeline;

use super::files::create;
use crate::draw;
use crate::out;
use crate::view::network::Network;

#[derive(Debug, Default, clap::Args)]
pub struct Pictures {
    /// Draw who followed whom over time into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also show who followed whom over time as text, for up to 64 nodes
    #[arg(long, conflicts_with = "json")]
    pub timeline: bool,
    /// Draw the network into this file: positions, links, routes to leaders
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// The moment that --map shows, in seconds [default: the end]
    #[arg(long, value_name = "SECONDS", requires = "map")]
    pub at: Option<f64>,
}

/// The files, created.
pub struct Canvases {
    svg: Option<Box<dyn Write>>,
    map: Option<Box<dyn Write>>,
}

impl Pictures {
    /// The files that will be written, with the names of their options.
    pub fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        [("--svg", self.svg.as_deref()), ("--map", self.map.as_deref())]
    }

    /// Creates the files before anything is run, so that a bad path fails early.
    pub fn open(&self) -> anyhow::Result<Canvases> {
        ensure!(self.at.is_none_or(|at| at.is_finite() && at >= 0.0), "--at must be a time from 0 s on");
        Ok(Canvases { svg: create(self.svg.as_deref())?, map: create(self.map.as_deref())? })
    }

    /// The moment of the map.
    pub fn at_us(&self) -> u64 {
        self.at.map_or(u64::MAX, sim::scenario::input::units::micros)
    }

    /// Where a run must write its detailed trace so that there can be a map; none if none is wanted.
    pub fn watch(&self, trace: Option<Box<dyn Write>>, with_details: bool) -> Watched {
        if self.map.is_none() {
            return Watched { trace, detail: with_details, network: None };
        }
        let network = Rc::new(RefCell::new(Network::default()));
        let tee = Tee { network: Rc::clone(&network), until_us: self.at_us(), trace, with_details, line: Vec::new() };
        Watched { trace: Some(Box::new(tee)), detail: true, network: Some(network) }
    }

    /// Draws and prints what was asked for.
    pub fn draw(&self, canvases: Canvases, story: &Story, network: Option<&Network>) -> anyhow::Result<()> {
        if let Some(mut file) = canvases.svg {
            file.write_all(draw::timeline::svg(story).as_bytes())?;
        }
        if let (Some(mut file), Some(network)) = (canvases.map, network) {
            let at = self.at.map_or_else(|| "at the end".to_owned(), |at| format!("at {at} s"));
            file.write_all(draw::network::svg(network, &format!("{} {at}", story.title)).as_bytes())
                .context("--map")?;
        }
        if self.timeline {
            out!("\n{}", timeline::text(story))?;
        }
        Ok(())
    }
}

/// Where a run writes its trace, and what the trace says of the map's moment.
pub struct Watched {
    pub trace: Option<Box<dyn Write>>,
    pub detail: bool,
    pub network: Option<Rc<RefCell<Network>>>,
}

/// Takes a detailed trace, keeps track of the network, and passes on what belongs in the file.
struct Tee {
    network: Rc<RefCell<Network>>,
    until_us: u64,
    trace: Option<Box<dyn Write>>,
    with_details: bool,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
}

impl Tee {
    fn take(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.line).into_owned();
        let record = parse_line(1, text.trim_end()).ok();
        if let Some(record) = record.as_ref().filter(|record| record.time_us <= self.until_us) {
            self.network.borrow_mut().apply(record);
        }
        let is_detail = record.is_some_and(|record| {
            matches!(
                record.event,
                Event::Place { .. }
                    | Event::Parent { .. }
                    | Event::Link { .. }
                    | Event::Busy {}
                    | Event::Energy { .. }
                    | Event::Obstacle { .. }
            )
        });
        if let Some(trace) = self.trace.as_mut().filter(|_| self.with_details || !is_detail) {
            trace.write_all(&self.line)?;
        }
        self.line.clear();
        Ok(())
    }
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.take()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.trace.as_mut().map_or(Ok(()), Write::flush)
    }
}
