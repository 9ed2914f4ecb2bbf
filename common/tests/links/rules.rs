//! Rules of the links that only show where something goes wrong, one test each.

use common::config::{BROADCAST, NetworkKey, Protection};
use common::link::body::{Hello, Name};
use common::link::frame::{HEADER_BYTES, Header, Kind};
use common::link::neighbour::Neighbour;
use common::link::security::Keys;
use common::link::{LinkEvent, Links};
use common::mac::phy::FRAME_MAX;
use common::mac::{Sent, TURN_ROUND};
use common::notice::Reason;
use common::time::{Duration, Instant};
use common::types::NodeId;

use crate::net::{Following, Net, NoElection, is_ack, is_hello};

const SECOND: Duration = Duration::from_millis(1_000);

fn linked(boards: u16) -> Net {
    let mut net = Net::new(1, boards);
    net.run(SECOND.times(6), |_| true);
    let count = usize::from(boards);
    assert!((0..count).flat_map(|a| (0..a).map(move |b| (a, b))).all(|(a, b)| net.is_linked(a, b)));
    net.events.iter_mut().for_each(Vec::clear);
    net
}

fn keys() -> Keys {
    Keys::new(&Protection::Ascon(NetworkKey::new([5; 16])))
}

/// What a board knows of another.
fn known(net: &Net, board: usize, other: usize) -> &Neighbour {
    let id = net.links[other].id();
    net.links[board].table().iter().find(|(_, known)| known.id == id).expect("a neighbour").1
}

/// A hello of a board, forged with the key, with a number that the board has not reached.
fn made_hello(net: &Net, from: usize, counter: u32, number: u8, links: u8) -> Vec<u8> {
    hello_with(net, from, counter, &Hello { number, interval_log2: 10, links, age: 255, ..Hello::default() })
}

fn hello_with(net: &Net, from: usize, counter: u32, hello: &Hello) -> Vec<u8> {
    let (from, device) = (net.links[from].id(), net.links[from].id().0);
    let epoch = 1;
    let header = Header { pan: 7, to: BROADCAST, from, key_id: 0, kind: Kind::Hello, epoch, counter, device };
    let mut buf = [0; FRAME_MAX];
    let length = hello.write(&mut buf[HEADER_BYTES..]).expect("it fits");
    let length = header.seal(&keys(), &mut buf, length).expect("it fits");
    buf[..length].to_vec()
}

fn ends(net: &Net, board: usize) -> Vec<Reason> {
    let events = net.events[board].iter();
    events.filter_map(|event| if let LinkEvent::Down(_, reason) = event { Some(*reason) } else { None }).collect()
}

#[test]
fn a_node_that_hears_of_a_lost_neighbour_asks_it_at_once() {
    let mut net = linked(3);
    // The third board falls silent, and the second has heard it last.
    let mut last = None;
    while last.is_none() {
        net.run(Duration::from_millis(5), |frame| {
            if frame.from == 2 && is_hello(frame.bytes) {
                last = Some(frame.bytes.to_vec());
            }
            frame.from != 2
        });
    }
    let now = net.now;
    net.links[1].receive(now, &mut last.expect("it was waited for")[..], -60, &mut NoElection);
    net.settle(1);
    let until = net.now + SECOND.times(6);
    let mut is_doubted = false;
    while net.step(until, &mut |frame| frame.from != 2) && !is_doubted {
        is_doubted = net.links[1].table().is_linked(NodeId(3)) && known(&net, 1, 2).arq.is_doubted;
    }
    assert!(is_doubted, "the second board did not listen to the first");
    assert_eq!(ends(&net, 0), [Reason::Silent]);
}

#[test]
fn nobody_begins_a_frame_while_others_answer() {
    let mut net = linked(3);
    net.send(0, |id| id == NodeId(2), b"for one alone", false);
    let mut asked_at = None;
    while asked_at.is_none() {
        net.step(Instant::NEVER, &mut |frame| {
            if frame.from == 0 && !is_hello(frame.bytes) && !is_ack(frame.bytes) {
                asked_at = Some(());
            }
            true
        });
    }
    assert!(net.links[2].quiet_until() >= net.now + TURN_ROUND, "the third board leaves time for the answer");
}

#[test]
fn a_retry_waits_while_other_members_have_the_channel_but_not_for_ever() {
    let mut net = linked(3);
    // Sent to both at once, so nobody is asked for an answer, and nobody's acknowledgement arrives.
    net.send(0, |_| true, b"for both", false);
    let waits = |net: &Net| known(net, 0, 1).arq.attempts == 1 && known(net, 0, 1).arq.due != Instant::NEVER;
    while !waits(&net) {
        net.step(Instant::NEVER, &mut |frame| frame.from == 0);
    }
    let (now, due) = (net.now, known(&net, 0, 1).arq.due);
    for number in 0..200_u8 {
        let mut frame = made_hello(&net, 2, 100_000 + u32::from(number), number, 1);
        net.links[0].receive(now, &mut frame[..], -60, &mut NoElection);
    }
    let later = known(&net, 0, 1).arq.due;
    assert!(later > due, "frames of others put it off");
    assert!(later <= due + Duration::from_millis(255), "by {} ms", later.since(due).as_micros() / 1_000);
}

#[test]
fn who_is_told_that_there_is_no_such_session_takes_the_link_down() {
    let mut net = linked(2);
    let (now, first) = (net.now, net.links[0].id());
    net.links[1].end(now, first, Reason::Overrun);
    // No hello tells of it.
    net.send(0, |_| true, b"to nobody", false);
    net.run(Duration::from_millis(200), |frame| !is_hello(frame.bytes));
    assert_eq!(ends(&net, 0), [Reason::NoSession]);
}

/// Three hellos without a name, of a board that has this many links.
fn ends_of_unnamed(links: u8) -> Vec<Reason> {
    let mut net = linked(2);
    // The numbers of the hellos go on, as if none were missed.
    let mut last = None;
    while last.is_none() {
        net.run(Duration::from_millis(5), |frame| {
            if frame.from == 1 && is_hello(frame.bytes) {
                last = Some(frame.bytes.to_vec());
            }
            true
        });
    }
    let mut last = last.expect("it was waited for");
    let header = Header::read(&last).expect("a frame");
    let body = header.open(&keys(), &mut last).expect("a hello of a member");
    let number = Hello::read(body).expect("a hello").number;
    let now = net.now;
    for unnamed in 1..=3_u8 {
        assert!(net.links[0].table().is_linked(NodeId(2)), "after {} hellos", unnamed - 1);
        let mut frame = made_hello(&net, 1, 100_000 + u32::from(unnamed), number.wrapping_add(unnamed), links);
        net.links[0].receive(now, &mut frame[..], -60, &mut NoElection);
        net.settle(0);
    }
    ends(&net, 0)
}

#[test]
fn a_neighbour_that_does_not_name_this_node_any_more_has_no_link_to_it() {
    assert_eq!(ends_of_unnamed(0), [Reason::NoSession]);
}

#[test]
fn a_brief_hello_says_nothing_of_the_links_that_it_leaves_out() {
    assert_eq!(ends_of_unnamed(1), []);
}

#[test]
fn a_leader_that_does_not_know_it_yet_is_not_one_that_steps_down() {
    let mut net = linked(2);
    let (now, leader) = (net.now, NodeId(2));
    net.links[0].follow(now, leader, false);
    // It has been elected, and its hellos still tell of the leader before, who has been dead for long.
    for (counter, named, has_left) in
        [(100_001, NodeId(9), false), (100_002, NodeId(0), false), (100_003, leader, true)]
    {
        let hello = Hello { interval_log2: 10, links: 1, age: 255, leader: named, ..Hello::default() };
        let mut frame = hello_with(&net, 1, counter, &hello);
        net.links[0].receive(now, &mut frame[..], -60, &mut Following(leader));
        net.settle(0);
        assert_eq!(net.links[0].left_at().is_some(), has_left, "it names {named:?}");
    }
}

#[test]
fn a_node_without_an_epoch_acknowledges_nothing() {
    let mut net = linked(2);
    net.links[0].skip_numbers(0x00FF_FFFF);
    while net.links[0].epoch().is_some() {
        net.run(Duration::from_millis(10), |_| true);
    }
    assert!(net.links[1].table().is_linked(NodeId(1)));
    net.send(1, |_| true, b"to the mute", false);
    let (mut asked, mut answers) = (0, 0);
    net.run(SECOND, |frame| {
        asked += u32::from(frame.from == 1 && !is_hello(frame.bytes));
        answers += u32::from(frame.from == 0);
        true
    });
    assert!(asked > 0 && answers == 0, "{asked} questions, {answers} answers");
}

#[test]
fn a_hello_that_finds_no_room_on_the_channel_is_none_that_neighbours_have_missed() {
    let mut links = Net::new(1, 1).links.remove(0);
    let (mut buf, mut numbers) = ([0; FRAME_MAX], Vec::new());
    for outcome in [Sent::Done, Sent::ChannelBusy, Sent::ChannelBusy, Sent::Done] {
        let transmit = loop {
            let now = links.poll_timeout().expect("a hello is always to come");
            links.timeout(now);
            if let Some(transmit) = links.poll_transmit(now, &mut buf, &mut NoElection) {
                links.sent(now, outcome);
                break transmit;
            }
        };
        let frame = &mut buf[..transmit.length];
        let body = Header::read(frame).and_then(|header| header.open(&keys(), frame)).expect("its own key");
        numbers.push(Hello::read(body).expect("a hello").number);
    }
    let first = numbers[0];
    assert_eq!(numbers, [first, first + 1, first + 1, first + 1]);
}

/// Its own hello reaches more than those who know that it is there, and nobody's sign of life is younger.
#[test]
fn a_leader_that_hears_that_it_is_missed_says_hello_before_its_next_is_due() {
    let mut net = linked(3);
    let (start, id) = (net.now, net.links[0].id());
    let missed = Name { id, token: 0, willing: true, heard: 0, echo: 1 };
    let names = [missed].into_iter().collect();
    let question = Hello { number: 200, interval_log2: 10, leader: id, links: 2, age: 21, names, ..Hello::default() };
    let mut question = hello_with(&net, 1, 1_000, &question);
    let links = &mut net.links[0];
    links.follow(start, id, false);
    let mut now = start;
    while now.since(start) < SECOND {
        now = next_hello(links, id);
    }
    now = now + Duration::from_millis(30);
    links.receive(now, &mut question[..], -60, &mut Following(id));
    let after = next_hello(links, id).since(now);
    assert!(after <= Duration::from_millis(40), "{after:?}");
}

/// When a leader says its next hello.
fn next_hello(links: &mut Links, leader: NodeId) -> Instant {
    let mut buf = [0; FRAME_MAX];
    loop {
        let now = links.poll_timeout().expect("a leader says hello");
        links.timeout(now);
        let transmit = links.poll_transmit(now, &mut buf, &mut Following(leader));
        if let Some(transmit) = transmit {
            links.sent(now, Sent::Done);
            if is_hello(&buf[..transmit.length]) {
                return now;
            }
        }
    }
}
