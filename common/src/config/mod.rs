//! A node's configuration: one struct, checked as a whole.
//!
//! A board reads it from its configuration page ([`page`]), and the simulator makes it from a scenario. Both call
//! [`Config::check`]; a [`crate::node::Node`] is only made from a configuration that passes.

mod key;
pub mod page;
mod radii;

use core::fmt;

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

pub use self::key::{HAS_AES_CCM, KEY_BYTES, NetworkKey};
pub use self::radii::{Radii, RadiiError};
use crate::bits::fold;
use crate::limits::{LEVELS_MAX, MEMBERS_MAX, RADIUS_MAX};
use crate::members::RingOrder;
use crate::names::{Algorithm, Cipher};
use crate::time::Duration;
use crate::types::NodeId;

/// The short address that every node listens to.
pub const BROADCAST: NodeId = NodeId(0xFFFF);

/// The ids a node may have. 0 means nobody; the standard reserves 0xFFFE and 0xFFFF.
pub const IDS: core::ops::RangeInclusive<u16> = 1..=0xFFFD;

/// The channels of the 2.4 GHz band.
pub const CHANNELS: core::ops::RangeInclusive<u8> = 11..=26;

/// The transmit powers of the nRF52840 in dBm; the nRF52833 has the same.
pub const POWERS_DBM: [i8; 14] = [-40, -20, -16, -12, -8, -4, 0, 2, 3, 4, 5, 6, 7, 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum IdSource {
    /// A person chose it. If two boards have the same one, only a person can correct that.
    Provisioned,
    /// Derived from the chip's serial number. If two boards have the same one, both take another.
    Chip,
}

/// Whether and how frames are protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Protection {
    /// Every frame is encrypted and authenticated with Ascon-AEAD128.
    Ascon(NetworkKey),
    /// The same with AES-128-CCM, for networks that must use AES.
    AesCcm(NetworkKey),
    /// Nothing is protected: anybody in range can read and forge. A node says so when it starts.
    Open,
}

impl Protection {
    /// Protection by this cipher. A network without protection has no use for the key.
    pub fn new(cipher: Cipher, key: NetworkKey) -> Self {
        match cipher {
            Cipher::Ascon => Self::Ascon(key),
            Cipher::AesCcm => Self::AesCcm(key),
            Cipher::Open => Self::Open,
        }
    }

    /// A number that stands for the network of this PAN under this key.
    fn network(&self, pan: u16) -> u32 {
        let key = match self {
            Self::Ascon(key) | Self::AesCcm(key) => key.bytes(),
            Self::Open => &[0; KEY_BYTES],
        };
        fold(key.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).chain([u32::from(pan)]))
    }

    pub const fn cipher(&self) -> Cipher {
        match self {
            Self::Ascon(_) => Cipher::Ascon,
            Self::AesCcm(_) => Cipher::AesCcm,
            Self::Open => Cipher::Open,
        }
    }
}

/// A key that is on its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FormerKey {
    /// Which of four keys it is.
    pub key_id: u8,
    pub protection: Protection,
}

/// How long things take and how long to wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Timings {
    /// The shortest time between hellos, in milliseconds.
    pub hello_min_ms: u16,
    /// How many times that doubles while nothing changes.
    pub hello_doublings: u8,
    /// A neighbour that was silent for this many eighths of its announced hello time is asked whether it is there.
    pub suspect_eighths: u8,
    /// How long a link stays down after it broke, in milliseconds; doubled with each break.
    pub hold_down_ms: u16,
    /// How many times an unacknowledged frame is sent before its link is given up.
    pub attempts: u8,
    /// The time between two heartbeats of the leader of a ring, in milliseconds.
    pub heartbeat_ms: u16,
    /// The leader counts as lost after this many missing heartbeats in a row.
    pub heartbeats_missed: u8,
    /// How long an election may take before it is started again, in milliseconds.
    pub patience_ms: u16,
    /// Within this time a live node answers a bully, in milliseconds.
    pub answer_ms: u16,
}

impl Timings {
    /// For radios that always listen: a lost leader is replaced within five seconds.
    pub const ALWAYS_ON: Self = Self {
        hello_min_ms: 128,
        hello_doublings: 3,
        suspect_eighths: 14,
        hold_down_ms: 2_000,
        attempts: 10,
        heartbeat_ms: 1_000,
        heartbeats_missed: 3,
        patience_ms: 4_000,
        answer_ms: 1_000,
    };

    /// The shortest time between two hellos, and the time between those of a leader.
    pub const fn hello_min(&self) -> Duration {
        Duration::from_millis(self.hello_min_ms as u64)
    }

    /// The longest time between two hellos.
    pub const fn hello_max(&self) -> Duration {
        Duration::from_millis((self.hello_min_ms as u64) << self.hello_doublings)
    }

    /// After this long without a heartbeat the leader of a ring counts as lost.
    pub const fn leader_silence(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms as u64 * self.heartbeats_missed as u64 + self.heartbeat_ms as u64 / 2)
    }
}

impl Default for Timings {
    fn default() -> Self {
        Self::ALWAYS_ON
    }
}

/// What only the driver knows at a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Boot {
    /// The number of this boot, already stored; none if storing it failed.
    pub epoch: Option<u16>,
    /// Randomness, different at every boot.
    pub seed: u64,
    /// Part of the board's serial number, or the like: it tells apart two boards with the same id.
    pub device: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, MaxSize)]
pub struct Config {
    /// The node's id, which is also its short address.
    pub id: NodeId,
    pub id_source: IdSource,
    /// The network's number; frames of other networks are ignored.
    pub pan: u16,
    /// The channel, 11 to 26.
    pub channel: u8,
    pub power_dbm: i8,
    pub protection: Protection,
    /// Which of four keys `protection` holds, so that a running network can move to another.
    pub key_id: u8,
    /// The key before this one. Frames under it are still accepted, so that boards can be moved to another key one at a
    /// time.
    pub former: Option<FormerKey>,
    /// How the leader is elected.
    pub algorithm: Algorithm,
    /// The ring's members in order; required by ring algorithms, ignored by the others.
    pub ring: Option<RingOrder>,
    /// The hierarchy's radii, level 1 first; 0 means no such level.
    pub radii: [u8; LEVELS_MAX],
    pub timings: Timings,
}

/// A field and what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub field: &'static str,
    pub must: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.must)
    }
}

impl core::error::Error for ConfigError {}

impl Config {
    /// A node of an ad hoc network that elects by heights, with defaults for everything else.
    pub fn ad_hoc(id: NodeId, pan: u16, protection: Protection) -> Self {
        Self {
            id,
            id_source: IdSource::Provisioned,
            pan,
            channel: 15,
            power_dbm: 0,
            protection,
            key_id: 0,
            former: None,
            algorithm: Algorithm::Height,
            ring: None,
            radii: [0; LEVELS_MAX],
            timings: Timings::ALWAYS_ON,
        }
    }

    /// A number that stands for the network: what a board keeps of one is not for another.
    pub fn network(&self) -> u32 {
        self.protection.network(self.pan)
    }

    /// Whether such a number stands for this network, under its key or the one before.
    pub fn is_network(&self, number: u32) -> bool {
        let former = self.former.as_ref().map(|former| former.protection.network(self.pan));
        number == self.network() || former == Some(number)
    }

    /// A member of a configured ring, with defaults for everything else.
    pub fn on_ring(id: NodeId, pan: u16, protection: Protection, algorithm: Algorithm, ring: RingOrder) -> Self {
        Self { algorithm, ring: Some(ring), ..Self::ad_hoc(id, pan, protection) }
    }

    /// Checks every field, and names the first that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |field, must| Err(ConfigError { field, must });
        if !IDS.contains(&self.id.0) {
            return wrong("id", "from 1 to 65533");
        }
        if self.pan == 0xFFFF {
            return wrong("pan", "below 0xFFFF, which means every network");
        }
        if !CHANNELS.contains(&self.channel) {
            return wrong("channel", "from 11 to 26");
        }
        if !POWERS_DBM.contains(&self.power_dbm) {
            return wrong("power_dbm", "one of -40, -20, -16, -12, -8, -4, 0, 2, 3, 4, 5, 6, 7, 8");
        }
        let former = self.former.as_ref().map(|former| &former.protection);
        let asks_for_aes =
            [Some(&self.protection), former].iter().any(|one| matches!(one, Some(Protection::AesCcm(_))));
        if asks_for_aes && !HAS_AES_CCM {
            return wrong("protection", "Ascon or none: AES-CCM was not built in (feature `aes-ccm`)");
        }
        if self.key_id > 3 {
            return wrong("key_id", "from 0 to 3");
        }
        if let Some(former) = &self.former
            && (former.key_id > 3 || former.key_id == self.key_id)
        {
            return wrong("former.key_id", "from 0 to 3 and another than key_id");
        }
        if !self.algorithm.is_built_in() {
            let must = "another: this one is for comparison on a PC and was not built in (feature `comparison`)";
            return wrong("algorithm", must);
        }
        if self.algorithm.needs_ring() {
            match &self.ring {
                None => return wrong("ring", "given, since the algorithm runs on a ring"),
                Some(ring) if ring.position(self.id).is_none() => {
                    return wrong("ring", "a list with this node's id on it");
                }
                Some(ring) if ring.ids().iter().any(|member| !IDS.contains(&member.0)) => {
                    return wrong("ring", "made of ids from 1 to 65533");
                }
                Some(ring) if ring.ids().len() > MEMBERS_MAX => return wrong("ring", "at most 64 members long"),
                Some(_) => {}
            }
        }
        self.check_radii()?;
        self.timings.check()
    }

    fn check_radii(&self) -> Result<(), ConfigError> {
        let levels = self.radii.iter().take_while(|&&radius| radius > 0).count();
        let is_sound = self.radii.iter().all(|&radius| radius <= RADIUS_MAX)
            && self.radii.iter().skip(levels).all(|&radius| radius == 0);
        if is_sound { Ok(()) } else { Err(ConfigError { field: "radii", must: "from 1 to 15 each, without a gap" }) }
    }

    pub fn levels(&self) -> Radii {
        let levels = self.radii.iter().take_while(|&&radius| radius > 0).count();
        self.radii.get(..levels).and_then(|radii| Radii::new(radii).ok()).unwrap_or_default()
    }
}

impl Timings {
    fn check(&self) -> Result<(), ConfigError> {
        let rules = [
            ((16..=4_096).contains(&self.hello_min_ms), "timings.hello_min_ms", "from 16 to 4096"),
            (self.hello_doublings <= 8, "timings.hello_doublings", "at most 8"),
            ((10..=64).contains(&self.suspect_eighths), "timings.suspect_eighths", "from 10 to 64"),
            ((100..=30_000).contains(&self.hold_down_ms), "timings.hold_down_ms", "from 100 to 30000"),
            ((2..=15).contains(&self.attempts), "timings.attempts", "from 2 to 15"),
            ((100..=30_000).contains(&self.heartbeat_ms), "timings.heartbeat_ms", "from 100 to 30000"),
            ((2..=20).contains(&self.heartbeats_missed), "timings.heartbeats_missed", "from 2 to 20"),
            (self.patience_ms >= 100, "timings.patience_ms", "at least 100"),
            (self.answer_ms >= 20, "timings.answer_ms", "at least 20"),
        ];
        match rules.into_iter().find(|&(is_sound, ..)| !is_sound) {
            Some((_, field, must)) => Err(ConfigError { field, must }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Protection};
    use crate::members::RingOrder;
    use crate::names::Algorithm;
    use crate::types::NodeId;

    fn named(change: impl FnOnce(&mut Config)) -> Option<&'static str> {
        let mut config = Config::ad_hoc(NodeId(1), 7, Protection::Open);
        change(&mut config);
        config.check().err().map(|error| error.field)
    }

    #[test]
    fn every_wrong_field_is_named() {
        assert_eq!(named(|_| ()), None);
        assert_eq!(named(|config| config.id = NodeId(0)), Some("id"));
        assert_eq!(named(|config| config.pan = 0xFFFF), Some("pan"));
        assert_eq!(named(|config| config.channel = 10), Some("channel"));
        assert_eq!(named(|config| config.power_dbm = 1), Some("power_dbm"));
        assert_eq!(named(|config| config.key_id = 4), Some("key_id"));
        assert_eq!(named(|config| config.radii = [2, 0, 3]), Some("radii"));
        assert_eq!(named(|config| config.radii = [16, 0, 0]), Some("radii"));
        assert_eq!(named(|config| config.timings.attempts = 0), Some("timings.attempts"));
        assert_eq!(named(|config| config.timings.hello_doublings = 9), Some("timings.hello_doublings"));
    }

    #[test]
    fn a_ring_algorithm_needs_a_ring_with_the_node_on_it() {
        assert_eq!(named(|config| config.algorithm = Algorithm::Hs), Some("ring"));
        let ring = |ids: [u16; 2]| RingOrder::new(&ids.map(NodeId)).ok();
        let on = |config: &mut Config, ids| (config.algorithm, config.ring) = (Algorithm::Hs, ring(ids));
        assert_eq!(named(|config| on(config, [2, 3])), Some("ring"));
        assert_eq!(named(|config| on(config, [1, 0xFFFF])), Some("ring"));
        assert_eq!(named(|config| on(config, [1, 2])), None);
    }
}
