//! The report of `bench core` as text.

use std::fmt::{self, Write};

use super::core_bench::{BYTES_MAX, BigRingReport, NODES, Report, SECONDS_MAX};
use super::growth::Growth;
use super::speed::{REPETITION, REPETITIONS, Range, Speed};
use crate::lab::fit::Fit;
use crate::output::counted;
use common::layout::Row;

pub fn render(report: &Report) -> String {
    let mut text = String::new();
    write_report(&mut text, report).expect("writing to a string cannot fail");
    text
}

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn write_report(text: &mut String, report: &Report) -> fmt::Result {
    let machine = &report.machine;
    let cpu = machine.cpu.as_deref().unwrap_or("unknown processor");
    let cores = machine.cores.map_or("unknown number of cores".to_owned(), |cores| counted(cores, "core"));
    writeln!(text, "machine: {cpu}, {cores}, one used; seed {}", report.seed)?;
    if !machine.optimised {
        writeln!(text, "this is a debug build: times are meaningless; build with --release")?;
    }
    write_big_ring(text, &report.big_ring)?;
    write_speed(text, &report.speed)?;
    write_growth(text, &report.growth)?;
    write_layout(text, report.layout)
}

fn write_big_ring(text: &mut String, ring: &BigRingReport) -> fmt::Result {
    let (out, back) = ring.tally.phases.iter().fold((0, 0), |(out, back), phase| (out + phase.out, back + phase.back));
    writeln!(
        text,
        "\n1. HS on one ring of {} nodes, uids in random order, all start\n",
        grouped(u64::from(ring.nodes))
    )?;
    writeln!(text, "   leader          uid {}, the largest, followed by all", ring.leader)?;
    let announcements = ring.tally.announcements;
    let kinds = format!("{} out, {} back, {} announcements", grouped(out), grouped(back), grouped(announcements));
    writeln!(text, "   messages        {} ({kinds}), {} phases", grouped(ring.messages), ring.tally.phases.len())?;
    writeln!(text, "   time            {:.2} s, and {:.2} s to lay out the ring", ring.seconds, ring.setup_seconds)?;
    if let Some(seconds) = ring.processor_seconds {
        writeln!(text, "   processor       {seconds:.2} s of that; the rest was spent waiting")?;
    }
    if let Some(nanos) = ring.ns_per_message {
        writeln!(text, "   per message     {nanos:.1} ns")?;
    }
    match ring.peak_bytes {
        Some(bytes) => writeln!(text, "   peak memory     {} MiB, the whole process", bytes.div_ceil(1 << 20))?,
        None => writeln!(text, "   peak memory     not available: this system has no /proc/self/status")?,
    }
    if ring.nodes == NODES {
        let in_time = ring.seconds + ring.setup_seconds < SECONDS_MAX;
        let verdict = match ring.peak_bytes {
            _ if !in_time => "missed",
            Some(bytes) if bytes >= BYTES_MAX => "missed",
            Some(_) => "met",
            None => "met in time, memory unknown",
        };
        writeln!(text, "   bar             {SECONDS_MAX:.0} s and {} MiB on one core: {verdict}", BYTES_MAX >> 20)?;
    }
    Ok(())
}

fn write_speed(text: &mut String, rows: &[Speed]) -> fmt::Result {
    writeln!(text, "\n2. Nanoseconds per handled message: engine, queue and polling included\n")?;
    writeln!(
        text,
        "   Median (and range) of {REPETITIONS} repetitions of at least {} ms; the ratio to HS is within a repetition.\n",
        REPETITION.as_millis()
    )?;
    writeln!(
        text,
        "   {:<18} {:>22} {:>22} {:>6} {:>9}  workload",
        "algorithm", "decoded", "encoded", "to HS", "messages"
    )?;
    for row in rows {
        let cell = |median: f64, range: Range| format!("{median:.1} ({:.1}-{:.1})", range.fastest, range.slowest);
        writeln!(
            text,
            "   {:<18} {:>22} {:>22} {:>6.2} {:>9}  {}",
            row.name,
            cell(row.decoded_ns, row.decoded_range_ns),
            cell(row.encoded_ns, row.encoded_range_ns),
            row.to_hs,
            grouped(row.messages),
            row.workload
        )?;
    }
    Ok(())
}

fn write_growth(text: &mut String, rows: &[Growth]) -> fmt::Result {
    writeln!(text, "\n3. Growth of messages with the number of nodes n")?;
    for row in rows {
        let [best, ..] = row.fits;
        writeln!(text, "\n   {}, {}: {}, exponent {:.3}", row.name, row.scenario, best.law.name(), row.exponent)?;
        writeln!(text, "   {:>10} {:>14} {:>14}", "n", "messages", "per n log2 n")?;
        for point in &row.points {
            let (nodes, messages) = (grouped(u64::from(point.nodes)), grouped(point.messages));
            writeln!(text, "   {nodes:>10} {messages:>14} {:>14.3}", point.per_n_log_n())?;
        }
        for Fit { law, factor, r_squared, deviation } in row.fits {
            let deviation = 100.0 * deviation;
            let name = law.name();
            writeln!(text, "   {factor:>12.5} {name:<8} R2 {r_squared:>9.6}, off by up to {deviation:.0} %")?;
        }
    }
    Ok(())
}

fn write_layout(text: &mut String, rows: &[Row]) -> fmt::Result {
    writeln!(
        text,
        "\n4. Bytes on the board, 16 neighbours: asserted equal for PC and thumbv7em when the core is compiled\n"
    )?;
    writeln!(
        text,
        "   {:<18} {:>8} {:>18} {:>18} {:>8}",
        "algorithm", "state", "message, encoded", "message, memory", "engine"
    )?;
    for Row { name, state, encoded_max, message, engine } in rows {
        writeln!(text, "   {name:<18} {state:>8} {encoded_max:>18} {message:>18} {engine:>8}")?;
    }
    Ok(())
}
