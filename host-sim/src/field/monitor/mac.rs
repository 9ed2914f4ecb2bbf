//! The sender of a frame, from its IEEE 802.15.4 header, and the frame's number, from the header that is ours.

use common::types::NodeId;

/// The short source address of a frame, if it has one.
pub fn sender(psdu: &[u8]) -> Option<NodeId> {
    const SHORT: u16 = 2;
    const VERSION_2015: u16 = 2;
    let control = u16::from_le_bytes(*psdu.first_chunk()?);
    let (to_mode, version, from_mode) = (control >> 10 & 3, control >> 12 & 3, control >> 14 & 3);
    let has_number = version != VERSION_2015 || control & 0x100 == 0;
    let address = |mode: u16| match mode {
        0 => Some(0),
        SHORT => Some(2),
        3 => Some(8),
        _ => None,
    };
    let to = address(to_mode)? + if to_mode == 0 { 0 } else { 2 };
    // With PAN ID compression both ends share the PAN, which appears once.
    let is_network_named_once = control & 0x40 != 0;
    let network = if is_network_named_once { 0 } else { 2 };
    let at = 2 + usize::from(has_number) + to + network;
    let id = psdu.get(at..at + 2).filter(|_| from_mode == SHORT)?;
    Some(NodeId(u16::from_le_bytes(*id.first_chunk()?)))
}

/// What the header of a frame says in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub from: NodeId,
    pub epoch: u16,
    /// 24 bits of it.
    pub number: u32,
}

/// The header of one of our frames; none for acknowledgements and for what others send.
pub fn header(psdu: &[u8]) -> Option<Header> {
    let &[0x41, 0x88, low, _, _, _, _, from_low, from_high, kind, epoch_low, epoch_high, middle, high, ..] = psdu
    else {
        return None;
    };
    let [from, epoch] = [[from_low, from_high], [epoch_low, epoch_high]].map(u16::from_le_bytes);
    (kind >> 6 == 0).then_some(Header { from: NodeId(from), epoch, number: u32::from_le_bytes([low, middle, high, 0]) })
}

#[cfg(test)]
mod tests {
    use common::types::NodeId;

    use super::sender;

    #[test]
    fn senders_are_found_in_headers() {
        let data = [0x41, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 0x64, 0x00, b'h'];
        assert_eq!(sender(&data), Some(NodeId(100)));
        assert_eq!(sender(&data[..8]), None, "cut off");
        assert_eq!(sender(&[0x02, 0x00, 7]), None, "an acknowledgement names nobody");
        let two_networks = [0x01, 0x88, 1, 0xEF, 0xBE, 0xFF, 0xFF, 0xAA, 0xBB, 0x05, 0x00];
        assert_eq!(sender(&two_networks), Some(NodeId(5)));
        assert_eq!(sender(&[]), None);
    }
}
