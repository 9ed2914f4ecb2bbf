//! What a PC tells the board on its cable to do.

use std::time::Duration;

use anyhow::bail;
use common::host_link::{Hello, ToBoard, ToHost};
use common::orders::{Command, Outcome};
use serde::Deserialize;

use crate::field::monitor::line::Endpoint;
use crate::field::talk::{Silence, Talk};

/// A board may be busy with its radio or its flash.
const ANSWER_WAIT: Duration = Duration::from_secs(15);

/// A command that nobody orders expires after half a minute, and one that is ordered is counted for ten seconds.
const OUTCOME_WAIT: Duration = Duration::from_secs(40);

/// Outcomes of one command: it is ordered, perhaps by several leaders in turn, and ends. A board that reports more is wrong.
const OUTCOMES_MAX: u32 = 64;

/// Any number will do: the board returns it.
const PING: u32 = 0x0B0A_2D01;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Identify,
    Elect,
    Restart,
    Rank(u8),
}

impl Order {
    pub fn message(self) -> ToBoard {
        match self {
            Self::Identify => ToBoard::Identify,
            Self::Elect => ToBoard::Elect,
            Self::Restart => ToBoard::Reset { record: false },
            Self::Rank(rank) => ToBoard::SetRank(rank),
        }
    }

    /// What the board does now.
    pub fn effect(self) -> String {
        match self {
            Self::Identify => "blinks".to_owned(),
            Self::Elect => "asks for an election".to_owned(),
            Self::Restart => "starts again".to_owned(),
            Self::Rank(rank) => format!("has rank {rank}"),
        }
    }
}

/// Tells a board to do something, waits until it has taken that in, and returns who it is.
pub fn tell(endpoint: &Endpoint, order: Order) -> anyhow::Result<Hello> {
    let mut talk = Talk::open(endpoint)?;
    talk.say(&ToBoard::GetHello)?;
    let hello = |said| if let ToHost::Hello(hello) = said { Some(hello) } else { None };
    let board = talk.answer(ANSWER_WAIT, hello)?;
    talk.say(&order.message())?;
    if order == Order::Restart {
        // Its port may vanish with it, which tells as much as its next hello.
        return match talk.hear(ANSWER_WAIT, hello) {
            Ok(_) | Err(Silence::Gone(_)) => Ok(board),
            Err(silence) => Err(silence.into()),
        };
    }
    // Messages are handled in order, so a board that answers this one has received the one before it.
    talk.say(&ToBoard::Ping(PING))?;
    talk.answer(ANSWER_WAIT, |said| (said == ToHost::Pong(PING)).then_some(()))?;
    Ok(board)
}

/// Gives the network a command through a board, reports every outcome as it comes, and returns the last.
pub fn submit(
    endpoint: &Endpoint,
    command: Command,
    mut tell: impl FnMut(Outcome) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let mut talk = Talk::open(endpoint)?;
    // Whatever the board says of other commands has another ticket.
    let ticket = std::process::id();
    talk.say(&ToBoard::Submit { ticket, command })?;
    for _ in 0..OUTCOMES_MAX {
        let wanted = |said| match said {
            ToHost::Submitted { ticket: of, outcome } if of == ticket => Some(outcome),
            _ => None,
        };
        let outcome = talk.answer(OUTCOME_WAIT, wanted)?;
        tell(outcome)?;
        if outcome.is_final() {
            return Ok(outcome);
        }
    }
    bail!("the board at {endpoint} keeps reporting outcomes, and none of them is final")
}

#[cfg(test)]
mod tests {
    use common::host_link::ToHost;
    use common::orders::{Command, Outcome, Register};

    use crate::field::talk::tests::chatterbox;

    #[test]
    fn a_board_that_tells_of_a_command_without_end_hangs_nobody() {
        let endpoint = chatterbox(&ToHost::Submitted { ticket: std::process::id(), outcome: Outcome::Ordered });
        let command = Command::Set { register: Register::SAMPLE, value: 1_000 };
        let error = super::submit(&endpoint, command, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("none of them is final"), "{error}");
    }
}
