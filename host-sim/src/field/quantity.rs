//! What boards measure, as recordings, tables and the gateway name it.

use common::host_link::Quantity;

/// A quantity as programs on a PC name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// In lower case with underscores, fit for a topic, a column or a metric.
    pub name: String,
    /// Empty for plain numbers.
    pub unit: &'static str,
    /// How many of a board's whole numbers make one unit.
    pub per_unit: u32,
}

pub fn describe(quantity: Quantity) -> Description {
    let described = quantity.describe();
    let name = match quantity {
        Quantity::Sensor(number) => format!("sensor_{number}"),
        _ => described.name.replace('-', "_"),
    };
    Description { name, unit: described.unit, per_unit: 10_u32.pow(described.decimals.into()) }
}
