//! Makes a failing stranger small: fewer nodes, fewer blows, shorter, features off one at a time.
//!
//! Every step is tried in the same order and kept if the stranger still fails in the same way, until none is left that does.
//! The result depends on nothing but the stranger.

use std::ops::Range;

use super::bound::World;
use super::finding::{Fate, Row, examine};
use super::stranger::{Blow, Feature, Stranger, Target};
use crate::air::index::NodeIndex;

/// No more runs than this are tried.
pub const TRIES_MAX: usize = 400;

/// Shrinks a stranger with this result, and returns the smallest one with its own result. `progress` hears of each try.
pub fn shrink(stranger: &Stranger, row: &Row, mut progress: impl FnMut(usize)) -> (Stranger, Row) {
    let (mut best, mut best_row) = (stranger.clone(), row.clone());
    let mut tries = 0;
    loop {
        let smaller = candidates(&best).into_iter().find_map(|candidate| {
            if tries == TRIES_MAX {
                return None;
            }
            tries += 1;
            progress(tries);
            let found = still_fails(candidate, row.fate)?;
            Some(found)
        });
        let Some(smaller) = smaller else { return (best, best_row) };
        (best, best_row) = smaller;
    }
}

/// The stranger in its own world, if it fails there in the same way.
fn still_fails(mut stranger: Stranger, fate: Fate) -> Option<(Stranger, Row)> {
    // What must hold follows from the world, and the world may be another one now.
    let mut before = stranger.clone();
    before.events.clear();
    let world = World::of(&before);
    if world.forbids().is_some() {
        return None;
    }
    stranger.bind(&world);
    let row = examine(&stranger, &world);
    (row.fate == fate).then_some((stranger, row))
}

/// Everything that is a little smaller, the boldest first.
fn candidates(stranger: &Stranger) -> Vec<Stranger> {
    let mut found = Vec::new();
    let changed = |change: &dyn Fn(&mut Stranger)| {
        let mut other = stranger.clone();
        change(&mut other);
        (other != *stranger).then_some(other)
    };
    let events = stranger.events.len();
    found.extend(changed(&|other| other.events.truncate(events / 2)));
    found.extend(changed(&|other| drop(other.events.drain(..events / 2))));
    let nodes = stranger.positions.len();
    for gone in [nodes / 2..nodes, 0..nodes / 2, nodes * 3 / 4..nodes, 0..nodes / 4] {
        found.extend(without(stranger, gone));
    }
    found.extend((0..events).filter_map(|at| changed(&|other| drop(other.events.remove(at)))));
    for feature in Feature::ALL {
        found.extend(changed(&|other| switch_off(other, feature)));
    }
    if nodes <= 24 {
        found.extend((0..nodes).filter_map(|node| without(stranger, node..node + 1)));
    }
    found.extend((0..events).filter_map(|at| changed(&|other| shorten(other, at))));
    found.extend(changed(&|other| other.quiet_ms = (other.quiet_ms / 2).max(5_000)));
    found
}

fn switch_off(stranger: &mut Stranger, feature: Feature) {
    match feature {
        Feature::Walls => stranger.walls.clear(),
        Feature::Shadows => stranger.air.model = "plain",
        Feature::Loss => stranger.air.loss_percent = 0,
        Feature::Bursts => stranger.air.bursts = None,
        Feature::Wifi => stranger.air.wifi = None,
        Feature::Clocks => (stranger.air.drift_ppm, stranger.air.wake_jitter_us) = (0, 0),
        Feature::Mobility => stranger.walking = None,
        Feature::SlowRadio => stranger.air.is_slow = false,
        Feature::Readings => stranger.measuring = None,
        Feature::Levels => stranger.radii.clear(),
        Feature::Flash => {
            for event in &mut stranger.events {
                if let Blow::Crash { flash, .. } = &mut event.blow {
                    *flash = "kept";
                }
            }
        }
        // The order of ids and the density are what the positions are; blows are taken out one by one.
        _ => return,
    }
    stranger.features.remove(&feature);
}

/// One blow lasts half as long, and all that follows comes that much earlier.
fn shorten(stranger: &mut Stranger, at: usize) {
    let half = stranger.events[at].for_ms / 2;
    if half < 1_000 {
        return;
    }
    stranger.events[at].for_ms -= half;
    for event in stranger.events.iter_mut().skip(at + 1) {
        event.at_ms = event.at_ms.saturating_sub(half);
    }
}

/// The stranger without these nodes of it; blows that strike nobody else are gone too.
fn without(stranger: &Stranger, gone: Range<usize>) -> Option<Stranger> {
    let nodes = stranger.positions.len();
    if gone.is_empty() || gone.len() >= nodes {
        return None;
    }
    let mut other = stranger.clone();
    other.positions.drain(gone.clone());
    other.measuring.iter_mut().for_each(|measuring| measuring.nodes = measuring.nodes.min(nodes - gone.len()));
    let left = |list: &[NodeIndex]| -> Vec<NodeIndex> {
        let kept = list.iter().map(|node| node.0).filter(|node| !gone.contains(node));
        kept.map(|node| NodeIndex(if node >= gone.end { node - gone.len() } else { node })).collect()
    };
    other.events.retain_mut(|event| match &mut event.blow {
        Blow::Crash { who: Target::Nodes(list), .. }
        | Blow::CorruptState { who: Target::Nodes(list) }
        | Blow::Lie { who: Target::Nodes(list) }
        | Blow::Partition { nodes: list }
        | Blow::Drift { nodes: list, .. } => {
            *list = left(list);
            !list.is_empty()
        }
        _ => true,
    });
    Some(other)
}
