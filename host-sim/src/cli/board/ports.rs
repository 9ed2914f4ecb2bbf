//! `ringleader board --pty`: emulated boards as serial ports, in real time.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sim::scenario::input::plan::Scenario;
use sim::scenario::judge::observer::Recorders;

use crate::emulated::fleet::Image;

#[derive(Debug, clap::Args)]
pub struct Ports {
    /// Make every board a serial port, DIR/node-1 and so on, for `monitor`, `provision` and `view`. They
    /// then run in real time until Ctrl-C; the scenario's faults happen, but nothing is judged [default of DIR: boards]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "boards",
        conflicts_with_all = ["json", "svg", "timeline", "map", "log"])]
    pub pty: Option<PathBuf>,
    /// With --pty: end after this many seconds
    #[arg(long = "for", value_name = "SECONDS", requires = "pty", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// With --pty: end when standard input does, for a program that starts boards and may be killed
    #[arg(long, requires = "pty")]
    until_eof: bool,
}

/// Runs the boards behind their ports until somebody ends it.
#[cfg(unix)]
pub fn rehearse(
    ports: &Ports,
    folder: &Path,
    scenario: &Scenario,
    seed: u64,
    recorders: Recorders,
    image: &Image,
) -> anyhow::Result<ExitCode> {
    use std::time::{Duration, Instant};

    use anyhow::Context;
    use sim::scenario::input::units::seconds;
    use sim::scenario::report::outcome::Verdict;
    use sim::scenario::run::boards::board_configs;

    use crate::cli::run::failure_with;
    use crate::emulated::cables::Cables;
    use crate::emulated::fleet::Fleet;
    use crate::emulated::report;
    use crate::emulated::run::{Hooks, run_boards};
    use crate::interrupt::Interrupt;
    use crate::output;
    use crate::{note, out, outln};

    let scenario = Scenario { duration_us: ports.seconds.unwrap_or(FOR_EVER_S) * 1_000_000, ..scenario.clone() };
    let mut cables = Cables::new(folder).with_context(|| format!("cannot use the folder {}", folder.display()))?;
    for config in board_configs(&scenario, image.all)?.values() {
        outln!("node {}: {}", config.id, cables.path(config.id).display())?;
    }
    outln!("Ctrl-C ends it.")?;
    let interrupt = Interrupt::listen();
    if ports.until_eof {
        let interrupt = interrupt.clone();
        std::thread::spawn(move || {
            // What comes does not matter. Its end means that the program that started this one is gone.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            interrupt.set();
        });
    }
    let (mut carried, began, mut behind) = (Ok(()), Instant::now(), Duration::ZERO);
    let mut line = |id, is_on, sent: &[u8]| {
        cables.carry(id, is_on, sent).unwrap_or_else(|error| {
            carried = Err(error);
            interrupt.set();
            Vec::new()
        })
    };
    let mut pace = |now_us: u64, _: &Fleet| {
        if now_us.is_multiple_of(1_000_000) {
            output::progress(&format!("{} with seed {seed}: {:.0} s", scenario.name, seconds(now_us)));
        }
        // Boards that cannot keep up are late, and catch up when they can.
        let (due, now) = (Duration::from_micros(now_us), began.elapsed());
        behind = behind.max(now.saturating_sub(due));
        std::thread::sleep(due.saturating_sub(now));
    };
    let hooks = Hooks { log: None, progress: Some(&mut pace), line: Some(&mut line), stop: Some(interrupt.flag()) };
    let (outcome, boards) = run_boards(&scenario, seed, recorders, image, hooks)?;
    carried.with_context(|| format!("cannot make a serial port in {}", folder.display()))?;
    out!("{}", report::table(&boards))?;
    // So much may times differ that somebody at a port has taken.
    outln!("At most {:.1} s behind real time", behind.as_secs_f64())?;
    outln!("Not judged: anyone at a port could have told its board anything")?;
    if outcome.verdict == Verdict::Safety {
        note!("{}", failure_with(&outcome, "with what was sent to the ports").trim_end());
        return Ok(ExitCode::from(Verdict::Safety.exit_code()));
    }
    Ok(ExitCode::SUCCESS)
}

/// A rehearsal is over sooner.
#[cfg(unix)]
const FOR_EVER_S: u64 = 86_400;

#[cfg(not(unix))]
pub fn rehearse(_: &Ports, _: &Path, _: &Scenario, _: u64, _: Recorders, _: &Image) -> anyhow::Result<ExitCode> {
    anyhow::bail!("pseudo-terminals need Linux or macOS")
}
