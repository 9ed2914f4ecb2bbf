//! The whole program with boards behind pseudo-terminals.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::data::block::{Block, Sample, Taken};
use common::data::log_entry::{Contents, ENTRY_MAX, LogEntry};
use common::data::wire::{Ask, Key as BlockKey};
use common::host_link::{Bytes, Quantity, Question, ToBoard, ToHost};
use common::types::NodeId;
use gateway::spool::Spool;
use host_sim::field::provision::network::pan;

use super::fake_board::{FakeBoard, Script};
use super::support::{folder, until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ringleader-gateway");

fn script(id: u16) -> Script {
    Script { id, epoch: 9, leader: Some(id), stores: true }
}

fn supply(at_us: u64, value: i32) -> ToHost {
    ToHost::Reading { at_us, quantity: Quantity::Supply, value }
}

fn count(database: &Path) -> usize {
    if database.exists() { Spool::open(database).map_or(0, |spool| spool.after(0, 100_000).unwrap().len()) } else { 0 }
}

/// Waits until boards are named, and only then is it known whose readings these are; what it said so far.
fn meet(gateway: &mut Child, names: &[&str]) -> String {
    let stderr = gateway.stderr.as_mut().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !names.iter().all(|name| String::from_utf8_lossy(&said).contains(name)) {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    String::from_utf8(said).unwrap()
}

#[test]
fn what_boards_say_is_in_every_output() {
    let folder = folder("cables");
    let boards = [5, 6].map(|id| FakeBoard::plug_in(&folder.join(format!("port-{id}")), script(id)));
    let mut command = Command::new(PROGRAM);
    command.args(["--port", "port-5", "--port", "port-6", "--db", "a.sqlite", "--csv", "a.csv", "--influx", "-"]);
    command.args(["--metrics", "127.0.0.1:0"]).current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    let said = meet(&mut gateway, &["node 5", "node 6"]);
    for at in 0..20 {
        boards[0].say(&supply(1_000_000 + at, 3_000));
        boards[1].say(&supply(1_000_000 + at, 2_900));
    }
    // Said twice, it is one.
    boards[0].say(&supply(1_000_000, 3_000));
    let database = folder.join("a.sqlite");
    until("all are stored", || count(&database) == 40);
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    assert!(metrics.contains("application/openmetrics-text") && metrics.ends_with("# EOF\n"), "{metrics}");
    assert!(metrics.contains("ringleader_supply_volts{network=\"pan-0007\",node=\"6\"} 2.9\n"), "{metrics}");

    assert!(Command::new("kill").args(["-INT", &gateway.id().to_string()]).status().unwrap().success());
    let output = gateway.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let influx = String::from_utf8(output.stdout).unwrap();
    assert!(
        influx.lines().count() == 40 && influx.lines().all(|line| line.starts_with("ringleader,device=")),
        "{influx}"
    );
    let csv = std::fs::read_to_string(folder.join("a.csv")).unwrap();
    assert!(csv.lines().count() == 41 && csv.contains(",pan-0007,5,"), "{csv}");
    assert!(csv.contains(",9,1000019,supply,2.9,V\n"), "epoch, number, quantity, value and unit: {csv}");
}

/// An entry of a leader's log: a block of one sample of another node.
fn entry(number: u32, epoch: u16, clock_ms: u64) -> Bytes<ENTRY_MAX> {
    let mut block = Block::new();
    let mut sample = Sample::default();
    sample.values[common::quantity::Quantity::Supply.series().unwrap()] = Some(2_800);
    block.push(3, Taken { clock_ms: 70_000, sample }).unwrap();
    let key = BlockKey { origin: NodeId(12), store: 777, number };
    let mut buf = [0; ENTRY_MAX];
    let entry = LogEntry { key, epoch, clock_ms, age: 100, contents: Contents::Block(block.bytes()) };
    let length = entry.write(&mut buf).unwrap();
    Bytes::new(&buf[..length]).unwrap()
}

#[test]
fn what_a_leader_has_gathered_is_taken_over_and_only_then_let_go() {
    let folder = folder("gathered");
    let board = FakeBoard::plug_in(&folder.join("port"), script(5));
    let mut command = Command::new(PROGRAM);
    command.args(["--port", "port", "--db", "a.sqlite"]).current_dir(&folder).stderr(Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    meet(&mut gateway, &["node 5"]);
    board.await_command(&ToBoard::ReadLog { from: 0 });
    // Of a boot before this one, of this one, and there is more.
    board.say(&ToHost::Logged { position: 40, entry: entry(0, 8, 5_000) });
    board.say(&ToHost::Logged { position: 41, entry: entry(1, 9, 1) });
    board.say(&ToHost::LogTold { next: 42, end: 43 });
    board.await_command(&ToBoard::ReadLog { from: 42 });
    board.await_command(&ToBoard::ReleaseLog { before: 42 });
    board.say(&ToHost::Logged { position: 42, entry: entry(2, 9, 2) });
    board.say(&ToHost::LogTold { next: 43, end: 43 });
    board.await_command(&ToBoard::ReleaseLog { before: 43 });
    // As it writes them, one of them lost on the way.
    board.say(&ToHost::Logged { position: 44, entry: entry(4, 9, 4) });
    board.await_command(&ToBoard::ReadLog { from: 43 });
    board.say(&ToHost::Logged { position: 43, entry: entry(3, 9, 3) });
    board.say(&ToHost::Logged { position: 44, entry: entry(4, 9, 4) });
    board.say(&ToHost::LogTold { next: 45, end: 45 });
    board.await_command(&ToBoard::ReleaseLog { before: 45 });
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let rows = Spool::open(&folder.join("a.sqlite")).unwrap().after(0, 100).unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row.reading.key.seq / 256, row.reading.is_known)).collect();
    assert_eq!(found, [(0, false), (1, true), (2, true), (4, true), (3, true)]);
    let reading = &rows[1].reading;
    assert_eq!((reading.key.node, reading.key.device, reading.key.epoch), (12, 777, 3));
    assert_eq!((reading.quantity.as_str(), reading.value, reading.unit.as_str()), ("supply", 2.8, "V"));
}

#[test]
fn what_a_leader_elsewhere_gathers_comes_as_copies_and_is_stored_once() {
    let folder = folder("copies");
    let board = FakeBoard::plug_in(&folder.join("port"), Script { leader: Some(9), ..script(5) });
    let mut command = Command::new(PROGRAM);
    command.args(["--port", "port", "--db", "a.sqlite"]).current_dir(&folder).stderr(Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    meet(&mut gateway, &["node 5"]);
    board.await_command(&ToBoard::ReadAll);
    let database = folder.join("a.sqlite");
    board.say(&ToHost::Copied { entry: entry(1, 9, 1) });
    board.say(&ToHost::Copied { entry: entry(1, 9, 2) });
    until("the copy is stored", || count(&database) == 1);
    // It leads now, and has the same in its log, and another.
    board.say(&ToHost::Logged { position: 0, entry: entry(1, 9, 3) });
    board.say(&ToHost::Logged { position: 1, entry: entry(2, 9, 4) });
    board.say(&ToHost::LogTold { next: 2, end: 2 });
    // A copy is nothing that a log may overwrite.
    until("it may let go of its log", || {
        let released = |command: &ToBoard| matches!(command, ToBoard::ReleaseLog { .. });
        let released: Vec<_> = board.commands().into_iter().filter(released).collect();
        assert!(released.iter().all(|command| *command == ToBoard::ReleaseLog { before: 2 }), "{released:?}");
        !released.is_empty()
    });
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let rows = Spool::open(&database).unwrap().after(0, 100).unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row.reading.key.node, row.reading.key.seq / 256)).collect();
    assert_eq!(found, [(12, 1), (12, 2)]);
    assert!(rows.iter().all(|row| row.reading.is_known), "the board's own clock tells when: {rows:?}");
}

/// What a board is asked for of another's blocks: with which number, from which on, and which.
fn asked_again(board: &FakeBoard) -> (u8, u32, u16) {
    let mut asked = None;
    until("blocks are asked for", || {
        let mut questions = board.commands().into_iter().filter_map(|command| match command {
            ToBoard::Ask(Question { number, turn, known }) => {
                let again = Ask { turn, hops_left: 1, asker: NodeId(5), number, known }.again()?;
                assert_eq!((again.first.origin, again.first.store), (NodeId(12), 777));
                Some((number, again.first.number, again.bits))
            }
            _ => None,
        });
        asked = asked.or_else(|| questions.next());
        asked.is_some()
    });
    asked.unwrap()
}

#[test]
fn what_was_logged_before_is_asked_for_and_not_again_what_is_stored() {
    let folder = folder("catch-up");
    let board = FakeBoard::plug_in(&folder.join("port"), Script { leader: Some(9), ..script(5) });
    let gateway = || {
        let mut command = Command::new(PROGRAM);
        command.args(["--port", "port", "--db", "a.sqlite"]).current_dir(&folder).stderr(Stdio::piped());
        let mut gateway = command.spawn().unwrap();
        meet(&mut gateway, &["node 5"]);
        gateway
    };
    let mut first = gateway();
    board.say(&ToHost::Copied { entry: entry(3, 9, 1) });
    let (number, from, bits) = asked_again(&board);
    assert_eq!((from, bits), (0, 0b111));
    let logged = entry(1, 9, 1);
    let Contents::Block(block) = LogEntry::read(logged.as_slice()).unwrap().contents else { unreachable!() };
    let given = [&[1, 100, 0, 0][..], block].concat();
    // Another node's answer is nothing to go by, and one comes twice.
    for origin in [13, 12, 12] {
        let report = Bytes::new(&given).unwrap();
        board.say(&ToHost::Answer { number, from: NodeId(origin), report });
    }
    let database = folder.join("a.sqlite");
    until("it is stored", || count(&database) == 2);
    first.kill().unwrap();
    first.wait().unwrap();

    let mut second = gateway();
    board.say(&ToHost::Copied { entry: entry(3, 9, 1) });
    // The newest of what is missing, and then the rest.
    let (number, from, bits) = asked_again(&board);
    assert_eq!((from, bits), (2, 1));
    board.say(&ToHost::Answer { number, from: NodeId(12), report: Bytes::new(&[0, 2, 0, 0]).unwrap() });
    until("what its origin no longer has is not asked for any more", || {
        board.say(&ToHost::Copied { entry: entry(4, 9, 1) });
        count(&database) == 3
    });
    assert!(!board.commands().iter().any(|command| matches!(command, ToBoard::Ask(_))));
    second.kill().unwrap();
    second.wait().unwrap();
    let rows = Spool::open(&database).unwrap().after(0, 100).unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row.reading.key.seq / 256, row.reading.is_known)).collect();
    assert_eq!(found, [(3, true), (1, true), (4, true)]);
}

#[test]
fn the_board_on_the_cable_is_made_the_leader() {
    let folder = folder("lead");
    let board = FakeBoard::plug_in(&folder.join("port"), Script { leader: Some(9), ..script(5) });
    let mut command = Command::new(PROGRAM);
    command.args(["--port", "port", "--db", "a.sqlite", "--lead"]).current_dir(&folder).stderr(Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    meet(&mut gateway, &["--lead: node 5 elects itself"]);
    board.await_command(&ToBoard::Elect);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
}

#[test]
fn a_full_disk_ends_it_with_a_reason_and_without_a_commit() {
    let folder = folder("full");
    let board = FakeBoard::plug_in(&folder.join("port"), script(5));
    let mut command = Command::new("sh");
    // The signal would end the program before it could tell.
    command.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" --port port --db a.sqlite", PROGRAM]);
    let mut gateway = command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    meet(&mut gateway, &["node 5"]);
    let database = folder.join("a.sqlite");
    // A few at a time: what nobody reads would stay in the line.
    let mut said = 0;
    while gateway.try_wait().unwrap().is_none() {
        (said..said + 10).for_each(|at| board.say(&supply(at, 3_000)));
        said += 10;
        until("they are stored, or it has ended", || {
            count(&database) as u64 == said || gateway.try_wait().unwrap().is_some()
        });
    }
    let output = gateway.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot store readings in a.sqlite") && said.contains("boards keep theirs"), "{said}");
}

#[test]
fn networks_have_names_where_they_are_told() {
    let folder = folder("named");
    let name = (0..1_000_000).map(|n| format!("garden-{n}")).find(|name| pan(name) == 7).unwrap();
    let board = FakeBoard::plug_in(&folder.join("port"), script(5));
    let mut command = Command::new(PROGRAM);
    command
        .args(["--port", "port", "--db", "a.sqlite", "--network", &name])
        .current_dir(&folder)
        .stderr(Stdio::piped());
    let mut gateway = command.spawn().unwrap();
    meet(&mut gateway, &["node 5"]);
    board.say(&supply(1, 3_000));
    let database = folder.join("a.sqlite");
    until("it is stored", || count(&database) == 1);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert_eq!(Spool::open(&database).unwrap().latest().unwrap()[0].network, name);
}

#[test]
fn bad_input_is_told() {
    let folder = folder("bad");
    for (args, expected) in [
        ("--port p", "--db <FILE>"),
        ("--port p --db a.sqlite --mqtt tcp://x", "must begin with mqtt://"),
        ("--port p --db a.sqlite --home-assistant", "--mqtt <URL>"),
        ("--port p --db a.sqlite --metrics nowhere", "cannot listen at nowhere"),
        ("--port p --db nowhere/a.sqlite", "nowhere/a.sqlite.lock"),
    ] {
        let output = Command::new(PROGRAM).args(args.split(' ')).current_dir(&folder).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{args}: {said}");
    }
}
