//! Where boards are: the options that commands share.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::field::monitor::line::Endpoint;

/// Any number of boards.
#[derive(Debug, Default, clap::Args)]
pub struct Ports {
    /// A serial port; may be repeated [default: every /dev/ttyACM* or /dev/cu.usbmodem*]
    #[arg(short, long, value_name = "PORT")]
    pub port: Vec<PathBuf>,
    /// A server that forwards a board's serial port, HOST:PORT; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub socket: Vec<String>,
}

/// One board.
#[derive(Debug, Default, clap::Args)]
pub struct OnePort {
    /// The board's serial port [default: the only /dev/ttyACM* or /dev/cu.usbmodem* there is]
    #[arg(short, long, value_name = "PORT")]
    pub port: Option<PathBuf>,
    /// A server that forwards the board's serial port, HOST:PORT
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    pub socket: Option<String>,
}

impl Ports {
    pub fn is_empty(&self) -> bool {
        self.port.is_empty() && self.socket.is_empty()
    }

    /// Those that were named, or else all there are.
    pub fn endpoints(&self) -> anyhow::Result<Vec<Endpoint>> {
        let mut endpoints: Vec<Endpoint> = self.port.iter().cloned().map(Endpoint::Serial).collect();
        endpoints.extend(self.socket.iter().cloned().map(Endpoint::Socket));
        if endpoints.is_empty() {
            endpoints = found_ports(Path::new("/dev")).into_iter().map(Endpoint::Serial).collect();
        }
        if endpoints.is_empty() {
            bail!("found no board on USB: plug one in, name its port with --port, or use --socket (see --help)");
        }
        Ok(endpoints)
    }
}

impl OnePort {
    /// The one that was named, or else the only one there is.
    pub fn endpoint(&self) -> anyhow::Result<Endpoint> {
        let named = Ports { port: self.port.iter().cloned().collect(), socket: self.socket.iter().cloned().collect() };
        let mut endpoints = named.endpoints()?;
        match (endpoints.pop(), endpoints.is_empty()) {
            (Some(endpoint), true) => Ok(endpoint),
            (last, _) => {
                let all: Vec<String> = endpoints.iter().chain(&last).map(ToString::to_string).collect();
                bail!("there are {} boards on USB; choose one with --port: {}", all.len(), all.join(", "))
            }
        }
    }
}

/// The serial ports of boards on USB, sorted.
fn found_ports(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_board = |name: &str| name.starts_with("ttyACM") || name.starts_with("cu.usbmodem");
    let mut ports: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_board))
        .map(|entry| entry.path())
        .collect();
    ports.sort();
    ports
}
