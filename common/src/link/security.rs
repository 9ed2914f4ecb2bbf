//! Authenticated encryption of frames: keys, nonces and the two ciphers.
//!
//! Source: Ascon-AEAD128 (NIST SP 800-232) and AES-128-CCM (NIST SP 800-38C), both from the `RustCrypto` crates, with tags cut
//! to four bytes. A nonce is never used twice under one key: it holds the sender, a piece of its board's serial number, the
//! number of its boot and the number of the frame within it. Acknowledgements have a key of their own, and their nonce names the frame they answer, so
//! neither can be made from the other. Anybody who captures a board can read the network key from its flash.

use core::fmt;

use ascon_aead::TruncatedAsconAead128;
use ascon_aead::aead::array::Array;
use ascon_aead::aead::consts::U4;
use ascon_aead::aead::inout::InOutBuf;
use ascon_aead::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser};

use crate::checksum::CRC_32;
use crate::config::{KEY_BYTES, Protection};
use crate::types::NodeId;

/// Bytes of a tag on the air.
pub const TAG_BYTES: usize = 4;

/// What makes a frame's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    pub source: NodeId,
    /// Whom it is for; in an acknowledgement, who acknowledges.
    pub other: NodeId,
    pub epoch: u16,
    /// The frame's number in that epoch, 24 bits.
    pub counter: u32,
    pub domain: Domain,
    pub status: u8,
    /// A piece of the source's serial number: two boards that were given one id still have nonces of their own.
    pub device: u16,
}

/// What a nonce is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Domain {
    Frame = 0,
    Ack = 1,
    /// Making one key from another.
    Derive = 2,
}

impl Nonce {
    fn bytes(self) -> [u8; 16] {
        let [s0, s1] = self.source.0.to_le_bytes();
        let [o0, o1] = self.other.0.to_le_bytes();
        let [e0, e1] = self.epoch.to_le_bytes();
        let [c0, c1, c2, _] = self.counter.to_le_bytes();
        let [d0, d1] = self.device.to_le_bytes();
        [s0, s1, o0, o1, e0, e1, c0, c1, c2, self.domain as u8, self.status, d0, d1, 0, 0, 0]
    }
}

/// The tag does not match the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forged;

/// Authenticated encryption in place.
pub trait Aead {
    /// Encrypts `body` and gives the tag of it and of `header`.
    fn seal(&self, nonce: Nonce, header: &[u8], body: &mut [u8]) -> [u8; TAG_BYTES];

    /// Decrypts `body` where the tag is right; the comparison takes the same time for every wrong tag.
    fn open(&self, nonce: Nonce, header: &[u8], body: &mut [u8], tag: [u8; TAG_BYTES]) -> Result<(), Forged>;
}

type AsconCipher = TruncatedAsconAead128<U4>;
#[cfg(feature = "aes-ccm")]
type CcmCipher = ccm::Ccm<aes::Aes128, U4, ascon_aead::aead::consts::U13>;

/// One key with the way it is used. The key schedule of AES is made anew for each frame: it costs less time than the
/// frame does, and would take more memory than all the links' states.
#[derive(Clone, PartialEq, Eq)]
enum KeyedCipher {
    Ascon([u8; KEY_BYTES]),
    AesCcm([u8; KEY_BYTES]),
    /// A checksum instead of the tag: it finds damage, not forgery.
    Open,
}

fn sealed<C>(key: &[u8; KEY_BYTES], nonce: &[u8], header: &[u8], body: &mut [u8]) -> Option<[u8; TAG_BYTES]>
where
    C: KeyInit + AeadInOut + AeadCore<TagSize = U4> + KeySizeUser<KeySize = ascon_aead::aead::consts::U16>,
{
    let nonce = <&Array<_, _>>::try_from(nonce).ok()?;
    C::new(key.into()).encrypt_inout_detached(nonce, header, InOutBuf::from(body)).ok().map(|tag| tag.0)
}

fn opened<C>(key: &[u8; KEY_BYTES], nonce: &[u8], header: &[u8], body: &mut [u8], tag: [u8; TAG_BYTES]) -> Option<()>
where
    C: KeyInit + AeadInOut + AeadCore<TagSize = U4> + KeySizeUser<KeySize = ascon_aead::aead::consts::U16>,
{
    let nonce = <&Array<_, _>>::try_from(nonce).ok()?;
    C::new(key.into()).decrypt_inout_detached(nonce, header, InOutBuf::from(body), &Array(tag)).ok()
}

impl Aead for KeyedCipher {
    fn seal(&self, nonce: Nonce, header: &[u8], body: &mut [u8]) -> [u8; TAG_BYTES] {
        let bytes = nonce.bytes();
        let tag = match self {
            Self::Ascon(key) => sealed::<AsconCipher>(key, &bytes, header, body),
            #[cfg(feature = "aes-ccm")]
            Self::AesCcm(key) => sealed::<CcmCipher>(key, short(&bytes), header, body),
            // The configuration check refuses this cipher, so this is never reached; nothing would leave in the clear.
            #[cfg(not(feature = "aes-ccm"))]
            Self::AesCcm(_) => {
                body.fill(0);
                None
            }
            Self::Open => Some(checksum(&bytes, header, body)),
        };
        // Both ciphers refuse only messages far longer than a frame.
        tag.unwrap_or_default()
    }

    fn open(&self, nonce: Nonce, header: &[u8], body: &mut [u8], tag: [u8; TAG_BYTES]) -> Result<(), Forged> {
        let bytes = nonce.bytes();
        let opened = match self {
            Self::Ascon(key) => opened::<AsconCipher>(key, &bytes, header, body, tag),
            #[cfg(feature = "aes-ccm")]
            Self::AesCcm(key) => opened::<CcmCipher>(key, short(&bytes), header, body, tag),
            #[cfg(not(feature = "aes-ccm"))]
            Self::AesCcm(_) => None,
            Self::Open => (checksum(&bytes, header, body) == tag).then_some(()),
        };
        opened.ok_or(Forged)
    }
}

/// CCM's nonce has 13 bytes; the last three of ours are always zero.
#[cfg(feature = "aes-ccm")]
fn short(nonce: &[u8; 16]) -> &[u8] {
    nonce.split_at_checked(13).map_or(&[], |(short, _)| short)
}

fn checksum(nonce: &[u8], header: &[u8], body: &[u8]) -> [u8; TAG_BYTES] {
    let mut digest = CRC_32.digest();
    for part in [nonce, header, body] {
        digest.update(part);
    }
    digest.finalize().to_le_bytes()
}

/// The two keys of a network at work: one for frames, one for acknowledgements.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    frames: KeyedCipher,
    acks: KeyedCipher,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(hidden)")
    }
}

impl Keys {
    /// The keys that a configuration asks for.
    pub fn new(protection: &Protection) -> Self {
        match protection {
            Protection::Ascon(key) => Self {
                frames: KeyedCipher::Ascon(*key.bytes()),
                acks: KeyedCipher::Ascon(derived(&KeyedCipher::Ascon(*key.bytes()))),
            },
            Protection::AesCcm(key) => Self {
                frames: KeyedCipher::AesCcm(*key.bytes()),
                acks: KeyedCipher::AesCcm(derived(&KeyedCipher::AesCcm(*key.bytes()))),
            },
            Protection::Open => Self { frames: KeyedCipher::Open, acks: KeyedCipher::Open },
        }
    }

    pub fn cipher(&self, domain: Domain) -> &impl Aead {
        match domain {
            Domain::Ack => &self.acks,
            Domain::Frame | Domain::Derive => &self.frames,
        }
    }
}

/// Another key, which tells nothing of the first: zeros, encrypted under a nonce that no frame has.
fn derived(cipher: &KeyedCipher) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    let (source, other) = (NodeId(0), NodeId(0));
    let nonce = Nonce { source, other, epoch: 0, counter: 0, domain: Domain::Derive, status: 0, device: 0 };
    // The tag is not needed: nobody sends the key, so nobody can change it.
    let _tag = cipher.seal(nonce, b"ringleader acknowledgements", &mut key);
    key
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::{Aead, Domain, Forged, Keys, Nonce};
    use crate::config::{NetworkKey, Protection};
    use crate::types::NodeId;

    const NONCE: Nonce = Nonce {
        source: NodeId(1),
        other: NodeId(2),
        epoch: 3,
        counter: 4,
        domain: Domain::Frame,
        status: 0,
        device: 5,
    };

    fn all() -> [Keys; 3] {
        let key = NetworkKey::new(*b"0123456789abcdef");
        [Protection::Ascon(key.clone()), Protection::AesCcm(key), Protection::Open].map(|p| Keys::new(&p))
    }

    #[test]
    fn whatever_is_changed_is_noticed() {
        for keys in all() {
            let cipher = keys.cipher(Domain::Frame);
            let mut body = *b"a body";
            let tag = cipher.seal(NONCE, b"header", &mut body);
            let open = |nonce, header: &[u8], mut body: [u8; 6], tag| {
                cipher.open(nonce, header, &mut body, tag).map(|()| body)
            };
            assert_eq!(open(NONCE, b"header", body, tag), Ok(*b"a body"));
            assert_eq!(open(Nonce { counter: 5, ..NONCE }, b"header", body, tag), Err(Forged));
            assert_eq!(open(Nonce { epoch: 9, ..NONCE }, b"header", body, tag), Err(Forged));
            assert_eq!(open(Nonce { device: 9, ..NONCE }, b"header", body, tag), Err(Forged));
            assert_eq!(open(NONCE, b"Header", body, tag), Err(Forged));
            for bit in 0..48 {
                let mut other = body;
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(NONCE, b"header", other, tag), Err(Forged));
            }
            for bit in 0..32 {
                let mut other = tag;
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(NONCE, b"header", body, other), Err(Forged));
            }
        }
    }

    #[test]
    fn frames_and_acknowledgements_have_different_keys() {
        let [ascon, ccm, _] = all();
        for keys in [ascon, ccm] {
            let tags = [Domain::Frame, Domain::Ack].map(|domain| keys.cipher(domain).seal(NONCE, b"", &mut []));
            assert_ne!(tags[0], tags[1]);
        }
    }

    #[test]
    fn no_key_is_shown() {
        let key = NetworkKey::new(*b"0123456789abcdef");
        let shown =
            format!("{key:?} {:?} {:?}", Protection::Ascon(key.clone()), Keys::new(&Protection::Ascon(key.clone())));
        assert!(!shown.contains("48") && !shown.contains("30"), "{shown}");
        assert!(shown.contains("hidden"));
    }
}
