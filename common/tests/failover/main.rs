//! Failover, guests and held links, by whole nodes: every schedule of three, four and five boards that differs in up to one or two
//! frames from the one without losses.
//!
//! Boards are the core's own [`Node`](common::node::Node)s on one channel ([`world`]). What befalls them (the leader dies, comes
//! back, steps down, is not heard by some) comes at every moment of a beat, or of all hellos. Then each frame may arrive, be lost
//! at any one board or at all, or be late by 25 or 150 ms ([`explore`]): all ways in which up to so many frames fare otherwise,
//! with the timers' own order for the rest. The random waits are those of one seed. After each step the [`ledger`] is checked:
//! the order of pairs, one leader for each pair, nobody follows a pair that nobody made. Every run ends agreed, by a bound.
//!
//! Orders of messages that no times allow are in `host-sim/proofs`, for the heights alone.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test stops where it fails")]

mod explore;
mod guests;
mod hold;
mod ledger;
mod shapes;
mod succession;
mod vouching;
mod world;

/// Somebody has the time for more: `RINGLEADER_DEEP=1 cargo test -p common --test failover`.
fn is_deep() -> bool {
    std::env::var_os("RINGLEADER_DEEP").is_some()
}
