//! What boards measure: each quantity's name, unit and scale, described once for recordings, tables and the gateway.

use common::host_link::Quantity;

/// A quantity as the desk knows it.
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
    let (name, unit, per_unit) = match quantity {
        Quantity::DieTemperature => ("die_temperature", "°C", 100),
        Quantity::AirTemperature => ("air_temperature", "°C", 100),
        Quantity::Humidity => ("humidity", "%", 100),
        Quantity::Supply => ("supply", "V", 1_000),
        Quantity::CpuLoad => ("cpu_load", "%", 10_000),
        Quantity::Airtime => ("airtime", "%", 10_000),
        Quantity::StackLeft => ("stack_left", "B", 1),
        Quantity::Unfitness => ("unfitness", "", 1),
        Quantity::LateAnswers => ("late_answers", "", 1),
        Quantity::Sensor(number) => return Description { name: format!("sensor_{number}"), unit: "", per_unit: 1 },
    };
    Description { name: name.to_owned(), unit, per_unit }
}
