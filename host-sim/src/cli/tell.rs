//! `ringleader identify`, `elect`, `restart` and `rank`: tell a board on a cable to do something.

use std::process::ExitCode;

use common::orders::{Action, Command};
use common::types::NodeId;

use super::ports::OnePort;
use super::set::submit;
use crate::field::command::{Order, tell};
use crate::outln;

const EXAMPLES: &str = "\
The board on the cable acts at once, and this command waits until it confirms. With a node's id it goes over the air: the leader
gives it its place among all commands, and this command tells what becomes of it. Where node 0 is to elect, the leader does.

Examples:
  ringleader identify 7 --port /dev/ttyACM0
  ringleader identify --port /dev/ttyACM0
  ringleader restart";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The node that is to do it, over the air; 0 is every node [default: the board on the cable]
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

/// Tells the board on the cable or, where a node is named, that one over the air.
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
