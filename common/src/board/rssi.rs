//! The strength of a frame, corrected by the temperature of the chip.
//!
//! What the radio of an nRF52833 or nRF52840 measures drifts by a decibel for every 20 degrees (errata 225 and 153). The steps
//! are those of Nordic's driver for IEEE 802.15.4, `nrf_802154_rssi.c` of nrfxlib.

/// Above each of these temperatures, in degrees Celsius, a frame is a decibel stronger than below it.
const STEPS: [i32; 7] = [-30, -10, 10, 30, 50, 70, 85];

/// The steps below room temperature, where what is measured is right.
const BELOW_ROOM: i16 = 3;

/// The temperature before anything was measured, in hundredths of a degree: no correction.
pub const ROOM_HUNDREDTHS: i32 = 2_500;

/// The strength of a frame that was measured at this temperature, in hundredths of a degree.
pub fn corrected_dbm(measured_dbm: i8, hundredths: i32) -> i8 {
    let passed = STEPS.iter().filter(|&&step| hundredths > step * 100).count();
    let correction = i16::try_from(passed).unwrap_or(BELOW_ROOM) - BELOW_ROOM;
    let corrected = i16::from(measured_dbm) + correction;
    i8::try_from(corrected).unwrap_or(if corrected < 0 { i8::MIN } else { i8::MAX })
}

#[cfg(test)]
mod tests {
    use super::{ROOM_HUNDREDTHS, corrected_dbm};

    #[test]
    fn the_colder_the_chip_the_weaker_the_frame_was() {
        let corrections = [
            (-40, -3),
            (-30, -3),
            (-29, -2),
            (-10, -2),
            (-9, -1),
            (10, -1),
            (11, 0),
            (30, 0),
            (31, 1),
            (50, 1),
            (51, 2),
            (70, 2),
            (71, 3),
            (85, 3),
            (86, 4),
            (105, 4),
        ];
        for (degrees, decibels) in corrections {
            assert_eq!(corrected_dbm(-70, degrees * 100), -70 + decibels, "{degrees} degrees");
        }
        assert_eq!(corrected_dbm(-70, ROOM_HUNDREDTHS), -70);
    }

    #[test]
    fn the_ends_of_the_scale_stay() {
        assert_eq!(corrected_dbm(i8::MIN, -4_000), i8::MIN);
        assert_eq!(corrected_dbm(i8::MAX, 9_000), i8::MAX);
    }
}
