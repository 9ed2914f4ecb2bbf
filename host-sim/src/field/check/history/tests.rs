use common::types::NodeId;
use sim::air::index::NodeIndex;
use sim::air::talker::room;
use sim::air::trace::{Event, NodeNumber, Record, Trace, parse_line};
use sim::scenario::report::outcome::{Followed, Verdict};

use super::{History, play};
use crate::field::check::trace_file::in_order;

const SECOND: u64 = 1_000_000;

/// Records of a field test: nodes 0, 1, 2 with the ids 10, 11, 12.
#[derive(Default)]
struct Field(Vec<Record>);

impl Field {
    fn at(&mut self, time_us: u64, node: usize, event: Event) -> &mut Self {
        self.0.push(Record { time_us, node: Some(NodeNumber(node)), event });
        self
    }

    fn follow(&mut self, time_us: u64, node: usize, leader: u16) -> &mut Self {
        self.at(time_us, node, Event::Leader { leader: Some(NodeId(leader)) })
    }

    fn link(&mut self, time_us: u64, ends: [usize; 2], up: bool) -> &mut Self {
        let id = |node: usize| NodeId(10 + u16::try_from(node).unwrap());
        let [a, b] = ends;
        self.at(time_us, a, Event::Link { peer: id(b), up }).at(time_us, b, Event::Link { peer: id(a), up })
    }

    /// Three nodes in a row that follow 10 from the second second on.
    fn row() -> Self {
        let mut field = Self::default();
        for node in 0..3 {
            let id = NodeId(10 + u16::try_from(node).unwrap());
            field.at(0, node, Event::Id { id }).at(0, node, Event::PowerOn {});
        }
        field.link(SECOND, [0, 1], true).link(SECOND, [1, 2], true);
        (0..3).for_each(|node| {
            field.follow(2 * SECOND, node, 10);
        });
        field
    }

    fn play(&self) -> History {
        play(&in_order(self.0.clone()), 10 * SECOND)
    }
}

fn spans(history: &History) -> Vec<(u64, Option<u64>, &str)> {
    history.disagreements.iter().map(|one| (one.from_ms, one.lasted_ms, one.after.as_str())).collect()
}

#[test]
fn a_start_and_a_lost_leader_are_measured() {
    let mut field = Field::row();
    field.at(20 * SECOND, 0, Event::PowerOff {}).link(21 * SECOND, [0, 1], false);
    field.follow(22 * SECOND, 1, 11).follow(23_500_000, 2, 11);
    field.at(60 * SECOND, 1, Event::Note { text: "the end".into() });
    let history = field.play();
    let expected = [(0, Some(2_000), "node 10 switched on"), (20_000, Some(3_500), "node 10 switched off")];
    assert_eq!(spans(&history), expected);
    assert_eq!(history.verdict, Verdict::Ok);
    assert_eq!(history.nodes, ["10", "11", "12"]);
    assert_eq!(
        history.reigns.first().map(|reign| reign.leaders.clone()),
        Some(vec![Followed { leader: 10, followers: 1 }])
    );
    assert_eq!(
        history.reigns.last().map(|reign| reign.leaders.clone()),
        Some(vec![Followed { leader: 11, followers: 2 }])
    );
}

#[test]
fn parts_may_have_leaders_of_their_own() {
    let mut field = Field::row();
    field.link(20 * SECOND, [1, 2], false).follow(21 * SECOND, 2, 12);
    field.at(60 * SECOND, 2, Event::Note { text: String::new() });
    let history = field.play();
    assert_eq!(spans(&history)[1], (20_000, Some(1_000), "links changed"));
    assert_eq!(history.verdict, Verdict::Ok);
}

#[test]
fn a_network_that_never_agrees_fails_and_one_that_just_changed_is_undecided() {
    let mut field = Field::row();
    field.follow(20 * SECOND, 2, 12).at(60 * SECOND, 2, Event::Note { text: String::new() });
    let history = field.play();
    assert_eq!(spans(&history)[1].1, None);
    assert_eq!(history.verdict, Verdict::Liveness);
    assert_eq!(history.disagreements[1].nodes, ["12"]);
    let mut field = Field::row();
    field.at(20 * SECOND, 0, Event::PowerOff {}).at(22 * SECOND, 2, Event::Note { text: String::new() });
    assert_eq!(field.play().verdict, Verdict::Ok);
}

#[test]
fn agreement_that_does_not_last_is_none() {
    let mut field = Field::row();
    field.follow(20 * SECOND, 2, 12).follow(21 * SECOND, 2, 10).follow(22 * SECOND, 2, 12).follow(23 * SECOND, 2, 10);
    field.at(60 * SECOND, 2, Event::Note { text: String::new() });
    assert_eq!(field.play().disagreements.len(), 2, "the start, and one that took three seconds");
    assert_eq!(field.play().disagreements[1].lasted_ms, Some(3_000));
}

#[test]
fn a_leader_that_is_not_watched_may_still_lead() {
    let mut field = Field::row();
    field.at(20 * SECOND, 0, Event::Unseen {}).at(60 * SECOND, 2, Event::Note { text: "lost: 4".into() });
    let history = field.play();
    assert_eq!(history.disagreements.len(), 1, "{:?}", history.disagreements);
    assert_eq!(history.lost, 4);
}

#[test]
fn frames_show_who_hears_whom() {
    let mut field = Field::default();
    for step in 0..100_u64 {
        let time = step * 200_000;
        for node in 0..2_u8 {
            let psdu = vec![0x41, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 10 + node, 0, 0, 0];
            let (from, to) = (usize::from(node), usize::from(1 - node));
            field.at(time, from, Event::Frame { psdu }).at(
                time,
                to,
                Event::Received { from: NodeNumber(from), rssi_dbm: -50 },
            );
        }
    }
    field.follow(1_000_000, 0, 10).follow(1_000_000, 1, 11).follow(4_000_000, 1, 10);
    let history = field.play();
    assert_eq!(history.nodes, ["10", "11"], "their frames tell their ids");
    assert_eq!(history.frames, 200);
    assert_eq!(history.disagreements.len(), 1, "{:?}", history.disagreements);
    assert_eq!(history.disagreements[0].lasted_ms, Some(4_000), "two leaders that hear each other are one too many");
}

#[test]
fn a_trace_of_the_simulator_is_checked_like_a_recording() {
    let mut trace = Trace::new(Vec::new());
    (0..3).for_each(|node| trace.power(0, NodeNumber(node), true));
    // Three stations in a room; each follows the lowest id it has heard, and never forgets it.
    let mut world = room(3, &mut trace);
    world.run_until(10 * SECOND, &mut trace);
    trace.power(world.now_us(), NodeNumber(2), false);
    world.power_off(NodeIndex(2), &mut trace);
    world.run_until(40 * SECOND, &mut trace);
    let text = String::from_utf8(trace.finish().unwrap()).unwrap();
    let records = text.lines().zip(1..).map(|(line, number)| parse_line(number, line).unwrap()).collect();
    let history = play(&in_order(records), 10 * SECOND);
    assert_eq!(history.nodes, ["100", "99", "98"]);
    assert!(!history.links_told && history.frames > 80, "{history:?}");
    let [start, lost] = &history.disagreements[..] else { panic!("{:?}", history.disagreements) };
    assert!(start.lasted_ms.is_some_and(|ms| ms < 1_000), "{start:?}");
    assert_eq!((lost.from_ms, lost.lasted_ms, lost.after.as_str()), (10_000, None, "node 98 switched off"));
    assert_eq!(history.verdict, Verdict::Liveness, "a leader that is gone is followed for ever");
}

/// A recording of three nodes in a row that follow 10. The link of the first two was up before it began; that of the others comes up
/// while it is watched.
fn begun_late() -> Field {
    let mut field = Field::default();
    let program = "a test".to_owned();
    field.0.push(Record { time_us: 0, node: None, event: Event::Recording { utc: String::new(), program } });
    for node in 0..3 {
        let id = NodeId(10 + u16::try_from(node).unwrap());
        field.at(0, node, Event::Id { id }).at(0, node, Event::PowerOn {}).follow(SECOND, node, 10);
    }
    field.link(2 * SECOND, [1, 2], true);
    field
}

/// The frames of two nodes, five a second each, of which so many in ten arrive.
fn frames(field: &mut Field, ends: [usize; 2], seconds: std::ops::Range<u64>, of_ten: u64) {
    for step in seconds.start * 5..seconds.end * 5 {
        let time = step * 200_000;
        for (from, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            field.at(time, from, Event::Frame { psdu: vec![0] });
            if step * 3 % 10 < of_ten {
                field.at(time, to, Event::Received { from: NodeNumber(from), rssi_dbm: -50 });
            }
        }
    }
}

#[test]
fn links_from_before_a_recording_that_nobody_reports_are_inferred_from_frames() {
    for (of_ten, expected) in [(10, Verdict::Ok), (6, Verdict::Ok), (4, Verdict::Liveness), (0, Verdict::Liveness)] {
        let mut field = begun_late();
        frames(&mut field, [0, 1], 0..40, of_ten);
        let history = field.play();
        assert_eq!((history.verdict, history.links_told), (expected, true), "{of_ten} of ten: {history:?}");
        assert_eq!(history.links_inferred, usize::from(expected == Verdict::Ok), "{of_ten} of ten");
    }
    // The simulator reports every link.
    let mut field = begun_late();
    frames(&mut field, [0, 1], 0..40, 10);
    field.0.remove(0);
    assert_eq!((field.play().verdict, field.play().links_inferred), (Verdict::Liveness, 0));
}

#[test]
fn after_a_restart_nothing_is_inferred() {
    let mut field = begun_late();
    frames(&mut field, [0, 1], 0..60, 10);
    field.at(20 * SECOND, 0, Event::PowerOff {}).at(20 * SECOND + 1, 0, Event::PowerOn {});
    field.follow(21 * SECOND, 0, 10);
    let history = field.play();
    assert_eq!(
        (history.verdict, history.links_inferred),
        (Verdict::Liveness, 1),
        "it would have reported it: {history:?}"
    );
    field.link(22 * SECOND, [0, 1], true);
    assert_eq!(field.play().verdict, Verdict::Ok);
}

#[test]
fn a_link_that_is_first_reported_as_down_was_up_before() {
    let mut field = begun_late();
    field.link(20 * SECOND, [0, 1], false).follow(21 * SECOND, 1, 12).follow(21 * SECOND, 2, 12);
    field.at(60 * SECOND, 2, Event::Note { text: String::new() });
    let history = field.play();
    assert_eq!(spans(&history)[1..], [(20_000, Some(1_000), "links changed")], "{history:?}");
    assert_eq!((history.verdict, history.links_inferred), (Verdict::Ok, 0));
}

#[test]
fn who_says_nothing_of_a_link_does_not_deny_it() {
    let mut field = begun_late();
    field.at(SECOND, 1, Event::Link { peer: NodeId(10), up: true });
    field.at(60 * SECOND, 2, Event::Note { text: String::new() });
    assert_eq!(field.play().verdict, Verdict::Ok);
    // Node 10 restarts, and would say so.
    field.at(20 * SECOND, 0, Event::PowerOff {}).at(20 * SECOND + 1, 0, Event::PowerOn {}).follow(21 * SECOND, 0, 10);
    assert_eq!(field.play().verdict, Verdict::Liveness);
}
