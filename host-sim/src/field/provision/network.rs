//! Derives a network's PAN from its name.

use sim::fnv;

/// The PAN of a network with this name: the 64-bit FNV-1a hash of its UTF-8 bytes, modulo 65535. It is never 0xFFFF, which
/// would mean every network.
///
/// Two names may have the same PAN. That is harmless: their keys differ, so that the boards of one network count the
/// frames of the other as forged.
pub fn pan(name: &str) -> u16 {
    u16::try_from(fnv::extend(fnv::EMPTY, name.bytes()) % 0xFFFF).unwrap_or(0)
}

/// A network's number, as recordings write it.
pub fn shown(pan: u16) -> String {
    format!("{pan:#06x}")
}

#[cfg(test)]
mod tests {
    use super::pan;

    #[test]
    fn names_keep_their_numbers() {
        // From the authors' table: FNV-1a of "" and "a" are cbf29ce484222325 and af63dc4c8601ec8c.
        assert_eq!(u64::from(pan("")), 0xCBF2_9CE4_8422_2325 % 0xFFFF);
        assert_eq!(u64::from(pan("a")), 0xAF63_DC4C_8601_EC8C % 0xFFFF);
        assert!((0..100_000).all(|number| pan(&number.to_string()) != 0xFFFF));
    }
}
