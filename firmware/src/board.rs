//! What the board is: its clocks, its identity, its randomness and its configuration.

use common::election::Algorithm;
use common::rng::Rng;
use common::types::NodeId;
use embassy_nrf::config::{Config, HfclkSource, LfclkSource};
use embassy_nrf::{pac, rng};

/// Short addresses from here on have a meaning of their own in IEEE 802.15.4: none assigned, and broadcast.
const RESERVED_ADDRESSES: u32 = 0xFFFE;

/// What an erased configuration word reads as.
const ERASED: u32 = u32::MAX;

/// What a node has to know about the board it runs on.
pub struct Board {
    /// The node's identity.
    pub id: NodeId,
    /// The algorithm it was configured to run.
    pub algorithm: Algorithm,
    /// Fresh at every start.
    pub seed: u64,
}

impl Board {
    /// Starts the clocks and reads everything else.
    pub fn start() -> Self {
        let mut config = Config::default();
        // The radio keeps its frequency only with the crystal, and time-outs are compared between boards.
        config.hfclk_source = HfclkSource::ExternalXtal;
        config.lfclk_source = LfclkSource::ExternalXtal;
        let peripherals = embassy_nrf::init(config);

        let mut seed = [0; 8];
        let mut noise = rng::Rng::new_blocking(peripherals.RNG);
        noise.set_bias_correction(true);
        noise.blocking_fill_bytes(&mut seed);

        Self { id: node_id(device_id()), algorithm: configured_algorithm(), seed: u64::from_le_bytes(seed) }
    }
}

/// The number that the factory gave the chip.
fn device_id() -> u64 {
    let word = |index| u64::from(pac::FICR.deviceid(index).read());
    word(1) << 32 | word(0)
}

/// The 64 bits of the device number mixed down to a short address. Two of 100 boards share one with a probability of
/// 7 %, so an installation checks its ids.
fn node_id(device: u64) -> NodeId {
    NodeId(u16::try_from(Rng::new(device).below(RESERVED_ADDRESSES)).unwrap_or(0))
}

/// The first customer word of the configuration flash holds a place in [`Algorithm::ALL`]; an erased one means the
/// first.
fn configured_algorithm() -> Algorithm {
    let word = pac::UICR.customer(0).read();
    let place = if word == ERASED { 0 } else { word as usize };
    Algorithm::ALL.get(place).copied().unwrap_or_else(|| {
        let first = Algorithm::Hs;
        defmt::error!(
            "UICR.CUSTOMER[0] is {}, but there are {} algorithms: running {}",
            word,
            Algorithm::ALL.len(),
            first
        );
        first
    })
}
