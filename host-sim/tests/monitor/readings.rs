//! One board on a cable tells the readings of all nodes.

use common::data::block::{Block, Sample, Taken};
use common::data::log_entry::{Contents, ENTRY_MAX, LogEntry};
use common::data::wire::Key;
use common::host_link::{Bytes, ToBoard, ToHost};
use common::types::NodeId;
use host_sim::field::monitor::line::Endpoint;
use host_sim::field::monitor::screen::table;
use host_sim::field::monitor::watch::{Options, Watch, What};

use super::fake_board::FakeBoard;
use super::{folder, script, until};

fn logged(origin: u16, position: u32) -> ToHost {
    let mut block = Block::new();
    let sample = Sample { values: [Some(2_000 + i32::from(origin)), Some(3_010), None, None, None, None, None, None] };
    block.push(1, Taken { clock_ms: 5_000, sample }).unwrap();
    let key = Key { origin: NodeId(origin), store: 0xBEEF, number: 0 };
    let entry = LogEntry { key, epoch: 1, clock_ms: 9_000, age: 40, contents: Contents::Block(block.bytes()) };
    let mut bytes = [0; ENTRY_MAX];
    let length = entry.write(&mut bytes).unwrap();
    ToHost::Logged { position, entry: Bytes::new(&bytes[..length]).unwrap() }
}

#[test]
fn the_log_of_one_leader_shows_the_readings_of_all_nodes() {
    let port = folder("readings").join("a");
    let board = FakeBoard::plug_in(&port, script(5, Some(5)));
    let mut watch = Watch::new([Endpoint::Serial(port)], Options::default());
    let is_asked = |_: &Watch, what: &What| matches!(what, What::Said(ToHost::Snapshot { .. }));
    // It says who it is first, and is then asked for its log.
    until(&mut watch, "it has said how it stands", is_asked);
    board.await_command(&ToBoard::ReadLog { from: 0 });
    // What was logged before the monitor came, in two answers, and something new.
    for (origin, position) in [(1, 0), (2, 1)] {
        board.say(&logged(origin, position));
    }
    board.say(&ToHost::LogTold { next: 2, end: 3 });
    let is_known = |node| move |watch: &Watch, _: &What| watch.boards().gathered().nodes().contains_key(&NodeId(node));
    until(&mut watch, "the answer has ended", |_, what| matches!(what, What::Said(ToHost::LogTold { .. })));
    assert!(is_known(2)(&watch, &What::Opened), "it came before");
    board.await_command(&ToBoard::ReadLog { from: 2 });
    board.say(&logged(3, 2));
    until(&mut watch, "node 3 is known", is_known(3));
    // It keeps nothing, so nothing may be overwritten for it.
    assert!(board.commands().iter().all(|command| !matches!(command, ToBoard::ReleaseLog { .. })));
    let table = table(watch.boards());
    for node in 1..=3 {
        let line = format!("    {node}  block 0: temperature 20.0 °C, supply 3.01 V");
        assert!(table.contains(&line), "{table}");
    }
}
