//! What a host asks a device when it appears, and what it learns: as Linux does, for a device with one serial port
//! (CDC-ACM).

use super::control::{Transfer, request, setup};

const STANDARD_IN: u8 = 0x80;
const STANDARD_OUT: u8 = 0x00;
const CLASS_INTERFACE_OUT: u8 = 0x21;

const DEVICE: u16 = 1;
const CONFIGURATION: u16 = 2;
const STRING: u16 = 3;
const INTERFACE_TYPE: u8 = 4;
const ENDPOINT_TYPE: u8 = 5;
const US_ENGLISH: u16 = 0x0409;

const CLASS_COMMUNICATION: u8 = 2;
const CLASS_DATA: u8 = 10;
const BULK: u8 = 2;
const ENDPOINT_IN: u8 = 0x80;

/// DTR and RTS.
const LINES_ON: u16 = 3;

/// The address that the device gets.
pub const ADDRESS: u16 = 7;

/// What is asked, in this order. The line state follows whenever somebody opens or closes the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The first eight bytes say how large packets may be. The device is reset once more afterwards.
    FirstLook,
    Address,
    Device,
    ConfigurationHead,
    Configuration,
    Text(TextOf),
    Configure,
    LineCoding,
    LineState {
        is_open: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOf {
    Manufacturer,
    Product,
    SerialNumber,
}

impl Question {
    /// The question after this one, while the device is enumerated.
    pub fn next(self) -> Option<Self> {
        Some(match self {
            Self::FirstLook | Self::LineCoding | Self::LineState { .. } => return None,
            Self::Address => Self::Device,
            Self::Device => Self::ConfigurationHead,
            Self::ConfigurationHead => Self::Configuration,
            Self::Configuration => Self::Text(TextOf::Manufacturer),
            Self::Text(TextOf::Manufacturer) => Self::Text(TextOf::Product),
            Self::Text(TextOf::Product) => Self::Text(TextOf::SerialNumber),
            Self::Text(TextOf::SerialNumber) => Self::Configure,
            Self::Configure => Self::LineCoding,
        })
    }
}

/// What a host knows of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub vendor: u16,
    pub product: u16,
    pub manufacturer: String,
    pub product_name: String,
    pub serial_number: String,
    configuration_bytes: u16,
    text_numbers: [u8; 3],
    /// The interface that takes the requests of the serial port.
    control_interface: u16,
    /// The endpoints of the serial port, without their direction.
    pub bulk_in: u8,
    pub bulk_out: u8,
}

impl Description {
    pub fn transfer(&self, question: Question) -> Transfer {
        let get = |kind: u16, number: u8, index, length| {
            setup(STANDARD_IN, request::GET_DESCRIPTOR, kind << 8 | u16::from(number), index, length)
        };
        let ask = |setup| Transfer::new(setup, &[]);
        match question {
            Question::FirstLook => ask(get(DEVICE, 0, 0, 64)),
            Question::Address => ask(setup(STANDARD_OUT, request::SET_ADDRESS, ADDRESS, 0, 0)),
            Question::Device => ask(get(DEVICE, 0, 0, 18)),
            Question::ConfigurationHead => ask(get(CONFIGURATION, 0, 0, 9)),
            Question::Configuration => ask(get(CONFIGURATION, 0, 0, self.configuration_bytes)),
            Question::Text(of) => ask(get(STRING, self.text_numbers[of as usize], US_ENGLISH, 255)),
            Question::Configure => ask(setup(STANDARD_OUT, request::SET_CONFIGURATION, 1, 0, 0)),
            Question::LineCoding => {
                // 115200 baud, one stop bit, no parity, eight bits.
                let coding = [0x00, 0xC2, 0x01, 0x00, 0, 0, 8];
                let to = self.control_interface;
                Transfer::new(setup(CLASS_INTERFACE_OUT, request::CDC_SET_LINE_CODING, 0, to, 7), &coding)
            }
            Question::LineState { is_open } => {
                let lines = if is_open { LINES_ON } else { 0 };
                let to = self.control_interface;
                ask(setup(CLASS_INTERFACE_OUT, request::CDC_SET_CONTROL_LINE_STATE, lines, to, 0))
            }
        }
    }

    /// Takes what the device answered, or says what is wrong with it.
    pub fn learn(&mut self, question: Question, bytes: &[u8]) -> Result<(), String> {
        let word = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let known = match question {
            Question::FirstLook => (bytes.get(7) == Some(&64)).then_some(()),
            Question::Device => (|| {
                (self.vendor, self.product) = (word(8)?, word(10)?);
                self.text_numbers = bytes.get(14..17)?.try_into().ok()?;
                Some(())
            })(),
            Question::ConfigurationHead => word(2).map(|length| self.configuration_bytes = length),
            Question::Configuration => self.find_port(bytes),
            Question::Text(of) => text(bytes).map(|text| match of {
                TextOf::Manufacturer => self.manufacturer = text,
                TextOf::Product => self.product_name = text,
                TextOf::SerialNumber => self.serial_number = text,
            }),
            Question::Address | Question::Configure | Question::LineCoding | Question::LineState { .. } => Some(()),
        };
        known.ok_or_else(|| format!("{question:?} was answered with {bytes:02x?}"))
    }

    /// Finds the interfaces and endpoints of the serial port in the descriptors of the configuration.
    fn find_port(&mut self, bytes: &[u8]) -> Option<()> {
        let (mut rest, mut class) = (bytes, 0);
        while let [length, kind, ..] = *rest {
            let descriptor = rest.get(..length.max(2).into())?;
            match kind {
                INTERFACE_TYPE => {
                    class = *descriptor.get(5)?;
                    if class == CLASS_COMMUNICATION {
                        self.control_interface = (*descriptor.get(2)?).into();
                    }
                }
                ENDPOINT_TYPE if class == CLASS_DATA && *descriptor.get(3)? == BULK => {
                    let address = *descriptor.get(2)?;
                    let port = if address & ENDPOINT_IN == 0 { &mut self.bulk_out } else { &mut self.bulk_in };
                    *port = address & !ENDPOINT_IN;
                }
                _ => {}
            }
            rest = &rest[descriptor.len()..];
        }
        (self.bulk_in != 0 && self.bulk_out != 0).then_some(())
    }
}

/// A string descriptor: its length, its kind, and UTF-16.
fn text(bytes: &[u8]) -> Option<String> {
    let letters = bytes.get(2..usize::from(*bytes.first()?))?;
    let units: Vec<u16> = letters.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}
