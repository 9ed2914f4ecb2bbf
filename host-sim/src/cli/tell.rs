//! `ringleader identify`, `elect`, `restart` and `rank`: tell a board on a cable to do something.

use std::process::ExitCode;

use common::orders::{Action, Command};
use common::types::NodeId;

use super::ports::OnePort;
use super::set::submit;
use super::told::Told;
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
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct RankArgs {
    /// The rank, 0 to 255: the smaller, the sooner it leads its cluster
    pub rank: u8,
    #[command(flatten)]
    pub to: OnePort,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Tells the board on the cable or, if a node is named, that node over the air.
pub fn run(args: &Args, order: Order, action: Action) -> anyhow::Result<ExitCode> {
    match args.node {
        Some(node) => submit(&args.to, Command::Act { action, target: NodeId(node) }, args.json),
        None => run_here(&args.to, order, args.json),
    }
}

/// Ranks the board on the cable.
pub fn rank(args: &RankArgs) -> anyhow::Result<ExitCode> {
    run_here(&args.to, Order::Rank(args.rank), args.json)
}

/// Tells the board on the cable.
fn run_here(to: &OnePort, order: Order, is_json: bool) -> anyhow::Result<ExitCode> {
    let endpoint = to.endpoint()?;
    let board = tell(&endpoint, order)?;
    if is_json {
        outln!("{}", serde_json::to_string_pretty(&Told::new(&endpoint, &board, order))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!("board {} at {endpoint} ({}) {}", board.id, board.board.title(), order.effect())?;
    Ok(ExitCode::SUCCESS)
}
