//! `ringleader provision`: gives boards their identity, as a page in their flash or over a cable.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use common::board::flash_map::FlashMap;
use common::config::{Config, FormerKey, Protection};
use common::names::{Algorithm, Board, Cipher, UnknownName};

use super::shell::quoted;
use crate::field::fleet::{self, Member};
use crate::field::key;
use crate::field::monitor::line::Endpoint;
use crate::field::provision::settings::Settings;
use crate::field::provision::target::{FlashSteps, Format};
use crate::field::provision::{cable, network, page_file, secret_file};
use crate::output::counted;
use crate::{note, outln};

const DETAILS: &str = r"Creates the configuration page of a board: its id, its network and its key. Without --flash or --port
it writes a file and prints the probe-rs commands that flash it. A board without a page joins the demo
network, whose key is public.

To move a running network to another key, give each board in turn the new key together with the former
one: it sends under the new key and still accepts frames under the former. Then provision all boards
once more without the former key.

Examples:
  One board:     ringleader provision --id 1 --network garden --key-file garden.key --ring 1,2,3
  All boards:    ringleader provision --fleet fleet.toml --flash
  Another key:   ringleader provision --id 1 --network garden --key-file new.key --key-id 1 \
                   --former-key-file garden.key --former-key-id 0 --port /dev/ttyACM0";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The board's id, 1 to 65533, unique in its network
    #[arg(long, value_name = "N", required_unless_present = "fleet")]
    id: Option<u16>,
    /// The network's name; boards with the same name share a network (its PAN is the name's FNV-1a modulo 65535)
    #[arg(long, value_name = "NAME", required_unless_present = "fleet")]
    network: Option<String>,
    /// The network's key, from `ringleader key new`
    #[arg(long, value_name = "FILE", required_unless_present_any = ["fleet", "unprotected"])]
    key_file: Option<PathBuf>,
    /// Use no key: anyone in range can read and forge every frame. For experiments only
    #[arg(long, conflicts_with = "key_file")]
    unprotected: bool,
    /// The cipher
    #[arg(long, default_value_t, value_parser = one_of::<Cipher>(Cipher::KEYED.map(|one| (one.name(), one.title()))))]
    cipher: Cipher,
    /// The key's number (0 to 3), which lets a running network move to another key
    #[arg(long, value_name = "K", default_value_t = 0)]
    key_id: u8,
    /// The network's former key: the board accepts frames under it until it is provisioned without it
    #[arg(long, value_name = "FILE", requires = "key_file")]
    former_key_file: Option<PathBuf>,
    /// The former key's number, which must differ from --key-id
    #[arg(long, value_name = "K", requires = "former_key_file", default_value_t = 0)]
    former_key_id: u8,
    /// The former key's cipher [default: that of --cipher]
    #[arg(long, requires = "former_key_file",
        value_parser = one_of::<Cipher>(Cipher::KEYED.map(|one| (one.name(), one.title()))))]
    former_cipher: Option<Cipher>,
    /// The members of the ring in order, the same for every board; required by ring algorithms
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    ring: Option<Vec<u16>>,
    /// The election algorithm [default: hs with --ring, hierarchy with --radii, otherwise height]
    #[arg(long, value_name = "NAME",
        value_parser = one_of::<Algorithm>(Algorithm::ALL.map(|one| (one.name(), one.title()))))]
    algorithm: Option<Algorithm>,
    /// The radio channel, 11 to 26
    #[arg(long, value_name = "C")]
    channel: Option<u8>,
    /// Transmit power in dBm: -40, -20, -16, -12, -8, -4, 0 or 2 to 8
    #[arg(long, value_name = "DBM", allow_negative_numbers = true)]
    power: Option<i8>,
    /// The hierarchy's radii in hops, level 1 first, such as 2,4
    #[arg(long, value_name = "HOPS", value_delimiter = ',')]
    radii: Vec<u8>,
    /// The board, which determines the page's address
    #[arg(long, default_value_t, value_parser = one_of::<Board>(Board::ALL.map(|one| (one.name(), one.title()))))]
    board: Board,
    /// Where to write the page: .hex (with its address) or .bin. It contains the key, so only you can read it
    /// [default: node-N.hex, or no file with --port]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The probe to flash with: VID:PID:SERIAL as `probe-rs list` shows it
    #[arg(long, value_name = "PROBE")]
    probe: Option<String>,
    /// Run the probe-rs commands instead of only printing them
    #[arg(long)]
    flash: bool,
    /// Send the page to a running board over this serial port, and wait for its answer
    #[arg(long, value_name = "PORT", conflicts_with = "flash")]
    port: Option<PathBuf>,
    /// Provision all boards of a fleet file (TOML), which maps probe serials to ids and holds the common settings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "network", "key_file", "unprotected",
        "former_key_file", "ring", "algorithm",
        "channel", "power", "radii", "output", "probe", "port"])]
    fleet: Option<PathBuf>,
    /// With --fleet: only the boards with these ids, such as those that an interrupted run left
    #[arg(long, value_name = "IDS", requires = "fleet", value_delimiter = ',')]
    only: Vec<u16>,
    /// With --fleet: the directory for the pages
    #[arg(long, value_name = "DIR", requires = "fleet", default_value = ".")]
    out: PathBuf,
}

/// Accepts one of these names; the titles explain them in the help.
fn one_of<T: FromStr<Err = UnknownName> + Clone + Send + Sync + 'static>(
    choices: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let values = choices.into_iter().map(|(name, title)| PossibleValue::new(name).help(title));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.fleet {
        Some(file) => provision_fleet(file, args)?,
        None => provision_one(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn provision_one(args: &Args) -> anyhow::Result<()> {
    let protection = match &args.key_file {
        None => Protection::Open,
        Some(file) => Protection::new(args.cipher, key::read(file)?),
    };
    let former = match &args.former_key_file {
        None => None,
        Some(file) => {
            let protection = Protection::new(args.former_cipher.unwrap_or(args.cipher), key::read(file)?);
            Some(FormerKey { key_id: args.former_key_id, protection })
        }
    };
    let settings = Settings {
        pan: network::pan(args.network.as_deref().unwrap_or_default()),
        protection,
        key_id: args.key_id,
        former,
        algorithm: args.algorithm,
        ring: args.ring.clone(),
        radii: args.radii.clone(),
        channel: args.channel,
        power_dbm: args.power,
    };
    let id = args.id.unwrap_or_default();
    let config = settings.config(id).with_context(|| format!("node {id}"))?;
    let output = match (&args.output, &args.port) {
        (Some(file), _) => Some(file.clone()),
        (None, None) => Some(format!("node-{id}.hex").into()),
        (None, Some(_)) => None,
    };
    let port = args.port.as_ref().map(|port| port.to_string_lossy().into_owned());
    let member = Member { config, board: args.board, probe: args.probe.clone(), port };
    provision(&member, output.as_deref(), args.flash)
}

fn provision_fleet(file: &Path, args: &Args) -> anyhow::Result<()> {
    let mut members = fleet::read(file)?;
    let name = file.display();
    if let Some(absent) = args.only.iter().find(|&&id| members.iter().all(|member| member.config.id.0 != id)) {
        bail!("{name}: no [[node]] has the id {absent} that --only names");
    }
    members.retain(|member| args.only.is_empty() || args.only.contains(&member.config.id.0));
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    // Checked before any board is touched.
    let unreachable = members.iter().find(|member| member.probe.is_none() && member.port.is_none());
    if let Some(Member { config, .. }) = unreachable.filter(|_| args.flash) {
        bail!("{name}: node {} has neither `probe` nor `port`: --flash needs one to reach the board", config.id);
    }
    for (done, member) in members.iter().enumerate() {
        let output = args.out.join(format!("node-{}.hex", member.config.id));
        let result = if args.flash {
            provision(member, Some(&output), member.probe.is_some())
        } else {
            write_only(member, &output, file, args)
        };
        if let (Err(_), true) = (&result, args.flash) {
            note!("{}", what_is_left(file, args, &members, done));
        }
        result.with_context(|| format!("node {}", member.config.id))?;
    }
    outln!("{}.", counted(members.len(), "board"))?;
    Ok(())
}

/// Writes a board's page and prints the command that flashes it. A board on a serial port has no probe for the command to
/// name, and without one probe-rs would take any board that is plugged in.
fn write_only(member: &Member, output: &Path, file: &Path, args: &Args) -> anyhow::Result<()> {
    if member.probe.is_some() || member.port.is_none() {
        return provision(&Member { port: None, ..member.clone() }, Some(output), false);
    }
    write_page(member, output)?;
    outln!("  $ {}", again(file, args, &[member]))
}

/// Which boards have their page and which do not, and how to continue.
fn what_is_left(file: &Path, args: &Args, members: &[Member], done: usize) -> String {
    let (done, left) = members.split_at(done);
    let ids = |members: &[Member]| {
        let ids: Vec<String> = members.iter().map(|member| member.config.id.to_string()).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
    };
    let rest: Vec<&Member> = left.iter().collect();
    format!("done: {}\nleft: {}\nto continue: {}", ids(done), ids(left), again(file, args, &rest))
}

/// The command that provisions these boards of the fleet.
fn again(file: &Path, args: &Args, members: &[&Member]) -> String {
    let ids: Vec<String> = members.iter().map(|member| member.config.id.to_string()).collect();
    let [file, out] = [file, &args.out].map(|path| quoted(&path.to_string_lossy()));
    format!("ringleader provision --fleet {file} --only {} --out {out} --flash", ids.join(","))
}

/// Creates one board's page, writes it to a file and flashes it, whichever was asked for.
fn provision(member: &Member, output: Option<&Path>, flash: bool) -> anyhow::Result<()> {
    match output {
        Some(file) => write_page(member, file)?,
        None => outln!("{}", summary(&member.config))?,
    }
    if let Some(file) = output {
        let steps = FlashSteps::new(file, Format::of(file)?, member.board, member.probe.as_deref());
        if flash {
            steps.run()?;
        } else if member.port.is_none() {
            steps.lines().iter().try_for_each(|line| outln!("  $ {line}"))?;
        }
    }
    if let Some(port) = member.port.as_ref().filter(|_| !flash) {
        let page = page_file::page_bytes(&member.config)?;
        cable::send(&Endpoint::Serial(port.into()), &page)?;
        outln!("  {port}: stored; the board restarts with it")?;
    }
    Ok(())
}

/// Prints a board's settings and writes its page.
fn write_page(member: &Member, file: &Path) -> anyhow::Result<()> {
    let page = page_file::page_bytes(&member.config)?;
    outln!("{}", summary(&member.config))?;
    let contents = page_file::contents(&page, member.board, Format::of(file)?);
    secret_file::write(file, &contents).with_context(|| format!("cannot write {}", file.display()))?;
    let address = FlashMap::of(member.board).config_page();
    outln!("  {}: {} bytes for address {address:#x}; contains the key", file.display(), page.len())
}

/// A board's settings in one line, without the key.
fn summary(config: &Config) -> String {
    let protection = config.protection.cipher().title();
    let ring = config.ring.as_ref().map_or(String::new(), |ring| format!(" on a ring of {}", ring.ids().len()));
    let Config { id, pan, channel, power_dbm, algorithm, key_id, former, .. } = config;
    let keys = former
        .as_ref()
        .map_or(String::new(), |former| format!(" (key {key_id}, still accepting key {})", former.key_id));
    let algorithm = algorithm.title();
    format!("node {id}: PAN {pan:#06x}, channel {channel}, {power_dbm} dBm, {protection}{keys}, {algorithm}{ring}")
}
