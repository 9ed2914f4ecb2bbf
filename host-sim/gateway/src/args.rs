//! The command line of the gateway.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use host_sim::cli::ports::Ports;
use host_sim::cli::scenario_file;
use host_sim::interrupt::Interrupt;
use host_sim::output::counted;
use host_sim::{note, outln};

use crate::outputs::lines::Format;
use crate::outputs::metrics;
use crate::outputs::mqtt::{Broker, CURSOR, Publisher};
use crate::outputs::text_file::TextFile;
use crate::run::{Tally, run};
use crate::source::cable::Cables;
use crate::source::flood::Flood;
use crate::source::scenario::Emulated;
use crate::source::simulated::{Pace, Simulated};
use crate::spool::{Lock, Spool};

const DETAILS: &str = "\
Everything goes into the database first; the other outputs read from there. If a broker or a disk is
away for a while they go on where they were, and nothing is written twice, however the gateway ended.
On the broker the latest value of each quantity is the retained message at
  ringleader/NETWORK/NODE/QUANTITY
and ringleader/NAME/state is `online` or `offline`.

Examples:
  ringleader gateway --port /dev/ttyACM0 --db readings.sqlite
  ringleader gateway --db readings.sqlite --mqtt mqtt://localhost --home-assistant
  ringleader gateway --scenario boards5 --db try.sqlite --csv try.csv --metrics 127.0.0.1:9464
  sqlite3 readings.sqlite \"SELECT node, quantity, avg(value) FROM readings GROUP BY node, quantity\"

Exit codes:
  0  it was ended, or its time was up
  1  bad input, or something could not be stored (a full disk): what was not stored was not confirmed";

/// Collect the readings of boards into a database, and pass them to files, an MQTT broker and metrics
///
/// Boards on serial ports report what they measure. Each reading is stored once, by its network, node, device, boot and
/// number. Runs until Ctrl-C.
#[derive(Debug, Parser)]
#[command(name = "ringleader gateway", bin_name = "ringleader gateway", version, max_term_width = 100, after_help = DETAILS)]
pub struct Args {
    #[command(flatten)]
    ports: Ports,
    /// Use the nodes of this scenario (a file or a built-in name) instead of boards on ports; simulated if it has
    /// [collect], otherwise emulated
    #[arg(long, value_name = "SCENARIO", conflicts_with_all = ["port", "socket"])]
    scenario: Option<String>,
    /// With --scenario: run this image instead of building one from the sources
    #[arg(long, value_name = "FILE", requires = "scenario")]
    elf: Option<PathBuf>,
    /// With a simulated --scenario: run as fast as possible instead of in real time
    #[arg(long, requires = "scenario")]
    fast: bool,
    /// Store this many made-up readings as fast as possible, instead of those of boards, to measure this machine
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["port", "socket", "scenario"])]
    flood: Option<u64>,
    /// The database, an SQLite file; created if it does not exist
    #[arg(long, value_name = "FILE")]
    db: PathBuf,
    /// The name of a network, as in the fleet file, since boards only know its number; may be repeated
    #[arg(long, value_name = "NAME")]
    network: Vec<String>,
    /// Make the board at the first port the leader, so that no reading is missed (heights and hierarchy); other boards get
    /// copies of what the leader logs
    #[arg(long, conflicts_with_all = ["scenario", "flood"])]
    lead: bool,
    /// Write every reading to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Write every reading to this file as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write every reading in InfluxDB's line protocol; `-` is standard output, for Telegraf's execd
    #[arg(long, value_name = "FILE")]
    influx: Option<PathBuf>,
    /// Publish every reading: mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts:// if built with TLS
    #[arg(long, value_name = "URL")]
    mqtt: Option<String>,
    /// With an encrypted broker (mqtts): trust the certificate in this file (PEM) instead of the system's authorities
    #[arg(long, value_name = "FILE", requires = "mqtt")]
    ca: Option<PathBuf>,
    /// With --mqtt: let Home Assistant discover every sensor
    #[arg(long, requires = "mqtt")]
    home_assistant: bool,
    /// With --mqtt: the name of this gateway, if a broker has several
    #[arg(long, value_name = "NAME", default_value = "gateway")]
    name: String,
    /// Serve the latest values as OpenMetrics at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Stop after this many seconds instead of waiting for Ctrl-C
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u64>,
}

impl Args {
    pub fn run(self) -> anyhow::Result<()> {
        let broker = self.mqtt.as_deref().map(|url| self.broker(url).with_context(|| format!("--mqtt {url:?}")));
        let broker = broker.transpose()?;
        let _lock = Lock::take(&self.db)?;
        let mut spool = Spool::open(&self.db)?;
        let outputs = [(&self.jsonl, Format::Jsonl), (&self.csv, Format::Csv), (&self.influx, Format::Influx)];
        let files = outputs.into_iter().filter_map(|(path, format)| path.as_ref().map(|path| (path, format)));
        let mut files =
            files.map(|(path, format)| TextFile::open(path, format, &spool)).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(address) = &self.metrics {
            note!("metrics at http://{}/metrics", metrics::serve(address, &self.db)?);
        }
        let publisher = broker.map(|broker| Publisher::start(broker, &self.db)).transpose()?;
        let interrupt = Interrupt::listen();
        let until = self.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let result = if let Some(count) = self.flood {
            let began = Instant::now();
            let mut source = Flood::new("made-up".to_owned(), count);
            let result = run(&mut source, &self.db, &mut spool, &mut files, &interrupt, until);
            tell_rate("stored, and written to files", source.committed(), began);
            if publisher.is_some() {
                let last = spool.last_row()?;
                while spool.cursor(CURSOR)?.is_none_or(|cursor| cursor.row < last) && !interrupt.is_set() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                tell_rate("at the broker", count, began);
            }
            result
        } else if let Some(scenario) = &self.scenario {
            let plan = scenario_file::find(scenario)?;
            let is_simulated = plan.collect.is_some() && self.elf.is_none() && !plan.has_boards();
            ensure!(is_simulated || !self.fast, "--fast is for simulated nodes: {scenario} is run by emulated boards");
            if is_simulated {
                let pace = Pace { seed: plan.seed, is_fast: self.fast };
                let mut source = Simulated::start(plan, self.network.into_iter().next(), pace)?;
                run(&mut source, &self.db, &mut spool, &mut files, &interrupt, until)
            } else {
                let mut source = Emulated::start(&ringleader()?, scenario, self.elf.as_deref(), self.network)?;
                run(&mut source, &self.db, &mut spool, &mut files, &interrupt, until)
            }
        } else {
            let mut source = Cables::new(self.ports.endpoints()?, self.network, self.lead);
            run(&mut source, &self.db, &mut spool, &mut files, &interrupt, until)
        };
        if let Some(publisher) = publisher {
            publisher.finish();
        }
        let Tally { stored, known } = result?;
        let known = if known > 0 { format!(" ({known} had been stored before)") } else { String::new() };
        // Standard output may be another program's input.
        if self.influx.as_deref().is_some_and(|path| path == std::path::Path::new("-")) {
            note!("{} stored{known}", counted(stored, "reading"));
            return Ok(());
        }
        outln!("{} stored{known} in {}", counted(stored, "reading"), self.db.display())
    }
}

impl Args {
    fn broker(&self, url: &str) -> anyhow::Result<Broker> {
        let mut broker = Broker::parse(url, &self.name, self.home_assistant)?;
        if let Some(path) = &self.ca {
            broker.trust(std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?)?;
        }
        Ok(broker)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of readings are far below 2^52")]
fn tell_rate(what: &str, count: u64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    note!("{count} readings {what} after {seconds:.1} s: {:.0} a second", count as f64 / seconds.max(1e-6));
}

/// The program `ringleader`: beside this one, or on the path.
fn ringleader() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("where is this program?")?;
    let beside = own.with_file_name("ringleader");
    Ok(if beside.exists() { beside } else { "ringleader".into() })
}
