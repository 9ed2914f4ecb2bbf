//! Who is on the ring, who of them is alive, and between whom this node stands.
//!
//! Owns what the driver has been told, so that every change is told once, and only when it has settled.

use super::audit::bound;
use super::{SETTLE, take_due};
use crate::members::{Members, Position, RingOrder};
use crate::time::{Duration, Instant};
use crate::types::{NodeId, RingPlace, Side};

/// How long to wait for the rest of a group that returns together, as a part of the time between hurried hellos.
const PAUSE_PARTS: u64 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Roster {
    /// When the place is next worked out.
    settle_at: Instant,
    /// How long to wait for further members after one was found.
    settle: Duration,
    alive: Members,
    /// Members that the driver believes alive.
    told: Members,
    order: RingOrder,
    place: RingPlace,
    own: Position,
    /// The driver does not know the place yet.
    is_place_new: bool,
}

impl Roster {
    /// A ring on which only this node, at position `own`, is alive.
    pub fn new(id: NodeId, own: Position, order: RingOrder) -> Self {
        Self {
            settle_at: Instant::NEVER,
            settle: SETTLE,
            alive: Members::of(own),
            told: Members::of(own),
            order,
            place: RingPlace { left: id, right: id },
            own,
            is_place_new: false,
        }
    }

    /// Tells the driver of the place even though it has not changed.
    pub fn start(&mut self) {
        self.is_place_new = true;
    }

    /// On a busy channel a group of members takes longer to return, and each election that it starts makes the channel
    /// busier.
    pub fn set_pace(&mut self, pause: Duration) {
        self.settle = Duration::from_micros(pause.as_micros() / PAUSE_PARTS).max(SETTLE);
    }

    /// This node's position.
    pub fn own(&self) -> Position {
        self.own
    }

    pub fn order(&self) -> &RingOrder {
        &self.order
    }

    pub fn size(&self) -> usize {
        self.order.ids().len()
    }

    pub fn position(&self, id: NodeId) -> Option<Position> {
        self.order.position(id)
    }

    /// The position of a member other than this node.
    pub fn position_of_other(&self, id: NodeId) -> Option<Position> {
        self.position(id).filter(|&position| position != self.own)
    }

    pub fn id_at(&self, position: Position) -> Option<NodeId> {
        self.order.ids().get(position.index()).copied()
    }

    pub fn is_alive(&self, position: Position) -> bool {
        self.alive.contains(position)
    }

    /// How many members are alive, this one included.
    pub fn living(&self) -> usize {
        self.alive.iter().count()
    }

    pub fn place(&self) -> RingPlace {
        self.place
    }

    /// Whether this node stands beside nobody, as far as the driver knows.
    pub fn is_alone(&self) -> bool {
        self.id_at(self.own).is_some_and(|own| self.place.is_alone(own))
    }

    /// There is a route to a member. Where it was not alive, the place may change, but not before things have settled, and not
    /// before the `next` time at which an election may be set off.
    pub fn add(&mut self, now: Instant, member: Position, next: impl FnOnce(Instant) -> Instant) {
        if !self.alive.contains(member) {
            self.alive = self.alive.with(member);
            self.settle_at = self.settle_at.min(next(now + self.settle));
        }
    }

    /// A member is gone. The place is worked out at once, since an election may follow: others that are gone have been
    /// waited for just as long.
    pub fn remove(&mut self, now: Instant, member: Position) {
        self.alive = self.alive.without(member);
        self.settle_at = now;
    }

    /// See [`RingKeeper::audit`](super::RingKeeper).
    pub fn audit(&mut self, now: Instant) {
        let size = self.size();
        self.alive = self.alive.within(size).with(self.own);
        self.told = self.told.within(size).with(self.own);
        bound(&mut self.settle_at, now);
        if self.settle_at == Instant::NEVER && self.place != self.nearest() {
            self.settle_at = now;
        }
    }

    /// The driver believes that these members are alive and, if it asks, that this node stands in this place.
    pub fn audit_told(&mut self, alive: &[NodeId], place: Option<RingPlace>) {
        let positions = alive.iter().filter_map(|&id| self.position(id));
        self.told = positions.fold(Members::of(self.own), Members::with);
        self.is_place_new |= place.is_some_and(|place| place != self.place);
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, settle_at: Instant, alive: Members) {
        (self.settle_at, self.alive) = (settle_at, alive);
    }

    pub fn poll_timeout(&self) -> Instant {
        self.settle_at
    }

    pub fn timeout(&mut self, now: Instant) {
        if take_due(&mut self.settle_at, now) {
            self.settle(self.nearest());
        }
    }

    pub fn settle(&mut self, place: RingPlace) {
        self.is_place_new |= place != self.place;
        self.place = place;
    }

    /// The nearest living members on both sides; this node itself where it is alone.
    pub fn nearest(&self) -> RingPlace {
        let ids = self.order.ids();
        let living = |position: usize| -> Option<NodeId> {
            let alive = u8::try_from(position).is_ok_and(|position| self.alive.contains(Position(position)));
            ids.get(position).copied().filter(|_| alive)
        };
        let own = self.own.index();
        // This node comes last and is always alive, so both sides find somebody.
        let right = (own + 1..ids.len()).chain(0..=own).find_map(living).unwrap_or(self.place.right);
        let left = (own..ids.len()).chain(0..own).rev().find_map(living).unwrap_or(self.place.left);
        RingPlace { left, right }
    }

    /// The members behind one, to one side of it, once round.
    pub fn beyond(&self, member: Position, side: Side) -> impl Iterator<Item = Position> + use<> {
        let members = u8::try_from(self.size()).unwrap_or(u8::MAX).max(1);
        let step = if side == Side::Right { 1 } else { members - 1 };
        (1..members).scan(member.0, move |at, _| {
            *at = u8::try_from((u16::from(*at) + u16::from(step)) % u16::from(members)).unwrap_or(0);
            Some(Position(*at))
        })
    }

    /// The next member that the driver believes alive and that is gone.
    pub fn take_gone(&mut self) -> Option<Position> {
        let gone = self.told.minus(self.alive).without(self.own).iter().next()?;
        self.told = self.told.without(gone);
        Some(gone)
    }

    /// The next living member that the driver does not know of.
    pub fn take_new(&mut self) -> Option<Position> {
        let new = self.alive.minus(self.told).iter().next()?;
        self.told = self.told.with(new);
        Some(new)
    }

    /// The place, where the driver does not know it yet.
    pub fn take_place(&mut self) -> Option<RingPlace> {
        core::mem::take(&mut self.is_place_new).then_some(self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::{Position, RingOrder, Roster, SETTLE};
    use crate::time::{Duration, Instant};
    use crate::types::{NodeId, RingPlace};

    const NOW: Instant = Instant::from_millis(5_000);

    fn roster() -> Roster {
        let order = RingOrder::new(&[1, 2, 3, 4].map(NodeId)).unwrap();
        Roster::new(NodeId(1), Position(0), order)
    }

    #[test]
    fn a_member_that_is_found_has_its_place_when_things_have_settled_and_one_that_is_gone_at_once() {
        let mut roster = roster();
        roster.add(NOW, Position(1), |at| at);
        assert_eq!(roster.poll_timeout(), NOW + SETTLE);
        roster.timeout(NOW);
        assert_eq!(roster.take_place(), None);
        roster.add(NOW + SETTLE, Position(2), |at| at);
        assert_eq!(roster.poll_timeout(), NOW + SETTLE, "others do not put it off");
        roster.timeout(NOW + SETTLE);
        assert_eq!(roster.take_place(), Some(RingPlace { left: NodeId(3), right: NodeId(2) }));
        let later = NOW + Duration::from_millis(9_000);
        roster.remove(later, Position(1));
        assert_eq!(roster.poll_timeout(), later);
        roster.timeout(later);
        assert_eq!(roster.take_place(), Some(RingPlace { left: NodeId(3), right: NodeId(3) }));
    }

    #[test]
    fn nobody_is_given_a_place_before_the_next_election_may_begin() {
        let mut roster = roster();
        let next = NOW + Duration::from_millis(9_000);
        roster.add(NOW, Position(3), |at| at.max(next));
        assert_eq!(roster.poll_timeout(), next);
    }
}
