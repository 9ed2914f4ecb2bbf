//! The first impression: two small networks on the simulated air, told in beats.
//!
//! Boards appear, find each other and elect; the leader's plug is pulled; another takes over. First on a ring, then in a
//! network whose nodes walk about. How fast it plays is up to the player; this only says what is shown when.

pub mod screen;

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use common::types::NodeId;
use sim::air::trace::{Event, Record, parse_line};
use sim::scenario::input::read::read;
use sim::scenario::input::units::seconds;
use sim::scenario::judge::observer::Recorders;
use sim::scenario::run::drive::run_recorded;

use crate::view::network::Network;

const RING: &str = include_str!("ring.toml");
const MESH: &str = include_str!("mesh.toml");

/// How much of the story is told after the last agreement, in simulated microseconds.
const AFTERWARDS_US: u64 = 2_000_000;

/// One part of the story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub caption: String,
    /// The simulated time that passes.
    pub from_us: u64,
    pub to_us: u64,
    /// How long it is shown.
    pub lasts_ms: u64,
    /// Whether boards appear one by one at its beginning.
    pub is_opening: bool,
}

/// One network and what becomes of it.
#[derive(Clone, Debug)]
pub struct Scene {
    pub title: &'static str,
    pub records: Vec<Record>,
    pub beats: Vec<Beat>,
}

/// Both networks, with this seed.
pub fn scenes(seed: u64) -> Vec<Scene> {
    let ring = scene("Nine boards on a ring elect with HS", RING, seed);
    let mesh = scene("Fourteen boards that walk about elect by heights", MESH, seed);
    [ring, mesh].into_iter().flatten().collect()
}

#[derive(Clone, Default)]
struct Lines(Rc<RefCell<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn scene(title: &'static str, text: &str, seed: u64) -> Option<Scene> {
    let scenario = read(title, text).ok()?;
    let lines = Lines::default();
    let recorders = Recorders { trace: Some(Box::new(lines.clone())), detail: true, ..Recorders::default() };
    run_recorded(&scenario, seed, recorders).ok()?;
    let bytes = lines.0.take();
    let text = String::from_utf8_lossy(&bytes);
    let records: Vec<Record> = text.lines().zip(1..).filter_map(|(line, at)| parse_line(at, line).ok()).collect();
    let beats = beats(&records);
    Some(Scene { title, records, beats })
}

/// An agreement: since when, and on whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Agreed {
    since_us: u64,
    leader: NodeId,
}

/// The agreement that holds at the end of these records.
fn agreed(network: &mut Network, records: &[Record]) -> Option<Agreed> {
    let mut agreed: Option<Agreed> = None;
    for record in records {
        network.apply(record);
        if matches!(record.event, Event::Leader { .. } | Event::PowerOn {} | Event::PowerOff {}) {
            agreed = network.agreed().map(|leader| {
                let before = agreed.filter(|before| before.leader == leader);
                before.unwrap_or(Agreed { since_us: record.time_us, leader })
            });
        }
    }
    agreed
}

fn beats(records: &[Record]) -> Vec<Beat> {
    let pulled = records.iter().position(|record| matches!(record.event, Event::PowerOff {})).unwrap_or(records.len());
    let (before, after) = records.split_at(pulled);
    let pulled_us = after.first().map_or(0, |record| record.time_us);
    let end_us = records.last().map_or(0, |record| record.time_us);
    let mut network = Network::default();
    let first = agreed(&mut network, before);
    let boards = network.nodes.len();
    let second = agreed(&mut network, after);
    let elected_us = first.map_or(pulled_us, |first| first.since_us);
    let replaced_us = second.map_or(end_us, |second| second.since_us);
    let beat =
        |caption: String, from_us, to_us, lasts_ms| Beat { caption, from_us, to_us, lasts_ms, is_opening: false };
    let found = format!("{boards} boards find each other and elect.");
    let led = first.map_or("They have not agreed yet.".to_owned(), |first| {
        format!("Node {} leads: all {boards} follow it after {:.1} s.", first.leader, seconds(first.since_us))
    });
    let gone = first.map_or("The plug of a board is pulled.".to_owned(), |first| {
        format!("The plug of node {} is pulled.", first.leader)
    });
    let taken = second.map_or("They have not agreed again yet.".to_owned(), |second| {
        let after = seconds(second.since_us.saturating_sub(pulled_us));
        format!("Node {} has taken over, {after:.1} s after the plug was pulled.", second.leader)
    });
    vec![
        Beat { is_opening: true, ..beat(found, 0, elected_us, 3_600) },
        beat(led, elected_us, pulled_us, 1_800),
        beat(gone, pulled_us, replaced_us, 3_000),
        beat(taken, replaced_us, end_us.min(replaced_us + AFTERWARDS_US), 1_800),
    ]
}

#[cfg(test)]
mod tests {
    use super::scenes;

    #[test]
    fn the_story_is_told_to_its_end() {
        let scenes = scenes(1);
        assert_eq!(scenes.len(), 2);
        for scene in &scenes {
            let [found, led, gone, taken] = &scene.beats[..] else { panic!("{:?}", scene.beats) };
            assert!(found.is_opening && found.caption.ends_with("boards find each other and elect."));
            assert!(led.caption.contains("follow it after"), "{led:?}");
            assert!(gone.caption.starts_with("The plug of node "), "{gone:?}");
            assert!(taken.caption.contains("has taken over"), "{taken:?}");
            let is_in_order = scene.beats.windows(2).all(|pair| pair[0].to_us == pair[1].from_us);
            assert!(is_in_order && scene.beats.iter().all(|beat| beat.from_us <= beat.to_us), "{:?}", scene.beats);
        }
        let shown_ms: u64 = scenes.iter().flat_map(|scene| &scene.beats).map(|beat| beat.lasts_ms).sum();
        assert!((15_000..25_000).contains(&shown_ms), "about twenty seconds: {shown_ms}");
    }
}
