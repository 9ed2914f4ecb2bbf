//! A fleet file: which board gets which id, and the settings they share.
//!
//! ```toml
//! network = "garden"
//! key_file = "garden.key"       # beside this file
//! # While the network moves to this key: the former key, its number, and its cipher if that differs.
//! # key_id = 1
//! # former_key_file = "old.key"
//! # former_key_id = 0
//! ring = [1, 2, 3]
//!
//! [[node]]
//! id = 1
//! probe = "1366:1015:001050012345"   # as `probe-rs list` shows it
//!
//! [[node]]
//! id = 2
//! probe = "0d28:0204:9905360200052820"
//! board = "microbit-v2"
//! power = "4 dBm"
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use common::config::{CHANNELS, Config, FormerKey, IDS, NetworkKey, Protection};
use common::limits::RADIUS_MAX;
use common::names::{Algorithm, Board, Cipher};
use sim::scenario::input::toml_section::{Problem, Section, Source};
use sim::scenario::input::units::Unit;
use toml::de::DeTable;

use crate::field::key;
use crate::field::provision::network::pan;
use crate::field::provision::settings::Settings;

/// One board of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Already checked.
    pub config: Config,
    pub board: Board,
    /// The debug probe it is attached to, as probe-rs selects it: `VID:PID:SERIAL`.
    pub probe: Option<String>,
    /// The serial port it is attached to.
    pub port: Option<String>,
}

/// Reads a fleet file and the key files that it names.
pub fn read(path: &Path) -> anyhow::Result<Vec<Member>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the fleet file {name}"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let draft = parse(&name, &text)?;
    let key = key::read(&folder.join(draft.key_file)).with_context(|| format!("{name}: `key_file`"))?;
    let former = draft.former_key_file.map(|file| key::read(&folder.join(file))).transpose();
    let former = former.with_context(|| format!("{name}: `former_key_file`"))?;
    Ok(draft.members.into_iter().map(|member| with_keys(member, &key, former.as_ref())).collect())
}

fn with_keys(mut member: Member, key: &NetworkKey, former: Option<&NetworkKey>) -> Member {
    put(&mut member.config.protection, key);
    if let Some((slot, key)) = member.config.former.as_mut().zip(former) {
        put(&mut slot.protection, key);
    }
    member
}

fn put(protection: &mut Protection, key: &NetworkKey) {
    *protection = Protection::new(protection.cipher(), key.clone());
}

/// A placeholder for the key, which is read only once everything else is correct.
fn unread(cipher: Cipher) -> Protection {
    Protection::new(cipher, NetworkKey::new([0; _]))
}

/// A fleet whose keys have not been read yet.
#[derive(Debug)]
struct Draft {
    key_file: String,
    former_key_file: Option<String>,
    members: Vec<Member>,
}

fn parse(file: &str, text: &str) -> Result<Draft, Problem> {
    let source = Source { file, text };
    let document = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.problem(at, format!("not TOML: {}", error.message()))
    })?;
    let root = Section::root(source, document.get_ref());
    let network = root.text("network")?;
    let key_file = root.text("key_file")?.map(str::to_owned);
    let former_key_file = root.text("former_key_file")?.map(str::to_owned);
    let former_key_id = root.integer("former_key_id", 0..4)?;
    let former_cipher = root.word("former_cipher", &Cipher::KEYED.map(|cipher| (cipher.name(), cipher)))?;
    let common = Common::read(&root)?;
    let board = root.word("board", &Board::ALL.map(|board| (board.name(), board)))?.unwrap_or_default();
    let nodes = root.sections("node")?;
    root.finish()?;
    let network = network.ok_or_else(|| root.missing("network"))?;
    if network.trim().is_empty() {
        return Err(root.problem_at("network", "is empty: boards with the same name share a network, so give it one"));
    }
    let key_file = key_file.ok_or_else(|| root.missing("key_file"))?;
    if former_key_file.is_none() && (former_key_id.is_some() || former_cipher.is_some()) {
        return Err(root.missing("former_key_file"));
    }
    if nodes.is_empty() {
        return Err(root.problem("the fleet has no boards: write [[node]] with an id and a probe for each"));
    }
    let former_key_id = former_key_id.and_then(|id| u8::try_from(id).ok()).unwrap_or(0);
    let former = former_key_file.is_some().then_some(Former { key_id: former_key_id, cipher: former_cipher });
    let shared = Shared { network: pan(network), common, board, former };
    let mut seen = Seen::default();
    let members: Vec<Member> = nodes.iter().map(|node| shared.member(node, &mut seen)).collect::<Result<_, _>>()?;
    if let Some(absent) = shared.common.ring.iter().flatten().find(|id| !seen.ids.contains(id)) {
        let what = format!(
            "has {absent}, but no [[node]] has that id: the ring would wait for a board that nobody provisions"
        );
        return Err(root.problem_at("ring", &what));
    }
    Ok(Draft { key_file, former_key_file, members })
}

/// Settings for all boards at the top of the file, which each board may override.
#[derive(Clone, Debug, Default)]
struct Common {
    algorithm: Option<Algorithm>,
    ring: Option<Vec<u16>>,
    radii: Option<Vec<u8>>,
    channel: Option<u8>,
    power_dbm: Option<i8>,
    key_id: Option<u8>,
    cipher: Option<Cipher>,
}

impl Common {
    fn read(section: &Section<'_>) -> Result<Self, Problem> {
        let small = |value: u64| u8::try_from(value).unwrap_or(u8::MAX);
        let ids = u64::from(*IDS.start())..u64::from(*IDS.end()) + 1;
        let channels = u64::from(*CHANNELS.start())..u64::from(*CHANNELS.end()) + 1;
        let radii = section.integers("radii", 1..u64::from(RADIUS_MAX) + 1)?;
        let ring = section.integers("ring", ids)?;
        let power = section.quantity("power", Unit::Power)?;
        let power_dbm = power.map(|dbm| whole_dbm(dbm).ok_or_else(|| section.problem_at("power", "must be whole dBm")));
        Ok(Self {
            algorithm: section.word("algorithm", &Algorithm::ALL.map(|algorithm| (algorithm.name(), algorithm)))?,
            ring: ring.map(|ring| ring.into_iter().filter_map(|id| u16::try_from(id).ok()).collect()),
            radii: radii.map(|radii| radii.into_iter().map(small).collect()),
            channel: section.integer("channel", channels)?.map(small),
            power_dbm: power_dbm.transpose()?,
            key_id: section.integer("key_id", 0..4)?.map(small),
            cipher: section.word("cipher", &Cipher::KEYED.map(|cipher| (cipher.name(), cipher)))?,
        })
    }

    /// These settings, with the other's where unset.
    fn or(self, other: &Self) -> Self {
        Self {
            algorithm: self.algorithm.or(other.algorithm),
            ring: self.ring.or_else(|| other.ring.clone()),
            radii: self.radii.or_else(|| other.radii.clone()),
            channel: self.channel.or(other.channel),
            power_dbm: self.power_dbm.or(other.power_dbm),
            key_id: self.key_id.or(other.key_id),
            cipher: self.cipher.or(other.cipher),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the comparison finds what the cast changed")]
fn whole_dbm(dbm: f64) -> Option<i8> {
    let whole = dbm as i8;
    ((f64::from(whole) - dbm).abs() < 1e-9).then_some(whole)
}

/// Whether this selects a probe: two numbers of four hexadecimal digits, then the serial number.
fn is_probe(text: &str) -> bool {
    let is_number = |part: &str| part.len() == 4 && part.chars().all(|c| c.is_ascii_hexdigit());
    let mut parts = text.splitn(3, ':');
    parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && parts.next().is_some_and(|serial| !serial.is_empty() && !serial.contains(char::is_whitespace))
}

/// What the top of the file says for all boards.
#[derive(Debug)]
struct Shared {
    network: u16,
    common: Common,
    board: Board,
    former: Option<Former>,
}

/// The former key of a network that is moving to another.
#[derive(Clone, Copy, Debug)]
struct Former {
    key_id: u8,
    /// None if it is the same as the present key's.
    cipher: Option<Cipher>,
}

/// What must be unique among the boards.
#[derive(Debug, Default)]
struct Seen {
    ids: BTreeSet<u16>,
    lines: BTreeMap<String, u16>,
}

impl Shared {
    fn member(&self, node: &Section<'_>, seen: &mut Seen) -> Result<Member, Problem> {
        let id = node.integer("id", u64::from(*IDS.start())..u64::from(*IDS.end()) + 1)?;
        let probe = node.text("probe")?.map(str::to_owned);
        let port = node.text("port")?.map(str::to_owned);
        let board = node.word("board", &Board::ALL.map(|board| (board.name(), board)))?.unwrap_or(self.board);
        let common = Common::read(node)?.or(&self.common);
        node.finish()?;
        let id = id.and_then(|id| u16::try_from(id).ok()).ok_or_else(|| node.missing("id"))?;
        if !seen.ids.insert(id) {
            return Err(node.problem_at("id", &format!("{id} is already taken: every board needs its own")));
        }
        if probe.as_deref().is_some_and(|probe| !is_probe(probe)) {
            return Err(node.problem_at(
                "probe",
                "must be VID:PID:SERIAL as `probe-rs list` shows it, such as 1366:1015:001050012345",
            ));
        }
        for (key, line) in [("probe", &probe), ("port", &port)] {
            let before = line.as_ref().and_then(|line| seen.lines.insert(line.clone(), id));
            if let Some(other) = before {
                return Err(node.problem_at(key, &format!("is already used by node {other}: every board has its own")));
            }
        }
        let cipher = common.cipher.unwrap_or_default();
        let former = self
            .former
            .map(|former| FormerKey { key_id: former.key_id, protection: unread(former.cipher.unwrap_or(cipher)) });
        let settings = Settings {
            pan: self.network,
            protection: unread(cipher),
            key_id: common.key_id.unwrap_or(0),
            former,
            algorithm: common.algorithm,
            ring: common.ring,
            radii: common.radii.unwrap_or_default(),
            channel: common.channel,
            power_dbm: common.power_dbm,
        };
        let config = settings.config(id).map_err(|error| node.problem(format!("node {id}: {error:#}")))?;
        Ok(Member { config, board, probe, port })
    }
}

#[cfg(test)]
mod tests;
