//! Messages of boards in words.

use common::host_link::{Call, ConfigAnswer, Crash, CrashKind, Hello, Quantity, ResetReason, ToHost, Warning};
use common::notice::{Event, Notice, Reason};

/// How much somebody should mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Goes on all the time.
    Detail,
    /// Worth knowing.
    News,
    /// Somebody ought to do something.
    Alarm,
}

/// How much somebody should mind a message.
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
        ToHost::Hello(_) | ToHost::Config(_) => Weight::News,
        ToHost::Snapshot { .. } | ToHost::Reading { .. } | ToHost::Call { .. } | ToHost::Pong(_) => Weight::Detail,
    }
}

/// A message in words.
pub fn message(message: &ToHost) -> String {
    match message {
        ToHost::Hello(said) => hello(said),
        ToHost::Notice { notice: said, .. } => notice(*said),
        ToHost::Snapshot { snapshot, .. } => {
            let leader = snapshot.leader.map_or("nobody".to_owned(), |id| id.to_string());
            let counters = snapshot.counters;
            format!(
                "follows {leader}, {} links up, {} heard; {} frames sent, {} accepted, {} again",
                snapshot.links_up, snapshot.heard, counters.sent, counters.accepted, counters.retries
            )
        }
        ToHost::Reading { quantity, value, .. } => reading(*quantity, *value),
        ToHost::Call { call: said, .. } => call(said),
        ToHost::Config(ConfigAnswer::Stored) => "configuration stored; starting again".into(),
        ToHost::Config(ConfigAnswer::Erased) => "configuration erased; starting again in the demo network".into(),
        ToHost::Config(ConfigAnswer::NotStored) => "the configuration could not be stored".into(),
        ToHost::Config(ConfigAnswer::Refused(why)) => format!("configuration refused: {why:?}"),
        ToHost::Pong(number) => format!("is there ({number})"),
        ToHost::Lost(count) => format!("{count} messages were lost on the board: the host was too slow"),
        ToHost::Warning(warning) => self::warning(*warning).into(),
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

/// What ended a boot.
pub fn crash(crash: &Crash) -> String {
    let kind = match crash.kind {
        CrashKind::Panic => "a panic",
        CrashKind::HardFault => "a hard fault",
        CrashKind::StackOverflow => "a stack overflow",
        CrashKind::CoreFault => "a defect of the election core",
        CrashKind::Stuck => "a stuck task",
    };
    let place = if crash.file.as_str().is_empty() {
        format!("pc {:#010x}, lr {:#010x}", crash.pc, crash.lr)
    } else {
        format!("{}:{}", crash.file, crash.line)
    };
    let again = if crash.in_a_row > 1 { format!(", {} times in a row", crash.in_a_row) } else { String::new() };
    format!("the boot before ended with {kind} at {place} after {} s{again}", crash.uptime_s)
}

/// A notice of a node in words.
pub fn notice(notice: Notice) -> String {
    match notice {
        Notice::Leader(None) => "has no leader".into(),
        Notice::Leader(Some(id)) => format!("follows {id}"),
        Notice::Event(step) => event(step),
        Notice::PeerRefused(id) => format!("refused {id}: the table of neighbours is full"),
        Notice::LinkEnded(id, why) => format!("ended the link to {id}: {}", reason(why)),
        Notice::BadMessage(id) => format!("dropped a message from {id} that made no sense"),
        Notice::NotAPeer(id) => format!("dropped a message from {id}, which has no link"),
        Notice::LinkUp(id) => format!("link to {id} up"),
        Notice::LinkDown(id, why) => format!("link to {id} down: {}", reason(why)),
        Notice::Twin(id) => format!("another board has the id {id} too"),
        Notice::TwinsHeard(id) => format!("two boards with the id {id} are about"),
        Notice::Renamed(id) => format!("took the id {id}"),
        Notice::Unprotected => "sends without protection: anybody can read and forge".into(),
        Notice::EpochNeeded => "only listens until a new epoch is stored".into(),
        Notice::RingPlace(left, right) => format!("stands between {left} and {right} on the ring"),
        Notice::LeaderSilent(id) => format!("has not heard its leader {id} for too long"),
        Notice::Fault(fault) => format!("DEFECT of the election core: {fault:?}"),
        Notice::Lost(count) => format!("{count} notices were lost in the node"),
    }
}

fn event(event: Event) -> String {
    match event {
        Event::Adopted(id) | Event::Followed(id) => format!("step: took a leader over ({id})"),
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
        Reason::NewIncarnation => "the other end began anew",
        Reason::NoSession => "the other end knows of no link",
        Reason::Unwilling => "the other end no longer wants it",
        Reason::MadeRoom => "made room for another",
        Reason::Renamed => "this node changed its id",
    }
}

/// A measured value with its unit.
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
        Quantity::Sensor(number) => format!("sensor {number} reads {value}"),
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
            "DEMO network: never provisioned, and its key is public (`ringleader provision` gives it its own)"
        }
        Warning::BadConfig => "its configuration is damaged, so it is in the DEMO network; provision it again",
        Warning::StorageFailed => "it can store nothing and only listens; its flash may be worn out",
        Warning::ResetLoop => "it was reset so often in a row that it waits before it starts again",
        Warning::RadioSilence => "its radio has heard nothing at all for long",
    }
}
