//! Same MAC, same decisions: the radio task of a board and the simulated air drive one [`Mac`]. The inputs of either,
//! repeated to another with the same seed, give the same decisions and the same times; and both drivers are punctual.

use std::collections::BTreeSet;

use common::config::{Boot, Config, NetworkKey, Protection};
use common::host_link::Call;
use common::mac::{Decision, Mac, MacEvent, Sent};
use common::time::{Duration, Instant};
use common::types::NodeId;
use sim::air::index::NodeIndex;
use sim::air::medium::{Medium, Tuning};
use sim::air::node_station::NodeStation;
use sim::air::propagation::{Point, Propagation};
use sim::air::timing::RadioTiming;
use sim::air::world::{RawFrame, Watcher, World};

use super::support::{hold, image, scenario};

/// One input that a driver gave its MAC, the MAC's decision, and when it next wanted to be called.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    now: Instant,
    event: MacEvent,
    decision: Decision,
    next: Option<Instant>,
}

/// What a record must show at least once to be worth comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Case {
    Sent,
    Acknowledged,
    Held,
    Busy,
    GivenUp,
}

const ALL_CASES: [Case; 5] = [Case::Sent, Case::Acknowledged, Case::Held, Case::Busy, Case::GivenUp];

/// Repeats the inputs to another MAC; returns which cases occurred. No call may come before it was asked for, or later than
/// the driver allows.
fn replay(who: &str, mut mac: Mac, steps: &[Step], latest: Duration) -> BTreeSet<Case> {
    let mut cases = BTreeSet::new();
    let mut asked_for = mac.poll_timeout();
    let mut before = Instant::ZERO;
    for step in steps {
        if let MacEvent::Turn { .. } = step.event {
            let asked_for = asked_for.unwrap_or_else(|| panic!("{who}: nobody asked for {step:?}"));
            assert!(step.now >= asked_for, "{who}: {step:?} comes before {asked_for:?}");
            // What the radio was doing at that time is finished first.
            let is_punctual = step.now.since(asked_for.max(before)) <= latest;
            assert!(is_punctual, "{who}: {step:?} was wanted at {asked_for:?}, and the radio was free at {before:?}");
        }
        before = step.now;
        let decision = mac.handle(step.now, step.event);
        asked_for = mac.poll_timeout();
        assert_eq!(
            (decision, asked_for),
            (step.decision, step.next),
            "{who}: after {:?} at {:?}",
            step.event,
            step.now
        );
        cases.extend(match (step.event, decision) {
            (_, Decision::Through(Sent::Done)) => Some(Case::Sent),
            (_, Decision::Through(Sent::ChannelBusy)) => Some(Case::GivenUp),
            (_, Decision::SendAt(_)) => Some(Case::Acknowledged),
            (MacEvent::Turn { .. }, Decision::Wait) => Some(Case::Held),
            (MacEvent::Attempted { was_clear: false }, Decision::Wait) => Some(Case::Busy),
            _ => None,
        });
    }
    cases
}

#[test]
fn a_board_decides_as_the_pc_does() {
    // A jammer beside the ring makes the channel busy for a second.
    let jammed = scenario(
        "name = \"jammed\"\nduration = \"28 s\"\n[topology]\nkind = \"ring\"\nnodes = 5\nspacing = \"15 m\"\n\
         [radio]\nmodel = \"plain\"\nloss = \"20 %\"\n[protocol]\nkind = \"hs\"\n\
         [[fault]]\nkind = \"crash\"\nwho = \"leader\"\nat = \"8 s\"\n\
         [[fault]]\nkind = \"jam\"\nplace = [0, 0]\npower = \"8 dBm\"\nat = \"14 s\"\nfor = \"1 s\"\n\
         [expect]\nagreement_within = \"10 s\"\n",
    );
    let mut cases = BTreeSet::new();
    for id in [2, 4] {
        let mut image = image(true);
        image.record.insert(id);
        let (_, boards) = hold(&jammed, 3, &image);
        let board = boards.iter().find(|board| board.id == id).expect("it is a board");
        assert_eq!(board.lost_messages, 0, "the record has no gaps");
        let seed = board.calls.iter().find_map(|(_, call)| match call {
            Call::MacStart { seed } => Some(*seed),
            _ => None,
        });
        let steps: Vec<Step> = (board.calls.iter())
            .filter_map(|(at_us, call)| match *call {
                Call::Mac { event, decision, next } => {
                    Some(Step { now: Instant::from_micros(*at_us), event, decision, next })
                }
                _ => None,
            })
            .collect();
        // A tick of its timer, and a send or a reception that is handled first.
        let latest = Duration::from_micros(400);
        cases.extend(replay(&format!("board {id}"), Mac::new(seed.expect("it has started")), &steps, latest));
    }
    assert_eq!(cases.into_iter().collect::<Vec<_>>(), ALL_CASES);
}

/// Records the inputs of a station's MAC.
struct Recorder {
    node: NodeIndex,
    steps: Vec<Step>,
}

impl<S> Watcher<S> for Recorder {
    fn mac(&mut self, node: NodeIndex, now: Instant, event: MacEvent, decision: Decision, next: Option<Instant>) {
        if node == self.node {
            self.steps.push(Step { now, event, decision, next });
        }
    }
}

#[test]
fn a_simulated_node_decides_as_the_pc_does() {
    let tuning = Tuning { channel: 15, tx_dbm: 0.0 };
    let mut world = World::new(Medium::new(Propagation::plain(1), None, 1), RadioTiming::FIRMWARE, 5);
    for id in 1..=4_u16 {
        let config = Config::ad_hoc(NodeId(id), 7, Protection::Ascon(NetworkKey::new([7; 16])));
        let boot = Boot { epoch: Some(1), seed: u64::from(id), device: id };
        let station = NodeStation::new(&config, boot).expect("a configuration");
        world.add(Point::new(f64::from(id) * 5.0, 0.0), tuning, 0, station);
    }
    let intruder = world.add_intruder(Point::new(10.0, 5.0), tuning);
    world.set_loss(0.2);
    let mut recorder = Recorder { node: NodeIndex(1), steps: Vec::new() };
    for node in NodeIndex::first(4) {
        world.power_on(node, &mut recorder);
    }
    let mac = {
        recorder.steps.clear();
        world.mac(NodeIndex(1)).clone()
    };
    world.run_until(8_000_000, &mut recorder);
    // One frame after the other, so that the channel is hardly ever clear.
    while world.now_us() < 11_000_000 {
        world.inject(intruder, RawFrame::honest(vec![0; 120]), &mut recorder);
        world.run_until(world.now_us() + 4_100, &mut recorder);
    }
    world.run_until(20_000_000, &mut recorder);
    let cases = replay("a simulated node", mac, &recorder.steps, Duration::from_micros(62));
    assert_eq!(cases.into_iter().collect::<Vec<_>>(), ALL_CASES);
}
