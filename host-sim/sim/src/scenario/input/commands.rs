//! Commands as people write them: `sample=1s`, in scenarios and on the command line.

use common::orders::{Command, Description, REGISTERS, Register, RegisterUnit};

use super::units::{Unit, parse_quantity};
use crate::air::index::NodeIndex;

/// A command that a node is given at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandPlan {
    pub at_us: u64,
    pub node: NodeIndex,
    pub command: Command,
}

/// The index of a command in its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandIndex(pub usize);

/// Reads `name=value`. The error says what would be right.
pub fn parse_set(text: &str) -> Result<Command, String> {
    let names = || REGISTERS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("\"{text}\" is not a setting; write name=value, such as sample=1s"));
    };
    let (name, value) = (name.trim(), value.trim());
    let found = Register::named(name).and_then(|register| Some((register, register.description()?)));
    let Some((register, known)) = found else {
        return Err(format!("there is no register \"{name}\"; there are {}", names()));
    };
    let value = parse_value(known, value)?;
    let command = Command::Set { register, value };
    if command.is_allowed() {
        return Ok(command);
    }
    Err(format!("{name} must be between {} and {}", shown(known, known.least), shown(known, known.most)))
}

fn parse_value(known: &Description, value: &str) -> Result<u32, String> {
    let whole = |value: &str| value.parse::<u32>().map_err(|_| format!("{} must be a whole number", known.name));
    match known.unit {
        RegisterUnit::Number => whole(value),
        RegisterUnit::Switch => match value {
            "on" => Ok(1),
            "off" => Ok(0),
            _ => Err(format!("{} must be on or off", known.name)),
        },
        RegisterUnit::Milliseconds => {
            let seconds = parse_quantity(value, Unit::Time).map_err(|what| format!("{} {what}", known.name))?;
            let ms = (seconds * 1e3).round();
            if !(0.0..=f64::from(u32::MAX)).contains(&ms) {
                return Err(format!("{} must be at most {}", known.name, shown(known, known.most)));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was just compared")]
            Ok(ms as u32)
        }
    }
}

/// A value of a register as people write it.
pub fn shown(known: &Description, value: u32) -> String {
    match known.unit {
        RegisterUnit::Number => value.to_string(),
        RegisterUnit::Switch => if value == 0 { "off" } else { "on" }.to_owned(),
        RegisterUnit::Milliseconds if value.is_multiple_of(1_000) => format!("{}s", value / 1_000),
        RegisterUnit::Milliseconds => format!("{value}ms"),
    }
}

#[cfg(test)]
mod tests {
    use common::orders::{Command, Register};

    use super::parse_set;

    #[test]
    fn settings_have_a_name_a_value_and_a_range() {
        assert_eq!(parse_set("sample=1s"), Ok(Command::Set { register: Register::SAMPLE, value: 1_000 }));
        assert_eq!(parse_set("send = 2 min"), Ok(Command::Set { register: Register::SEND, value: 120_000 }));
        assert_eq!(parse_set("lights=off"), Ok(Command::Set { register: Register::LIGHTS, value: 0 }));
        let error = |text| parse_set(text).unwrap_err();
        assert_eq!(error("sample=10ms"), "sample must be between 1s and 3600s");
        assert!(error("channel=15").contains("there is no register \"channel\"; there are sample, send"));
        assert!(error("sample=1").contains("has no unit"));
        assert!(error("sample").contains("name=value"));
        assert!(error("user0=x").contains("whole number"));
        assert!(error("sample=60 d").contains("must be at most"));
    }
}
