//! rzCOBS, the framing of defmt's logs: "reverse zero-compressing COBS". An encoded frame contains no zero byte, and runs
//! of zeros cost an eighth. The encoder writes each marker after the bytes that it describes, so a frame is read backwards.

/// A marker below this has one bit for each of seven bytes: set for a zero, which is left out.
const RUN: u8 = 0x80;
const BITS: u8 = 7;
/// The longest run without a zero, which no zero precedes.
const FULL_RUN: u8 = 0xFF;
const FULL_RUN_BYTES: u8 = 134;

/// Decodes one frame, without the zero that ends it. `None` if it is damaged.
pub fn decode(frame: &[u8]) -> Option<Vec<u8>> {
    let mut encoded = frame.iter().rev().copied();
    let mut reversed = Vec::with_capacity(frame.len());
    while let Some(marker) = encoded.next() {
        match marker {
            0 => return None,
            1..RUN => {
                for bit in (0..BITS).rev() {
                    reversed.push(if marker & (1 << bit) == 0 { encoded.next()? } else { 0 });
                }
            }
            RUN..FULL_RUN => {
                reversed.push(0);
                for _ in 0..(marker - RUN + BITS) {
                    reversed.push(encoded.next()?);
                }
            }
            FULL_RUN => {
                for _ in 0..FULL_RUN_BYTES {
                    reversed.push(encoded.next()?);
                }
            }
        }
    }
    reversed.reverse();
    Some(reversed)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn zeros_are_bits_of_a_marker() {
        assert_eq!(decode(&[0x7F]).as_deref(), Some(&[0; 7][..]));
        assert_eq!(decode(&[9, 5, 0b011_1110]).as_deref(), Some(&[9, 0, 0, 0, 0, 0, 5][..]), "the first byte is bit 0");
    }

    #[test]
    fn runs_without_zeros_have_their_length_in_the_marker() {
        let run: Vec<u8> = (1..=10).collect();
        let frame: Vec<u8> = run.iter().copied().chain([0x80 + 3]).collect();
        let expected: Vec<u8> = run.iter().copied().chain([0]).collect();
        assert_eq!(decode(&frame), Some(expected));
        let full: Vec<u8> = vec![7; 134];
        let frame: Vec<u8> = full.iter().copied().chain([0xFF]).collect();
        assert_eq!(decode(&frame), Some(full));
    }

    #[test]
    fn a_frame_that_lacks_bytes_is_damaged() {
        assert_eq!(decode(&[1, 2, 3, 0x01]), None, "six bytes are announced");
        assert_eq!(decode(&[1, 2, 0x80]), None);
        assert_eq!(decode(&[1, 0, 0xFF]), None);
    }
}
