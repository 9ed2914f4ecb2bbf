//! Asks all nodes for their state, as `ringleader fleet` does, and checks that all are listed.

use std::collections::BTreeSet;

use common::types::NodeId;

use crate::air::index::NodeIndex;
use crate::roster::{PATIENCE_US, Roster};
use crate::scenario::report::fleet::Fleet;
use crate::scenario::report::spread::Spread;
use crate::scenario::run::agenda::Action;
use crate::scenario::run::drive::{Run, id_of};
use crate::scenario::run::program::Program;

/// A question under way.
#[derive(Clone, Debug)]
struct Round {
    asker: NodeIndex,
    roster: Roster,
    /// Who must be listed.
    wanted: BTreeSet<NodeId>,
    /// When all were.
    complete_us: Option<u64>,
}

/// The questions of a run.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    round: Option<Round>,
    report: Fleet,
}

impl Questions {
    fn close(&mut self) {
        let Some(Round { roster, wanted, complete_us, .. }) = self.round.take() else { return };
        let is_missing = |id: &&NodeId| !roster.answered().contains_key(id);
        self.report.listed += roster.answered().len() as u64;
        self.report.missing += wanted.iter().filter(is_missing).count() as u64;
        if let Some(at_us) = complete_us {
            self.report.complete += 1;
            self.report.latencies_ms.push((at_us - roster.asked_us()).div_ceil(1_000));
        }
    }
}

impl Run<'_> {
    /// A node asks, if it has power: the one that is named, or else one that leads.
    pub(super) fn ask_fleet(&mut self, now: u64) {
        let Some(plan) = &self.scenario.fleet else { return };
        self.agenda.add(now + plan.every_us, Action::Ask);
        let (world, is_on) = (&self.world, |node: &NodeIndex| self.world.is_on(*node));
        let leads = |node: &NodeIndex| world.station(*node).leader() == Some(id_of(*node));
        let asker = plan.node.or_else(|| NodeIndex::first(world.len()).filter(is_on).find(leads));
        let Some(asker) = asker.filter(is_on) else { return };
        self.questions.close();
        self.questions.report.asked += 1;
        let own = self.judge.components().usable.iter().find(|members| members.contains(&asker));
        let wanted = own.into_iter().flatten().map(|&node| id_of(node)).collect();
        let number = u8::try_from(self.questions.report.asked % 256).unwrap_or(0);
        self.questions.round = Some(Round { asker, roster: Roster::new(now, number), wanted, complete_us: None });
        self.gather_fleet(now);
    }

    /// Takes the answers that have come, and asks again where it is time to.
    pub(super) fn gather_fleet(&mut self, now: u64) {
        let Some(Round { asker, mut roster, wanted, mut complete_us }) = self.questions.round.take() else { return };
        let question = roster.poll(now);
        self.world.tell(asker, &mut self.observer, |program, local| {
            let Program::Node(station) = program else { return };
            if let Some(question) = question {
                station.ask(local, question);
            }
            for (number, from, report) in station.take_answers() {
                roster.note(now, number, from, &report);
            }
        });
        if complete_us.is_none() && wanted.iter().all(|id| roster.answered().contains_key(id)) {
            complete_us = Some(now);
        }
        let is_over = roster.is_over(now) || !self.world.is_on(asker);
        self.questions.round = Some(Round { asker, roster, wanted, complete_us });
        if is_over {
            self.questions.close();
        }
    }

    /// What became of the questions. One that the end of the run cuts off does not count.
    pub(super) fn fleet(&self) -> Option<Fleet> {
        self.scenario.fleet.as_ref()?;
        let mut questions = self.questions.clone();
        match &questions.round {
            Some(round) if self.world.now_us() < round.roster.asked_us() + PATIENCE_US => questions.report.asked -= 1,
            _ => questions.close(),
        }
        let report = questions.report;
        Some(Fleet { latency_ms: Spread::of(report.latencies_ms.clone()), ..report })
    }
}
