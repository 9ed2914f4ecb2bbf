use heapless::Vec;

use super::{
    AGAIN_TURN, AGE_UNKNOWN, ANSWER_MAX, Again, AnswerBytes, Ask, BODY_MAX, Body, Commit, Course, Gap, Key, Known,
    Records, write_commits,
};
use crate::data::block::{Block, Sample, Taken};
use crate::types::NodeId;

const KEY: Key = Key { origin: NodeId(0x0102), store: 0xBEEF, number: 0x0003_0201 };

fn block() -> Block {
    let mut block = Block::new();
    assert!(block.push(3, Taken { clock_ms: 5_000, sample: Sample { values: [Some(5); 8] } }).is_ok());
    block
}

#[test]
fn bodies_come_back() {
    let (mut buf, block) = ([0; BODY_MAX], block());
    let records =
        Records { course: Course::ToLeader, turn: 11, hops_left: 9, key: KEY, age: AGE_UNKNOWN, block: block.bytes() };
    let Ok(length) = records.write(&mut buf) else { panic!("it fits") };
    assert_eq!(Body::read(&buf[..length]), Some(Body::Records(records)));
    assert_eq!(Body::read(&buf[..length - 1]), None, "the block is not whole");
    for course in [Course::FromReader, Course::ToReader] {
        let records = Records { course, ..records };
        assert_eq!(records.write(&mut buf), Ok(length));
        assert_eq!(Body::read(&buf[..length]), Some(Body::Records(records)));
    }
    assert!(KEY.copy().is_copy() && KEY.copy().answers().is_none() && !KEY.is_copy() && KEY.is_upward());
    let gap = Gap { turn: 15, hops_left: 9, key: KEY, end: KEY.number + 1 };
    let Ok(length) = gap.write(&mut buf) else { panic!("it fits") };
    assert_eq!(Body::read(&buf[..length]), Some(Body::Gap(gap)));
    let Ok(length) = Gap { end: KEY.number, ..gap }.write(&mut buf) else { panic!("it fits") };
    assert_eq!(Body::read(&buf[..length]), None, "an empty gap");
}

#[test]
fn questions_and_answers_come_back() {
    let mut buf = [0; BODY_MAX];
    let mut known = Known::default();
    (1..=20).for_each(|id| known.add(NodeId(id), 2));
    assert!((1..=20).all(|id| known.has(NodeId(id), 2)));
    assert!((21..=60).filter(|&id| known.has(NodeId(id), 2)).count() < 16, "few are taken for others");
    let ask = Ask { turn: 2, hops_left: 9, asker: NodeId(0x0102), number: 0xA7, known };
    let Ok(length) = ask.write(&mut buf) else { panic!("it fits") };
    assert_eq!(Body::read(&buf[..length]), Some(Body::Ask(ask)));
    assert_eq!(Body::read(&buf[..length - 1]), None);
    let again = Again { first: KEY, bits: 0x8001 };
    let ask = Ask { turn: AGAIN_TURN, known: again.known(), ..ask };
    let Ok(length) = ask.write(&mut buf) else { panic!("it fits") };
    let Some(Body::Ask(read)) = Body::read(&buf[..length]) else { panic!("it is one") };
    assert_eq!((read, read.again()), (ask, Some(again)));
    buf[0] ^= 1 << 4;
    assert_eq!(Body::read(&buf[..length]), None, "a question for blocks has no other try");
    let contents = &[7; ANSWER_MAX];
    let answer = AnswerBytes { turn: 2, hops_left: 9, asker: NodeId(0x0102), number: 0xA7, from: NodeId(3), contents };
    let Ok(length) = answer.write(&mut buf) else { panic!("it fits") };
    assert_eq!(length, BODY_MAX);
    assert_eq!(Body::read(&buf[..length]), Some(Body::Answer(answer)));
    assert_eq!(Body::read(&buf[..7]), None, "nothing is answered");
    assert_eq!(answer.key().answers(), Some((NodeId(0x0102), 0xA7)));
    assert_eq!(KEY.answers(), None);
}

#[test]
fn commits_come_back_and_say_nothing_twice() {
    let mut buf = [0; BODY_MAX];
    let commits: Vec<Commit, 11, u8> =
        (1..=11).map(|bits| Commit { key: KEY, bits: if bits == 5 { 0 } else { bits | 1 } }).collect();
    let Ok(length) = write_commits(&mut buf, 4, NodeId(8), &commits) else { panic!("it fits") };
    let Some(Body::Commit(read)) = Body::read(&buf[..length]) else { panic!("it is one") };
    assert_eq!((read.hops_left, read.leader), (4, NodeId(8)));
    assert!(read.iter().eq(commits.iter().copied()));
    assert_eq!(Body::read(&buf[..length - 1]), None);
    assert_eq!(Body::read(&buf[..4]), None, "none at all");
    let odd: Vec<Commit, 11, u8> = [Commit { key: KEY, bits: 2 }].into_iter().collect();
    let Ok(length) = write_commits(&mut buf, 4, NodeId(8), &odd) else { panic!("it fits") };
    assert_eq!(Body::read(&buf[..length]), None, "the first bit is the block that it names");
}
