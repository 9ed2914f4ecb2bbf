//! `ringleader dissector`: prints a dissector with which Wireshark shows and decrypts frames.

use std::process::ExitCode;

use crate::field::dissector;
use crate::out;

const DETAILS: &str = r"To install it, copy the file into Wireshark's folder of personal Lua plugins (Help, About Wireshark, Folders).
Then enter the network's key, the 32 digits in its key file, under Preferences, Protocols, Ringleader. Networks
without protection need no key; for frames under AES-128-CCM only the header is shown.

  ringleader dissector > ringleader.lua
  ringleader run mesh16 --pcap mesh16.pcapng
  tshark -X lua_script:ringleader.lua -o ringleader.key:DIGITS -r mesh16.pcapng

The keys of simulated networks and of the demo network are public:
  scenarios  61207363656e6172696f2773206b6579
  demo       72696e676c65616465722064656d6f21";

#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub struct Args {}

pub fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    out!("{}", dissector::script())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use common::config::{NetworkKey, Protection};
    use sim::scenario::run::boards::board_configs;

    use crate::cli::scenario_file::find;

    /// The key that the help gives for this.
    fn told(what: &str) -> Protection {
        let line = super::DETAILS.lines().find_map(|line| line.trim().strip_prefix(what)).expect("a line");
        let digits = line.trim();
        let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("two digits");
        Protection::Ascon(NetworkKey::new(std::array::from_fn(byte)))
    }

    #[test]
    fn the_public_keys_are_those_in_use() {
        assert_eq!(told("demo "), common::board::demo::config(1).protection);
        let configs = board_configs(&find("mesh16").unwrap(), true).unwrap();
        assert!(configs.values().all(|config| config.protection == told("scenarios ")));
    }
}
