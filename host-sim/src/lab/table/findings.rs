//! The best and worst case of each algorithm: which scenario shows it, and what that costs.

use anyhow::ensure;
use common::coefficient::Coefficient;
use common::election::Algorithm;
use common::types::NodeId;

use super::Case;
use super::measure::{Run, Starters, abraham, bully, hs, lcr, modified_bully, ring, timer_based};
use crate::lab::hs_extremes;
use crate::lab::ring_steps::{self, Member, Mode, Outcome, Script, Timed};

/// What was measured for one cost of one case.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How much it was.
    pub value: u64,
    /// What happened on the network.
    pub scenario: &'static str,
    /// Why it differs from what Biswas et al. print; ignored if it does not.
    pub why: String,
}

/// What was measured for one case.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The messages of the whole election.
    pub messages: Measured,
    pub steps: Measured,
    /// What else is worth knowing.
    pub remark: String,
}

impl Finding {
    /// A finding where nothing needs to be explained.
    fn plain(messages: u64, of: &'static str, steps: u64, during: &'static str) -> Self {
        Self { messages: measured(messages, of), steps: measured(steps, during), remark: String::new() }
    }
}

fn measured(value: u64, scenario: &'static str) -> Measured {
    Measured { value, scenario, why: String::new() }
}

/// Runs whatever scenarios a case of an algorithm needs with n nodes.
pub fn find(algorithm: Algorithm, case: Case, n: u16) -> anyhow::Result<Finding> {
    match algorithm {
        Algorithm::Ring => find_ring(case, n),
        Algorithm::Lcr => find_lcr(case, n),
        Algorithm::Hs => find_hs(case, n),
        Algorithm::TimerBased => find_timer_based(case, n),
        Algorithm::Bully => find_bully(case, n),
        Algorithm::ModifiedBully => find_modified_bully(case, n),
        Algorithm::Abraham => find_abraham(case, n),
        Algorithm::Frlle => find_frlle(case, n),
        Algorithm::Height | Algorithm::Hierarchy => anyhow::bail!("{} is not in these tables", algorithm.title()),
    }
}

/// The ids n to 1 in ring order: descending in the direction in which candidates travel.
fn descending(n: u16) -> Vec<NodeId> {
    (1..=n).rev().map(NodeId).collect()
}

fn ids(uids: &[u16]) -> Vec<NodeId> {
    uids.iter().map(|&uid| NodeId(uid)).collect()
}

/// The costs of a run whose messages and steps both count.
fn both(run: &Run, scenario: &'static str) -> Finding {
    Finding::plain(run.counts.total(), scenario, run.steps, scenario)
}

fn find_ring(case: Case, n: u16) -> anyhow::Result<Finding> {
    let ids = descending(n);
    Ok(match case {
        Case::Best => both(&ring(&ids, Starters::One(NodeId(1)))?, "one node detects"),
        Case::Worst => both(&ring(&ids, Starters::All)?, "all detect at once"),
    })
}

fn find_lcr(case: Case, n: u16) -> anyhow::Result<Finding> {
    let ids = descending(n);
    if case == Case::Best {
        return Ok(both(&lcr(&ids, Starters::One(NodeId(n)))?, "the maximum alone starts"));
    }
    let all = lcr(&ids, Starters::All)?;
    let past_maximum = lcr(&ids, Starters::One(NodeId(n - 1)))?;
    Ok(Finding::plain(
        all.counts.total(),
        "all start, ids descending in ring direction",
        past_maximum.steps,
        "the node just past the maximum alone starts",
    ))
}

fn find_timer_based(case: Case, n: u16) -> anyhow::Result<Finding> {
    let ids = descending(n);
    let (run, scenario) = match case {
        Case::Best => (timer_based(&ids, Starters::One(NodeId(n)))?, "the maximum alone starts"),
        Case::Worst => (timer_based(&ids, Starters::All)?, "all start, ids descending in ring direction"),
    };
    let mut finding = Finding::plain(run.counts.total(), scenario, run.decided, scenario);
    let reading = "Biswas et al. do not define this algorithm; the reading measured is LCR without an announcement, \
                   where every node decides by the clock, so a step counts until the last node has decided";
    finding.remark = match case {
        Case::Best => format!("{reading}."),
        Case::Worst => {
            let past_maximum = timer_based(&ids, Starters::One(NodeId(n - 1)))?.decided;
            format!(
                "{reading}. It takes longer when not all start: {past_maximum} steps when the node just past the \
                 maximum alone does."
            )
        }
    };
    Ok(finding)
}

fn find_hs(case: Case, n: u16) -> anyhow::Result<Finding> {
    match case {
        Case::Best => find_hs_best(n),
        Case::Worst => find_hs_worst(n),
    }
}

fn find_hs_best(n: u16) -> anyhow::Result<Finding> {
    let cheapest = ids(&hs_extremes::best(n.into()).uids);
    let alone = hs(&cheapest, Starters::One(NodeId(n)))?;
    let all = hs(&cheapest, Starters::All)?;
    let mut finding =
        Finding::plain(alone.counts.total(), "the maximum alone starts", all.steps, "all start, in any arrangement");
    let last_phase = n.next_power_of_two().ilog2();
    let probes = |kind| (0..64).filter(|&phase| alone.counts.in_phase(kind, phase) > 0).count();
    finding.messages.why = format!(
        "The printed sum, k from 0 to ⌈log₂(N/2)⌉-1, ends one phase early: probes come back in {} phases \
         (⌈log₂N⌉ = {last_phase}), and only those of the next one circle the ring. When all must start, the cheapest arrangement costs {} messages \
         (6N+2^(⌈log₂N⌉+2)-8 = {}).",
        probes("back"),
        all.counts.total(),
        6 * u64::from(n) + (1 << (last_phase + 2)) - 8,
    );
    finding.steps.why = "The printed value holds only if N is a power of two: probes reach 2^k hops, not N.".into();
    Ok(finding)
}

fn find_hs_worst(n: u16) -> anyhow::Result<Finding> {
    let extreme = hs_extremes::worst(n.into());
    let dearest = ids(&extreme.uids);
    let run = hs(&dearest, Starters::All)?;
    ensure!(
        run.counts.total() == extreme.election_messages + u64::from(n),
        "HS with {n} nodes cost {} messages where {} were computed",
        run.counts.total(),
        extreme.election_messages + u64::from(n),
    );
    let mut finding = Finding::plain(
        run.counts.total(),
        "all start, in the costliest of all N! arrangements",
        run.steps,
        "all start, in any arrangement",
    );
    finding.messages.why = "The printed sum, k from 1 to ⌈log₂N⌉, is the textbook upper bound: as many candidates in \
                            every phase as their distance allows, and all their probes the whole way out and back. No \
                            arrangement costs more than the one measured (dynamic programming over all of them)."
        .into();
    let mut opposite = descending(n);
    opposite.swap(1, usize::from(n / 2));
    let late = hs(&opposite, Starters::One(NodeId(n - 1)))?.steps;
    finding.steps.why = format!(
        "The printed value bounds the time when all start, which is the same in every arrangement. Otherwise it is no \
        bound: {late} steps when the second highest alone starts, opposite the maximum, and has to wake it.",
    );
    Ok(finding)
}

fn find_bully(case: Case, n: u16) -> anyhow::Result<Finding> {
    let mut finding = match case {
        Case::Best => both(&bully(n, Starters::One(NodeId(n)))?, "the highest live node detects"),
        Case::Worst => both(&bully(n, Starters::One(NodeId(1)))?, "the lowest node detects"),
    };
    finding.remark = "N nodes are alive; they also ask a crashed leader above them and wait 2 steps in vain for its \
    answer. OK and ELECTION leave in separate steps."
        .into();
    Ok(finding)
}

fn find_modified_bully(case: Case, n: u16) -> anyhow::Result<Finding> {
    let reading = "Biswas et al. do not define this algorithm; in the reading measured the detector asks all higher \
                   nodes, and the highest that answers is told to lead.";
    let mut finding = if case == Case::Best {
        both(&modified_bully(n, Starters::One(NodeId(n)))?, "the highest live node detects")
    } else {
        let all = modified_bully(n, Starters::All)?;
        let lowest = modified_bully(n, Starters::One(NodeId(1)))?;
        let mut finding =
            Finding::plain(all.counts.total(), "all detect at once", lowest.steps, "the lowest node detects");
        let of = |kind| all.counts.of(kind);
        finding.messages.why = format!(
            "The printed formula has no derivation. Measured: {} ELECTION, {} OK, {} GRANT, {} COORDINATOR; without the \
             OKs that is {}, so the formula seems to leave the answers out.",
            of("election"),
            of("ok"),
            of("grant"),
            of("coordinator"),
            all.counts.total() - of("ok"),
        );
        finding
    };
    finding.remark = reading.into();
    Ok(finding)
}

fn find_abraham(case: Case, n: u16) -> anyhow::Result<Finding> {
    let ring = descending(n);
    let all = abraham(&ring, Starters::All)?;
    // Values are drawn by id, so that the same node is chosen whoever starts; starting just past it keeps it waiting
    // longest for its own value.
    let chosen = ring.iter().position(|&id| id == all.leader).unwrap_or(0);
    let past_chosen = abraham(&ring, Starters::One(ring[(chosen + 1) % ring.len()]))?;
    let mut finding = match case {
        Case::Best => both(&all, "all start"),
        Case::Worst => both(&past_chosen, "the node just past the one to be chosen alone starts"),
    };
    finding.messages.why =
        "The printed formula is that of LCR plus N²: an exchange of values followed by an election. In \
                            the reading measured the values themselves choose the leader, which only has to be \
                            announced, whoever starts."
            .into();
    finding.steps.why = match case {
        Case::Best => "Once around for the values, once for the announcement.".into(),
        Case::Worst => format!(
            "The chosen node is the last to wake, {} hops from the starter; then it is once around for the values and \
             once for the announcement.",
            n - 1,
        ),
    };
    finding.remark = "Biswas et al. do not define this algorithm.".into();
    Ok(finding)
}

/// A ring sorted by coefficient: node 1 is the fittest, and the failed leader is not on it.
fn run_frlle(n: u16, detectors: impl Iterator<Item = u16>, heard: &[u16]) -> Outcome {
    ring_steps::run(&Script {
        ring: (1..=n).map(|id| Member { id: NodeId(id), coefficient: Coefficient(id) }).collect(),
        failed: NodeId(n + 1),
        detections: detectors.map(|id| Timed { step: 0, node: NodeId(id) }).collect(),
        responses: heard.iter().map(|&id| Timed { step: 1, node: NodeId(id) }).collect(),
        mode: Mode::Joint,
    })
}

/// The messages of the worst case that Biswas et al. describe: all detect at once on a ring sorted by coefficient.
pub fn frlle_all_detect(n: u16) -> anyhow::Result<u64> {
    let outcome = run_frlle(n, 1..=n, &[]);
    elects_the_fittest(&outcome)?;
    Ok(outcome.total())
}

fn elects_the_fittest(outcome: &Outcome) -> anyhow::Result<()> {
    ensure!(outcome.leaders.iter().all(|&leader| leader == Some(NodeId(1))), "FRLLE did not elect the fittest node");
    Ok(())
}

fn find_frlle(case: Case, n: u16) -> anyhow::Result<Finding> {
    if case == Case::Best {
        let outcome = run_frlle(n, std::iter::once(2), &[1, 3]);
        ensure!(
            outcome.leaders.iter().all(|&leader| leader == Some(NodeId(n + 1))),
            "FRLLE did not keep a live leader"
        );
        let scenario = "one detects, both its neighbours have heard the leader since";
        let mut finding = Finding::plain(outcome.total(), scenario, outcome.quiet_at, scenario);
        finding.remark = "No node is elected. Copies of a message that meet at a node count as one.".into();
        return Ok(finding);
    }
    let all = frlle_all_detect(n)?;
    let all_but_fittest = run_frlle(n, 2..=n, &[]);
    let opposite = run_frlle(n, std::iter::once(1 + n / 2), &[]);
    elects_the_fittest(&all_but_fittest)?;
    elects_the_fittest(&opposite)?;
    let mut finding = Finding::plain(
        all,
        "all detect, ring sorted by coefficient",
        opposite.quiet_at,
        "one detects, opposite the smallest coefficient",
    );
    finding.steps.why =
        "The printed value omits the path to the fittest node: N/2 steps to wake it, N/2 for its messages \
                         to meet, N/2 for the declaration."
            .into();
    finding.remark = format!(
        "{} messages are not the maximum: {} are sent when all but the fittest detect. Copies of a message that meet at \
        a node count as one.",
        all,
        all_but_fittest.total(),
    );
    Ok(finding)
}
