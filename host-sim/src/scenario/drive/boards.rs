//! The nodes of a scenario that are emulated boards.

use std::collections::BTreeMap;

use common::types::NodeId;
use emulator::log::Line;

use super::super::observer::Recorders;
use super::super::outcome::Outcome;
use super::super::plan::{Flash, NodePlan, Scenario, board_power};
use super::super::player::Player;
use super::act::names;
use super::{Run, id_of};
use crate::board::fleet::{Fleet, Image};
use crate::board::mirror::Mirror;
use crate::board::report::BoardReport;

/// A board that lost its power in the middle of a write gets it back after this long.
const POWER_AGAIN_US: u64 = 1_000_000;

/// Gets every line of a board's log: the world's time, the node and the line.
pub type LogHook<'h> = &'h mut dyn FnMut(u64, NodeId, &Line);

/// Gets the world's time and the boards, a hundred times in every second of the world.
pub type ProgressHook<'h> = &'h mut dyn FnMut(u64, &Fleet);

/// Who wants to see a run on boards while it goes on.
#[derive(Default)]
pub struct Hooks<'h> {
    /// The logs.
    pub log: Option<LogHook<'h>>,
    /// How far it is.
    pub progress: Option<ProgressHook<'h>>,
}

/// Runs a scenario with its boards as emulated boards that run an image, and says what became of each.
pub fn run_boards<'r>(
    scenario: &'r Scenario,
    seed: u64,
    recorders: Recorders,
    image: &Image,
    hooks: Hooks<'r>,
) -> anyhow::Result<(Outcome, Vec<BoardReport>)> {
    let mut run = Run::new(scenario, seed, recorders);
    run.hooks = hooks;
    run.make_boards(image)?;
    run.play();
    run.observer.finish()?;
    let reports = run.fleet.reports();
    Ok((run.finish(), reports))
}

impl Run<'_> {
    /// Makes boards of the nodes that are to be boards. To be done before anything is switched on.
    fn make_boards(&mut self, image: &Image) -> anyhow::Result<()> {
        let plan_of = |node| self.scenario.nodes.get(&node).copied().unwrap_or_default();
        let chosen: Vec<usize> = (0..self.nodes).filter(|&node| image.all || plan_of(node).is_board).collect();
        let mut configs = BTreeMap::new();
        for &node in &chosen {
            if let Some(why) = self.scenario.not_a_board(node) {
                anyhow::bail!("node {} cannot be a board: {why}", id_of(node));
            }
            let NodePlan { channel, tx_dbm, .. } = plan_of(node);
            let power = board_power(tx_dbm.unwrap_or(self.scenario.radio.tx_dbm)).unwrap_or(0);
            let channel = channel.unwrap_or(self.scenario.radio.channel);
            configs.extend(self.cast.board_config(id_of(node), channel, power).map(|config| (node, config)));
        }
        self.fleet = Fleet::new(image, &configs, self.seed)?;
        for node in chosen {
            self.world.open_port(node);
            self.world.replace(node, Player::Board(Box::new(Mirror::new(id_of(node)))));
            self.fleet.set_drift(node, self.world.drift_ppm(node));
            self.observer.set_opaque(id_of(node));
        }
        Ok(())
    }

    /// Takes note of what the boards have said, and of what became of them.
    pub(super) fn listen_to_boards(&mut self, now: u64) {
        for number in 0..self.fleet.nodes().len() {
            let node = self.fleet.nodes()[number];
            self.hear_board(now, node);
            if let Some(what) = self.fleet.trouble(node) {
                self.observer.object(now, node, format!("the board of node {} is stuck: {what}", id_of(node)));
            }
            if self.world.is_on(node) && !self.fleet.is_on(node) {
                self.switch_off(now, node);
                self.change(now, format!("{} lost power in the middle of a write", names(&[node])));
                self.keep_off(now, vec![node], Some(POWER_AGAIN_US), Flash::Kept);
            }
        }
        if let Some(progress) = &mut self.hooks.progress {
            progress(now, &self.fleet);
        }
    }

    fn hear_board(&mut self, now: u64, node: usize) {
        let news = self.fleet.news(node);
        if let Some(log) = &mut self.hooks.log {
            news.lines.iter().for_each(|line| log(now, id_of(node), line));
        }
        for said in &news.said {
            let was_mute = self.world.station(node).is_mute();
            self.world.tell(node, &mut self.observer, |player, _| {
                player.hear(said);
            });
            // A board that only listens is no part of any component.
            self.moved |= self.world.station(node).is_mute() != was_mute;
            if let Player::Board(board) = self.world.station(node)
                && let Some(what) = board.defect()
            {
                let what = format!("the image of node {} crashed: {what}", id_of(node));
                self.observer.object(now, node, what);
            }
        }
    }
}
