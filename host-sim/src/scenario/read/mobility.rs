//! `[mobility]`: how nodes move.

use super::super::plan::{Mobility, Wander};
use super::super::toml_section::{Problem, Section};
use super::super::units::Unit;
use super::{data_file, positive, time_us};

/// The keys of random walks.
const WALKS: [&str; 4] = ["speed_min", "speed_max", "side", "until"];

/// How nodes move; none where they do not.
pub(super) fn read(section: &Section<'_>, nodes: usize) -> Result<Option<Mobility>, Problem> {
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
    section.finish()?;
    let as_group = match kind.ok_or_else(|| section.missing("kind"))? {
        Kind::Static => {
            section.exclude(&[&WALKS[..], &["file"]].concat(), "is for kinds that move, not for \"static\"")?;
            return Ok(None);
        }
        Kind::File => {
            section.exclude(&WALKS, "is for kind = \"waypoint\" and \"group\" only: the file says it all")?;
            let name = file.ok_or_else(|| section.missing("file"))?;
            return Ok(Some(Mobility::Listed(data_file::ways(section, "file", name, nodes)?)));
        }
        Kind::Alone => false,
        Kind::Group => true,
    };
    if file.is_some() {
        return Err(section.problem_at("file", "is for kind = \"file\" only"));
    }
    let fastest = fastest.ok_or_else(|| section.missing("speed_max"))?;
    let speed = (slowest.unwrap_or(fastest), fastest);
    if speed.0 > speed.1 {
        return Err(section.problem_at("speed_min", "is more than `speed_max`"));
    }
    Ok(Some(Mobility::Random(Wander {
        as_group,
        speed,
        side: side.ok_or_else(|| section.missing("side"))?,
        until_us: until_us.ok_or_else(|| section.missing("until"))?,
    })))
}
