//! `ringleader replay`: makes a scenario of a recorded field, and measures its radio.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};

use super::files::ensure_apart;
use crate::draw::svg::escape;
use crate::draw::timeline;
use crate::field::calibrate::{self, Calibration, Estimate};
use crate::field::check::trace_file::{self, Trace};
use crate::field::links::Matrix;
use crate::field::rebuild;
use crate::{note, outln};

const DETAILS: &str = "\
Reads a recording of `ringleader monitor --frames --record` (or a trace of the simulator). With --out it
writes a scenario with the measured links, and beside it their table; boards that lost power lose it again.
It reproduces the channel, not the run: try another algorithm on it, or kill another leader.

What nobody could observe (what boards without a cable hear) is assumed from what others hear of them, or missing;
the table says which.

Examples:
  ringleader replay field.jsonl --out field.toml && ringleader sweep field.toml --seeds 0..100
  ringleader replay field.jsonl --calibrate sketch.csv      # rows of node, x, y in metres
  ringleader replay field.jsonl --report report.html
  ringleader replay calls.jsonl --calls --fleet fleet.toml  # recorded with `monitor --calls`

Exit codes: 0 success, 1 bad input or a record that cannot be run again, 2 a board's frames differ from the PC's.";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {
    /// The recording, one JSON object per line
    trace: PathBuf,
    /// Write a scenario to this file, and its links beside it with the extension .csv
    #[arg(long, value_name = "FILE", required_unless_present_any = ["calibrate", "report", "calls"])]
    out: Option<PathBuf>,
    /// Fit exponent, loss at 1 m, shadowing and asymmetry to the nodes' positions in this file
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    /// Write one page that shows who led when, who heard whom, and the calibration
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The boards' transmit power in dBm
    #[arg(long, value_name = "DBM", default_value_t = 0.0, allow_hyphen_values = true)]
    power: f64,
    /// Run the boards' nodes again on this PC, call by call, and compare every frame that they sent
    #[arg(long, conflicts_with_all = ["out", "calibrate", "report"])]
    calls: bool,
    /// With --calls: the fleet file of the boards, whose configuration and key a recording does not have
    #[arg(long, value_name = "FILE", requires = "calls")]
    fleet: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.calls {
        return super::rerun::run(&args.trace, args.fleet.as_deref());
    }
    let table = args.out.as_ref().map(|out| out.with_extension("csv"));
    ensure_apart(
        &[("the recording", Some(&args.trace)), ("--calibrate", args.calibrate.as_deref())],
        &[("--out", args.out.as_deref()), ("the links", table.as_deref()), ("--report", args.report.as_deref())],
    )?;
    let trace = trace_file::read(&args.trace)?;
    let matrix = Matrix::of(&trace);
    ensure!(
        !matrix.links.is_empty(),
        "{} says nothing about who heard whom: record with `ringleader monitor --frames --record`",
        args.trace.display()
    );
    for unknown in matrix.unknown() {
        note!("{unknown}");
    }
    if let (Some(out), Some(table)) = (&args.out, &table) {
        write(table, &matrix.csv_in_time(args.power))?;
        let name = args.trace.file_stem().map_or("field".into(), |name| name.to_string_lossy().into_owned());
        let links = table.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        write(out, &rebuild::scenario(&name, &trace, &matrix, &links, args.power))?;
        outln!("{}: {} nodes, {} links ({})", out.display(), matrix.nodes.len(), matrix.links.len(), table.display())?;
    }
    let calibration = match &args.calibrate {
        None => None,
        Some(sketch) => Some(calibrate(sketch, &matrix, args.power)?),
    };
    if let Some(calibration) = &calibration {
        outln!("{}", told(calibration))?;
    }
    if let Some(report) = &args.report {
        write(report, &page(&args.trace, &trace, &matrix, calibration.as_ref()))?;
        outln!("{}", report.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn calibrate(sketch: &Path, matrix: &Matrix, power_dbm: f64) -> anyhow::Result<Calibration> {
    let text = std::fs::read_to_string(sketch).with_context(|| format!("cannot read {}", sketch.display()))?;
    let positions = calibrate::sketch(&text).with_context(|| sketch.display().to_string())?;
    calibrate::fit(matrix, &positions, power_dbm).with_context(|| sketch.display().to_string())
}

fn told(calibration: &Calibration) -> String {
    let Calibration { links, exponent, loss_at_1m_db, sigma_db, asymmetry_db } = calibration;
    let with = |estimate: &Estimate| format!("{:.2} ± {:.2}", estimate.value, estimate.within);
    let asymmetry = asymmetry_db.map_or("unknown".to_owned(), |db| format!("{db:.2} dB"));
    format!(
        "from {links} links, with 95 % confidence: exponent {}, loss at 1 m {} dB, shadowing {} dB; asymmetry {asymmetry}",
        with(exponent),
        with(loss_at_1m_db),
        with(sigma_db)
    )
}

/// One page that needs nothing else.
fn page(path: &Path, trace: &Trace, matrix: &Matrix, calibration: Option<&Calibration>) -> String {
    let title = escape(&path.display().to_string());
    let picture = timeline::svg(&super::check::story(&path.display().to_string(), trace));
    let calibration = calibration.map_or(String::new(), |one| format!("<p>{}</p>\n", escape(&told(one))));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body{{font:16px sans-serif;max-width:1040px;margin:2em auto;padding:0 1em}}svg{{max-width:100%;height:auto}}</style>\
         </head>\n<body>\n<h1>{title}</h1>\n<h2>Who followed whom</h2>\n{picture}\n<h2>Who heard whom</h2>\n\
         <pre>{}</pre>\n{calibration}</body></html>\n",
        escape(&matrix.text())
    )
}
