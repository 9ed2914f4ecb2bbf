//! The demo.
//!
//! A ring elects with HS, loses its leader and elects again. Then an ad hoc network forms, loses its leader, splits and
//! heals, with heights. Everything shown is done by the core itself on the ideal network.

mod adhoc;
mod picture;
mod ring;

use std::cell::RefCell;

use serde::Serialize;

use crate::output::counted;

/// What one scene came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    pub title: String,
    pub messages: u64,
    /// Rounds until the network was quiet; a message takes one.
    pub rounds: u64,
    /// The leader of each component, in the order of the components' smallest nodes.
    pub leaders: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The seed of the whole story.
    pub seed: u64,
    /// Nodes on the ring and in the ad hoc network.
    pub nodes: u16,
    /// Whether only the scenes' results are wanted, not the story.
    pub quiet: bool,
}

/// A story, or silence for machines.
pub struct Stage {
    quiet: bool,
    story: RefCell<String>,
    /// What its scenes came to.
    pub scenes: Vec<Scene>,
}

impl Stage {
    fn say(&self, line: impl AsRef<str>) {
        if !self.quiet {
            let mut story = self.story.borrow_mut();
            story.push_str(line.as_ref());
            story.push('\n');
        }
    }

    pub fn story(&self) -> String {
        self.story.borrow().clone()
    }

    fn close(&mut self, scene: Scene) {
        let leaders = scene.leaders.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (noun, verb) = if leaders.len() == 1 { ("node", "leads") } else { ("nodes", "lead one part each") };
        self.say(format!(
            "  => {noun} {} {verb}, after {} in {}\n",
            leaders.join(" and "),
            counted(scene.messages, "message"),
            counted(scene.rounds, "round")
        ));
        self.scenes.push(scene);
    }
}

/// Plays the whole story.
pub fn play(request: Request) -> Stage {
    let mut stage = Stage { quiet: request.quiet, story: RefCell::default(), scenes: Vec::new() };
    ring::play(request, &mut stage);
    adhoc::play(request, &mut stage);
    stage
}

#[cfg(test)]
mod tests {
    use super::{Request, play};

    #[test]
    fn every_story_ends_with_one_leader_per_part() {
        for seed in 0..40 {
            for nodes in [4, 5, 12, 17] {
                let stage = play(Request { seed, nodes, quiet: true });
                let mut leaders: Vec<usize> = stage.scenes.iter().map(|scene| scene.leaders.len()).collect();
                assert!(leaders.remove(3) >= 2, "the node that was carried away leads itself");
                assert_eq!(leaders, [1, 1, 1, 1, 2, 1], "seed {seed}, {nodes} nodes");
                assert_eq!(stage.scenes[0].leaders, [nodes], "the highest id leads a fresh ring");
                assert_eq!(stage.scenes[1].leaders, [nodes - 1], "then the second highest");
            }
        }
    }

    #[test]
    fn the_same_seed_tells_the_same_story() {
        let request = Request { seed: 9, nodes: 14, quiet: true };
        assert_eq!(play(request).scenes, play(request).scenes);
    }
}
