//! How far the clocks of laptops were apart, from frames that boards of several of them sent or heard.
//!
//! A frame is in the air for milliseconds, so all who have it have it at the same time. The difference between two laptops is
//! the median over the frames that both have: a board's message that was late moves it little. From the laptop that shares
//! frames with most others the differences lead to all that it can be compared with, each step over the pair that shares most.

use std::collections::BTreeMap;

use common::types::NodeId;
use sim::air::trace::{Event, Record};

use super::check::trace_file::Trace;
use super::monitor::mac;
use super::utc::Utc;

/// So few frames in common may be chance: a board that starts over, or another network's.
const FRAMES_LEAST: usize = 8;

/// What a byte takes on the air, and what is sent before the first.
const BYTE_US: i64 = 32;
const PREAMBLE_BYTES: i64 = 6;

/// What has to be added to the times of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// How much its clock was behind those that it was compared with.
    pub late_us: i64,
    /// How many frames say so.
    pub frames: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FrameName {
    from: NodeId,
    epoch: u16,
    number: u32,
}

/// When each frame was over, by one laptop's clock.
type Frames = BTreeMap<FrameName, i64>;

/// For each recording, what to add to its times; `None` if it shares no frames with others.
pub fn corrections(traces: &[Trace], began: &[Utc]) -> Vec<Option<Correction>> {
    let all: Vec<Frames> = traces.iter().zip(began).map(|(trace, began)| frames(trace, *began)).collect();
    let mut known: Vec<Option<Correction>> = vec![None; all.len()];
    // The recording that shares the most frames is the reference; the choice is arbitrary, but there has to be one.
    let shared = |a: usize| -> usize { (0..all.len()).filter(|&b| b != a).map(|b| compare(&all[a], &all[b]).1).sum() };
    let Some(reference) = (0..all.len()).max_by_key(|&at| (shared(at), std::cmp::Reverse(at))) else { return known };
    known[reference] = Some(Correction { late_us: 0, frames: shared(reference) });
    loop {
        let pairs = (0..all.len()).filter_map(|at| Some((at, known[at]?))).flat_map(|(at, correction)| {
            let others = (0..all.len()).filter(|&other| known[other].is_none());
            others.map(|other| (other, correction, compare(&all[at], &all[other]))).collect::<Vec<_>>()
        });
        let best = pairs.filter(|(.., (_, frames))| *frames >= FRAMES_LEAST).max_by_key(|(.., (_, frames))| *frames);
        let Some((other, Correction { late_us, .. }, (apart_us, frames))) = best else { break };
        known[other] = Some(Correction { late_us: late_us + apart_us, frames });
    }
    if known.iter().flatten().count() < 2 {
        known.fill(None);
    }
    known
}

/// How much earlier the second has the same frames, and how many these are.
fn compare(one: &Frames, other: &Frames) -> (i64, usize) {
    let mut apart: Vec<i64> = one.iter().filter_map(|(name, at)| Some(at - other.get(name)?)).collect();
    apart.sort_unstable();
    (apart.get(apart.len() / 2).copied().unwrap_or(0), apart.len())
}

fn frames(trace: &Trace, began: Utc) -> Frames {
    let mut found = Frames::new();
    for Record { time_us, event, .. } in &trace.records {
        let (name, after_us) = match event {
            Event::Heard { id, epoch, number, .. } => (FrameName { from: *id, epoch: *epoch, number: *number }, 0),
            Event::Frame { psdu } => {
                let Some(header) = mac::header(psdu) else { continue };
                let length = i64::try_from(psdu.len()).unwrap_or(0);
                let mac::Header { from, epoch, number } = header;
                (FrameName { from, epoch, number }, (length + PREAMBLE_BYTES) * BYTE_US)
            }
            _ => continue,
        };
        let at_us = began.0.saturating_add_unsigned(*time_us).saturating_add(after_us);
        // Several boards of one laptop may have heard it; the message that came soonest is the best.
        found.entry(name).and_modify(|known| *known = at_us.min(*known)).or_insert(at_us);
    }
    found
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;
    use sim::air::trace::{Event, NodeNumber, Record};

    use super::{Correction, corrections};
    use crate::field::check::trace_file::{Trace, in_order};
    use crate::field::utc::Utc;

    /// A laptop whose boards heard these frames of one node, one a second, its clock this much late.
    fn laptop(numbers: std::ops::Range<u32>, late_us: u64) -> Trace {
        let heard = |number: u32| {
            // Messages of boards come up to 3 ms late; one in ten by far more.
            let delay = u64::from(number % 7) * 500 + if number % 10 == 3 { 400_000 } else { 0 };
            let time_us = u64::from(number) * 1_000_000 + 10_000_000 + delay - late_us;
            let event = Event::Heard { id: NodeId(9), epoch: 3, number, rssi_dbm: -70 };
            Record { time_us, node: Some(NodeNumber(0)), event }
        };
        in_order(numbers.map(heard).collect())
    }

    #[test]
    fn clocks_that_are_apart_are_seen_by_the_frames_that_both_have() {
        let traces = [laptop(0..100, 0), laptop(50..120, 2_500_000), laptop(110..150, 2_500_000 - 700_000)];
        let found = corrections(&traces, &[Utc(0); 3]);
        let late: Vec<i64> = found.iter().map(|one| one.unwrap().late_us - found[0].unwrap().late_us).collect();
        assert_eq!((late[0], found[1].unwrap().late_us - found[0].unwrap().late_us), (0, 2_500_000));
        assert!((late[2] - 1_800_000).abs() <= 3_000, "over the one between them: {late:?}");
        // By the clock on the wall they were as much apart already.
        let began = [Utc(0), Utc(2_500_000), Utc(1_800_000)];
        let found = corrections(&traces, &began);
        assert!(found.iter().all(|one| one.unwrap().late_us.abs() <= 3_000), "{found:?}");
    }

    #[test]
    fn those_without_frames_in_common_are_left_to_the_clock_on_the_wall() {
        let traces = [laptop(0..100, 0), laptop(97..120, 5_000_000), laptop(0..60, 1_000_000)];
        let found = corrections(&traces, &[Utc(0); 3]);
        assert_eq!((found[1], found[2].map(|one| one.late_us)), (None, Some(1_000_000)), "three frames are chance");
        assert_eq!(found[0], Some(Correction { late_us: 0, frames: 63 }));
        assert_eq!(corrections(&traces[..1], &[Utc(0)]), [None]);
    }
}
