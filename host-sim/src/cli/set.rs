//! `ringleader set`: sets a register of the whole network through one board on a cable.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use common::orders::{Command, Description, Outcome, REGISTERS, RegisterUnit};
use serde::Serialize;
use sim::scenario::input::commands::{parse_set, shown};

use super::ports::OnePort;
use super::told::Submitted;
use crate::field::command;
use crate::outln;

const EXAMPLES: &str = "\
The board submits the command, the leader puts it in order with all others, and every node applies it. This command waits for
the outcome: how many of the nodes that the leader knows applied it, or that it was superseded or has expired. Id, network,
channel and key are not set this way: see `ringleader provision`.

Exit codes: 0 applied by all known nodes, 1 bad input or refused, 3 expired, superseded, or not applied by all.

Examples:
  ringleader set --list
  ringleader set sample=1s --port /dev/ttyACM0
  ringleader set sample=1s --json | jq '.outcomes[-1]'";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to set, such as sample=1s
    #[arg(required_unless_present = "list")]
    setting: Option<String>,
    /// List the registers with their ranges
    #[arg(long, conflicts_with_all = ["setting", "port", "socket"])]
    list: bool,
    #[command(flatten)]
    to: OnePort,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct List {
    registers: Vec<Register>,
}

/// A register with a meaning. Its values are in its unit: times in milliseconds, switches 0 or 1.
#[derive(Serialize)]
struct Register {
    name: &'static str,
    unit: &'static str,
    least: u32,
    most: u32,
    default: u32,
    about: &'static str,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.setting {
        Some(setting) => submit(&args.to, parse_set(setting).map_err(|what| anyhow!(what))?, args.json),
        None if args.json => list_json(),
        None => list(),
    }
}

fn list() -> anyhow::Result<ExitCode> {
    outln!("register  least      most        default  what it is")?;
    for known in REGISTERS {
        let [least, most, usual] = [known.least, known.most, known.usual].map(|value| shown(known, value));
        outln!("{:<8}  {least:<9}  {most:<10}  {usual:<7}  {}", known.name, known.about)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list_json() -> anyhow::Result<ExitCode> {
    let register = |known: &Description| {
        let unit = match known.unit {
            RegisterUnit::Milliseconds => "ms",
            RegisterUnit::Switch => "switch",
            RegisterUnit::Number => "number",
        };
        let Description { name, least, most, usual: default, about, .. } = *known;
        Register { name, unit, least, most, default, about }
    };
    let registers = REGISTERS.iter().map(register).collect();
    outln!("{}", serde_json::to_string_pretty(&List { registers })?)?;
    Ok(ExitCode::SUCCESS)
}

/// Gives the network a command through a board, and reports the outcome.
pub fn submit(to: &OnePort, command: Command, is_json: bool) -> anyhow::Result<ExitCode> {
    let endpoint = to.endpoint()?;
    let mut outcomes = Vec::new();
    let outcome = command::submit(&endpoint, command, |outcome| {
        outcomes.push(outcome);
        if is_json { Ok(()) } else { outln!("{command}: {outcome}") }
    })?;
    if is_json {
        outln!("{}", serde_json::to_string_pretty(&Submitted::new(&endpoint, command, &outcomes))?)?;
    }
    match outcome {
        Outcome::Applied { by, of } if by >= of => Ok(ExitCode::SUCCESS),
        Outcome::Refused | Outcome::Busy => bail!("the board refused the command"),
        _ => Ok(ExitCode::from(3)),
    }
}
