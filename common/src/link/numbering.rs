//! What makes a frame this node's: its id, its network's number and keys, and frame numbers that are never used twice.
//!
//! A nonce is made of the id, the epoch and the frame's number, so a node without an epoch, or without a number left, sends
//! nothing.

use super::frame::{ACK_BYTES, Answered, COUNTER_MAX, Header, Kind, Refusal, Status};
use super::sealed::Sealed;
use super::security::{Keys, TAG_BYTES};
use crate::config::{Boot, Config};
use crate::types::NodeId;

#[derive(Clone, Debug)]
pub struct Numbering {
    id: NodeId,
    device: u16,
    pan: u16,
    /// The present key with its number, and the one before it where there is one.
    keys: [Option<(u8, Keys)>; 2],
    epoch: Option<u16>,
    /// The number of the last frame sent.
    counter: u32,
}

impl Numbering {
    pub fn new(config: &Config, boot: Boot) -> Self {
        let former = config.former.as_ref().map(|former| (former.key_id, Keys::new(&former.protection)));
        Self {
            id: config.id,
            device: boot.device,
            pan: config.pan,
            keys: [Some((config.key_id, Keys::new(&config.protection))), former],
            epoch: boot.epoch,
            counter: 0,
        }
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    pub fn set_id(&mut self, id: NodeId) {
        self.id = id;
    }

    /// The number of this boot; none where it could not be stored, or its frame numbers are used up.
    pub fn epoch(&self) -> Option<u16> {
        self.epoch
    }

    /// A new epoch was stored: frames are numbered from the beginning.
    pub fn set_epoch(&mut self, epoch: u16) {
        self.epoch = Some(epoch);
        self.counter = 0;
    }

    /// The node sends nothing more under this epoch.
    pub fn end_epoch(&mut self) {
        self.epoch = None;
    }

    /// Skips frame numbers up to this one.
    pub fn skip(&mut self, up_to: u32) {
        self.counter = self.counter.max(up_to);
    }

    /// The header of the next frame; none once the epoch's numbers are used up, and with them the epoch.
    pub fn next_header(&mut self, to: NodeId, kind: Kind) -> Option<Header> {
        if self.counter >= COUNTER_MAX {
            self.epoch = None;
        }
        let epoch = self.epoch?;
        self.counter += 1;
        let key_id = self.keys.first()?.as_ref().map_or(0, |(key_id, _)| *key_id);
        Some(Header {
            pan: self.pan,
            to,
            from: self.id,
            key_id,
            kind,
            epoch,
            counter: self.counter,
            device: self.device,
        })
    }

    /// As [`Header::seal`], with the present key.
    pub fn seal(&self, header: Header, buf: &mut [u8], length: usize) -> Option<usize> {
        let (_, keys) = self.keys.first()?.as_ref()?;
        header.seal(keys, buf, length)
    }

    /// Decrypts a frame of this network; returns its header and body.
    pub fn open<'f>(&self, frame: &'f mut (impl Sealed + ?Sized)) -> Result<(Header, &'f [u8]), Refusal> {
        let header = Header::read(frame.bytes())?;
        if header.pan != self.pan {
            return Err(Refusal::Foreign);
        }
        let keys = self.keys_of(header.key_id).ok_or(Refusal::Foreign)?;
        Ok((header, frame.open(keys, &header)?))
    }

    fn keys_of(&self, key_id: u8) -> Option<&Keys> {
        self.keys.iter().flatten().find(|(other, _)| *other == key_id).map(|(_, keys)| keys)
    }

    /// This node's acknowledgement of the frame with this header and tag. A node without an epoch gives none: the
    /// acknowledgement has no number of its own, but it would show that the node is there.
    pub fn acknowledge(&self, header: &Header, tag: [u8; TAG_BYTES], status: Status) -> Option<[u8; ACK_BYTES]> {
        let Header { from: sender, device, epoch, counter, .. } = *header;
        let answered = Answered { sender, device, epoch, counter, tag };
        let keys = self.keys_of(header.key_id).filter(|_| self.epoch.is_some())?;
        Some(answered.acknowledge(keys, self.id, status))
    }

    /// What an acknowledgement says, if it is `acker`'s and answers this frame.
    pub fn status(&self, answered: Answered, acker: NodeId, ack: [u8; ACK_BYTES]) -> Option<Status> {
        let (_, keys) = self.keys.iter().flatten().next()?;
        answered.status(keys, acker, ack)
    }
}
