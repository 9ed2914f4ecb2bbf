//! Scenarios as TOML.

use common::limits::{LEVELS_MAX, RADIUS_MAX};
use toml::de::DeTable;

use super::checker::HOLD_US;
use super::plan::{Fault, Harm, Mobility, Model, RadioPlan, Scenario, Topology, When, Who, Wifi};
use super::toml_section::{Problem, Section, Source};
use super::units::{Unit, micros, seconds};
use crate::air::medium::Bursts;
use crate::air::propagation::Wall;

/// More nodes than this take longer than anybody waits.
const NODES_MAX: u64 = 1_000;

/// Reads a scenario. `file` is what messages call it.
pub fn read(file: &str, text: &str) -> Result<Scenario, Problem> {
    let source = Source { file, text };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.problem(at, format!("not TOML: {}", error.message()))
    })?;
    let root = Section::root(source, document.get_ref());
    let name = root.text("name")?;
    let summary = root.text("summary")?.unwrap_or_default().to_owned();
    let seed = root.integer("seed", 0..u64::MAX)?.unwrap_or(1);
    let duration = root.quantity("duration", Unit::Time)?;
    let topology = root.section("topology")?;
    let radio = root.section("radio")?;
    let protocol = root.section("protocol")?;
    let mobility = root.section("mobility")?;
    let faults = root.sections("fault")?;
    let expect = root.section("expect")?;
    let name = name.ok_or_else(|| root.missing("name"))?.to_owned();
    let duration_us = micros(duration.ok_or_else(|| root.missing("duration"))?);
    let topology = read_topology(&topology.ok_or_else(|| root.missing("topology"))?)?;
    let nodes = topology.nodes();
    let scenario = Scenario {
        name,
        summary,
        seed,
        duration_us,
        radio: radio.map_or_else(|| Ok(default_radio()), |section| read_radio(&section))?,
        radii: protocol.map_or_else(|| Ok(vec![2]), |section| read_radii(&section))?,
        mobility: mobility.map_or(Ok(None), |section| read_mobility(&section))?,
        faults: faults.iter().map(|section| read_fault(section, nodes)).collect::<Result<_, _>>()?,
        within_us: expect.map_or(Ok(10_000_000), |section| read_expectation(&section))?,
        topology,
    };
    root.finish()?;
    let needed = scenario.last_change_us() + scenario.within_us + HOLD_US;
    if scenario.duration_us < needed {
        let what = format!(
            "is too short: the last change may come at {} s, agreement may take {} s and must last {} s, so it must be at least \"{} s\"",
            seconds(scenario.last_change_us()),
            seconds(scenario.within_us),
            seconds(HOLD_US),
            seconds(needed)
        );
        return Err(root.problem_at("duration", &what));
    }
    Ok(scenario)
}

/// A quantity that must be positive.
fn positive(section: &Section<'_>, key: &str, unit: Unit) -> Result<Option<f64>, Problem> {
    let amount = section.quantity(key, unit)?;
    if amount.is_some_and(|amount| amount <= 0.0) {
        return Err(section.problem_at(key, &format!("must be more than nothing, such as \"{}\"", unit.example())));
    }
    Ok(amount)
}

fn time_us(section: &Section<'_>, key: &str) -> Result<Option<u64>, Problem> {
    let time = section.quantity(key, Unit::Time)?;
    if time.is_some_and(|time| time < 0.0) {
        return Err(section.problem_at(key, "cannot be before the start"));
    }
    Ok(time.map(micros))
}

fn read_topology(section: &Section<'_>) -> Result<Topology, Problem> {
    #[derive(Clone, Copy)]
    enum Kind {
        Line,
        Ring,
        Grid,
        Random,
    }
    let kinds = [("line", Kind::Line), ("ring", Kind::Ring), ("grid", Kind::Grid), ("random", Kind::Random)];
    let kind = section.word("kind", &kinds)?;
    let nodes = section.integer("nodes", 1..NODES_MAX + 1)?.and_then(|nodes| usize::try_from(nodes).ok());
    let spacing = positive(section, "spacing", Unit::Length)?;
    let side = positive(section, "side", Unit::Length)?;
    let positions = section.points("positions")?;
    section.finish()?;
    let Some(kind) = kind else {
        let places = positions.ok_or_else(|| section.problem("[topology] needs either `kind` or `positions`"))?;
        if places.is_empty() || places.len() as u64 > NODES_MAX {
            return Err(section.problem_at("positions", &format!("must have 1 to {NODES_MAX} points")));
        }
        return Ok(Topology::Places(places));
    };
    if positions.is_some() {
        return Err(section.problem_at("positions", "and `kind` exclude each other"));
    }
    let nodes = nodes.ok_or_else(|| section.missing("nodes"))?;
    let spacing = || spacing.ok_or_else(|| section.missing("spacing"));
    Ok(match kind {
        Kind::Line => Topology::Line(nodes, spacing()?),
        Kind::Ring => Topology::Ring(nodes, spacing()?),
        Kind::Grid => Topology::Grid(nodes, spacing()?),
        Kind::Random => Topology::Random(nodes, side.ok_or_else(|| section.missing("side"))?),
    })
}

fn default_radio() -> RadioPlan {
    RadioPlan {
        model: Model::Usual,
        exponent: None,
        noise_dbm: None,
        bursts: None,
        wifi: None,
        is_fast: false,
        channel: 15,
        tx_dbm: 0.0,
        drift_ppm: 20,
    }
}

fn read_radio(section: &Section<'_>) -> Result<RadioPlan, Problem> {
    let models =
        [("plain", Model::Plain), ("usual", Model::Usual), ("harsh", Model::Harsh), ("disc", Model::Disc(0.0))];
    let usual = default_radio();
    let mut model = section.word("model", &models)?.unwrap_or(usual.model);
    let reach = positive(section, "reach", Unit::Length)?;
    if let Model::Disc(edge) = &mut model {
        *edge = reach.ok_or_else(|| section.missing("reach"))?;
    } else if reach.is_some() {
        return Err(section.problem_at("reach", "is for model = \"disc\" only"));
    }
    let exponent = section.number("exponent")?;
    if exponent.is_some_and(|exponent| !(1.5..=6.0).contains(&exponent)) {
        return Err(section.problem_at("exponent", "must be between 1.5 and 6; open space has 2, a building 3 to 4"));
    }
    let noise_dbm = section.quantity("noise", Unit::Power)?;
    let bursts = section.section("bursts")?.map(|bursts| read_bursts(&bursts)).transpose()?;
    let wifi = section.section("wifi")?.map(|wifi| read_wifi(&wifi)).transpose()?;
    let is_fast = section.word("timing", &[("embassy", false), ("fast", true)])?.unwrap_or(usual.is_fast);
    let channel = section.integer("channel", 11..27)?.and_then(|channel| u8::try_from(channel).ok());
    let tx_dbm = section.quantity("power", Unit::Power)?.unwrap_or(usual.tx_dbm);
    if !(-40.0..=20.0).contains(&tx_dbm) {
        return Err(section.problem_at("power", "must be between -40 dBm and 20 dBm"));
    }
    let drift = section.quantity("drift", Unit::Drift)?.unwrap_or(f64::from(usual.drift_ppm));
    if !(0.0..=1_000.0).contains(&drift) {
        return Err(section.problem_at("drift", "must be between 0 ppm and 1000 ppm"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let drift_ppm = drift as u32;
    section.finish()?;
    let channel = channel.unwrap_or(usual.channel);
    Ok(RadioPlan { model, exponent, noise_dbm, bursts, wifi, is_fast, channel, tx_dbm, drift_ppm })
}

fn read_bursts(section: &Section<'_>) -> Result<Bursts, Problem> {
    let spell = |key: &str| -> Result<Option<u32>, Problem> {
        Ok(positive(section, key, Unit::Time)?.map(|spell| u32::try_from(micros(spell)).unwrap_or(u32::MAX)))
    };
    let (good, bad, loss) = (spell("good")?, spell("bad")?, positive(section, "loss", Unit::Loss)?);
    section.finish()?;
    Ok(Bursts {
        good_us: good.ok_or_else(|| section.missing("good"))?,
        bad_us: bad.ok_or_else(|| section.missing("bad"))?,
        loss_db: loss.ok_or_else(|| section.missing("loss"))?,
    })
}

fn read_wifi(section: &Section<'_>) -> Result<Wifi, Problem> {
    let at = section.point("at")?;
    let power_dbm = section.quantity("power", Unit::Power)?.unwrap_or(10.0);
    let duty = section.quantity("duty", Unit::Share)?.unwrap_or(0.2);
    let burst = positive(section, "burst", Unit::Time)?.unwrap_or(1.5e-3);
    section.finish()?;
    if !(0.001..=0.95).contains(&duty) {
        return Err(section.problem_at("duty", "must be between 0.1 % and 95 %"));
    }
    Ok(Wifi { at: at.ok_or_else(|| section.missing("at"))?, power_dbm, duty, burst_us: micros(burst).max(1) })
}

fn read_radii(section: &Section<'_>) -> Result<Vec<u8>, Problem> {
    let radii = section.integers("radii", 1..u64::from(RADIUS_MAX) + 1)?.unwrap_or_default();
    section.finish()?;
    if radii.len() > LEVELS_MAX {
        return Err(section.problem_at("radii", &format!("may have up to {LEVELS_MAX} levels")));
    }
    Ok(radii.into_iter().filter_map(|radius| u8::try_from(radius).ok()).collect())
}

fn read_mobility(section: &Section<'_>) -> Result<Option<Mobility>, Problem> {
    let kinds = [("static", None), ("waypoint", Some(false)), ("group", Some(true))];
    let kind = section.word("kind", &kinds)?;
    let slowest = positive(section, "speed_min", Unit::Speed)?;
    let fastest = positive(section, "speed_max", Unit::Speed)?;
    let side = positive(section, "side", Unit::Length)?;
    let until_us = time_us(section, "until")?;
    section.finish()?;
    let Some(as_group) = kind.ok_or_else(|| section.missing("kind"))? else { return Ok(None) };
    let fastest = fastest.ok_or_else(|| section.missing("speed_max"))?;
    let speed = (slowest.unwrap_or(fastest), fastest);
    if speed.0 > speed.1 {
        return Err(section.problem_at("speed_min", "is more than `speed_max`"));
    }
    Ok(Some(Mobility {
        as_group,
        speed,
        side: side.ok_or_else(|| section.missing("side"))?,
        until_us: until_us.ok_or_else(|| section.missing("until"))?,
    }))
}

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

fn read_fault(section: &Section<'_>, nodes: usize) -> Result<Fault, Problem> {
    #[derive(Clone, Copy)]
    enum Kind {
        Crash,
        Restart,
        Wall,
        Jam,
    }
    let kinds = [("crash", Kind::Crash), ("restart", Kind::Restart), ("wall", Kind::Wall), ("jam", Kind::Jam)];
    let kind = section.word("kind", &kinds)?;
    let when = read_when(section);
    let harm = match kind.ok_or_else(|| section.missing("kind"))? {
        Kind::Crash => Harm::Crash(read_who(section, nodes)?, time_us(section, "for")?),
        Kind::Restart => Harm::Restart(read_who(section, nodes)?),
        Kind::Wall => {
            let (from, to) = (section.point("start")?, section.point("end")?);
            let loss_db = positive(section, "loss", Unit::Loss)?.unwrap_or(60.0);
            let lasts = time_us(section, "for")?;
            let (from, to) = (from.ok_or_else(|| section.missing("start"))?, to.ok_or_else(|| section.missing("end"))?);
            Harm::Wall(Wall { from, to, loss_db }, lasts)
        }
        Kind::Jam => {
            let place = section.point("place")?;
            let power = section.quantity("power", Unit::Power)?.unwrap_or(10.0);
            let lasts = time_us(section, "for")?;
            let place = place.ok_or_else(|| section.missing("place"))?;
            Harm::Jam(place, power, lasts.ok_or_else(|| section.missing("for"))?)
        }
    };
    section.finish()?;
    Ok(Fault { when: when?, harm })
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

fn read_expectation(section: &Section<'_>) -> Result<u64, Problem> {
    let within = positive(section, "agreement_within", Unit::Time)?;
    section.finish()?;
    Ok(micros(within.ok_or_else(|| section.missing("agreement_within"))?))
}
