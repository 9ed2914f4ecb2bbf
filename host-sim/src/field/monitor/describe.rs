//! Describes boards' messages in words.

use std::collections::BTreeMap;

use common::data::block::BlockBytes;
use common::data::log_entry::{Contents, LogEntry};
use common::data::wire::Key;
use common::host_link::{Call, ConfigAnswer, Crash, CrashKind, Hello, Quantity, ResetReason, ToHost, Warning};
use common::notice::{Event, Notice, Reason};

use crate::output::{counted, counted_as, printable};

/// How important a message is to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Routine; shown only on request.
    Detail,
    /// Worth knowing.
    News,
    /// Needs attention.
    Alarm,
}

pub fn weight(message: &ToHost) -> Weight {
    match message {
        ToHost::Warning(_) | ToHost::Lost(_) | ToHost::Config(ConfigAnswer::Refused(_) | ConfigAnswer::NotStored) => {
            Weight::Alarm
        }
        ToHost::Hello(hello) if hello.crash.is_some() => Weight::Alarm,
        ToHost::Notice { notice, .. } => match notice {
            Notice::Fault(_) | Notice::Twin(_) | Notice::TwinsHeard(_) | Notice::Unprotected | Notice::Lost(_) => {
                Weight::Alarm
            }
            Notice::Event(_) | Notice::RingPlace(..) => Weight::Detail,
            _ => Weight::News,
        },
        ToHost::Hello(_)
        | ToHost::Config(_)
        | ToHost::Submitted { .. }
        | ToHost::Logged { .. }
        | ToHost::Copied { .. } => Weight::News,
        ToHost::Snapshot { .. }
        | ToHost::Reading { .. }
        | ToHost::Call { .. }
        | ToHost::Pong(_)
        | ToHost::Answer { .. }
        | ToHost::LogTold { .. }
        | ToHost::Journal(_)
        | ToHost::JournalTold { .. }
        | ToHost::Stored { .. } => Weight::Detail,
    }
}

pub fn message(message: &ToHost) -> String {
    match message {
        ToHost::Hello(said) => hello(said),
        ToHost::Notice { notice: said, .. } => notice(*said),
        ToHost::Snapshot { snapshot, .. } => {
            let leader = snapshot.leader.map_or("nobody".to_owned(), |id| id.to_string());
            let counters = snapshot.counters;
            format!(
                "follows {leader}, {} up, {} heard; {} sent, {} accepted, {}",
                counted(snapshot.links_up, "link"),
                counted(snapshot.heard, "node"),
                counted(counters.sent, "frame"),
                counters.accepted,
                counted_as(counters.retries, "retry", "retries")
            )
        }
        ToHost::Reading { quantity, value, .. } => reading(*quantity, *value),
        ToHost::Call { call: said, .. } => call(said),
        ToHost::Config(ConfigAnswer::Stored) => "configuration stored; restarting".into(),
        ToHost::Config(ConfigAnswer::Erased) => "configuration erased; restarting in the demo network".into(),
        ToHost::Config(ConfigAnswer::NotStored) => "cannot store the configuration".into(),
        ToHost::Config(ConfigAnswer::Refused(why)) => format!("configuration refused: {why:?}"),
        ToHost::Pong(number) => format!("answers ping {number}"),
        ToHost::Lost(count) => format!("the board dropped {}: the host was too slow", counted(*count, "message")),
        ToHost::Submitted { outcome, .. } => format!("command {outcome}"),
        ToHost::Answer { from, .. } => format!("node {from} has answered"),
        ToHost::Warning(warning) => self::warning(*warning).into(),
        ToHost::Logged { entry, .. } => logged(entry.as_slice()),
        ToHost::Copied { entry } => format!("the leader has {}", logged(entry.as_slice())),
        ToHost::LogTold { next, end } => format!("has sent its log up to entry {next} of {end}"),
        ToHost::Journal(_) => "has sent an item of its journal".into(),
        ToHost::JournalTold { next, end } => format!("has sent its journal up to item {next} of {end}"),
        ToHost::Stored { number, block, .. } => {
            let samples = BlockBytes::read(block.as_slice()).map_or(0, |block| block.samples_len);
            format!("stored its block {number} with {}", counted(samples, "sample"))
        }
    }
}

fn hello(hello: &Hello) -> String {
    let epoch = hello.epoch.map_or("no epoch".to_owned(), |epoch| format!("boot {epoch}"));
    let reset = match hello.reset {
        ResetReason::Power => "power on".to_owned(),
        ResetReason::Pin => "the reset button".to_owned(),
        ResetReason::Watchdog => "the WATCHDOG".to_owned(),
        ResetReason::Software => "software".to_owned(),
        ResetReason::Lockup => "a LOCK-UP".to_owned(),
        ResetReason::Debugger => "the probe".to_owned(),
        ResetReason::Other(register) => format!("reset reason {register:#x}"),
    };
    let network = if hello.demo { "the DEMO network".to_owned() } else { format!("PAN {:#06x}", hello.pan) };
    let mut text = format!(
        "{:?} chip {:016x}, image {}, {epoch} after {reset}, {network} channel {}, {}",
        hello.board,
        hello.chip,
        hello.build,
        hello.channel,
        hello.algorithm.title()
    );
    if let Some(before) = &hello.crash {
        text.push_str("; ");
        text.push_str(&crash(before));
    }
    text
}

/// Describes an entry of a leader's log: whose it is, how many samples, and the newest value of each quantity.
fn logged(bytes: &[u8]) -> String {
    let Some(entry) = LogEntry::read(bytes) else { return "logged something that cannot be read".into() };
    let Key { origin, number, .. } = entry.key;
    let block = match entry.contents {
        Contents::Gap { end } if end <= number => return "logged something that cannot be read".into(),
        Contents::Gap { end } => return format!("node {origin} has lost its blocks {number} to {}", end - 1),
        Contents::Block(block) => block,
    };
    let samples = BlockBytes::read(block).map_or(0, |block| block.samples_len);
    let newest: BTreeMap<Quantity, i32> = entry.readings().map(|one| (one.quantity, one.value)).collect();
    let values: Vec<String> = newest.into_iter().map(|(quantity, value)| reading(quantity, value)).collect();
    format!("logged {} of node {origin}: {}", counted(samples, "sample"), values.join(", "))
}

/// Describes what ended the previous boot.
pub fn crash(crash: &Crash) -> String {
    let kind = match crash.kind {
        CrashKind::Panic => "a panic",
        CrashKind::HardFault => "a hard fault",
        CrashKind::StackOverflow => "a stack overflow",
        CrashKind::CoreFault => "a defect of the election core",
        CrashKind::Stuck => "a stuck task",
    };
    let location = if crash.file.as_str().is_empty() {
        format!("pc {:#010x}, lr {:#010x}", crash.pc, crash.lr)
    } else {
        format!("{}:{}", printable(crash.file.as_str()), crash.line)
    };
    let again = if crash.in_a_row > 1 { format!(", {} times in a row", crash.in_a_row) } else { String::new() };
    format!("the previous boot ended with {kind} at {location} after {} s{again}", crash.uptime_s)
}

pub fn notice(notice: Notice) -> String {
    match notice {
        Notice::Leader(None) => "has no leader".into(),
        Notice::Leader(Some(id)) => format!("follows {id}"),
        Notice::Event(step) => event(step),
        Notice::PeerRefused(id) => format!("refused {id}: the table of neighbours is full"),
        Notice::LinkEnded(id, why) => format!("ended the link to {id}: {}", reason(why)),
        Notice::BadMessage(id) => format!("dropped an invalid message from {id}"),
        Notice::NotAPeer(id) => format!("dropped a message from {id}, which has no link"),
        Notice::LinkUp(id) => format!("link to {id} up"),
        Notice::LinkDown(id, why) => format!("link to {id} down: {}", reason(why)),
        Notice::Twin(id) => format!("another board also has the id {id}"),
        Notice::TwinsHeard(id) => format!("two boards in range have the id {id}"),
        Notice::Renamed(id) => format!("took the id {id}"),
        Notice::Unprotected => "sends without protection: anyone can read and forge its frames".into(),
        Notice::EpochNeeded => "only listens until a new epoch is stored".into(),
        Notice::RingPlace(left, right) => format!("is between {left} and {right} on the ring"),
        Notice::LeaderSilent(id) => format!("has not heard its leader {id} for too long"),
        Notice::AtOdds => "was at odds with its neighbours for too long, and starts over".into(),
        Notice::Guest(id) => format!("is a guest of {id}, which has no room for a link"),
        Notice::Fault(fault) => format!("DEFECT of the election core: {fault:?}"),
        Notice::Lost(count) => format!("the node dropped {}", counted(count, "notice")),
    }
}

fn event(event: Event) -> String {
    match event {
        Event::Adopted(id) | Event::Followed(id) => format!("step: adopted {id} as leader"),
        Event::Declared(id) => format!("step: declared {id} the winner"),
        other => format!("step: {other:?}"),
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Overrun => "more to send than the queue holds",
        Reason::Unacknowledged => "nothing was acknowledged",
        Reason::Silent => "silent for too long",
        Reason::Quality => "too weak",
        Reason::NewIncarnation => "the other end restarted",
        Reason::NoSession => "the other end knows of no link",
        Reason::Unwilling => "the other end no longer wants it",
        Reason::MadeRoom => "dropped to make room for another",
        Reason::Renamed => "this node changed its id",
        Reason::AtOdds => "this node starts over",
    }
}

pub fn reading(quantity: Quantity, value: i32) -> String {
    let hundredths = |value: i32| f64::from(value) / 100.0;
    let percent = |value: i32| f64::from(value) / 10_000.0;
    match quantity {
        Quantity::DieTemperature => format!("temperature {:.1} °C", hundredths(value)),
        Quantity::Supply => format!("supply {:.2} V", f64::from(value) / 1_000.0),
        Quantity::CpuLoad => format!("processor busy {:.2} %", percent(value)),
        Quantity::Airtime => format!("sending {:.3} %", percent(value)),
        Quantity::StackLeft => format!("stack left {value} bytes"),
        Quantity::Unfitness => format!("unfitness {value}"),
        Quantity::AirTemperature => format!("air {:.1} °C", hundredths(value)),
        Quantity::Humidity => format!("humidity {:.1} %", hundredths(value)),
        Quantity::Sensor(number) => format!("sensor {number} reads {value}"),
        Quantity::LateAnswers => format!("{value} acknowledgements came too late"),
    }
}

fn call(call: &Call) -> String {
    match call {
        Call::Start { epoch, .. } => format!("the node starts with epoch {epoch:?}"),
        Call::Frame { rssi_dbm, bytes } => format!("received {} bytes at {rssi_dbm} dBm", bytes.as_slice().len()),
        Call::Transmit { bytes, .. } => format!("sends {} bytes", bytes.as_slice().len()),
        other => format!("{other:?}"),
    }
}

fn warning(warning: Warning) -> &'static str {
    match warning {
        Warning::DemoNetwork => {
            "in the DEMO network, whose key is public: never provisioned (see `ringleader provision`)"
        }
        Warning::BadConfig => "in the DEMO network, because its configuration is damaged; provision it again",
        Warning::StorageFailed => "cannot store anything and only listens; its flash may be worn out",
        Warning::ResetLoop => {
            "crashed soon after its start, and waits before it joins; press reset or pull the plug to end the wait"
        }
        Warning::RadioSilence => "its radio has heard nothing for a long time",
    }
}

#[cfg(test)]
mod tests {
    use common::host_link::{Crash, CrashKind, Text};

    #[test]
    fn a_crash_cannot_steer_the_terminal() {
        let file = Text::start_of("\x1b]52;c;bm8=\x07\rnode 7 follows 7");
        let crash = Crash { kind: CrashKind::Panic, pc: 0, lr: 0, file, line: 1, uptime_s: 3, in_a_row: 1 };
        let told = super::crash(&crash);
        assert!(!told.contains(char::is_control), "{told:?}");
    }
}
