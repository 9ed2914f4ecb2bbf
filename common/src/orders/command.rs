//! What a network can be told: registers to set and actions to take, each described once with its name, unit and range.
//!
//! Id, network, channel and key are not among them and never will be: one wrong byte would strand a board.

use core::fmt;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::types::NodeId;

/// How many registers a network has: a register's number takes four bits.
pub const REGISTERS_MAX: usize = 16;

/// A setting of the whole network. Its number is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Register(u8);

/// What a register means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    pub name: &'static str,
    pub unit: RegisterUnit,
    pub least: u32,
    pub most: u32,
    /// The value before anybody has ordered another.
    pub usual: u32,
    /// For people; a board does not carry it.
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterUnit {
    Milliseconds,
    /// 0 or 1, written off or on.
    Switch,
    Number,
}

const fn on_pc(about: &'static str) -> &'static str {
    if cfg!(target_os = "none") { "" } else { about }
}

const fn time(name: &'static str, [least, most, usual]: [u32; 3], about: &'static str) -> Description {
    Description { name, unit: RegisterUnit::Milliseconds, least, most, usual, about: on_pc(about) }
}

const fn free(name: &'static str) -> Description {
    let about = on_pc("a number for the application; Ringleader does not use it");
    Description { name, unit: RegisterUnit::Number, least: 0, most: u32::MAX, usual: 0, about }
}

/// Every register that has a meaning, by number. Others are stored and passed on, for nodes with a firmware that knows
/// them.
pub const REGISTERS: &[Description] = &[
    time("sample", [1_000, 3_600_000, 5_000], "how often boards measure"),
    time("send", [10_000, 86_400_000, 60_000], "how often boards send what they have measured"),
    Description {
        name: "lights",
        unit: RegisterUnit::Switch,
        least: 0,
        most: 1,
        usual: 1,
        about: on_pc("whether boards show on their lights who leads"),
    },
    free("user0"),
    free("user1"),
    free("user2"),
    free("user3"),
];

const _: () = assert!(REGISTERS.len() <= REGISTERS_MAX);

impl Register {
    pub const SAMPLE: Self = Self(0);
    pub const SEND: Self = Self(1);
    pub const LIGHTS: Self = Self(2);

    /// The register of this number; none if there is no such number.
    pub fn new(number: u8) -> Option<Self> {
        (usize::from(number) < REGISTERS_MAX).then_some(Self(number))
    }

    pub fn named(name: &str) -> Option<Self> {
        REGISTERS.iter().position(|known| known.name == name).and_then(|at| u8::try_from(at).ok()).map(Self)
    }

    pub const fn number(self) -> u8 {
        self.0
    }

    /// None if this build gives it no meaning.
    pub fn description(self) -> Option<&'static Description> {
        REGISTERS.get(usize::from(self.0))
    }

    /// Its value before anybody has ordered another.
    pub fn usual(self) -> u32 {
        self.description().map_or(0, |known| known.usual)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.description() {
            Some(known) => f.write_str(known.name),
            None => write!(f, "register {}", self.0),
        }
    }
}

/// What nodes do once, when they are told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Action {
    /// Blink, so that a person finds the board.
    Identify,
    /// Start again.
    Restart,
    /// Ask for an election. Where nobody is named, the leader does.
    Elect,
}

impl Action {
    pub const ALL: [Self; 3] = [Self::Identify, Self::Restart, Self::Elect];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Identify => "identify",
            Self::Restart => "restart",
            Self::Elect => "elect",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    Set {
        register: Register,
        value: u32,
    },
    /// `target` 0 is everybody.
    Act {
        action: Action,
        target: NodeId,
    },
}

impl Command {
    /// Whether every node may be given it: registers with a meaning stay in their range.
    pub fn is_allowed(self) -> bool {
        match self {
            Self::Set { register, value } => {
                let is_in_range = |known: &Description| (known.least..=known.most).contains(&value);
                Register::new(register.0).is_some() && register.description().is_none_or(is_in_range)
            }
            Self::Act { .. } => true,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { register, value } => write!(f, "{register}={value}"),
            Self::Act { action, target: NodeId(0) } => f.write_str(action.name()),
            Self::Act { action, target } => write!(f, "{} {target}", action.name()),
        }
    }
}

/// Identifies a command by its origin and the origin's count. A retry has the same key, so that no leader orders it
/// twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Key {
    pub origin: NodeId,
    /// Tells apart two boards that had one id at different times.
    pub device: u8,
    pub epoch: u16,
    /// Counts the commands of this boot; starts over.
    pub number: u8,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The leader has given it a stamp. More will be told.
    Ordered,
    /// This many of the nodes that the leader knows of are known to have applied it, both counting the leader. That is the
    /// end, whether or not it is all.
    Applied { by: u8, of: u8 },
    /// A later order for the same register took its place before all were known to have applied it: the leader that gave it, and
    /// its number.
    Superseded { leader: NodeId, index: u16 },
    /// No leader is known to have ordered it in time, and none will.
    Expired,
    /// The value is out of the register's range, here or at the leader.
    Refused,
    /// The node that was to submit it has as many commands without an outcome as it keeps.
    Busy,
}

impl Outcome {
    /// Whether nothing more will be told.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Ordered)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordered => f.write_str("ordered"),
            Self::Applied { by, of } => write!(f, "applied by {by} of {of}"),
            Self::Superseded { leader, index } => write!(f, "superseded by order {index} of leader {leader}"),
            Self::Expired => f.write_str("expired: no leader is known to have ordered it in time"),
            Self::Refused => f.write_str("refused: out of range"),
            Self::Busy => f.write_str("not taken: earlier commands have no outcome yet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, REGISTERS, Register};

    #[test]
    fn every_register_has_its_own_name_and_a_sound_range() {
        for (at, known) in REGISTERS.iter().enumerate() {
            assert!((known.least..=known.most).contains(&known.usual), "{}", known.name);
            assert_eq!(Register::named(known.name).map(|register| usize::from(register.number())), Some(at));
        }
        assert_eq!(Register::named("channel"), None, "never over the air");
    }

    #[test]
    fn values_out_of_range_are_not_allowed() {
        let set = |value| Command::Set { register: Register::SAMPLE, value };
        assert!(set(1_000).is_allowed() && !set(999).is_allowed());
        assert!(
            Register::new(15).is_some_and(|register| Command::Set { register, value: 7 }.is_allowed()),
            "unknown here"
        );
        assert_eq!(Register::new(16), None);
    }
}
