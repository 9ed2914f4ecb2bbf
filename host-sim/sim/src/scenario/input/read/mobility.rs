//! `[mobility]`: how nodes move.

use super::{Files, data_file, positive, time_us};
use crate::scenario::input::plan::{Groups, Mobility, SpeedRange, Wander};
use crate::scenario::input::toml_section::{Problem, Section};
use crate::scenario::input::units::Unit;

/// The keys that only random walks use.
const WALKS: [&str; 4] = ["speed_min", "speed_max", "side", "until"];
/// The default number of groups, and how far their members stray.
const GROUPS: usize = 2;
const WANDER_M: f64 = 2.0;

/// Reads how nodes move; `None` if they do not.
pub(super) fn read(section: &Section<'_>, nodes: usize, files: Files<'_>) -> Result<Option<Mobility>, Problem> {
    #[derive(Clone, Copy)]
    enum Kind {
        Static,
        Alone,
        Group,
        File,
    }
    let kinds = [("static", Kind::Static), ("waypoint", Kind::Alone), ("group", Kind::Group), ("file", Kind::File)];
    let kind = section.word("kind", &kinds)?;
    let slowest = positive(section, "speed_min", Unit::Speed)?;
    let fastest = positive(section, "speed_max", Unit::Speed)?;
    let side = positive(section, "side", Unit::Length)?;
    let until_us = time_us(section, "until")?;
    let file = section.text("file")?;
    let count = section.integer("groups", 1..nodes as u64 + 1)?.and_then(|count| usize::try_from(count).ok());
    let wander = section.quantity("wander", Unit::Length)?;
    section.finish()?;
    let kind = kind.ok_or_else(|| section.missing("kind"))?;
    if !matches!(kind, Kind::Group) {
        section.exclude(&["groups", "wander"], "is for kind = \"group\" only")?;
    }
    let groups = match kind {
        Kind::Static => {
            section.exclude(&[&WALKS[..], &["file"]].concat(), "is for kinds that move, not for \"static\"")?;
            return Ok(None);
        }
        Kind::File => {
            section.exclude(&WALKS, "is for kind = \"waypoint\" and \"group\" only: the file says it all")?;
            let name = file.ok_or_else(|| section.missing("file"))?;
            return Ok(Some(Mobility::Listed(data_file::ways(section, "file", name, nodes, files)?)));
        }
        Kind::Alone => None,
        Kind::Group => Some(Groups { count: count.unwrap_or(GROUPS.min(nodes)), wander: wander.unwrap_or(WANDER_M) }),
    };
    if file.is_some() {
        return Err(section.problem_at("file", "is for kind = \"file\" only"));
    }
    let fastest = fastest.ok_or_else(|| section.missing("speed_max"))?;
    let speed = SpeedRange { least: slowest.unwrap_or(fastest), most: fastest };
    if speed.least > speed.most {
        return Err(section.problem_at("speed_min", "is more than `speed_max`"));
    }
    Ok(Some(Mobility::Random(Wander {
        groups,
        speed,
        side: side.ok_or_else(|| section.missing("side"))?,
        until_us: until_us.ok_or_else(|| section.missing("until"))?,
    })))
}
