//! The messages. Times are microseconds since the board's boot.

use core::fmt::Debug;

use postcard::experimental::max_size::MaxSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::contents::{Bytes, Page, Text};
use crate::coefficient::Coefficient;
use crate::config::page::PageError;
use crate::data::log_entry::ENTRY_MAX;
use crate::data::wire::{ANSWER_MAX, Known};
use crate::limits::BLOCK_MAX;
#[cfg(feature = "journal")]
use crate::limits::JOURNAL_ITEM_MAX;
use crate::mac::phy::FRAME_MAX;
use crate::mac::{Decision, MacEvent};
use crate::names::{Algorithm, Board};
use crate::node::fleet::About;
use crate::node::snapshot::Snapshot;
use crate::notice::Notice;
use crate::orders::kept::KEPT_PIECE_MAX;
use crate::orders::{Command, Outcome};
use crate::quantity::{Quantity, SERIES_MAX};
use crate::time::Instant;
use crate::types::NodeId;

/// A message of one direction.
pub trait Message: Clone + Debug + PartialEq + Serialize + DeserializeOwned + MaxSize {
    /// The byte that tells the direction.
    const DIRECTION: u8;
}

impl Message for ToHost {
    const DIRECTION: u8 = b'>';
}

impl Message for ToBoard {
    const DIRECTION: u8 = b'<';
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ToHost {
    /// Who is there: at every start, and when asked.
    Hello(Hello),
    /// The node has something to tell.
    Notice { at_us: u64, notice: Notice },
    /// The state of the node: now and then, and when asked.
    Snapshot { at_us: u64, snapshot: Snapshot },
    /// A measured value.
    Reading {
        at_us: u64,
        quantity: Quantity,
        /// In the unit of the quantity.
        value: i32,
    },
    /// What the node was told, or gave out: enough to run it again on a PC. Only while [`ToBoard::Record`] asks for it.
    Call {
        /// When: the very time that the node was told.
        at_us: u64,
        call: Call,
    },
    /// What became of a configuration.
    Config(ConfigAnswer),
    /// The answer to [`ToBoard::Ping`], with its number.
    Pong(u32),
    /// This many messages were dropped here because the host did not collect them.
    Lost(u32),
    /// Something that needs a person's attention.
    Warning(Warning),
    /// What became of a command, with the ticket that [`ToBoard::Submit`] gave it. The last is a final one.
    Submitted { ticket: u32, outcome: Outcome },
    /// An entry of this board's log, into which a leader gathers the readings of all: as it is written, and when
    /// [`ToBoard::ReadLog`] asks for it.
    Logged {
        /// Counts the entries of this board's log, over boots.
        position: u32,
        /// As [`LogEntry::read`](crate::data::log_entry::LogEntry::read) reads it.
        entry: Bytes<ENTRY_MAX>,
    },
    /// The end of an answer to [`ToBoard::ReadLog`].
    LogTold {
        /// Where to ask for more. All entries before it were sent, or are no longer in the log.
        next: u32,
        /// The position of the entry that will be written next: once `next` has reached it, all were sent.
        end: u32,
    },
    /// This board has stored a block of its own readings. It will reach the leader's log, here or elsewhere, by its key: the
    /// board's id, the name of its store, and the block's number.
    Stored {
        store: u16,
        number: u32,
        /// As [`BlockBytes::read`](crate::data::block::BlockBytes::read) reads it.
        block: Bytes<BLOCK_MAX>,
    },
    /// A node has answered a question that [`ToBoard::Ask`] asked.
    Answer {
        number: u8,
        from: NodeId,
        /// For [`Report::read`](crate::node::fleet::Report::read), or
        /// [`Given::read`](crate::data::again::Given::read) where blocks were asked for.
        report: Bytes<ANSWER_MAX>,
    },
    /// A copy of what the leader has logged, as an entry by this board's epoch and clock, which [`ToBoard::ReadAll`] asked for.
    Copied { entry: Bytes<ENTRY_MAX> },
    /// An item of the journal, as [`Kept::read`](crate::board::journal::Kept::read) reads it.
    #[cfg(feature = "journal")]
    Journal(Bytes<JOURNAL_ITEM_MAX>),
    /// The end of an answer to [`ToBoard::ReadJournal`].
    #[cfg(feature = "journal")]
    JournalTold {
        /// Where to continue asking for more.
        next: u32,
        /// The number of the item that will be written next: where `next` has come so far, all were told.
        end: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Hello {
    /// When it is said.
    pub at_us: u64,
    /// The image that runs: logs can only be read with its very ELF file.
    pub build: BuildId,
    /// The board it was built for.
    pub board: Board,
    /// The chip's serial number (FICR.DEVICEID).
    pub chip: u64,
    pub id: NodeId,
    /// The number of this boot; none if it could not be stored.
    pub epoch: Option<u16>,
    pub pan: u16,
    pub channel: u8,
    /// How the leader is elected.
    pub algorithm: Algorithm,
    /// Whether this is the demo network: the board was never provisioned, and its key is public.
    pub demo: bool,
    pub reset: ResetReason,
    /// What ended the boot before this one, if it was a defect.
    pub crash: Option<Crash>,
}

/// Names an image: the first bytes of the build id that the linker made of its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, MaxSize)]
pub struct BuildId(pub [u8; 8]);

impl core::fmt::Display for BuildId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
pub enum ResetReason {
    /// Power-on, or the supply had failed.
    Power,
    /// The reset pin or button.
    Pin,
    /// The watchdog: something was stuck.
    Watchdog,
    /// The image asked for it: a command, or after a defect.
    Software,
    /// The processor locked up.
    Lockup,
    /// The debug probe.
    Debugger,
    /// Anything else: the register as it was.
    Other(u32),
}

/// What ended a boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Crash {
    pub kind: CrashKind,
    /// The program counter, if known.
    pub pc: u32,
    /// The link register, if known.
    pub lr: u32,
    /// The source file, as much of its end as fits; empty if it is not known.
    pub file: Text<40>,
    pub line: u32,
    /// How long the board had run, in seconds.
    pub uptime_s: u32,
    /// How many boots in a row ended this way.
    pub in_a_row: u8,
}

/// The ways in which a boot ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
pub enum CrashKind {
    /// A check in the code failed.
    Panic,
    /// The processor refused an instruction or an address.
    HardFault,
    /// The stack ran into its guard.
    StackOverflow,
    /// The election core found a defect in itself.
    CoreFault,
    /// A part of the firmware did nothing for too long.
    Stuck,
}

/// One call of the node's driver or of the radio's, in and out. A node made from the same configuration and told the same
/// gives out the same bytes, and a MAC with the same seed decides the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Call {
    /// The node was made and started.
    Start {
        /// The number of this boot.
        epoch: Option<u16>,
        /// Its randomness.
        seed: u64,
        device: u16,
    },
    Frame {
        rssi_dbm: i8,
        bytes: Bytes<FRAME_MAX>,
    },
    /// The frame that was given out is through.
    Sent {
        /// Whether it was not sent because the channel was never clear.
        busy: bool,
    },
    /// The time that the node had asked for has come.
    Timeout,
    /// An election was asked for.
    Elect,
    /// The node's rank was set by hand.
    Rank(u8),
    /// The node's fitness has changed.
    Fitness(Coefficient),
    /// A new epoch was stored.
    Epoch(u16),
    /// The node gave out a frame.
    Transmit {
        /// When it must be on the air, where that is not as soon as the channel is clear.
        at_us: Option<u64>,
        bytes: Bytes<FRAME_MAX>,
    },
    /// The MAC was made.
    MacStart {
        /// Its randomness.
        seed: u64,
    },
    /// The MAC was told of an event, and decided.
    Mac {
        event: MacEvent,
        decision: Decision,
        /// When it then wanted its next turn.
        next: Option<Instant>,
    },
    /// The node was asked to lead no more.
    StepDown,
    /// The node was given a command.
    Submit(Command),
    /// The node was told of its board.
    About(About),
    /// The node was to ask all others for their state.
    Ask(Question),
    /// The node was told what its store holds, before it was started.
    Recovered {
        store: u16,
        next: u32,
        base: u32,
        oldest: u32,
    },
    /// The node was given a sample, by series.
    Sample([Option<i32>; SERIES_MAX]),
    /// The node was asked what to do with the flash, and had something.
    Chore,
    /// The node was told what came of that.
    Done(Did),
    /// The node was given a piece of what its board had kept of orders, before it was started.
    Kept(Bytes<KEPT_PIECE_MAX>),
    /// The node was told that a PC reads here.
    Read,
}

/// The result of a chore that a node wanted done with the flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Did {
    /// A block was stored, and this is the oldest that is left; none if it could not be.
    Stored { oldest: Option<u32> },
    /// A block was brought back; none if it is not there.
    Fetched(Option<Bytes<BLOCK_MAX>>),
    /// Whether an entry was logged.
    Logged(bool),
}

/// A question to all nodes about their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Question {
    /// The same for every turn of a question.
    pub number: u8,
    /// 0 at first, and one more each time that it is asked again; at most 14. In 15 it asks for blocks
    /// ([`Again`](crate::data::wire::Again)).
    pub turn: u8,
    /// Who has answered before.
    pub known: Known,
}

/// What became of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ConfigAnswer {
    /// It is stored and will be used from the next start on, which follows at once.
    Stored,
    /// There is none any more; the next start, which follows at once, is in the demo network.
    Erased,
    /// It is wrong, and the one before it stays.
    Refused(Refusal),
    /// It is right, but storing it failed; the one before it stays.
    NotStored,
}

/// Why a configuration was refused: [`PageError`] in a form that travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// Nothing but erased flash.
    Blank,
    /// The first four bytes are not a page's.
    Magic,
    /// A layout that the board's image does not know.
    Version(u8),
    /// A length that does not fit.
    Length(u16),
    Checksum,
    /// The body is not a configuration.
    Body,
    /// This field has a value it may not have.
    Field(Text<32>),
}

impl From<PageError> for Refusal {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Blank => Self::Blank,
            PageError::Magic => Self::Magic,
            PageError::Version(version) => Self::Version(version),
            PageError::Length(length) => Self::Length(length),
            PageError::Checksum => Self::Checksum,
            PageError::Body => Self::Body,
            PageError::Field(error) => Self::Field(Text::start_of(error.field)),
        }
    }
}

/// Something a person ought to do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Warning {
    /// The board was never provisioned: it is in the demo network, whose key everybody knows.
    DemoNetwork,
    /// The configuration is invalid; the board has joined the demo network.
    BadConfig,
    /// Nothing can be stored; without an epoch the board only listens.
    StorageFailed,
    /// The board has failed so soon after its start that it waits before it joins.
    ResetLoop,
    /// The radio has heard nothing at all for a long time.
    RadioSilence,
}

/// What a PC asks of a board.
// A configuration is large and the rest is small. Few are ever in memory at once, and there is no heap to put it on.
#[allow(clippy::large_enum_variant, reason = "no heap")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum ToBoard {
    /// Are you there? Answered with the same number.
    Ping(u32),
    /// Say hello again.
    GetHello,
    /// What is your state?
    GetSnapshot,
    /// Take this configuration page (see [`crate::config::page`]) and start again with it.
    SetConfig(Page),
    /// Forget the configuration and start again in the demo network.
    EraseConfig,
    /// Ask for an election.
    Elect,
    /// Blink, so that a person finds the board.
    Identify,
    /// Rank the node in the hierarchy by hand.
    SetRank(u8),
    /// Start again.
    Reset {
        /// Record from the very start; otherwise as it was.
        record: bool,
    },
    /// Report every call of the node's driver, or no longer.
    Record(bool),
    /// Give the network a command. What becomes of it is told with this ticket.
    Submit { ticket: u32, command: Command },
    /// Tell the entries of the log from this position on, some of them, and then [`ToHost::LogTold`]. Position 0 asks for all that
    /// nobody has taken over yet.
    ReadLog { from: u32 },
    /// The host keeps all entries before this position safe: the board need not, and overwrites them when it needs the room.
    ReleaseLog { before: u32 },
    /// Ask all nodes for their state, this one included. Each answer is told.
    Ask(Question),
    /// For the next two minutes and a half, tell the readings of all nodes: what the leader logs, as [`ToHost::Copied`].
    ReadAll,
    /// Tell the items of the journal from this number on, some of them, and then [`ToHost::JournalTold`].
    #[cfg(feature = "journal")]
    ReadJournal { from: u32 },
}
