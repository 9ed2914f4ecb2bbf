//! Where a frame is opened, and what was opened there last.
//!
//! A board has one node and opens every frame in a new [`Opening`]. A simulator has many: a hello that thirty of them hear
//! would be deciphered thirty times, with the same key and the same outcome, and that is most of what a simulated node
//! does. It keeps one `Opening` and lends it to all of them. Whoever brings the very same bytes and keys gets the very same
//! outcome; what differs in a single bit is deciphered.

use heapless::Vec;

use super::frame::{Head, Refusal};
use super::security::Keys;
use crate::mac::phy::FRAME_MAX;

/// A place to open frames in.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The frame as it came, and the keys it was opened with.
    frame: Vec<u8, FRAME_MAX, u8>,
    keys: Option<Keys>,
    /// What came of it: the body, where there is one.
    body: [u8; FRAME_MAX],
    outcome: Result<usize, Refusal>,
}

impl Default for Opening {
    fn default() -> Self {
        Self::new()
    }
}

impl Opening {
    /// Nothing was opened here yet.
    pub const fn new() -> Self {
        Self { frame: Vec::new(), keys: None, body: [0; FRAME_MAX], outcome: Err(Refusal::Malformed) }
    }

    /// The body of a frame, of which the head is read already and `rest` is what follows it.
    pub(super) fn open(&mut self, keys: &Keys, frame: &[u8], head: &Head, rest: &[u8]) -> Result<&[u8], Refusal> {
        if self.frame != frame || self.keys.as_ref() != Some(keys) {
            self.outcome = self.decipher(keys, head, rest);
            self.keys = Some(keys.clone());
            self.frame.clear();
            // Longer ones are no frames. They are refused each time, since nothing equals what is not kept.
            if self.frame.extend_from_slice(frame).is_err() {
                self.keys = None;
            }
        }
        let length = self.outcome?;
        self.body.get(..length).ok_or(Refusal::Malformed)
    }

    fn decipher(&mut self, keys: &Keys, head: &Head, rest: &[u8]) -> Result<usize, Refusal> {
        let body = self.body.get_mut(..rest.len()).ok_or(Refusal::Malformed)?;
        body.copy_from_slice(rest);
        head.open(keys, body)
    }
}

#[cfg(test)]
mod tests {
    use super::Opening;
    use crate::config::{NetworkKey, Protection};
    use crate::link::frame::{Head, Kind, Refusal};
    use crate::link::security::Keys;
    use crate::types::NodeId;

    fn keys(byte: u8) -> Keys {
        Keys::new(&Protection::Ascon(NetworkKey::new([byte; 16])))
    }

    #[test]
    fn what_was_opened_before_comes_out_again_and_nothing_else_does() {
        let (ours, others) = (keys(1), keys(2));
        let head =
            |counter| Head { pan: 7, to: NodeId(2), from: NodeId(1), key_id: 0, kind: Kind::Rel, epoch: 3, counter };
        let sealed = |counter: u32, body: &[u8; 3]| {
            let mut buf = [0; 40];
            buf[14..17].copy_from_slice(body);
            let length = head(counter).seal(&ours, &mut buf, 3).unwrap();
            buf[..length].to_vec()
        };
        let mut kept = Opening::new();
        let mut open = |keys: &Keys, frame: &[u8]| {
            let (head, rest) = Head::read(frame).unwrap();
            let outcome = kept.open(keys, frame, &head, rest).map(<[u8]>::to_vec);
            assert_eq!(Opening::new().open(keys, frame, &head, rest).map(<[u8]>::to_vec), outcome, "as a new one");
            outcome
        };
        let (one, two) = (sealed(5, b"one"), sealed(6, b"two"));
        let mut forged = one.clone();
        *forged.last_mut().unwrap() ^= 1;
        for _ in 0..2 {
            for _ in 0..2 {
                assert_eq!(open(&ours, &one), Ok(b"one".to_vec()));
            }
            assert_eq!(open(&others, &one), Err(Refusal::Forged), "the same bytes with another key");
            assert_eq!(open(&ours, &two), Ok(b"two".to_vec()));
            for _ in 0..2 {
                assert_eq!(open(&ours, &forged), Err(Refusal::Forged));
            }
        }
    }
}
