//! Emulated boards instead of real ones: `ringleader board --pty` behind the gateway, so that everything can be tried
//! without hardware.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use host_sim::field::monitor::line::Endpoint;

use super::cable::Cables;
use super::{Batch, Source};

/// The boards of a scenario, each on a pseudo-terminal. They end when their standard input does, and so with the gateway,
/// even if it is killed.
#[derive(Debug)]
pub struct Emulated {
    boards: Child,
    cables: Cables,
}

impl Emulated {
    /// `ringleader` is the program that runs the boards; `image` is an ELF file to use instead of the one that it
    /// builds.
    pub fn start(
        ringleader: &Path,
        scenario: &str,
        image: Option<&Path>,
        networks: Vec<String>,
    ) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("ringleader-gateway-{}", std::process::id()));
        let mut command = Command::new(ringleader);
        command.args(["board", scenario, "--until-eof"]).arg(format!("--pty={}", folder.display()));
        if let Some(image) = image {
            command.arg("--elf").arg(image);
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut boards = spawned.with_context(|| format!("cannot start {}", ringleader.display()))?;
        let said = boards.stdout.take().context("its output is a pipe")?;
        let ports = ports(said)?;
        if ports.is_empty() {
            let _ = boards.wait();
            bail!("`ringleader board {scenario}` has no boards; it says above why");
        }
        let cables = Cables::new(ports.into_iter().map(Endpoint::Serial).collect(), networks, false);
        Ok(Self { boards, cables })
    }
}

/// The ports of the boards, as `ringleader board --pty` prints them before it begins.
fn ports(said: impl std::io::Read) -> anyhow::Result<Vec<PathBuf>> {
    let mut ports = Vec::new();
    for line in BufReader::new(said).lines() {
        let line = line.context("cannot read what `ringleader board` says")?;
        match line.split_once(": ") {
            Some((node, port)) if node.starts_with("node ") => ports.push(port.into()),
            _ if line.starts_with("Ctrl-C") => break,
            _ => {}
        }
    }
    Ok(ports)
}

impl Source for Emulated {
    fn read(&mut self, at_most: Duration) -> anyhow::Result<Batch> {
        if let Some(status) = self.boards.try_wait().context("the emulated boards")? {
            bail!("the emulated boards ended: {status}");
        }
        self.cables.read(at_most)
    }

    fn committed(&mut self, batch: &Batch) -> anyhow::Result<()> {
        self.cables.committed(batch)
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // Closes its standard input first.
        let _ = self.boards.wait();
    }
}
