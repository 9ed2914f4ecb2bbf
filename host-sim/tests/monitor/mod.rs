//! The monitor, and provisioning over the cable, against boards behind pseudo-terminals.

pub mod fake_board;
mod journal;
mod live;
mod orders;
mod readings;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use self::fake_board::{FakeBoard, PATIENCE, Script, frame};
use common::host_link::{Quantity, ToBoard, ToHost};
use common::notice::Notice;
use common::types::NodeId;
use host_sim::field::monitor::boards::{Known, PortIndex};
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::screen::{Screen, Size, table};
use host_sim::field::monitor::watch::{Options, Watch, What};
use host_sim::field::utc::Utc;
use sim::air::trace::{Event, NodeNumber, Record, parse_line};

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("monitor").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub fn script(id: u16, leader: Option<u16>) -> Script {
    Script { id, epoch: 1, leader, stores: true }
}

/// Steps until something holds; everything that went into the trace meanwhile.
fn until(watch: &mut Watch, what: &str, mut is_so: impl FnMut(&Watch, &What) -> bool) -> Vec<Record> {
    let deadline = Instant::now() + PATIENCE;
    let mut records = Vec::new();
    while Instant::now() < deadline {
        let happened = watch.step(Duration::from_millis(50));
        let mut found = false;
        for happening in happened {
            found |= is_so(watch, &happening.what);
            records.extend(happening.records);
        }
        if found {
            return records;
        }
    }
    panic!("never: {what}\n{}", table(watch.boards()));
}

fn events(records: &[Record], node: usize) -> Vec<&Event> {
    records.iter().filter(|record| record.node == Some(NodeNumber(node))).map(|record| &record.event).collect()
}

#[test]
fn two_boards_are_watched_at_once() {
    let folder = folder("two");
    let ports = [folder.join("a"), folder.join("b")];
    let a = FakeBoard::plug_in(&ports[0], script(5, Some(5)));
    let b = FakeBoard::plug_in(&ports[1], script(6, Some(5)));
    let mut watch = Watch::new(ports.map(Endpoint::Serial), Options { frames: true, ..Options::default() });
    let both = |watch: &Watch| watch.boards().all().iter().filter(|board| board.snapshot.is_some()).count() == 2;
    until(&mut watch, "both have said how they stand", |watch, _| both(watch));
    a.await_command(&ToBoard::Record(true));
    b.await_command(&ToBoard::Record(true));
    b.say(&ToHost::Reading { at_us: 1, quantity: Quantity::DieTemperature, value: 2_350 });
    b.say(&ToHost::Reading { at_us: 1, quantity: Quantity::AirTemperature, value: 2_140 });
    b.say(&ToHost::Reading { at_us: 1, quantity: Quantity::Humidity, value: 4_110 });
    b.say(&ToHost::Reading { at_us: 1, quantity: Quantity::Supply, value: 2_990 });
    until(&mut watch, "the supply is known", |watch, _| {
        watch.boards().all().iter().any(|board| board.readings.contains_key(&Quantity::Supply))
    });
    let table = table(watch.boards());
    assert!(table.lines().any(|line| line.contains("    5      *5      1")), "{table}");
    assert!(
        table.lines().any(|line| line.contains("    6       5      1") && line.contains("23.5 °C  2.99 V")),
        "{table}"
    );
    assert!(table.lines().any(|line| line.ends_with("  air 21.4 °C  humidity 41.1 %")), "{table}");
    assert!(watch.send(PortIndex(0), &ToBoard::Identify));
    a.await_command(&ToBoard::Identify);
}

#[test]
fn the_table_fits_the_terminal_so_that_it_is_overwritten_whole() {
    let folder = folder("narrow");
    let port = |id: u16| folder.join(id.to_string());
    let boards: Vec<_> = (1..=5).map(|id| FakeBoard::plug_in(&port(id), script(id, Some(5)))).collect();
    let mut watch = Watch::new((1..=5).map(|id| Endpoint::Serial(port(id))), Options::default());
    until(&mut watch, "all are known", |watch, _| watch.boards().all().len() == 5);
    for board in &boards {
        for quantity in Quantity::SERIES {
            board.say(&ToHost::Reading { at_us: 1, quantity, value: -123_456 });
        }
    }
    let has_all = |board: &Known| board.readings.len() == Quantity::SERIES.len();
    until(&mut watch, "they have measured everything", |watch, _| watch.boards().all().iter().all(has_all));
    for columns in [40, 80] {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, true, false);
        screen.set_size(Size { columns, ..Size::USUAL });
        screen.show(&[], &watch).unwrap();
        screen.show(&[], &watch).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (first, second) = text.split_once("\x1b[6A\x1b[J").expect("a line of titles and five are overwritten");
        assert_eq!(first, second);
        let widths: Vec<usize> = first.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths[1..], [columns; 5], "{first}");
        assert!(widths[0] <= columns, "{first}");
    }
    // A cursor cannot leave a terminal at its top.
    let mut out = Vec::new();
    let mut screen = Screen::new(&mut out, true, false);
    screen.set_size(Size { columns: 80, lines: 5 });
    screen.show(&[], &watch).unwrap();
    screen.show(&[], &watch).unwrap();
    screen.finish(&watch).unwrap();
    let text = String::from_utf8(out).unwrap();
    let tables: Vec<&str> = text.split("\x1b[4A\x1b[J").collect();
    assert_eq!(tables.iter().map(|table| table.lines().count()).collect::<Vec<_>>(), [4, 4, 6], "{text}");
    assert!(tables[0].contains("and 3 lines that the terminal has no room for"), "{text}");
}

#[test]
fn a_monitor_that_met_no_board_fails_and_leaves_no_file() {
    let folder = folder("nobody");
    let args = ["monitor", "--port", "nowhere", "--for", "0", "--record", "field.jsonl"];
    let output = Command::new(env!("CARGO_BIN_EXE_ringleader")).args(args).current_dir(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("no board has identified itself"), "{output:?}");
    assert!(!folder.join("field.jsonl").exists());
}

#[test]
fn noise_and_cut_frames_are_counted_and_passed_over() {
    let folder = folder("noise");
    let port = folder.join("a");
    let board = FakeBoard::plug_in(&port, script(5, Some(5)));
    let mut watch = Watch::new([Endpoint::Serial(port)], Options::default());
    until(&mut watch, "it is known", |watch, _| watch.boards().at(PortIndex(0)).is_some());
    let said = frame(&ToHost::Notice { at_us: 9, notice: Notice::Leader(Some(NodeId(3))) });
    board.say_bytes(b"boot text of something else\r\n");
    board.say_bytes(&said[3..]);
    until(&mut watch, "damage is reported", |_, what| matches!(what, What::Damaged(1..)));
    // Byte by byte, as a slow line would bring it.
    for byte in &said {
        board.say_bytes(&[*byte]);
    }
    let records = until(&mut watch, "the notice", |watch, _| {
        watch.boards().at(PortIndex(0)).is_some_and(|board| board.leader == Some(NodeId(3)))
    });
    assert!(events(&records, 0).contains(&&Event::Leader { leader: Some(NodeId(3)) }));
}

#[test]
fn a_port_that_vanishes_and_comes_back_is_the_same_board() {
    let folder = folder("plug");
    let port = folder.join("a");
    let mut watch = Watch::new([Endpoint::Serial(port.clone())], Options::default());
    until(&mut watch, "the monitor waits for it", |_, what| matches!(what, What::Waiting(_)));
    let board = FakeBoard::plug_in(&port, script(5, Some(5)));
    let first = until(&mut watch, "it is known", |watch, _| {
        watch.boards().at(PortIndex(0)).is_some_and(|board| board.snapshot.is_some())
    });
    let five = NodeId(5);
    let [Event::Id { id }, Event::PowerOn {}, Event::Board { .. }, Event::Leader { leader }] = events(&first, 0)[..]
    else {
        panic!("{first:?}")
    };
    assert_eq!((*id, *leader), (five, Some(five)));
    drop(board);
    let gone = until(&mut watch, "it is gone", |_, what| matches!(what, What::Gone(_)));
    assert_eq!(events(&gone, 0), [&Event::Unseen {}]);
    // It comes back after a reset: another boot, another leader.
    let _board = FakeBoard::plug_in(&port, Script { epoch: 2, ..script(5, Some(6)) });
    let back = until(&mut watch, "it is back", |watch, _| {
        watch.boards().at(PortIndex(0)).is_some_and(|board| board.leader == Some(NodeId(6)))
    });
    let six = Event::Leader { leader: Some(NodeId(6)) };
    let told: Vec<&Event> =
        events(&back, 0).into_iter().filter(|event| !matches!(event, Event::Board { .. })).collect();
    assert_eq!(told, [&Event::Id { id: five }, &Event::PowerOn {}, &six]);
    assert_eq!(watch.boards().all().len(), 1);
}

#[test]
fn a_board_can_be_behind_a_socket() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let mut watch = Watch::new([Endpoint::Socket(address)], Options::default());
    until(&mut watch, "it is open", |_, what| matches!(what, What::Opened));
    let (mut socket, _) = server.accept().unwrap();
    std::io::Write::write_all(&mut socket, &frame(&ToHost::Pong(4))).unwrap();
    until(&mut watch, "it speaks", |_, what| matches!(what, What::Said(ToHost::Pong(4))));
    drop(socket);
    until(&mut watch, "it is gone", |_, what| matches!(what, What::Gone(_)));
}

/// A child that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_command_records_a_trace_that_survives_being_killed() {
    let folder = folder("record");
    let (port, trace) = (folder.join("a"), folder.join("field.jsonl"));
    let board = FakeBoard::plug_in(&port, script(5, Some(5)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.arg("monitor").arg("--json").arg("--port").arg(&port).arg("--record").arg(&trace);
    let shown = folder.join("shown.jsonl");
    let child = Ended(command.stdout(Stdio::from(File::create(&shown).unwrap())).spawn().unwrap());
    let deadline = Instant::now() + PATIENCE;
    let mut text = String::new();
    let mut is_told = false;
    while !text.contains("\"leader\":9") {
        assert!(Instant::now() < deadline, "{text}");
        text = std::fs::read_to_string(&trace).unwrap_or_default();
        if text.contains("\"leader\":5") && !is_told {
            is_told = true;
            // Later by the board's clock than everything before, and so in the trace too.
            board.say(&ToHost::Notice { at_us: 60_000_000, notice: Notice::Leader(Some(NodeId(9))) });
        }
        std::thread::yield_now();
    }
    drop(child);
    let text = std::fs::read_to_string(&trace).unwrap();
    let records: Vec<Record> = text.lines().zip(1..).map(|(line, number)| parse_line(number, line).unwrap()).collect();
    let Event::Recording { utc, program } = &records[0].event else { panic!("{text}") };
    let age_us = Utc::now().0 - Utc::parse(utc).expect("a time on the wall").0;
    assert!((0..PATIENCE.as_micros().try_into().unwrap()).contains(&age_us) && program.starts_with("ringleader "));
    assert!(records[1..].iter().all(|record| record.node == Some(NodeNumber(0))));
    assert_eq!(records[1].event, Event::Id { id: NodeId(5) });
    let is_it = |record: &Record| matches!(&record.event, Event::Board { chip, .. } if chip == "0000000000c00005");
    assert!(records.iter().any(is_it), "{text}");
    let shown = std::fs::read_to_string(&shown).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    assert!(text.starts_with(&shown) && shown.contains("power_on"), "it shows what it records: {shown}");
    let checked = Command::new(env!("CARGO_BIN_EXE_ringleader")).arg("check").arg(&trace).output().unwrap();
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success() && said.contains("1 node (5)") && said.contains("9 (1)"), "{said}");
    let refused = command.stdout(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("already exists; not overwritten"));
}

fn provision_over(port: &Path) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(["provision", "--id", "3", "--network", "garden", "--unprotected", "--port"]).arg(port);
    command.output().unwrap()
}

#[test]
fn a_board_is_provisioned_over_its_cable() {
    let folder = folder("provision");
    let port = folder.join("a");
    let board = FakeBoard::plug_in(&port, script(5, None));
    let output = provision_over(&port);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("UNPROTECTED") && said.contains("stored; the board restarts with it"), "{said}");
    drop(board);
    let _worn = FakeBoard::plug_in(&port, Script { stores: false, ..script(5, None) });
    let output = provision_over(&port);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot store the configuration"));
}
