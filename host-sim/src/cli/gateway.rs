//! `ringleader gateway`: starts the gateway. It is a separate program because a database and an MQTT client would double the
//! build time of this one.

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
            "the gateway is a separate program, and it is not built yet. Build it here, or wherever this program was built:\n  \
             cargo build --release --package gateway"
        );
    };
    start(Command::new(&program).args(&args.options)).with_context(|| format!("cannot start {}", program.display()))
}

/// Replaces this program, so that a signal to it reaches the gateway.
#[cfg(unix)]
fn start(gateway: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;
    Err(gateway.exec())
}

#[cfg(not(unix))]
fn start(gateway: &mut Command) -> std::io::Result<ExitCode> {
    let code = gateway.status()?.code();
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn program() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(&name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(&name));
    beside.into_iter().chain(on_path).find(|program| program.is_file())
}
