//! A walk through all runs: depth first, over fingerprints of 64 bits.
//!
//! A general checker (stateright, which explores HS here) takes several times as long for the same states, does not know
//! that a state with more events left covers the same one with fewer, and does not detect cycles. The last is essential
//! since fingerprints omit absolute times: an endless run comes back to where it was.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hasher};

/// What is explored.
pub trait Space {
    type State: Clone;
    /// Something that can happen.
    type Action: Copy + Debug;

    /// What to try next; empty if nothing can happen.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);
    /// Applies an action.
    fn apply(&self, state: &mut Self::State, action: Self::Action);
    /// States with the same key have the same future, apart from the events left.
    fn key(&self, state: &Self::State) -> u64;
    /// How many external events may still happen. It never rises, and whatever can happen in a state can also happen in the
    /// same state with more of them left.
    fn left(&self, state: &Self::State) -> u8;
    /// Whether the run may end here, and if so, whether that end is correct.
    fn end(&self, state: &Self::State) -> Option<Result<(), String>>;
}

/// What a walk has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// States, not counting those on a path without a choice.
    pub states: u64,
    pub events: u64,
    /// Keys of states in which a run may end.
    pub ends: BTreeSet<u64>,
}

/// One state on the way from the start to the present one.
struct Frame<S: Space> {
    /// Gone once its last action is being tried.
    state: Option<S::State>,
    key: u64,
    left: u8,
    actions: Vec<S::Action>,
    next: usize,
}

/// The longest path without a choice. No run of so few nodes comes close.
const LONGEST: usize = 10_000;

/// A walk through one space.
pub struct Walk<S: Space> {
    space: S,
    /// The most events that were left when a state was met.
    known: HashMap<u64, u8, BuildHasherDefault<AsIs>>,
    frames: Vec<Frame<S>>,
    spare: Vec<Vec<S::Action>>,
    seen: Seen,
}

impl<S: Space> Walk<S> {
    pub fn new(space: S) -> Self {
        Self { space, known: HashMap::default(), frames: Vec::new(), spare: Vec::new(), seen: Seen::default() }
    }

    pub fn space(&self) -> &S {
        &self.space
    }

    pub fn seen(self) -> Seen {
        self.seen
    }

    /// Explores everything that can happen from here on. If a run does not end, or ends wrongly, returns that run; events
    /// without an alternative are omitted.
    pub fn explore(&mut self, start: S::State) -> Result<(), String> {
        self.enter(start)?;
        while let Some(frame) = self.frames.last_mut() {
            let Some(&action) = frame.actions.get(frame.next) else {
                let done = self.frames.pop().expect("the frame just examined");
                self.spare.push(done.actions);
                continue;
            };
            frame.next += 1;
            let is_last = frame.next == frame.actions.len();
            let state = if is_last { frame.state.take() } else { frame.state.clone() };
            let mut state = state.expect("kept until the last action");
            self.space.apply(&mut state, action);
            self.seen.events += 1;
            self.enter(state)?;
        }
        Ok(())
    }

    fn enter(&mut self, mut state: S::State) -> Result<(), String> {
        let mut actions = self.spare.pop().unwrap_or_default();
        self.space.actions(&state, &mut actions);
        let mut steps = 0;
        while let [only] = actions[..] {
            self.space.apply(&mut state, only);
            self.space.actions(&state, &mut actions);
            steps += 1;
            if steps > LONGEST {
                return Err(format!("a run never ends: {:?}", self.path()));
            }
        }
        self.seen.events += steps as u64;
        let (key, left) = (self.space.key(&state), self.space.left(&state));
        let known = self.known.get_mut(&key);
        if known.as_ref().is_some_and(|known| **known >= left) {
            self.spare.push(actions);
            if self.frames.iter().any(|frame| (frame.key, frame.left) == (key, left)) {
                return Err(format!("a run never ends: {:?}", self.path()));
            }
            return Ok(());
        }
        if let Some(known) = known {
            *known = left;
        } else {
            self.known.insert(key, left);
            self.seen.states += 1;
        }
        if let Some(end) = self.space.end(&state) {
            end.map_err(|fault| format!("{fault}\nafter {:?}", self.path()))?;
            self.seen.ends.insert(key);
        }
        self.frames.push(Frame { state: Some(state), key, left, actions, next: 0 });
        Ok(())
    }

    fn path(&self) -> Vec<S::Action> {
        self.frames.iter().filter_map(|frame| frame.actions.get(frame.next.checked_sub(1)?).copied()).collect()
    }
}

/// A key is its own hash.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only keys are hashed");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
