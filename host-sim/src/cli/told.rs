//! What orders to boards print with --json.

use common::host_link::Hello;
use common::orders::{Command, Outcome};
use serde::Serialize;

use crate::field::command::Order;
use crate::field::monitor::line::Endpoint;

/// What the board on the cable was told to do.
#[derive(Debug, Serialize)]
pub struct Told {
    command: &'static str,
    /// Only of `rank`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<u8>,
    port: String,
    /// The board on the cable.
    id: u16,
    board: &'static str,
    /// What it does now.
    does: String,
}

impl Told {
    pub fn new(endpoint: &Endpoint, board: &Hello, order: Order) -> Self {
        let (command, rank) = match order {
            Order::Identify => ("identify", None),
            Order::Elect => ("elect", None),
            Order::Restart => ("restart", None),
            Order::Rank(rank) => ("rank", Some(rank)),
        };
        let (id, port) = (board.id.0, endpoint.to_string());
        Self { command, rank, port, id, board: board.board.name(), does: order.effect() }
    }
}

/// A command that went over the air, and what became of it.
#[derive(Debug, Serialize)]
pub struct Submitted {
    command: &'static str,
    /// Only of `set`, as is the value: times in milliseconds, switches as 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    /// Only of the others; 0 is every node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u16>,
    /// Where it was submitted.
    port: String,
    /// In the order in which the board reported them. The last is final.
    outcomes: Vec<Became>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
enum Became {
    Ordered,
    Applied { by: u8, of: u8 },
    Superseded { leader: u16, index: u16 },
    Expired,
    Refused,
    Busy,
}

impl Submitted {
    pub fn new(endpoint: &Endpoint, command: Command, outcomes: &[Outcome]) -> Self {
        let (command, register, value, node) = match command {
            Command::Set { register, value } => ("set", Some(register.to_string()), Some(value), None),
            Command::Act { action, target } => (action.name(), None, None, Some(target.0)),
        };
        let became = |outcome: &Outcome| match *outcome {
            Outcome::Ordered => Became::Ordered,
            Outcome::Applied { by, of } => Became::Applied { by, of },
            Outcome::Superseded { leader, index } => Became::Superseded { leader: leader.0, index },
            Outcome::Expired => Became::Expired,
            Outcome::Refused => Became::Refused,
            Outcome::Busy => Became::Busy,
        };
        let (port, outcomes) = (endpoint.to_string(), outcomes.iter().map(became).collect());
        Self { command, register, value, node, port, outcomes }
    }
}
