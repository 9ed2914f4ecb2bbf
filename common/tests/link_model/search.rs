//! A search through everything that can happen, breadth first, over fingerprints of 64 bits.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::fold::Fold;
use crate::pair::{Action, Pair, State};

/// A fingerprint is as good as any hash of it.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

fn fingerprint(state: &State) -> u64 {
    let mut hasher = Fold::default();
    state.hash(&mut hasher);
    hasher.finish()
}

/// What a search came to: how many states there are, or the shortest way to one that breaks a promise, and which.
pub type Found = Result<usize, (Vec<Action>, &'static str)>;

/// Visits every state. More than `most` states mean that the test's bounds are too wide.
pub fn search(pair: &Pair, most: usize) -> Found {
    let mut known = HashSet::<u64, BuildHasherDefault<AsIs>>::default();
    // How each state was reached: from which, by what.
    let mut ways: Vec<(u32, Action)> = Vec::new();
    let mut waiting = VecDeque::new();
    let start = pair.start();
    known.insert(fingerprint(&start));
    waiting.push_back((start, u32::MAX));
    let mut actions = Vec::new();
    while let Some((state, way)) = waiting.pop_front() {
        if let Some(breach) = pair.breach(&state) {
            return Err((path(&ways, way), breach));
        }
        pair.actions(&state, &mut actions);
        for action in actions.drain(..) {
            let Some(next) = pair.next(&state, action) else { continue };
            if known.insert(fingerprint(&next)) {
                ways.push((way, action));
                waiting.push_back((next, u32::try_from(ways.len() - 1).expect("fewer states than that")));
            }
        }
        assert!(known.len() <= most, "more than {most} states: the bounds are too wide");
    }
    Ok(known.len())
}

fn path(ways: &[(u32, Action)], mut way: u32) -> Vec<Action> {
    let mut path = Vec::new();
    while let Some(&(before, action)) = ways.get(way as usize) {
        path.push(action);
        way = before;
    }
    path.reverse();
    path
}
