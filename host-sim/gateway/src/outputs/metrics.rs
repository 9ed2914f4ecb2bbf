//! The latest values for Prometheus and the like: OpenMetrics over one GET.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use host_sim::note;
use host_sim::view::http;

use crate::reading::plain;
use crate::spool::{Latest, Spool};

const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long to wait for a client that connects and sends nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves in its own thread for as long as the program runs; returns the address that it listens on.
pub fn serve(address: &str, database: &Path) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    let bound = listener.local_addr()?;
    let spool = Spool::open(database)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            if let Err(error) = answer(stream, &spool) {
                note!("metrics: {error:#}");
            }
        }
    });
    Ok(bound)
}

fn answer(mut stream: TcpStream, spool: &Spool) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Ok(Some(request)) = http::read(&stream) else { return Ok(()) };
    let path = request.path.split('?').next().unwrap_or_default();
    let sent = match (request.method.as_str(), path) {
        ("GET", "/metrics" | "/") => http::answer(&mut stream, "200 OK", KIND, &text(spool)?),
        ("GET", _) => http::answer(&mut stream, "404 Not Found", "text/plain", "the metrics are at /metrics\n"),
        _ => http::answer(&mut stream, "405 Method Not Allowed", "text/plain", "only GET\n"),
    };
    // The client may have gone.
    sent.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
    Ok(())
}

/// All metrics as one text.
pub fn text(spool: &Spool) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut families: BTreeMap<(String, &str), Vec<Latest>> = BTreeMap::new();
    for latest in spool.latest()? {
        families.entry(family(&latest)).or_default().push(latest);
    }
    let mut ages = String::new();
    for ((name, unit), all) in &families {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        for Latest { network, node, quantity, value, time, .. } in all {
            let labels = format!("network=\"{}\",node=\"{node}\"", label(network));
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
            let seconds = time.0.div_euclid(1_000_000);
            let _ = writeln!(
                ages,
                "ringleader_measured_timestamp_seconds{{{labels},quantity=\"{}\"}} {seconds}",
                label(quantity)
            );
        }
    }
    if !ages.is_empty() {
        text.push_str("# TYPE ringleader_measured_timestamp_seconds gauge\n");
        text.push_str("# UNIT ringleader_measured_timestamp_seconds seconds\n");
        text.push_str(&ages);
    }
    let last = spool.last_row()?;
    let _ = writeln!(text, "# TYPE ringleader_readings counter\nringleader_readings_total {last}");
    text.push_str("# TYPE ringleader_waiting_readings gauge\n");
    for (output, row) in spool.cursors()? {
        let _ = writeln!(text, "ringleader_waiting_readings{{output=\"{}\"}} {}", label(&output), last - row);
    }
    text.push_str("# EOF\n");
    Ok(text)
}

/// The name of a quantity's metric, which ends in its unit.
fn family(latest: &Latest) -> (String, &'static str) {
    let unit = match latest.unit.as_str() {
        "°C" => "celsius",
        "%" => "percent",
        "V" => "volts",
        "B" => "bytes",
        _ => "",
    };
    let name = plain(&latest.quantity).replace('-', "_");
    (if unit.is_empty() { format!("ringleader_{name}") } else { format!("ringleader_{name}_{unit}") }, unit)
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
