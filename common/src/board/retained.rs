//! What a board leaves in memory for its next boot: how long it ran, and where it crashed.
//!
//! Memory survives every reset except a loss of power, after which it holds noise. The record is therefore sealed with a
//! checksum; anything that does not match it is not a record.
//!
//! ```text
//! 0  length of the body   1  body, in postcard's encoding   ..  CRC-32 (ISO-HDLC) of everything before it, little-endian
//! ```

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

use crate::board::watchdog::Part;
use crate::checksum::CRC_32;
use crate::host_link::{Crash, CrashKind, Text};

/// Bytes of the whole record.
pub const RECORD_MAX: usize = 1 + LastRun::POSTCARD_MAX_SIZE + 4;

/// What the run before left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LastRun {
    /// How long it had run when it last wrote this, in seconds.
    pub uptime_s: u32,
    /// Whether the host asked for every call of the node to be reported from the start.
    pub record_calls: bool,
    /// What ended it, if the board had time to write that down.
    pub crash: Option<CrashRecord>,
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CrashRecord {
    pub kind: CrashKind,
    /// The program counter, if known.
    pub pc: u32,
    /// The link register, if known.
    pub lr: u32,
    /// The stack pointer, if known.
    pub sp: u32,
    /// The processor's own account of a fault (CFSR).
    pub cfsr: u32,
    /// The source file, as much of its end as fits.
    pub file: Text<40>,
    pub line: u32,
    /// The beginning of the panic message, or the part that was stuck.
    pub message: Text<72>,
}

impl CrashRecord {
    /// A crash of this kind about which nothing else is known.
    pub fn of(kind: CrashKind) -> Self {
        let (file, message) = (Text::default(), Text::default());
        Self { kind, pc: 0, lr: 0, sp: 0, cfsr: 0, file, line: 0, message }
    }

    /// A panic in this line.
    pub fn panic(file: &str, line: u32, message: &str) -> Self {
        let (file, message) = (Text::end_of(file), Text::start_of(message));
        Self { file, line, message, ..Self::of(CrashKind::Panic) }
    }

    /// A part of the board that made no progress.
    pub fn stuck(part: Part) -> Self {
        Self { message: Text::start_of(part.name()), ..Self::of(CrashKind::Stuck) }
    }

    /// What the host is sent: the crash, how long the run lasted, and how many in a row ended so.
    pub fn report(&self, uptime_s: u32, in_a_row: u8) -> Crash {
        let Self { kind, pc, lr, file, line, .. } = self.clone();
        Crash { kind, pc, lr, file, line, uptime_s, in_a_row }
    }
}

impl LastRun {
    pub fn seal(&self, record: &mut [u8; RECORD_MAX]) {
        let Some((length, body)) = record.split_first_mut() else { return };
        // The buffer is as long as the longest encoding, so this cannot fail; a record of length 0 would not decode.
        let used = postcard::to_slice(self, body).map_or(0, |used| used.len());
        *length = u8::try_from(used).unwrap_or(0);
        let Some((sealed, rest)) = record.split_at_mut_checked(1 + used) else { return };
        let sum = CRC_32.checksum(sealed).to_le_bytes();
        if let Some(end) = rest.first_chunk_mut::<4>() {
            *end = sum;
        }
    }

    /// Reads a record, if the memory holds one.
    pub fn open(record: &[u8; RECORD_MAX]) -> Option<Self> {
        let length = usize::from(*record.first()?);
        let (sealed, rest) = record.split_at_checked(1 + length)?;
        if CRC_32.checksum(sealed) != u32::from_le_bytes(*rest.first_chunk::<4>()?) {
            return None;
        }
        let (last, rest) = postcard::take_from_bytes::<Self>(sealed.get(1..)?).ok()?;
        rest.is_empty().then_some(last)
    }
}

const _: () = assert!(LastRun::POSTCARD_MAX_SIZE <= u8::MAX as usize, "the length is one byte");

#[cfg(test)]
mod tests {
    use super::{CrashRecord, LastRun, RECORD_MAX};
    use crate::board::watchdog::Part;
    use crate::host_link::CrashKind;

    fn longest() -> LastRun {
        let most = u32::MAX;
        let panic = CrashRecord::panic(&"f".repeat(200), most, &"m".repeat(200));
        LastRun {
            uptime_s: most,
            record_calls: true,
            crash: Some(CrashRecord { pc: most, lr: most, sp: most, cfsr: most, ..panic }),
        }
    }

    #[test]
    fn what_was_sealed_is_opened() {
        let stuck = LastRun { crash: Some(CrashRecord::stuck(Part::Radio)), ..LastRun::default() };
        for last in [longest(), LastRun::default(), stuck] {
            let mut record = [0xA5; RECORD_MAX];
            last.seal(&mut record);
            assert_eq!(LastRun::open(&record), Some(last));
        }
    }

    #[test]
    fn noise_is_no_record() {
        assert_eq!(LastRun::open(&[0; RECORD_MAX]), None);
        assert_eq!(LastRun::open(&[0xFF; RECORD_MAX]), None);
        let mut record = [0; RECORD_MAX];
        longest().seal(&mut record);
        for byte in 0..RECORD_MAX {
            let mut noisy = record;
            noisy[byte] ^= 0x10;
            assert_eq!(LastRun::open(&noisy), None, "byte {byte}");
        }
    }

    #[test]
    fn the_host_hears_what_a_person_needs() {
        let crash = CrashRecord::panic("firmware/src/radio.rs", 42, "stuck").report(17, 3);
        assert_eq!((crash.kind, crash.line, crash.uptime_s, crash.in_a_row), (CrashKind::Panic, 42, 17, 3));
        assert_eq!(crash.file.as_str(), "firmware/src/radio.rs");
    }
}
