//! What a board's lights say, as data: one pattern for each condition, the same on every board.
//!
//! A pattern is a row of 125 ms steps that repeats, one step a bit. Boards with one light show it there; boards with more
//! show a fault on their second light as well, so that it can be seen from across the room.

use crate::node::snapshot::Snapshot;

pub const STEP_MS: u64 = 125;

/// Steps with the light on, from the lowest bit, and how many steps there are before it begins again.
#[derive(Clone, Copy)]
struct Pattern {
    bits: u16,
    length: u32,
}

/// The condition a board shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Condition {
    /// Waiting after a reset loop.
    HoldingOff,
    /// Something needs a person's attention: storage failed, the configuration is damaged, or another board has
    /// the same id.
    Fault,
    /// No link to anybody.
    Searching,
    /// Follows another node.
    Member,
    /// Leads.
    Leader,
    /// The button was pressed to find out which board this is.
    Identify,
}

impl Condition {
    /// The condition of a node that has no fault.
    pub fn of(snapshot: &Snapshot) -> Self {
        match snapshot.leader {
            // A node that is alone leads itself, which is not worth showing.
            _ if snapshot.links_up == 0 => Self::Searching,
            Some(leader) if leader == snapshot.id => Self::Leader,
            Some(_) => Self::Member,
            None => Self::Searching,
        }
    }

    const fn pattern(self) -> Pattern {
        match self {
            // Two short flashes every two seconds.
            Self::HoldingOff => Pattern { bits: 0b101, length: 16 },
            // Fast.
            Self::Fault => Pattern { bits: 0b01, length: 2 },
            // Half a second on, half a second off.
            Self::Searching => Pattern { bits: 0b1111, length: 8 },
            // One short flash every two seconds.
            Self::Member => Pattern { bits: 0b1, length: 16 },
            // On.
            Self::Leader => Pattern { bits: 0b1, length: 1 },
            // Three quick flashes, a pause.
            Self::Identify => Pattern { bits: 0b01_0101, length: 8 },
        }
    }

    /// Whether the light is on in a step, counted from any beginning.
    pub const fn is_on(self, step: u32) -> bool {
        let Pattern { bits, length } = self.pattern();
        bits >> (step % length) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use crate::node::snapshot::Snapshot;
    use crate::types::NodeId;

    const ALL: [Condition; 6] = [
        Condition::HoldingOff,
        Condition::Fault,
        Condition::Searching,
        Condition::Member,
        Condition::Leader,
        Condition::Identify,
    ];

    fn shown(condition: Condition) -> std::string::String {
        (0..16).map(|step| if condition.is_on(step) { '#' } else { '.' }).collect()
    }

    #[test]
    fn patterns_look_as_documented() {
        let all: std::vec::Vec<_> = ALL.into_iter().map(shown).collect();
        assert_eq!(
            all,
            [
                "#.#.............",
                "#.#.#.#.#.#.#.#.",
                "####....####....",
                "#...............",
                "################",
                "#.#.#...#.#.#..."
            ]
        );
    }

    #[test]
    fn no_two_look_alike() {
        for (at, one) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|&other| shown(other) != shown(*one)), "{one:?}");
        }
    }

    #[test]
    fn whoever_is_alone_searches() {
        let node = |links_up, leader| Snapshot { id: NodeId(1), leader, links_up, ..Snapshot::default() };
        assert_eq!(Condition::of(&node(0, Some(NodeId(1)))), Condition::Searching);
        assert_eq!(Condition::of(&node(1, Some(NodeId(1)))), Condition::Leader);
        assert_eq!(Condition::of(&node(1, Some(NodeId(2)))), Condition::Member);
        assert_eq!(Condition::of(&node(1, None)), Condition::Searching);
    }
}
