//! FRLLE on a ring that lasts: where members come and go, messages are lost, and one election follows another.
//!
//! Owns which election is worth its messages, and how few those can be. On a ring that is as published, which has no patience, it
//! has no part.

use super::Frlle;
use super::ballot::Ballot;
use crate::coefficient::Coefficient;
use crate::election::circle::{Circle, RingAlgorithm, await_home};
use crate::notice::Event;
use crate::protocol::Cx;
use crate::types::{NodeId, RingPlace, Side, Term};

/// How often a node that stands sends its tokens again before it leaves the rest to its patience.
const AGAIN_MAX: u8 = 3;

/// A token goes round twice at most: to the best node, as that of others, and home. One that was sent again has a round more.
const ROUNDS_MAX: u32 = 3;

impl Frlle {
    /// Joins an election that is over. Whoever this node left its last one to is still who it would leave this one to.
    pub(super) fn join_late(&mut self, term: Term, cx: &mut Cx<'_, Self>) {
        let left_to = self.ballot.best_id;
        self.join(term, self.leader, cx);
        self.ballot.best_id = left_to;
    }

    /// Nothing has come of this node's tokens: sends them again, the ways that they have gone.
    pub(super) fn stand_again(&mut self, cx: &mut Cx<'_, Self>) {
        if self.is_standing(cx) && self.ballot.again < AGAIN_MAX {
            self.ballot.again += 1;
            for side in Side::BOTH.into_iter().filter(|&side| self.ballot.unsent != Some(side)) {
                self.send_best(side, self.hop, cx);
            }
            await_home(self.ballot.again.saturating_add(1), cx);
        }
    }

    /// A worse token has come. This node's own takes its place, but only that way: the next better node takes over after one hop,
    /// before the tokens of all others have gone back all the way. So one starter costs 3n messages and not n².
    pub(super) fn take_over(&mut self, is_first: bool, delay: u32, toward: Side, cx: &mut Cx<'_, Self>) {
        if is_first {
            self.ballot.unsent = Some(toward.opposite());
            await_home(1, cx);
        } else if self.ballot.unsent == Some(toward) && self.ballot.best_id == cx.id {
            self.ballot.unsent = None;
        } else {
            return;
        }
        self.send_best(toward, delay, cx);
    }

    /// Whether this node's own token is under way, and it knows of nobody better.
    pub(super) fn is_standing(&self, cx: &Cx<'_, Self>) -> bool {
        let has_stood = self.ballot.initiator || !self.ballot.untouched;
        has_stood && self.ballot.best_id == cx.id && !self.outcome_known()
    }

    /// How far a token that was sent again goes at most: its creator may be gone, and then nobody takes it off the ring.
    pub(super) fn delay_max(&self, cx: &Cx<'_, Self>) -> u32 {
        let members = u32::try_from(cx.peers.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.hop.saturating_mul(members).saturating_mul(ROUNDS_MAX)
    }

    /// Whether another election may give another leader, as far as this node is concerned. Rule 5: the coefficients have changed
    /// much. Whoever was only told the outcome does not know how fit the leader was, and goes by how fit it was itself when it
    /// was told. And rule 4: the election passed this node over, and it may be fitter.
    pub(super) fn may_change(&self, cx: &Cx<'_, Self>) -> bool {
        let Ballot { best, best_id, decided, .. } = self.ballot;
        let Some(leader) = self.leader.filter(|_| decided && !self.circle.place.is_alone(cx.id)) else { return false };
        if leader == cx.id {
            self.frozen.is_much_fitter_than(self.coefficient)
        } else if leader == best_id {
            self.coefficient.is_much_fitter_than(best)
        } else {
            self.coefficient.is_much_fitter_than(self.frozen) || self.has_claim(cx)
        }
    }

    /// Whether a leader that this node was told of may be less fit. Nobody knows that who was not in that election. But it is left
    /// to the best that this node knows of, while that one is alive: who led before, or a better candidate. And a node that has
    /// not measured anything asks nobody to step down: as much as it knows, it is the least fit.
    pub(super) fn has_claim(&self, cx: &Cx<'_, Self>) -> bool {
        self.circle.is_patient() && self.coefficient < Coefficient::UNKNOWN && !cx.is_up(self.ballot.best_id)
    }

    pub(super) fn reconsider(&mut self, cx: &mut Cx<'_, Self>) {
        if self.hardened() && self.may_change(cx) {
            self.begin_soon(cx);
        }
    }
}

impl RingAlgorithm for Frlle {
    fn circle(&mut self) -> &mut Circle {
        &mut self.circle
    }

    fn is_decided(&self) -> bool {
        self.outcome_known() || (self.circle.term == Term(0) && self.leader.is_some())
    }

    fn begin(&mut self, cx: &mut Cx<'_, Self>) {
        cx.note(Event::Started);
        let failed = self.leader;
        let is_alone = self.circle.place.is_alone(cx.id);
        // Whoever is alone leads itself for as long as that lasts: a newer number would unseat the leader of all others afterwards.
        let is_over = is_alone && self.circle.is_patient() && self.outcome_known();
        self.join(if is_over { self.circle.term } else { self.circle.term.next() }, failed, cx);
        if is_alone {
            self.accept_declaration(cx.id, cx);
        } else {
            self.ballot.initiator = true;
            self.stand(self.hop, cx);
        }
    }

    fn adopt(&mut self, term: Term, leader: NodeId, cx: &mut Cx<'_, Self>) {
        if term != self.circle.term || self.outcome_known() {
            self.join_late(term, cx);
        }
        self.accept_declaration(leader, cx);
        self.ballot.hearsay = true;
    }

    fn win_by_word(&mut self, term: Term, cx: &mut Cx<'_, Self>) -> bool {
        // Its tokens have met elsewhere, and the declaration is on its way here.
        let has_won = term == self.circle.term && self.is_standing(cx);
        if has_won {
            self.accept_declaration(cx.id, cx);
            self.ballot.hearsay = true;
        }
        has_won
    }

    /// Tells new neighbours of the best candidate, where its token has gone that way.
    fn say_again(&mut self, before: RingPlace, cx: &mut Cx<'_, Self>) -> bool {
        let Ballot { best_id, went, unsent, .. } = self.ballot;
        let (place, is_own) = (self.circle.place, best_id == cx.id);
        let is_alive = if is_own { self.is_standing(cx) } else { cx.is_up(best_id) };
        let goes_on = self.circle.is_patient() && is_alive && !place.is_alone(cx.id);
        for side in Side::BOTH {
            let has_gone = if is_own { unsent != Some(side) } else { went == Some(side) };
            if goes_on && has_gone && place.neighbour(side) != before.neighbour(side) {
                self.send_best(side, self.hop, cx);
            }
        }
        goes_on
    }

    fn is_content(&mut self, cx: &Cx<'_, Self>) -> bool {
        self.has_leader(cx) && !self.may_change(cx)
    }

    fn goes_by_id(&self) -> bool {
        false
    }
}
