//! `[[fault]]`: what goes wrong.

use std::collections::BTreeSet;

use super::radio::power;
use super::{drift, positive, time_us, within};
use crate::air::index::NodeIndex;
use crate::air::propagation::Wall;
use crate::scenario::input::plan::{Attack, Fault, Flash, Harm, Trick, When, Who};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::{Unit, micros};

/// How often a recurring fault may strike. The simulator plans every strike before the start, so the list must stay
/// bounded.
const STRIKES_MAX: u64 = 100_000;

/// The shortest interval between strikes or frames. Only the radio itself is faster.
const SHORTEST_S: f64 = 1e-3;

/// Reads a list of node numbers as indices.
fn read_nodes(section: &Section<'_>, nodes: usize) -> Result<Option<Vec<NodeIndex>>, Problem> {
    let Some(ids) = section.integers("nodes", 1..nodes as u64 + 1)? else { return Ok(None) };
    if ids.is_empty() {
        return Err(section.problem_at("nodes", "must name at least one node, such as [1]"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = ids.iter().find(|id| !seen.insert(**id)) {
        return Err(section.problem_at("nodes", &format!("names node {twice} twice")));
    }
    Ok(Some(ids.into_iter().filter_map(|id| usize::try_from(id - 1).ok()).map(NodeIndex).collect()))
}

pub(super) fn read_who(section: &Section<'_>, nodes: usize) -> Result<Who, Problem> {
    let listed = read_nodes(section, nodes)?;
    let named = section.word("who", &[("leader", Named::Leader), ("random", Named::Random)])?;
    match (listed, named) {
        (Some(listed), None) => Ok(Who::Nodes(listed)),
        (None, Some(Named::Leader)) => Ok(Who::Leader),
        (None, Some(Named::Random)) => Ok(Who::Random),
        (Some(_), Some(_)) => Err(section.problem_at("who", "and `nodes` exclude each other")),
        (None, None) => Err(section.missing("nodes` or `who")),
    }
}

/// Whom a fault strikes, if a word says so rather than a list.
#[derive(Clone, Copy)]
enum Named {
    Leader,
    Random,
}

pub(super) fn read(section: &Section<'_>, nodes: usize) -> Result<Fault, Problem> {
    #[derive(Clone, Copy)]
    enum Kind {
        Crash,
        Restart,
        Wall,
        Partition,
        Jam,
        Drift,
        Corrupt,
        CorruptState,
        Lie,
        StepDown,
        Attack,
        Move,
    }
    let kinds = [
        ("crash", Kind::Crash),
        ("restart", Kind::Restart),
        ("wall", Kind::Wall),
        ("partition", Kind::Partition),
        ("jam", Kind::Jam),
        ("drift", Kind::Drift),
        ("corrupt", Kind::Corrupt),
        ("corrupt-state", Kind::CorruptState),
        ("lie", Kind::Lie),
        ("step-down", Kind::StepDown),
        ("attack", Kind::Attack),
        ("move", Kind::Move),
    ];
    let kind = section.word("kind", &kinds)?;
    let times = Times::read(section)?;
    let harm = match kind.ok_or_else(|| section.missing("kind"))? {
        Kind::Crash => read_crash(section, nodes)?,
        Kind::Restart => Harm::Restart { who: read_who(section, nodes)?, flash: read_flash(section)? },
        Kind::Wall => read_wall(section)?,
        Kind::Partition => read_partition(section, nodes)?,
        Kind::Jam => read_jam(section)?,
        Kind::Drift => {
            let ppm = drift(section)?.ok_or_else(|| section.missing("drift"))?;
            Harm::Drift { who: read_who(section, nodes)?, ppm, lasts_us: read_length(section)? }
        }
        Kind::Corrupt => {
            let share = section.quantity("share", Unit::Share)?.ok_or_else(|| section.missing("share"))?;
            Harm::Corrupt { share, lasts_us: read_length(section)? }
        }
        Kind::Lie => Harm::Lie { who: read_who(section, nodes)?, lasts_us: read_length(section)? },
        Kind::StepDown => {
            let off_after_us = positive(section, "off_after", Unit::Time)?.map(micros);
            Harm::StepDown { who: read_who(section, nodes)?, off_after_us }
        }
        Kind::CorruptState => Harm::CorruptState { who: read_who(section, nodes)? },
        Kind::Attack => Harm::Attack(read_attack(section)?),
        Kind::Move => read_move(section, nodes)?,
    };
    section.finish()?;
    let when = times.when(section)?;
    if matches!((&harm, when), (Harm::Move { .. }, When::Every { .. })) {
        return Err(section.problem_at("every", "is not for kind = \"move\": the nodes would be there already"));
    }
    // Two harms may recur without an end: a permanent crash strikes other nodes each time, and a new drift replaces the
    // old one.
    let must_end = matches!(harm, Harm::Wall { .. } | Harm::Partition { .. } | Harm::Corrupt { .. });
    if matches!(when, When::Every { .. }) && must_end && harm.lasts_us().is_none() {
        return Err(section.problem_at("every", "needs `for`: it comes again and again, so it must end"));
    }
    Ok(Fault { when, harm })
}

/// Reads how long a fault lasts; `None` if it is permanent.
fn read_length(section: &Section<'_>) -> Result<Option<u64>, Problem> {
    Ok(positive(section, "for", Unit::Time)?.map(micros))
}

fn read_partition(section: &Section<'_>, nodes: usize) -> Result<Harm, Problem> {
    let cut_off = read_nodes(section, nodes)?.ok_or_else(|| section.missing("nodes"))?;
    Ok(Harm::Partition { group: cut_off.into_iter().collect(), lasts_us: read_length(section)? })
}

fn read_jam(section: &Section<'_>) -> Result<Harm, Problem> {
    let position = section.point("place")?;
    let power_dbm = section.quantity("power", Unit::Power)?.unwrap_or(10.0);
    let lasts_us = read_length(section)?;
    let channel = super::radio::channel(section)?;
    let position = position.ok_or_else(|| section.missing("place"))?;
    let lasts_us = lasts_us.ok_or_else(|| section.missing("for"))?;
    Ok(Harm::Jam { position, power_dbm, channel, lasts_us })
}

fn read_crash(section: &Section<'_>, nodes: usize) -> Result<Harm, Problem> {
    let (who, lasts_us, flash) = (read_who(section, nodes)?, read_length(section)?, read_flash(section)?);
    if lasts_us.is_none() {
        section.exclude(&["flash"], "needs `for`: it is what a node finds when its power comes back after so long")?;
    }
    Ok(Harm::Crash { who, lasts_us, flash })
}

fn read_wall(section: &Section<'_>) -> Result<Harm, Problem> {
    let (from, to) = (section.point("start")?, section.point("end")?);
    let loss_db = positive(section, "loss", Unit::Loss)?.unwrap_or(60.0);
    let lasts_us = read_length(section)?;
    let (from, to) = (from.ok_or_else(|| section.missing("start"))?, to.ok_or_else(|| section.missing("end"))?);
    Ok(Harm::Wall { wall: Wall { from, to, loss_db }, lasts_us })
}

/// Each node's position has the same index in the other list.
fn read_move(section: &Section<'_>, nodes: usize) -> Result<Harm, Problem> {
    let (moved, positions) = (read_nodes(section, nodes)?, section.points("to")?);
    let moved = moved.ok_or_else(|| section.missing("nodes"))?;
    let positions = positions.ok_or_else(|| section.missing("to"))?;
    if moved.len() != positions.len() {
        let what = format!("must have one point for each of the nodes, {}, such as [[0, 0]]", moved.len());
        return Err(section.problem_at("to", &what));
    }
    Ok(Harm::Move { to: moved.into_iter().zip(positions).collect() })
}

fn read_flash(section: &Section<'_>) -> Result<Flash, Problem> {
    let words = [("kept", Flash::Kept), ("erased", Flash::Erased), ("failing", Flash::Failing), ("torn", Flash::Torn)];
    Ok(section.word("flash", &words)?.unwrap_or(Flash::Kept))
}

fn read_attack(section: &Section<'_>) -> Result<Attack, Problem> {
    let words = [
        ("random", Trick::Random),
        ("flip", Trick::Flip),
        ("truncate", Trick::Truncate),
        ("replay", Trick::Replay),
        ("length", Trick::Length),
    ];
    let position = section.point("place")?;
    let tx_dbm = power(section, "power")?.unwrap_or(0.0);
    let tricks = section.words("frames", &words)?;
    let interval_us = within(section, "interval", Unit::Time, &(SHORTEST_S..=3_600.0))?.map_or(50_000, micros);
    let lasts = read_length(section)?;
    let channel = super::radio::channel(section)?;
    let tricks = tricks.unwrap_or_else(|| words.map(|(_, trick)| trick).to_vec());
    if tricks.is_empty() {
        return Err(section.problem_at("frames", "must name at least one kind, such as [\"replay\"]"));
    }
    Ok(Attack {
        position: position.ok_or_else(|| section.missing("place"))?,
        tx_dbm,
        channel,
        tricks,
        interval_us,
        lasts_us: lasts.ok_or_else(|| section.missing("for"))?,
    })
}

/// The times of a fault as written. They are read before anything can be reported missing, so that none of their keys
/// counts as unknown.
struct Times {
    at: Option<u64>,
    every: Option<u64>,
    from: Option<u64>,
    until: Option<u64>,
}

impl Times {
    fn read(section: &Section<'_>) -> Result<Self, Problem> {
        let every = within(section, "every", Unit::Time, &(SHORTEST_S..=*Unit::Time.range().end()));
        let (at, from, until) = (time_us(section, "at"), time_us(section, "from"), time_us(section, "until"));
        Ok(Self { at: at?, every: every?.map(micros), from: from?, until: until? })
    }

    fn when(&self, section: &Section<'_>) -> Result<When, Problem> {
        match (self.at, self.every) {
            (Some(at_us), None) => {
                section.exclude(&["from", "until"], "is for `every` only; `for` says how long a fault lasts")?;
                Ok(When::Once { at_us })
            }
            (None, Some(mean_us)) => {
                let (from_us, until_us) = (self.from.unwrap_or(0), self.until.ok_or_else(|| section.missing("until"))?);
                if until_us <= from_us {
                    return Err(section.problem_at("until", "must be later than `from`"));
                }
                if (until_us - from_us) / mean_us > STRIKES_MAX {
                    let what = format!("makes it strike more than {STRIKES_MAX} times until then; strike less often");
                    return Err(section.problem_at("every", &what));
                }
                Ok(When::Every { mean_us, from_us, until_us })
            }
            (Some(_), Some(_)) => Err(section.problem_at("at", "and `every` exclude each other")),
            (None, None) => Err(section.missing("at` or `every")),
        }
    }
}
