//! The memory that the chip reads and writes by itself. It is passed between radio and node by reference, so that no frame
//! is copied on its way.

use common::mac::phy::{self, FCS_BYTES, FRAME_MAX, PSDU_MAX};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use static_cell::ConstStaticCell;

/// A length byte, and the longest frame with its checksum.
pub type Buffer = [u8; 1 + PSDU_MAX];

/// Received frames that wait for the node. It is behind by more than one only while it does something long.
pub const RECEIVED_MAX: usize = 4;

/// Those that wait, one with the node, one being filled.
const INPUTS: usize = RECEIVED_MAX + 2;

/// Buffers that nobody uses.
static FREE: Channel<CriticalSectionRawMutex, &'static mut Buffer, INPUTS> = Channel::new();

/// Makes the buffers for received frames, once; the first one to fill.
pub fn first_input() -> &'static mut Buffer {
    static POOL: ConstStaticCell<[Buffer; INPUTS]> = ConstStaticCell::new([[0; 1 + PSDU_MAX]; INPUTS]);
    let [first, others @ ..] = POOL.take();
    others.iter_mut().for_each(give_back);
    first
}

/// The one buffer for frames to send, once.
pub fn output() -> &'static mut Buffer {
    static OUTPUT: ConstStaticCell<Buffer> = ConstStaticCell::new([0; 1 + PSDU_MAX]);
    OUTPUT.take()
}

/// Another buffer to fill, where there is one.
pub fn spare() -> Option<&'static mut Buffer> {
    FREE.try_receive().ok()
}

/// Gives a buffer back.
pub fn give_back(buffer: &'static mut Buffer) {
    // There is a place for every buffer.
    if FREE.try_send(buffer).is_err() {
        defmt::error!("a buffer was given back twice");
    }
}

/// Puts a frame into a buffer as the chip wants it.
pub fn fill(buffer: &mut Buffer, frame: &[u8]) {
    let frame = frame.get(..FRAME_MAX).unwrap_or(frame);
    let [length, contents @ ..] = buffer;
    *length = u8::try_from(frame.len() + FCS_BYTES).unwrap_or(0);
    if let Some(contents) = contents.get_mut(..frame.len()) {
        contents.copy_from_slice(frame);
    }
}

/// How long the frame in a buffer is on the air.
pub fn airtime(buffer: &Buffer) -> common::time::Duration {
    phy::airtime(phy::received(buffer).map_or(0, <[u8]>::len))
}
