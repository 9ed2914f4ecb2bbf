//! `ringleader key`: creates network keys.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::field::key::create;
use crate::outln;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a random key in a file that only you can read
    ///
    /// The key is 128 bits from the operating system's random source. It is never printed. All boards of a network share
    /// it. Anyone who has it can read and forge every frame, so keep the file out of repositories and chats.
    New {
        /// The file to create. An existing file is never overwritten: other boards may depend on it
        #[arg(default_value = "network.key")]
        file: PathBuf,
    },
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Action::New { file } = &args.action;
    create(file)?;
    outln!("{}: new network key, readable only by you and not shown here.", file.display())?;
    outln!("Next: ringleader provision --id 1 --network NAME --key-file {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}
