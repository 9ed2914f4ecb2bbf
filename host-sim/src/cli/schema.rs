//! `ringleader schema`: what `--json` prints, described for programs that read it.

use std::process::ExitCode;

use anyhow::bail;

use crate::{out, outln};

const DETAILS: &str = "\
The schemas are JSON Schema, and tests hold the commands to them. Fields may be added; those that are there
keep their meaning.

Examples:
  ringleader schema
  ringleader schema sweep > sweep.schema.json";

/// Each command with its schema.
const SCHEMAS: [(&str, &str); 28] = [
    ("bench-air", include_str!("../../schemas/bench-air.json")),
    ("bench-boards", include_str!("../../schemas/bench-boards.json")),
    ("bench-core", include_str!("../../schemas/bench-core.json")),
    ("bench-elections", include_str!("../../schemas/bench-elections.json")),
    ("bench-nodes", include_str!("../../schemas/bench-nodes.json")),
    ("board", include_str!("../../schemas/board.json")),
    ("check", include_str!("../../schemas/check.json")),
    ("conform", include_str!("../../schemas/conform.json")),
    ("demo", include_str!("../../schemas/demo.json")),
    ("elect", include_str!("../../schemas/elect.json")),
    ("fleet", include_str!("../../schemas/fleet.json")),
    ("hierarchy", include_str!("../../schemas/hierarchy.json")),
    ("identify", include_str!("../../schemas/identify.json")),
    ("links", include_str!("../../schemas/links.json")),
    // A sweep in parts is a sweep.
    ("merge", include_str!("../../schemas/sweep.json")),
    ("monitor", include_str!("../../schemas/monitor.json")),
    ("rank", include_str!("../../schemas/rank.json")),
    ("restart", include_str!("../../schemas/restart.json")),
    ("run", include_str!("../../schemas/run.json")),
    ("scenarios", include_str!("../../schemas/scenarios.json")),
    ("set", include_str!("../../schemas/set.json")),
    ("size", include_str!("../../schemas/size.json")),
    ("stress-hierarchy", include_str!("../../schemas/stress-hierarchy.json")),
    ("stress-lies", include_str!("../../schemas/stress-lies.json")),
    ("study", include_str!("../../schemas/study.json")),
    ("swarm", include_str!("../../schemas/swarm.json")),
    ("sweep", include_str!("../../schemas/sweep.json")),
    ("table", include_str!("../../schemas/table.json")),
];

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The command whose output is described; without it, the commands that have a schema are listed
    command: Option<String>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let names = SCHEMAS.map(|(name, _)| name);
    match &args.command {
        None => outln!("{}", names.join("\n"))?,
        Some(wanted) => match SCHEMAS.iter().find(|(name, _)| name == wanted) {
            Some((_, text)) => out!("{text}")?,
            None => bail!("no schema is called {wanted:?}; there are {}", names.join(", ")),
        },
    }
    Ok(ExitCode::SUCCESS)
}
