//! Which way DATA frames go: to the leader by way of neighbours that took frames well before, and back the way that
//! blocks came.

use heapless::Vec;

use crate::limits::{NEIGHBOURS_MAX, ORIGINS_MAX};
use crate::short_list::retain;
use crate::time::{Duration, Instant};
use crate::types::NodeId;

/// What the node knows of the way to the leader, from its election or from the routes of its ring.
pub trait Ways {
    /// Calls back for every neighbour that is nearer to the leader, with about how many hops that one has left.
    fn up(&self, each: &mut dyn FnMut(NodeId, u8));

    /// The neighbour on the way to any node, where such ways are kept.
    fn to(&self, node: NodeId) -> Option<NodeId>;
}

/// A way back is forgotten after this long without a block, since it may have changed.
const STALE: Duration = Duration::from_millis(600_000);

/// A neighbour that has missed this many frames in a row is left alone for a while, twice as long with each further
/// miss. Another is tried meanwhile; if there is none, nothing is sent. So a node that has lost its leader does not
/// fill the channel with frames that nobody answers, before the election has even begun.
const MISSES: u8 = 3;
const REST_MS: u64 = 100;
const DOUBLINGS_MAX: u8 = 5;

/// How long to wait before looking again if no neighbour is nearer to the leader.
const NO_WAY: Duration = Duration::from_millis(250);

/// The share of frames that were accepted; 255 is all.
const ALL: u8 = u8::MAX;

/// How well a neighbour accepts frames.
#[derive(Clone, Copy, Debug)]
struct Taker {
    id: NodeId,
    /// The share of frames that it acknowledged, a moving average.
    share: u8,
    /// Frames in a row without an answer.
    misses: u8,
    /// It is left alone until then: it does not answer, or has no room.
    rest_until: Instant,
}

/// The way back to an origin.
#[derive(Clone, Copy, Debug)]
struct Back {
    origin: NodeId,
    via: NodeId,
    at_s: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Learned {
    takers: Vec<Taker, NEIGHBOURS_MAX, u8>,
    back: Vec<Back, ORIGINS_MAX, u8>,
}

fn seconds(now: Instant) -> u32 {
    u32::try_from(now.as_millis() / 1_000).unwrap_or(u32::MAX)
}

impl Learned {
    pub const fn new() -> Self {
        Self { takers: Vec::new(), back: Vec::new() }
    }

    /// A block of this origin came from a neighbour.
    pub fn learn(&mut self, now: Instant, origin: NodeId, via: NodeId) {
        let fresh = Back { origin, via, at_s: seconds(now) };
        if let Some(back) = self.back.iter_mut().find(|back| back.origin == origin) {
            *back = fresh;
        } else if self.back.push(fresh).is_err()
            && let Some(oldest) = self.back.iter_mut().min_by_key(|back| back.at_s)
        {
            *oldest = fresh;
        }
    }

    /// The neighbour on the way back to an origin.
    pub fn back(&self, now: Instant, origin: NodeId) -> Option<NodeId> {
        let is_fresh = |back: &&Back| u64::from(seconds(now).saturating_sub(back.at_s)) * 1_000_000 < STALE.as_micros();
        self.back.iter().find(|back| back.origin == origin).filter(is_fresh).map(|back| back.via)
    }

    fn taker(&self, id: NodeId) -> Taker {
        let known = self.takers.iter().find(|taker| taker.id == id);
        known.copied().unwrap_or(Taker { id, share: ALL, misses: 0, rest_until: Instant::ZERO })
    }

    fn taker_mut(&mut self, id: NodeId) -> Option<&mut Taker> {
        let at = self.takers.iter().position(|taker| taker.id == id).or_else(|| {
            let fresh = self.taker(id);
            if self.takers.is_full() {
                self.takers.remove(0);
            }
            self.takers.push(fresh).ok().map(|()| self.takers.len() - 1)
        })?;
        self.takers.get_mut(at)
    }

    /// A neighbour has answered a frame, or has not. How many it has missed in a row.
    pub fn note(&mut self, now: Instant, id: NodeId, has_answered: bool) -> u8 {
        let Some(taker) = self.taker_mut(id) else { return 0 };
        if has_answered {
            taker.share = taker.share.saturating_add((ALL - taker.share) / 8 + 1);
            taker.misses = 0;
            taker.rest_until = now;
            return 0;
        }
        taker.share -= taker.share / 8;
        taker.misses = taker.misses.saturating_add(1);
        if let Some(more) = taker.misses.checked_sub(MISSES) {
            taker.rest_until = now + Duration::from_millis(REST_MS << more.min(DOUBLINGS_MAX));
        }
        taker.misses
    }

    /// A neighbour has no room for a while.
    pub fn note_full(&mut self, id: NodeId, until: Instant) {
        if let Some(taker) = self.taker_mut(id) {
            taker.rest_until = until;
        }
    }

    /// Forgets neighbours that are left alone beyond `latest`.
    pub fn audit(&mut self, latest: Instant) {
        retain(&mut self.takers, |taker| taker.rest_until <= latest);
    }

    /// The neighbour to send to: of those that are not left alone, that with the fewest transmissions to the leader. Where there
    /// is none, the time at which to look again.
    pub fn up(&self, now: Instant, ways: &dyn Ways) -> Result<NodeId, Instant> {
        let (mut best, mut again) = (None, now + NO_WAY);
        ways.up(&mut |id, hops| {
            let Taker { share, rest_until, .. } = self.taker(id);
            let transmissions = 16 * u32::from(ALL) / u32::from(share.max(16));
            let cost = (16 * u32::from(hops) + transmissions, id);
            if now < rest_until {
                again = again.min(rest_until);
            } else if best.is_none_or(|best| cost < best) {
                best = Some(cost);
            }
        });
        best.map(|(_, id)| id).ok_or(again)
    }
}

#[cfg(test)]
mod tests {
    use super::{Learned, Ways};
    use crate::limits::ORIGINS_MAX;
    use crate::time::Instant;
    use crate::types::NodeId;

    struct Two;

    impl Ways for Two {
        fn up(&self, each: &mut dyn FnMut(NodeId, u8)) {
            each(NodeId(3), 1);
            each(NodeId(4), 2);
        }

        fn to(&self, _: NodeId) -> Option<NodeId> {
            None
        }
    }

    #[test]
    fn the_nearer_neighbour_is_left_once_it_takes_too_few() {
        let (mut learned, now) = (Learned::new(), Instant::ZERO);
        assert_eq!(learned.up(now, &Two), Ok(NodeId(3)));
        assert_eq!([(); 3].map(|()| learned.note(now, NodeId(3), false)), [1, 2, 3]);
        assert_eq!(learned.up(now, &Two), Ok(NodeId(4)), "three misses");
        assert_eq!(learned.up(Instant::from_millis(100), &Two), Ok(NodeId(3)), "its rest is over");
        for _ in 0..9 {
            learned.note(now, NodeId(3), false);
        }
        assert_eq!(learned.up(Instant::from_millis(10_000), &Two), Ok(NodeId(4)), "it took too few");
        for _ in 0..40 {
            learned.note(now, NodeId(3), true);
        }
        assert_eq!(learned.up(now, &Two), Ok(NodeId(3)));
        learned.note_full(NodeId(3), Instant::from_millis(1));
        assert_eq!(learned.up(now, &Two), Ok(NodeId(4)), "it is full");
        learned.note_full(NodeId(4), Instant::from_millis(2));
        assert_eq!(learned.up(now, &Two), Err(Instant::from_millis(1)), "both are");
    }

    #[test]
    fn the_way_back_is_the_last_one_and_the_oldest_is_forgotten_first() {
        let mut learned = Learned::new();
        let at = |second: usize| Instant::from_millis(1_000 * second as u64);
        let id = |number: usize| NodeId(u16::try_from(number).unwrap_or(0));
        for origin in 1..=ORIGINS_MAX + 1 {
            learned.learn(at(origin), id(origin), NodeId(9));
        }
        learned.learn(at(2), id(2), NodeId(8));
        assert_eq!(learned.back(at(2), id(2)), Some(NodeId(8)));
        assert_eq!(learned.back(at(2), id(1)), None, "made room");
        assert_eq!(learned.back(at(100_000), id(2)), None, "too long ago");
    }
}
