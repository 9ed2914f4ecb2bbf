//! Links whose memory went wrong, for tests of how a network heals.

use super::Links;

impl Links {
    /// Takes over what another life or an earlier time knew of its neighbours: the table with all sessions, the rhythm of
    /// hellos, and the tokens. What belongs to the contract with the driver stays, and so do the numbers of frames: whoever
    /// counts those again is refused as a replay, as it must be.
    pub(crate) fn take_memory_of(&mut self, other: Self) {
        self.table = other.table;
        self.hellos = other.hellos;
        self.tokens = other.tokens;
    }
}
