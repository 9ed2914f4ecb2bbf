use common::election::height_tuple::{LeaderPair, RefLevel};
use common::election::hierarchy::{HierarchyOptions, Radii};
use common::election::hierarchy_update::HierarchyUpdate;
use common::limits::NEIGHBOURS_MAX;
use common::time::Instant;
use common::types::NodeId;
use proptest::prelude::*;

use super::{Hello, SoftState, SoftStateOptions, decode, encode};
use crate::air::index::NodeIndex;
use crate::air::medium::{Medium, Tuning};
use crate::air::propagation::{Point, Propagation, Spreading};
use crate::air::timing::RadioTiming;
use crate::air::world::{Nobody, Station, World};
use common::mac::phy::{FRAME_MAX, fcs};

fn options() -> SoftStateOptions {
    let radii = Radii::new(&[2]).unwrap();
    SoftStateOptions { hierarchy: HierarchyOptions { radii, ..HierarchyOptions::default() }, least_rssi_dbm: -95.0 }
}

/// Stations in a line, ten metres apart, each hearing only its immediate neighbours. Ids start at 1.
fn line(count: u16, seed: u64) -> World<SoftState> {
    let propagation = Propagation { spreading: Spreading::Disc { reach: 10.5 }, ..Propagation::plain(seed) };
    let mut world = World::new(Medium::new(propagation, None, seed), RadioTiming::EMBASSY, seed);
    for id in 1..=count {
        let station = SoftState::new(NodeId(id), options(), seed);
        world.add(Point::new(10.0 * f64::from(id), 0.0), Tuning { channel: 15, tx_dbm: 0.0 }, 0, station);
    }
    for node in NodeIndex::first(world.len()) {
        world.power_on(node, &mut Nobody);
    }
    world
}

fn leaders(world: &World<SoftState>) -> Vec<u16> {
    NodeIndex::first(world.len()).filter(|&node| world.is_on(node)).map(|node| world.station(node).leader().0).collect()
}

#[test]
fn two_find_each_other_and_agree() {
    let mut world = line(2, 1);
    assert_eq!(leaders(&world), [1, 2]);
    world.run_until(3_000_000, &mut Nobody);
    assert_eq!(world.station(NodeIndex(0)).peers(), [NodeId(2)]);
    assert_eq!(leaders(&world), [1, 1]);
    let sent = world.usage(NodeIndex(0)).sent;
    world.run_until(13_000_000, &mut Nobody);
    assert!((16..=25).contains(&(world.usage(NodeIndex(0)).sent - sent)), "at rest there are two hellos a second");
    assert_eq!(world.station(NodeIndex(0)).tally().downs, 0);
}

#[test]
fn three_elect_anew_when_the_leader_is_gone() {
    let mut world = line(3, 2);
    world.run_until(4_000_000, &mut Nobody);
    assert_eq!(leaders(&world), [1, 1, 1]);
    world.power_off(NodeIndex(0), &mut Nobody);
    world.run_until(8_000_000, &mut Nobody);
    let after = leaders(&world);
    assert!(after == [2, 2] || after == [3, 3], "{after:?}");
    assert_eq!(world.station(NodeIndex(1)).tally().downs, 1);
}

#[test]
fn a_restarted_node_is_a_new_one() {
    let mut world = line(3, 3);
    world.run_until(4_000_000, &mut Nobody);
    // The gap is too short for anyone to miss a hello, so only the new life shows the restart.
    world.power_off(NodeIndex(1), &mut Nobody);
    world.replace(NodeIndex(1), SoftState::new(NodeId(2), options(), 77));
    world.power_on(NodeIndex(1), &mut Nobody);
    world.run_until(8_000_000, &mut Nobody);
    assert!(world.station(NodeIndex(0)).tally().downs == 1 && world.station(NodeIndex(2)).tally().downs == 1);
    let after = leaders(&world);
    assert!(after.iter().all(|leader| *leader == after[0]), "{after:?}");
}

#[test]
fn a_neighbour_that_is_not_listed_any_more_goes_down() {
    let mut station = SoftState::new(NodeId(1), options(), 5);
    station.handle_start(Instant::ZERO);
    let update = sample(9);
    let mut buf = [0; FRAME_MAX];
    for (dsn, lists, up) in [(1, true, 0), (2, true, 1), (3, true, 1), (4, false, 0)] {
        let heard = if lists { heapless::Vec::from_slice(&[NodeId(1)]).unwrap() } else { heapless::Vec::new() };
        let length = encode(NodeId(2), dsn, &Hello { life: 1, heard, update: update.clone() }, &mut buf).unwrap();
        station.handle_frame(Instant::from_millis(u64::from(dsn)), &psdu(&buf[..length]), -60.0);
        assert_eq!(station.peers().len(), up, "after hello {dsn}");
    }
}

#[test]
fn the_faintly_heard_do_not_come_up() {
    let mut station = SoftState::new(NodeId(1), options(), 5);
    station.handle_start(Instant::ZERO);
    let mut buf = [0; FRAME_MAX];
    for dsn in 1..9 {
        let heard = heapless::Vec::from_slice(&[NodeId(1)]).unwrap();
        let length = encode(NodeId(2), dsn, &Hello { life: 1, heard, update: sample(1) }, &mut buf).unwrap();
        station.handle_frame(Instant::from_millis(u64::from(dsn)), &psdu(&buf[..length]), -96.0);
    }
    assert!(station.peers().is_empty());
}

/// A frame as it arrives, with its checksum.
fn psdu(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs(frame).to_le_bytes()].concat()
}

fn sample(stamp: u32) -> HierarchyUpdate {
    HierarchyUpdate {
        stamp,
        level: RefLevel::ZERO,
        delta: 0,
        leader: LeaderPair { elected_at: 0, lid: NodeId(2) },
        fresh: false,
        levels: 1,
        records: Default::default(),
    }
}

#[test]
fn the_largest_hello_fits_a_frame() {
    let ids = (0..NEIGHBOURS_MAX).map(|at| NodeId(u16::MAX - u16::try_from(at).unwrap()));
    let hello =
        Hello { life: u16::MAX, heard: ids.collect(), update: HierarchyUpdate { levels: 3, ..sample(u32::MAX) } };
    let mut buf = [0; FRAME_MAX];
    let length = encode(NodeId(u16::MAX), 255, &hello, &mut buf).unwrap();
    assert_eq!(decode(&psdu(&buf[..length])), Some((NodeId(u16::MAX), 255, hello)));
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_counted_and_dropped(bytes in prop::collection::vec(any::<u8>(), 0..127)) {
        let mut station = SoftState::new(NodeId(1), options(), 5);
        station.handle_start(Instant::ZERO);
        station.handle_frame(Instant::from_millis(1), &bytes, -50.0);
        prop_assert_eq!(station.tally().foreign, 1);
    }

    #[test]
    fn a_hello_with_any_bit_wrong_is_foreign(bit in 0_usize..8 * 40) {
        let hello = Hello { life: 3, heard: heapless::Vec::new(), update: sample(7) };
        let mut buf = [0; FRAME_MAX];
        let length = encode(NodeId(2), 1, &hello, &mut buf).unwrap();
        let mut bytes = psdu(&buf[..length]);
        let bit = bit % (8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(decode(&bytes), None);
    }
}
