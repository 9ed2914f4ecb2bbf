//! A small mutating generator: good inputs, changed here and there, as a fuzzer would change them. The same seed makes the same
//! change.

use common::rng::Rng;

/// Changes per input, at most.
const CHANGES_MAX: u32 = 6;

/// One of the inputs, changed a few times.
pub fn mutated(inputs: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let pick = |rng: &mut Rng| inputs[index(rng, inputs.len())].clone();
    let mut bytes = pick(rng);
    for _ in 0..rng.below(CHANGES_MAX + 1) {
        let (from, to) = (index(rng, bytes.len() + 1), index(rng, bytes.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match rng.below(7) {
            0 if from < bytes.len() => bytes[from] ^= 1 << rng.below(8),
            1 if from < bytes.len() => bytes[from] = rng.next_u64().to_le_bytes()[0],
            // The ends of what a byte can be, and of what a varint's byte can be.
            2 if from < bytes.len() => bytes[from] = [0, 0x7F, 0x80, 0xFF][index(rng, 4)],
            3 => bytes.insert(from, rng.next_u64().to_le_bytes()[0]),
            4 => drop(bytes.drain(from..to.min(from + 8))),
            5 => {
                let again = bytes[from..to.min(from + 40)].to_vec();
                bytes.splice(to..to, again);
            }
            _ => {
                let other = pick(rng);
                let at = index(rng, other.len() + 1);
                bytes.truncate(from);
                bytes.extend(&other[at..]);
            }
        }
    }
    bytes
}

fn index(rng: &mut Rng, below: usize) -> usize {
    rng.below(u32::try_from(below).unwrap_or(u32::MAX)) as usize
}
