use common::mac::phy::{FCS_BYTES, FRAME_MAX, fcs};
use common::time::{Duration, Instant};

use super::{Access, Nobody, RawFrame, Room, Sent, Station, Transmit, Watcher, World};
use crate::air::airtime_us;
use crate::air::index::{NodeIndex, RadioIndex};
use crate::air::medium::{Medium, Reception, Tuning};
use crate::air::propagation::{Point, Propagation, Spreading};
use crate::air::timing::RadioTiming;

const TUNING: Tuning = Tuning { channel: 15, tx_dbm: 0.0 };

/// Sends what it is told to, and notes what happens to it.
#[derive(Clone, Debug, Default)]
struct Puppet {
    /// Frames to give out: their bytes and how they want to be sent.
    script: Vec<(Vec<u8>, Access)>,
    ignores_room: bool,
    heard: Vec<(u64, Vec<u8>)>,
    sent: Vec<Sent>,
    bad_lengths: Vec<u8>,
    /// Whether it acknowledges what it hears after this long.
    answers_after: Option<Duration>,
}

impl Station for Puppet {
    fn handle_start(&mut self, _now: Instant) {}

    fn handle_frame(&mut self, now: Instant, psdu: &[u8], _rssi_dbm: f64) {
        self.heard.push((now.as_micros(), psdu.to_vec()));
        if let Some(after) = self.answers_after {
            self.script.push((vec![0xAC, 0, 0], Access::At(now + after)));
        }
    }

    fn handle_sent(&mut self, _now: Instant, sent: Sent) {
        self.sent.push(sent);
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant, room: Room, buf: &mut [u8; FRAME_MAX]) -> Option<Transmit> {
        let fits = |access: &Access| if *access == Access::Csma { room.csma } else { room.timed };
        let next = self.script.iter().position(|(_, access)| self.ignores_room || fits(access))?;
        let (bytes, access) = self.script.remove(next);
        buf[..bytes.len()].copy_from_slice(&bytes);
        Some(Transmit { length: bytes.len(), access })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_bad_length(&mut self, _now: Instant, length: u8) {
        self.bad_lengths.push(length);
    }
}

#[derive(Debug, PartialEq)]
struct Start {
    at_us: u64,
    from: RadioIndex,
}

/// The beginning and the end of frames.
#[derive(Debug, Default)]
struct Frames {
    starts: Vec<Start>,
    receptions: Vec<Reception>,
}

impl<S> Watcher<S> for Frames {
    fn frame(&mut self, world_us: u64, from: RadioIndex, _psdu: &[u8]) {
        self.starts.push(Start { at_us: world_us, from });
    }

    fn reception(&mut self, _world_us: u64, _from: RadioIndex, reception: Reception) {
        self.receptions.push(reception);
    }
}

fn room(puppets: Vec<Puppet>, timing: RadioTiming) -> World<Puppet> {
    let propagation = Propagation { spreading: Spreading::Disc { reach: 10.0 }, ..Propagation::plain(1) };
    let mut world = World::new(Medium::new(propagation, None, 1), timing, 1);
    for puppet in puppets {
        world.add(Point::ORIGIN, TUNING, 0, puppet);
    }
    world
}

fn start(world: &mut World<Puppet>, watcher: &mut impl Watcher<Puppet>) {
    NodeIndex::first(world.len()).for_each(|node| world.power_on(node, watcher));
}

#[test]
fn a_frame_with_a_time_begins_at_that_time() {
    let at = Instant::from_micros(1_000_000);
    let sender = Puppet { script: vec![(vec![1; 20], Access::At(at))], ..Puppet::default() };
    let mut world = room(vec![sender, Puppet::default()], RadioTiming::EMBASSY);
    let mut frames = Frames::default();
    start(&mut world, &mut frames);
    world.run_until(2_000_000, &mut frames);
    assert_eq!(frames.starts, [Start { at_us: 1_000_000, from: RadioIndex(0) }]);
    assert!(world.station(NodeIndex(0)).sent.is_empty(), "nobody asks what became of it");
    assert_eq!(world.station(NodeIndex(1)).heard.len(), 1);
}

#[test]
fn an_acknowledgement_goes_out_while_another_frame_waits_for_the_channel() {
    let asks = Puppet { script: vec![(vec![1; 20], Access::At(Instant::from_micros(50_000)))], ..Puppet::default() };
    let answers = Puppet { answers_after: Some(Duration::from_micros(300)), ..Puppet::default() };
    let mut world = room(vec![asks, answers], RadioTiming::FIRMWARE);
    let mut frames = Frames::default();
    start(&mut world, &mut frames);
    world.run_until(49_900, &mut frames);
    // From here on the channel is taken, so that the other frame backs off until after the answer.
    world.tell(NodeIndex(1), &mut frames, |station, _| station.script.push((vec![2; 60], Access::Csma)));
    world.run_until(100_000, &mut frames);
    let frame_ends = 50_000 + airtime_us(20 + FCS_BYTES);
    let answering = frames.starts.iter().filter(|start| start.from == RadioIndex(1));
    let from_one: Vec<u64> = answering.map(|start| start.at_us).collect();
    assert_eq!(from_one.len(), 2, "{frames:?}");
    assert!((frame_ends + 270..=frame_ends + 331).contains(&from_one[0]), "{frames:?}");
    assert_eq!(world.station(NodeIndex(0)).heard.len(), 2, "the answer and the frame: {frames:?}");
    assert_eq!(world.station(NodeIndex(1)).sent, [Sent::Done]);
}

#[test]
fn a_time_that_comes_while_sending_is_missed_and_counted() {
    let script = vec![
        (vec![1; 100], Access::At(Instant::from_micros(10_000))),
        (vec![2; 5], Access::At(Instant::from_micros(12_000))),
    ];
    let mut world = room(vec![Puppet { script, ..Puppet::default() }], RadioTiming::FIRMWARE);
    start(&mut world, &mut Nobody);
    world.run_until(11_000, &mut Nobody);
    // The first one's place is taken until it is through, so the second is offered when its time is over.
    world.run_until(50_000, &mut Nobody);
    assert_eq!((world.usage(NodeIndex(0)).sent, world.usage(NodeIndex(0)).late), (1, 1));
    let csma = Puppet { script: vec![(vec![1; 100], Access::Csma)], ..Puppet::default() };
    let mut world = room(vec![csma], RadioTiming::FIRMWARE);
    let mut frames = Frames::default();
    start(&mut world, &mut frames);
    while frames.starts.is_empty() {
        world.run_until(world.now_us() + 10, &mut frames);
    }
    let soon = Access::At(Instant::from_micros(world.now_us() + 500));
    world.tell(NodeIndex(0), &mut frames, |station, _| station.script.push((vec![2; 5], soon)));
    world.run_until(50_000, &mut frames);
    assert_eq!(world.usage(NodeIndex(0)).late, 1);
    assert_eq!(world.station(NodeIndex(0)).sent, [Sent::Done]);
}

#[test]
fn frames_for_which_there_is_no_room_are_counted() {
    let script = vec![(vec![1; 10], Access::Csma), (vec![2; 10], Access::Csma)];
    let mut world = room(vec![Puppet { script, ignores_room: true, ..Puppet::default() }], RadioTiming::FIRMWARE);
    start(&mut world, &mut Nobody);
    world.run_until(100_000, &mut Nobody);
    assert_eq!((world.usage(NodeIndex(0)).refused, world.usage(NodeIndex(0)).sent), (1, 1));
}

#[test]
fn a_frame_that_breaks_off_is_damaged_at_its_receivers() {
    let sender = Puppet { script: vec![(vec![1; 100], Access::Csma)], ..Puppet::default() };
    let mut world = room(vec![sender, Puppet::default(), Puppet::default()], RadioTiming::FIRMWARE);
    let mut frames = Frames::default();
    start(&mut world, &mut frames);
    while frames.starts.is_empty() {
        world.run_until(world.now_us() + 10, &mut frames);
    }
    world.run_until(world.now_us() + 500, &mut frames);
    world.power_off(NodeIndex(0), &mut frames);
    world.run_until(world.now_us() + 50_000, &mut frames);
    assert_eq!(
        frames.receptions.iter().map(|reception| (reception.to.0, reception.intact)).collect::<Vec<_>>(),
        [(1, false), (2, false)]
    );
    assert_eq!((world.usage(NodeIndex(1)).damaged, world.usage(NodeIndex(1)).received), (1, 0));
    assert!(world.station(NodeIndex(0)).sent.is_empty() && world.station(NodeIndex(1)).heard.is_empty());
    assert!(
        world.usage(NodeIndex(0)).on_us < world.usage(NodeIndex(1)).on_us
            && world.usage(NodeIndex(1)).on_us == world.now_us()
    );
}

#[test]
fn a_radio_that_is_on_is_always_at_something() {
    // Turning round after a frame counts as listening, so that nothing is left over.
    let sender = Puppet { script: vec![(vec![1; 100], Access::Csma)], ..Puppet::default() };
    let mut world = room(vec![sender], RadioTiming::FIRMWARE);
    start(&mut world, &mut Nobody);
    world.run_until(1_000_000, &mut Nobody);
    let usage = world.usage(NodeIndex(0));
    assert_eq!((usage.sent, usage.tx_us + usage.rx_us), (1, 1_000_000));
}

#[test]
fn corrupted_frames_have_wrong_bits_and_a_right_checksum() {
    let body: Vec<u8> = (0..40).collect();
    let psdu = [&body[..], &fcs(&body).to_le_bytes()].concat();
    let script = (0..50).map(|_| (body.clone(), Access::Csma)).collect();
    let mut world = room(vec![Puppet { script, ..Puppet::default() }, Puppet::default()], RadioTiming::FIRMWARE);
    world.set_corruption(1.0);
    start(&mut world, &mut Nobody);
    world.run_until(2_000_000, &mut Nobody);
    let heard = &world.station(NodeIndex(1)).heard;
    assert_eq!((heard.len(), world.usage(NodeIndex(1)).corrupted), (50, 50));
    let differing = heard.iter().filter(|(_, bytes)| *bytes != psdu).count();
    // Two flips of the same bit cancel out, now and then.
    assert!(differing >= 48, "{differing}");
    assert!(heard.iter().all(|(_, bytes)| fcs(bytes) == 0));
}

#[test]
fn intruders_overhear_and_inject_and_lie_about_lengths() {
    let sender = Puppet { script: vec![(vec![7; 30], Access::Csma)], ..Puppet::default() };
    let mut world = room(vec![sender, Puppet::default()], RadioTiming::FIRMWARE);
    let intruder = world.add_intruder(Point::new(1.0, 1.0), TUNING);
    world.set_intruder_about(intruder, true);
    start(&mut world, &mut Nobody);
    world.run_until(100_000, &mut Nobody);
    let overheard: Vec<Vec<u8>> = world.overheard(intruder).map(<[u8]>::to_vec).collect();
    assert_eq!(overheard, [[&[7; 30][..], &fcs(&[7; 30]).to_le_bytes()].concat()]);
    assert!(world.inject(intruder, RawFrame::honest(overheard[0].clone()), &mut Nobody));
    assert!(!world.inject(intruder, RawFrame::honest(vec![1; 9]), &mut Nobody), "it is still sending");
    world.run_until(200_000, &mut Nobody);
    assert_eq!(world.station(NodeIndex(1)).heard.len(), 2, "the frame and its replay");
    for (turn, length) in [0, 1, 128, 255].into_iter().enumerate() {
        assert!(world.inject(intruder, RawFrame { length, psdu: Vec::new() }, &mut Nobody));
        world.run_until(300_000 + 100_000 * turn as u64, &mut Nobody);
    }
    assert_eq!(world.station(NodeIndex(1)).bad_lengths, [0, 1, 128, 255]);
    assert_eq!((world.station(NodeIndex(1)).heard.len(), world.usage(NodeIndex(1)).malformed), (2, 4));
}

#[test]
fn an_intruder_that_goes_in_the_middle_of_a_frame_hears_nothing_more() {
    let talks = |waits: usize| Puppet { script: vec![(vec![7; 30], Access::Csma); waits], ..Puppet::default() };
    let mut world = room(vec![talks(9), Puppet::default()], RadioTiming::FIRMWARE);
    let intruder = world.add_intruder(Point::new(1.0, 1.0), TUNING);
    world.set_intruder_about(intruder, true);
    assert!(world.inject(intruder, RawFrame::honest(vec![1; 9]), &mut Nobody));
    world.set_intruder_about(intruder, false);
    start(&mut world, &mut Nobody);
    world.run_until(1_000_000, &mut Nobody);
    assert!(world.usage(NodeIndex(0)).sent > 0 && world.overheard(intruder).len() == 0);
}

#[test]
fn stations_wake_as_late_as_they_are_told_to() {
    let starts = |mean_us: u32| {
        let mut world = crate::air::talker::room(1, &mut Nobody);
        world.set_wake_jitter(mean_us);
        let mut frames = Frames::default();
        world.run_until(5_500_000, &mut frames);
        frames.starts
    };
    let (punctual, late) = (starts(0), starts(100));
    assert_eq!((punctual.len(), late.len()), (6, 6));
    // It had asked for its first call before.
    let delays: Vec<u64> = punctual.iter().zip(&late).skip(1).map(|(early, late)| late.at_us - early.at_us).collect();
    // Both wake at ticks, which are 31 µs apart.
    assert!(delays.iter().all(|delay| (50 - 31..=150 + 31).contains(delay)), "{delays:?}");
}

#[test]
fn a_clock_that_begins_to_run_fast_wakes_its_station_earlier() {
    let mut wakes = Vec::new();
    for drift in [0, 20_000] {
        let mut world = crate::air::talker::room(1, &mut Nobody);
        world.set_drift(NodeIndex(0), drift);
        let mut frames = Frames::default();
        world.run_until(11_000_000, &mut frames);
        wakes.push(frames.starts.len());
    }
    assert_eq!(wakes, [11, 12], "11 s are 11.22 s to it, and it speaks at 0.1 s, 1.1 s and so on");
}
