//! The neighbour table: fixed places, so that sets of places stay true while neighbours come and go.
//!
//! Most frames are hellos that change nothing. What is asked after each of them, who is linked and what is due next, is kept,
//! so that not every neighbour has to be looked at each time.

use super::neighbour::{Due, Neighbour};
use super::pool::Places;
use crate::limits::TABLE_MAX;
use crate::time::Instant;
use crate::types::NodeId;

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    places: [Option<Neighbour>; TABLE_MAX],
    /// Whose link is up.
    linked: Places,
    /// What is due next, of all neighbours; none where it has to be looked for.
    due: Option<Due>,
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    /// A table of nobody.
    pub const fn new() -> Self {
        Self { places: [const { None }; TABLE_MAX], linked: Places(0), due: None }
    }

    /// The neighbour at a place.
    pub fn get(&self, place: usize) -> Option<&Neighbour> {
        self.places.get(place)?.as_ref()
    }

    /// The neighbour at a place.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Neighbour> {
        self.due = None;
        self.hear(place)
    }

    /// The neighbour at a place, of whom a frame was heard. Whoever changes what is due of it says so with
    /// [`moved`](Self::moved).
    pub fn hear(&mut self, place: usize) -> Option<&mut Neighbour> {
        self.places.get_mut(place)?.as_mut()
    }

    /// What was due of one neighbour is due at another time now.
    pub fn moved(&mut self, before: Due, after: Due) {
        // The next of all may have been this one's.
        self.due = self.due.filter(|next| before.is_after(*next) || before == after).map(|next| next.min(after));
    }

    /// What is due next, by what each neighbour says.
    pub fn due(&self, of: impl Fn(&Neighbour) -> Due) -> Due {
        self.due.unwrap_or_else(|| self.iter().map(|(_, neighbour)| of(neighbour)).fold(Due::NEVER, Due::min))
    }

    /// As [`due`](Self::due), and keeps it until a neighbour changes.
    pub fn keep_due(&mut self, of: impl Fn(&Neighbour) -> Due) -> Due {
        let due = self.due(of);
        self.due = Some(due);
        due
    }

    /// Takes note that the link of the neighbour at a place has come up or gone down.
    pub fn note_link(&mut self, place: usize) {
        let is_up = self.get(place).is_some_and(|neighbour| neighbour.session.is_up());
        self.linked = self.linked.without(Places::of(place));
        if is_up {
            self.linked = self.linked.with(Places::of(place));
        }
    }

    /// Those for whom this holds are not given up to make room for others.
    pub fn pin(&mut self, is_pinned: impl Fn(NodeId) -> bool) {
        for neighbour in self.places.iter_mut().flatten() {
            neighbour.is_pinned = is_pinned(neighbour.id);
        }
    }

    /// Where a neighbour stands.
    pub fn find(&self, id: NodeId) -> Option<usize> {
        self.iter().find(|(_, neighbour)| neighbour.id == id).map(|(place, _)| place)
    }

    /// All neighbours with their places.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Neighbour)> {
        self.places.iter().enumerate().filter_map(|(place, slot)| Some((place, slot.as_ref()?)))
    }

    /// All neighbours with their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Neighbour)> {
        self.due = None;
        self.places.iter_mut().enumerate().filter_map(|(place, slot)| Some((place, slot.as_mut()?)))
    }

    /// Those whose link is up.
    pub fn linked(&self) -> impl Iterator<Item = (usize, &Neighbour)> {
        self.linked.iter().filter_map(|place| Some((place, self.get(place)?)))
    }

    /// How many links are up.
    pub fn links(&self) -> usize {
        self.linked.len()
    }

    /// Whether a neighbour's link is up.
    pub fn is_linked(&self, id: NodeId) -> bool {
        self.linked().any(|(_, neighbour)| neighbour.id == id)
    }

    /// The places of those whose link is up.
    pub fn linked_places(&self) -> Places {
        self.linked
    }

    /// A place without a neighbour.
    pub fn free(&self) -> Option<usize> {
        self.places.iter().position(Option::is_none)
    }

    /// Gives a place to a neighbour.
    pub fn put(&mut self, place: usize, neighbour: Neighbour) {
        if let Some(slot) = self.places.get_mut(place) {
            *slot = Some(neighbour);
            self.due = None;
            self.note_link(place);
        }
    }

    /// Empties a place.
    pub fn clear(&mut self, place: usize) {
        if let Some(slot) = self.places.get_mut(place) {
            *slot = None;
            self.due = None;
            self.note_link(place);
        }
    }

    /// The place that a newcomer may have in a full table: of somebody without a link whom nobody has been told about, who
    /// was silent for two of its intervals, or who follows the same leader where the newcomer does not.
    pub fn weakest(&self, now: Instant, newcomer_dissents: bool) -> Option<usize> {
        let is_idle = |neighbour: &Neighbour| {
            let is_silent = now.since(neighbour.heard_at) > neighbour.interval().times(2);
            is_silent || (newcomer_dissents && neighbour.dissent == 0)
        };
        let mut idle = self.iter().filter(|(_, neighbour)| {
            !neighbour.session.is_up() && neighbour.news.down.is_none() && !neighbour.is_pinned && is_idle(neighbour)
        });
        let first = idle.next()?;
        let weakest =
            idle.fold(first, |weakest, other| if other.1.heard_at < weakest.1.heard_at { other } else { weakest });
        Some(weakest.0)
    }

    /// The link that can best be spared: not pinned, and to a neighbour that shares at least two others with this node.
    pub fn redundant(&self) -> Option<usize> {
        let spare = self.linked().filter(|(_, neighbour)| !neighbour.is_pinned && neighbour.shared >= 2);
        spare.max_by_key(|(_, neighbour)| neighbour.shared).map(|(place, _)| place)
    }
}
