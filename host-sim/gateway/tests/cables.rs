//! The whole program with boards behind pseudo-terminals.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::host_link::{Quantity, ToHost};
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
