//! Corrupts the memory of links, for tests of how a network heals.

use super::Links;

impl Links {
    /// Takes over what another life or an earlier time knew of its neighbours and the air: the table with all sessions, the
    /// rhythm of hellos, tokens, the leader's signs of life, the crowd and the load. What belongs to the contract with the driver
    /// stays, and so do the numbers of frames: whoever counts those again is refused as a replay, as it must be.
    pub(crate) fn take_memory_of(&mut self, other: Self) {
        // Names every field, so that whoever adds one has to decide whether it heals.
        let Self {
            crowd,
            life,
            hellos,
            table,
            forgotten,
            tokens,
            load,
            others,
            patience,
            data_from,
            numbering: _,
            twins: _,
            exchange: _,
            data: _,
            rng: _,
            counters: _,
            notices: _,
        } = other;
        (self.crowd, self.life, self.hellos, self.table) = (crowd, life, hellos, table);
        (self.forgotten, self.tokens, self.load, self.others) = (forgotten, tokens, load, others);
        self.data_from = data_from;
        // Most of it is configuration.
        (self.patience.watch, self.patience.slack_ms) = (patience.watch, patience.slack_ms);
    }
}
