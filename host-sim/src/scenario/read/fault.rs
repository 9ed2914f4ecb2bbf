//! `[[fault]]`: what goes wrong.

use super::super::plan::{Attack, Fault, Flash, Harm, Trick, When, Who};
use super::super::toml_section::{Problem, Section};
use super::super::units::{Unit, micros};
use super::radio::power;
use super::{drift, positive, time_us};
use crate::air::propagation::Wall;

fn read_who(section: &Section<'_>, nodes: usize) -> Result<Who, Problem> {
    let listed = section.integers("nodes", 1..nodes as u64 + 1)?;
    let named = section.word("who", &[("leader", Named::Leader), ("random", Named::Random)])?;
    match (listed, named) {
        (Some(ids), None) => Ok(Who::Nodes(ids.into_iter().filter_map(|id| usize::try_from(id - 1).ok()).collect())),
        (None, Some(Named::Leader)) => Ok(Who::Leader),
        (None, Some(Named::Random)) => Ok(Who::Random),
        (Some(_), Some(_)) => Err(section.problem_at("who", "and `nodes` exclude each other")),
        (None, None) => Err(section.missing("nodes` or `who")),
    }
}

/// Whom a fault strikes, where it is said by a word.
#[derive(Clone, Copy)]
enum Named {
    Leader,
    Random,
}

/// One fault.
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
        Attack,
    }
    let kinds = [
        ("crash", Kind::Crash),
        ("restart", Kind::Restart),
        ("wall", Kind::Wall),
        ("partition", Kind::Partition),
        ("jam", Kind::Jam),
        ("drift", Kind::Drift),
        ("corrupt", Kind::Corrupt),
        ("attack", Kind::Attack),
    ];
    let kind = section.word("kind", &kinds)?;
    let when = read_when(section);
    let harm = match kind.ok_or_else(|| section.missing("kind"))? {
        Kind::Crash => Harm::Crash(read_who(section, nodes)?, time_us(section, "for")?, read_flash(section)?),
        Kind::Restart => Harm::Restart(read_who(section, nodes)?, read_flash(section)?),
        Kind::Wall => read_wall(section)?,
        Kind::Partition => {
            let cut_off = section.integers("nodes", 1..nodes as u64 + 1)?.ok_or_else(|| section.missing("nodes"))?;
            let cut_off = cut_off.into_iter().filter_map(|id| usize::try_from(id - 1).ok()).collect();
            Harm::Partition(cut_off, time_us(section, "for")?)
        }
        Kind::Jam => {
            let place = section.point("place")?;
            let power = section.quantity("power", Unit::Power)?.unwrap_or(10.0);
            let lasts = time_us(section, "for")?;
            let channel = super::radio::channel(section)?;
            let place = place.ok_or_else(|| section.missing("place"))?;
            Harm::Jam(place, power, lasts.ok_or_else(|| section.missing("for"))?, channel)
        }
        Kind::Drift => {
            let ppm = drift(section)?.ok_or_else(|| section.missing("drift"))?;
            Harm::Drift(read_who(section, nodes)?, ppm, time_us(section, "for")?)
        }
        Kind::Corrupt => {
            let share = section.quantity("share", Unit::Share)?.ok_or_else(|| section.missing("share"))?;
            if !(0.0..=1.0).contains(&share) {
                return Err(section.problem_at("share", "must be between 0 % and 100 %"));
            }
            Harm::Corrupt(share, time_us(section, "for")?)
        }
        Kind::Attack => Harm::Attack(read_attack(section)?),
    };
    section.finish()?;
    let when = when?;
    if let (When::Every(..), Harm::Wall(..) | Harm::Partition(..) | Harm::Corrupt(..) | Harm::Jam(..) | Harm::Attack(_)) =
        (when, &harm)
        && harm.lasts_us().is_none()
    {
        return Err(section.problem_at("every", "needs `for`: it comes again and again, so it must end"));
    }
    Ok(Fault { when, harm })
}

fn read_wall(section: &Section<'_>) -> Result<Harm, Problem> {
    let (from, to) = (section.point("start")?, section.point("end")?);
    let loss_db = positive(section, "loss", Unit::Loss)?.unwrap_or(60.0);
    let lasts = time_us(section, "for")?;
    let (from, to) = (from.ok_or_else(|| section.missing("start"))?, to.ok_or_else(|| section.missing("end"))?);
    Ok(Harm::Wall(Wall { from, to, loss_db }, lasts))
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
    let place = section.point("place")?;
    let tx_dbm = power(section, "power")?.unwrap_or(0.0);
    let tricks = section.words("frames", &words)?;
    let interval_us = positive(section, "interval", Unit::Time)?.map_or(50_000, micros).max(1_000);
    let lasts = time_us(section, "for")?;
    let channel = super::radio::channel(section)?;
    let tricks = tricks.unwrap_or_else(|| words.map(|(_, trick)| trick).to_vec());
    if tricks.is_empty() {
        return Err(section.problem_at("frames", "must name at least one kind, such as [\"replay\"]"));
    }
    Ok(Attack {
        place: place.ok_or_else(|| section.missing("place"))?,
        tx_dbm,
        channel,
        tricks,
        interval_us,
        lasts_us: lasts.ok_or_else(|| section.missing("for"))?,
    })
}

fn read_when(section: &Section<'_>) -> Result<When, Problem> {
    let at = time_us(section, "at")?;
    let every = positive(section, "every", Unit::Time)?.map(micros);
    let (from, until) = (time_us(section, "from")?, time_us(section, "until")?);
    match (at, every) {
        (Some(at), None) => Ok(When::At(at)),
        (None, Some(every)) => {
            let until = until.ok_or_else(|| section.missing("until"))?;
            Ok(When::Every(every.max(1_000), from.unwrap_or(0), until))
        }
        (Some(_), Some(_)) => Err(section.problem_at("at", "and `every` exclude each other")),
        (None, None) => Err(section.missing("at` or `every")),
    }
}
