//! The journal of a board is read over its cable and becomes a recording.

use std::process::{Command, Output};

use common::board::journal::{Draft, ENTRIES_MAX, Entry};
use common::host_link::{Bytes, ToBoard, ToHost};
use common::node::fleet::Hearing;
use common::notice::Notice;
use common::types::NodeId;
use sim::air::trace::{Event, Record};

use super::fake_board::FakeBoard;
use super::{folder, script};

/// An item as a board writes it.
fn item(number: u32, epoch: u16, entries: &[Entry]) -> ToHost {
    let mut draft = Draft::new();
    for entry in entries {
        assert!(draft.note(entry.write(&mut [0; ENTRIES_MAX]).unwrap(), true));
    }
    let mut item = draft.take(0, epoch).unwrap();
    item[..4].copy_from_slice(&number.to_le_bytes());
    ToHost::Journal(Bytes::new(&item).unwrap())
}

fn neighbours(at_ms: u64, heard: u8) -> Entry {
    let one = Hearing { id: NodeId(9), heard, expected: 32, rssi_dbm: -71 };
    Entry::Neighbours { at_ms, neighbours: [one].into_iter().collect() }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_a_board_kept_over_boots_is_a_recording() {
    let folder = folder("journal");
    let board = FakeBoard::plug_in(&folder.join("port"), script(5, Some(5)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
    command.args(["journal", "--port", "port", "--record", "node-5.jsonl"]).current_dir(&folder);
    let reader = std::thread::spawn(move || command.output().unwrap());
    board.await_command(&ToBoard::ReadJournal { from: 0 });
    let follows = |at_ms, id| Entry::Notice { at_ms, notice: Notice::Leader(Some(NodeId(id))) };
    // The board of the script is in its boot 1; there was one before, numbered by another count.
    board.say(&item(40, 65_000, &[follows(2_000, 9), neighbours(120_000, 32)]));
    board.say(&ToHost::JournalTold { next: 41, end: 42 });
    board.await_command(&ToBoard::ReadJournal { from: 41 });
    // One was dropped on the way, and is asked for again.
    board.say(&ToHost::Lost(1));
    board.say(&ToHost::JournalTold { next: 42, end: 42 });
    board.await_command(&ToBoard::ReadJournal { from: 41 });
    board.say(&item(41, 1, &[follows(500, 5), neighbours(121_000, 16)]));
    board.say(&ToHost::JournalTold { next: 42, end: 42 });
    let output = reader.join().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for line in [
        "boot 65000: 2 entries over 2 min 0 s\n",
        "boot 1: 2 entries over 2 min 1 s\n",
        "    9  heard 75 % of its hellos, last at -71 dBm\n",
        "node-5.jsonl: ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }

    let recorded = std::fs::read_to_string(folder.join("node-5.jsonl")).unwrap();
    let records: Vec<Record> = recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(matches!(records[0].event, Event::Recording { .. }));
    // The boots follow each other.
    let times = |is_wanted: fn(&Event) -> bool| -> Vec<u64> {
        records.iter().filter(|record| is_wanted(&record.event)).map(|record| record.time_us / 1_000).collect()
    };
    assert_eq!(times(|event| matches!(event, Event::Leader { .. })), [2_000, 120_500]);
    assert_eq!(times(|event| matches!(event, Event::Neighbour { .. })), [120_000, 241_000]);
    assert_eq!(times(|event| matches!(event, Event::PowerOff {})), [120_000]);
    let again = |args: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringleader"));
        command.args(args.split(' ')).current_dir(&folder).output().unwrap()
    };
    let links = said(&again("links node-5.jsonl"));
    assert!(links.contains('9') && links.contains("-71"), "{links}");
    let refused = said(&again("journal --port port --record node-5.jsonl"));
    assert!(refused.contains("already exists; not overwritten"), "{refused}");
}
