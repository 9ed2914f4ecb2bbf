//! The layout of frames as a list, for tools that show frames to people, and for tests of what is written and read.
//!
//! A *unit* is a little-endian number of one to four bytes, and a *field* is some bits of it. Units follow each other; a
//! *group* of them is repeated as often as a field before it says, or until the end. No board needs any of this.

use super::frame::{Kind, VERSION};

/// Some bits of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Unique within its body.
    pub key: &'static str,
    pub title: &'static str,
    /// The bits of the unit that are its own, contiguous.
    pub mask: u32,
    pub shown: Shown,
}

/// How a field's value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Decimal,
    Hex,
    Flag,
    /// Values that have a name; others are shown as numbers.
    Named(&'static [(u32, &'static str)]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    pub bytes: usize,
    pub fields: &'static [Field],
}

/// How often a group is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Once,
    /// As often as this field of the same body says.
    Said(&'static str),
    /// Once where anything is left of the body.
    IfAny,
    /// Until the body ends.
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What one of them is, for people; empty where there is only one.
    pub title: &'static str,
    pub count: Count,
    /// Units in front that are only in frames to everybody.
    pub to_all: &'static [Unit],
    pub units: &'static [Unit],
    /// The field of the group that says how many bytes of contents follow it.
    pub contents: Option<&'static str>,
    /// Only where this field of the same body has one of these values.
    pub when: Option<(&'static str, &'static [u32])>,
}

/// The body of one kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The kind's number in the header.
    pub kind: u8,
    pub name: &'static str,
    pub groups: &'static [Group],
}

const fn field(key: &'static str, title: &'static str, mask: u32, shown: Shown) -> Field {
    Field { key, title, mask, shown }
}

const fn whole(bytes: usize, fields: &'static [Field]) -> Unit {
    Unit { bytes, fields }
}

const fn once(units: &'static [Unit]) -> Group {
    Group { title: "", count: Count::Once, to_all: &[], units, contents: None, when: None }
}

const BYTE: u32 = 0xFF;
const HALF: u32 = 0xFFFF;
const TRIPLE: u32 = 0x00FF_FFFF;
const WORD: u32 = u32::MAX;

const VERSIONS: &[(u32, &str)] = &[(VERSION as u32, "this one")];
const STATUSES: &[(u32, &str)] = &[(0, "accepted"), (1, "not taken, send again"), (2, "no such session")];
const NO_ONE: &[(u32, &str)] = &[(0, "nobody")];
const POSITIONS: &[(u32, &str)] = &[(255, "nobody")];
const HOPS: &[(u32, &str)] = &[(254, "asked for a newer number"), (255, "no route")];
const UNKNOWN: &[(u32, &str)] = &[(255, "longer or unknown")];

/// The part of the header that is not the standard's: byte 9 and what follows it.
pub const HEADER: &[Unit] = &[
    whole(
        1,
        &[
            field("reserved", "Not 6LoWPAN", 0xC0, Shown::Decimal),
            field("version", "Version", 0x30, Shown::Named(VERSIONS)),
            field("key_id", "Key id", 0x0C, Shown::Decimal),
            field("kind", "Kind", 0x03, Shown::Named(KINDS)),
        ],
    ),
    whole(2, &[field("epoch", "Epoch of the sender", HALF, Shown::Decimal)]),
    whole(2, &[field("counter_high", "Frame number, bits 23 to 8", HALF, Shown::Hex)]),
    whole(2, &[field("device", "Piece of the serial number", HALF, Shown::Hex)]),
];

/// An acknowledgement behind its frame control field.
pub const ACK: &[Unit] = &[
    whole(1, &[field("answered", "Frame number of the answered frame, bits 7 to 0", BYTE, Shown::Hex)]),
    whole(1, &[field("status", "Status", BYTE, Shown::Named(STATUSES))]),
    whole(4, &[field("ack_tag", "Tag", WORD, Shown::Hex)]),
];

/// The numbers of the kinds of frames.
pub const KINDS: &[(u32, &str)] =
    &[(Kind::Hello.number() as u32, "HELLO"), (Kind::Rel.number() as u32, "REL"), (Kind::Data.number() as u32, "DATA")];

/// Every kind of body.
pub const BODIES: &[Body] = &[
    Body {
        kind: Kind::Hello.number(),
        name: "HELLO",
        groups: &[once(HELLO), repeated("Neighbour", Count::Said("names"), NAME), RING, RING_ENTRIES],
    },
    Body {
        kind: Kind::Rel.number(),
        name: "REL",
        groups: &[
            once(REL),
            repeated("", Count::Said("challenged"), CHALLENGE),
            to_all("Entry", "entries", ENTRY_ID, ENTRY),
            to_all("Acknowledgement", "acks", ACK_ID, ACK_ENTRY),
            Group {
                title: "Message",
                count: Count::Said("messages"),
                to_all: &[],
                units: &[whole(1, &[field("length", "Length", BYTE, Shown::Decimal)])],
                contents: Some("length"),
                when: None,
            },
        ],
    },
    Body {
        kind: Kind::Data.number(),
        name: "DATA",
        groups: &[
            once(DATA),
            when(&[1, 6, 7], "Block", Count::Once, DATA_BLOCK),
            when(&[1, 6, 7], "Sample bytes", Count::Rest, DATA_SAMPLES),
            when(&[2], "Gap", Count::Once, DATA_GAP),
            when(&[3], "Leader", Count::Once, DATA_LEADER),
            when(&[3], "Commit", Count::Rest, DATA_COMMIT),
            when(&[4], "Question", Count::Once, DATA_ASK),
            when(&[8], "Blocks", Count::Once, DATA_ASK_AGAIN),
            when(&[5], "Answer", Count::Once, DATA_ANSWER),
            when(&[5], "Answer's bytes", Count::Rest, DATA_ANSWER_BYTES),
        ],
    },
];

const DATA_TYPES: &[(u32, &str)] = &[
    (1, "RECORDS"),
    (2, "GAP"),
    (3, "COMMIT"),
    (4, "ASK"),
    (5, "ANSWER"),
    (6, "RECORDS of a reader"),
    (7, "COPY"),
    (8, "ASK for blocks"),
];
const AGES: &[(u32, &str)] = &[(0x00FF_FFFF, "unknown")];

const DATA: &[Unit] = &[
    whole(
        1,
        &[
            field("data_try", "Try of the origin", 0xF0, Shown::Decimal),
            field("data_type", "Type", 0x0F, Shown::Named(DATA_TYPES)),
        ],
    ),
    whole(1, &[field("data_hops_left", "Hops left", BYTE, Shown::Decimal)]),
];

const DATA_BLOCK: &[Unit] = &[
    whole(2, &[field("origin", "Origin", HALF, Shown::Decimal)]),
    whole(2, &[field("store", "Store", HALF, Shown::Hex)]),
    whole(3, &[field("block", "Number of the block", TRIPLE, Shown::Decimal)]),
    whole(3, &[field("block_age", "Age in units of 10 ms", TRIPLE, Shown::Named(AGES))]),
    whole(2, &[field("block_epoch", "Epoch of the samples", HALF, Shown::Decimal)]),
    whole(4, &[field("block_clock", "Clock of the first sample in ms, bits 31 to 0", WORD, Shown::Decimal)]),
    whole(1, &[field("block_clock_high", "Clock of the first sample in ms, bits 39 to 32", BYTE, Shown::Decimal)]),
    whole(1, &[field("samples", "Samples", BYTE, Shown::Decimal)]),
];

const DATA_SAMPLES: &[Unit] = &[whole(1, &[field("sample_byte", "Byte", BYTE, Shown::Hex)])];

const DATA_GAP: &[Unit] = &[
    whole(2, &[field("gap_origin", "Origin", HALF, Shown::Decimal)]),
    whole(2, &[field("gap_store", "Store", HALF, Shown::Hex)]),
    whole(3, &[field("gap_first", "First block that is lost", TRIPLE, Shown::Decimal)]),
    whole(3, &[field("gap_end", "First block behind them", TRIPLE, Shown::Decimal)]),
];

const DATA_LEADER: &[Unit] = &[whole(2, &[field("data_leader", "Leader", HALF, Shown::Decimal)])];

const DATA_COMMIT: &[Unit] = &[
    whole(2, &[field("commit_origin", "Origin", HALF, Shown::Decimal)]),
    whole(2, &[field("commit_store", "Store", HALF, Shown::Hex)]),
    whole(3, &[field("commit_number", "Number of a block, or end of a gap", TRIPLE, Shown::Decimal)]),
    whole(2, &[field("commit_bits", "Logged from that one on; none is a gap", HALF, Shown::Hex)]),
];

const DATA_ASK: &[Unit] = &[
    whole(2, &[field("asker", "Asker", HALF, Shown::Decimal)]),
    whole(1, &[field("question", "Number of the question", BYTE, Shown::Decimal)]),
    whole(4, &[field("known_0", "Known, bits 31 to 0", WORD, Shown::Hex)]),
    whole(4, &[field("known_1", "Known, bits 63 to 32", WORD, Shown::Hex)]),
    whole(4, &[field("known_2", "Known, bits 95 to 64", WORD, Shown::Hex)]),
    whole(4, &[field("known_3", "Known, bits 127 to 96", WORD, Shown::Hex)]),
];

const DATA_ASK_AGAIN: &[Unit] = &[
    whole(2, &[field("again_asker", "Asker", HALF, Shown::Decimal)]),
    whole(1, &[field("again_question", "Number of the question", BYTE, Shown::Decimal)]),
    whole(2, &[field("again_origin", "Origin", HALF, Shown::Decimal)]),
    whole(2, &[field("again_store", "Store", HALF, Shown::Hex)]),
    whole(3, &[field("again_number", "Number of a block", TRIPLE, Shown::Decimal)]),
    whole(2, &[field("again_bits", "Asked for from that one on", HALF, Shown::Hex)]),
    whole(4, &[field("again_zeros", "Zeros", WORD, Shown::Hex)]),
    whole(3, &[field("again_more_zeros", "Zeros", TRIPLE, Shown::Hex)]),
];

const DATA_ANSWER: &[Unit] = &[
    whole(2, &[field("answer_asker", "Asker", HALF, Shown::Decimal)]),
    whole(1, &[field("answer_question", "Number of the question", BYTE, Shown::Decimal)]),
    whole(2, &[field("answer_from", "Who answers", HALF, Shown::Decimal)]),
];

const DATA_ANSWER_BYTES: &[Unit] = &[whole(1, &[field("answer_byte", "Byte", BYTE, Shown::Hex)])];

const HELLO: &[Unit] = &[
    whole(1, &[field("number", "Number of the hello", BYTE, Shown::Decimal)]),
    whole(1, &[field("interval_log2", "Next hello within 1.5 ms times two to the power of", BYTE, Shown::Decimal)]),
    whole(
        1,
        &[
            field("names", "Neighbours named", 0xF8, Shown::Decimal),
            field("digest", "Digest of what its election told", 0x06, Shown::Decimal),
            field("is_full", "There are more than can be named", 0x01, Shown::Flag),
        ],
    ),
    whole(2, &[field("leader", "Leader", HALF, Shown::Named(NO_ONE))]),
    whole(1, &[field("links", "Links", BYTE, Shown::Decimal)]),
    whole(1, &[field("age", "Leader known to be there, 16 ms ago times", BYTE, Shown::Named(UNKNOWN))]),
];

const NAME: &[Unit] = &[
    whole(2, &[field("id", "Id", HALF, Shown::Decimal)]),
    whole(
        2,
        &[
            field("token", "Token of the sender's end", 0xFFF0, Shown::Hex),
            field("willing", "The sender wants the link", 0x0008, Shown::Flag),
            field("heard", "Eighths of its hellos heard", 0x0007, Shown::Decimal),
        ],
    ),
    whole(
        2,
        &[
            field("echo_epoch", "Echo: epoch", 0xF000, Shown::Hex),
            field("echo_token", "Echo: token", 0x0FFF, Shown::Hex),
        ],
    ),
];

const RING: Group = repeated(
    "Ring",
    Count::IfAny,
    &[
        whole(1, &[field("ring_leader", "Position of the ring's leader", BYTE, Shown::Named(POSITIONS))]),
        whole(2, &[field("ring_election", "Number of its election", HALF, Shown::Decimal)]),
    ],
);

const RING_ENTRIES: Group = repeated(
    "Member of the ring",
    Count::Rest,
    &[
        whole(1, &[field("position", "Position", BYTE, Shown::Decimal)]),
        whole(1, &[field("member_epoch", "Epoch, bits 7 to 0", BYTE, Shown::Decimal)]),
        whole(2, &[field("member_count", "Number", HALF, Shown::Decimal)]),
        whole(1, &[field("hops", "Hops", BYTE, Shown::Named(HOPS))]),
    ],
);

const REL: &[Unit] = &[
    whole(
        1,
        &[
            field("answer", "Answer at once", 0x80, Shown::Flag),
            field("messages", "Messages", 0x70, Shown::Decimal),
            field("entries", "Entries", 0x0F, Shown::Decimal),
        ],
    ),
    whole(
        1,
        &[
            field("challenged", "A challenge follows", 0x80, Shown::Flag),
            field("rel_unused", "Unused", 0x70, Shown::Decimal),
            field("acks", "Acknowledgements", 0x0F, Shown::Decimal),
        ],
    ),
];

const CHALLENGE: &[Unit] = &[whole(4, &[field("challenge", "Challenge", WORD, Shown::Hex)])];

const ENTRY_ID: &[Unit] = &[whole(2, &[field("entry_id", "Id", HALF, Shown::Decimal)])];
const ENTRY: &[Unit] = &[
    whole(2, &[field("entry_echo", "Echo", HALF, Shown::Hex)]),
    whole(1, &[field("first", "Number of the first message", BYTE, Shown::Decimal)]),
    whole(1, &[field("expected", "Number expected next", BYTE, Shown::Decimal)]),
];

const ACK_ID: &[Unit] = &[whole(2, &[field("ack_id", "Id", HALF, Shown::Decimal)])];
const ACK_ENTRY: &[Unit] = &[
    whole(2, &[field("ack_echo", "Echo", HALF, Shown::Hex)]),
    whole(1, &[field("ack_expected", "Number expected next", BYTE, Shown::Decimal)]),
];

const fn repeated(title: &'static str, count: Count, units: &'static [Unit]) -> Group {
    Group { title, count, to_all: &[], units, contents: None, when: None }
}

const fn when(kinds: &'static [u32], title: &'static str, count: Count, units: &'static [Unit]) -> Group {
    Group { title, count, to_all: &[], units, contents: None, when: Some(("data_type", kinds)) }
}

const fn to_all(title: &'static str, count: &'static str, ids: &'static [Unit], units: &'static [Unit]) -> Group {
    Group { title, count: Count::Said(count), to_all: ids, units, contents: None, when: None }
}
