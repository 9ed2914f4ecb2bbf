//! Leader election for boards that find each other by radio: the core.
#![no_std]

#[cfg(test)]
extern crate std;

mod bits;
pub mod clock;
pub mod coefficient;
pub mod election;
pub mod engine;
pub mod layout;
pub mod limits;
pub mod members;
pub mod notice;
pub mod outbox;
pub mod peers;
pub mod protocol;
pub mod rng;
pub mod time;
pub mod timer;
pub mod types;

/// No room: what a bounded container answers instead of growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Full;
