//! The hello as bytes: an IEEE 802.15.4 broadcast data frame with short addresses.

use common::election::hierarchy_update::HierarchyUpdate;
use common::limits::NEIGHBOURS_MAX;
use common::mac::phy::{FCS_BYTES, FRAME_MAX, fcs};
use common::types::NodeId;
use serde::{Deserialize, Serialize};

/// Data frame, one PAN, short addresses, no acknowledgement.
const FCF: [u8; 2] = 0x8841_u16.to_le_bytes();

/// The network; hellos of another are foreign.
const PAN: [u8; 2] = 0x524C_u16.to_le_bytes();

const BROADCAST: [u8; 2] = [0xFF; 2];

const VERSION: u8 = 1;

const MAC_BYTES: usize = 9;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Differs between the lives of a node that restarts.
    pub life: u16,
    /// The nodes that it has heard lately.
    pub heard: heapless::Vec<NodeId, NEIGHBOURS_MAX>,
    pub update: HierarchyUpdate,
}

/// Writes the frame of a hello and gives its length; none where it does not fit, which no hello does.
pub fn encode(from: NodeId, dsn: u8, hello: &Hello, buf: &mut [u8; FRAME_MAX]) -> Option<usize> {
    let [low, high] = from.0.to_le_bytes();
    let mac = [FCF[0], FCF[1], dsn, PAN[0], PAN[1], BROADCAST[0], BROADCAST[1], low, high];
    buf[..MAC_BYTES].copy_from_slice(&mac);
    let payload = postcard::to_slice(&(VERSION, hello), &mut buf[MAC_BYTES..]).ok()?.len();
    Some(MAC_BYTES + payload)
}

/// Reads the frame of a hello with its checksum: sender, sequence number, content. None for anything else.
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
