//! `ringleader bench air`: how fast the simulated air is.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::ensure;

use crate::lab::bench::air_bench::{Model, Outcome, SECONDS_MAX, measure};
use crate::output::{self, counted};
use crate::{out, outln};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    nodes: usize,
    seconds: u32,
}

/// The rows of the committed table: the larger the network, the shorter the run.
const TABLE: [Row; 6] = [
    Row { nodes: 100, seconds: 60 },
    Row { nodes: 400, seconds: 60 },
    Row { nodes: 900, seconds: 20 },
    Row { nodes: 2_500, seconds: 20 },
    Row { nodes: 10_000, seconds: 10 },
    Row { nodes: 40_000, seconds: 4 },
];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Nodes on the grid [default: the rows of the committed table]
    #[arg(long)]
    pub nodes: Option<usize>,
    /// Seconds to simulate
    #[arg(long, default_value_t = 60)]
    pub seconds: u32,
    /// Metres between neighbours on the grid
    #[arg(long, default_value_t = 20.0)]
    pub spacing: f64,
    /// The radio model: this project's (noise floor -100.5 dBm, capture, carrier sense) or that of ns-3's lr-wpan (noise
    /// floor -106.99 dBm, frames from -5 dB on, no capture, energy detection at -96.58 dBm, 192 us turnaround)
    #[arg(long, value_enum, default_value_t = Model::Usual)]
    pub model: Model,
    /// Noise floor in dBm, instead of the model's
    #[arg(long, allow_hyphen_values = true)]
    pub noise: Option<f64>,
    /// The root seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(args.spacing > 0.0 && args.spacing.is_finite(), "--spacing must be a positive number of metres");
    ensure!(args.seconds <= SECONDS_MAX, "--seconds must be at most {SECONDS_MAX}");
    ensure!(args.nodes.is_none_or(|nodes| nodes > 0), "--nodes must be at least 1");
    let rows = args.nodes.map_or(TABLE.to_vec(), |nodes| vec![Row { nodes, seconds: args.seconds }]);
    let noise_dbm = args.noise.unwrap_or(args.model.noise_dbm());
    ensure!((-150.0..=0.0).contains(&noise_dbm), "--noise must be between -150 and 0 dBm");
    let mut outcomes = Vec::new();
    if !args.json {
        outln!(
            " nodes  seconds     sent    received     events  wall s  setup s   CPU s    arrivals  ns/arrival  ns/reception  peak MiB"
        )?;
    }
    for Row { nodes, seconds } in rows {
        output::progress(&format!("{} for {seconds} s ...", counted(nodes, "node")));
        let outcome = measure(nodes, seconds, args.spacing, args.model, noise_dbm, args.seed);
        output::clear_progress();
        if !args.json {
            let Outcome { sent, received, events, wall_seconds, setup_seconds, arrivals, .. } = &outcome;
            let Outcome { ns_per_arrival, ns_per_reception, peak_mib, .. } = &outcome;
            let cpu = outcome.cpu_seconds.map_or("?".to_owned(), |seconds| format!("{seconds:.2}"));
            let peak = peak_mib.map_or("?".to_owned(), |mib| mib.to_string());
            outln!(
                "{nodes:>6} {seconds:>8} {sent:>8} {received:>11} {events:>10} {wall_seconds:>7.2} {setup_seconds:>8.3} {cpu:>7} {arrivals:>11} {ns_per_arrival:>11.1} {ns_per_reception:>13.0} {peak:>9}"
            )?;
        }
        outcomes.push(outcome);
    }
    if !args.json {
        out!("{}", decomposition(&outcomes))?;
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&outcomes)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of the frames that were strong enough to be received.
fn decomposition(outcomes: &[Outcome]) -> String {
    let mut text = "\nFrames strong enough to be received, and what became of them\n nodes    in range  received   damaged  occupied    buried overtaken unfinished half-duplex\n".to_owned();
    for outcome in outcomes {
        let Outcome {
            nodes, in_range, received, damaged, occupied, buried, overtaken, unfinished, half_duplex, ..
        } = outcome;
        let _ = writeln!(
            text,
            "{nodes:>6} {in_range:>11} {received:>9} {damaged:>9} {occupied:>9} {buried:>9} {overtaken:>9} {unfinished:>10} {half_duplex:>11}"
        );
    }
    text
}
