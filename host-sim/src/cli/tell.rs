//! `ringleader identify`, `elect`, `restart` and `rank`: tell a board on a cable to do something.

use std::process::ExitCode;

use common::orders::{Action, Command};
use common::types::NodeId;

use super::ports::OnePort;
use super::set::submit;
use crate::field::command::{Order, tell};
use crate::outln;

const EXAMPLES: &str = "\
The board on the cable acts at once, and this command waits until it confirms. With a node's id the command goes over the air:
the leader puts it in order with all others, and this command reports the outcome. An election of node 0 is the leader's to start.

Examples:
  ringleader identify 7 --port /dev/ttyACM0
  ringleader identify --port /dev/ttyACM0
  ringleader restart";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The node to act, over the air; 0 means every node [default: the board on the cable]
    pub node: Option<u16>,
    #[command(flatten)]
    pub to: OnePort,
}

#[derive(Debug, clap::Args)]
pub struct RankArgs {
    /// The rank, 0 to 255: the smaller, the sooner it leads its cluster
    pub rank: u8,
    #[command(flatten)]
    pub to: OnePort,
}

/// Tells the board on the cable or, if a node is named, that node over the air.
pub fn run(args: &Args, order: Order, action: Action) -> anyhow::Result<ExitCode> {
    match args.node {
        Some(node) => submit(&args.to, Command::Act { action, target: NodeId(node) }),
        None => run_here(&args.to, order),
    }
}

/// Tells the board on the cable.
pub fn run_here(to: &OnePort, order: Order) -> anyhow::Result<ExitCode> {
    let endpoint = to.endpoint()?;
    let board = tell(&endpoint, order)?;
    outln!("board {} at {endpoint} ({}) {}", board.id, board.board.title(), order.effect())?;
    Ok(ExitCode::SUCCESS)
}
