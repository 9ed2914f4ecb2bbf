//! Frozen frames, the example in `docs/wire.md`, and bodies that come back as they were written.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

use common::config::{BROADCAST, Boot, Config, NetworkKey, Protection};
use common::data::block::{Block, BlockBytes, Sample, Taken};
use common::data::wire::{ANSWER_MAX, AnswerBytes, Ask, Body, Commit, Course, Gap, Key, Known, Records, write_commits};
use common::limits::{BUNDLE_MAX, HELLO_NAMES_MAX, NAMED_MAX, PARCEL_MAX};
use common::link::body::{AckEntry, Entry, Hello, Name, Rel};
use common::link::frame::{Answered, HEADER_BYTES, Header, Kind, Status, tag_of};
use common::link::security::Keys;
use common::mac::phy::FRAME_MAX;
use common::node::Node;
use common::node::fleet::{About, Heard, Report};
use common::node::snapshot::{Counters, Snapshot};
use common::time::Instant;
use common::types::NodeId;
use proptest::prelude::*;

const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Changing any of these is another [`common::link::frame::VERSION`].
const GOLDEN: [(&str, &str); 11] = [
    ("hello", "41 88 03 34 12 ff ff 02 01 25 03 00 02 01 ef be 28 47 ce 3b 27 fd e9 60 c2 9f e6 b9 6e a6 9e 35 3b"),
    (
        "rel to all",
        "41 88 04 34 12 ff ff 02 01 26 03 00 02 01 ef be 07 e2 50 ff 43 af f6 23 dd 8f f3 15 25 86 ca 57 2f 2c 39 b1 54 2b 1e cf 9e",
    ),
    (
        "rel to one",
        "41 88 05 34 12 03 02 02 01 26 03 00 02 01 ef be d3 17 80 80 78 67 0b 03 7f a5 e5 35 f2 4f cd 64 da 14",
    ),
    ("ack", "02 00 05 00 2b 92 8e 09"),
    (
        "data, records",
        "41 88 06 34 12 03 02 02 01 27 03 00 02 01 ef be 55 6a 90 a8 5d b4 90 a0 28 8e 3c 97 34 f7 91 b7 75 68 ff 30 80 7c 2f 51 a5 7d 62 b7 a2 0c f7 2a a4 e1 ec",
    ),
    ("data, gap", "41 88 07 34 12 03 02 02 01 27 03 00 02 01 ef be d9 f0 d7 f3 9a 6b 8d d5 a6 2c f6 52 ba d0 0c da"),
    (
        "data, commit",
        "41 88 08 34 12 03 02 02 01 27 03 00 02 01 ef be 87 bb ad a3 dc 0e 77 24 97 fd 55 fd 8c d1 59 bf 84",
    ),
    (
        "hello, AES-CCM",
        "41 88 03 34 12 ff ff 02 01 25 03 00 02 01 ef be ac 75 31 29 ee ff 19 4e e1 42 44 1e e8 8b 16 69 a8",
    ),
    (
        "hello, open",
        "41 88 03 34 12 ff ff 02 01 25 03 00 02 01 ef be 2a 0a 08 03 02 01 04 03 02 5f 00 09 40 f2 f2 20 e4",
    ),
    (
        "data, ask",
        "41 88 09 34 12 03 02 02 01 27 03 00 02 01 ef be f1 aa 38 e3 71 5e d9 dc 0a 55 d5 af f9 f7 7d 49 23 0b ca b4 7d 46 59 3b 47",
    ),
    (
        "data, answer",
        "41 88 0a 34 12 03 02 02 01 27 03 00 02 01 ef be 87 3e c9 2b 61 7f 4d ac 49 62 78 9c 66 25 83 2d 13 1e 4a f3 0e a3 89 b9 9d cf 1b 6f aa 39 99 43 2d 25 b2 08 ed ef 4c 24 7a 02 ac bb 5a c7 b1 f8 75 d8 fb 93 a9 73 16 4e 14",
    ),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn header(kind: Kind, to: NodeId, counter: u32) -> Header {
    Header { pan: 0x1234, to, from: NodeId(0x0102), key_id: 1, kind, epoch: 3, counter, device: 0xBEEF }
}

fn sealed(protection: &Protection, header: Header, body: &[u8]) -> Vec<u8> {
    let mut buf = [0; FRAME_MAX];
    buf[HEADER_BYTES..HEADER_BYTES + body.len()].copy_from_slice(body);
    let length = header.seal(&Keys::new(protection), &mut buf, body.len()).expect("it fits");
    buf[..length].to_vec()
}

fn hello() -> Hello {
    let name = Name { id: NodeId(0x0203), token: 5, willing: true, heard: 7, echo: 0x4009 };
    Hello {
        number: 0x2A,
        interval_log2: 10,
        is_full: false,
        leader: NodeId(0x0203),
        links: 1,
        digest: 0,
        age: 4,
        names: [name].into_iter().collect(),
    }
}

fn rel(messages: &[&[u8]]) -> Rel {
    let entry = Entry { id: NodeId(0x0203), echo: 0x4009, number: 2, ack: 7 };
    Rel {
        answer: false,
        challenge: None,
        entries: [entry].into_iter().collect(),
        acks: [AckEntry { id: NodeId(0x0304), echo: 0x1001, ack: 1 }].into_iter().collect(),
        messages: messages.iter().map(|bytes| bytes.iter().copied().collect()).collect(),
    }
}

fn written(write: impl FnOnce(&mut [u8]) -> Result<usize, common::Full>) -> Vec<u8> {
    let mut buf = [0; FRAME_MAX];
    let length = write(&mut buf).expect("it fits");
    buf[..length].to_vec()
}

const KEY_OF_BLOCK: Key = Key { origin: NodeId(0x0102), store: 0xBEEF, number: 0x0000_0105 };

/// Two samples of die and supply, five seconds apart.
fn records() -> Vec<u8> {
    let mut block = Block::new();
    for (clock_ms, die, supply) in [(60_000, 2_150, 3_001), (65_000, 2_175, 2_998)] {
        let mut sample = Sample::default();
        (sample.values[0], sample.values[1]) = (Some(die), Some(supply));
        block.push(3, Taken { clock_ms, sample }).expect("it fits");
    }
    let records =
        Records { course: Course::ToLeader, turn: 1, hops_left: 24, key: KEY_OF_BLOCK, age: 501, block: block.bytes() };
    written(|buf| records.write(buf))
}

fn gap() -> Vec<u8> {
    written(|buf| Gap { turn: 0, hops_left: 24, key: KEY_OF_BLOCK, end: 0x0000_0125 }.write(buf))
}

fn commit() -> Vec<u8> {
    let commits = [Commit { key: KEY_OF_BLOCK, bits: 0b101 }].into_iter().collect();
    written(|buf| write_commits(buf, 23, NodeId(0x0203), &commits))
}

fn ask() -> Vec<u8> {
    let mut known = Known::default();
    known.add(NodeId(0x0102), 1);
    known.add(NodeId(0x0304), 1);
    written(|buf| Ask { turn: 1, hops_left: 24, asker: NodeId(0x0102), number: 7, known }.write(buf))
}

/// Of a node that follows the asker, a minute after its first boot, with two neighbours.
fn answer() -> Vec<u8> {
    let counters = Counters { sent: 300, accepted: 1_000, links_up: 1, leader_changes: 1, ..Counters::default() };
    let report = Report {
        snapshot: Snapshot {
            id: NodeId(0x0203),
            leader: Some(NodeId(0x0102)),
            next_hop: Some(NodeId(0x0102)),
            epoch: Some(1),
            links_up: 1,
            heard: 2,
            counters,
        },
        uptime_s: 60,
        about: About { supply_mv: 3_001, build: [0xB0, 1, 2, 3, 4, 5, 6, 7] },
        neighbours: [(0x0102, true, -60), (0x0304, false, -91)]
            .map(|(id, is_linked, rssi_dbm)| Heard { id: NodeId(id), is_linked, rssi_dbm })
            .into_iter()
            .collect(),
    };
    let mut contents = [0; ANSWER_MAX];
    let length = report.write(&mut contents);
    let (asker, contents) = (NodeId(0x0102), &contents[..length]);
    let answer = AnswerBytes { turn: 1, hops_left: 24, asker, number: 7, from: NodeId(0x0203), contents };
    written(|buf| answer.write(buf))
}

fn frames() -> [Vec<u8>; 11] {
    let ascon = Protection::Ascon(NetworkKey::new(KEY));
    let ccm = Protection::AesCcm(NetworkKey::new(KEY));
    let body = written(|buf| hello().write(buf));
    let hello_header = header(Kind::Hello, BROADCAST, 0x0001_0203);
    let to_all = written(|buf| rel(&[b"one", b"two"]).write(true, buf));
    let to_one = Rel { answer: true, challenge: Some(0xC0FF_EE42), acks: [].into_iter().collect(), ..rel(&[b"one"]) };
    let to_one = written(|buf| to_one.write(false, buf));
    let asked = sealed(&ascon, header(Kind::Rel, NodeId(0x0203), 0x0001_0205), &to_one);
    let (sender, tag) = (NodeId(0x0102), tag_of(&asked).expect("a tag"));
    let answered = Answered { sender, device: 0xBEEF, epoch: 3, counter: 0x0001_0205, tag };
    [
        sealed(&ascon, hello_header, &body),
        sealed(&ascon, header(Kind::Rel, BROADCAST, 0x0001_0204), &to_all),
        asked,
        answered.acknowledge(&Keys::new(&ascon), NodeId(0x0203), Status::Accepted).to_vec(),
        sealed(&ascon, header(Kind::Data, NodeId(0x0203), 0x0001_0206), &records()),
        sealed(&ascon, header(Kind::Data, NodeId(0x0203), 0x0001_0207), &gap()),
        sealed(&ascon, header(Kind::Data, NodeId(0x0203), 0x0001_0208), &commit()),
        sealed(&ccm, hello_header, &body),
        sealed(&Protection::Open, hello_header, &body),
        sealed(&ascon, header(Kind::Data, NodeId(0x0203), 0x0001_0209), &ask()),
        sealed(&ascon, header(Kind::Data, NodeId(0x0203), 0x0001_020A), &answer()),
    ]
}

#[test]
fn frames_are_frozen() {
    let now: Vec<_> = frames().iter().map(|frame| hex(frame)).collect();
    let golden: Vec<_> = GOLDEN.iter().map(|(_, bytes)| (*bytes).to_owned()).collect();
    assert_eq!(now, golden, "{:#?}", GOLDEN.iter().map(|(name, _)| name).zip(&now).collect::<Vec<_>>());
}

#[test]
fn the_example_of_the_documentation_is_true() {
    let page = include_str!("../../docs/wire.md");
    let (plain, frame) = (written(|buf| hello().write(buf)), &frames()[0]);
    let data = [
        ("a block", records()),
        ("a gap", gap()),
        ("a commit", commit()),
        ("a question", ask()),
        ("an answer", answer()),
    ];
    for (name, bytes) in [("the key", &KEY[..]), ("the body", &plain), ("the frame", frame)]
        .into_iter()
        .chain(data.iter().map(|(name, bytes)| (*name, &bytes[..])))
    {
        assert!(page.contains(&hex(bytes)), "docs/wire.md lacks {name}: {}", hex(bytes));
    }
}

#[test]
fn versions_kinds_and_lengths_that_are_not_known_are_refused_and_counted() {
    let protection = Protection::Ascon(NetworkKey::new(KEY));
    let config = Config { key_id: 1, ..Config::ad_hoc(NodeId(9), 0x1234, protection.clone()) };
    let boot = Boot { epoch: Some(1), seed: 1, device: 9 };
    let counted = |frame: &[u8]| {
        let mut node = Node::new(&config, boot).expect("sound");
        node.handle_start(Instant::ZERO);
        node.handle_frame(Instant::ZERO, &mut frame.to_vec()[..], -60);
        let counters = node.snapshot().counters;
        [counters.accepted, counters.foreign, counters.malformed, counters.forged]
    };
    let good = frames()[0].clone();
    assert_eq!(counted(&good), [1, 0, 0, 0]);
    for version in [0, 1, 3, 6, 10] {
        let mut other = good.clone();
        other[9] = other[9] & 0x0F | version << 4;
        assert_eq!(counted(&other), [0, 1, 0, 0], "version {version}");
    }
    let mut other = good.clone();
    other[9] &= 0xFC;
    assert_eq!(counted(&other), [0, 1, 0, 0], "kind 0");
    other[9] |= 3;
    assert_eq!(counted(&other), [0, 0, 0, 1], "DATA, with the tag of a hello");
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(counted(&longer), [0, 0, 0, 1], "a byte behind the tag moves the tag");
    let mut body = written(|buf| hello().write(buf));
    body.push(0);
    let trailing = sealed(&protection, header(Kind::Hello, BROADCAST, 1), &body);
    assert_eq!(counted(&trailing), [0, 0, 1, 0], "a byte behind the names, under a right tag");
    assert_eq!(counted(&good[..HEADER_BYTES + 3]), [0, 0, 1, 0], "too short for a tag");
    assert_eq!(counted(&[0; FRAME_MAX + 15]), [0, 1, 0, 0]);
}

fn name() -> impl Strategy<Value = Name> {
    (any::<u16>(), 0..0x1000_u16, any::<bool>(), 0..8_u8, any::<u16>())
        .prop_map(|(id, token, willing, heard, echo)| Name { id: NodeId(id), token, willing, heard, echo })
}

fn any_hello() -> impl Strategy<Value = Hello> {
    let names = prop::collection::vec(name(), 0..=HELLO_NAMES_MAX);
    (any::<u8>(), 0..=20_u8, any::<bool>(), any::<u16>(), (any::<(u8, u8)>(), 0..4_u8), names).prop_map(
        |(number, interval_log2, is_full, leader, ((links, age), digest), names)| {
            let (leader, names) = (NodeId(leader), names.into_iter().collect());
            Hello { number, interval_log2, is_full, leader, links, digest, age, names }
        },
    )
}

fn any_rel() -> impl Strategy<Value = Rel> {
    let entry = (any::<u16>(), any::<u16>(), any::<u8>(), any::<u8>()).prop_map(|(id, echo, number, ack)| Entry {
        id: NodeId(id),
        echo,
        number,
        ack,
    });
    let ack =
        (any::<u16>(), any::<u16>(), any::<u8>()).prop_map(|(id, echo, ack)| AckEntry { id: NodeId(id), echo, ack });
    let message = prop::collection::vec(any::<u8>(), 0..=PARCEL_MAX);
    let parts = (
        (any::<bool>(), any::<Option<u32>>()),
        prop::collection::vec(entry, 0..=NAMED_MAX),
        prop::collection::vec(ack, 0..=NAMED_MAX),
        prop::collection::vec(message, 0..=BUNDLE_MAX),
    );
    parts.prop_map(|((answer, challenge), entries, acks, messages)| Rel {
        answer,
        challenge,
        entries: entries.into_iter().collect(),
        acks: acks.into_iter().collect(),
        messages: messages.into_iter().map(|bytes| bytes.into_iter().collect()).collect(),
    })
}

proptest! {
    #[test]
    fn a_hello_comes_back(hello in any_hello()) {
        let mut buf = [0; 128];
        let length = hello.write(&mut buf).expect("it fits");
        prop_assert_eq!(Hello::read(&buf[..length]), Some(hello.clone()));
        prop_assert_eq!(Hello::read(&buf[..=length]), None);
        prop_assert!(hello.write(&mut buf[..length - 1]).is_err());
    }

    #[test]
    fn a_rel_comes_back_and_is_as_long_as_it_says(rel in any_rel()) {
        let mut buf = [0; 512];
        let length = rel.write(true, &mut buf).expect("it fits");
        prop_assert_eq!(length, rel.length(true));
        prop_assert_eq!(Rel::read(&buf[..length], None), Some(rel.clone()));
        prop_assert_eq!(Rel::read(&buf[..=length], None), None);
        let length = rel.write(false, &mut buf).expect("it fits");
        prop_assert_eq!(length, rel.length(false));
        let alone = Rel::read(&buf[..length], Some(NodeId(3)));
        prop_assert_eq!(alone.is_some(), rel.entries.len() + rel.acks.len() == 1, "for one alone it names one");
    }

    #[test]
    fn samples_come_back(samples in prop::collection::vec((0..1_000_000_u64, any::<[Option<i32>; 8]>()), 1..8)) {
        let (mut block, mut clock_ms, mut kept) = (Block::new(), 5_u64, Vec::new());
        for (since, values) in samples {
            clock_ms += since;
            let taken = Taken { clock_ms, sample: Sample { values } };
            if block.push(9, taken).is_ok() {
                kept.push(taken);
            }
        }
        prop_assume!(!kept.is_empty());
        let read = BlockBytes::read(block.bytes()).expect("it is whole");
        prop_assert_eq!(read.samples().collect::<Vec<_>>(), kept);
    }

    #[test]
    fn no_bytes_are_too_strange_to_read(bytes in prop::collection::vec(any::<u8>(), 0..130), to in prop::option::of(any::<u16>())) {
        if let Some(hello) = Hello::read(&bytes) {
            prop_assert_eq!(written(|buf| hello.write(buf)), bytes.clone(), "one way to write it");
        }
        if let Some(rel) = Rel::read(&bytes, to.map(NodeId)) {
            prop_assert_eq!(written(|buf| rel.write(to.is_none(), buf)), bytes.clone(), "one way to write it");
        }
        match Body::read(&bytes) {
            Some(Body::Records(records)) => {
                prop_assert_eq!(written(|buf| records.write(buf)), bytes.clone(), "one way to write it");
                prop_assert!(BlockBytes::read(records.block).is_some_and(|block| block.samples().count() > 0));
            }
            Some(Body::Gap(gap)) => prop_assert_eq!(written(|buf| gap.write(buf)), bytes.clone(), "one way to write it"),
            Some(Body::Commit(commits)) => prop_assert!(commits.iter().count() > 0),
            Some(Body::Ask(ask)) => prop_assert_eq!(written(|buf| ask.write(buf)), bytes.clone(), "one way to write it"),
            Some(Body::Answer(answer)) => {
                prop_assert_eq!(written(|buf| answer.write(buf)), bytes.clone(), "one way to write it");
                // Whatever it holds, reading it ends.
                let _ = Report::read(answer.contents);
            }
            None => {}
        }
        if let Ok(header) = Header::read(&bytes) {
            let keys = Keys::new(&Protection::Open);
            prop_assert!(header.open(&keys, &mut bytes.clone()).map_or(true, |body| body.len() < bytes.len()));
        }
    }
}
