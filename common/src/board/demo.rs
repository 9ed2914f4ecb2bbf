//! The network of boards that were never provisioned: an id from the chip's serial number and a key that everybody knows.
//!
//! It is for trying things out: a board in it says so at every boot. Provisioned boards have another key, so it cannot
//! disturb them.

use crate::config::{Config, IDS, IdSource, NetworkKey, Protection};
use crate::rng::Rng;
use crate::types::NodeId;

/// The demo network's number.
pub const PAN: u16 = 0xDE40;

/// A key that protects nothing, since it is printed here. It is used all the same so that a demo exercises what a real
/// network does.
const PUBLIC_KEY: [u8; 16] = *b"ringleader demo!";

/// The configuration of a board that was never provisioned.
pub fn config(device: u64) -> Config {
    let protection = Protection::Ascon(NetworkKey::new(PUBLIC_KEY));
    Config { id_source: IdSource::Chip, ..Config::ad_hoc(id(device), PAN, protection) }
}

/// An id from the 64 bits of the chip's serial number. Two of 100 boards share one with a probability of 7 %; they then
/// notice and take others.
pub fn id(device: u64) -> NodeId {
    let count = u32::from(*IDS.end() - *IDS.start()) + 1;
    let offset = Rng::new(device).below(count);
    NodeId(u16::try_from(offset).map_or(*IDS.start(), |offset| IDS.start().saturating_add(offset)))
}

/// Sixteen bits of the serial number that tell two boards with one id apart.
pub fn tag(device: u64) -> u16 {
    // Not the stream of the id: boards that share an id must not share the tag as well.
    let [low, high, ..] = Rng::stream(device, 1).next_u64().to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use super::{config, id, tag};
    use crate::config::IDS;

    #[test]
    fn every_chip_gets_a_sound_configuration() {
        for device in (0..64).map(|bit| 1_u64 << bit).chain([0, u64::MAX]) {
            assert!(config(device).check().is_ok());
            assert!(IDS.contains(&id(device).0));
        }
    }

    #[test]
    fn chips_differ_in_id_or_tag() {
        let names: std::collections::BTreeSet<_> = (0..2_000).map(|device| (id(device), tag(device))).collect();
        assert_eq!(names.len(), 2_000);
    }
}
