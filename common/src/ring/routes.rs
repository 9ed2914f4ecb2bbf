//! The route to each member of the ring: one each, free of loops at every moment.
//!
//! Sources of the idea: DSDV (Perkins and Bhagwat 1994) and Babel (RFC 8966). Every member numbers its own
//! announcements. A route is taken only from a neighbour that is, at the same number, nearer to the destination than
//! this node has ever been, or that has a newer number. What a node has taken it never takes back: number and distance
//! stay as its measure when the route is lost. So along a chain of next hops the measure gets strictly better, and a chain
//! cannot close. Every link counts one hop, therefore a node's distance at one number only ever falls, and its
//! distance and its measure (Babel's feasibility distance) are the same: four bytes a member are enough.
//!
//! The price: after a break, a node refuses a detour that is longer than the old route until the destination's next number
//! comes that way ([`Verdict::Wanted`]). Every member issues one each heartbeat, so nobody needs to ask for it: on a shared
//! channel the requests of many, each passed on hop by hop, were found to cost far more than they gain.

use super::wire::{Entry, NO_WAY, NOBODY};
use crate::limits::MEMBERS_MAX;

/// Whether a number is newer than another, as numbers that wrap around are compared (RFC 1982).
pub fn is_newer(number: u16, than: u16) -> bool {
    (1..0x8000).contains(&number.wrapping_sub(than))
}

/// What is known of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Route {
    number: u16,
    /// Hops at this number; [`NO_WAY`] before anything was heard.
    distance: u8,
    /// The neighbour on the way; [`NOBODY`] where there is no route.
    next: u8,
}

impl Route {
    const UNKNOWN: Self = Self { number: 0, distance: NO_WAY, next: NOBODY };

    fn exists(self) -> bool {
        self.next != NOBODY
    }

    fn is_feasible(self, heard: Entry) -> bool {
        self.distance == NO_WAY
            || is_newer(heard.number, self.number)
            || (heard.number == self.number && heard.hops < self.distance)
    }

    fn take(&mut self, from: u8, heard: Entry) {
        *self = Self { number: heard.number, distance: heard.hops.saturating_add(1), next: from };
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
    pub fn new(own: u8) -> Self {
        let mut routes = Self { table: [Route::UNKNOWN; MEMBERS_MAX] };
        if let Some(route) = routes.table.get_mut(usize::from(own)) {
            *route = Route { number: 0, distance: 0, next: own };
        }
        routes
    }

    fn get(&self, position: u8) -> Option<Route> {
        self.table.get(usize::from(position)).copied().filter(|route| route.distance != NO_WAY)
    }

    /// The neighbour on the way to a member.
    pub fn next(&self, position: u8) -> Option<u8> {
        self.get(position).filter(|route| route.exists()).map(|route| route.next)
    }

    /// The newest number that this node's measure of a member stands for.
    pub fn number(&self, position: u8) -> u16 {
        self.get(position).map_or(0, |route| route.number)
    }

    /// What to tell neighbours of a member; nothing where nothing was ever heard of it.
    pub fn entry(&self, position: u8) -> Option<Entry> {
        let route = self.get(position)?;
        let hops = if route.exists() { route.distance } else { NO_WAY };
        Some(Entry { position, number: route.number, hops })
    }

    /// Gives this node's own announcements a number.
    pub fn set_own(&mut self, own: u8, number: u16) {
        if let Some(route) = self.table.get_mut(usize::from(own)) {
            route.number = number;
        }
    }

    /// Considers what a neighbour tells of a member other than this node, and takes its route where that is better.
    pub fn update(&mut self, from: u8, heard: Entry) -> Verdict {
        let Some(route) = self.table.get_mut(usize::from(heard.position)) else { return Verdict::Nothing };
        let is_way = heard.hops < NO_WAY - 1;
        let is_feasible = is_way && route.is_feasible(heard);
        if route.next == from {
            if !is_feasible {
                route.next = NOBODY;
                return Verdict::Lost;
            }
            let before = *route;
            route.take(from, heard);
            return match (*route == before, route.distance == before.distance) {
                (true, _) => Verdict::Nothing,
                (false, true) => Verdict::Newer,
                (false, false) => Verdict::Nearer,
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
        let is_worse = heard.hops > route.distance.saturating_add(1) && !is_newer(heard.number, route.number);
        if !is_way || is_worse { Verdict::Helps } else { Verdict::Nothing }
    }

    /// The link to a neighbour is down: forgets every route through it, and calls `lost` with each member concerned.
    pub fn forget(&mut self, neighbour: u8, mut lost: impl FnMut(u8)) {
        for (route, position) in self.table.iter_mut().zip(0_u8..) {
            if route.next == neighbour {
                route.next = NOBODY;
                lost(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Routes, Verdict, is_newer};
    use crate::ring::wire::{Entry, NO_WAY};

    fn word(position: u8, number: u16, hops: u8) -> Entry {
        Entry { position, number, hops }
    }

    #[test]
    fn numbers_wrap_around() {
        assert!(is_newer(1, 0) && is_newer(0, 0xFFFF) && is_newer(0x7FFF, 0));
        assert!(!is_newer(0, 0) && !is_newer(0, 1) && !is_newer(0x8000, 0) && !is_newer(0xFFFF, 0));
    }

    #[test]
    fn a_way_that_could_be_a_loop_is_refused_until_its_number_is_newer() {
        let mut routes = Routes::new(0);
        assert_eq!(routes.update(1, word(5, 9, 2)), Verdict::Gained);
        assert_eq!(routes.entry(5), Some(word(5, 9, 3)));
        assert_eq!(routes.update(1, word(5, 9, NO_WAY)), Verdict::Lost);
        assert_eq!(routes.entry(5), Some(word(5, 9, NO_WAY)), "the measure stays");
        assert_eq!(routes.update(2, word(5, 9, 3)), Verdict::Wanted, "it may lead back here");
        assert_eq!(routes.update(2, word(5, 9, 2)), Verdict::Gained, "nearer than this node ever was: it cannot");
        routes.forget(2, |position| assert_eq!(position, 5));
        assert_eq!(routes.update(2, word(5, 10, 50)), Verdict::Gained);
        assert_eq!(routes.next(5), Some(2));
    }

    #[test]
    fn a_way_is_kept_unless_another_is_shorter() {
        let mut routes = Routes::new(0);
        assert_eq!(routes.update(1, word(5, 9, 2)), Verdict::Gained);
        assert_eq!(routes.update(2, word(5, 10, 2)), Verdict::Nothing, "first with the news, but not nearer");
        assert_eq!(routes.next(5), Some(1));
        assert_eq!(routes.update(1, word(5, 10, 2)), Verdict::Newer);
        assert_eq!(routes.update(2, word(5, 10, 1)), Verdict::Nearer);
        assert_eq!(routes.next(5), Some(2));
        assert_eq!(routes.update(3, word(5, 10, 4)), Verdict::Helps);
        assert_eq!(routes.update(3, word(5, 10, NO_WAY)), Verdict::Helps);
        assert_eq!(routes.update(3, word(5, 11, 4)), Verdict::Nothing, "it could not take this node's");
    }

    #[test]
    fn positions_outside_the_ring_and_endless_ways_change_nothing() {
        let mut routes = Routes::new(0);
        assert_eq!(routes.update(1, word(200, 9, 2)), Verdict::Nothing);
        assert_eq!(routes.update(1, word(5, 9, NO_WAY - 1)), Verdict::Nothing);
        assert_eq!(routes.entry(5), None);
    }
}
