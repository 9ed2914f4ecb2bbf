//! All nodes of a network and their state, as they reported it to one board on a cable.

use std::fmt::Write;
use std::time::{Duration, Instant};

use common::host_link::{BuildId, ToBoard, ToHost};
use common::node::snapshot::Counters;
use common::types::NodeId;
use serde::Serialize;
use sim::roster::{AGAIN_US, Answered, PATIENCE_US, Roster};

use crate::field::monitor::line::Endpoint;
use crate::field::talk::{Silence, Talk};

/// What a network reported.
#[derive(Clone, Debug, Serialize)]
pub struct RollCall {
    /// Whether every node that another has a link to has answered.
    pub complete: bool,
    /// How long it took.
    pub took_ms: u64,
    pub nodes: Vec<Member>,
    /// Nodes that others have a link to, and that have not answered.
    pub missing: Vec<u16>,
}

/// The state of one node.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    pub id: u16,
    pub leader: Option<u16>,
    /// The next node on the way to the leader.
    pub next_hop: Option<u16>,
    /// The number of its boot.
    pub epoch: Option<u16>,
    pub uptime_s: u32,
    /// How old this answer was when the list was printed.
    pub age_ms: u64,
    pub supply_mv: Option<u16>,
    /// The first bytes of the build id of its image.
    pub build: Option<String>,
    pub links: u8,
    pub heard: u8,
    pub neighbours: Vec<Neighbour>,
    pub counters: Counters,
}

/// A neighbour as the node hears it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Neighbour {
    pub id: u16,
    pub linked: bool,
    pub rssi_dbm: i8,
}

/// Asks through a board, and waits until all have answered or no further answer can be expected.
pub fn ask(endpoint: &Endpoint) -> anyhow::Result<RollCall> {
    let (mut talk, begin) = (Talk::open(endpoint)?, Instant::now());
    // Another program may ask through the same board.
    let number = u8::try_from(std::process::id() % 256).unwrap_or(0);
    let mut roster = Roster::new(0, number);
    let elapsed = || u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
    while !roster.is_over(elapsed()) {
        if let Some(question) = roster.poll(elapsed()) {
            talk.say(&ToBoard::Ask(question))?;
        }
        // Several answers may arrive at once, so that they are noted as they are heard.
        let heard = talk.hear(Duration::from_micros(AGAIN_US / 10), |said| {
            if let ToHost::Answer { number, from, report } = said {
                roster.note(elapsed(), number, from, report.as_slice());
            }
            roster.is_complete().then_some(())
        });
        match heard {
            Err(silence @ Silence::Gone(_)) => return Err(silence.into()),
            Err(silence) if roster.answered().is_empty() && elapsed() >= PATIENCE_US => return Err(silence.into()),
            _ => {}
        }
    }
    Ok(RollCall::of(&roster, elapsed()))
}

impl RollCall {
    pub fn of(roster: &Roster, now_us: u64) -> Self {
        let took_us = roster.answered().values().map(|answered| answered.after_us).max().unwrap_or(0);
        let took_us = if roster.is_complete() { took_us } else { now_us };
        Self {
            complete: roster.is_complete(),
            took_ms: took_us / 1_000,
            nodes: roster.answered().iter().map(|(&id, answered)| Member::of(id, answered, now_us)).collect(),
            missing: roster.missing().into_iter().map(|id| id.0).collect(),
        }
    }

    /// A table that fits 80 columns.
    pub fn text(&self) -> String {
        let mut text = String::from(" node leader   via  boot    up  supply links  weakest      sent retries build\n");
        for node in &self.nodes {
            let or_dash = |value: Option<u16>| value.map_or("-".to_owned(), |value| value.to_string());
            let linked = node.neighbours.iter().filter(|neighbour| neighbour.linked);
            let weakest = linked.map(|neighbour| neighbour.rssi_dbm).min();
            let weakest = weakest.map_or("-".to_owned(), |dbm| format!("{dbm} dBm"));
            let supply = node.supply_mv.map_or("-".to_owned(), |mv| format!("{}.{:02} V", mv / 1_000, mv % 1_000 / 10));
            let build = node.build.as_ref().and_then(|build| build.get(..8)).unwrap_or("-");
            let leader = if node.leader == Some(node.id) { "itself".to_owned() } else { or_dash(node.leader) };
            let _ = writeln!(
                text,
                "{:>5} {leader:>6} {:>5} {:>5} {:>5} {supply:>7} {:>5} {weakest:>8} {:>9} {:>7} {build}",
                node.id,
                or_dash(node.next_hop),
                or_dash(node.epoch),
                age(node.uptime_s),
                node.links,
                node.counters.sent,
                node.counters.retries,
            );
        }
        let all = if self.complete { "all that have links" } else { "not all" };
        let _ = writeln!(text, "{} of the network's nodes answered ({all}), in {} ms.", self.nodes.len(), self.took_ms);
        if !self.missing.is_empty() {
            let ids: Vec<String> = self.missing.iter().map(u16::to_string).collect();
            let _ = writeln!(text, "Named by others, but without an answer: {}.", ids.join(", "));
        }
        text
    }
}

impl Member {
    fn of(id: NodeId, Answered { after_us, report }: &Answered, now_us: u64) -> Self {
        let (snapshot, about) = (report.snapshot, report.about);
        let plain = |id: Option<NodeId>| id.map(|id| id.0);
        let neighbour = |heard: &common::node::fleet::Heard| Neighbour {
            id: heard.id.0,
            linked: heard.is_linked,
            rssi_dbm: heard.rssi_dbm,
        };
        Self {
            id: id.0,
            leader: plain(snapshot.leader),
            next_hop: plain(snapshot.next_hop),
            epoch: snapshot.epoch,
            uptime_s: report.uptime_s,
            age_ms: now_us.saturating_sub(*after_us) / 1_000,
            supply_mv: Some(about.supply_mv).filter(|&mv| mv != 0),
            build: Some(about.build).filter(|&build| build != [0; 8]).map(|build| BuildId(build).to_string()),
            links: snapshot.links_up,
            heard: snapshot.heard,
            neighbours: report.neighbours.iter().map(neighbour).collect(),
            counters: snapshot.counters,
        }
    }
}

/// A time in at most five characters.
fn age(seconds: u32) -> String {
    match seconds {
        0..600 => format!("{seconds}s"),
        600..36_000 => format!("{}min", seconds / 60),
        36_000..864_000 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use common::data::wire::ANSWER_MAX;
    use common::node::fleet::{About, Heard, Report};
    use common::node::snapshot::{Counters, Snapshot};
    use common::types::NodeId;
    use sim::roster::Roster;

    use super::RollCall;

    fn roster() -> Roster {
        let mut roster = Roster::new(0, 1);
        for id in [1, 40_000] {
            let counters = Counters { sent: 123_456_789, retries: 1_234_567, ..Counters::default() };
            let leader = Some(NodeId(1));
            let snapshot = Snapshot {
                id: NodeId(id),
                leader,
                next_hop: leader,
                epoch: Some(u16::MAX),
                counters,
                ..Snapshot::default()
            };
            let neighbours =
                [7, 9].map(|id| Heard { id: NodeId(id), is_linked: id == 9, rssi_dbm: -101 }).into_iter().collect();
            let report = Report {
                snapshot,
                uptime_s: 31_536_000,
                about: About { supply_mv: 3_300, build: [0xAB; 8] },
                neighbours,
            };
            let mut buf = [0; ANSWER_MAX];
            let length = report.write(&mut buf);
            assert!(roster.note(5_000, 1, NodeId(id), &buf[..length]));
        }
        roster
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let text = RollCall::of(&roster(), 10_000_000).text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("itself") && text.contains("3.30 V") && text.contains("abababab"), "{text}");
        assert!(text.contains("without an answer: 9."), "{text}");
    }

    #[test]
    fn the_list_says_what_is_missing_and_how_old_it_is() {
        let json = serde_json::to_value(RollCall::of(&roster(), 25_000)).unwrap();
        assert_eq!(json["complete"], false);
        assert_eq!(json["missing"], serde_json::json!([9]));
        assert_eq!(json["nodes"][1]["age_ms"], 20);
        assert_eq!(json["nodes"][0]["neighbours"][1], serde_json::json!({"id": 9, "linked": true, "rssi_dbm": -101}));
    }
}
