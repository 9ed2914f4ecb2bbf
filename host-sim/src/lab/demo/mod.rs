//! `ringleader` without arguments: the product at a glance.
//!
//! A ring elects with HS, loses its leader and elects again; an ad hoc network forms, loses its leader, falls apart and
//! heals with heights. Everything shown is the core's own doing on the ideal network.

mod adhoc;
mod picture;
mod ring;

use std::cell::RefCell;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::output;
use crate::outln;

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the pictures a leader stands in brackets, [7], and a dead node is an x. The same seed shows the same story.")]
pub struct Args {
    /// The seed of the whole story
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Nodes on the ring and in the ad hoc network
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(4..=40))]
    pub nodes: u16,
    /// Print the summary as JSON and nothing else
    #[arg(long)]
    pub json: bool,
}

impl Default for Args {
    fn default() -> Self {
        Self { seed: 1, nodes: 12, json: false }
    }
}

/// What one scene came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    /// What happened.
    pub title: String,
    /// Messages sent.
    pub messages: u64,
    /// Rounds until everything was quiet; a message takes one.
    pub rounds: u64,
    /// The leader of each component, components by their smallest node.
    pub leaders: Vec<u16>,
}

/// A story, or silence for machines.
struct Stage {
    quiet: bool,
    story: RefCell<String>,
    scenes: Vec<Scene>,
}

impl Stage {
    fn say(&self, line: impl AsRef<str>) {
        if !self.quiet {
            let mut story = self.story.borrow_mut();
            story.push_str(line.as_ref());
            story.push('\n');
        }
    }

    fn close(&mut self, scene: Scene) {
        let leaders = scene.leaders.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (noun, verb) = if leaders.len() == 1 { ("node", "leads") } else { ("nodes", "lead their parts") };
        self.say(format!(
            "  => {noun} {} {verb}, after {} messages in {} rounds\n",
            leaders.join(" and "),
            scene.messages,
            scene.rounds
        ));
        self.scenes.push(scene);
    }
}

/// Plays the whole story and gives what its scenes came to.
fn play(args: &Args) -> Stage {
    let mut stage = Stage { quiet: args.json, story: RefCell::default(), scenes: Vec::new() };
    ring::play(args, &mut stage);
    adhoc::play(args, &mut stage);
    stage
}

/// Shows the product.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let stage = play(args);
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&stage.scenes)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&stage.story.borrow())?;
    outln!("Summary (seed {})", args.seed)?;
    outln!("  {:<44} {:>8} {:>7}  leader", "what happened", "messages", "rounds")?;
    for Scene { title, messages, rounds, leaders } in &stage.scenes {
        let leaders = leaders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        outln!("  {title:<44} {messages:>8} {rounds:>7}  {leaders}")?;
    }
    outln!("\nThe same code runs on the boards. Next: ringleader table, ringleader study, ringleader --help.")?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::{Args, play};

    #[test]
    fn every_story_ends_with_one_leader_per_part() {
        for seed in 0..40 {
            for nodes in [4, 5, 12, 17] {
                let stage = play(&Args { seed, nodes, json: true });
                let mut leaders: Vec<usize> = stage.scenes.iter().map(|scene| scene.leaders.len()).collect();
                assert!(leaders.remove(3) >= 2, "whoever was carried away leads itself");
                assert_eq!(leaders, [1, 1, 1, 1, 2, 1], "seed {seed}, {nodes} nodes");
                assert_eq!(stage.scenes[0].leaders, [nodes], "the highest id leads a fresh ring");
                assert_eq!(stage.scenes[1].leaders, [nodes - 1], "then the second highest");
            }
        }
    }

    #[test]
    fn the_same_seed_tells_the_same_story() {
        let args = Args { seed: 9, nodes: 14, json: true };
        assert_eq!(play(&args).scenes, play(&args).scenes);
    }
}
