//! `ringleader fleet`: lists all nodes of a network through one board on a cable.

use std::process::ExitCode;

use super::ports::OnePort;
use crate::field::roll_call;
use crate::{out, outln};

const DETAILS: &str = "\
The board, leader or not, asks all nodes over the air. Each answers with its leader and the neighbour on the way
there, its boot and uptime, supply, build, counters, and its neighbours with their signal strength (--json has all
of it). The list is complete once every node that another one has a link to has answered. After ten seconds it is
printed anyway, with the nodes that are missing.

Exit codes: 0 complete, 1 bad input or no answer at all, 3 nodes are missing.

Examples:
  ringleader fleet --port /dev/ttyACM0
  ringleader fleet --json | jq '.nodes[] | {id, supply_mv}'";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    #[command(flatten)]
    to: OnePort,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let call = roll_call::ask(&args.to.endpoint()?)?;
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&call)?)?;
    } else {
        out!("{}", call.text())?;
    }
    Ok(if call.complete { ExitCode::SUCCESS } else { ExitCode::from(3) })
}
