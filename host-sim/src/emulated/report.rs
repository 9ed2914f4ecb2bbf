//! What a run on emulated boards reports about each of them: load, current, stack.

use std::fmt::Write as _;

use common::config::Config;
use common::host_link::Call;
use emulator::board::{Board, Counts, StackUse};
use emulator::io::CYCLES_PER_US;
use emulator::turnaround::Spread;
use serde::{Serialize, Serializer};
use sim::air::energy::Activity;
use sim::air::world::Usage;

#[derive(Clone, Debug, Serialize)]
pub struct BoardReport {
    pub id: u16,
    /// How long it had power, in microseconds.
    pub powered_us: u64,
    pub instructions: u64,
    /// Instructions per second with power.
    pub instructions_per_second: f64,
    /// The share of powered time in which the processor worked, in per cent.
    pub awake_percent: f64,
    /// The mean current while it had power, in microamperes, by the published currents of the nRF52840.
    pub mean_ua: f64,
    /// The same without the radio: the processor at work and asleep.
    pub processor_ua: f64,
    /// None if unknown. In JSON: the most bytes that were in use, and how many there are.
    #[serde(serialize_with = "as_pair")]
    pub stack: Option<StackUse>,
    /// Resets that the program asked for, including the one of its very first start.
    pub software_resets: u32,
    pub watchdog_resets: u32,
    /// Resets because the processor locked up.
    pub lockups: u32,
    pub power_ons: u32,
    /// Writes and erases of flash.
    pub flash_operations: u64,
    /// Acknowledgements at a set time that it decided on.
    pub answers: u64,
    /// Those that came too late and were not sent.
    pub late_answers: u64,
    /// From the end of a frame to the decision to acknowledge it; none if there was none.
    pub turnaround: Option<TurnaroundReport>,
    /// Messages to its host that the board had to drop.
    pub lost_messages: u64,
    /// Why it stopped for good, if it did.
    pub trouble: Option<String>,
    #[serde(skip)]
    pub config: Config,
    /// Every call of its node since it was told to record, each with the node's time in microseconds.
    #[serde(skip)]
    pub calls: Vec<(u64, Call)>,
}

/// In microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TurnaroundReport {
    pub median_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

#[expect(clippy::ref_option, reason = "what serde calls it with")]
fn as_pair<S: Serializer>(stack: &Option<StackUse>, serializer: S) -> Result<S::Ok, S::Error> {
    stack.map(|stack| [stack.used, stack.size]).serialize(serializer)
}

impl From<Spread> for TurnaroundReport {
    fn from(Spread { median, p99, max, .. }: Spread) -> Self {
        let [median_us, p99_us, max_us] = [median, p99, max].map(|cycles| cycles.div_ceil(CYCLES_PER_US));
        Self { median_us, p99_us, max_us }
    }
}

impl BoardReport {
    /// Reads a board's counters at this cycle.
    pub(super) fn new(board: &Board, config: Config, now: u64) -> Self {
        let counts = board.counts();
        let radio = board.soc().radio_use(now);
        let powered_us = counts.powered / CYCLES_PER_US;
        let usage =
            |tx: u64, rx: u64| Usage { tx_us: tx / CYCLES_PER_US, rx_us: rx / CYCLES_PER_US, ..Usage::default() };
        let tx_dbm = f64::from(config.power_dbm);
        let cpu_us = counts.awake / CYCLES_PER_US;
        let usage_of_radio = usage(radio.transmitting, radio.receiving);
        let all = Activity { usage: usage_of_radio, tx_dbm, cpu_us, sleep_us: 0, elapsed_us: powered_us };
        let sleep_us = powered_us.saturating_sub(cpu_us);
        let without_radio = Activity { usage: usage(0, 0), sleep_us, ..all };
        Self {
            id: config.id.0,
            powered_us,
            instructions: counts.instructions,
            instructions_per_second: per_second(counts),
            awake_percent: 100.0 * counts.awake(),
            mean_ua: all.cost().mean_ua,
            processor_ua: without_radio.cost().mean_ua,
            stack: board.stack(),
            software_resets: counts.software_resets,
            watchdog_resets: counts.watchdog_resets,
            lockups: counts.lockups,
            power_ons: counts.power_ons,
            flash_operations: board.soc().flash_operations(),
            answers: board.turnaround().decided(),
            late_answers: board.late_answers(),
            turnaround: Spread::of(board.turnaround().taken().to_vec()).map(Into::into),
            trouble: board.trouble().map(str::to_owned),
            lost_messages: 0,
            config,
            calls: Vec::new(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
fn per_second(counts: Counts) -> f64 {
    if counts.powered == 0 { 0.0 } else { counts.instructions as f64 * 64e6 / counts.powered as f64 }
}

pub fn table(reports: &[BoardReport]) -> String {
    let mut text = String::from(
        "Boards\n  node   powered  instructions/s    awake   current  (processor)   stack used   resets  flash writes    answers (late)\n",
    );
    for report in reports {
        let BoardReport { id, powered_us, instructions_per_second, awake_percent, mean_ua, processor_ua, .. } = report;
        let stack =
            report.stack.map_or_else(|| "unknown".to_owned(), |stack| format!("{} of {}", stack.used, stack.size));
        let resets = report.software_resets + report.watchdog_resets + report.lockups;
        let _ = writeln!(
            text,
            "  {id:>4} {:>7.1} s {instructions_per_second:>15.0} {awake_percent:>6.2} % {:>6.2} mA {processor_ua:>9.1} uA {stack:>15} {resets:>6} {:>12} {:>10} {:>6}",
            sim::scenario::input::units::seconds(*powered_us),
            mean_ua / 1_000.0,
            report.flash_operations,
            report.answers,
            format!("({})", report.late_answers),
        );
    }
    text.push_str(&answers(reports));
    text
}

/// A line on the acknowledgements at set times of all boards.
fn answers(reports: &[BoardReport]) -> String {
    let sum = |of: fn(&BoardReport) -> u64| reports.iter().map(of).sum::<u64>();
    let (all, late) = (sum(|report| report.answers), sum(|report| report.late_answers));
    let slowest = reports.iter().filter_map(|report| report.turnaround).map(|turnaround| turnaround.max_us).max();
    let Some(slowest) = slowest else { return String::new() };
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    let percent = 100.0 * (all - late) as f64 / all.max(1) as f64;
    format!(
        "Acknowledgements at a set time: {all}, {late} of them late ({percent:.1} % in time); decided within {slowest} us\n"
    )
}
