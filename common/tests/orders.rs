//! The messages of orders: their very bytes, what is read back, and what hostile ones do.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use common::causal_clock::is_near;
use common::orders::{
    Action, Chunk, Command, Key, Mandate, Message, Orders, Register, Row, Stamp, Standing, Status, Submit, Told,
    Verdict,
};
use common::rng::Rng;
use common::time::{Duration, Instant};
use common::types::NodeId;
use proptest::prelude::*;

const MANDATE: Mandate = Mandate { number: 0x0102_0304, leader: NodeId(0x0A0B), epoch: 0x0C0D };
const KEY: Key = Key { origin: NodeId(0x1112), device: 0x13, epoch: 0x1415, number: 0x16 };

fn told(index: u16, command: Command, age: u8) -> Told {
    Told { index, command, age, key: KEY }
}

fn set(value: u32) -> Command {
    Command::Set { register: Register::SEND, value }
}

fn act(action: Action) -> Command {
    Command::Act { action, target: NodeId(0x2122) }
}

/// Each message as docs/orders.md has it.
#[test]
fn the_bytes_are_those_of_the_document() {
    let mandate = "04030201 0b0a 0d0c";
    let key = "1211 13 1514 16";
    let pairs = [
        (
            Message::Sync { newest: Stamp { mandate: MANDATE, index: 5 }, digest: 0xA1B2_C3D4 },
            format!("01 {mandate} 0500 d4c3b2a1"),
        ),
        (
            Message::Run {
                mandate: MANDATE,
                after: 5,
                upto: 9,
                chunk: [told(7, set(60_000), 0), told(9, act(Action::Restart), 3)].into_iter().collect(),
            },
            format!("02 {mandate} 0500 0900 0700 01 60ea0000 {key} 0900 11 2221 03 00 {key}"),
        ),
        (
            Message::Merge { mandate: MANDATE, chunk: [told(7, act(Action::Elect), 255)].into_iter().collect() },
            format!("03 {mandate} 0700 12 2221 ff 00 {key}"),
        ),
        (
            Message::Submit(Submit { hops: 32, only_asks: true, age: 8, key: KEY, command: act(Action::Identify) }),
            format!("04 20 01 08 {key} 10 2221 00 00"),
        ),
        (
            Message::Result(Verdict {
                hops: 31,
                key: KEY,
                status: Status::Ordered,
                leader: NodeId(0x0A0B),
                index: 7,
                applied: 15,
                known: 16,
            }),
            format!("05 1f {key} 01 0b0a 0700 0f 10"),
        ),
        (
            Message::Report {
                number: 0x0102_0304,
                rows: [Row { id: NodeId(1), index: 7 }, Row { id: NodeId(2), index: 6 }].into_iter().collect(),
            },
            "06 04030201 0100 0700 0200 0600".to_owned(),
        ),
    ];
    for (message, wanted) in pairs {
        let bytes = message.encode().unwrap();
        let written: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written.concat(), wanted.replace(' ', ""), "{message:?}");
        assert_eq!(Message::decode(&bytes), Some(message));
    }
}

#[test]
fn what_no_node_sends_is_refused() {
    let run = |after, upto, indices: &[u16]| {
        let chunk: Chunk = indices.iter().map(|&index| told(index, set(60_000), 0)).collect();
        let bytes = Message::Run { mandate: MANDATE, after, upto, chunk }.encode().unwrap();
        Message::decode(&bytes)
    };
    assert!(run(5, 9, &[6, 9]).is_some());
    assert!(run(5, 9, &[6, 10]).is_none(), "beyond what it says");
    assert!(run(5, 9, &[9, 6]).is_none(), "out of order");
    assert!(run(5, 9, &[5]).is_none(), "not behind what it follows on");
    assert!(run(5, 9, &[]).is_none());
    assert!(Message::decode(&[7, 0, 0]).is_none());
    assert!(Message::decode(&[4, 32, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none(), "a flag that nobody knows");
    assert!(Message::decode(&[4, 32, 0, 0, 1, 0, 0, 0, 0, 0, 19, 0, 0, 0, 0]).is_none(), "a code that nobody knows");
}

/// Half a million messages of neighbours that lie: nothing overflows or panics, and the newest stamp only rises, but where the
/// neighbour on the way to the leader knows of another past.
#[test]
fn hostile_messages_do_no_harm() {
    let mut rng = Rng::stream(17, 2);
    let mut orders = Orders::new(NodeId(1), Some(1), 1);
    let mut now = Instant::from_millis(1_000);
    orders.start(now);
    (2..6).for_each(|id| orders.link_up(now, NodeId(id)));
    let mut newest = orders.newest();
    for turn in 0..500_000_u32 {
        let mut bytes = [0; 39];
        for byte in &mut bytes {
            let wide = if rng.below(2) == 0 { 4 } else { 256 };
            *byte = u8::try_from(rng.below(wide)).unwrap();
        }
        bytes[0] = u8::try_from(1 + rng.below(6)).unwrap();
        let length = [15, 26, 39, 23, 36, 15, 17, 13, 9][rng.below(9) as usize];
        let from = NodeId(u16::try_from(2 + rng.below(5)).unwrap());
        orders.receive(now, from, &bytes[..length]);
        let is_past = is_near(orders.newest().mandate.number, newest.mandate.number);
        assert!(
            is_past || newest.mandate.is_none() || from == NodeId(3),
            "too far away: {newest}, {}",
            orders.newest()
        );
        assert!(!is_past || orders.newest() >= newest, "the newest stamp only rises");
        newest = orders.newest();
        if turn % 7 == 0 {
            let leads = rng.below(2) == 0;
            orders.set_standing(now, Standing { leads, elected_at: 0, next_hop: Some(NodeId(3)), population: 0 });
            now = now + Duration::from_millis(u64::from(rng.below(500)));
            orders.timeout(now);
            for _ in 0..rng.below(40) {
                if orders.poll_transmit(now).is_none() {
                    break;
                }
            }
            while orders.poll_deed(now).is_some() {}
        }
        assert!(orders.newest() >= newest, "the newest stamp only rises");
        newest = orders.newest();
        assert!(
            orders.book().iter().all(|order| order.stamp.mandate <= newest.mandate),
            "nothing later than the newest stamp"
        );
        assert!(orders.book().iter().count() <= common::orders::BOOK_MAX);
    }
}

fn commands() -> impl Strategy<Value = Command> {
    prop_oneof![
        (0_u8..16, any::<u32>())
            .prop_map(|(number, value)| Command::Set { register: Register::new(number).unwrap(), value }),
        (prop::sample::select(&Action::ALL[..]), any::<u16>())
            .prop_map(|(action, target)| Command::Act { action, target: NodeId(target) }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_read_is_written_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..40), kind in 1_u8..7) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        if let Some(message) = Message::decode(&bytes) {
            let written = message.encode().unwrap();
            prop_assert_eq!(written.as_slice(), bytes.as_slice());
        }
    }

    #[test]
    fn submissions_come_back_as_they_were(command in commands(), number: u8, only_asks: bool, age: u8) {
        let submit = Message::Submit(Submit { hops: 3, only_asks, age, key: Key { number, ..KEY }, command });
        prop_assert_eq!(Message::decode(&submit.encode().unwrap()), Some(submit));
    }
}
