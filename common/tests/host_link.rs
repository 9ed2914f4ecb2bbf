//! Frames between board and PC: every message comes back as it was sent, whatever lies around it, and bytes that are no
//! frames are passed over.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it fails")]

use common::coefficient::Coefficient;
use common::config::page::{self, PAGE_MAX};
use common::config::{Config, Protection};
use common::data::wire::Known;
use common::host_link::{
    BODY_MAX, BuildId, Bytes, Call, ConfigAnswer, Crash, CrashKind, Decoder, FRAME_BYTES_MAX, Hello, Message, Page,
    Quantity, Question, Refusal, ResetReason, Text, ToBoard, ToHost, Warning, encode,
};
use common::names::{Algorithm, Board};
use common::node::fleet::About;
use common::node::snapshot::{Counters, Snapshot};
use common::notice::{Notice, Reason};
use common::orders::{Command, Outcome, Register};
use common::rng::Rng;
use common::types::NodeId;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn frame<M: Message>(message: &M) -> Vec<u8> {
    encode(message, &mut [0; FRAME_BYTES_MAX]).unwrap().to_vec()
}

fn messages<M: Message>(decoder: &mut Decoder<M>, bytes: &[u8]) -> Vec<M> {
    bytes.iter().filter_map(|&byte| decoder.push(byte)).collect()
}

fn setting(value: u32) -> Command {
    Command::Set { register: Register::SAMPLE, value }
}

fn node() -> impl Strategy<Value = NodeId> {
    any::<u16>().prop_map(NodeId)
}

fn crash() -> impl Strategy<Value = Crash> {
    (any::<[u32; 4]>(), any::<u8>(), "\\PC{0,40}").prop_map(|([pc, lr, line, uptime_s], in_a_row, file)| Crash {
        kind: CrashKind::HardFault,
        pc,
        lr,
        file: Text::end_of(&file),
        line,
        uptime_s,
        in_a_row,
    })
}

fn hello() -> impl Strategy<Value = ToHost> {
    let numbers =
        (any::<u64>(), any::<u64>(), any::<[u8; 8]>(), any::<u32>(), any::<u16>(), any::<u8>(), any::<bool>());
    (numbers, node(), any::<Option<u16>>(), proptest::option::of(crash())).prop_map(
        |((at_us, chip, build, reset, pan, channel, demo), id, epoch, crash)| {
            ToHost::Hello(Hello {
                at_us,
                build: BuildId(build),
                board: Board::MicrobitV2,
                chip,
                id,
                epoch,
                pan,
                channel,
                algorithm: Algorithm::Abraham,
                demo,
                reset: ResetReason::Other(reset),
                crash,
            })
        },
    )
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    (node(), any::<Option<u16>>(), any::<[u8; 3]>(), any::<[u32; 4]>()).prop_map(|(id, some, small, counts)| Snapshot {
        id,
        leader: some.map(NodeId),
        next_hop: some.map(NodeId),
        epoch: some,
        links_up: small[0],
        heard: small[1],
        counters: Counters {
            sent: counts[0],
            accepted: counts[1],
            retries: counts[2],
            leader_changes: counts[3],
            pool_high_water: small[2],
            ..Counters::default()
        },
    })
}

fn bytes<const N: usize>() -> impl Strategy<Value = Bytes<N>> {
    proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..=N).prop_map(|bytes| Bytes::new(&bytes).unwrap())
}

fn question() -> impl Strategy<Value = Question> {
    any::<(u8, u8, [u8; 16])>().prop_map(|(number, turn, known)| Question { number, turn, known: Known(known) })
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        any::<(Option<u16>, u64, u16)>().prop_map(|(epoch, seed, device)| Call::Start { epoch, seed, device }),
        (any::<i8>(), bytes()).prop_map(|(rssi_dbm, bytes)| Call::Frame { rssi_dbm, bytes }),
        any::<bool>().prop_map(|busy| Call::Sent { busy }),
        Just(Call::Timeout),
        any::<u8>().prop_map(Call::Rank),
        any::<u32>().prop_map(|value| Call::Submit(setting(value))),
        any::<(u16, [u8; 8])>().prop_map(|(supply_mv, build)| Call::About(About { supply_mv, build })),
        question().prop_map(Call::Ask),
        any::<u16>().prop_map(|unfitness| Call::Fitness(Coefficient(unfitness))),
        (any::<Option<u64>>(), bytes()).prop_map(|(at_us, bytes)| Call::Transmit { at_us, bytes }),
    ]
}

fn to_host() -> impl Strategy<Value = ToHost> {
    prop_oneof![
        hello(),
        (any::<u64>(), node()).prop_map(|(at_us, id)| ToHost::Notice { at_us, notice: Notice::Leader(Some(id)) }),
        (any::<u64>(), node())
            .prop_map(|(at_us, id)| ToHost::Notice { at_us, notice: Notice::LinkDown(id, Reason::Silent) }),
        (any::<u64>(), snapshot()).prop_map(|(at_us, snapshot)| ToHost::Snapshot { at_us, snapshot }),
        (any::<u64>(), any::<i32>(), any::<u8>()).prop_map(|(at_us, value, number)| ToHost::Reading {
            at_us,
            quantity: Quantity::Sensor(number),
            value
        }),
        (any::<u64>(), any::<i32>()).prop_map(|(at_us, value)| ToHost::Reading {
            at_us,
            quantity: Quantity::Humidity,
            value
        }),
        (any::<u64>(), call()).prop_map(|(at_us, call)| ToHost::Call { at_us, call }),
        "[a-z_.]{0,40}"
            .prop_map(|text| { ToHost::Config(ConfigAnswer::Refused(Refusal::Field(Text::start_of(&text)))) }),
        any::<u32>().prop_map(ToHost::Pong),
        any::<u32>().prop_map(ToHost::Lost),
        Just(ToHost::Warning(Warning::DemoNetwork)),
        any::<(u32, u8, u8)>()
            .prop_map(|(ticket, by, of)| ToHost::Submitted { ticket, outcome: Outcome::Applied { by, of } }),
        (any::<u32>(), bytes()).prop_map(|(position, entry)| ToHost::Logged { position, entry }),
        any::<(u32, u32)>().prop_map(|(next, end)| ToHost::LogTold { next, end }),
        bytes().prop_map(ToHost::Journal),
        any::<(u32, u32)>().prop_map(|(next, end)| ToHost::JournalTold { next, end }),
        (any::<u16>(), any::<u32>(), bytes()).prop_map(|(store, number, block)| ToHost::Stored {
            store,
            number,
            block
        }),
        (any::<u8>(), node(), bytes()).prop_map(|(number, from, report)| ToHost::Answer { number, from, report }),
    ]
}

fn to_board() -> impl Strategy<Value = ToBoard> {
    prop_oneof![
        any::<u32>().prop_map(ToBoard::Ping),
        bytes::<PAGE_MAX>().prop_map(|bytes| ToBoard::SetConfig(Page::new(bytes.as_slice()).unwrap())),
        any::<u8>().prop_map(ToBoard::SetRank),
        any::<bool>().prop_map(|record| ToBoard::Reset { record }),
        any::<bool>().prop_map(ToBoard::Record),
        Just(ToBoard::Elect),
        any::<u32>().prop_map(|from| ToBoard::ReadLog { from }),
        any::<u32>().prop_map(|from| ToBoard::ReadJournal { from }),
        any::<u32>().prop_map(|before| ToBoard::ReleaseLog { before }),
        question().prop_map(ToBoard::Ask),
    ]
}

proptest! {
    // One damaged frame in 65536 has a right checksum all the same, so that the cases must be the same every time.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(6), ..ProptestConfig::default() })]

    #[test]
    fn what_a_board_says_arrives(said in proptest::collection::vec(to_host(), 0..8)) {
        let stream: Vec<u8> = said.iter().flat_map(frame).collect();
        let mut decoder = Decoder::<ToHost>::new();
        prop_assert_eq!(messages(&mut decoder, &stream), said);
        prop_assert_eq!(decoder.damaged(), 0);
        prop_assert!(!decoder.is_within_frame());
    }

    #[test]
    fn what_a_host_says_arrives(said in proptest::collection::vec(to_board(), 0..8)) {
        let stream: Vec<u8> = said.iter().flat_map(frame).collect();
        let mut decoder = Decoder::<ToBoard>::new();
        prop_assert_eq!(messages(&mut decoder, &stream), said);
        prop_assert_eq!(decoder.damaged(), 0);
    }

    #[test]
    fn a_frame_has_one_zero_and_fits(said in to_host(), asked in to_board()) {
        for frame in [frame(&said), frame(&asked)] {
            prop_assert!(frame.len() <= FRAME_BYTES_MAX);
            prop_assert_eq!(frame.iter().position(|&byte| byte == 0), Some(frame.len() - 1));
        }
        prop_assert!(encode(&asked, &mut [0; 4]).is_err());
    }

    #[test]
    fn damage_costs_the_frames_it_is_in_and_no_other(
        before in to_host(), hit in to_host(), after in to_host(), at: prop::sample::Index, flip in 1..=255_u8,
    ) {
        let mut damaged = frame(&hit);
        let index = at.index(damaged.len());
        damaged[index] ^= flip;
        // A zero that is damaged joins two frames; one that appears makes two out of one.
        let costs_the_next = index == damaged.len() - 1;
        let stream = [frame(&before), damaged, frame(&after), frame(&after)].concat();
        let mut decoder = Decoder::<ToHost>::new();
        let read = messages(&mut decoder, &stream);
        prop_assert!(decoder.damaged() >= 1);
        prop_assert_eq!(&read[0], &before);
        prop_assert_eq!(read.len(), if costs_the_next { 2 } else { 3 });
        prop_assert!(read[1..].iter().all(|message| *message == after));
    }

    #[test]
    fn a_late_listener_misses_one_frame(first in to_host(), second in to_host(), at: prop::sample::Index) {
        let first = frame(&first);
        let cut = 1 + at.index(first.len() - 1);
        let mut decoder = Decoder::<ToHost>::new();
        let read = messages(&mut decoder, &[&first[cut..], &frame(&second)].concat());
        prop_assert_eq!(read, [second]);
    }
}

/// Ten thousand streams of random bytes, of bytes that look like frames, and of frames with holes. The decoder gives out
/// nothing but what was put in, and a whole frame behind a zero always arrives.
#[test]
fn arbitrary_bytes_do_no_harm() {
    let mut rng = Rng::new(0x11_05_1A_61);
    let sound = ToHost::Pong(7);
    for round in 0..10_000_u32 {
        let mut stream = Vec::new();
        for _ in 0..rng.below(4) {
            match rng.below(3) {
                0 => stream.extend((0..rng.below(700)).map(|_| rng.below(256).to_le_bytes()[0])),
                1 => stream.extend((0..rng.below(2_000)).map(|_| 1 + rng.below(255).to_le_bytes()[0])),
                _ => {
                    let mut torn = frame(&ToHost::Lost(round));
                    // Any but the zero: without that it would only be longer.
                    torn.remove(rng.below(u32::try_from(torn.len() - 1).unwrap()) as usize);
                    stream.extend(torn);
                }
            }
        }
        stream.push(0);
        let mut to_host = Decoder::<ToHost>::new();
        let mut to_board = Decoder::<ToBoard>::new();
        assert_eq!(messages(&mut to_host, &stream), [], "round {round}");
        assert_eq!(messages(&mut to_board, &stream), [], "round {round}");
        assert_eq!(messages(&mut to_host, &frame(&sound)), std::slice::from_ref(&sound), "round {round}");
    }
}

#[test]
fn a_board_does_not_take_its_own_echo_for_a_command() {
    let mut decoder = Decoder::<ToBoard>::new();
    assert_eq!(messages(&mut decoder, &frame(&ToHost::Pong(1))), []);
    assert_eq!(decoder.damaged(), 1);
    assert_eq!(messages(&mut decoder, &frame(&ToBoard::Ping(1))), [ToBoard::Ping(1)]);
}

#[test]
fn frames_without_an_end_do_not_fill_the_memory() {
    let mut decoder = Decoder::<ToHost>::new();
    assert_eq!(messages(&mut decoder, &[0x55; 20 * BODY_MAX]), []);
    assert_eq!(decoder.damaged(), 1, "it is one frame, however long");
    assert!(decoder.is_within_frame());
    assert_eq!(messages(&mut decoder, &[&[0], &frame(&ToHost::Lost(3))[..]].concat()), [ToHost::Lost(3)]);
}

#[test]
fn the_largest_configuration_fits_a_frame() {
    let ids: Vec<NodeId> = (0xFF00..0xFF80).map(NodeId).collect();
    let ring = common::members::RingOrder::new(&ids).unwrap();
    let config = Config::on_ring(ids[0], 0xFFFE, Protection::Open, Algorithm::Hs, ring);
    let mut buf = [0; PAGE_MAX];
    let page = page::encode(&config, &mut buf).unwrap();
    let message = ToBoard::SetConfig(Page::new(page).unwrap());
    assert_eq!(messages(&mut Decoder::<ToBoard>::new(), &frame(&message)), [message]);
}

/// Boards in the field speak version 1: these bytes may only change together with it.
#[test]
fn the_bytes_of_version_1_are_frozen() {
    assert_eq!(frame(&ToBoard::Ping(1)), [0x03, 0x01, 0x3c, 0x04, 0x01, 0xe1, 0xd2, 0x00]);
    let notice = ToHost::Notice { at_us: 1_000_000, notice: Notice::Leader(Some(NodeId(300))) };
    assert_eq!(frame(&notice), [0x07, 0x01, 0x3e, 0x01, 0xc0, 0x84, 0x3d, 0x06, 0x01, 0xac, 0x02, 0xb9, 0x9e, 0x00]);
}
