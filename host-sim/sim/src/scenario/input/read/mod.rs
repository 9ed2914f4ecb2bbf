//! Reads scenarios from TOML.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use common::limits::{LEVELS_MAX, MEMBERS_MAX, RADIUS_MAX};
use common::names::{Algorithm, Cipher};
use toml::de::DeTable;

use self::expectation::Expectation;
use crate::air::index::NodeIndex;
use crate::air::propagation::Point;
use crate::scenario::input::plan::{
    Fault, Harm, Mobility, Model, NodePlan, ProgramKind, ProtocolPlan, Scenario, Topology, When,
};
use crate::scenario::input::toml_section::{Problem, Section, Source};
use crate::scenario::input::units::{Unit, micros, seconds};
use crate::scenario::judge::checker::HOLD_US;
use crate::scenario::run::program::Programs;

mod collect;
mod command;
mod data_file;
mod expectation;
mod fault;
mod fleet;
mod load;
mod mobility;
mod radio;

/// Larger networks take longer than anybody waits.
const NODES_MAX: u64 = 1_000;

/// Returns the text of a file that a scenario names. Scenarios come from anywhere, so the caller provides file access.
pub type Files<'f> = &'f dyn Fn(&Path) -> io::Result<String>;

/// Reads a scenario that names no other files. Messages refer to it as `file`.
pub fn read(file: &str, text: &str) -> Result<Scenario, Problem> {
    read_with(file, text, &no_files)
}

/// For where there are none.
pub fn no_files(_: &Path) -> io::Result<String> {
    Err(io::Error::other("there are no files here"))
}

/// Reads a scenario that may name other files, relative to its own.
pub fn read_with(file: &str, text: &str, files: Files<'_>) -> Result<Scenario, Problem> {
    let scenario = parse_with(file, text, files)?;
    let needed = scenario.needed_us();
    if scenario.duration_us < needed {
        let what = format!(
            "is too short: the last change may come at {} s, agreement may take {} s and must last {} s, so it must be at least \"{} s\"",
            seconds(scenario.last_change_us()),
            seconds(scenario.within_us),
            seconds(HOLD_US),
            seconds(needed)
        );
        return Err(at_duration(file, text, &what));
    }
    if scenario.steady.is_some_and(|steady| steady.from_us >= scenario.duration_us) {
        return Err(at_duration(file, text, "ends before steady_from, so nothing would be counted"));
    }
    Ok(scenario)
}

fn at_duration(file: &str, text: &str, what: &str) -> Problem {
    let source = Source { file, text };
    match DeTable::parse(text) {
        Ok(document) => Section::root(source, document.get_ref()).problem_at("duration", what),
        Err(_) => source.problem(0, what),
    }
}

/// The same, however short it is.
pub(super) fn parse_with(file: &str, text: &str, files: Files<'_>) -> Result<Scenario, Problem> {
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
    let tables = root.sections("node")?;
    let radio = root.section("radio")?;
    let protocol = root.section("protocol")?;
    let mobility = root.section("mobility")?;
    let faults = root.sections("fault")?;
    let loads = root.sections("load")?;
    let collect = root.section("collect")?;
    let commands = root.sections("command")?;
    let fleet = root.section("fleet")?;
    let expect = root.section("expect")?;
    let name = name.ok_or_else(|| root.missing("name"))?.to_owned();
    let duration_us = micros(duration.ok_or_else(|| root.missing("duration"))?);
    let topology = match topology {
        Some(section) => read_topology(&section)?,
        None if tables.is_empty() => return Err(root.missing("topology")),
        // Each `[[node]]` gives its own position, which is filled in later.
        None => Topology::Positions(vec![Point::ORIGIN; tables.len()]),
    };
    let has_positions = root.section("topology")?.is_some();
    let nodes = topology.nodes();
    let special = read_nodes(&root, &tables, nodes, has_positions)?;
    let Expectation { within_us, steady, leader } =
        expect.map_or_else(|| Ok(Expectation::default()), |section| expectation::read(&section, nodes))?;
    let protocol = protocol.map_or_else(|| Ok(ProtocolPlan::default()), |section| read_protocol(&section, nodes))?;
    let scenario = Scenario {
        name,
        summary,
        seed,
        duration_us,
        radio: radio.map_or_else(|| Ok(radio::usual()), |section| radio::read(&section, nodes, files))?,
        mobility: mobility.map_or(Ok(None), |section| mobility::read(&section, nodes, files))?,
        faults: faults.iter().map(|section| fault::read(section, nodes)).collect::<Result<_, _>>()?,
        loads: loads
            .iter()
            .map(|section| load::read(section, nodes, &special, protocol.program))
            .collect::<Result<_, _>>()?,
        collect: collect.map(|section| collect::read(&section, nodes, &special, protocol.program)).transpose()?,
        commands: commands
            .iter()
            .map(|section| command::read(section, nodes, &special, protocol.program, duration_us))
            .collect::<Result<_, _>>()?,
        fleet: fleet
            .map(|section| fleet::read(&section, nodes, &special, protocol.program, duration_us))
            .transpose()?,
        nodes: special,
        protocol,
        within_us,
        leader,
        steady,
        topology,
    };
    root.finish()?;
    check_mobility(&scenario, &root)?;
    check_moves(&scenario, &faults)?;
    check_boards(&scenario, &tables)?;
    check_memories(&scenario, &faults)?;
    check_core(&scenario, &root)?;
    Ok(scenario)
}

/// Rejects walks in a world that knows no positions.
fn check_mobility(scenario: &Scenario, root: &Section<'_>) -> Result<(), Problem> {
    if let (Model::Table(_), Some(_), Some(section)) =
        (&scenario.radio.model, &scenario.mobility, root.section("mobility")?)
    {
        let what = "moves nodes, but where they are does not matter to model = \"table\"; use another model, or kind = \"static\"";
        return Err(section.problem_at("kind", what));
    }
    Ok(())
}

/// Reads a quantity that must be positive.
fn positive(section: &Section<'_>, key: &str, unit: Unit) -> Result<Option<f64>, Problem> {
    let amount = section.quantity(key, unit)?;
    // Times are counted in whole microseconds, so a shorter one would round to zero.
    let is_nothing = |amount: f64| amount <= 0.0 || unit == Unit::Time && micros(amount) == 0;
    if amount.is_some_and(is_nothing) {
        return Err(section.problem_at(key, &format!("must be more than nothing, such as \"{}\"", unit.example())));
    }
    Ok(amount)
}

/// Reads a quantity whose range is narrower than its unit's.
fn within(section: &Section<'_>, key: &str, unit: Unit, range: &RangeInclusive<f64>) -> Result<Option<f64>, Problem> {
    let Some(amount) = section.quantity(key, unit)? else { return Ok(None) };
    unit.check_within(amount, range).map(Some).map_err(|what| section.problem_at(key, &what))
}

fn time_us(section: &Section<'_>, key: &str) -> Result<Option<u64>, Problem> {
    Ok(section.quantity(key, Unit::Time)?.map(micros))
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
        let positions = positions.ok_or_else(|| section.problem("[topology] needs either `kind` or `positions`"))?;
        section.exclude(
            &["nodes", "spacing", "side"],
            "is for `kind` only: `positions` say how many nodes there are and where",
        )?;
        if positions.is_empty() || positions.len() as u64 > NODES_MAX {
            return Err(section.problem_at("positions", &format!("must have 1 to {NODES_MAX} points")));
        }
        return Ok(Topology::Positions(positions));
    };
    if positions.is_some() {
        return Err(section.problem_at("positions", "and `kind` exclude each other"));
    }
    let nodes = nodes.ok_or_else(|| section.missing("nodes"))?;
    match kind {
        Kind::Random => section.exclude(&["spacing"], "is for kind = \"line\", \"ring\" and \"grid\" only")?,
        Kind::Line | Kind::Ring | Kind::Grid => section.exclude(&["side"], "is for kind = \"random\" only")?,
    }
    let spacing = || spacing.ok_or_else(|| section.missing("spacing"));
    Ok(match kind {
        Kind::Line => Topology::Line { nodes, spacing: spacing()? },
        Kind::Ring => Topology::Ring { nodes, spacing: spacing()? },
        Kind::Grid => Topology::Grid { nodes, spacing: spacing()? },
        Kind::Random => Topology::Random { nodes, side: side.ok_or_else(|| section.missing("side"))? },
    })
}

/// `[[node]]`: how single nodes differ from the rest.
fn read_nodes(
    root: &Section<'_>,
    tables: &[Section<'_>],
    nodes: usize,
    has_positions: bool,
) -> Result<BTreeMap<NodeIndex, NodePlan>, Problem> {
    let mut special = BTreeMap::new();
    for section in tables {
        let is_board = section.word("kind", &[("sim", false), ("board", true)])?.unwrap_or(false);
        let id = section.integer("id", 1..nodes as u64 + 1)?.ok_or_else(|| section.missing("id"))?;
        let at = section.point("at")?;
        let channel = section.integer("channel", 11..27)?.and_then(|channel| u8::try_from(channel).ok());
        let tx_dbm = radio::power(section, "power")?;
        let drift_ppm = drift(section)?;
        section.finish()?;
        if at.is_none() && !has_positions {
            return Err(section.missing("at"));
        }
        let index = NodeIndex(usize::try_from(id - 1).unwrap_or(usize::MAX));
        if special.insert(index, NodePlan { is_board, at, channel, tx_dbm, drift_ppm }).is_some() {
            return Err(section.problem_at("id", &format!("{id} is given to two nodes")));
        }
    }
    if !has_positions && special.len() < nodes {
        return Err(root.problem("without [topology] the nodes must be numbered from 1 on"));
    }
    Ok(special)
}

/// Rejects moves that would have no effect. A node that walks at random continues from where it is put.
fn check_moves(scenario: &Scenario, tables: &[Section<'_>]) -> Result<(), Problem> {
    for (fault, section) in scenario.faults.iter().zip(tables) {
        let (Harm::Move { to }, When::Once { at_us }) = (&fault.harm, fault.when) else { continue };
        if matches!(scenario.radio.model, Model::Table(_)) {
            let what = "moves nodes, but where they are does not matter to model = \"table\"; use another model";
            return Err(section.problem_at("kind", what));
        }
        if let Some(Mobility::Listed(ways)) = &scenario.mobility
            && let Some(node) =
                to.keys().find(|node| ways.get(node).and_then(|way| way.last()).is_some_and(|end| at_us < end.at_us))
        {
            let what = format!("carries off node {}, which the file of [mobility] puts back at once", node.0 + 1);
            return Err(section.problem_at("nodes", &what));
        }
    }
    Ok(())
}

/// Rejects scenarios that ask a board for something boards cannot do.
fn check_boards(scenario: &Scenario, tables: &[Section<'_>]) -> Result<(), Problem> {
    for section in tables {
        let id = section.integer("id", 1..u64::MAX)?.unwrap_or(1);
        let node = NodeIndex(usize::try_from(id - 1).unwrap_or(usize::MAX));
        if scenario.nodes.get(&node).is_some_and(|plan| plan.is_board)
            && let Some(why) = scenario.not_a_board(node)
        {
            return Err(section.problem_at("kind", &format!("cannot be \"board\": {why}")));
        }
    }
    Ok(())
}

/// Rejects corruption of what has no memory that could be corrupted.
fn check_memories(scenario: &Scenario, faults: &[Section<'_>]) -> Result<(), Problem> {
    let is_soft = scenario.protocol.program == ProgramKind::SoftState;
    let is_lie = |fault: &Fault| is_soft && matches!(fault.harm, Harm::Lie { .. });
    if let Some(at) = scenario.faults.iter().position(is_lie) {
        return Err(
            faults[at].problem_at("kind", "is for whole nodes: kind = \"soft-state\" believes everything anyway")
        );
    }
    let is_corruption = |fault: &Fault| matches!(fault.harm, Harm::CorruptState { .. });
    let Some(at) = scenario.faults.iter().position(is_corruption) else { return Ok(()) };
    let why = if is_soft {
        "is for whole nodes: kind = \"soft-state\" keeps nothing that could go wrong for long"
    } else if scenario.has_boards() {
        "cannot reach into boards; let all nodes be simulated"
    } else {
        return Ok(());
    };
    Err(faults[at].problem_at("kind", why))
}

/// The core constructs the nodes, so whatever it refuses must be refused here.
fn check_core(scenario: &Scenario, root: &Section<'_>) -> Result<(), Problem> {
    let nodes = scenario.topology.nodes();
    let Err(error) = Programs::of(scenario).check() else {
        return Ok(());
    };
    let what = format!("gives {nodes} nodes what none accepts: its `{}` must be {}", error.field, error.must);
    Err(match root.section("protocol")? {
        Some(section) => section.problem_at(if error.field == "radii" { "radii" } else { "kind" }, &what),
        None => root.problem_at("protocol", &what),
    })
}

/// Reads how fast a clock runs, in parts per million.
fn drift(section: &Section<'_>) -> Result<Option<i32>, Problem> {
    let Some(ppm) = section.quantity("drift", Unit::Drift)? else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "such quantities are at most a twentieth")]
    Ok(Some(ppm.round() as i32))
}

fn read_protocol(section: &Section<'_>, nodes: usize) -> Result<ProtocolPlan, Problem> {
    let usual = ProtocolPlan::default();
    let mut kinds = Algorithm::ALL.map(|algorithm| (algorithm.name(), ProgramKind::Node(algorithm))).to_vec();
    kinds.push(("soft-state", ProgramKind::SoftState));
    let program = section.word("kind", &kinds)?.unwrap_or(usual.program);
    let ciphers = Cipher::ALL.map(|cipher| (cipher.name(), cipher));
    let cipher = section.word("protection", &ciphers)?.unwrap_or(usual.cipher);
    let radii = section.integers("radii", 1..u64::from(RADIUS_MAX) + 1)?;
    section.finish()?;
    if matches!(program, ProgramKind::Node(algorithm) if algorithm.needs_ring()) && nodes > MEMBERS_MAX {
        let what = format!("runs on rings of up to {MEMBERS_MAX} nodes, and there are {nodes}; see [topology]");
        return Err(section.problem_at("kind", &what));
    }
    if program == ProgramKind::SoftState {
        section.exclude(&["protection"], "is for whole nodes only: kind = \"soft-state\" protects nothing")?;
    }
    let Some(radii) = radii else { return Ok(ProtocolPlan { program, cipher, ..usual }) };
    if radii.is_empty() || radii.len() > LEVELS_MAX {
        return Err(section.problem_at("radii", &format!("must have 1 to {LEVELS_MAX} levels")));
    }
    if !matches!(program, ProgramKind::SoftState | ProgramKind::Node(Algorithm::Hierarchy)) {
        return Err(section.problem_at("radii", "are for the hierarchy only: kind = \"hierarchy\" or \"soft-state\""));
    }
    let radii = radii.into_iter().filter_map(|radius| u8::try_from(radius).ok()).collect();
    Ok(ProtocolPlan { program, cipher, radii })
}
