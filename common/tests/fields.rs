//! The list of what lies where in a frame agrees with what is written.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops where it fails")]

use std::collections::BTreeSet;

use common::config::BROADCAST;
use common::data::block::{Block, Sample, Taken};
use common::data::wire::{
    AGAIN_TURN, Again, AnswerBytes, Ask, Commit, Course, Gap, Key, Known, Records, write_commits,
};
use common::link::body::{AckEntry, Entry, Hello, Name, Rel};
use common::link::fields::{ACK, BODIES, Body, Count, Group, HEADER, KINDS, Shown, Unit};
use common::link::frame::{HEADER_BYTES, Header, Kind, VERSION};
use common::types::NodeId;

type Values = Vec<(&'static str, u32)>;

/// Reads units by the list.
fn read_units<'b>(units: &[Unit], mut bytes: &'b [u8], values: &mut Values) -> &'b [u8] {
    for unit in units {
        let (now, rest) = bytes.split_at_checked(unit.bytes).expect("the unit is there");
        let number = now.iter().rev().fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
        for field in unit.fields {
            values.push((field.key, (number & field.mask) >> field.mask.trailing_zeros()));
        }
        bytes = rest;
    }
    bytes
}

/// Reads a body by the list; every byte of it.
fn read_body(body: &Body, to_all: bool, mut bytes: &[u8]) -> Values {
    let mut values = Values::new();
    let said = |values: &Values, key| values.iter().rfind(|(other, _)| *other == key).expect("a field").1;
    for group in body.groups {
        let mut left = match group.count {
            Count::Once => 1,
            Count::IfAny => u32::from(!bytes.is_empty()),
            Count::Rest => u32::MAX,
            Count::Said(key) => said(&values, key),
        };
        if group.when.is_some_and(|(key, wanted)| !wanted.contains(&said(&values, key))) {
            left = 0;
        }
        while left > 0 && !(group.count == Count::Rest && bytes.is_empty()) {
            if to_all {
                bytes = read_units(group.to_all, bytes, &mut values);
            }
            bytes = read_units(group.units, bytes, &mut values);
            if let Some(length) = group.contents {
                bytes = &bytes[said(&values, length) as usize..];
            }
            left -= 1;
        }
    }
    assert_eq!(bytes, [], "{}: bytes are left over", body.name);
    values
}

fn body(name: &str) -> &'static Body {
    BODIES.iter().find(|body| body.name == name).expect("a kind")
}

fn written(write: impl FnOnce(&mut [u8]) -> Result<usize, common::Full>) -> Vec<u8> {
    let mut buf = [0; 256];
    let length = write(&mut buf).expect("it fits");
    buf[..length].to_vec()
}

#[test]
fn a_hello_is_read_by_the_list() {
    let names = [
        Name { id: NodeId(0x0203), token: 0xABC, willing: true, heard: 5, echo: 0x4009 },
        Name { id: NodeId(7), token: 1, willing: false, heard: 0, echo: 0 },
    ];
    let hello = Hello {
        number: 42,
        interval_log2: 10,
        is_full: true,
        leader: NodeId(0x0304),
        links: 3,
        digest: 2,
        age: 255,
        names: names.into_iter().collect(),
    };
    let mut bytes = written(|buf| hello.write(buf));
    let mut expected = vec![
        ("number", 42),
        ("interval_log2", 10),
        ("names", 2),
        ("digest", 2),
        ("is_full", 1),
        ("leader", 0x0304),
        ("links", 3),
        ("age", 255),
    ];
    expected.extend([
        ("id", 0x0203),
        ("token", 0xABC),
        ("willing", 1),
        ("heard", 5),
        ("echo_epoch", 4),
        ("echo_token", 9),
    ]);
    expected.extend([("id", 7), ("token", 1), ("willing", 0), ("heard", 0), ("echo_epoch", 0), ("echo_token", 0)]);
    assert_eq!(read_body(body("HELLO"), true, &bytes), expected);
    // What ring mode tells: leader, number of the election, then members.
    bytes.extend([3, 0x0B, 0x0A, 1, 9, 0x10, 0x02, 254]);
    expected.extend([
        ("ring_leader", 3),
        ("ring_election", 0x0A0B),
        ("position", 1),
        ("member_epoch", 9),
        ("member_count", 0x0210),
        ("hops", 254),
    ]);
    assert_eq!(read_body(body("HELLO"), true, &bytes), expected);
}

#[test]
fn a_rel_is_read_by_the_list_whomever_it_is_for() {
    let entry = Entry { id: NodeId(0x0203), echo: 0x4009, number: 2, ack: 7 };
    let rel = Rel {
        answer: true,
        challenge: Some(0xC0FF_EE42),
        entries: [entry].into_iter().collect(),
        acks: [AckEntry { id: NodeId(0x0304), echo: 0x1001, ack: 1 }].into_iter().collect(),
        messages: [b"one".as_slice(), b""].map(|bytes| bytes.iter().copied().collect()).into_iter().collect(),
    };
    let counts = [("answer", 1), ("messages", 2), ("entries", 1), ("challenged", 1), ("rel_unused", 0), ("acks", 1)];
    let header = [&counts[..], &[("challenge", 0xC0FF_EE42)]].concat();
    let entry = [("entry_echo", 0x4009), ("first", 2), ("expected", 7)];
    let ack = [("ack_echo", 0x1001), ("ack_expected", 1)];
    let messages = [("length", 3), ("length", 0)];
    let to_all = [&header[..], &[("entry_id", 0x0203)], &entry, &[("ack_id", 0x0304)], &ack, &messages].concat();
    assert_eq!(read_body(body("REL"), true, &written(|buf| rel.write(true, buf))), to_all);
    let to_one = [&header[..], &entry, &ack, &messages].concat();
    assert_eq!(read_body(body("REL"), false, &written(|buf| rel.write(false, buf))), to_one);
}

#[test]
fn data_is_read_by_the_list_whatever_its_type() {
    let key = Key { origin: NodeId(0x0102), store: 0xBEEF, number: 0x0003_0201 };
    let mut block = Block::new();
    let taken = Taken {
        clock_ms: 0x05_1234_5678,
        sample: Sample { values: [Some(1), None, None, None, None, None, None, None] },
    };
    block.push(7, taken).expect("it fits");
    let records = Records { course: Course::ToLeader, turn: 2, hops_left: 9, key, age: 300, block: block.bytes() };
    let header = |turn, kind, hops| [("data_try", turn), ("data_type", kind), ("data_hops_left", hops)];
    let named = [("origin", 0x0102), ("store", 0xBEEF), ("block", 0x0003_0201), ("block_age", 300)];
    let rest = [("block_epoch", 7), ("block_clock", 0x1234_5678), ("block_clock_high", 5), ("samples", 1)];
    let samples = [("sample_byte", 0), ("sample_byte", 1), ("sample_byte", 2)];
    let expected = [&header(2, 1, 9)[..], &named, &rest, &samples].concat();
    assert_eq!(read_body(body("DATA"), false, &written(|buf| records.write(buf))), expected);
    for (course, kind) in [(Course::FromReader, 6), (Course::ToReader, 7)] {
        let expected = [&header(2, kind, 9)[..], &named, &rest, &samples].concat();
        let records = Records { course, ..records };
        assert_eq!(read_body(body("DATA"), false, &written(|buf| records.write(buf))), expected);
    }
    let gap = Gap { turn: 0, hops_left: 9, key, end: 0x0003_0301 };
    let lost = [("gap_origin", 0x0102), ("gap_store", 0xBEEF), ("gap_first", 0x0003_0201), ("gap_end", 0x0003_0301)];
    assert_eq!(read_body(body("DATA"), false, &written(|buf| gap.write(buf))), [&header(0, 2, 9)[..], &lost].concat());
    let commits = [Commit { key, bits: 5 }].into_iter().collect();
    let bytes = written(|buf| write_commits(buf, 3, NodeId(8), &commits));
    let entry =
        [("commit_origin", 0x0102), ("commit_store", 0xBEEF), ("commit_number", 0x0003_0201), ("commit_bits", 5)];
    assert_eq!(read_body(body("DATA"), false, &bytes), [&header(0, 3, 3)[..], &[("data_leader", 8)], &entry].concat());
    let known = Known([0xA0, 0, 0, 0xA1, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    let ask = Ask { turn: 1, hops_left: 9, asker: NodeId(0x0102), number: 7, known };
    let asked = [("asker", 0x0102), ("question", 7), ("known_0", 0xA100_00A0), ("known_1", 1), ("known_2", 2)];
    let expected = [&header(1, 4, 9)[..], &asked, &[("known_3", 3)]].concat();
    assert_eq!(read_body(body("DATA"), false, &written(|buf| ask.write(buf))), expected);
    let ask = Ask { turn: AGAIN_TURN, known: Again { first: key, bits: 0x8005 }.known(), ..ask };
    let asked = [("again_asker", 0x0102), ("again_question", 7), ("again_origin", 0x0102), ("again_store", 0xBEEF)];
    let blocks = [("again_number", 0x0003_0201), ("again_bits", 0x8005), ("again_zeros", 0), ("again_more_zeros", 0)];
    let expected = [&header(15, 8, 9)[..], &asked, &blocks].concat();
    assert_eq!(read_body(body("DATA"), false, &written(|buf| ask.write(buf))), expected);
    let answer = AnswerBytes { turn: 1, hops_left: 9, asker: NodeId(1), number: 7, from: NodeId(8), contents: &[5] };
    let answered = [("answer_asker", 1), ("answer_question", 7), ("answer_from", 8), ("answer_byte", 5)];
    let expected = [&header(1, 5, 9)[..], &answered].concat();
    assert_eq!(read_body(body("DATA"), false, &written(|buf| answer.write(buf))), expected);
}

#[test]
fn a_header_and_an_acknowledgement_are_read_by_the_list() {
    let header = Header {
        pan: 0x1234,
        to: BROADCAST,
        from: NodeId(7),
        key_id: 2,
        kind: Kind::Rel,
        epoch: 0x0123,
        counter: 0x0045_6789,
        device: 0xBEEF,
    };
    let bytes = header.bytes();
    let mut values = Values::new();
    let own: usize = HEADER.iter().map(|unit| unit.bytes).sum();
    assert_eq!(read_units(HEADER, &bytes[HEADER_BYTES - own..], &mut values), []);
    let version = ("version", u32::from(VERSION));
    let rest = [("key_id", 2), ("kind", 2), ("epoch", 0x0123), ("counter_high", 0x4567), ("device", 0xBEEF)];
    assert_eq!(values, [&[("reserved", 0), version][..], &rest].concat());
    let mut values = Values::new();
    assert_eq!(read_units(ACK, &[5, 2, 0xDE, 0xDA, 0x5C, 0xC9], &mut values), []);
    assert_eq!(values, [("answered", 5), ("status", 2), ("ack_tag", 0xC95C_DADE)]);
}

/// No sniffer may take the first byte of ours for a protocol that it knows.
#[test]
fn the_header_is_neither_6lowpan_nor_zigbee() {
    for key_id in 0..4 {
        for kind in [Kind::Hello, Kind::Rel, Kind::Data] {
            let header =
                Header { pan: 1, to: BROADCAST, from: NodeId(7), key_id, kind, epoch: 1, counter: 1, device: 1 }
                    .bytes();
            let [.., own, _, _, _, _, _, _] = header;
            assert_eq!(own >> 6, 0, "RFC 4944 reserves these for what is not 6LoWPAN");
            assert!(!(1..=3).contains(&(own >> 2 & 15)), "versions of Zigbee's network layer");
        }
    }
}

#[test]
fn every_kind_is_listed_once_and_its_fields_are_sound() {
    let numbers: Vec<u32> = BODIES.iter().map(|body| u32::from(body.kind)).collect();
    assert_eq!(numbers, KINDS.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    let mut keys = BTreeSet::new();
    let groups = BODIES.iter().flat_map(|body| body.groups);
    let units =
        groups.clone().flat_map(|Group { to_all, units, .. }| to_all.iter().chain(*units)).chain(HEADER).chain(ACK);
    for Unit { bytes, fields } in units {
        let all = u32::MAX >> (32 - 8 * bytes);
        assert_eq!(fields.iter().fold(0, |taken, field| taken | field.mask), all, "every bit has a name: {fields:?}");
        assert_eq!(fields.iter().map(|field| field.mask.count_ones()).sum::<u32>(), all.count_ones(), "and only one");
        for field in *fields {
            assert!(keys.insert(field.key), "{} is there twice", field.key);
            assert!(!field.title.is_empty() && (field.shown != Shown::Flag || field.mask.is_power_of_two()));
        }
    }
    for group in groups {
        if let Count::Said(key) = group.count {
            assert!(keys.contains(key), "{key}");
        }
    }
}
