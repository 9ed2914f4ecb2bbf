//! Encodes the hello as an IEEE 802.15.4 broadcast data frame with short addresses.

use common::election::hierarchy_update::HierarchyUpdate;
use common::limits::NEIGHBOURS_MAX;
use common::mac::phy::{FCS_BYTES, FRAME_MAX, fcs};
use common::types::NodeId;
use serde::{Deserialize, Serialize};

/// Data frame, PAN ID compression, short addresses, no acknowledgement.
const FCF: [u8; 2] = 0x8841_u16.to_le_bytes();

/// The PAN id of this network. Hellos with another id are foreign.
const PAN: [u8; 2] = 0x524C_u16.to_le_bytes();

const BROADCAST: [u8; 2] = [0xFF; 2];

const VERSION: u8 = 1;

const MAC_BYTES: usize = 9;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Tells the lives of a restarting node apart.
    pub life: u16,
    /// The nodes it has heard lately.
    pub heard: heapless::Vec<NodeId, NEIGHBOURS_MAX>,
    pub update: HierarchyUpdate,
}

/// Encodes a hello and returns its length; `None` if it does not fit, which cannot happen.
pub fn encode(from: NodeId, dsn: u8, hello: &Hello, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
    let [low, high] = from.0.to_le_bytes();
    let mac = [FCF[0], FCF[1], dsn, PAN[0], PAN[1], BROADCAST[0], BROADCAST[1], low, high];
    buf[..MAC_BYTES].copy_from_slice(&mac);
    let payload = postcard::to_slice(&(VERSION, hello), &mut buf[MAC_BYTES..]).ok()?.len();
    Some(MAC_BYTES + payload)
}

/// Decodes a hello with its checksum into sender, sequence number and content; `None` for any other frame.
pub fn decode(psdu: &[u8]) -> Option<(NodeId, u8, Hello)> {
    let (body, check) = psdu.split_last_chunk::<FCS_BYTES>()?;
    let (mac, payload) = body.split_first_chunk::<MAC_BYTES>()?;
    let [f0, f1, dsn, p0, p1, d0, d1, low, high] = *mac;
    if [f0, f1] != FCF || [p0, p1] != PAN || [d0, d1] != BROADCAST || *check != fcs(body).to_le_bytes() {
        return None;
    }
    let (version, rest) = payload.split_first()?;
    let (hello, left) = postcard::take_from_bytes::<Hello>(rest).ok()?;
    (*version == VERSION && left.is_empty()).then_some((NodeId(u16::from_le_bytes([low, high])), dsn, hello))
}
