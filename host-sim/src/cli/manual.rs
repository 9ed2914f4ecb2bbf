//! `ringleader completions` and `ringleader man`: shell completions and manual pages.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;

use crate::{out, outln};

const COMPLETIONS: &str = "\
Examples:
  bash:  ringleader completions bash > ~/.local/share/bash-completion/completions/ringleader
  zsh:   ringleader completions zsh > ~/.zfunc/_ringleader      (with ~/.zfunc on the fpath)
  fish:  ringleader completions fish > ~/.config/fish/completions/ringleader.fish";

const MANUAL: &str = "\
Examples:
  ringleader man | man -l -
  ringleader man --dir ~/.local/share/man/man1";

#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = MANUAL)]
pub struct ManArgs {
    /// Write a page for each command into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs, mut program: clap::Command) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "ringleader", &mut text);
    out!("{}", String::from_utf8(text).context("completions are text")?)?;
    Ok(ExitCode::SUCCESS)
}

pub fn man(args: &ManArgs, program: clap::Command) -> anyhow::Result<ExitCode> {
    if let Some(dir) = &args.dir {
        let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(program, dir));
        written.with_context(|| format!("cannot write to {}", dir.display()))?;
        outln!("{}", dir.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    let rendered: io::Result<()> = clap_mangen::Man::new(program).render(&mut text);
    rendered.context("cannot write the page")?;
    out!("{}", String::from_utf8(text).context("a page is text")?)?;
    Ok(ExitCode::SUCCESS)
}
