//! The route to each member of the ring: one each, free of loops at every moment.
//!
//! Sources of the idea: DSDV (Perkins and Bhagwat 1994) and Babel (RFC 8966). Every member numbers its own
//! announcements. A route is taken only from a neighbour that is, at the same number, nearer to the destination than
//! this node has ever been, or that has a newer number. What a node has taken it never takes back: number and distance
//! stay as its measure when the route is lost. So along a chain of next hops the measure gets strictly better, and a chain
//! cannot close. Every link counts one hop, therefore a node's distance at one number only ever falls, and its
//! distance and its measure (Babel's feasibility distance) are the same: one byte for both is enough.
//!
//! The price: after a break, a node refuses a detour that is longer than the old route until the destination's next number
//! comes that way ([`Verdict::Wanted`]). Every member issues one each heartbeat, so nobody needs to ask for it: on a shared
//! channel the requests of many, each passed on hop by hop, were found to cost far more than they gain.
//!
//! A route whose number has not become newer for many heartbeats leads nowhere, however it came about, and is given up.

use super::number::{NUMBER_BYTES, Number};
use super::wire::{Entry, NO_WAY, NOBODY};
use crate::limits::MEMBERS_MAX;
use crate::members::Position;

/// A route is given up after this many heartbeats without a newer number, and more for each member: a hello tells of a few
/// members only, and may be lost.
const AGE_BASE: usize = 30;
const AGE_MEMBER: usize = 2;

/// The age at which a route on a ring of this size is given up, in heartbeats.
pub fn age_max(ring_size: usize) -> u8 {
    u8::try_from(AGE_BASE + AGE_MEMBER * ring_size).unwrap_or(u8::MAX)
}

/// What is known of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Route {
    /// The number, as it is on the air: six bytes a member instead of eight.
    number: [u8; NUMBER_BYTES],
    /// Hops at this number; [`NO_WAY`] before anything was heard.
    distance: u8,
    /// The neighbour on the way; [`NOBODY`] where there is no route.
    next: Position,
    /// Heartbeats of this node since the number was last newer.
    age: u8,
}

impl Route {
    const UNKNOWN: Self = Self { number: [0; NUMBER_BYTES], distance: NO_WAY, next: NOBODY, age: 0 };

    fn number(self) -> Number {
        Number::from_bytes(self.number)
    }

    fn exists(self) -> bool {
        self.next != NOBODY
    }

    fn is_feasible(self, heard: Entry) -> bool {
        self.distance == NO_WAY
            || heard.number.is_newer_than(self.number())
            || (heard.number == self.number() && heard.hops < self.distance)
    }

    fn take(&mut self, from: Position, heard: Entry) {
        let is_newer = self.distance == NO_WAY || heard.number != self.number();
        let age = if is_newer { 0 } else { self.age };
        *self = Self { number: heard.number.to_bytes(), distance: heard.hops.saturating_add(1), next: from, age };
    }
}

/// What a neighbour's entry for a member changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// There is a route where there was none; it is to be announced.
    Gained,
    /// The route has another length; that is to be announced.
    Nearer,
    /// The route has a newer number, and is otherwise as before.
    Newer,
    /// The route is gone; that is to be announced.
    Lost,
    /// There is no route, and this one could close a loop: only a newer number makes it safe.
    Wanted,
    /// The neighbour has no route or a longer one: announcing this node's own would help it.
    Helps,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Routes {
    table: [Route; MEMBERS_MAX],
}

impl Routes {
    /// What the member at this position knows before it has heard anything.
    pub fn new(own: Position) -> Self {
        let mut routes = Self { table: [Route::UNKNOWN; MEMBERS_MAX] };
        if let Some(route) = routes.table.get_mut(own.index()) {
            *route = Route { distance: 0, next: own, ..Route::UNKNOWN };
        }
        routes
    }

    fn get(&self, position: Position) -> Option<Route> {
        self.table.get(position.index()).copied().filter(|route| route.distance != NO_WAY)
    }

    /// The neighbour on the way to a member.
    pub fn next(&self, position: Position) -> Option<Position> {
        self.get(position).filter(|route| route.exists()).map(|route| route.next)
    }

    /// The newest number that this node's measure of a member stands for.
    pub fn number(&self, position: Position) -> Number {
        self.get(position).map_or(Number::default(), Route::number)
    }

    /// What to tell neighbours of a member; nothing where nothing was ever heard of it.
    pub fn entry(&self, position: Position) -> Option<Entry> {
        let route = self.get(position)?;
        let hops = if route.exists() { route.distance } else { NO_WAY };
        Some(Entry { position, number: route.number(), hops })
    }

    /// Gives this node's own announcements a number.
    pub fn set_own(&mut self, own: Position, number: Number) {
        if let Some(route) = self.table.get_mut(own.index()) {
            route.number = number.to_bytes();
        }
    }

    /// Considers what a neighbour tells of a member other than this node, and takes its route where that is better.
    pub fn update(&mut self, from: Position, heard: Entry) -> Verdict {
        let Some(route) = self.table.get_mut(heard.position.index()) else { return Verdict::Nothing };
        let is_way = usize::from(heard.hops) < MEMBERS_MAX;
        let is_feasible = is_way && route.is_feasible(heard);
        if route.next == from {
            if !is_feasible {
                route.next = NOBODY;
                return Verdict::Lost;
            }
            let before = *route;
            route.take(from, heard);
            return match (route.number == before.number, route.distance == before.distance) {
                (true, true) => Verdict::Nothing,
                (false, true) => Verdict::Newer,
                (_, false) => Verdict::Nearer,
            };
        }
        if !route.exists() {
            return match (is_way, is_feasible) {
                (_, true) => {
                    route.take(from, heard);
                    Verdict::Gained
                }
                (true, false) => Verdict::Wanted,
                (false, false) => Verdict::Nothing,
            };
        }
        // A neighbour that is merely the first with a newer number is passed over: the present one will have it too, and a
        // route that does not change keeps messages in order.
        let through = heard.hops.saturating_add(1);
        if is_feasible && through < route.distance {
            route.take(from, heard);
            return Verdict::Nearer;
        }
        let is_worse = heard.hops > route.distance.saturating_add(1) && !heard.number.is_newer_than(route.number());
        if !is_way || is_worse { Verdict::Helps } else { Verdict::Nothing }
    }

    /// The link to a neighbour has come up. Where there was no route to it there is one now, whatever this node's measure is: what
    /// is handed to its receiver cannot come back. True where that is so.
    pub fn link_up(&mut self, neighbour: Position) -> bool {
        let unreached =
            self.table.get_mut(neighbour.index()).filter(|route| route.distance != NO_WAY && !route.exists());
        let Some(route) = unreached else { return false };
        (route.distance, route.next) = (1, neighbour);
        true
    }

    /// Gives up the route to a member; true where there was one.
    pub fn drop_way(&mut self, member: Position) -> bool {
        let had_way = self.next(member).is_some();
        if let Some(route) = self.table.get_mut(member.index()) {
            route.next = NOBODY;
        }
        had_way
    }

    /// The link to a neighbour is down: forgets every route through it, and calls `lost` with each member concerned.
    pub fn forget(&mut self, neighbour: Position, lost: impl FnMut(Position)) {
        self.drop_routes(|route, _| route.next == neighbour, lost);
    }

    /// A heartbeat of the member at `own` has passed: gives up the routes that are too old, and calls `lost` with each.
    pub fn grow_old(&mut self, own: Position, age_max: u8, lost: impl FnMut(Position)) {
        self.table.iter_mut().for_each(|route| route.age = route.age.saturating_add(1));
        self.drop_routes(|route, position| route.exists() && route.age >= age_max && position != own, lost);
    }

    /// Repairs this node's own entry, forgets those beyond the ring, and gives up routes over links that are down.
    pub fn audit(
        &mut self,
        own: Position,
        size: usize,
        is_linked: impl Fn(Position) -> bool,
        lost: impl FnMut(Position),
    ) {
        for (route, position) in self.table.iter_mut().zip(Position::all()) {
            if position == own {
                (route.distance, route.next) = (0, own);
            } else if position.index() >= size {
                *route = Route::UNKNOWN;
            } else if route.exists() && usize::from(route.distance) > MEMBERS_MAX {
                route.distance = 0;
            }
        }
        self.drop_routes(|route, position| position != own && route.exists() && !is_linked(route.next), lost);
    }

    /// Any state, for the test that each of them heals.
    #[cfg(test)]
    pub fn corrupt(&mut self, position: Position, number: Number, distance: u8, next: Position, age: u8) {
        if let Some(route) = self.table.get_mut(position.index()) {
            *route = Route { number: number.to_bytes(), distance, next, age };
        }
    }

    fn drop_routes(&mut self, is_dropped: impl Fn(Route, Position) -> bool, mut lost: impl FnMut(Position)) {
        for (route, position) in self.table.iter_mut().zip(Position::all()) {
            if is_dropped(*route, position) {
                route.next = NOBODY;
                lost(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Routes, Verdict, age_max};
    use crate::members::Position;
    use crate::ring::number::Number;
    use crate::ring::wire::{Entry, NO_WAY};

    fn word(position: u8, count: u16, hops: u8) -> Entry {
        Entry { position: Position(position), number: Number { epoch: 1, count }, hops }
    }

    #[test]
    fn a_route_whose_number_stands_still_is_given_up() {
        let mut routes = Routes::new(Position(0));
        let old = age_max(4);
        let grow = |routes: &mut Routes| {
            let mut lost = std::vec::Vec::new();
            routes.grow_old(Position(0), old, |position| lost.push(position));
            lost
        };
        assert_eq!(routes.update(Position(1), word(5, 9, 2)), Verdict::Gained);
        assert!((1..old).all(|_| grow(&mut routes).is_empty()));
        assert_eq!(routes.update(Position(1), word(5, 10, 2)), Verdict::Newer);
        assert!((1..old).all(|_| grow(&mut routes).is_empty()), "a newer number is as good as a new route");
        assert_eq!(routes.update(Position(1), word(5, 10, 2)), Verdict::Nothing);
        assert_eq!(grow(&mut routes), [Position(5)]);
        assert_eq!(
            (routes.next(Position(5)), routes.next(Position(0))),
            (None, Some(Position(0))),
            "a node does not lose itself"
        );
    }

    #[test]
    fn a_member_that_restarts_is_believed_at_once() {
        let mut routes = Routes::new(Position(0));
        assert_eq!(routes.update(Position(1), word(5, 700, 2)), Verdict::Gained);
        let restarted = Entry { number: Number { epoch: 2, count: 0 }, ..word(5, 0, 6) };
        assert_eq!(routes.update(Position(1), restarted), Verdict::Nearer);
        assert_eq!(routes.entry(Position(5)), Some(Entry { hops: 7, ..restarted }));
    }

    #[test]
    fn a_way_that_could_be_a_loop_is_refused_until_its_number_is_newer() {
        let mut routes = Routes::new(Position(0));
        assert_eq!(routes.update(Position(1), word(5, 9, 2)), Verdict::Gained);
        assert_eq!(routes.entry(Position(5)), Some(word(5, 9, 3)));
        assert_eq!(routes.update(Position(1), word(5, 9, NO_WAY)), Verdict::Lost);
        assert_eq!(routes.entry(Position(5)), Some(word(5, 9, NO_WAY)), "the measure stays");
        assert_eq!(routes.update(Position(2), word(5, 9, 3)), Verdict::Wanted, "it may lead back here");
        assert_eq!(
            routes.update(Position(2), word(5, 9, 2)),
            Verdict::Gained,
            "nearer than this node ever was: it cannot"
        );
        routes.forget(Position(2), |position| assert_eq!(position, Position(5)));
        assert_eq!(routes.update(Position(2), word(5, 10, 50)), Verdict::Gained);
        assert_eq!(routes.next(Position(5)), Some(Position(2)));
    }

    #[test]
    fn a_neighbour_is_reached_over_its_link_whatever_the_measure() {
        let mut routes = Routes::new(Position(0));
        assert!(!routes.link_up(Position(5)), "nothing was ever heard of it");
        assert_eq!(routes.update(Position(1), word(5, 9, 3)), Verdict::Gained);
        assert!(!routes.link_up(Position(5)), "a route that is there is kept");
        routes.forget(Position(1), |_| ());
        assert!(routes.link_up(Position(5)));
        assert_eq!(routes.entry(Position(5)), Some(word(5, 9, 1)));
        assert_eq!(routes.update(Position(5), word(5, 9, 0)), Verdict::Nothing);
        assert!(routes.drop_way(Position(5)) && !routes.drop_way(Position(5)));
    }

    #[test]
    fn a_way_is_kept_unless_another_is_shorter() {
        let mut routes = Routes::new(Position(0));
        assert_eq!(routes.update(Position(1), word(5, 9, 2)), Verdict::Gained);
        assert_eq!(routes.update(Position(2), word(5, 10, 2)), Verdict::Nothing, "first with the news, but not nearer");
        assert_eq!(routes.next(Position(5)), Some(Position(1)));
        assert_eq!(routes.update(Position(1), word(5, 10, 2)), Verdict::Newer);
        assert_eq!(routes.update(Position(2), word(5, 10, 1)), Verdict::Nearer);
        assert_eq!(routes.next(Position(5)), Some(Position(2)));
        assert_eq!(routes.update(Position(3), word(5, 10, 4)), Verdict::Helps);
        assert_eq!(routes.update(Position(3), word(5, 10, NO_WAY)), Verdict::Helps);
        assert_eq!(routes.update(Position(3), word(5, 11, 4)), Verdict::Nothing, "it could not take this node's");
    }

    #[test]
    fn positions_outside_the_ring_and_endless_ways_change_nothing() {
        let mut routes = Routes::new(Position(0));
        assert_eq!(routes.update(Position(1), word(200, 9, 2)), Verdict::Nothing);
        assert_eq!(routes.update(Position(1), word(5, 9, 64)), Verdict::Nothing);
        assert_eq!(routes.entry(Position(5)), None);
    }
}
