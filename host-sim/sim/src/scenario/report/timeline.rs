//! Who followed whom over time, with the changes marked, and its rendering as text for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::scenario::report::outcome::Follow;
use crate::scenario::report::story::Story;

/// The width of the time axis, in columns.
const COLUMNS: u64 = 72;

/// Larger networks are not drawn as text.
const ROWS_MAX: usize = 64;

/// Letters for leaders, in the order of [`leaders`]. Any further leaders share one sign.
const LETTERS: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const OTHERS: char = '+';

/// Stands for no leader, or no power.
const NOBODY: char = '.';

/// A period, in milliseconds, during which one node follows one leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub from_ms: u64,
    /// Exclusive.
    pub to_ms: u64,
    pub leader: u16,
}

/// The stretches of each node over the whole time, by its id.
pub fn stretches(story: &Story) -> BTreeMap<u16, Vec<Stretch>> {
    let mut rows: BTreeMap<u16, Vec<Stretch>> = story.nodes.iter().map(|&node| (node, Vec::new())).collect();
    let mut open: BTreeMap<u16, Stretch> = BTreeMap::new();
    let end = Follow { at_ms: story.lasts_ms, node: 0, leader: None };
    let ends = story.nodes.iter().map(|&node| Follow { node, ..end });
    for Follow { at_ms, node, leader } in story.follows.iter().copied().chain(ends) {
        if let Some(stretch) = open.remove(&node)
            && stretch.from_ms < at_ms
        {
            rows.entry(node).or_default().push(Stretch { to_ms: at_ms, ..stretch });
        }
        if let Some(leader) = leader {
            open.insert(node, Stretch { from_ms: at_ms, to_ms: at_ms, leader });
        }
    }
    rows
}

/// All leaders, the one that others followed longest first. Only the first few get a letter or colour of their own.
pub fn leaders(rows: &BTreeMap<u16, Vec<Stretch>>) -> Vec<u16> {
    let mut reigns: BTreeMap<u16, u64> = BTreeMap::new();
    for (&node, stretches) in rows {
        for stretch in stretches {
            let others = if stretch.leader == node { 0 } else { stretch.to_ms - stretch.from_ms };
            *reigns.entry(stretch.leader).or_default() += others;
        }
    }
    let mut ranked: Vec<u16> = reigns.keys().copied().collect();
    // Those that reigned equally long stay in the order of their ids.
    ranked.sort_by_key(|leader| std::cmp::Reverse(reigns[leader]));
    ranked
}

/// Draws the timeline: a row for each node, and a letter for each leader, in lower case where the node leads itself.
pub fn text(story: &Story) -> String {
    let rows = stretches(story);
    if rows.len() > ROWS_MAX {
        let count = rows.len();
        return format!("No timeline as text: {count} nodes are more than {ROWS_MAX}; --svg FILE draws any number\n");
    }
    if story.lasts_ms == 0 {
        return "No timeline: it ended at once\n".to_owned();
    }
    let ranked = leaders(&rows);
    let letter = |leader: u16| {
        let at = ranked.iter().position(|&other| other == leader);
        at.and_then(|at| LETTERS.get(at)).map_or(OTHERS, |&letter| char::from(letter))
    };
    let column = |ms: u64| ms * COLUMNS / story.lasts_ms;
    let mut marks = vec![' '; usize::try_from(COLUMNS).unwrap_or(0)];
    for (at_ms, _) in &story.changes {
        if let Some(mark) = usize::try_from(column(*at_ms)).ok().and_then(|at| marks.get_mut(at)) {
            *mark = '|';
        }
    }
    let mut text = format!(
        "Who followed whom (a letter for each leader, lower case at itself, {OTHERS} for any further one, {NOBODY} for none or no power; | a change)\n"
    );
    let _ = writeln!(text, "        {}", marks.iter().collect::<String>().trim_end());
    let mut shown = BTreeSet::new();
    for (node, stretches) in &rows {
        let row: String = (0..COLUMNS)
            .map(|at| {
                // Each column shows the state at its end.
                let ms = (at + 1) * story.lasts_ms / COLUMNS - 1;
                let now = stretches.iter().find(|stretch| (stretch.from_ms..stretch.to_ms).contains(&ms));
                now.map_or(NOBODY, |stretch| {
                    shown.insert(stretch.leader);
                    let letter = letter(stretch.leader);
                    if stretch.leader == *node { letter.to_ascii_lowercase() } else { letter }
                })
            })
            .collect();
        let _ = writeln!(text, "  {node:>5} {row}");
    }
    let named = ranked.iter().filter(|leader| shown.contains(leader) && letter(**leader) != OTHERS);
    let legend: Vec<String> = named.map(|&leader| format!("{} = {leader}", letter(leader))).collect();
    let _ = writeln!(text, "        0 s to {} s; {}", story.lasts_ms / 1_000, legend.join(", "));
    text
}
