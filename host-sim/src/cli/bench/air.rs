//! `ringleader bench air`: how fast the simulated air is.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::ensure;

use crate::cli::output;
use crate::lab::bench::air_bench::{Model, Outcome, SECONDS_MAX, measure};
use crate::{out, outln};

/// The rows of the committed table: nodes and seconds.
const TABLE: [(usize, u32); 6] = [(100, 60), (400, 60), (900, 20), (2_500, 20), (10_000, 10), (40_000, 4)];

/// Arguments of `bench air`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Nodes on the grid; the committed table where none are given
    #[arg(long)]
    pub nodes: Option<usize>,
    /// Seconds to simulate
    #[arg(long, default_value_t = 60)]
    pub seconds: u32,
    /// Metres between neighbours on the grid
    #[arg(long, default_value_t = 20.0)]
    pub spacing: f64,
    /// Whose radios: this project's (noise floor -100.5 dBm, capture, carrier sense) or those of ns-3's lr-wpan (noise
    /// floor -106.99 dBm, frames from -5 dB on, no capture, energy detection at -96.58 dBm, 192 us to turn round)
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

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(args.spacing > 0.0 && args.spacing.is_finite(), "--spacing must be a positive number of metres");
    ensure!(args.seconds <= SECONDS_MAX, "--seconds must be at most {SECONDS_MAX}");
    ensure!(args.nodes.is_none_or(|nodes| nodes > 0), "--nodes must be at least 1");
    let rows = args.nodes.map_or(TABLE.to_vec(), |nodes| vec![(nodes, args.seconds)]);
    let noise_dbm = args.noise.unwrap_or(args.model.noise_dbm());
    ensure!((-150.0..=0.0).contains(&noise_dbm), "--noise must be between -150 and 0 dBm");
    let mut outcomes = Vec::new();
    if !args.json {
        outln!(
            " nodes  seconds     sent    received     events  wall s  setup s   CPU s    arrivals  ns/arrival  ns/reception  peak MiB"
        )?;
    }
    for (nodes, seconds) in rows {
        output::progress(&format!("{nodes} nodes for {seconds} s ..."));
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
    let mut text = "\nFrames strong enough, and what became of them\n nodes    in range  received   damaged  occupied    buried overtaken unfinished half-duplex\n".to_owned();
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
