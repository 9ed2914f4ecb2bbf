//! Loads and stores of every width and alignment, copies, sorting, and atomic operations.

use core::hint::black_box;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering};

use crate::{Digest, Operands};

const BYTES: usize = 96;

pub(crate) fn digest(seed: u32) -> u32 {
    let mut digest = Digest::new();
    let mut operands = Operands::new(seed ^ 0x0003_E302);
    for round in 0..60 {
        let mut bytes = [0_u8; BYTES];
        for chunk in bytes.chunks_exact_mut(4) {
            chunk.copy_from_slice(&operands.next().to_le_bytes());
        }
        widths(&mut digest, &bytes, round % 7);
        copies(&mut digest, &mut bytes, round);
        sorting(&mut digest, &bytes);
        atomics(&mut digest, &mut operands);
    }
    digest.0
}

/// Reads everything at every alignment.
fn widths(digest: &mut Digest, bytes: &[u8; BYTES], from: usize) {
    for window in black_box(&bytes[from..]).windows(8) {
        let Some(&bytes) = window.first_chunk::<8>() else { continue };
        digest.add(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        digest.add(i32::from(i16::from_le_bytes([bytes[1], bytes[2]])).cast_unsigned());
        digest.add(u32::from(u16::from_be_bytes([bytes[3], bytes[4]])));
        digest.add(i32::from(bytes[5].cast_signed()).cast_unsigned());
        digest.add_long(u64::from_le_bytes(bytes));
    }
}

fn copies(digest: &mut Digest, bytes: &mut [u8; BYTES], round: usize) {
    let (from, to) = (round % 13, round % 29);
    bytes.copy_within(black_box(from)..from + 50, black_box(to));
    let mut copy = [0x5A; BYTES];
    copy[from..black_box(BYTES - to)].copy_from_slice(&bytes[from..BYTES - to]);
    copy[black_box(40)..40 + from].fill(0xC3);
    for word in copy.chunks_exact(4) {
        digest.add(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    }
    digest.add(u32::from(copy[..] < bytes[..]));
}

fn sorting(digest: &mut Digest, bytes: &[u8; BYTES]) {
    let mut halves = [0_u16; BYTES / 2];
    for (half, pair) in halves.iter_mut().zip(bytes.chunks_exact(2)) {
        *half = u16::from_be_bytes([pair[0], pair[1]]);
    }
    halves.sort_unstable();
    for pair in halves.chunks_exact(2) {
        digest.add(u32::from(pair[0]) << 16 | u32::from(pair[1]));
    }
    for &half in black_box(&halves.map(u16::cast_signed)) {
        digest.add(i32::from(half).cast_unsigned());
    }
    for &byte in black_box(&bytes.map(u8::cast_signed)) {
        digest.add(i32::from(byte).cast_unsigned());
    }
    digest.add(u32::try_from(halves.partition_point(|&half| half < 0x1234)).unwrap_or(0));
}

/// Every read-modify-write is a loop of an exclusive load and an exclusive store.
fn atomics(digest: &mut Digest, operands: &mut Operands) {
    let [low, high, ..] = operands.next().to_le_bytes();
    let (word, half, byte) =
        (AtomicU32::new(operands.next()), AtomicU16::new(u16::from(high) << 3), AtomicU8::new(low));
    let (word, half, byte) = (black_box(&word), black_box(&half), black_box(&byte));
    digest.add(word.fetch_add(operands.next(), Ordering::SeqCst));
    digest.add(word.fetch_xor(operands.next(), Ordering::AcqRel));
    digest.add(word.swap(operands.next(), Ordering::Relaxed));
    digest.add(word.fetch_max(operands.next(), Ordering::SeqCst));
    let seen = word.load(Ordering::Acquire);
    let expected = if low & 1 == 0 { seen } else { !seen };
    let exchanged = word.compare_exchange(expected, 42, Ordering::SeqCst, Ordering::SeqCst);
    digest.add(exchanged.map_or_else(|found| found ^ 1, |found| found ^ 2));
    digest.add(u32::from(half.fetch_sub(u16::from(low), Ordering::SeqCst)));
    digest.add(u32::from(byte.fetch_or(high, Ordering::SeqCst)));
    digest.add(word.load(Ordering::SeqCst) ^ u32::from(half.load(Ordering::SeqCst)));
    digest.add(u32::from(byte.load(Ordering::SeqCst)));
}
