//! What Sensirion's `SHT4x` reports, in units for people. The formulas are those of its data sheet.

/// The temperature in hundredths of a degree Celsius. The span is -45 to 130 °C.
pub fn temperature(ticks: u16) -> i32 {
    scaled(ticks, 17_500) - 4_500
}

/// The relative humidity in hundredths of a per cent. The sensor's span reaches beyond what air can hold on both sides.
pub fn humidity(ticks: u16) -> i32 {
    (scaled(ticks, 12_500) - 600).clamp(0, 10_000)
}

/// This many parts of 65535 of a span, rounded.
fn scaled(ticks: u16, span: u32) -> i32 {
    let scaled = (u32::from(ticks) * span + 32_767) / 65_535;
    i32::try_from(scaled).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{humidity, temperature};

    #[test]
    fn the_ends_and_the_middle_are_those_of_the_data_sheet() {
        assert_eq!([0, 0x6666, 0xFFFF].map(temperature), [-4_500, 2_500, 13_000]);
        assert_eq!([0, 3_146, 0x8000, 0xFFFF].map(humidity), [0, 0, 5_650, 10_000]);
    }
}
