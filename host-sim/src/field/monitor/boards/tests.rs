use common::host_link::{BuildId, Bytes, Call, Hello, Quantity, ResetReason, ToHost};
use common::names::{Algorithm, Board};
use common::node::snapshot::Snapshot;
use common::notice::{Notice, Reason};
use common::types::NodeId;
use sim::air::trace::{Event, NodeNumber, Record};

use super::{BOARDS_MAX, Boards, LOST_NOTE, PortIndex};

const FIRST: PortIndex = PortIndex(0);
const SECOND: PortIndex = PortIndex(1);
const FOURTH: PortIndex = PortIndex(3);

fn hello(chip: u64, id: u16, epoch: u16, at_us: u64) -> ToHost {
    ToHost::Hello(Hello {
        at_us,
        build: BuildId([1; 8]),
        board: Board::Nrf52840Dk,
        chip,
        id: NodeId(id),
        epoch: Some(epoch),
        pan: 7,
        channel: 15,
        algorithm: Algorithm::Height,
        demo: false,
        reset: ResetReason::Power,
        crash: None,
    })
}

fn leader(at_us: u64, id: u16) -> ToHost {
    ToHost::Notice { at_us, notice: Notice::Leader(Some(NodeId(id))) }
}

fn snapshot(at_us: u64, id: u16, leader: Option<u16>) -> ToHost {
    let snapshot = Snapshot { id: NodeId(id), leader: leader.map(NodeId), links_up: 2, ..Snapshot::default() };
    ToHost::Snapshot { at_us, snapshot }
}

fn at(time_us: u64, node: usize, event: Event) -> Record {
    Record { time_us, node: Some(NodeNumber(node)), event }
}

/// What [`hello`] says of itself.
fn is(chip: u64, epoch: u16) -> Event {
    let (network, kind) = ("0x0007".into(), "nrf52840-dk".into());
    Event::Board { network, kind, chip: format!("{chip:016x}"), build: "01".repeat(8), epoch: Some(epoch) }
}

fn follows(id: u16) -> Event {
    Event::Leader { leader: Some(NodeId(id)) }
}

#[test]
fn a_board_is_known_from_its_hello_on() {
    let mut boards = Boards::default();
    boards.open(1_000_000, FIRST);
    assert_eq!(boards.receive(1_100_000, FIRST, &leader(50, 3)), [], "nobody knows who said that");
    // It had been running for an hour before the port was opened.
    let first = boards.receive(1_200_000, FIRST, &hello(0xC0, 5, 9, 3_600_000_000));
    let expected = [Event::Id { id: NodeId(5) }, Event::PowerOn {}, is(0xC0, 9)];
    assert_eq!(first, expected.map(|event| at(1_000_000, 0, event)));
    // It started just now, at another port.
    let second = boards.receive(2_000_000, SECOND, &hello(0xC1, 6, 1, 400_000));
    let expected = [Event::Id { id: NodeId(6) }, Event::PowerOn {}, is(0xC1, 1)];
    assert_eq!(second, expected.map(|event| at(1_600_000, 1, event)));
    assert_eq!(boards.receive(2_100_000, SECOND, &leader(500_000, 5)), [at(2_100_000, 1, follows(5))]);
    assert_eq!(boards.at(SECOND).map(|board| (board.id, board.leader)), Some((NodeId(6), Some(NodeId(5)))));
}

#[test]
fn the_trace_has_each_change_once() {
    let mut boards = Boards::default();
    boards.receive(0, FIRST, &hello(0xC0, 5, 9, 0));
    assert_eq!(boards.receive(10, FIRST, &leader(10, 5)), [at(10, 0, follows(5))]);
    assert_eq!(boards.receive(20, FIRST, &snapshot(20, 5, Some(5))), []);
    // A notice was lost; the snapshot tells.
    assert_eq!(boards.receive(30, FIRST, &ToHost::Lost(2)), [at(30, 0, Event::Note { text: format!("{LOST_NOTE}2") })]);
    assert_eq!(boards.receive(40, FIRST, &snapshot(40, 5, Some(7))), [at(40, 0, follows(7))]);
    assert_eq!(boards.receive(50, FIRST, &snapshot(50, 5, None)), [at(50, 0, Event::Leader { leader: None })]);
    let down = ToHost::Notice { at_us: 60, notice: Notice::LinkDown(NodeId(7), Reason::Silent) };
    assert_eq!(boards.receive(60, FIRST, &down), [at(60, 0, Event::Link { peer: NodeId(7), up: false })]);
    let reading = ToHost::Reading { at_us: 70, quantity: Quantity::Supply, value: 2_987 };
    let (quantity, unit) = ("supply".into(), "V".into());
    let typed = Event::Reading { quantity, value: 2_987, per_unit: 1_000, unit };
    assert_eq!(boards.receive(70, FIRST, &reading), [at(70, 0, typed)]);
    assert_eq!(boards.all()[0].lost, 2);
}

#[test]
fn a_reset_and_a_cable_are_told_apart() {
    let mut boards = Boards::default();
    boards.receive(0, FIRST, &hello(0xC0, 5, 9, 0));
    boards.receive(1_000, FIRST, &leader(1_000, 5));
    assert_eq!(boards.lose(5_000, FIRST, false), [at(5_000, 0, Event::Unseen {})]);
    assert_eq!(
        boards.receive(6_000, FIRST, &leader(6_000, 5)),
        [],
        "the board that is at the port now has not said so"
    );
    // The same boot at another port: it was on all the time, and its leader is reported again.
    assert_eq!(boards.receive(9_000, FOURTH, &hello(0xC0, 5, 9, 9_000)), [at(9_000, 0, Event::Id { id: NodeId(5) })]);
    assert_eq!(boards.receive(9_100, FOURTH, &snapshot(9_100, 5, Some(5))), [at(9_100, 0, follows(5))]);
    // Another boot, although the cable was in.
    boards.open(0, FOURTH);
    let reborn = boards.receive(20_000, FOURTH, &hello(0xC0, 5, 10, 2_000));
    let expected = [Event::PowerOff {}, Event::Id { id: NodeId(5) }, Event::PowerOn {}, is(0xC0, 10)];
    assert_eq!(reborn, expected.map(|event| at(18_000, 0, event)));
    let next = boards.receive(25_000, FOURTH, &hello(0xC0, 5, 11, 7_000));
    assert_eq!(next, [at(18_000, 0, is(0xC0, 11))], "another epoch, but no other boot");
    // A USB-powered board is off without its cable.
    assert_eq!(boards.lose(30_000, FOURTH, true), [at(30_000, 0, Event::PowerOff {})]);
    let back = boards.receive(40_000, FOURTH, &hello(0xC0, 5, 11, 22_000));
    assert_eq!(back, [Event::Id { id: NodeId(5) }, Event::PowerOn {}].map(|event| at(40_000, 0, event)), "it was not");
}

#[test]
fn a_board_with_two_sockets_is_watched_at_one() {
    let mut boards = Boards::default();
    boards.receive(0, FIRST, &hello(0xC0, 5, 9, 0));
    assert_eq!(boards.receive(10, SECOND, &hello(0xC0, 5, 9, 10)), []);
    assert!(boards.is_spare(SECOND) && !boards.is_spare(FIRST));
    assert_eq!(boards.receive(20, SECOND, &leader(20, 5)), [], "the other port tells");
    assert_eq!(boards.receive(21, FIRST, &leader(20, 5)), [at(20, 0, follows(5))]);
    boards.lose(30, FIRST, false);
    assert_eq!(boards.receive(40, SECOND, &hello(0xC0, 5, 9, 40)), [at(40, 0, Event::Id { id: NodeId(5) })]);
    assert!(!boards.is_spare(SECOND));
}

#[test]
fn frames_are_traced_like_the_simulators() {
    let mut boards = Boards::default();
    boards.receive(0, FIRST, &hello(0xC0, 5, 9, 0));
    boards.receive(0, SECOND, &hello(0xC1, 100, 9, 0));
    let frame = Bytes::new(&[0x41, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 100, 0, b'h']).unwrap();
    let sent = ToHost::Call { at_us: 10, call: Call::Transmit { at_us: None, bytes: frame.clone() } };
    let psdu = [frame.as_slice(), &[0, 0]].concat();
    assert_eq!(boards.receive(10, SECOND, &sent), [at(10, 1, Event::Frame { psdu })]);
    let received = ToHost::Call { at_us: 20, call: Call::Frame { rssi_dbm: -61, bytes: frame } };
    assert_eq!(
        boards.receive(20, FIRST, &received),
        [at(20, 0, Event::Received { from: NodeNumber(1), rssi_dbm: -61 })]
    );
    let stranger = Bytes::new(&[0x41, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 9, 0, b'h']).unwrap();
    let heard =
        boards.receive(30, FIRST, &ToHost::Call { at_us: 30, call: Call::Frame { rssi_dbm: -80, bytes: stranger } });
    assert_eq!(heard, [at(30, 0, Event::Note { text: "heard node 9, which nobody watches, at -80 dBm".into() })]);
    let unwatched = Bytes::new(&[0x41, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 9, 0, 0x21, 3, 0, 2, 0, b'h']).unwrap();
    let heard =
        boards.receive(40, FIRST, &ToHost::Call { at_us: 40, call: Call::Frame { rssi_dbm: -80, bytes: unwatched } });
    let event = Event::Heard { id: NodeId(9), epoch: 3, number: 0x201, rssi_dbm: -80 };
    assert_eq!(heard, [at(40, 0, event)], "another laptop may have the same frame");
}

#[test]
fn a_board_that_invents_boards_fills_no_memory() {
    let mut boards = Boards::default();
    boards.open(0, FIRST);
    let invented = u64::try_from(BOARDS_MAX).unwrap() + 500;
    for chip in 0..invented {
        boards.receive(chip, FIRST, &hello(chip, 5, 1, 0));
    }
    assert_eq!((boards.all().len(), boards.refused()), (BOARDS_MAX, 500));
    // One that is known already is still welcome.
    boards.receive(invented, FIRST, &hello(7, 9, 1, 0));
    assert_eq!(boards.at(FIRST).map(|board| board.id), Some(NodeId(9)));
}
