//! Frames that many nodes hear and one opens.
//!
//! A hello that thirty nodes hear would be deciphered thirty times, with the same key and the same outcome, and that is most of
//! what a simulated node does. The same bytes and keys as last time give the same outcome without that; a difference of a
//! single bit is deciphered.

use common::link::frame::{Header, Refusal};
use common::link::sealed::Sealed;
use common::link::security::Keys;
use common::mac::phy::FRAME_MAX;

#[derive(Debug)]
pub struct LastOpened {
    /// The frame as it came, and the keys it was opened with.
    frame: Vec<u8>,
    keys: Option<Keys>,
    /// The frame with its body deciphered, where it could be.
    opened: Vec<u8>,
    outcome: Result<(), Refusal>,
}

impl LastOpened {
    pub const fn new() -> Self {
        Self { frame: Vec::new(), keys: None, opened: Vec::new(), outcome: Err(Refusal::Malformed) }
    }
}

/// A frame that others hear as well.
pub struct Shared<'f> {
    pub frame: &'f [u8],
    pub last: &'f mut LastOpened,
}

impl Sealed for Shared<'_> {
    fn bytes(&self) -> &[u8] {
        self.frame
    }

    fn open(&mut self, keys: &Keys, header: &Header) -> Result<&[u8], Refusal> {
        let Self { frame, last } = self;
        if last.frame != *frame || last.keys.as_ref() != Some(keys) {
            if frame.len() > FRAME_MAX {
                return Err(Refusal::Malformed);
            }
            for copy in [&mut last.frame, &mut last.opened] {
                copy.clear();
                copy.extend_from_slice(frame);
            }
            last.outcome = header.open(keys, &mut last.opened).map(|_| ());
            last.keys = Some(keys.clone());
        }
        last.outcome?;
        last.opened.get(Header::body(frame.len())).ok_or(Refusal::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use common::config::{NetworkKey, Protection};
    use common::link::frame::{HEADER_BYTES, Header, Kind, Refusal};
    use common::link::sealed::Sealed;
    use common::link::security::Keys;
    use common::types::NodeId;

    use super::{LastOpened, Shared};

    fn keys(byte: u8) -> Keys {
        Keys::new(&Protection::Ascon(NetworkKey::new([byte; 16])))
    }

    #[test]
    fn what_was_opened_before_comes_out_again_and_nothing_else_does() {
        let (ours, others) = (keys(1), keys(2));
        let header = |counter| Header {
            pan: 7,
            to: NodeId(2),
            from: NodeId(1),
            key_id: 0,
            kind: Kind::Rel,
            epoch: 3,
            counter,
            device: 1,
        };
        let sealed = |counter: u32, body: &[u8; 3]| {
            let mut buf = [0; 40];
            buf[HEADER_BYTES..HEADER_BYTES + 3].copy_from_slice(body);
            let length = header(counter).seal(&ours, &mut buf, 3).unwrap();
            buf[..length].to_vec()
        };
        let mut last = LastOpened::new();
        let mut open = |keys: &Keys, frame: &[u8]| {
            let header = Header::read(frame).unwrap();
            let outcome = Shared { frame, last: &mut last }.open(keys, &header).map(<[u8]>::to_vec);
            let on_a_board = frame.to_vec().open(keys, &header).map(<[u8]>::to_vec);
            assert_eq!(on_a_board, outcome, "as a board opens it");
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
