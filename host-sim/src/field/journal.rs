//! The journal of a board: read over its cable, and turned into a recording.
//!
//! A board without a cable keeps what it would have told in a ring in its flash (`common::board::journal`). It counts time from
//! each of its boots, and nobody knows how long it was off between them. So the present boot has its true times, and those
//! before it are put one after the other without a pause.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::bail;
use common::board::journal::{Entry, Kept};
use common::host_link::{Hello, ToBoard, ToHost};
use common::node::fleet::Hearing;
use common::notice::Notice;
use common::types::NodeId;
use sim::air::trace::{Event, NodeNumber, Record};

use super::monitor::boards::identity;
use super::monitor::describe;
use super::monitor::line::Endpoint;
use super::talk::{Silence, Talk};
use super::utc::Utc;
use crate::output::counted_as;

/// A board may be busy with its flash.
const ANSWER_WAIT: Duration = Duration::from_secs(15);

/// More items than a journal has. A board that tells more lies, and so does one that answers more often.
const ITEMS_MAX: usize = 10_000;

/// No journal takes so long to tell.
const LONGEST: Duration = Duration::from_mins(5);

/// What a board has kept.
#[derive(Clone, Debug)]
pub struct Journal {
    pub board: Hello,
    /// When the board said hello.
    pub read: Utc,
    /// In order.
    pub items: Vec<Vec<u8>>,
}

/// Reads the whole journal of the board at a port.
pub fn read(endpoint: &Endpoint) -> anyhow::Result<Journal> {
    let mut talk = Talk::open(endpoint)?;
    talk.say(&ToBoard::GetHello)?;
    let board = talk.answer(ANSWER_WAIT, |said| if let ToHost::Hello(hello) = said { Some(hello) } else { None })?;
    let (read, mut items, mut from) = (Utc::now(), BTreeMap::new(), 0);
    let deadline = Instant::now() + LONGEST;
    for _ in 0..ITEMS_MAX {
        talk.say(&ToBoard::ReadJournal { from })?;
        let mut has_lost = false;
        let told = talk.hear(ANSWER_WAIT, |said| {
            match said {
                ToHost::Journal(item) => {
                    let number = Kept::read(item.as_slice()).map(|kept| kept.number);
                    items.extend(number.map(|number| (number, item.as_slice().to_vec())));
                    if items.len() > ITEMS_MAX {
                        return Some(Told::TooMuch);
                    }
                }
                ToHost::JournalTold { next, end } => return Some(Told::UpTo { next, end }),
                ToHost::Lost(_) => has_lost = true,
                _ => {}
            }
            None
        });
        match told {
            Ok(Told::TooMuch) => break,
            _ if Instant::now() >= deadline => break,
            // What the board dropped is asked for again.
            Ok(_) if has_lost => {}
            Ok(Told::UpTo { next, end }) if next >= end || next <= from => {
                return Ok(Journal { board, read, items: items.into_values().collect() });
            }
            Ok(Told::UpTo { next, .. }) => from = next,
            Err(Silence::Other { .. }) => {
                bail!(
                    "the board at {endpoint} does not tell a journal: its image was built without one (docs/flashing.md)"
                )
            }
            Err(silence) => return Err(silence.into()),
        }
    }
    bail!("the board at {endpoint} tells its journal without end")
}

/// How an answer ended.
enum Told {
    /// The board has told its items before `next` of those before `end`.
    UpTo {
        next: u32,
        end: u32,
    },
    TooMuch,
}

/// One boot of a board.
struct Boot<'j> {
    epoch: u16,
    items: Vec<Kept<'j>>,
}

impl Boot<'_> {
    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.items.iter().flat_map(|item| item.entries())
    }

    fn length_us(&self) -> u64 {
        self.entries().map(|entry| at_us(&entry)).max().unwrap_or(0)
    }

    fn lost(&self) -> u32 {
        self.items.iter().map(|item| u32::from(item.lost)).sum()
    }
}

fn at_us(entry: &Entry) -> u64 {
    let (Entry::Notice { at_ms, .. } | Entry::Neighbours { at_ms, .. }) = entry;
    at_ms.saturating_mul(1_000)
}

impl Journal {
    fn boots(&self) -> Vec<Boot<'_>> {
        let mut boots: Vec<Boot<'_>> = Vec::new();
        for kept in self.items.iter().filter_map(|item| Kept::read(item)) {
            match boots.last_mut() {
                Some(boot) if boot.epoch == kept.epoch => boot.items.push(kept),
                _ => boots.push(Boot { epoch: kept.epoch, items: vec![kept] }),
            }
        }
        // Where nothing was written in the present one yet, it has begun all the same.
        match self.board.epoch {
            Some(epoch) if boots.last().is_none_or(|boot| boot.epoch != epoch) => {
                boots.push(Boot { epoch, items: Vec::new() });
            }
            _ => {}
        }
        boots
    }

    /// As a recording of this board alone.
    pub fn records(&self) -> Vec<Record> {
        let boots = self.boots();
        let before_us: u64 = boots.iter().rev().skip(1).map(Boot::length_us).sum();
        let began = self.read.before_us(before_us.saturating_add(self.board.at_us));
        let program = concat!("ringleader ", env!("CARGO_PKG_VERSION")).to_owned();
        let header = Event::Recording { utc: began.to_string(), program };
        let mut records = vec![Record { time_us: 0, node: None, event: header }];
        let mut begin_us = 0;
        for (boot, number) in boots.iter().zip(1..) {
            let mut push = |time_us, event| records.push(Record { time_us, node: Some(NodeNumber(0)), event });
            push(begin_us, Event::Id { id: self.board.id });
            push(begin_us, Event::PowerOn {});
            push(begin_us, identity(&Hello { epoch: Some(boot.epoch), ..self.board.clone() }));
            for entry in boot.entries() {
                let time_us = begin_us + at_us(&entry);
                match entry {
                    Entry::Notice { notice, .. } => push(time_us, event(notice)),
                    Entry::Neighbours { neighbours, .. } => {
                        neighbours.iter().for_each(|&hearing| push(time_us, heard(hearing)));
                    }
                }
            }
            begin_us += boot.length_us();
            if boot.lost() > 0 {
                push(begin_us, note(format!("lost: {}", boot.lost())));
            }
            if number < boots.len() {
                push(begin_us, Event::PowerOff {});
                push(begin_us, note("how long it was off is not known".to_owned()));
            }
        }
        records
    }

    /// What is in it, for a reader.
    pub fn text(&self) -> String {
        let mut text = format!("node {}, {}\n", self.board.id, self.board.board.title());
        for boot in self.boots() {
            let seconds = boot.length_us() / 1_000_000;
            let lost = if boot.lost() > 0 { format!(", {} lost", boot.lost()) } else { String::new() };
            let entries = counted_as(boot.entries().count(), "entry", "entries");
            let _ = writeln!(text, "boot {}: {entries} over {} min {} s{lost}", boot.epoch, seconds / 60, seconds % 60);
        }
        let mut sums: BTreeMap<NodeId, (u64, u64, i8)> = BTreeMap::new();
        for entry in self.boots().iter().flat_map(Boot::entries) {
            let Entry::Neighbours { neighbours, .. } = entry else { continue };
            for Hearing { id, heard, expected, rssi_dbm } in neighbours {
                let sum = sums.entry(id).or_default();
                *sum = (sum.0 + u64::from(heard), sum.1 + u64::from(expected), rssi_dbm);
            }
        }
        for (id, (heard, expected, rssi_dbm)) in sums {
            let percent = heard * 100 / expected.max(1);
            let _ = writeln!(text, "{id:>5}  heard {percent} % of its hellos, last at {rssi_dbm} dBm");
        }
        text
    }
}

fn heard(hearing: Hearing) -> Event {
    let Hearing { id, heard, expected, rssi_dbm } = hearing;
    let dbm = i16::from(rssi_dbm);
    Event::Neighbour { peer: id, heard: heard.into(), expected: expected.into(), mean_dbm: dbm, least_dbm: dbm }
}

fn event(notice: Notice) -> Event {
    match notice {
        Notice::Leader(leader) => Event::Leader { leader },
        Notice::LinkUp(peer) => Event::Link { peer, up: true },
        Notice::LinkDown(peer, _) => Event::Link { peer, up: false },
        Notice::Renamed(id) => Event::Id { id },
        other => note(describe::notice(other)),
    }
}

fn note(text: String) -> Event {
    Event::Note { text }
}

#[cfg(test)]
mod tests {
    use common::host_link::{BuildId, Bytes, FRAME_BYTES_MAX, Hello, ResetReason, ToHost, encode};
    use common::names::{Algorithm, Board};
    use common::types::NodeId;

    use crate::field::talk::tests::chatterbox_of;

    fn said(message: &ToHost) -> Vec<u8> {
        encode(message, &mut [0; FRAME_BYTES_MAX]).unwrap().to_vec()
    }

    #[test]
    fn a_board_that_tells_its_journal_without_end_fills_no_memory() {
        let items = (0..=u32::try_from(super::ITEMS_MAX).unwrap()).map(|number| {
            let [n0, n1, n2, n3] = number.to_le_bytes();
            ToHost::Journal(Bytes::new(&[n0, n1, n2, n3, 1, 0, 0]).unwrap())
        });
        let hello = said(&ToHost::Hello(Hello {
            at_us: 5,
            build: BuildId::default(),
            board: Board::Nrf52840Dk,
            chip: 7,
            id: NodeId(7),
            epoch: Some(1),
            pan: 7,
            channel: 15,
            algorithm: Algorithm::Height,
            demo: false,
            reset: ResetReason::Power,
            crash: None,
        }));
        let endpoint = chatterbox_of(items.fold(hello, |all, item| [all, said(&item)].concat()));
        let error = super::read(&endpoint).unwrap_err();
        assert!(error.to_string().contains("without end"), "{error:#}");
    }
}
