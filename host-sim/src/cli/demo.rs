//! `ringleader demo`, and `ringleader` without arguments.

use std::process::ExitCode;

use crate::lab::demo::{Request, Scene, play};
use crate::outln;
use crate::output;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the pictures a leader is in brackets, [7], and a dead node is an x. The same seed shows the same story.")]
pub struct Args {
    /// The seed of the whole story
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Nodes on the ring and in the ad hoc network
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(4..=40))]
    pub nodes: u16,
    /// Print only the summary, as JSON
    #[arg(long)]
    pub json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self { seed: 1, nodes: 12, json: false }
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let stage = play(Request { seed: args.seed, nodes: args.nodes, quiet: args.json });
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&stage.scenes)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&stage.story())?;
    outln!("Summary (seed {})", args.seed)?;
    outln!("  {:<44} {:>8} {:>7}  leader", "what happened", "messages", "rounds")?;
    for Scene { title, messages, rounds, leaders } in &stage.scenes {
        let leaders = leaders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        outln!("  {title:<44} {messages:>8} {rounds:>7}  {leaders}")?;
    }
    outln!("\nThe same code runs on the boards. Next: ringleader table, ringleader study, ringleader --help.")?;
    Ok(ExitCode::SUCCESS)
}
