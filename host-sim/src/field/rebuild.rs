//! A field as a scenario: its measured links as a table, and the times at which boards lost and got power.
//!
//! It reproduces the channel, not the run: try another algorithm, another seed or another fault in the same place.

use std::fmt::Write as _;

use sim::air::trace::{Event, NodeNumber, Record};

use super::check::trace_file::Trace;
use super::links::{Matrix, id};

/// How long a scenario goes on after its last change: agreement may take ten seconds, and must last.
const AFTER_S: u64 = 15;

/// The text of the scenario; `links` is the name of its table.
pub fn scenario(name: &str, trace: &Trace, matrix: &Matrix, links: &str, power_dbm: f64) -> String {
    let second = |record: &Record| record.time_us.div_ceil(1_000_000);
    let is_change = |record: &&Record| matches!(record.event, Event::PowerOff {} | Event::PowerOn {});
    let changed = trace.records.iter().filter(is_change).map(second).max().unwrap_or(0);
    let seconds = trace.records.last().map_or(0, second).max(changed + AFTER_S);
    let mut text = format!(
        "# The links of a recording, and when its boards had power.\nname = {name:?}\nduration = \"{seconds} s\"\n\n\
         [protocol]\nkind = \"height\"\n\n[radio]\nmodel = \"table\"\nlinks = {links:?}\npower = \"{power_dbm} dBm\"\njitter = \"{:.1} dB\"\n",
        matrix.channel.jitter_db
    );
    let number = |node: u16| matrix.nodes.iter().position(|&other| other == node).map_or(0, |at| at + 1);
    // Positions do not matter to a table.
    for (node, number) in matrix.nodes.iter().zip(1..) {
        let _ = write!(text, "\n# Node {node} of the field.\n[[node]]\nid = {number}\nat = [{number}, 0]\n");
    }
    for record in &trace.records {
        let Some(node) = record.node else { continue };
        let kind = match record.event {
            Event::PowerOff {} => "crash",
            // A node that is on from the start needs no fault for that.
            Event::PowerOn {} if record.time_us > 0 && was_off(trace, record.time_us, node) => "restart",
            _ => continue,
        };
        #[expect(clippy::cast_precision_loss, reason = "recordings last far less than 2^52 microseconds")]
        let at = record.time_us as f64 / 1e6;
        let _ =
            write!(text, "\n[[fault]]\nkind = \"{kind}\"\nnodes = [{}]\nat = \"{at:.3} s\"\n", number(id(trace, node)));
    }
    text
}

/// Whether a node had lost its power before.
fn was_off(trace: &Trace, time_us: u64, node: NodeNumber) -> bool {
    let before = trace.records.iter().take_while(|record| record.time_us <= time_us);
    before.filter(|record| record.node == Some(node)).any(|record| matches!(record.event, Event::PowerOff {}))
}
