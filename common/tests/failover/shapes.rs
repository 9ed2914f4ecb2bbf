//! Where explorations begin: small networks that the first board has led for a while.

use common::protocol::Signal;
use common::time::Duration;

use crate::world::{Deed, World};

/// A network of a few boards.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub count: usize,
    pub edges: &'static [(usize, usize)],
}

/// The first board leads, and without it the others are still one network.
pub const TRIANGLE: Shape = Shape { name: "triangle", count: 3, edges: &[(0, 1), (0, 2), (1, 2)] };
pub const LINE: Shape = Shape { name: "line", count: 3, edges: &[(0, 1), (1, 2)] };
pub const FOUR: Shape = Shape { name: "four", count: 4, edges: &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] };
pub const SQUARE: Shape = Shape { name: "square", count: 4, edges: &[(0, 1), (1, 2), (2, 3), (0, 3)] };
/// One neighbour of the leader is no successor.
pub const FIVE: Shape = Shape {
    name: "five",
    count: 5,
    edges: &[(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)],
};
/// Three successors, of whom two do not hear each other.
pub const DIAMOND: Shape = Shape { name: "diamond", count: 4, edges: &[(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)] };
/// A successor has a neighbour that does not hear the leader.
pub const PAW: Shape = Shape { name: "paw", count: 4, edges: &[(0, 1), (0, 2), (1, 2), (2, 3)] };
/// A line whose end leads.
pub const CHAIN: Shape = Shape { name: "chain", count: 4, edges: &[(0, 1), (1, 2), (2, 3)] };

pub const ALL: [Shape; 7] = [TRIANGLE, LINE, FOUR, SQUARE, DIAMOND, PAW, CHAIN];

/// A leader's hellos are no farther apart than this.
pub const BEAT: Duration = ms(144);

/// In this time everybody says a whole hello.
pub const HELLOS: Duration = ms(1_536);

pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Shape {
    /// The shape's network, which the first board has led for so long that its successors watch it.
    pub fn led(self, seed: u64) -> World {
        let mut world = World::new(seed, self.count, self.edges);
        world.run(ms(8_000));
        world.befall(Deed::Tell(0, Signal::Elect));
        world.run(ms(6_000));
        assert_eq!(world.ledger.broken, None, "{}", self.name);
        assert!(world.ledger.agreed_since.is_some(), "{}", self.name);
        assert_eq!(world.boards[1].node.leader(), Some(world.id(0)), "{}", self.name);
        for &(one, other) in self.edges {
            assert!(world.boards[one].node.links().table().is_linked(world.id(other)), "{}", self.name);
        }
        world
    }

    /// The same at every moment of this time at which something happens.
    pub fn moments(self, seed: u64, length: Duration) -> Vec<World> {
        let mut world = self.led(seed);
        let until = world.now + length;
        let mut moments = vec![world.clone()];
        while let Some(step) = world.next(until) {
            world.perform(step, None);
            if moments.last().is_none_or(|last| last.now < world.now) {
                moments.push(world.clone());
            }
        }
        moments
    }

    /// Those that the first board hears.
    pub fn successors(self) -> impl Iterator<Item = usize> {
        self.edges.iter().filter(|(one, _)| *one == 0).map(|(_, other)| *other)
    }
}
