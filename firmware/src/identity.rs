//! Which chip and which image this is.
#![expect(unsafe_code, reason = "the linker's symbols")]

use common::host_link::BuildId;
use embassy_nrf::pac;

/// The unique number of the chip.
pub fn chip() -> u64 {
    let word = |index| u64::from(pac::FICR.deviceid(index).read());
    word(1) << 32 | word(0)
}

/// The digest of the image. It follows the header of the linker's note: three words and the name "GNU".
pub fn build() -> BuildId {
    unsafe extern "C" {
        static __build_id: [u8; 24];
    }
    // SAFETY: firmware/link/build-id.x puts a note of 36 bytes there.
    let note = unsafe { &__build_id };
    BuildId(core::array::from_fn(|index| note.get(16 + index).copied().unwrap_or(0)))
}
