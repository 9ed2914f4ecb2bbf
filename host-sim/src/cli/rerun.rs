//! `ringleader replay --calls`: runs the nodes of recorded boards again, and compares every byte.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use common::board::demo;
use common::config::Config;

use crate::field::check::trace_file;
use crate::field::fleet;
use crate::field::provision::network::shown;
use crate::field::rerun::{Identity, Life, Same, lives, rerun};
use crate::output::counted;
use crate::{note, outln};

/// The exit code of a run that is not deterministic.
const DIFFERS: u8 = 2;

pub fn run(file: &Path, fleet: Option<&Path>) -> anyhow::Result<ExitCode> {
    let trace = trace_file::read(file)?;
    let members = fleet.map(fleet::read).transpose()?.unwrap_or_default();
    let configs: Vec<Config> = members.into_iter().map(|member| member.config).collect();
    let lives = lives(&trace);
    ensure!(
        !lives.is_empty(),
        "{} has no calls from a node's start on: record with `ringleader monitor --calls --record`",
        file.display()
    );
    let mut differ = 0;
    for life in &lives {
        let config = config(&life.board, &configs)?;
        let name = format!("node {}, boot {}", life.board.id, boot(life));
        match rerun(&config, &life.log, &life.calls) {
            None => bail!("{name}: its record does not begin with its start, or its configuration is wrong"),
            Some(Ok(Same { calls, frames })) => {
                let (calls, frames) = (counted(calls, "call"), counted(frames, "frame"));
                outln!("{name}: {calls}, {frames}: the same bytes")?;
            }
            Some(Err(difference)) => {
                differ += 1;
                outln!("{name}: DIFFERS {difference}")?;
                note!("its image is {}: this program must be built from the same sources", life.board.build);
            }
        }
        if life.is_cut {
            note!("{name}: the board dropped messages there, so the rest of this boot cannot be run again");
        }
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) })
}

fn boot(life: &Life) -> String {
    let epoch = life.calls.iter().find_map(|(_, call)| match call {
        common::host_link::Call::Start { epoch, .. } => *epoch,
        _ => None,
    });
    epoch.map_or("without a number".to_owned(), |epoch| epoch.to_string())
}

/// The demo network's is public; any other is in the fleet file.
fn config(board: &Identity, fleet: &[Config]) -> anyhow::Result<Config> {
    let Identity { id, network, chip, .. } = board;
    if *network == shown(demo::PAN) {
        let chip = u64::from_str_radix(chip, 16).ok().with_context(|| format!("{chip:?} is not the id of a chip"))?;
        return Ok(demo::config(chip));
    }
    let is_it = |config: &&Config| config.id.0 == *id && shown(config.pan) == *network;
    fleet.iter().find(is_it).cloned().with_context(|| {
        format!("node {id} of network {network} needs its configuration: name its fleet file with --fleet")
    })
}
