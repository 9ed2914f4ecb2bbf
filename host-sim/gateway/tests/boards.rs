//! Emulated boards that collect: one cable brings the readings of all, and a gateway that is killed loses none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use common::data::log_entry::LogEntry;
use common::host_link::ToHost;
use emulator::images;
use gateway::spool::Spool;
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::watch::{Options, Watch, What};

use super::rehearsal::{Desk, ringleader};
use super::support::{PATIENCE, folder, until};

const SCENARIO: &str = r#"
name = "desk"
duration = "600 s"
[topology]
kind = "line"
nodes = 3
spacing = "12 m"
[radio]
model = "plain"
[protocol]
kind = "height"
[collect]
"#;

/// Waits until so many readings of each of these nodes have been stored, by what the gateway prints of each.
fn await_readings(lines: &Receiver<String>, nodes: &[u16], wanted: usize) {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    while !nodes.iter().all(|node| counts.get(node).is_some_and(|count| *count >= wanted)) {
        let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("only {counts:?} came of {nodes:?}"));
        let (_, rest) = line.split_once(",node=").unwrap();
        *counts.entry(rest.split([',', ' ']).next().unwrap().parse().unwrap()).or_default() += 1;
    }
}

fn desk(name: &str) -> Desk {
    let folder = folder(name);
    std::fs::write(folder.join("desk.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("image.elf"), images::elf("firmware").expect("the image builds")).unwrap();
    Desk { program: ringleader(), folder }
}

#[test]
fn one_cable_brings_the_readings_of_all_and_a_killed_gateway_loses_none() {
    let desk = desk("one-cable");
    let _boards = desk.start("board desk.toml --elf image.elf --pty=ports --for 600");
    until("the ports are there", || (1..=3).all(|id| desk.folder.join(format!("ports/node-{id}")).exists()));
    let gateway = "gateway --port ports/node-1 --lead --db a.sqlite --influx -";
    let (first, lines) = desk.listen(gateway);
    // Blocks are full sooner, and so sent sooner.
    until("all measure every second", || desk.run("set sample=1s --port ports/node-3").status.success());
    await_readings(&lines, &[1, 2, 3], 20);
    // With SIGKILL, wherever it is.
    drop(first);
    let (_second, lines) = desk.listen(gateway);
    await_readings(&lines, &[2, 3], 60);

    // Of every store that reached the leader over the air, each block up to the newest is there, with all its samples.
    let rows = Spool::open(&desk.folder.join("a.sqlite")).unwrap().after(0, 100_000).unwrap();
    let mut stores: BTreeMap<(u16, u16), BTreeSet<u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.reading.key.node != 1 && row.reading.quantity == "supply") {
        let is_new =
            stores.entry((row.reading.key.node, row.reading.key.device)).or_default().insert(row.reading.key.seq);
        assert!(is_new, "twice: {:?}", row.reading);
    }
    assert_eq!(stores.keys().map(|(node, _)| *node).collect::<Vec<_>>(), [2, 3], "one store each");
    for (store, numbers) in stores {
        let blocks: BTreeSet<u64> = numbers.iter().map(|number| number / 256).collect();
        assert_eq!(blocks, (0..=*blocks.last().unwrap()).collect(), "{store:?}");
        for block in blocks {
            let samples: Vec<u64> = numbers.range(block * 256..(block + 1) * 256).map(|number| number % 256).collect();
            assert_eq!(samples, (0..samples.len() as u64).collect::<Vec<_>>(), "block {block} of {store:?}");
        }
    }
}

#[test]
fn any_cable_brings_the_readings_of_all() {
    let desk = desk("any-cable");
    let _boards = desk.start("board desk.toml --elf image.elf --pty=ports --for 600");
    until("the ports are there", || (1..=3).all(|id| desk.folder.join(format!("ports/node-{id}")).exists()));
    // At one end of the line, where the other end leads.
    until("node 1 leads all three", || {
        let listed = desk.run("fleet --port ports/node-3 --json").stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap_or_default();
        let leaders: Vec<_> = listed["nodes"].as_array().into_iter().flatten().map(|node| &node["leader"]).collect();
        let is_so = leaders.len() == 3 && leaders.iter().all(|leader| **leader == 1);
        if !is_so {
            desk.run("elect --port ports/node-1");
        }
        is_so
    });
    until("all measure every second", || desk.run("set sample=1s --port ports/node-2").status.success());
    // What is logged before the gateway comes.
    let mut watch = Watch::new([Endpoint::Serial(desk.folder.join("ports/node-1"))], Options::default());
    let mut logged = BTreeSet::new();
    until("the leader has logged a block of each", || {
        for happening in watch.step(Duration::from_millis(50)) {
            if let What::Said(ToHost::Logged { entry, .. }) = happening.what {
                logged.extend(LogEntry::read(entry.as_slice()).map(|entry| entry.key.origin.0));
            }
        }
        logged.len() == 3
    });
    drop(watch);
    let (_gateway, lines) = desk.listen("gateway --port ports/node-3 --db a.sqlite --influx -");
    await_readings(&lines, &[1, 2, 3], 20);
    let spool = Spool::open(&desk.folder.join("a.sqlite")).unwrap();
    // Numbers of blocks are small; those of what a board reports about itself are its clock's.
    let blocks = || {
        let mut blocks: BTreeMap<u16, BTreeSet<u64>> = BTreeMap::new();
        for row in spool.after(0, 100_000).unwrap().into_iter().filter(|row| row.reading.key.seq < 100_000) {
            blocks.entry(row.reading.key.node).or_default().insert(row.reading.key.seq / 256);
        }
        blocks
    };
    until("all blocks are there, from the first", || {
        let is_whole = |numbers: &BTreeSet<u64>| numbers.iter().copied().eq(0..numbers.len() as u64);
        let blocks = blocks();
        blocks.len() == 3 && blocks.values().all(is_whole)
    });
    let rows = Spool::open(&desk.folder.join("a.sqlite")).unwrap().after(0, 100_000).unwrap();
    // Of blocks, which are numbered in stores; what a board reports about itself is numbered by its clock.
    let keys: Vec<_> = rows.iter().map(|row| (&row.reading.key, &row.reading.quantity)).collect();
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "twice: {keys:?}");
    assert!(rows.iter().filter(|row| row.reading.key.node != 3).all(|row| row.reading.is_known), "{rows:?}");
}

#[test]
fn boards_of_a_scenario_that_collect_are_in_the_database() {
    let desk = desk("boards-of-a-scenario");
    let (gateway, lines) = desk.listen("gateway --scenario desk.toml --elf image.elf --db a.sqlite --influx -");
    // What each tells of itself; a block of it comes after a minute at most.
    await_readings(&lines, &[1, 2, 3], 1);
    let spool = Spool::open(&desk.folder.join("a.sqlite")).unwrap();
    // A store's first samples have its first numbers; what is told besides is numbered by the board's clock.
    let collecting = || -> BTreeSet<u16> {
        let rows = spool.after(0, 100_000).unwrap();
        rows.iter().map(|row| &row.reading.key).filter(|key| key.seq < 256).map(|key| key.node).collect()
    };
    until("each has stored a block", || {
        await_readings(&lines, &[1], 1);
        collecting().len() == 3
    });
    gateway.interrupt();
}
