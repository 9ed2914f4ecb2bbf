//! How a board's log words what it reports, for people to read and paste. The words are in the image's file, not on the board.

use defmt::{Format, Formatter, write};

use crate::board::storage::StoreError;
use crate::config::ConfigError;
use crate::config::page::PageError;
use crate::host_link::{BuildId, CrashKind, ResetReason};
use crate::names::{Algorithm, Board};
use crate::notice::{Event, Fault, Notice, Reason};
use crate::types::NodeId;

/// Words for each variant of a type, with what it holds.
macro_rules! words {
    ($($type:ty { $($variant:pat => $words:literal $($held:expr)*;)* })*) => {
        $(impl Format for $type {
            fn format(&self, f: Formatter<'_>) {
                match *self {
                    $($variant => write!(f, $words $(, $held)*),)*
                }
            }
        })*
    };
}

words! {
    NodeId {
        Self(id) => "{=u16}" id;
    }
    BuildId {
        // As `readelf -n` prints it.
        Self(bytes) => "{=u64:016x}" u64::from_be_bytes(bytes);
    }
    Algorithm {
        Self::Hs => "HS";
        Self::Height => "Height";
        Self::Hierarchy => "Hierarchy";
        Self::Frlle => "FRLLE";
        Self::Bully => "Bully";
        Self::Ring => "Ring";
        Self::Lcr => "LCR";
        Self::TimerBased => "Timer-based";
        Self::ModifiedBully => "Modified Bully";
        Self::Abraham => "Abraham et al.";
    }
    ResetReason {
        Self::Power => "power on";
        Self::Pin => "the reset button";
        Self::Watchdog => "the WATCHDOG";
        Self::Software => "software";
        Self::Lockup => "a LOCK-UP";
        Self::Debugger => "the probe";
        Self::Other(register) => "reset reason {=u32:#x}" register;
    }
    CrashKind {
        Self::Panic => "a panic";
        Self::HardFault => "a hard fault";
        Self::StackOverflow => "a stack overflow";
        Self::CoreFault => "a defect of the election core";
        Self::Stuck => "something stuck";
    }
    StoreError {
        Self::Range => "the storage's pages are not aligned or too few";
        Self::Flash => "the flash refused";
        Self::Corrupted => "the storage makes no sense; erase its pages and give the board a new key";
        Self::Full => "the storage is full";
        Self::Differs => "what was read back is not what was written";
        Self::Exhausted => "every epoch has been used; give the board a new key and erase its storage";
    }
    ConfigError {
        Self { field, must } => "{=str} must be {=str}" field must;
    }
    PageError {
        Self::Blank => "the page is blank";
        Self::Magic => "byte 0: this is not a configuration page";
        Self::Version(version) => "byte 4: version {=u8} is not known" version;
        Self::Length(length) => "byte 6: a body of {=u16} bytes does not fit" length;
        Self::Checksum => "the checksum behind the body is wrong";
        Self::Body => "the body is not a configuration";
        Self::Field(error) => "{}" error;
    }
    Reason {
        Self::Overrun => "more to send than the queue holds";
        Self::Unacknowledged => "nothing was acknowledged";
        Self::Silent => "silent for too long";
        Self::Quality => "too weak";
        Self::NewIncarnation => "the other end restarted";
        Self::NoSession => "the other end knows of no link";
        Self::Unwilling => "the other end no longer wants it";
        Self::MadeRoom => "dropped to make room for another";
        Self::Renamed => "this node changed its id";
        Self::AtOdds => "this node starts over";
    }
    Fault {
        Self::OutboxOverflow => "a handler sent more than the outbox holds";
        Self::NoLink(id) => "a handler sent to {}, which has no link" id;
    }
    Event {
        Self::Started => "step: began an election";
        Self::PhaseWon(phase) => "step: won phase {=u8}" phase;
        Self::Searching => "step: began a search for the leader";
        Self::Reflected => "step: a search found a dead end here";
        Self::Propagated => "step: a search passed through here";
        Self::ElectedSelf => "step: made itself leader";
        Self::Adopted(id) => "step: took a better leader over from {}" id;
        Self::Replied(id) => "step: answered {}, whose leader is worse" id;
        Self::Ignored(id) => "step: ignored {}, which is no neighbour" id;
        Self::Declared(id) => "step: declared {} the winner" id;
        Self::Followed(id) => "step: took the winner {} for its leader" id;
        Self::HeardAlive(id) => "step: has heard {}, so the election is off" id;
        Self::Recovered(id) => "step: was told that {} has answered" id;
        Self::Retried => "step: no result in time, began again";
        Self::Stale => "step: refused a message of an earlier election";
        Self::Unsent(id) => "step: no link to {}, so nothing was sent" id;
        Self::OutOfTime(id) => "step: refused {}, whose time cannot be" id;
        Self::Disputed(id) => "step: {} tells of another board that leads under this id" id;
    }
    Notice {
        Self::Leader(None) => "no leader";
        Self::Leader(Some(id)) => "leader {}" id;
        Self::Event(event) => "{}" event;
        Self::PeerRefused(id) => "refused {}: the table of neighbours is full" id;
        Self::LinkEnded(id, why) => "ended the link to {}: {}" id why;
        Self::BadMessage(id) => "dropped an invalid message from {}" id;
        Self::NotAPeer(id) => "dropped a message from {}, which has no link" id;
        Self::LinkUp(id) => "link to {} up" id;
        Self::Guest(id) => "a guest of {}, which has no room for a link" id;
        Self::LinkDown(id, why) => "link to {} down: {}" id why;
        Self::Twin(id) => "another board also has the id {}" id;
        Self::TwinsHeard(id) => "two boards in range have the id {}" id;
        Self::Renamed(id) => "took another id, {}" id;
        Self::Unprotected => "sends without protection: anyone can read and forge its frames";
        Self::EpochNeeded => "only listening until a new epoch is stored";
        Self::RingPlace(left, right) => "between {} and {} on the ring" left right;
        Self::LeaderSilent(id) => "has not heard its leader {} for too long" id;
        Self::AtOdds => "at odds with its neighbours for too long, starts over";
        Self::Fault(fault) => "DEFECT of the election core: {}" fault;
        Self::Lost(count) => "{=u16} notices were lost here" count;
    }
}

impl Format for Board {
    fn format(&self, f: Formatter<'_>) {
        write!(f, "{=str}", self.title());
    }
}
