//! `ringleader-gateway`, which `ringleader gateway` starts.

use std::process::ExitCode;

use clap::Parser;
use gateway::args::Args;
use host_sim::{note, output};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let printed = error.print();
            let is_wrong = error.use_stderr() || output::written(printed).is_err();
            return if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match args.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
