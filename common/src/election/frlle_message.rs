//! What nodes of FRLLE say to each other.

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::coefficient::Coefficient;
use crate::protocol::Message;
use crate::types::{NodeId, Side, Term};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FrlleBody {
    /// `msg`: a candidate.
    Election {
        creator: NodeId,
        /// Which leader is believed lost, where there was one.
        failed: Option<NodeId>,
        /// The least time since the election began here, in microseconds.
        delay: u32,
        /// How unfit the creator is.
        coefficient: Coefficient,
    },
    /// `lrmsg`: the leader believed lost has answered.
    Recovered(Option<NodeId>),
    /// `nldmsg`: the new leader.
    Declared(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FrlleMsg {
    pub term: Term,
    /// Where it is going.
    pub toward: Side,
    pub body: FrlleBody,
}

impl Message for FrlleMsg {
    fn kind(&self) -> &'static str {
        match self.body {
            FrlleBody::Election { .. } => "msg",
            FrlleBody::Recovered(_) => "lrmsg",
            FrlleBody::Declared(_) => "nldmsg",
        }
    }

    fn lane(&self) -> u8 {
        self.toward.lane()
    }
}

impl FrlleMsg {
    /// Whether two messages are the two copies of one thing that went around both ways.
    pub fn is_twin_of(&self, other: &Self) -> bool {
        match (self.body, other.body) {
            (FrlleBody::Election { creator: a, .. }, FrlleBody::Election { creator: b, .. })
            | (FrlleBody::Declared(a), FrlleBody::Declared(b)) => a == b,
            (FrlleBody::Recovered(a), FrlleBody::Recovered(b)) => a == b,
            _ => false,
        }
    }
}
