//! DATA frames that wait at a node: its own blocks and gaps and those of others on their way to the leader (at the
//! leader, to its log), answers on their way to the asker, and copies for a reader. Best effort: a full queue refuses
//! frames and tells their senders.

use heapless::Vec;

use super::wire::{BODY_MAX, Key};
use crate::Full;
use crate::limits::{DATA_QUEUE_MAX, TAKEN_MAX};
use crate::short_list::retain;
use crate::time::Instant;

/// A node's own frames take at most this many slots, and leave this many for those of others.
const OWN_MAX: usize = 4;
const LEFT_FOR_OTHERS: usize = 2;

/// A copy for a reader is accepted only if fewer frames than this wait.
const COPIES_UP_TO: usize = DATA_QUEUE_MAX / 2;

/// A waiting frame.
#[derive(Clone, Debug)]
pub struct Queued {
    /// What it says, with the age it had when it came.
    pub body: Vec<u8, BODY_MAX, u8>,
    pub key: Key,
    pub is_own: bool,
    /// Since when it waits.
    pub since: Instant,
    /// When it is to be sent.
    pub due: Instant,
    /// How often it was sent without an answer.
    pub misses: u8,
    /// How often it was not taken.
    pub refusals: u8,
    /// Whether the driver is putting it into the log.
    pub is_logging: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Queue {
    waiting: Vec<Queued, DATA_QUEUE_MAX, u8>,
    /// The last frames of others that were taken, each as a hash of block and try.
    taken: Vec<u32, TAKEN_MAX, u8>,
    high_water: u8,
}

impl Queue {
    pub const fn new() -> Self {
        Self { waiting: Vec::new(), taken: Vec::new(), high_water: 0 }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.iter()
    }

    pub fn find(&mut self, key: Key) -> Option<&mut Queued> {
        self.waiting.iter_mut().find(|queued| queued.key == key)
    }

    pub fn remove(&mut self, key: Key) -> Option<Queued> {
        let at = self.waiting.iter().position(|queued| queued.key == key)?;
        Some(self.waiting.remove(at))
    }

    /// Whether a block waits here, or was taken in the same try of its origin.
    pub fn has(&self, key: Key, turn: u8) -> bool {
        self.waiting.iter().any(|queued| queued.key == key) || self.taken.contains(&hash(key, turn))
    }

    /// Drops the blocks of others, which their origins send again.
    pub fn drop_others(&mut self) {
        retain(&mut self.waiting, |queued| queued.is_own || queued.is_logging || !queued.key.is_upward());
    }

    /// The most frames that ever waited.
    pub fn high_water(&self) -> u8 {
        self.high_water
    }

    /// Whether there is room for another frame of this node's own.
    pub fn takes_own(&self) -> bool {
        let own = self.waiting.iter().filter(|queued| queued.is_own).count();
        own < OWN_MAX && self.waiting.len() + LEFT_FOR_OTHERS < DATA_QUEUE_MAX
    }

    pub fn add(&mut self, now: Instant, key: Key, turn: u8, is_own: bool, body: &[u8]) -> Result<(), Full> {
        if is_own && !self.takes_own() {
            return Err(Full);
        }
        if key.is_copy() && self.waiting.len() >= COPIES_UP_TO {
            return Err(Full);
        }
        let body = Vec::from_slice(body).map_err(|_| Full)?;
        let queued = Queued { body, key, is_own, since: now, due: now, misses: 0, refusals: 0, is_logging: false };
        self.waiting.push(queued).map_err(|_| Full)?;
        self.high_water = self.high_water.max(u8::try_from(self.waiting.len()).unwrap_or(u8::MAX));
        if !is_own {
            if self.taken.is_full() {
                self.taken.remove(0);
            }
            // There is room now.
            let _ = self.taken.push(hash(key, turn));
        }
        Ok(())
    }
}

/// Hashes the name of a block and its try to 32 bits.
fn hash(Key { origin, store, number }: Key, turn: u8) -> u32 {
    let mixed = (u32::from(origin.0) << 16 | u32::from(store)).wrapping_mul(0x85EB_CA6B);
    let mixed = (mixed ^ mixed >> 13 ^ (number << 4 | u32::from(turn))).wrapping_mul(0xC2B2_AE35);
    mixed ^ mixed >> 16
}
