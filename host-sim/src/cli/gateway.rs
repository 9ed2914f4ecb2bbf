//! `ringleader gateway`: starts the gateway, a program of its own, because a database and a broker's client would double the
//! time to build this one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

/// The program's name, beside this one or on the path.
const PROGRAM: &str = "ringleader-gateway";

#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Options of the gateway; `ringleader gateway --help` explains them, once it is built
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(program) = program() else {
        bail!(
            "the gateway is a program of its own and not built yet. Build it, here or where this program comes from:\n  \
             cargo build --release --package gateway"
        );
    };
    let status = Command::new(&program).args(&args.options).status();
    let status = status.with_context(|| format!("cannot start {}", program.display()))?;
    // Ended by a signal it has no code; a shell says 128 and more.
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn program() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(&name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(&name));
    beside.into_iter().chain(on_path).find(|program| program.is_file())
}
