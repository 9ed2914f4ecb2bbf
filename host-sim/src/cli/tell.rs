//! `ringleader identify`, `elect`, `restart` and `rank`: tell a board on a cable to do something.

use std::process::ExitCode;

use super::ports::OnePort;
use crate::field::command::{Order, tell};
use crate::outln;

const EXAMPLES: &str = "\
The board on the cable acts at once, and this command waits until it confirms.

Examples:
  ringleader identify --port /dev/ttyACM0
  ringleader restart";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub to: OnePort,
}

#[derive(Debug, clap::Args)]
pub struct RankArgs {
    /// The rank, 0 to 255: the smaller, the sooner it leads its cluster
    pub rank: u8,
    #[command(flatten)]
    pub to: Args,
}

pub fn run(args: &Args, order: Order) -> anyhow::Result<ExitCode> {
    let endpoint = args.to.endpoint()?;
    let board = tell(&endpoint, order)?;
    outln!("board {} at {endpoint} ({}) {}", board.id, board.board.title(), order.effect())?;
    Ok(ExitCode::SUCCESS)
}
