//! `ringleader flash`: firmware and configuration onto a whole fleet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use common::board::flash_map::FlashMap;
use common::host_link::{BuildId, ToBoard, ToHost};
use common::names::Board;

use super::shell::quoted;
use crate::field::flash::image::{Image, takes_uf2};
use crate::field::flash::probe::Probe;
use crate::field::fleet::{self, Member};
use crate::field::monitor::line::Endpoint;
use crate::field::provision::target::Format;
use crate::field::provision::{cable, page_file, secret_file};
use crate::field::talk::Talk;
use crate::field::uf2::Uf2;
use crate::outln;
use crate::output::counted;

const DETAILS: &str = "\
For each board of the fleet: builds the image of its kind, keeps it as IMAGES/BUILD_ID.elf, flashes it and
the board's page, and reads both back.

  probe = \"...\"  through probe-rs; what is already there is not written again
  port = \"...\"   asks the board which image it runs. If it is another one, writes a UF2 file and says how to
                 copy it to the board's bootloader. The page goes over the cable

A board that fails does not hold up the others. At the end the command lists what is done and what is left;
run it again to finish the rest.

Examples:
  ringleader flash --fleet fleet.toml
  ringleader flash --fleet fleet.toml --only 3,5 --image nrf52840-dk=images/0123456789abcdef.elf

Exit codes:
  0  every board has its image and its page
  1  bad input, or something is left";

/// A board answers at once unless it is busy writing its flash.
const HELLO_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The fleet file: which board gets which id, and how to reach it
    #[arg(long, value_name = "FILE")]
    fleet: PathBuf,
    /// Only the boards with these ids
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    only: Vec<u16>,
    /// Use this ELF file for a kind of board, instead of building its image; may be repeated
    #[arg(long, value_name = "BOARD=FILE")]
    image: Vec<Named>,
    /// Where every image that is flashed is kept
    #[arg(long, value_name = "DIR", default_value = "images")]
    archive: PathBuf,
    /// Where pages and UF2 files go; pages contain the key
    #[arg(long, value_name = "DIR", default_value = "pages")]
    out: PathBuf,
}

#[derive(Clone, Debug)]
struct Named {
    board: Board,
    file: PathBuf,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (board, file) = text.split_once('=').ok_or("must be BOARD=FILE, such as nrf52840-dk=image.elf")?;
        let board = board.parse().map_err(|_| {
            format!("there is no board {board:?}; choose one of {}", Board::ALL.map(Board::name).join(", "))
        })?;
        Ok(Self { board, file: file.into() })
    }
}

/// What became of a board.
enum Done {
    Written,
    /// Everything was there.
    Already,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut members = fleet::read(&args.fleet)?;
    let name = args.fleet.display();
    if let Some(absent) = args.only.iter().find(|&&id| members.iter().all(|member| member.config.id.0 != id)) {
        bail!("{name}: no [[node]] has the id {absent} that --only names");
    }
    members.retain(|member| args.only.is_empty() || args.only.contains(&member.config.id.0));
    if let Some(Member { config, .. }) = members.iter().find(|one| one.probe.is_none() && one.port.is_none()) {
        bail!("{name}: node {} has neither `probe` nor `port`, so the board cannot be reached", config.id);
    }
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    // Before any board is touched.
    let images = images(args, &members)?;
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for member in &members {
        let id = member.config.id;
        let image = images.get(member.board.name()).context("every kind of board has its image")?;
        match bring(member, image, args) {
            Ok(Done::Written) => outln!("node {id}: image {} and page written and read back", image.build)?,
            Ok(Done::Already) => outln!("node {id}: has image {} and its page already", image.build)?,
            Err(error) => {
                outln!("node {id}: LEFT: {error:#}")?;
                left.push(id.to_string());
                continue;
            }
        }
        done.push(id.to_string());
    }
    outln!("done: {}", if done.is_empty() { "none".to_owned() } else { done.join(", ") })?;
    if left.is_empty() {
        outln!("{}.", counted(members.len(), "board"))?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!("left: {}", left.join(", "))?;
    outln!("to continue: {}", again(args, &left))?;
    Ok(ExitCode::FAILURE)
}

/// One image for each kind of board, in the archive.
fn images(args: &Args, members: &[Member]) -> anyhow::Result<BTreeMap<&'static str, Image>> {
    let mut images = BTreeMap::new();
    for board in members.iter().map(|member| member.board) {
        if images.contains_key(board.name()) {
            continue;
        }
        let named = args.image.iter().find(|named| named.board == board);
        let image = named.map_or_else(|| Image::build(board), |named| Image::read(&named.file))?;
        let kept = image.archive(&args.archive)?;
        outln!("{}: image {} kept as {}", board.title(), image.build, kept.display())?;
        images.insert(board.name(), image);
    }
    Ok(images)
}

fn bring(member: &Member, image: &Image, args: &Args) -> anyhow::Result<Done> {
    match (&member.probe, &member.port) {
        (Some(probe), _) => through_probe(member, &Probe { board: member.board, selector: probe }, image, args),
        (None, Some(port)) => over_cable(member, port, image, args),
        (None, None) => bail!("nothing reaches the board"),
    }
}

fn through_probe(member: &Member, probe: &Probe<'_>, image: &Image, args: &Args) -> anyhow::Result<Done> {
    let page = page_file::page_bytes(&member.config)?;
    let address = FlashMap::of(member.board).config_page();
    let has_image = || -> anyhow::Result<bool> { Ok(probe.read(image.build_address, 8)? == image.build.0) };
    let has_page = || -> anyhow::Result<bool> { Ok(probe.read(address, page.len())? == page) };
    let is_flashed = has_image()?;
    if is_flashed && has_page()? {
        return Ok(Done::Already);
    }
    if !is_flashed {
        probe.write(&args.archive.join(format!("{}.elf", image.build)), false)?;
        ensure!(has_image()?, "the image was written, but its build id {} does not read back", image.build);
    }
    // Writing an image may erase the page's part of flash.
    if !has_page()? {
        let file = args.out.join(format!("node-{}.hex", member.config.id));
        let contents = page_file::contents(&page, member.board, Format::Hex);
        secret_file::write(&file, &contents).with_context(|| format!("cannot write {}", file.display()))?;
        probe.write(&file, true)?;
        ensure!(has_page()?, "the page was written, but does not read back");
    }
    probe.reset()?;
    Ok(Done::Written)
}

fn over_cable(member: &Member, port: &str, image: &Image, args: &Args) -> anyhow::Result<Done> {
    let endpoint = Endpoint::Serial(port.into());
    let runs = build_at(&endpoint);
    if runs.as_ref().is_ok_and(|build| *build == image.build) {
        // A board does not reveal its key, so whether it already has this very page is unknown.
        cable::send(&endpoint, &page_file::page_bytes(&member.config)?)?;
        return Ok(Done::Written);
    }
    let state = runs.map_or_else(|error| format!("{error:#}"), |build| format!("it runs image {build}"));
    ensure!(
        takes_uf2(member.board),
        "{state}, and the {} takes no image over a cable: flash {} with its bootloader or a probe, and run this again",
        member.board.title(),
        args.archive.join(format!("{}.elf", image.build)).display()
    );
    let file = args.out.join(format!("{}.uf2", image.build));
    let uf2 = Uf2::of(&image.segments).context("the image is not for a UF2 bootloader")?;
    std::fs::write(&file, &uf2.bytes).with_context(|| format!("cannot write {}", file.display()))?;
    bail!("{state}: press reset twice, copy {} to the drive that appears, and run this again", file.display())
}

/// The image that the board at a port runs.
fn build_at(endpoint: &Endpoint) -> anyhow::Result<BuildId> {
    let mut talk = Talk::open(endpoint)?;
    talk.say(&ToBoard::GetHello)?;
    talk.answer(HELLO_WAIT, |said| if let ToHost::Hello(hello) = said { Some(hello.build) } else { None })
}

fn again(args: &Args, left: &[String]) -> String {
    let path = |path: &Path| quoted(&path.to_string_lossy());
    let images: String = args
        .image
        .iter()
        .flat_map(|named| [" --image ", named.board.name(), "=", &path(&named.file)].map(str::to_owned))
        .collect();
    format!(
        "ringleader flash --fleet {} --only {} --archive {} --out {}{images}",
        path(&args.fleet),
        left.join(","),
        path(&args.archive),
        path(&args.out)
    )
}
