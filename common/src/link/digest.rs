//! Whether neighbours have heard what a node has told them.
//!
//! Links deliver everything in order, so they have, unless memory is corrupted at either end: then a node may go by
//! something that nobody says any more, and nobody would ever correct it. So every hello sums up in two bits what the
//! sender's election has told. Two bits agree by chance one time in four. They are therefore mixed with the hello's
//! number, which changes them in every hello, and a difference shows within a few.

/// The largest digest.
pub const DIGEST_MAX: u8 = 3;

/// Two bits of what was told, for a hello of this number.
pub fn digest(told: u32, number: u8) -> u8 {
    let mixed = (told ^ u32::from(number).wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B);
    u8::try_from((mixed ^ mixed >> 15).wrapping_mul(0xC2B2_AE35) >> 30).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::digest;
    use crate::bits::fold;

    #[test]
    fn what_differs_shows_in_three_of_four_hellos() {
        for (one, other) in [(fold([1, 2, 3]), fold([1, 2, 4])), (0, 1), (0, 1 << 31), (fold([0]), 0)] {
            let shows = (0..=u8::MAX).filter(|&number| digest(one, number) != digest(other, number)).count();
            assert!((160..=224).contains(&shows), "{one} {other}: {shows} of 256");
            let longest = (0..=u8::MAX).collect::<std::vec::Vec<_>>();
            let longest = longest.chunk_by(|&a, &b| [a, b].iter().all(|&n| digest(one, n) == digest(other, n)));
            assert!(longest.map(<[u8]>::len).max().unwrap_or(0) <= 8);
        }
    }
}
