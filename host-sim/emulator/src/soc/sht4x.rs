//! A sensor of temperature and humidity that people solder to two wires: Sensirion's `SHT4x`.
//!
//! As its data sheet has it: a command is one byte. The answer is two words, each followed by its CRC-8. A sensor that is not
//! ready, or has nothing to tell, does not acknowledge its address. The heater and the other addresses are not modelled.

use crate::io::CYCLES_PER_US;

/// The address of most of the family.
pub const ADDRESS: u32 = 0x44;

/// Commands, by the names of the data sheet, with the longest time that the sensor takes for them.
const COMMANDS: [(u8, Command, u64); 5] = [
    (0xFD, Command::Measure, 8_300),
    (0xF6, Command::Measure, 4_500),
    (0xE0, Command::Measure, 1_600),
    (0x89, Command::SerialNumber, 100),
    (0x94, Command::SoftReset, 1_000),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Measure,
    SerialNumber,
    SoftReset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sht4x {
    /// In thousandths of a degree Celsius.
    pub temperature: i32,
    /// Relative, in thousandths of a per cent.
    pub humidity: i32,
    pub serial_number: u32,
    noisy: bool,
    answer: Option<[u8; 6]>,
    /// How many bytes of the answer were read.
    read: usize,
    busy_until: u64,
}

impl Sht4x {
    pub const fn new(temperature: i32, humidity: i32) -> Self {
        let serial_number = 0x1234_5678;
        Self { temperature, humidity, serial_number, noisy: false, answer: None, read: 0, busy_until: 0 }
    }

    /// The same with a bad wire, which flips a bit of every answer.
    pub const fn noisy(self) -> Self {
        Self { noisy: true, ..self }
    }

    /// Whether it acknowledges its address, to be read or written.
    pub fn is_addressed(&mut self, now: u64, to_read: bool) -> bool {
        self.read = 0;
        now >= self.busy_until && (!to_read || self.answer.is_some())
    }

    /// Takes a command, and says whether it acknowledges it.
    pub fn write(&mut self, now: u64, byte: u8) -> bool {
        let Some((_, command, us)) = COMMANDS.into_iter().find(|(code, ..)| *code == byte) else { return false };
        self.busy_until = now + us * CYCLES_PER_US;
        self.answer = match command {
            Command::Measure => {
                Some(words(ticks(self.temperature + 45_000, 175_000), ticks(self.humidity + 6_000, 125_000)))
            }
            Command::SerialNumber => {
                let [a, b, c, d] = self.serial_number.to_be_bytes();
                Some(words([a, b], [c, d]))
            }
            Command::SoftReset => None,
        };
        true
    }

    /// The next byte of the answer. A line that nobody pulls down reads as ones.
    pub fn read(&mut self) -> u8 {
        let byte = self.answer.and_then(|answer| answer.get(self.read).copied()).unwrap_or(0xFF);
        let byte = if self.noisy && self.read == 1 { byte ^ 0x10 } else { byte };
        self.read += 1;
        byte
    }

    /// The master has ended the transfer. What was read is gone.
    pub fn stop(&mut self) {
        if self.read > 0 {
            (self.answer, self.read) = (None, 0);
        }
    }
}

/// A value as the sensor counts it: 65535 parts of its span.
fn ticks(value: i32, span: i32) -> [u8; 2] {
    let ticks = (i64::from(value) * 65_535 + i64::from(span) / 2) / i64::from(span);
    u16::try_from(ticks.clamp(0, 65_535)).unwrap_or(0).to_be_bytes()
}

fn words(first: [u8; 2], second: [u8; 2]) -> [u8; 6] {
    [first[0], first[1], crc(first), second[0], second[1], crc(second)]
}

/// CRC-8 with the polynomial 0x31, beginning with 0xFF.
fn crc(word: [u8; 2]) -> u8 {
    let step = |crc: u8, _| if crc & 0x80 == 0 { crc << 1 } else { crc << 1 ^ 0x31 };
    word.into_iter().fold(0xFF, |crc, byte| (0..8).fold(crc ^ byte, step))
}

#[cfg(test)]
mod tests {
    use super::{Sht4x, crc};

    #[test]
    fn the_checksum_is_that_of_the_data_sheet() {
        assert_eq!(crc([0xBE, 0xEF]), 0x92);
    }

    #[test]
    fn a_measurement_is_there_when_its_time_has_passed_and_is_read_once() {
        let mut sensor = Sht4x::new(23_500, 41_000);
        assert!(!sensor.is_addressed(0, true), "there is nothing to tell");
        assert!(sensor.is_addressed(0, false) && sensor.write(0, 0xFD));
        assert!(!sensor.is_addressed(8_299 * 64, true), "it is still measuring");
        assert!(sensor.is_addressed(8_300 * 64, true));
        let answer = [(); 6].map(|()| sensor.read());
        let word = |at: usize| i64::from(u16::from_be_bytes([answer[at], answer[at + 1]]));
        assert!((word(0) * 175_000 / 65_535 - 45_000).abs_diff(23_500) <= 2, "to a tick");
        assert!((word(3) * 125_000 / 65_535 - 6_000).abs_diff(41_000) <= 2, "to a tick");
        assert_eq!((answer[2], answer[5]), (crc([answer[0], answer[1]]), crc([answer[3], answer[4]])));
        sensor.stop();
        assert!(!sensor.is_addressed(9_000 * 64, true), "an answer is read once");
    }

    #[test]
    fn an_unknown_command_is_not_acknowledged() {
        assert!(!Sht4x::new(0, 0).write(0, 0x00));
    }
}
