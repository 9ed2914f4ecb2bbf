//! What boards measure: every quantity with its name, unit and scale, described once for board, simulator and PC.
//!
//! A value is a whole number: the quantity in its unit, times ten to the power of [`decimals`](Description::decimals).

use postcard::experimental::max_size::MaxSize;
use serde::{Deserialize, Serialize};

/// Quantities that samples may hold: the bits of the byte in which a sample says what it holds.
pub const SERIES_MAX: usize = 8;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, MaxSize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Quantity {
    /// Temperature of the die.
    DieTemperature,
    Supply,
    /// Share of the time in which the processor ran.
    CpuLoad,
    /// Share of the time in which the radio sent.
    Airtime,
    /// The least stack that was ever left.
    StackLeft,
    /// How unfit the node is to lead, as it tells the election (FRLLE's coefficient).
    Unfitness,
    /// Another sensor of the board, by its number.
    Sensor(u8),
    AirTemperature,
    /// Relative humidity of the air.
    Humidity,
    /// Acknowledgements since the start that were decided on too late to be sent.
    LateAnswers,
}

/// How a quantity is told to people and to other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name in files.
    pub name: &'static str,
    /// Empty for plain numbers.
    pub unit: &'static str,
    /// How many of a value's digits stand behind the decimal point.
    pub decimals: u8,
}

impl Quantity {
    /// The quantities that samples hold and leaders gather, in the order of their bits. What else a board measures is about
    /// itself and stays on its cable.
    pub const SERIES: [Self; SERIES_MAX] = [
        Self::DieTemperature,
        Self::Supply,
        Self::AirTemperature,
        Self::Humidity,
        Self::Sensor(0),
        Self::Sensor(1),
        Self::Sensor(2),
        Self::Sensor(3),
    ];

    /// Its bit in a sample; none if samples do not hold it.
    pub fn series(self) -> Option<usize> {
        Self::SERIES.iter().position(|&other| other == self)
    }

    pub const fn describe(self) -> Description {
        let (name, unit, decimals) = match self {
            Self::DieTemperature => ("die-temperature", "°C", 2),
            Self::Supply => ("supply", "V", 3),
            Self::CpuLoad => ("cpu-load", "%", 4),
            Self::Airtime => ("airtime", "%", 4),
            Self::StackLeft => ("stack-left", "B", 0),
            Self::Unfitness => ("unfitness", "", 0),
            Self::Sensor(0) => ("sensor-0", "", 0),
            Self::Sensor(1) => ("sensor-1", "", 0),
            Self::Sensor(2) => ("sensor-2", "", 0),
            Self::Sensor(3) => ("sensor-3", "", 0),
            Self::Sensor(_) => ("sensor", "", 0),
            Self::AirTemperature => ("air-temperature", "°C", 2),
            Self::Humidity => ("humidity", "%", 2),
            Self::LateAnswers => ("late-answers", "", 0),
        };
        Description { name, unit, decimals }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Quantity;

    #[test]
    fn every_series_has_a_bit_and_a_name_of_its_own() {
        let names: BTreeSet<_> = Quantity::SERIES.iter().map(|quantity| quantity.describe().name).collect();
        assert_eq!(names.len(), Quantity::SERIES.len());
        for (bit, quantity) in Quantity::SERIES.into_iter().enumerate() {
            assert_eq!(quantity.series(), Some(bit));
        }
        assert_eq!(Quantity::CpuLoad.series(), None);
    }
}
