//! `ringleader key`: makes network keys.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::field::key::create;
use crate::outln;

/// Arguments of `key`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What is to be done with keys.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a new random key and put it into a file that only you can read
    ///
    /// The key is 128 bits from the operating system's random source. It is not printed. All boards of a network need the
    /// same one; whoever has it can read and forge every frame, so keep the file out of repositories and chats.
    New {
        /// Where to put it. A file that is there already is left alone: other boards may depend on it
        #[arg(default_value = "network.key")]
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Action::New { file } = &args.action;
    create(file)?;
    outln!("{}: a new network key. Only you can read it; it is not shown.", file.display())?;
    outln!("Next: ringleader provision --id 1 --network NAME --key-file {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}
