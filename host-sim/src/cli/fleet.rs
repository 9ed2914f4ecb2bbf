//! `ringleader fleet`: lists all nodes of a network through one board on a cable.

use std::process::ExitCode;

use super::ports::OnePort;
use crate::field::roll_call;
use crate::{out, outln};

const DETAILS: &str = "\
The board asks all nodes over the air, whether it leads or not, and each answers: whom it follows and over which
neighbour, its boot and how long it has run, supply, build, counters, and its neighbours with their strength (--json
has all of it). The list is complete once everybody has answered whom somebody else has a link to; after ten
seconds it is printed as it is, with those that are missing.

Exit codes: 0 complete, 1 bad input or no answer at all, 3 somebody is missing.

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
